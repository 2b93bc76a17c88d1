//! Rules for machine code, each on a few instructions.

use aes_bitslice_analysis::ptx::Variable;
use aes_bitslice_analysis::taint::{Finding, Secrets, sass};
use std::collections::BTreeSet;

/// A kernel with a pointer, a key of four words and a number, and in shared memory a table of 64 bytes after a counter.
fn check(code: &str) -> Vec<Finding> {
    let mut listing = String::from("\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n");
    let mut address = 0;
    for line in code.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.ends_with(':') {
            listing += &format!("{line}\n");
        } else {
            listing += &format!("        /*{address:04x}*/    {line} ;\n");
            address += 16;
        }
    }
    listing += "\t.section\t.nv.shared.k,\"aw\",@nobits\n\t.zero\t\t1104\n";
    listing += "\t.section\t.nv.constant0.k,\"a\",@progbits\n\t.zero\t\t556\n";
    let secrets = Secrets::default().parameter(8, 0..0).parameter(16, 0..16).parameter(4, 0..0);
    let shared = |name: &str, bytes, align| Variable { name: name.into(), bytes, align };
    sass::check(&listing, "k", &secrets, &[shared("next", 4, 4), shared("table", 64, 16)]).unwrap().findings
}

fn is_found(code: &str, what: &str) {
    let findings = check(code);
    assert!(findings.iter().any(|finding| finding.what.contains(what)), "{code}: {findings:?}");
}

fn is_clean(code: &str) {
    assert_eq!(check(code), [], "{code}");
}

/// R1: the stack; R2, R3: the pointer; R4: a word of the key; R5: the number.
const LOADS: &str = "LDC R1, c[0x0][0x28]\n LDC.64 R2, c[0x0][0x210]\n LDC R4, c[0x0][0x218]\n LDC R5, c[0x0][0x228]\n";

#[test]
fn every_sink_is_seen() {
    for (code, what) in [
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 EXIT", "predicate"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 BRA `(.L_x_0)\n NOP\n.L_x_0:\n EXIT", "predicate"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n @!P0 STG.E desc[UR4][R2.64], RZ", "predicate"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 BAR.SYNC.DEFER_BLOCKING 0x0", "predicate"),
        // A branch by a predicate among its operands is taken by some threads only.
        ("ISETP.NE.AND P0, PT, R5, RZ, PT\n BRA P0, `(.L_x_0)\n LDS R6, [R4]\n.L_x_0:\n EXIT", "address"),
        // P0 and UP0 are two.
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n UISETP.NE.AND UP0, UPT, UR9, URZ, UPT\n @P0 EXIT", "predicate"),
        // The second word of the two is of the key.
        ("LDC.64 R6, c[0x0][0x214]\n LDS R8, [R7]", "address"),
        ("R2UR UR4, R4\n BRA.DIV UR4, `(.L_x_0)\n NOP\n.L_x_0:\n EXIT", "control"),
        ("LDS R6, [R4]", "address"),
        ("STS [R4+0x10], RZ", "address"),
        ("LDC R6, c[0x0][R4+0x210]", "address"),
        ("IMAD.WIDE.U32 R6, R4, 0x4, R2\n LDG.E R8, desc[UR4][R6.64]", "address"),
        ("IADD3 R6, P1, R4, R2, RZ\n IMAD.X R7, RZ, RZ, R3, P1\n STG.E desc[UR4][R6.64], RZ", "address"),
        ("R2UR UR4, R4\n LDS R6, [R5+UR4]", "address"),
        ("LDG.E.64 R6, desc[UR4][R2.64]\n LDS R8, [R7]", "address"),
        ("LDG.E.128 R8, desc[UR4][R2.64]\n LDS R12, [R11]", "address"),
        ("P2R R6, PR, RZ, 0x1\n LDS R8, [R6]", "nothing"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n P2R R6, PR, RZ, 0x1\n LDS R8, [R6]", "address"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n SEL R6, R5, RZ, P0\n LDS R8, [R6]", "address"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 MOV R5, 0x4\n LDS R8, [R5]", "address"),
        // A bit of a word beside public ones, and one that is set where a secret is.
        ("LOP3.LUT P0, RZ, R4, 0x80, RZ, 0xc0, !PT\n @P0 EXIT", "predicate"),
        (
            "LOP3.LUT R6, R4, 0xffffff7f, RZ, 0xc0, !PT\n LOP3.LUT P0, RZ, R6, 0x40, RZ, 0xc0, !PT\n @P0 EXIT",
            "predicate",
        ),
        (
            "ISETP.NE.AND P1, PT, R4, RZ, PT\n MOV R6, RZ\n @P1 LOP3.LUT R6, R6, 0x80, RZ, 0xfc, !PT\n \
             LOP3.LUT P0, RZ, R6, 0x80, RZ, 0xc0, !PT\n @P0 EXIT",
            "predicate",
        ),
        ("ISETP.NE.AND P1, PT, R4, RZ, PT\n LOP3.LUT P0, RZ, R5, 0x80, RZ, 0xc0, P1\n @P0 EXIT", "predicate"),
        ("LOP3.LUT R6, R4, R5, RZ, 0x3c, !PT\n LDS R8, [R6]", "address"),
        // The high word of a shift is not the low one.
        ("SHF.L.U64.HI R6, RZ, 0x8, R5\n LOP3.LUT R6, R4, R6, RZ, 0xc0, !PT\n LDS R8, [R6]", "address"),
        ("P2R R6, PR, R4, 0x7f\n R2P PR, R6.B1, 0x1\n @P0 EXIT", "predicate"),
        ("ISETP.NE.AND P1, PT, R4, RZ, PT\n P2R R6, PR, RZ, 0x7f\n R2P PR, R6, 0x2\n @P1 EXIT", "predicate"),
        ("R2P PR, R4, 0x7f\n @P3 EXIT", "predicate"),
        ("SHFL.IDX PT, R6, R5, R4, 0x1f", "lane"),
        ("SHFL.IDX PT, R6, R5, RZ, R4", "lane"),
        ("WARPSYNC R4", "control"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n VOTE.ANY R6, PT, P0", "nothing"),
        ("ISETP.NE.AND P0, PT, R4, RZ, PT\n VOTE.ANY R6, PT, P0\n LDS R8, [R6]", "address"),
        ("MUFU.RCP R6, R4", "time"),
        ("I2F.U32.RP R6, R4", "time"),
        ("MADEUP R6, R4", "rule"),
        ("STL [R1+0x8], R4\n LDL R6, [R1+0x8]\n LDS R8, [R6]", "address"),
        ("MOV R7, 0x400\n STS [R7+0x20], R4\n LDS R6, [R7+0x10]\n LDS R8, [R6]", "address"),
        // A secret is written to the counter: then it is not a counter.
        (
            "MOV R7, 0x400\n STS [R7], R4\n ATOMS.ADD R6, [R7], R5\n ISETP.GE.AND P0, PT, R6, R5, PT\n @P0 EXIT",
            "predicate",
        ),
    ] {
        match what {
            "nothing" => is_clean(&format!("{LOADS}{code}\n EXIT")),
            _ => is_found(&format!("{LOADS}{code}\n EXIT"), what),
        }
    }
}

#[test]
fn what_is_public_stays_public() {
    for code in [
        // The counter next to a table with secrets.
        "MOV R7, 0x400\n STS [R7+0x10], R4\n ATOMS.ADD R6, [R7], R5\n ISETP.GE.AND P0, PT, R6, R5, PT\n @P0 EXIT",
        "MOV R7, 0x400\n IMAD R8, R5, 0x4, R7\n STS [R8+0x10], R4\n LDS R6, [R7]\n LDS R9, [R6]",
        // A register that is reused.
        "MOV R4, 0x10\n LDS R6, [R4]",
        "@P3 MOV R4, 0x10\n @P3 LDS R6, [R4]",
        // ... and is moved unchanged in between.
        "@P3 MOV R4, 0x10\n IMAD.MOV.U32 R6, RZ, RZ, R4\n MOV R7, R6\n @P3 LDS R8, [R7]",
        "STL [R1+0x8], R4\n STL [R1+0x4], R5\n LDL R6, [R1+0x4]\n LDS R8, [R6]",
        // Conditions in the bits of a word that has secrets in others.
        "LOP3.LUT R6, R4, 0xffffff7f, RZ, 0xc0, !PT\n ISETP.NE.AND P1, PT, R5, RZ, PT\n @P1 LOP3.LUT R6, R6, 0x80, RZ, 0xfc, !PT\n \
         LOP3.LUT P0, RZ, R6, 0x80, RZ, 0xc0, !PT\n @P0 EXIT",
        "LOP3.LUT R6, R4, 0x0, RZ, 0xc0, !PT\n LDS R8, [R6]",
        "ISETP.NE.AND P1, PT, R4, RZ, PT\n P2R R6, PR, RZ, 0x7f\n R2P PR, R6, 0x5\n @P2 EXIT",
        "P2R R6, PR, R4, 0x7f\n LOP3.LUT P0, RZ, R6, 0x4, RZ, 0xc0, !PT\n @P0 EXIT",
        "ISETP.NE.AND P3, PT, R4, RZ, PT\n R2P PR, R5, 0x8\n @P3 EXIT",
        // The number after the key.
        "LDC R6, c[0x0][0x228]\n LDS R8, [R6]",
    ] {
        is_clean(&format!("{LOADS}{code}\n EXIT"));
    }
    for code in [
        "@P3 MOV R4, 0x10\n @!P3 LDS R6, [R4]",
        "@P3 MOV R4, 0x10\n MOV R6, R4\n @!P3 LDS R8, [R6]",
        "@P3 MOV R4, 0x10\n MOV R6, R4\n ISETP.NE.AND P3, PT, R5, RZ, PT\n @P3 LDS R8, [R6]",
        "@P3 MOV R4, 0x10\n IMAD.X R6, RZ, RZ, R4, P0\n @P3 LDS R8, [R6]",
    ] {
        is_found(&format!("{LOADS}{code}\n EXIT"), "address");
    }
}

#[test]
fn secrets_go_around_loops_and_through_calls() {
    let around = "MOV R6, RZ\n.L_x_0:\n LDS R8, [R6]\n MOV R6, R7\n MOV R7, R4\n ISETP.NE.AND P0, PT, R5, RZ, PT\n @P0 BRA `(.L_x_0)\n EXIT";
    is_found(&format!("{LOADS}{around}"), "address");
    // A function that returns its argument: secret for one call, public for the other.
    let function = "$f:\n MOV R9, R8\n RET.REL.NODEC R10 `(k)";
    let calls = |read: &str| {
        format!(
            "{LOADS}MOV R8, R4\n MOV R10, 0x70\n CALL.REL.NOINC `($f)\n MOV R11, R9\n MOV R8, R5\n MOV R10, 0xb0\n \
             CALL.REL.NOINC `($f)\n LDS R12, [{read}]\n EXIT\n{function}"
        )
    };
    is_clean(&calls("R9"));
    is_found(&calls("R11"), "address");
    is_found(&calls("R9").replace("0xb0", "0xc0"), "rule");
}

/// One thread of a warp adds for all of them, and tells the others.
#[test]
fn an_elected_thread_speaks_for_its_warp() {
    let code = |lane: &str, stale: &str| {
        format!(
            "{LOADS}MOV R7, 0x400\n MOV R9, {stale}\n S2R R12, SR_LANEID\n FLO.U32 R13, UR7\n ISETP.EQ.U32.AND P0, PT, R13, R12, PT\n \
             @P0 ATOMS.ADD R9, [R7], R5\n SHFL.IDX PT, R6, R9, {lane}, 0x1f\n LDS R8, [R6]\n EXIT"
        )
    };
    is_clean(&code("R13", "R4"));
    is_clean(&code("R5", "R5"));
    is_found(&code("R5", "R4"), "address");
    is_found(&code("R13", "R4").replace("R13, R12, PT", "R5, R12, PT"), "address");
}

#[test]
fn other_sizes_are_refused() {
    let listing = ".section\t.text.k,\"ax\"\n.text.k:\n/*0000*/ EXIT ;\n.section .nv.constant0.k,\"a\"\n.zero 556\n";
    let key = Secrets::default().parameter(16, 0..16);
    assert!(sass::check(listing, "k", &key, &[]).unwrap_err().contains("constant bank"));
    assert!(sass::check(listing, "other", &key, &[]).unwrap_err().contains("no machine code"));
}

/// Results of non-coherent loads are public where there is a table, and no other loaded values are.
#[test]
fn tables_are_public() {
    let is_clean = |load: &str, secrets: Secrets| {
        let listing = format!(
            "\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n/*0010*/ {load} R4, \
             desc[UR4][R2.64] ;\n/*0020*/ LDS R6, [R4] ;\n/*0030*/ EXIT ;\n.section .nv.constant0.k,\"a\"\n.zero 536\n"
        );
        sass::check(&listing, "k", &secrets, &[]).unwrap().findings.is_empty()
    };
    let (table, other) = (Secrets::default().table(), Secrets::default().parameter(8, 0..0));
    assert!(is_clean("LDG.E.CONSTANT", table.clone()) && !is_clean("LDG.E.CONSTANT", other));
    assert!(!is_clean("LDG.E", table));
}

/// What atomic increments return is public where arrivals are counted, unless it depends on a secret, and what other updates of memory return
/// is not.
#[test]
fn arrivals_are_public() {
    let is_public = |update: &str, secrets: &Secrets| {
        let code = ["LDC.64 R2, c[0x0][0x210]", "LDG.E.64 R6, desc[UR4][R2.64]", update, "LDS R8, [R4]", "EXIT"];
        let lines = code.iter().enumerate().map(|(n, code)| format!("/*{:04x}*/ {code} ;\n", 16 * n));
        let listing = format!(
            "\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n{}.section .nv.constant0.k,\"a\"\n.zero 536\n",
            lines.collect::<String>()
        );
        let findings = sass::check(&listing, "k", secrets, &[]).unwrap().findings;
        findings.iter().all(|finding| finding.instruction != code[3])
    };
    let (arrivals, other) = (Secrets::default().arrivals(), Secrets::default().parameter(8, 0..0));
    let arrives = "ATOMG.E.INC.STRONG.GPU PT, R4, desc[UR4][R2.64], R5";
    assert!(is_public(arrives, &arrivals) && !is_public(arrives, &other));
    for (part, instead) in [("INC", "EXCH"), ("ATOMG", "ATOM"), ("R5", "R6"), ("R2.64", "R6.64")] {
        let update = arrives.replace(part, instead);
        assert!(!is_public(&update, &arrivals), "{update}");
    }
}

/// Examples of all instructions that have a rule: the names, and what follows them. The words say what an operand is, and the digit after
/// one how many registers it occupies: `to` is written, and public if the others are; `secret` is written, and always secret; what is
/// written depends on `from`, shared memory on `stored`, local memory on `local`; `p` stands before what is said of a predicate. A secret in
/// place of any other word is found, and the finding contains the word.
const COMPUTE: [(&str, &str); 20] = [
    (
        "BMOV BMSK BREV CS2UR FLO IABS IADD IADD3 IDP IMAD IMNMX LEA LOP3 MOV P2UR POPC PRMT R2UR REDUX S2R S2UR SEL SGXT SHF UBMSK \
         UBREV UFLO UIADD3 UIMAD ULEA ULOP3 UMOV UPOPC UPRMT UR2UP USEL USGXT USHF UVIADD UVIMNMX VABSDIFF VIADD VIADDMNMX VIMNMX VIMNMX3",
        "$to, $from, $from, $from",
    ),
    ("IADD3 LEA LOP3 UIADD3 ULEA ULOP3", "$to, $pto, $from, $from, $from"),
    ("IADD3.X LEA.HI.X SEL USEL UIADD3.X", "$to, $from, $from, $pfrom"),
    ("IMAD.WIDE.U32 UIMAD.WIDE", "$to2, $from, $from, $from2"),
    ("IMAD.HI.U32", "$to, $from, $from, $from"),
    ("SHF.L.U64.HI SHF.R.W.U32", "$to, $from, $from, $from"),
    ("CS2R", "$to2, $from"),
    ("CS2R.32", "$to, $from"),
    ("MOV.64 IADD.64", "$to2, $from2, $from2"),
    ("BMMA IMMA", "$to4, $from4, $from4, $from4"),
    ("ISETP.NE.AND UISETP.NE.AND", "$pto, $pto, $from, $from, $pfrom"),
    ("ISETP.GE.U64.AND", "$pto, $pto, $from2, $from2, $pfrom"),
    ("PLOP3 UPLOP3", "$pto, $pto, $pfrom, $pfrom, $pfrom, 0x80, 0x8"),
    ("ELECT", "$pto, $to, PT"),
    ("VOTE.ANY VOTEU.ANY VOTED.ANY", "$to, $pto, $pfrom"),
    ("VOTE.ALL", "$pto, $pfrom"),
    ("P2R", "$to, PR, $from, 0x7f"),
    ("R2P", "PR, $from, 0x7f"),
    ("MUFU.RCP F2I I2F I2FP F2F FADD FMUL FFMA FCHK UI2F UF2I HFMA2", "$to, $time, $time, $time"),
    ("FSEL", "$to, $time, $time, $ptime"),
];

/// Examples of the instructions whose predicate must be public.
const OTHERS: [(&str, &str); 32] = [
    ("FSETP.NE.AND", "$pto, $pto, $time, $time, $ptime"),
    (
        "ACQBULK ACQSHMINIT BAR.SYNC BPT BREAK CCTL CGAERRBAR DEPBAR ENDCOLLECTIVE ERRBAR EXIT FENCE KILL LDGDEPBAR MEMBAR NANOSLEEP NOP \
         PREEXIT UBLKRED UCGABAR_ARV UCGABAR_WAIT USETMAXREG UTMACMDFLUSH WARPGROUP WARPGROUPSET WARPSYNC YIELD BSYNC",
        "$control, $pcontrol",
    ),
    ("BRA BRA.DIV BRX CALL.REL", "$control, `(.L_x_0)"),
    ("BSSY", "B0, `(.L_x_1), $control"),
    ("LDS LDSM", "$to, [$address+0x10]"),
    ("LDS.64", "$to2, [$address+$address]"),
    ("LDS.128 LDSM.16.M88.4", "$to4, [$address]"),
    ("LDL", "$to, [$address]"),
    ("LDL.64", "$to2, [$address]"),
    ("LDL.128", "$to4, [$address]"),
    ("LDG.E LD.E", "$secret, desc[$address][$address2.64]"),
    ("LDG.E.64 LD.E.64", "$secret2, desc[$address][$address2.64+0x10]"),
    ("LDG.E.128.CONSTANT", "$secret4, desc[$address][$address2.64]"),
    ("LDC ULDC LDCU", "$secret, c[0x0][$address]"),
    ("LDC.64", "$to2, c[0x3][$address]"),
    ("STS", "[$address+$address], $stored"),
    ("STS.64", "[$address], $stored2"),
    ("STS.128", "[$address], $stored4"),
    ("STL", "[$address], $local"),
    ("STL.128", "[$address], $local4"),
    ("STG.E RED.E.XOR REDG.E.XOR", "desc[$address][$address2.64], $from"),
    ("STG.E.128", "desc[$address][$address2.64], $from4"),
    ("ATOMS.ADD", "$to, [$address], $stored"),
    ("ATOMS.CAS", "$to, [$address], $stored, $stored"),
    ("ATOMS.CAS.64", "$to2, [$address], $stored2, $stored2"),
    ("ATOMG.E.ADD", "$psecret, $secret, desc[$address][$address2.64], $from"),
    ("UBLKCP.S.G", "[$address], [$address], $address"),
    ("LDGSTS.E", "[$address], desc[$address][$address2.64], $paddress"),
    ("SYNCS.EXCH", "$to, [$address], $barrier"),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT", "$pto, [$address], $barrier"),
    ("SHFL.IDX", "$pto, $to, $from, $lane, $lane"),
    ("BGMMA.64x8x256", "$secret4, $from, gdesc[$address]"),
];

/// Those that write memory of a space that is not known, and so everything.
const GENERIC: [&str; 2] = ["ST.E [R40], R4", "ATOM.E.ADD PT, R80, [R40], R4"];

/// Control for which other operands are understood, in tests of their own.
const ELSEWHERE: [&str; 1] = ["RET"];

/// An operand of an example: what it is, whether it is a predicate, and how many registers it occupies.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    word: &'a str,
    is_predicate: bool,
    width: usize,
    number: usize,
}

impl Place<'_> {
    fn is_written(&self) -> bool {
        self.word == "to" || self.word == "secret"
    }

    fn name(&self, more: usize) -> String {
        match (self.is_predicate, self.is_written()) {
            (true, _) => format!("P{}", self.number + 1),
            (false, true) => format!("R{}", 80 + 4 * self.number + more),
            (false, false) => format!("R{}", 40 + 4 * self.number + more),
        }
    }

    /// What makes one of its registers secret.
    fn with_secret(&self, more: usize) -> String {
        if self.is_predicate {
            format!("ISETP.NE.AND {}, PT, R4, RZ, PT", self.name(0))
        } else {
            format!("MOV {}, R4", self.name(more))
        }
    }

    /// A load at an address that depends on one of its registers.
    fn used(&self, more: usize) -> String {
        if self.is_predicate {
            format!("SEL R6, R5, RZ, {}\n LDS R7, [R6]", self.name(0))
        } else {
            format!("LDS R7, [{}]", self.name(more))
        }
    }
}

/// The operands of an example, and its text.
fn example<'a>(name: &str, operands: &'a str) -> (Vec<Place<'a>>, String) {
    let mut pieces = operands.split('$');
    let (mut places, mut text) = (vec![], format!("{name} {}", pieces.next().unwrap()));
    for piece in pieces {
        let (word, rest) = piece.split_at(piece.find(|sign: char| !sign.is_ascii_lowercase()).unwrap_or(piece.len()));
        let word_of_predicate = word.strip_prefix('p');
        let digits = rest.len() - rest.trim_start_matches(|sign: char| sign.is_ascii_digit()).len();
        let place = Place {
            word: word_of_predicate.unwrap_or(word),
            is_predicate: word_of_predicate.is_some(),
            width: rest[..digits].parse().unwrap_or(1),
            number: places.len(),
        };
        text = text + &place.name(0) + &rest[digits..];
        places.push(place);
    }
    (places, text)
}

/// Instructions before an example, it, what follows, and the labels that examples name.
fn around(before: &str, text: &str, after: &str) -> String {
    format!("{LOADS}{before}\n {text}\n.L_x_0:\n {after}\n BSYNC B0\n.L_x_1:\n EXIT")
}

/// What is wrong with an instruction among others with which nothing is.
fn found(before: &str, text: &str) -> Vec<&'static str> {
    let all = check(&around(before, text, "NOP"));
    assert!(
        all.iter().all(|finding| finding.instruction == text || finding.instruction.starts_with("BSYNC")),
        "{all:?}"
    );
    all.iter().filter(|finding| finding.instruction == text).map(|finding| finding.what).collect()
}

/// Whether a use is found, and nothing else.
fn is_secret(before: &str, text: &str, used: &str) -> bool {
    let all = check(&around(before, text, used));
    assert!(all.iter().all(|finding| finding.instruction.starts_with("LDS R7,")), "{before}\n{text}: {all:?}");
    !all.is_empty()
}

/// Every secret operand is found or followed, and no public one is.
#[test]
fn every_operand_of_every_instruction() {
    const SHARED: &str = "LDS R6, [R120]\n LDS R7, [R6]";
    const LOCAL: &str = "LDL R6, [R1+0x8]\n LDS R7, [R6]";
    let all = COMPUTE.iter().map(|one| (one, true)).chain(OTHERS.iter().map(|one| (one, false)));
    for ((names, operands), may_have_secret_predicate) in all {
        for name in names.split(' ') {
            let (places, text) = example(name, operands);
            assert_eq!(found("", &text), [""; 0], "{text}");
            let leads_away = ["BRA", "BRX", "CALL", "EXIT", "KILL"].contains(&name.split('.').next().unwrap());
            let written = || places.iter().filter(|place| place.is_written());
            for place in written() {
                for n in 0..place.width {
                    assert_eq!(is_secret("", &text, &place.used(n)), place.word == "secret", "{text}: {place:?}, {n}");
                }
            }
            let is_copy = name.starts_with("UBLKCP") || name.starts_with("LDGSTS");
            assert_eq!(is_secret("", &text, SHARED), is_copy, "{text}");
            for place in places.iter().filter(|place| !place.is_written()) {
                for n in 0..place.width {
                    let before = place.with_secret(n);
                    match place.word {
                        "from" | "stored" | "local" => {
                            for to in written() {
                                for m in 0..to.width {
                                    assert!(is_secret(&before, &text, &to.used(m)), "{before}\n{text}: {to:?}, {m}");
                                }
                            }
                            assert_eq!(is_secret(&before, &text, SHARED), place.word == "stored", "{before}\n{text}");
                            assert_eq!(is_secret(&before, &text, LOCAL), place.word == "local", "{before}\n{text}");
                        }
                        word => {
                            let found = found(&before, &text);
                            assert!(
                                found.len() == 1 && found[0].contains(word),
                                "{before}\n{text}: {found:?}, not {word}"
                            );
                        }
                    }
                }
            }
            let secret_predicate = "ISETP.NE.AND P6, PT, R4, RZ, PT";
            for guard in ["@P6", "@!P6"] {
                let guarded = format!("{guard} {text}");
                if name == "R2P" {
                    assert!(is_secret(secret_predicate, &guarded, "SEL R6, R5, RZ, P3\n LDS R7, [R6]"), "{guarded}");
                } else if may_have_secret_predicate {
                    for to in written() {
                        let time = operands.contains("time");
                        assert!(time || is_secret(secret_predicate, &guarded, &to.used(0)), "{guarded}");
                    }
                } else if !operands.contains("time") && !leads_away {
                    assert_eq!(found(secret_predicate, &guarded), ["its predicate is secret"], "{guarded}");
                }
            }
        }
    }
    assert!(is_secret("MOV R40, R4", "R2P PR, R40, 0x7f", "SEL R6, R5, RZ, P3\n LDS R7, [R6]"));
    for text in GENERIC {
        for used in [SHARED, LOCAL] {
            assert!(
                is_secret("", text, used) && !is_secret("", &text.replace("R4", "R5").replace("R50", "R40"), used),
                "{text}"
            );
        }
        assert_eq!(found("MOV R40, R4", text), ["an address depends on a secret"], "{text}");
    }
}

/// An instruction without an example fails.
#[test]
fn every_instruction_has_an_example() {
    let examples = COMPUTE.iter().chain(&OTHERS).flat_map(|(names, _)| names.split(' '));
    let examples = examples.chain(GENERIC).chain(ELSEWHERE).map(|name| name.split(['.', ' ']).next().unwrap());
    let examples: BTreeSet<&str> = examples.collect();
    let names: BTreeSet<&str> = sass::names().collect();
    assert_eq!(names, examples);
}
