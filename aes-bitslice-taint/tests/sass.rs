//! Rules for machine code, each on a few instructions.

use aes_bitslice_ptx::Variable;
use aes_bitslice_taint::{Finding, Secrets, sass};

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
