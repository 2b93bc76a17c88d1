//! The functions that templates of kernels for many keys call, in the basis of the plan: changes of basis as circuits, MixColumns with a
//! round key in the form of the key schedule, and the round constants of the schedule (FIPS 197, section 5.2).

use super::cipher::function;
use crate::circuit::{Circuit, Wire};
use crate::emit::c::{self, Gates};
use crate::kernel::plan::{Function, Plan};
use crate::linear;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use std::fmt::Write;

/// Appends `into_basis`, `out_of_basis`, `mix_columns_with_key` and `round_constant`; and for decryption, whose circuits are for the
/// inverse cipher, `sub_byte` for the schedule, and `into_key_basis`.
pub(super) fn functions(plan: &Plan, text: &mut String) {
    let (direction, basis) = (plan.direction(), plan.spec.basis);
    for (name, about, from, to) in [
        ("into_basis", "A byte from the standard basis into the kernel's.", Basis::STANDARD, basis),
        ("out_of_basis", "A byte from the kernel's basis into the standard one.", basis, Basis::STANDARD),
    ] {
        let mut circuit = Circuit::new(format!("{from} to {to}"), (0..8).map(|i| format!("x{i}")));
        let bits: Vec<Wire> = (0..8).map(|i| circuit.input(i)).collect();
        for (i, wire) in linear::change_basis(&mut circuit, &bits, from, to).into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        another(&circuit, name, about, text);
    }
    // Another basis does not pay for a single use of a round key.
    let (about, mix) = match direction {
        Direction::Encrypt => (
            "MixColumns on one column, and AddRoundKey with a round key in the kernel's basis of bytes.",
            linear::mix_column_with_key(direction, basis),
        ),
        Direction::Decrypt => (
            "AddRoundKey on one column with a round key in the kernel's basis of bytes, and InvMixColumns.",
            linear::mix_column_after_key(direction, basis),
        ),
    };
    let mix = Function { name: "mix_column_with_key".into(), about: about.into(), circuit: mix.scheduled(32) };
    *text += "\n";
    function(&mix, plan.spec.layers, "const u32 *key, ", text);
    *text += "\nDEVICE void mix_columns_with_key(u32 *s, const u32 *k, cipher_key key) {\n    shift_rows(s, key);\n    \
              u32 t[32];\n    mix_column_with_key(&s[0], &s[8], &s[16], &s[24], k, t);\n    \
              UNROLL for (int i = 0; i < 32; i++) s[i] = t[i];\n}\n";
    if direction == Direction::Decrypt {
        let sub_byte = Function {
            name: "sub_byte".into(),
            about: "SubBytes on one byte, for the key schedule.".into(),
            circuit: plan.spec.sbox.lut3_between(Direction::Encrypt, basis, basis).scheduled(32),
        };
        *text += "\n";
        function(&sub_byte, plan.spec.layers, "", text);
        let about = "A column of a round key of the schedule, as launches under one key have it.";
        another(&linear::placed_key(direction, basis), "into_key_basis", about, text);
    }
    // x^(n - 1) for n from 1 to 10.
    let mut constant = 1u8;
    let constants: [u8; 10] = std::array::from_fn(|_| {
        let this = basis.apply(constant);
        constant = constant << 1 ^ if constant & 0x80 != 0 { 0x1b } else { 0 };
        this
    });
    let [first, last] = [0..8, 8..10].map(|of| constants[of].iter().rev().fold(0, |sum, &c| sum << 8 | u64::from(c)));
    let _ = writeln!(
        text,
        "\n// The round constants in the kernel's basis, from number 1 on.\nDEVICE u32 round_constant(u32 n) {{\n    \
         return (u32)((n < 9 ? {first:#x}ull : {last:#x}ull) >> 8 * ((n - 1) % 8)) & 255;\n}}"
    );
}

/// A circuit from one array to another.
fn another(circuit: &Circuit, name: &str, about: &str, text: &mut String) {
    let circuit = circuit.scheduled(32);
    let _ = writeln!(text, "\n// {about}\nDEVICE void {name}(const u32 *x, u32 *y) {{");
    c::statements(&circuit, |i| format!("x[{i}]"), "y", Gates::Tables, text);
    *text += "}\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;
    use aes_bitslice_core::mode::Mode;

    #[test]
    fn constants_are_those_of_the_standard() {
        let plan = Plan::new(&KernelSpec::planes(Mode::EcbEncrypt, &LUT3).with_basis(Basis::STANDARD));
        let mut text = String::new();
        functions(&plan, &mut text);
        assert!(text.contains("n < 9 ? 0x8040201008040201ull : 0x361bull"), "{text}");
    }
}
