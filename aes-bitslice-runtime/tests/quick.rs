use aes_bitslice_runtime::{bitsliced::Isa, *};
#[test]
fn quick() {
    let key = Key::from_hex("2b7e151628aed2a6abf7158809cf4f3c").unwrap();
    let cpu = Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap();
    for isa in Isa::available() {
        let c = Engine::open_bitsliced(isa).unwrap().cipher(&key).unwrap();
        let data: Vec<u8> = (0..16 * 1600u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let (mut a, mut b) = (data.clone(), data.clone());
        cpu.ecb_encrypt(&mut a).unwrap();
        c.ecb_encrypt(&mut b).unwrap();
        assert!(a == b, "{isa} enc");
        cpu.ecb_decrypt(&mut a).unwrap();
        c.ecb_decrypt(&mut b).unwrap();
        assert!(a == b, "{isa} dec");
        let ctr = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
        cpu.ctr_apply(&ctr, 5, &mut a).unwrap();
        c.ctr_apply(&ctr, 5, &mut b).unwrap();
        assert!(a == b, "{isa} ctr");
    }
}
