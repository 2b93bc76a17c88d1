//! Bitsliced kernels of the papers are constant-time: secrets are followed through the PTX that NVRTC makes of them, as `cargo xtask
//! constant-time` follows them through the stored kernels. With a key in the code, the data is secret. (That another key gives the same
//! branches and accesses, that command checks on presets.)

use aes_bitslice_analysis::taint::entry_points::{intermediate, secrets};
use aes_bitslice_analysis::taint::{Secrets, ptx};
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::sample;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use aes_bitslice_papers::kernels::{
    AddKeyStream, Bitsliced, Form, Lfsr, OnPlanes, Packed, Representation, RoundKeys, Without,
};

const KEY: [u8; 16] = *b"a published key.";

/// PTX of a source; `None` where NVRTC is not installed and nobody requires it.
fn compiled(name: &str, source: &str) -> Option<String> {
    if let Err(why) = nvrtc::version() {
        assert!(std::env::var_os("AES_BITSLICE_REQUIRE_NVRTC").is_none(), "{why}");
        eprintln!("the papers' kernels were not analysed: {why}");
        return None;
    }
    let image = nvrtc::compile(name, source, Target::Ptx(75)).unwrap_or_else(|error| panic!("{name}: {error}")).image;
    Some(String::from_utf8(image).unwrap())
}

/// All kernels with a manifest, each with its name.
fn ciphers() -> Vec<(String, Printed)> {
    let mut kernels = vec![];
    for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr] {
        let changes = Bitsliced::changes(mode).into_iter().map(|(_, _, kernel)| kernel);
        let readings = Bitsliced::readings(mode).map(|(_, kernel)| kernel);
        let each = |kernel: Bitsliced| (kernel.name(), kernel.print(&KEY, "a test").unwrap());
        kernels.extend(changes.chain(readings).map(each));
    }
    kernels.extend(Packed::ALL.map(|kernel| (kernel.name(), kernel.print("a test"))));
    kernels.extend(Without::ALL.map(|kernel| (format!("{kernel:?}"), kernel.print(&KEY, "a test").unwrap())));
    kernels.push(("on planes".into(), OnPlanes.print(&KEY, "a test").unwrap()));
    kernels
}

/// One in six, by `AES_BITSLICE_TURN`, as it takes NVRTC a second and more to compile one.
#[test]
fn ciphers_are_constant_time() {
    for (name, Printed { source, manifest }) in sample(0, 6, ciphers()) {
        let Some(ptx) = compiled(&name, &source) else { return };
        intermediate(&ptx, &manifest.entries).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// Kernels that are no ciphers have two addresses and a number.
#[test]
fn other_kernels_are_constant_time() {
    let lanes = Form::Bitsliced { lanes: 32 };
    for (name, source) in [
        (AddKeyStream::ENTRY, AddKeyStream.source()),
        (Representation::ENTRY, Representation { changes: 3 }.source()),
        (Lfsr::ENTRY, Lfsr::filling(lanes, 1 << 20).source()),
        (Lfsr::ENTRY, Lfsr::filling(Form::Parallel, 1 << 20).source()),
    ] {
        let Some(ptx) = compiled(name, &source) else { return };
        let none = (0..3).fold(Secrets::default(), |secrets, _| secrets.parameter(8, 0..0));
        let report = ptx::check(&ptx, name, &none).unwrap();
        assert!(report.findings.is_empty(), "{name}: {}", report.findings[0]);
        assert!(report.secret_stores > 0, "{name} writes nothing that is secret");
    }
}

/// The S-box as a table (fig. 8) is found out.
#[test]
fn a_table_is_not() {
    let kernel = Bitsliced::figure_8();
    assert_eq!(kernel.keys, RoundKeys::OneHot);
    let Printed { source, manifest } = kernel.print(&KEY, "a test").unwrap();
    let Some(ptx) = compiled("figure 8", &source) else { return };
    for point in manifest.entries.values() {
        let report = ptx::check(&ptx, &point.name, &secrets(point)).unwrap();
        assert!(report.findings.iter().any(|finding| finding.what.contains("address")), "{}", point.name);
    }
}
