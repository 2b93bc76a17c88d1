//! stub
use crate::aes::Direction; use crate::circuit::{Circuit,text};
pub fn mix_column(d:Direction)->Circuit{ match d {Direction::Encrypt=>text::parse("mix",include_str!("circuits/mixcolumns_53.lut")).unwrap(),Direction::Decrypt=>text::parse("invmix",include_str!("circuits/inv_mixcolumns_56.lut")).unwrap()} } 
pub fn mix_column_with_key(d:Direction)->Circuit{ match d {Direction::Encrypt=>text::parse("mixk",include_str!("circuits/mixcolumns_key_77.lut")).unwrap(),Direction::Decrypt=>text::parse("invmixk",include_str!("circuits/inv_mixcolumns_key_86.lut")).unwrap()} } 
pub fn add_key_column()->Circuit{ let mut c=Circuit::new("add key",(0..32).map(|i|format!("x{i}")).chain((0..32).map(|i|format!("k{i}")))); for i in 0..32 { let w=c.xor(c.input(i),c.input(32+i)); c.output(format!("y{i}"),w);} c }
