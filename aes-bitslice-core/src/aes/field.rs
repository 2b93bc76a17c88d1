//! GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, section 4). A byte's bit `i` is the coefficient of x^i.

/// The product of two field elements.
pub const fn mul(a: u8, b: u8) -> u8 {
    let (mut a, mut product, mut i) = (a, 0, 0);
    while i < 8 {
        product ^= a & 0u8.wrapping_sub(b >> i & 1);
        a = a << 1 ^ 0x1b & 0u8.wrapping_sub(a >> 7);
        i += 1;
    }
    product
}

/// Four field elements, each times x.
pub const fn times_x(elements: u32) -> u32 {
    let carries = elements >> 7 & 0x0101_0101;
    (elements & 0x7f7f_7f7f) << 1 ^ carries.wrapping_mul(0x1b)
}

/// `a` to the power `n`.
pub const fn pow(mut a: u8, mut n: u32) -> u8 {
    // By squares: the compiler computes tables with it, and would take seconds for one product after the other.
    let mut result = 1;
    while n > 0 {
        if n & 1 == 1 {
            result = mul(result, a);
        }
        a = mul(a, a);
        n >>= 1;
    }
    result
}

/// The multiplicative inverse, with 0 mapped to itself.
pub const fn inverse(a: u8) -> u8 {
    // The multiplicative group has order 255.
    pow(a, 254)
}

#[cfg(test)]
mod tests {
    #[test]
    fn products_of_the_standard() {
        // FIPS 197, section 4.2.
        assert_eq!(super::mul(0x57, 0x83), 0xc1);
        assert_eq!(super::mul(0x57, 0x13), 0xfe);
        for a in 1..=255 {
            assert_eq!(super::mul(a, super::inverse(a)), 1);
            let elements = [a, !a, 1, 0x80];
            let each = elements.map(|element| super::mul(element, 2));
            assert_eq!(super::times_x(u32::from_le_bytes(elements)).to_le_bytes(), each);
        }
    }
}
