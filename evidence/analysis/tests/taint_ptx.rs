//! Rules for PTX: every instruction that has one, with a secret in each of its operands; what is read where; where execution goes.

use aes_bitslice_analysis::taint::{Report, Secrets, ptx};
use std::collections::BTreeSet;

/// A kernel with a pointer, a table, 32 bytes of which the middle ones are secret, and a number; `variables` are in shared memory. `%s` and
/// `%q` are secret, a word and a predicate, `%n` and `%p` public; others are `%a` and so on up to `%h`.
fn report(body: &str) -> Report {
    let declared = ".shared .align 16 .b8 m[64];\n.shared .align 16 .b8 other[64];\n.global .align 4 .b8 g[4];";
    let function = ".func (.param .b32 back) f(.param .b32 one, .param .b32 two)\n{\n.reg .b32 %x;\nld.param.u32 %x, [two];\n\
                    st.param.b32 [back+0], %x;\nret;\n}";
    let text = format!(
        "{declared}\n{function}\n.visible .entry k(.param .u64 p, .param .u64 t, .param .align 16 .b8 w[32], .param .u32 n)\n{{\n\
         .local .align 16 .b8 l[64];\n.reg .pred %p, %q;\n.reg .b64 %s, %n, %a, %b, %c, %d, %e, %f, %g, %h;\nld.param.u32 %s, [w+8];\n\
         ld.param.u32 %n, [n];\nsetp.ne.s32 %q, %s, 0;\nsetp.ne.s32 %p, %n, 0;\n{body}\nret;\n}}"
    );
    let secrets = Secrets::default().parameter(8, 0..0).table().parameter(32, 8..24).parameter(4, 0..0);
    ptx::check(&text, "k", &secrets).unwrap_or_else(|why| panic!("{body}: {why}"))
}

/// What is wrong with which instructions.
fn findings(body: &str) -> Vec<(String, &'static str)> {
    report(body).findings.into_iter().map(|finding| (finding.instruction, finding.what)).collect()
}

/// Whether a register is secret after these instructions, among which there is no finding.
fn is_secret(body: &str, register: &str) -> bool {
    match findings(&format!("{body}\nshfl.sync.idx.b32 %h, %n, {register}, 31, -1;"))[..] {
        [] => false,
        [(ref instruction, "a lane depends on a secret")] if instruction.starts_with("shfl.sync.idx.b32 %h, %n,") => {
            true
        }
        ref others => panic!("{body}: {others:?}"),
    }
}

/// An example of every instruction that has a rule. The words say what an operand is: `to` is written, and public if the others are;
/// `secret` is written, and is always secret; what is written depends on `from`, and memory on `stored`; a secret in place of any other
/// word is found, and the finding contains the word.
const COMPUTE: &str = "
    abs.s32 $to, $from
    activemask.b32 $to
    add.s32 $to, $from, $from
    addc.u32 $to, $from, $from
    and.b32 $to, $from, $from
    bfe.u32 $to, $from, $from, $from
    bfi.b32 $to, $from, $from, $from, $from
    bfind.u32 $to, $from
    brev.b32 $to, $from
    clz.b32 $to, $from
    cnot.b32 $to, $from
    cvt.u64.u32 $to, $from
    cvta.to.global.u64 $to, $from
    dp2a.lo.u32.u32 $to, $from, $from, $from
    dp4a.s32.s32 $to, $from, $from, $from
    fns.b32 $to, $from, $from, $from
    lop3.b32 $to, $from, $from, $from, 150
    mad.lo.s32 $to, $from, $from, $from
    mad24.lo.s32 $to, $from, $from, $from
    mapa.shared::cluster.u32 $to, $from, $from
    max.u32 $to, $from, $from
    min.u32 $to, $from, $from
    mov.u32 $to, $from
    mov.b64 {$to, $to}, $from
    mov.b64 $to, {$from, $from}
    mul.lo.s32 $to, $from, $from
    mul24.lo.s32 $to, $from, $from
    neg.s32 $to, $from
    not.b32 $to, $from
    or.b32 $to, $from, $from
    popc.b32 $to, $from
    prmt.b32 $to, $from, $from, $from
    sad.u32 $to, $from, $from, $from
    selp.b32 $to, $from, $from, $from
    set.eq.u32.u32 $to, $from, $from
    setp.eq.and.u32 $to|$to, $from, $from, $from
    shf.l.wrap.b32 $to, $from, $from, $from
    shl.b32 $to, $from, $from
    shr.u32 $to, $from, $from
    slct.u32.s32 $to, $from, $from, $from
    sub.s32 $to, $from, $from
    subc.u32 $to, $from, $from
    xor.b32 $to, $from, $from
    cos.approx.f32 $to, $time
    div.u32 $to, $time, $time
    ex2.approx.f32 $to, $time
    fma.rn.f32 $to, $time, $time, $time
    lg2.approx.f32 $to, $time
    rcp.approx.f32 $to, $time
    rem.u32 $to, $time, $time
    rsqrt.approx.f32 $to, $time
    sin.approx.f32 $to, $time
    sqrt.approx.f32 $to, $time
    tanh.approx.f32 $to, $time
    add.f16 $to, $time, $time
    add.f16x2 $to, $time, $time
    add.bf16 $to, $time, $time
    add.f32 $to, $time, $time
    add.f64 $to, $time, $time
    cvt.rn.f32.u32 $to, $time
    cvt.rna.tf32.f32 $to, $time
    cvt.rn.satfinite.e4m3x2.f32 $to, $time, $time
    cvt.rn.satfinite.e5m2x2.f32 $to, $time, $time
";

/// Examples of the instructions whose predicate must be public.
const OTHERS: &str = "
    elect.sync $to|$to, $mask
    match.any.sync.b32 $to, $from, $mask
    mbarrier.arrive.expect_tx.shared::cta.b64 $to, [$barrier], $barrier
    mbarrier.test_wait.shared::cta.b64 $to, [$barrier], $barrier
    mbarrier.try_wait.parity.shared::cta.b64 $to, [$barrier], $barrier, $barrier
    mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {$to, $to}, {$from, $from}, {$from}, {$from, $from}
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {$to, $to}, {$time, $time}, {$time}, {$time, $time}
    redux.sync.add.s32 $to, $from, $mask
    shfl.sync.idx.b32 $to|$to, $from, $lane, $lane, $lane
    vote.sync.ballot.b32 $to, $from, $mask
    atom.shared.add.u32 $to, [$address], $stored
    atom.shared.cas.b32 $to, [$address], $stored, $stored
    atom.global.xor.b32 $secret, [$address], $from
    bar.sync $barrier, $barrier
    bar.red.popc.u32 $barrier, $barrier, $barrier
    barrier.cluster.arrive $barrier
    bra $control
    brkpt $control
    call f, $control
    cp.async.ca.shared.global [$address], [$address], 16, $address
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$address], [$address], $address, [$address]
    cp.async.bulk.commit_group $control
    cp.async.bulk.wait_group $control
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$address], [$address], $address
    discard.global.L2 [$address], 128
    applypriority.global.L2::evict_normal [$address], 128
    exit $control
    fence.acq_rel.gpu $control
    griddepcontrol.wait $control
    ld.shared.u32 $to, [$address]
    ld.shared.u32 $to, [$address+4], $address
    ld.shared.v2.u32 {$to, $to}, [$address]
    ld.shared.v4.u32 {$to, $to, $to, $to}, [$address]
    ld.local.u32 $to, [$address]
    ld.param.u32 $secret, [$address]
    ld.global.u32 $secret, [$address]
    ld.global.v2.u32 {$secret, $secret}, [$address]
    ld.global.v4.u32 {$secret, $secret, $secret, $secret}, [$address]
    ld.const.u32 $secret, [$address]
    ld.u32 $secret, [$address]
    ldu.global.u32 $secret, [$address]
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$to, $to, $to, $to}, [$address]
    mbarrier.init.shared::cta.b64 [$barrier], $barrier
    mbarrier.inval.shared::cta.b64 [$barrier]
    membar.gl $control
    nanosleep.u32 $control
    pmevent $control
    prefetch.global.L1 [$address]
    prefetchu.L1 [$address]
    red.shared.add.u32 [$address], $stored
    red.global.xor.b32 [$address], $from
    ret $control
    setmaxnreg.inc.sync.aligned.u32 $control
    st.shared.u32 [$address], $stored
    st.shared.v4.u32 [$address], {$stored, $stored, $stored, $stored}
    st.global.u32 [$address], $from
    st.local.u32 [$address], $from
    trap $control
    wgmma.commit_group.sync.aligned $control
    wgmma.fence.sync.aligned $control
    wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {$secret, $secret}, $address, $address, $address
    wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {$secret, $secret}, {$from, $from}, $address, $address
    wgmma.wait_group.sync.aligned $control
";

fn lines(examples: &str) -> impl Iterator<Item = &str> {
    examples.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The words after `$` in an example, and the example with these operands.
fn example<'a>(line: &'a str, operand: &dyn Fn(usize, &str) -> &'static str) -> (Vec<&'a str>, String) {
    let mut pieces = line.split('$');
    let (mut words, mut text) = (vec![], String::from(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let (word, rest) = piece.split_at(piece.find(|sign: char| !sign.is_ascii_lowercase()).unwrap_or(piece.len()));
        text = text + operand(words.len(), word) + rest;
        words.push(word);
    }
    (words, text + ";")
}

fn is_written(word: &str) -> bool {
    word == "to" || word == "secret"
}

/// Registers for what is written, `%n` for what is read, and `%s` in one place of it.
fn with_secret_at(secret: usize) -> impl Fn(usize, &str) -> &'static str {
    let places = ["%a", "%b", "%c", "%d", "%e", "%f", "%g"];
    move |n, word| match word {
        word if is_written(word) => places[n],
        _ if n == secret => "%s",
        "lane" | "address" | "barrier" | "control" | "mask" => "%n",
        _ => "%n",
    }
}

/// Every secret operand is found or followed, and no public one is.
#[test]
fn every_operand_of_every_instruction() {
    for (line, may_have_secret_predicate) in
        lines(COMPUTE).map(|line| (line, true)).chain(lines(OTHERS).map(|line| (line, false)))
    {
        let nowhere = usize::MAX;
        let (words, public) = example(line, &with_secret_at(nowhere));
        // Branches and calls have tests of their own.
        if ["bra", "call"].contains(&line.split([' ', '.']).next().unwrap()) {
            continue;
        }
        let written = || (0..words.len()).filter(|&n| is_written(words[n]));
        let place = |n: usize| with_secret_at(nowhere)(n, "to");
        let is_stored = |text: &str| is_secret(&format!("{text}\nld.shared.u32 %g, [m+8];"), "%g");
        for n in written() {
            assert_eq!(is_secret(&public, place(n)), words[n] == "secret", "{public}: {}", place(n));
        }
        let writes_secrets = line.starts_with("cp.") && line.contains("[");
        assert_eq!(is_stored(&public), writes_secrets, "{public}");
        for (n, &word) in words.iter().enumerate().filter(|(_, word)| !is_written(word)) {
            let (_, text) = example(line, &with_secret_at(n));
            match word {
                "from" | "stored" => {
                    for to in written() {
                        assert!(is_secret(&text, place(to)), "{text}: {}", place(to));
                    }
                    assert_eq!(is_stored(&text), word == "stored", "{text}");
                }
                _ => {
                    let found = findings(&text);
                    let is_it =
                        |(instruction, what): &(String, &str)| text.starts_with(instruction) && what.contains(word);
                    assert!(found.len() == 1 && is_it(&found[0]), "{text}: {found:?}, not {word}");
                }
            }
        }
        for guard in ["@%q", "@!%q"] {
            let guarded = format!("{guard} {public}");
            if may_have_secret_predicate {
                written().for_each(|to| assert!(is_secret(&guarded, place(to)), "{guarded}"));
            } else {
                let found = findings(&guarded);
                assert!(found.len() == 1 && found[0].1 == "its predicate is secret", "{guarded}: {found:?}");
            }
        }
        assert_eq!(findings(&format!("@%p {public}")), [], "{public}");
    }
}

/// An instruction without an example fails, and an example of no instruction with a rule.
#[test]
fn every_instruction_has_an_example() {
    let names: BTreeSet<&str> = ptx::names().collect();
    let name_of = |line: &'static str| {
        let opcode = line.split(' ').next().unwrap_or(line);
        let is_name =
            |name: &&&str| opcode.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        *names.iter().filter(is_name).max_by_key(|name| name.len()).unwrap_or_else(|| panic!("no rule for {line}"))
    };
    let with_example: BTreeSet<&str> = lines(COMPUTE).chain(lines(OTHERS)).map(name_of).collect();
    assert_eq!(names.difference(&with_example).collect::<Vec<_>>(), [&""; 0], "instructions without an example");
}

/// Bytes 8 to 24 of a parameter are secret, and no others.
#[test]
fn bytes_of_parameters() {
    for (of_type, bytes) in [("u8", 1), ("u16", 2), ("b32", 4), ("f32", 4), ("u64", 8), ("f64", 8)] {
        for (vector, count, to) in [("", 1, "%a"), (".v2", 2, "{%a, %b}"), (".v4", 4, "{%a, %b, %c, %d}")] {
            for at in (0..=32 - bytes * count).step_by(bytes) {
                let text = format!("ld.param{vector}.{of_type} {to}, [w+{at}];");
                let overlaps = at < 24 && at + bytes * count > 8;
                for register in &["%a", "%b", "%c", "%d"][..count] {
                    assert_eq!(is_secret(&text, register), overlaps, "{text}: {register}");
                }
            }
        }
    }
    assert!(is_secret("add.u64 %a, w, %n;\nld.param.u32 %b, [%a];", "%b"), "an unknown place in a parameter");
    assert!(!is_secret("ld.param.u64 %a, [p];", "%a") && !is_secret("ld.param.u64 %a, [t];", "%a"));
    assert!(!is_secret("mov.u32 %a, %tid.x;\nadd.s32 %a, %a, %ctaid.y;", "%a"), "special registers");
}

/// Of device memory, what non-coherent loads read from a table is public, and only that.
#[test]
fn parameters_of_other_sizes_are_refused() {
    let text = ".visible .entry k(.param .u64 p, .param .u32 n)\n{\nret;\n}";
    let named =
        |sizes: &[usize]| sizes.iter().fold(Secrets::default(), |secrets, &bytes| secrets.parameter(bytes, 0..0));
    assert!(ptx::check(text, "k", &named(&[8, 4])).is_ok());
    for sizes in [&[][..], &[8], &[8, 8], &[4, 4], &[4, 8], &[8, 4, 4]] {
        let refused = ptx::check(text, "k", &named(sizes)).unwrap_err();
        assert!(refused.contains("others than were named"), "{sizes:?}: {refused}");
    }
}

#[test]
fn device_memory_and_tables() {
    let table = "ld.param.u64 %a, [t];\ncvta.to.global.u64 %a, %a;\nld.param.u64 %b, [p];";
    let is_secret = |text: &str| is_secret(&format!("{table}\n{text}"), "%c");
    for public in [
        "ld.global.nc.u32 %c, [%a];",
        "ld.global.nc.v4.u32 {%d, %e, %f, %c}, [%a+16];",
        "add.s64 %d, %a, %n;\nld.global.nc.u32 %c, [%d];",
        "mad.lo.s64 %d, %n, 16, %a;\nld.global.nc.u32 %c, [%d];",
    ] {
        assert!(!is_secret(public), "{public}");
    }
    for secret in ["ld.global.u32 %c, [%a];", "ld.u32 %c, [%a];", "ld.global.u32 %c, [g];", "ld.const.u32 %c, [g];"] {
        assert!(is_secret(secret), "{secret}");
    }
    let of_no_table = "a non-coherent load is of no table";
    for (text, count) in [
        ("ld.global.nc.u32 %c, [%b];", 1),
        ("ld.global.nc.u32 %c, [%n];", 1),
        ("ld.global.nc.u32 %c, [g];", 1),
        ("ld.param.u64 %a, [t+4];\nld.global.nc.u32 %c, [%a];", 1),
        ("selp.b64 %a, %a, %b, %p;\nld.global.nc.u32 %c, [%a];", 1),
        ("@%p mov.u64 %a, %b;\nld.global.nc.u32 %c, [%a];", 1),
        ("st.global.u32 [%a], %n;\nld.global.nc.u32 %c, [%a];", 0),
    ] {
        let found = findings(&format!("{table}\n{text}"));
        assert!(found.len() == count && found.iter().all(|(_, what)| *what == of_no_table), "{text}: {found:?}");
    }
    // The table was written.
    for store in [
        "st.global.u32 [%a], %s;",
        "st.u32 [4], %s;",
        "red.global.add.u32 [%a+4], %s;",
        "cp.async.bulk.global.shared::cta.bulk_group [%a], [m], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [m], 16;",
    ] {
        let found = findings(&format!("{table}\n{store}\nld.global.nc.u32 %c, [%a];"));
        assert!(found.iter().any(|(_, what)| *what == of_no_table), "{store}: {found:?}");
    }
}

/// What atomic increments of device memory return is public where arrivals are counted, and what other updates of memory return is not.
#[test]
fn arrivals_are_public() {
    let is_found = |update: &str, secrets: &Secrets| {
        let text = format!(
            ".shared .align 4 .b8 m[4];\n.visible .entry k(.param .u64 p)\n{{\n.reg .b64 %a, %p, %s;\nld.param.u64 %p, [p];\n\
             ld.global.u32 %s, [%p];\nst.shared.u32 [m], %s;\n{update};\nshfl.sync.idx.b32 %s, 0, %a, 31, -1;\nret;\n}}"
        );
        !ptx::check(&text, "k", secrets).unwrap().findings.is_empty()
    };
    let (arrivals, other) = (Secrets::default().arrivals(), Secrets::default().parameter(8, 0..0));
    let arrives = "atom.global.inc.u32 %a, [%p], 3";
    assert!(!is_found(arrives, &arrivals) && is_found(arrives, &other));
    for update in [
        "atom.global.inc.u32 %a, [%p], %s",
        "atom.global.exch.b32 %a, [%p], 0",
        "atom.global.add.u32 %a, [%p], 1",
        "atom.shared.inc.u32 %a, [m], 3",
        "atom.inc.u32 %a, [%p], 3",
    ] {
        assert!(is_found(update, &arrivals), "{update}");
    }
}

/// A secret makes the variable secret that it is written to, and where that is not known, all that it may be written to.
#[test]
fn variables_in_memory() {
    // What is written, and which of `m`, `other` and `l` are secret then.
    for (store, expected) in [
        ("st.shared.u32 [m], %n;", [false, false, false]),
        ("st.shared.u32 [m], %s;", [true, false, false]),
        ("st.shared.u32 [other+60], %s;", [false, true, false]),
        ("st.shared.v2.u32 [m+8], {%n, %s};", [true, false, false]),
        ("st.local.u32 [l], %s;", [false, false, true]),
        ("add.u64 %a, m, %n;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("add.u64 %a, %n, m;\nadd.u64 %a, %a, 4;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("sub.u64 %a, m, 4;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("mad.lo.u64 %a, %n, 4, m;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("mul.lo.u64 %a, m, 1;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("mul.lo.u64 %a, 1, m;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("mul.lo.u64 %a, m, 0;\nadd.u64 %a, %a, other;\nst.shared.u32 [%a], %s;", [false, true, false]),
        ("selp.b64 %a, m, m, %p;\nst.shared.u32 [%a], %s;", [true, false, false]),
        ("add.u64 %a, m, 4;\nselp.b64 %a, %a, m, %p;\nst.shared.u32 [%a], %s;", [true, false, false]),
        // Somewhere in shared memory.
        ("st.shared.u32 [%n], %s;", [true, true, false]),
        ("st.shared.u32 [4], %s;", [true, true, false]),
        ("sub.u64 %a, %n, m;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("add.u64 %a, other, m;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("add.u64 %b, other, %n;\nadd.u64 %a, m, %b;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("mul.lo.u64 %a, m, 2;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("selp.b64 %a, m, other, %p;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("selp.b64 %a, m, %n, %p;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("xor.b64 %a, m, %n;\nst.shared.u32 [%a], %s;", [true, true, false]),
        ("mov.u64 %a, other;\n@%p mov.u64 %a, m;\nst.shared.u32 [%a], %s;", [true, true, false]),
        // Anywhere.
        ("st.u32 [4], %s;", [true, true, true]),
        ("atom.shared.exch.b32 %a, [m], %s;", [true, false, false]),
        ("red.shared.add.u32 [m], %s;", [true, false, false]),
        ("cp.async.ca.shared.global [m], [%n], 16;", [true, false, false]),
        ("st.shared.u32 [m], %s;\nld.shared.u32 %a, [m+4];\nst.shared.u32 [other], %a;", [true, true, false]),
        // The order does not matter.
        ("ld.shared.u32 %a, [m];\nst.shared.u32 [other], %a;\nst.shared.u32 [m], %s;", [true, true, false]),
    ] {
        for (variable, expected) in
            ["shared.u32 %f, [m+", "shared.v2.u32 {%f, %g}, [other+", "local.u32 %f, [l+"].iter().zip(expected)
        {
            assert_eq!(is_secret(&format!("{store}\nld.{variable}16];"), "%f"), expected, "{store} {variable}");
        }
        // An address that is not known, and an atomic operation.
        let any_shared = expected[0] || expected[1];
        assert_eq!(is_secret(&format!("{store}\nld.shared.u32 %f, [4];"), "%f"), any_shared, "{store}");
        assert_eq!(is_secret(&format!("{store}\natom.shared.add.u32 %f, [m], 1;"), "%f"), expected[0], "{store}");
    }
}

#[test]
fn branches_and_calls() {
    let is_secret = |text: &str| is_secret(text, "%a");
    // A register keeps what it had where an instruction is not executed, and has what it had on either path.
    assert!(!is_secret("mov.u32 %a, %s;\nmov.u32 %a, %n;"));
    for secret in [
        "mov.u32 %a, %s;\n@%p mov.u32 %a, %n;",
        "mov.u32 %a, %n;\n@%p mov.u32 %a, %s;",
        "mov.u32 %a, %s;\n@%p bra L;\nmov.u32 %a, %n;\nL:",
        "mov.u32 %a, %n;\n@%p bra L;\nmov.u32 %a, %s;\nL:",
        "mov.u32 %a, %n;\nmov.u32 %b, %n;\nmov.u32 %c, %n;\nL:\nmov.u32 %a, %b;\nmov.u32 %b, %c;\nmov.u32 %c, %s;\n@%p bra L;",
        // They end only some threads.
        "mov.u32 %a, %s;\n@%p ret;",
        "mov.u32 %a, %s;\n@!%p exit;",
        "mov.u32 %a, %s;\n@%p trap;",
        "mov.u32 %a, %s;\nbra L;\nL:",
        "mov.u32 %a, %s;\nbra L;\nM:\nmov.u32 %a, %n;\nbra N;\nL:\n@%p bra M;\nN:",
    ] {
        assert!(is_secret(secret), "{secret}");
    }
    // What follows is not reached.
    assert!(!is_secret("mov.u32 %a, %n;\nbra L;\nmov.u32 %a, %s;\nL:"));
    for ends in ["ret", "exit", "trap"] {
        assert!(!is_secret(&format!("mov.u32 %a, %n;\n@%p bra L;\nmov.u32 %a, %s;\n{ends};\nL:")), "{ends}");
    }
    for (text, what) in [
        ("@%q bra L;\nL:", "its predicate is secret"),
        ("@!%q bra.uni L;\nL:", "its predicate is secret"),
        ("bra %n;", "there is no rule for this instruction"),
        ("bra nowhere;", "there is no rule for this instruction"),
        ("brx.idx %n, L;\nL:", "there is no rule for this instruction"),
    ] {
        let found = findings(text);
        assert!(found.len() == 1 && found[0].1 == what, "{text}: {found:?}");
    }
    // `f` returns its second argument.
    let call = |one: &str, two: &str, guard: &str| {
        format!(
            "{{\n.param .b32 one;\nst.param.b32 [one], {one};\n.param .b32 two;\nst.param.b32 [two], {two};\n.param .b32 back;\n\
             {guard} call.uni (back), f, (one, two);\nld.param.b32 %a, [back];\n}}"
        )
    };
    assert!(!is_secret(&call("%n", "%n", "")) && !is_secret(&call("%s", "%n", "")) && is_secret(&call("%n", "%s", "")));
    let found = findings(&call("%n", "%n", "@%q"));
    assert!(found.len() == 1 && found[0].1 == "its predicate is secret", "{found:?}");
    for (is, instead) in [
        ("f, (one, two)", "h, (one, two)"),
        ("(one, two)", "(one)"),
        ("(back), ", ""),
        ("f,", "%n,"),
        ("(one,", "(%n,"),
    ] {
        let text = call("%n", "%n", "").replacen(
            "call.uni (back), f, (one, two)",
            &"call.uni (back), f, (one, two)".replace(is, instead),
            1,
        );
        let found = findings(&text);
        assert!(found.iter().any(|(_, what)| *what == "there is no rule for this call"), "{text}: {found:?}");
    }
}

/// What a function does wrong is found where it is called, and with the arguments of all calls.
#[test]
fn leaks_in_functions() {
    let text = |body: &str| {
        format!(
            ".func f(.param .b32 x)\n{{\n.reg .b32 %x, %y;\nld.param.u32 %x, [x];\nshfl.sync.idx.b32 %y, 0, %x, 31, -1;\nret;\n}}\n\
             .visible .entry k(.param .align 4 .b8 w[8])\n{{\n.reg .b32 %s;\n.param .b32 x;\n.param .b32 y;\nld.param.u32 %s, [w];\n\
             st.param.b32 [x], %s;\nst.param.b32 [y], 4;\n{body}\nret;\n}}"
        )
    };
    let secrets = Secrets::default().parameter(8, 0..4);
    let found = |body: &str| ptx::check(&text(body), "k", &secrets).unwrap().findings.len();
    assert_eq!(
        ["", "call f, (y);", "call f, (x);", "call f, (y);\ncall f, (x);\ncall f, (y);"].map(found),
        [0, 0, 1, 1]
    );
}

#[test]
fn what_is_not_known_is_reported() {
    for text in [
        "madeup.u32 %a, %n;",
        "madeup;",
        "adder.u32 %a, %n, %n;",
        "wgmma.madeup %n;",
        "mbarrier.madeup %n;",
        "mov.u32 %a, undefined;",
        "add.u32 [%n], %n, %n;",
        "add.u32 4, %n, %n;",
        "mbarrier.arrive.shared::cta.b64 [%n];",
        "ld.shared.u32 %a;",
        "st.shared.u32 [%n];",
        "atom.shared.add.u32 %a, [%n];",
        "red.shared.add.u32 [%n];",
        "cp.async.wait_group 0;",
        "cp.async.wait_all;",
        "wgmma.mma_async.sync.aligned {%a}, %n;",
    ] {
        let found = findings(text);
        assert_eq!(
            found.iter().map(|(_, what)| *what).collect::<Vec<_>>(),
            ["there is no rule for this instruction"],
            "{text}"
        );
    }
    let after = findings("madeup.u32 {%a, %b}, %c;\nshfl.sync.idx.b32 %d, %n, %b, 31, -1;");
    assert_eq!(after.len(), 2, "what it writes is secret: {after:?}");
    // Memory that there is none of.
    let text = |body: &str| format!(".visible .entry k(.param .u32 n)\n{{\n.reg .b32 %a;\n{body}\nret;\n}}");
    let number = Secrets::default().parameter(4, 0..0);
    let found = |body: &str| ptx::check(&text(body), "k", &number).unwrap().findings.len();
    assert_eq!(["ld.shared.u32 %a, [0];", "st.local.u32 [0], 1;", "cvta.to.shared.u64 %a, 0;"].map(found), [1, 1, 0]);
    // Other parameters than were named, and no such entry point.
    for (entry, secrets) in [
        ("k", Secrets::default()),
        ("k", Secrets::default().parameter(8, 0..0)),
        ("k", number.clone().parameter(4, 0..0)),
        ("other", number.clone()),
    ] {
        assert!(ptx::check(&text(""), entry, &secrets).is_err(), "{entry}, {secrets:?}");
    }
    assert!(ptx::check(".func k(.param .u32 n)\n{\nret;\n}", "k", &number).is_err(), "no entry point");
    assert!(ptx::check(&text("mov.u32 %b, 0;"), "k", &number).is_err(), "a register that is not declared");
}

/// An analysis that lost its secrets shows it by these numbers.
#[test]
fn secrets_are_counted() {
    let counted = |body: &str| {
        let Report { instructions, secret, secret_stores, .. } = report(body);
        // Without those of the kernel around.
        (instructions - 5, secret - 1, secret_stores)
    };
    for (body, expected) in [
        ("", (0, 0, 0)),
        ("mov.u32 %a, %s;\nadd.u32 %b, %a, %n;\nmov.u32 %c, %n;", (3, 2, 0)),
        ("@%q mov.u32 %a, %n;", (1, 1, 0)),
        ("st.global.u32 [%n], %s;\nst.global.u32 [%n], %n;\nst.shared.u32 [%n], %s;", (3, 2, 1)),
        ("st.global.v2.u32 [%n], {%n, %s};", (1, 1, 1)),
        (
            "atom.global.add.u32 %a, [%n], %s;\natom.shared.add.u32 %a, [m], %s;\natom.global.add.u32 %b, [%n], 1;",
            (3, 2, 1),
        ),
        ("red.global.add.u32 [%n], %s;\nred.shared.add.u32 [m], %s;\nred.global.add.u32 [%n], 1;", (3, 2, 1)),
        ("cp.async.bulk.global.shared::cta.bulk_group [%n], [m], 16;", (1, 0, 1)),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%n], [m], 16;", (1, 0, 1)),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [%n], 16, [other];", (1, 0, 0)),
        ("L:\nadd.u32 %a, %n, 1;\n@%p bra L;", (2, 0, 0)),
    ] {
        assert_eq!(counted(body), expected, "{body}");
    }
    assert_eq!(counted("st.u32 [4], %s;").2, 1);
}
