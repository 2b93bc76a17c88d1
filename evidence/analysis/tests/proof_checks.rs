//! Every check that a run makes, on a few instructions each: what is allowed, what ends the run, and why.

use aes_bitslice_analysis::proof::anf::Cells;
use aes_bitslice_analysis::proof::context::{DEVICE, Grid};
use aes_bitslice_analysis::proof::launch::{Launch, compare};
use aes_bitslice_analysis::proof::memory::{Byte, Memory, known, number};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::{EntryPoint, Parameter};

/// Device memory: 16 known bytes and 16 unknown ones that may be read, and 16 that may be written.
const INPUT: u64 = DEVICE;
const OUTPUT: u64 = 2 * DEVICE;

/// Functions with a parameter and a result: one doubles, and one waits for other threads.
const FUNCTIONS: &str = ".func (.param .b32 y) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [x];\n\
                         add.s32 %r2, %r1, %r1;\nst.param.b32 [y+0], %r2;\nret;\n}\n\
                         .func (.param .b32 y) waits(.param .b32 x)\n{\nbar.sync 0;\nret;\n}\n";

/// Runs instructions as a kernel with a pointer `in`, a pointer `out` and a number `n`, which is 5, on two warps.
fn launch(body: &str) -> Result<Memory, String> {
    with_arguments(body, &[(Argument::In, 8), (Argument::Out, 8), (Argument::All, 4)])
}

/// [Runs](launch) instructions as a kernel with parameters of these sizes, in place of 8, 8 and 4 bytes.
fn with_arguments(body: &str, arguments: &[(Argument, usize)]) -> Result<Memory, String> {
    let ptx = format!(
        ".shared .align 16 .b8 m[64];\n{FUNCTIONS}.entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{{\n.reg .pred %p;\n\
         .reg .b64 %i, %o, %n, %t, %u, %a, %b;\nld.param.u64 %i, [in];\nld.param.u64 %o, [out];\nld.param.u32 %n, [n];\n\
         mov.u32 %t, %tid.x;\nld.global.u32 %u, [%i+16];\nsetp.eq.s32 %p, %t, 0;\n{body}\nret;\n}}"
    );
    let parameters = [Argument::In, Argument::Out, Argument::All].map(|name| Parameter { name, kind: Kind::U64 });
    let entry = EntryPoint { name: "k".into(), parameters: parameters.into() };
    let mut cells = Cells::new();
    let unknown = (0..16).map(|_| std::array::from_fn(|_| cells.unknown()));
    let input: Vec<Byte> =
        (0..16).map(known).collect::<Vec<_>>().into_iter().chain(unknown.collect::<Vec<_>>()).collect();
    let value = |name| {
        let (_, bytes) = arguments.iter().find(|(known, _)| *known == name)?;
        Some(number(
            match name {
                Argument::In => INPUT,
                Argument::Out => OUTPUT,
                _ => 5,
            },
            *bytes,
        ))
    };
    let grid = Grid { blocks: 1, threads: 64 };
    Launch { code: (&ptx).into(), entry: &entry, grid, shared_bytes: 0 }.run(
        &mut cells,
        value,
        &[(INPUT, &input)],
        &[(OUTPUT, 16)],
    )
}

#[test]
fn what_a_run_may_not_do() {
    let mut wrong = vec![];
    let one = "@%p bra ONE;\nret;\nONE:\n";
    for (body, why) in [
        // Device memory.
        ("ld.global.u32 %a, [%i+28];", None),
        ("ld.global.u32 %a, [%i+32];", Some("nothing was written")),
        ("ld.global.u8 %a, [%i+32];", Some("nothing was written")),
        ("ld.global.u32 %a, [%i+-4];", Some("not accessed")),
        ("ld.global.u32 %a, [%o];", Some("nothing was written")),
        ("ld.global.u32 %a, [%i+2];", Some("not accessed")),
        ("ld.global.nc.v4.u32 {%a, %b, %a, %b}, [%i];", None),
        ("ld.global.nc.v4.u32 {%a, %b, %a, %b}, [%i+8];", Some("not accessed")),
        ("@%p st.global.u32 [%o+12], %n;", None),
        ("@%p st.global.u32 [%o+16], %n;", Some("may not be written")),
        ("@%p st.global.u8 [%o+16], %n;", Some("may not be written")),
        ("add.s64 %a, %o, -1;\n@%p st.global.u8 [%a], %n;", Some("may not be written")),
        ("@%p st.global.u32 [%o+2], %n;", Some("not accessed")),
        ("@%p st.global.u32 [%i], %n;", Some("may not be written")),
        // Memory of another space.
        ("ld.shared.u32 %a, [%i];", Some("not accessed")),
        ("ld.param.u32 %a, [%i];", Some("not accessed")),
        ("ld.global.u32 %a, [in];", Some("not accessed")),
        ("ld.global.u32 %a, [m];", Some("not accessed")),
        ("ld.param.u32 %a, [m];", Some("not accessed")),
        ("ld.shared.u32 %a, [in];", Some("not accessed")),
        ("@%p st.shared.u32 [m+60], %n;", None),
        ("@%p st.shared.u32 [m+64], %n;", Some("not accessed")),
        ("@%p st.shared.u32 [in], %n;", Some("not accessed")),
        ("ld.shared.u32 %a, [m];", Some("nothing was written")),
        ("@%p atom.shared.add.u32 %a, [m], 1;", Some("nothing was written")),
        ("@%p st.shared.u32 [m], 7;\nbar.sync 0;\natom.shared.add.u32 %a, [m], 1;", None),
        ("ld.global.nc.u32 %a, [%i];", None),
        ("@%p st.global.u32 [%o], %n;\nbar.sync 0;\nld.global.nc.u32 %a, [%o];", Some("as if it were constant")),
        // Unknown values decide nothing.
        ("and.b32 %a, %u, 4;\nadd.s64 %a, %i, %a;\nld.global.u32 %b, [%a];", Some("unknown bits")),
        ("setp.eq.s32 %p, %u, 0;", Some("unknown bits")),
        ("and.b32 %a, %u, 1;\n@%a bra L;\nL:", Some("unknown bits")),
        ("and.b32 %a, %u, 1;\nselp.b32 %b, 1, 2, %a;", Some("unknown bits")),
        ("add.s32 %a, %u, 1;\nsetp.eq.s32 %p, %a, 0;", Some("unknown bits")),
        ("mul.wide.u32 %a, %u, 3;\nsetp.eq.s32 %p, %a, 0;", Some("unknown bits")),
        ("dp4a.s32.s32 %a, %u, 3, 0;", Some("a product of unknown bits")),
        ("neg.s32 %a, %u;", Some("the negative")),
        ("shl.b32 %a, 1, %u;", Some("unknown bits")),
        ("@%p st.shared.u32 [m], %u;\nbar.sync 0;\natom.shared.add.u32 %a, [m], 1;", Some("unknown bits")),
        ("shfl.sync.idx.b32 %a, %n, %u, 31, -1;", Some("unknown bits")),
        // Registers, instructions and operands.
        ("mov.u32 %b, %a;", Some("was not written")),
        ("setp.eq.s32 %a, %n, 5;\n@%b mov.u32 %a, 1;", Some("was not written")),
        ("madeup.u32 %a, %n;", Some("no rule")),
        ("add.u32 %a, %n, 1;", Some("no rule")),
        ("mov.u32 %a, %warpid;", Some("the value of")),
        ("add.s32 4, %n, 1;", Some("a destination")),
        ("add.s32 %a, %n;", Some("too few operands")),
        ("add.s32 %a, %n, -%n;", Some("a sign")),
        ("not.b32 %a, ~%n;", Some("a sign")),
        ("mov.b64 %a, {%n, %n};", Some("several registers")),
        ("div.u32 %a, %n, 0;", Some("a division by 0")),
        ("@%p bra.uni L;\nL:", Some("no rule with a predicate")),
        ("bra %n;", Some("no rule for these operands")),
        ("ret %n;", Some("no rule for these operands")),
        // Threads.
        ("bar.sync 0;\nbar.warp.sync -1;", None),
        ("bar.sync 1;", Some("no rule for these operands")),
        ("bar.sync 0, 32;", Some("no rule for these operands")),
        ("bar.sync 1, 128;", Some("for ever")),
        ("bar.sync 0, 128;", Some("that is not there")),
        ("bar.warp.sync 1;", Some("no rule for these operands")),
        ("@%p bra L;\nbar.sync 0;\nret;\nL:\nbar.sync 0;", Some("same barrier")),
        ("@%p bra L;\nbar.sync 0;\nL:", Some("same barrier")),
        ("@%p bra L;\nbar.warp.sync -1;\nL:", Some("for ever")),
        ("@%p bra L;\nshfl.sync.idx.b32 %a, %n, 0, 31, -1;\nL:", Some("for ever")),
        ("shfl.sync.idx.b32 %a, %n, 0, 31, 1;", Some("some lanes only")),
        ("redux.sync.or.b32 %a, %n, -1;", None),
        ("redux.sync.or.b32 %a, %n, 1;", Some("some lanes only")),
        ("redux.sync.or.b32 %a, %u, -1;", Some("unknown bits")),
        ("L:\nbra L;", Some("does not end")),
        // Products of matrices.
        ("MMA {%a, %b, %a, %b}, {%u, %n, %n, %n}, {%n, %u}, {%t, %t, %t, 0};", None),
        ("MMA {%a, %b, %a, %b}, {%n, %n, %n}, {%n, %n}, {%t, %t, %t, %t};", Some("of other sizes")),
        ("MMA {%a, %b, %a, %b}, {%n, %n, %n, %n}, {%n, %n}, {%u, %t, %t, %t};", Some("no count")),
        ("@%p bra L;\nMMA {%a, %b, %a, %b}, {%n, %n, %n, %n}, {%n, %n}, {%t, %t, %t, %t};\nL:", Some("for ever")),
        (
            "MMA {%a, %b, %b, %b}, {%u, 0, 0, 0}, {%n, %n}, {0, 0, 0, 0};\nshr.u32 %a, %a, 6;\nadd.s64 %a, %i, %a;\n\
             ld.global.u32 %b, [%a];",
            None,
        ),
        (
            "MMA {%a, %b, %b, %b}, {%u, 0, 0, 0}, {%n, %n}, {0, 0, 0, 0};\nadd.s64 %a, %i, %a;\nld.global.u32 %b, [%a];",
            Some("unknown bits"),
        ),
        // Calls.
        (
            ".param .b32 g;\nst.param.b32 [g+0], %n;\n.param .b32 r;\ncall.uni (r), twice, (g);\nld.param.u32 %a, [r+0];\n\
             setp.eq.s32 %p, %a, 10;\n@%p bra L;\nld.global.u32 %b, [%o];\nL:",
            None,
        ),
        (".param .b32 g;\n.param .b32 r;\ncall.uni (r), twice, (g);", Some("nothing was written")),
        (
            ".param .b32 g;\nst.param.b32 [g+0], %n;\n.param .b32 r;\ncall.uni (r), twice, (g);\ncall.uni (r), twice, (g);",
            Some("nothing was written"),
        ),
        (".param .b32 g;\n.param .b32 r;\ncall.uni (r), waits, (g);", Some("waits for other threads")),
        (".param .b32 g;\n.param .b32 r;\ncall.uni (r), thrice, (g);", Some("there is no function")),
        (".param .b32 g;\n.param .b32 r;\ncall.uni (r), twice, (g, g);", Some("another number of parameters")),
        (".param .b64 g;\n.param .b32 r;\ncall.uni (r), twice, (g);", Some("of another size")),
        (".param .b64 g;\nst.param.b64 [g+0], %n;\nld.param.u32 %a, [g];", Some("a part of a parameter")),
        // Atomic sums over GF(2).
        ("atom.global.xor.b32 %a, [%o], %n;", Some("nothing was written")),
        ("@%p st.global.u32 [%o], %n;\nbar.sync 0;\natom.global.xor.b32 %a, [%o], %u;", None),
        ("@%p st.global.u32 [%o], %n;\natom.global.xor.b32 %a, [%o], %u;", Some("a race")),
        ("atom.global.xor.b32 %a, [%i], %u;", Some("may not be written")),
        (
            "@%p st.global.u32 [%o], %n;\nbar.sync 0;\natom.global.xor.b32 %a, [%o], 1;\natom.global.add.u32 %a, [%o], 1;",
            Some("of two kinds"),
        ),
        ("@%p st.global.u32 [%o], %n;\nbar.sync 0;\natom.global.add.u32 %a, [%o], 1;", None),
        // Memory of a thread, and device memory without a memory space.
        (".local .align 4 .b8 l[8];\nst.local.u32 [l+4], %t;\nld.local.u32 %a, [l+4];", None),
        (".local .align 4 .b8 l[8];\nst.local.u32 [l+4], %n;\nld.local.u32 %a, [l];", Some("nothing was written")),
        (".local .align 4 .b8 l[8];\nst.local.u32 [l+8], %n;", Some("are not accessed")),
        ("ld.u8 %a, [%i];", None),
        ("ld.u8 %a, [m];", Some("are not accessed")),
        // Races.
        ("st.shared.u32 [m], %n;", None),
        ("st.shared.u32 [m], %t;", Some("a race")),
        ("st.global.u32 [%o], %t;", Some("a race")),
        ("@%p st.shared.u32 [m], %n;\nld.shared.u32 %a, [m];", Some("a race")),
        ("@%p st.shared.u32 [m], %n;\nbar.warp.sync -1;\nld.shared.u32 %a, [m];", Some("a race")),
        ("@%p st.shared.u32 [m], %n;\nbar.sync 0;\nld.shared.u32 %a, [m];", None),
        (
            "@%p st.shared.u32 [m], 0;\nbar.sync 0;\natom.shared.add.u32 %a, [m], 1;\nld.shared.u32 %b, [m];",
            Some("a race"),
        ),
    ] {
        let body = body.replace("MMA", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc");
        let found = launch(&body).err();
        let is_expected = match why {
            None => found.is_none(),
            Some(why) => found.as_ref().is_some_and(|found| found.contains(why)),
        };
        if !is_expected {
            wrong.push(format!("{body}: {found:?}, not {why:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // One thread alone.
    assert!(launch(&format!("{one}st.global.u32 [%o], %t;")).is_ok());
}

/// A thread begins a copy of 16 bytes to shared memory, and all threads wait for it.
const COPY: [&str; 8] = [
    "@!%p bra W;",
    "mbarrier.init.shared::cta.b64 [m+32], 1;",
    "fence.proxy.async.shared::cta;",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m+32], 16;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m+16], [%i+16], 16, [m+32];",
    "W:\nbar.sync 0;",
    "T:\nmbarrier.try_wait.parity.shared::cta.b64 %b, [m+32], 0;\n@!%b bra T;",
    "ld.shared.u32 %a, [m+16];",
];

/// Every check of copies: what is wrong if one of these lines is another.
#[test]
fn what_a_copy_may_not_do() {
    let with = |line: usize, instead: &str| {
        let mut lines = COPY;
        lines[line] = instead;
        launch(&lines.join("\n")).err()
    };
    assert_eq!(with(0, COPY[0]), None);
    let copy = |operands: &str| {
        let (name, _) = COPY[4].split_once(' ').unwrap();
        format!("{name} {operands};")
    };
    for (line, instead, why) in [
        (1, "", "no barrier is at"),
        (1, "mbarrier.init.shared::cta.b64 [m+32], 0;", "for no threads"),
        (1, "mbarrier.init.shared::cta.b64 [m+32], 1;\nmbarrier.init.shared::cta.b64 [m+32], 1;", "is there already"),
        (1, "mbarrier.init.shared::cta.b64 [m+32], 2;", "for ever"),
        (1, "mbarrier.init.shared::cta.b64 [m+36], 1;", "not accessed"),
        (1, "mbarrier.init.shared::cta.b64 [%i], 1;", "not accessed"),
        (2, "", "no fence of the async proxy"),
        (
            2,
            "st.shared.u32 [m+24], %n;\nfence.proxy.async.shared::cta;\nst.shared.u32 [m+16], %n;",
            "no fence of the async proxy",
        ),
        (3, "", "bytes that are not expected"),
        (3, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m+32], 8;", "bytes that are not expected"),
        (3, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m+32], 32;", "for ever"),
        (4, "", "for ever"),
        (4, &copy("[m+16], [%i+16], 8, [m+32]"), "a copy of 8 bytes"),
        (4, &copy("[m+16], [%i+16], 0, [m+32]"), "a copy of 0 bytes"),
        (4, &copy("[m+8], [%i+16], 16, [m+32]"), "not accessed"),
        (4, &copy("[m+16], [%i+8], 16, [m+32]"), "not accessed"),
        (4, &copy("[m+16], [%i+32], 16, [m+32]"), "nothing was written"),
        (4, &copy("[m+16], [%o], 16, [m+32]"), "what the launch may write"),
        (5, "W:", "a race"),
        (6, "", "has not waited for the copy"),
        (6, "mbarrier.try_wait.parity.shared::cta.b64 %b, [m+32], 0;", "has not waited for the copy"),
        (6, "mbarrier.try_wait.parity.shared::cta.b64 %b, [m+32], 1;", "for ever"),
        (7, "st.shared.u32 [m+16], %t;", "a race"),
        (7, "st.shared.u32 [m+32], 0;\nmbarrier.try_wait.parity.shared::cta.b64 %b, [m+32], 0;", "no barrier"),
    ] {
        let found = with(line, instead).unwrap_or_else(|| panic!("{instead} is allowed"));
        assert!(found.contains(why), "{instead}: {found}");
    }
}

/// A launch gives each parameter a value of the size that is declared.
#[test]
fn parameters_have_their_sizes() {
    for (arguments, why) in [
        ([(Argument::In, 8), (Argument::Out, 8), (Argument::All, 8)], "has 8 bytes, and 4 are declared"),
        ([(Argument::In, 4), (Argument::Out, 8), (Argument::All, 4)], "has 4 bytes, and 8 are declared"),
        ([(Argument::In, 8), (Argument::Out, 8), (Argument::Each, 4)], "no value is known for `all`"),
    ] {
        let found = with_arguments("", &arguments).err().unwrap();
        assert!(found.contains(why), "{found}");
    }
}

/// Every bit of every byte is compared, the first and the last too, and none may be missing.
#[test]
fn every_bit_is_compared() {
    let expected: Vec<Byte> = (1..=16).map(known).collect();
    let of = |changed: Option<(usize, u8)>| {
        let mut memory = Memory::default();
        let byte = |n: usize| (n as u8 + 1) ^ changed.filter(|(at, _)| *at == n).map_or(0, |(_, bits)| bits);
        memory.put(OUTPUT, (0..16).map(|n| known(byte(n))));
        compare(&memory, OUTPUT, &expected)
    };
    assert_eq!(of(None), Ok(()));
    for byte in 0..16 {
        for bit in 0..8 {
            assert_eq!(of(Some((byte, 1 << bit))), Err(format!("bit {bit} of byte {byte} differs")));
        }
    }
    let mut memory = Memory::default();
    memory.put(OUTPUT, expected[..15].to_vec());
    assert!(compare(&memory, OUTPUT, &expected).unwrap_err().contains("nothing was written"));
    // What one thread block leaves in shared memory, another does not see.
    memory.forget(&[OUTPUT..OUTPUT + 1, 0..1]);
    assert!(memory.byte(OUTPUT).is_err() && memory.byte(OUTPUT + 1).is_ok());
}
