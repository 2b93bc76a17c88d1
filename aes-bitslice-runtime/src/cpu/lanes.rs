//! What the modes need of a processor's instructions: vectors of blocks, one block in each lane of 128 bits.

/// The instructions of one set. A value exists only where the processor has them, so all methods are safe; each is one
/// instruction, or a few.
///
/// Methods are inlined into functions for which the instructions are enabled: elsewhere they are right, but slow.
pub(super) trait Lanes: Copy {
    /// A vector of blocks.
    type Vector: Copy;
    /// The instructions of this set for one block at a time.
    type One: OneBlock;

    /// Blocks of a vector: 1, 2 or 4.
    const BLOCKS: usize;
    /// Bytes of a vector.
    const BYTES: usize = 16 * Self::BLOCKS;

    /// The instructions on one block.
    fn one(self) -> Self::One;

    /// Zeros.
    fn zero(self) -> Self::Vector;
    /// The first [`BYTES`](Self::BYTES) of these bytes.
    fn load(self, bytes: &[u8]) -> Self::Vector;
    /// Writes the first [`BYTES`](Self::BYTES) of these bytes.
    fn store(self, vector: Self::Vector, bytes: &mut [u8]);
    /// Asks for the memory at an address to be brought into the cache; any address is allowed.
    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
    /// At most [`BYTES`](Self::BYTES), followed by zeros.
    #[inline(always)]
    fn load_part(self, bytes: &[u8]) -> Self::Vector {
        if bytes.len() == Self::BYTES {
            return self.load(bytes);
        }
        let mut whole = [0; MOST_BYTES];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.load(&whole)
    }
    /// Fills `bytes` with the first bytes of the vector.
    #[inline(always)]
    fn store_part(self, vector: Self::Vector, bytes: &mut [u8]) {
        if bytes.len() == Self::BYTES {
            return self.store(vector, bytes);
        }
        let mut whole = [0; MOST_BYTES];
        self.store(vector, &mut whole);
        bytes.copy_from_slice(&whole[..bytes.len()]);
    }
    /// The first `bytes` bytes, followed by zeros.
    #[inline(always)]
    fn first_bytes(self, vector: Self::Vector, bytes: usize) -> Self::Vector {
        self.and(vector, self.load(&ONES_AND_ZEROS[MOST_BYTES - bytes..]))
    }
    /// A block in every lane.
    fn broadcast(self, block: &[u8; 16]) -> Self::Vector;
    /// A number in every lane, its lowest byte first.
    #[inline(always)]
    fn number(self, number: u128) -> Self::Vector {
        self.broadcast(&number.to_le_bytes())
    }
    /// A block in the first lane, and zeros in the others.
    fn first(self, block: &[u8; 16]) -> Self::Vector;
    /// The block of the first lane.
    #[inline(always)]
    fn first_of(self, vector: Self::Vector) -> [u8; 16] {
        let mut whole = [0; MOST_BYTES];
        self.store(vector, &mut whole);
        *whole.first_chunk().expect("more than a block")
    }

    /// The bits that both have.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The sum of two.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The sum of three.
    fn xor3(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// Adds words of 32 bits.
    fn add32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Adds words of 64 bits.
    fn add64(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The bytes of each block in the other order.
    fn reverse(self, vector: Self::Vector) -> Self::Vector;
    /// The halves of each block exchanged.
    fn swap_halves(self, vector: Self::Vector) -> Self::Vector;
    /// The low half of each block as its high half, above zeros.
    fn low_to_high(self, vector: Self::Vector) -> Self::Vector;
    /// Each block moved up by as many bytes as a vector has blocks, above zeros.
    fn up(self, vector: Self::Vector) -> Self::Vector;
    /// The bytes that [`up`](Self::up) drops, as the lowest of each block, below zeros.
    fn above(self, vector: Self::Vector) -> Self::Vector;
    /// Four copies of `others`. Column 0 of each block of the first is that of `columns`, of the second column 1 of `columns`, and so on.
    fn with_first_columns(self, others: Self::Vector, columns: Self::Vector) -> [Self::Vector; 4];
    /// The sum of all blocks in the first lane, and zeros in the others.
    fn sum(self, vector: Self::Vector) -> Self::Vector;

    /// A round of encryption: ShiftRows, SubBytes, MixColumns, AddRoundKey (FIPS 197, section 5.1).
    fn encrypt(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// The last round of encryption, which has no MixColumns.
    fn encrypt_last(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// A round of the equivalent inverse cipher (FIPS 197, section 5.3.5).
    fn decrypt(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
    /// The last round of the equivalent inverse cipher.
    fn decrypt_last(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;

    /// Returns the vectors unchanged. The compiler leaves what computes them before what computes with them, and keeps calls of this in
    /// their order. It would otherwise sort by data what a processor is to do at one time.
    #[inline(always)]
    fn in_order(self, vectors: [Self::Vector; 2]) -> [Self::Vector; 2] {
        vectors
    }

    /// The product without carries of the low halves of each pair of blocks.
    fn multiply_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Of the high halves.
    fn multiply_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Of the low half of `a` and the high half of `b`.
    fn multiply_low_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Of the high half of `a` and the low half of `b`.
    fn multiply_high_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
}

/// Bytes of the longest vector.
const MOST_BYTES: usize = 64;

/// Bytes of a mask: from the middle less `n` on, the first `n` are ones.
static ONES_AND_ZEROS: [u8; 2 * MOST_BYTES] = {
    let mut bytes = [0; 2 * MOST_BYTES];
    let mut i = 0;
    while i < MOST_BYTES {
        bytes[i] = 0xff;
        i += 1;
    }
    bytes
};

/// In a [shuffle](OneBlock::shuffle), a byte that is zero.
pub(super) const ZERO: u8 = 0x80;

/// Instructions on one block at a time.
pub(super) trait OneBlock: Lanes<One = Self> {
    /// InvMixColumns (FIPS 197, section 5.3.3).
    fn inverse_mix_columns(self, block: Self::Vector) -> Self::Vector;
    /// For each byte, the byte of the block with the number in its place, or [`ZERO`].
    fn shuffle(self, block: Self::Vector, from: &[u8; 16]) -> Self::Vector;
}

/// Implements methods of a set of instructions, each by an expression of these. Those that read or write memory get it as a slice or an array,
/// of which they use no more than there is.
macro_rules! by_instructions {
    ($(fn $name:ident$(<const $constant:ident: u32>)?($($argument:tt)*) -> $result:ty = $body:expr;)*) => { $(
        // Some instructions are there on every processor.
        #[allow(unused_unsafe)]
        #[inline(always)]
        fn $name$(<const $constant: u32>)?($($argument)*) -> $result {
            // SAFETY: a value of `Self` exists, so the processor has the instructions; memory is used as said above.
            unsafe { $body }
        }
    )* };
}
pub(super) use by_instructions;

/// [`Lanes::in_order`] on a processor of x86: no instruction, which takes both vectors and gives them back.
#[cfg(target_arch = "x86_64")]
macro_rules! in_order {
    ($vector:ty, $register:ident, $feature:literal) => {
        #[inline]
        #[target_feature(enable = $feature)]
        fn in_order([mut a, mut b]: [$vector; 2]) -> [$vector; 2] {
            // SAFETY: there is no instruction.
            unsafe {
                std::arch::asm!(
                    "/* {a} {b} */",
                    a = inout($register) a,
                    b = inout($register) b,
                    options(nomem, nostack, preserves_flags)
                )
            };
            [a, b]
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use in_order;
