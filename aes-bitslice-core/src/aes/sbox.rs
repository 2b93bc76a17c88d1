//! The S-box as a table, computed from its definition (FIPS 197, section 5.1.1): inversion, then an affine map.

use super::field;

/// The affine map after inversion: bit `i` of the result is `b[i] ^ b[i+4] ^ b[i+5] ^ b[i+6] ^ b[i+7] ^ c[i]`,
/// indices modulo 8, `c` = 0x63.
pub const fn affine(b: u8) -> u8 {
    b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63
}

/// The S-box: `FORWARD[x]` replaces byte `x`.
pub const FORWARD: [u8; 256] = {
    let (mut table, mut x) = ([0; 256], 0);
    while x < 256 {
        table[x] = affine(field::inverse(x as u8));
        x += 1;
    }
    table
};

/// The inverse S-box.
pub const INVERSE: [u8; 256] = {
    let (mut table, mut x) = ([0; 256], 0);
    while x < 256 {
        table[FORWARD[x] as usize] = x as u8;
        x += 1;
    }
    table
};

/// The table for a direction of the cipher.
pub fn table(direction: super::Direction) -> &'static [u8; 256] {
    match direction {
        super::Direction::Encrypt => &FORWARD,
        super::Direction::Decrypt => &INVERSE,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn entries_of_the_standard() {
        // FIPS 197, figure 7: S(00) = 63, S(53) = ed, S(ff) = 16.
        assert_eq!([super::FORWARD[0], super::FORWARD[0x53], super::FORWARD[0xff]], [0x63, 0xed, 0x16]);
        assert!((0..256).all(|x| super::INVERSE[super::FORWARD[x] as usize] as usize == x));
    }
}
