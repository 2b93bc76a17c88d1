//! dev
use aes_bitslice_gen::emit::cuda::*;
use aes_bitslice_gen::kernel::*;
use aes_bitslice_gen::sbox;
fn main() {
    let s = sbox::Sbox::named("lut3").unwrap();
    let key: Vec<u8> = (0..16).map(|i| i * 17 ^ 0x5a).collect();
    for m in Mode::ALL {
        let mut v = vec![KernelSpec::planes(m, s)];
        for b in BakedStrategy::ALL {
            v.push(KernelSpec::baked(m, s, b, &key).unwrap());
        }
        for sp in v {
            let p = Plan::new(&sp);
            let t = source(&p, Geometry::default(), "cargo xtask gen");
            println!("{} {}", sp.name(), p.gates_executed(10));
            std::fs::write(format!("/tmp/k/{}.cu", sp.name()), t).unwrap();
        }
    }
}
