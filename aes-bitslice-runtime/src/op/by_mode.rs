//! The operation that the kernels of a mode perform.

use crate::base::error::Error;
use crate::op::cbc::CbcDecrypt;
use crate::op::ctr::Ctr;
use crate::op::ecb::Ecb;
use crate::op::keystream::Keystream;
use crate::op::launch::{Launch, Shape};
use crate::op::operation::Ready;
use crate::op::prg::Prg;
use crate::op::xts::Xts;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::self_test::UNITS;

/// The launches of a mode's operation, from a counter block or, for CBC, an IV, given as a big-endian number: for the
/// known-answer test of a kernel of the mode. XTS launches use the data units of that test.
pub(crate) fn launches_of(mode: Mode, start: u128, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
    match mode {
        Mode::EcbEncrypt => Ecb::encrypt().launches(shape),
        Mode::EcbDecrypt => Ecb::decrypt().launches(shape),
        Mode::Ctr | Mode::CtrLe32 => Ctr::from_block(start).launches(shape),
        Mode::Keystream => Keystream::from_block(start).launches(shape),
        Mode::Prg => Prg::new().launches(shape),
        Mode::CbcDecrypt => CbcDecrypt::new(&start.to_be_bytes()).launches(shape),
        Mode::XtsEncrypt | Mode::XtsDecrypt => Xts::of_units(mode.direction(), UNITS).launches(shape),
        other => Err(Error::NoSuchKernel { what: format!("nothing here launches kernels for {other}") }),
    }
}
