#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| aes_bitslice_tests::fuzz::readers::netlist(data));
