//! Counter mode of one message whose counters are secret: through the entry point for many messages, which takes counters as data, so that no
//! branch and no address depends on them. The other entry points compute lanes, tiles and looked-up parts from the first counter.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::on_stream::OnStream;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::exec::choice::Choice;
use crate::op::launch::{Entry, Value};
use aes_bitslice_core::messages::{MESSAGE_WORDS, Message, RUN, tiles_that_begin_in, words_of, words_of_end};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::CUstream;
use zeroize::Zeroizing;

// Where things are in the memory of a launch, in bytes: the message and the end of all; the message's encrypted first counter, which nothing
// reads; and the first message of each tile, 0.
const END: usize = 4 * MESSAGE_WORDS;
const MASK: usize = 2 * END;
const FIRST_MESSAGES: usize = MASK + 16;

/// The message's description for the kernel.
fn described(message: &Message) -> Zeroizing<[u8; MASK]> {
    let mut words = Zeroizing::new([0; MASK]);
    words[..END].copy_from_slice(words_of(message).as_flattened());
    words[END..].copy_from_slice(words_of_end(message.runs() as u32).as_flattened());
    words
}

impl DeviceKey {
    /// Puts counter mode of a message on a stream, without waiting for what is there. The message is all of the span.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and the stream is live.
    pub(crate) unsafe fn launch_message(&self, stream: CUstream, span: Span, message: &Message) -> Result<(), Error> {
        let (kernel, keys) = self.kernel(Mode::Ctr, Choice::Bitsliced)?;
        let zeros = FIRST_MESSAGES - MASK + 4 * tiles_that_begin_in(message).len();
        // SAFETY: as the caller guarantees, here and below; the memory is freed on the stream, after the launch.
        let memory = unsafe { OnStream::of_secrets(kernel.context(), stream, &*described(message), zeros) }?;
        let at = |offset: usize| Value::Address(memory.pointer() + offset as u64);
        let values = vec![
            ("messages", at(0)),
            ("first_messages", at(FIRST_MESSAGES)),
            ("all", Value::U32(message.runs() as u32)),
            ("masks", at(MASK)),
        ];
        // SAFETY: as above.
        unsafe {
            kernel.run(stream, span, keys, |shape| {
                Ok(shape.launch(Entry::Messages, 0, RUN * message.runs(), values)?.into_iter().collect())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_followed_by_the_number_of_runs() {
        let message =
            Message { first: [1; 16], at: 0, bytes: 16 * 32, aad_at: 0, aad_bytes: 0, tag_bytes: 16, first_run: 0 };
        let words = described(&message);
        assert_eq!(words[..16], [1; 16]);
        // 32 blocks and the mask.
        assert_eq!(words[END + 40..END + 44], 2_u32.to_le_bytes());
    }
}
