//! Every check that a run of machine code makes, on a few instructions each: what is allowed, what ends the run, and why.

use aes_bitslice_analysis::proof::anf::Cells;
use aes_bitslice_analysis::proof::context::{DEVICE, Grid};
use aes_bitslice_analysis::proof::launch::{Code, Launch, compare};
use aes_bitslice_analysis::proof::memory::{Byte, Memory, known, number};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::{EntryPoint, Parameter};

/// Device memory: 16 known bytes and 16 unknown ones that may be read, and 16 that may be written.
const INPUT: u64 = DEVICE;
const OUTPUT: u64 = 2 * DEVICE;

/// Runs instructions as a kernel on two warps. R0 is the index of the thread, P0 whether that is not 0, R2 and R4 are the addresses of input
/// and output, UR4 is the descriptor of memory, R6 is 5, R7 an unknown word, and shared memory has 64 bytes from 0x400 on.
fn launch(body: &str) -> Result<Memory, String> {
    let first = "S2R R0, SR_TID.X\nULDC.64 UR4, c[0x0][0x208]\nLDC.64 R2, c[0x0][0x210]\nLDC.64 R4, c[0x0][0x218]\n\
                 LDC R6, c[0x0][0x220]\nISETP.NE.U32.AND P0, PT, R0, RZ, PT\n";
    let load = if body.starts_with("ACQBULK") { "" } else { "LDG.E R7, desc[UR4][R2.64+0x10]\n" };
    let all = format!("{first}{load}{body}\nEXIT");
    let line = |line: &str| if line.ends_with(':') { format!("{line}\n") } else { format!("/*0000*/ {line} ;\n") };
    let code: String = all.lines().map(line).collect();
    let text = format!(
        ".section .text.k,\"ax\"\n{code}.section .nv.shared.k,\"aw\"\n.zero 1088\n.section .nv.constant0.k,\"a\"\n.zero 548\n"
    );
    let parameters = [Argument::In, Argument::Out, Argument::All].map(|name| Parameter { name, kind: Kind::U64 });
    let entry = EntryPoint { name: "k".into(), parameters: parameters.into() };
    let mut cells = Cells::new();
    let unknown: Vec<Byte> = (0..16).map(|_| std::array::from_fn(|_| cells.unknown())).collect();
    let input: Vec<Byte> = (0..16).map(known).chain(unknown).collect();
    let value = |name| {
        Some(match name {
            Argument::In => number(INPUT, 8),
            Argument::Out => number(OUTPUT, 8),
            _ => number(5, 4),
        })
    };
    let grid = Grid { blocks: 1, threads: 64 };
    let launch = Launch { code: Code::Sass(&text), entry: &entry, grid, shared_bytes: 0 };
    launch.run(&mut cells, value, &[(INPUT, &input)], &[(OUTPUT, 16)])
}

#[test]
fn what_a_run_may_not_do() {
    // Only the first warp; and only the first thread, up to where all meet again.
    let one_warp = "ISETP.GT.U32.AND P1, PT, R0, 0x1f, PT\n@P1 EXIT\n";
    let apart = "ISETP.GT.U32.AND P1, PT, R0, 0x1f, PT\n@P1 EXIT\nBSSY B0, `(.L_1)\n@P0 BRA `(.L_0)\n";
    let again = "\n.L_0:\nBSYNC B0\n.L_1:\n";
    // What the others do meanwhile.
    let (or, after) = ("\nBRA `(.L_2)\n.L_0:\n", "\n.L_2:\nBSYNC B0\n.L_1:\n");
    let mut wrong = vec![];
    #[rustfmt::skip]
    let all: [(String, Option<&str>); 59] = [
        // Device memory.
        ("LDG.E R8, desc[UR4][R2.64+0x1c]".into(), None),
        ("LDG.E R8, desc[UR4][R2.64+0x20]".into(), Some("nothing was written")),
        ("LDG.E R8, desc[UR4][R2.64+0x2]".into(), Some("are not accessed")),
        ("LDG.E R8, desc[UR6][R2.64]".into(), Some("another descriptor")),
        ("LDG.E R8, desc[UR4][R0.64]".into(), Some("a number was expected")),
        ("LDG.E.CONSTANT R8, desc[UR4][R2.64]".into(), None),
        ("LDG.E.CONSTANT R8, desc[UR4][R4.64]".into(), Some("as if it were constant")),
        ("@!P0 STG.E desc[UR4][R4.64+0xc], R6".into(), None),
        ("@!P0 STG.E desc[UR4][R4.64+0x10], R6".into(), Some("may not be written")),
        ("@!P0 STG.E desc[UR4][R2.64], R6".into(), Some("may not be written")),
        ("STG.E desc[UR4][R4.64], R6".into(), None),
        ("STG.E desc[UR4][R4.64], R0".into(), Some("a race")),
        ("ACQBULK\nLDG.E R7, desc[UR4][R2.64+0x10]".into(), None),
        ("NOP\nACQBULK".into(), Some("before the launches")),
        // Shared memory, and its order.
        ("STS [RZ+0x43c], R6".into(), None),
        ("STS [RZ+0x440], R6".into(), Some("are not accessed")),
        ("STS [RZ+0x3fc], R6".into(), Some("are not accessed")),
        ("LDS R8, [RZ+0x400]".into(), Some("nothing was written")),
        ("LDS R8, [R7]".into(), Some("a number was expected")),
        ("LDS R8, [R0.X4+0x400]".into(), Some("a sign")),
        ("STS.128 [RZ+0x408], R0".into(), Some("are not accessed")),
        ("@!P0 STS [RZ+0x400], R6\nLDS R8, [RZ+0x400]".into(), Some("a race")),
        ("@!P0 STS [RZ+0x400], R6\nBAR.SYNC.DEFER_BLOCKING 0x0\nLDS R8, [RZ+0x400]".into(), None),
        (format!("{one_warp}@!P0 STS [RZ+0x400], R6\nLDS R8, [RZ+0x400]"), None),
        (format!("{apart}STS [RZ+0x400], R6{again}LDS R8, [RZ+0x400]"), None),
        (format!("{apart}STS [RZ+0x400], R6{or}LDS R8, [RZ+0x400]{after}"), Some("a race")),
        ("ATOMS.ADD R8, [RZ+0x400], R6".into(), Some("nothing was written")),
        ("STS [RZ+0x400], R6\nBAR.SYNC.DEFER_BLOCKING 0x0\nATOMS.ADD R8, [RZ+0x400], R6".into(), None),
        ("STS [RZ+0x400], R6\nATOMS.ADD R8, [RZ+0x400], R6".into(), Some("a race")),
        // What is unknown decides nothing.
        ("ISETP.NE.AND P1, PT, R7, RZ, PT".into(), Some("a number was expected")),
        ("LOP3.LUT P1, R8, R7, 0x1, RZ, 0xc0, !PT".into(), None),
        ("LOP3.LUT P1, R8, R7, 0x1, RZ, 0xc0, !PT\n@P1 EXIT".into(), Some("a predicate that is not known")),
        ("SHFL.IDX PT, R8, R0, R7, 0x1f".into(), Some("a number was expected")),
        ("R2UR UR8, R9\nISETP.NE.AND P1, PT, R9, RZ, PT".into(), Some("a uniform register for threads that differ")),
        // Threads that are together, and apart.
        ("SHFL.IDX PT, R8, R7, R0, 0x1f".into(), None),
        (format!("{apart}SHFL.IDX PT, R8, R0, 0x1, 0x1f{again}"), Some("a thread that is apart")),
        (format!("{apart}{again}SHFL.IDX PT, R8, R0, 0x1, 0x1f"), None),
        (format!("{apart}WARPSYNC.ALL{again}"), Some("for threads that are apart")),
        ("@P0 BRA `(.L_0)\nBAR.SYNC.DEFER_BLOCKING 0x0\n.L_0:".into(), Some("for threads that are apart")),
        ("@!P0 BAR.SYNC.DEFER_BLOCKING 0x0".into(), Some("for threads that are apart")),
        ("BSYNC B0".into(), Some("nothing is noted")),
        ("BSSY B0, `(.L_0)\nBSYNC B0\nNOP\n.L_0:".into(), Some("meet elsewhere")),
        ("BSSY B0, `(.L_0)\nBSSY B0, `(.L_0)\n.L_0:".into(), Some("have not met yet")),
        ("BSSY B0, `(.L_1)\n@P0 BRA `(.L_0)\n.L_2:\nBRA `(.L_2)\n.L_0:\nBSYNC B0\n.L_1:".into(), Some("does not end")),
        ("BRA `(.L_9)".into(), Some("there is no label")),
        // What a warp shares.
        ("UMOV UR8, 0x1\nIADD3 R8, R0, UR8, RZ".into(), None),
        ("R2UR UR8, R6".into(), None),
        ("R2UR UR8, R0".into(), Some("threads that differ")),
        ("@!P0 R2UR UR8, R6".into(), Some("threads that differ")),
        (format!("{apart}UMOV UR8, 0x1{or}IADD3 R8, R0, UR8, RZ{after}"), Some("which are apart")),
        (format!("{apart}UMOV UR8, 0x1{again}IADD3 R8, R0, UR8, RZ"), None),
        // Instructions that are not stated.
        ("FADD R8, R6, R6".into(), Some("no rule for this instruction")),
        ("IADD3.Y R8, R6, R6, RZ".into(), Some("no rule for this instruction")),
        ("IADD3 R8, P1, R0, -R6, RZ".into(), None),
        ("IADD3 R8, |R0|, R6, RZ".into(), Some("a sign")),
        ("IMAD.WIDE.U32 R8, R0, -R6, RZ".into(), Some("a sign")),
        ("IADD3 R8, P1, 0xffffffff, 0xffffffff, 0xffffffff".into(), Some("a result that is not written")),
        ("S2R R8, SR_CLOCKLO".into(), Some("the value of SR_CLOCKLO")),
        ("LDC R8, c[0x0][0x224]".into(), Some("nothing was written")),
    ];
    for (body, why) in all {
        let found = launch(&body).err();
        let is_as_expected = match (&found, why) {
            (Some(found), Some(why)) => found.contains(why),
            (found, why) => found.is_none() && why.is_none(),
        };
        if !is_as_expected {
            wrong.push(format!("`{body}`: {found:?}, and not {why:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// On known numbers it is an interpreter: sums, products, predicates, pairs of registers, a loop, shuffles, votes, and an atomic addition.
#[test]
fn known_numbers() {
    let body = "IMAD R8, R0, 0x3, R6\nISETP.GT.U32.AND P1, PT, R0, 0x1f, PT\n@P1 EXIT\n\
                SHFL.IDX PT, R9, R8, 0x2, 0x1f\n\
                REDUX.OR UR8, R0\nVOTEU.ANY UR9, UPT, PT\nPOPC R10, UR9\nIMAD.U32 R10, RZ, RZ, UR8\n\
                MOV R11, RZ\n.L_0:\nVIADD R11, R11, 0x7\nISETP.LT.U32.AND P2, PT, R11, 0x10, PT\n@P2 BRA `(.L_0)\n\
                ISETP.EQ.U32.AND P4, PT, R6, 0x5, PT\n@P4 BRA !P4, `(.L_0)\n\
                P2R R12, PR, RZ, 0x1\nIADD3 R13, P3, R8, -R6, RZ\nIADD3.X R12, R12, RZ, RZ, P3, !PT\n\
                @P0 EXIT\nSTG.E desc[UR4][R4.64], R9\nSTG.E desc[UR4][R4.64+0x4], R10\nSTG.E desc[UR4][R4.64+0x8], R11\n\
                STG.E desc[UR4][R4.64+0xc], R12";
    let memory = launch(body).unwrap();
    // Of thread 0: the sum of thread 2; all indices; a multiple of 7; that P0 does not hold, and the carry of 5 - 5.
    let expected: Vec<Byte> = [2 * 3 + 5, 31, 21, 1].into_iter().flat_map(|word| number(word, 4)).collect();
    compare(&memory, OUTPUT, &expected).unwrap();
}
