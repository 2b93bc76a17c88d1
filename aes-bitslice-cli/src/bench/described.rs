//! Messages of GCM that arrays in the memory of a CUDA GPU describe: the host neither describes them nor gets their tags.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, DriverError};
use aes_bitslice_runtime::cuda::{DeviceBatch, GcmArrays};
use aes_bitslice_runtime::{Access, Direction, Error, KeyBits, Keys};

use crate::modes::batch::Messages;
use crate::modes::operation::{About, AnyOperation, OnCuda, Pending, Tags};

/// An operation on such messages, which leaves results in the arrays.
pub struct Described {
    direction: Direction,
    stream: Arc<CudaStream>,
    arrays: Rc<RefCell<GcmArrays>>,
}

impl Described {
    /// Puts the arrays where the stream is. No tag and no verdict there is right before a call has written it.
    pub fn new(stream: &Arc<CudaStream>, direction: Direction, messages: &Messages) -> Result<Self, DriverError> {
        let Messages { count, bytes, .. } = *messages;
        let nonces: Vec<u8> = (0..count).flat_map(|n| messages.iv(n).into_iter().take(12)).collect();
        let arrays = GcmArrays {
            offsets: stream.clone_htod(&(0..count).map(|n| (n * bytes) as u64).collect::<Vec<_>>())?,
            lengths: stream.clone_htod(&vec![bytes as u64; count])?,
            nonces: stream.clone_htod(&nonces)?,
            tags: match direction {
                Direction::Encrypt => stream.alloc_zeros(16 * count)?,
                Direction::Decrypt => stream.clone_htod(messages.tags.as_flattened())?,
            },
            verdicts: stream.clone_htod(&vec![u32::MAX; count])?,
            fault: stream.alloc_zeros(2)?,
        };
        Ok(Self { direction, stream: stream.clone(), arrays: Rc::new(RefCell::new(arrays)) })
    }
}

impl AnyOperation for Described {
    fn about(&self) -> About {
        About {
            name: "GCM of messages that arrays in GPU memory describe",
            access: Access::Maps,
            keys: Keys::OnCpu(&KeyBits::ALL),
            key_lengths: &KeyBits::ALL,
            is_serial: false,
            has_own_key: false,
            has_tag: true,
            verifies: self.direction == Direction::Decrypt,
            waits_when_dropped: false,
        }
    }

    fn on_cuda(&self, call: &mut OnCuda<'_>) -> Result<Pending, Error> {
        let OnCuda { cipher, stream, input, output } = call;
        cipher.run_arrays(stream, self.direction, &mut self.arrays.borrow_mut(), (&*input, output))?;
        let (direction, stream, arrays) = (self.direction, self.stream.clone(), self.arrays.clone());
        Ok(Box::new(move || {
            let arrays = arrays.borrow();
            let fault = stream.clone_dtoh(&arrays.fault).map_err(driver)?;
            DeviceBatch::check([fault[0], fault[1]])?;
            match direction {
                Direction::Encrypt => {
                    let tags = stream.clone_dtoh(&arrays.tags).map_err(driver)?;
                    Ok(Some(Tags::Each(tags.as_chunks().0.to_vec())))
                }
                Direction::Decrypt => {
                    let verdicts = stream.clone_dtoh(&arrays.verdicts).map_err(driver)?;
                    if verdicts.iter().all(|verdict| *verdict == 0) { Ok(None) } else { Err(Error::Unauthenticated) }
                }
            }
        }))
    }
}

fn driver(error: DriverError) -> Error {
    Error::Cuda { call: "a copy of results".into(), code: format!("{:?}", error.0) }
}
