//! Circuits as a Rust module: the whole cipher over any word with bitwise operators.
//!
//! The layers are functions of straight-line code; rounds, bytes and columns are loops, because a compiler takes
//! minutes for an unrolled cipher. ShiftRows is a table of the bytes that a column reads (see
//! [`aes_bitslice_core::layout`]).

use crate::circuit::{Circuit, Gate, Lut3, Wire, lut};
use crate::linear;
use crate::sbox::{BOYAR_PERALTA, LUT3};
use aes_bitslice_core::aes::{Direction, cipher};
use aes_bitslice_core::basis::Basis;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The cipher for words with two-input operators: AVX2, Neon, 64-bit words.
pub fn two_input() -> String {
    with_sbox("The cipher for words with operators of two inputs.", |direction| BOYAR_PERALTA.circuit(direction))
}

/// The cipher for words with an instruction for every function of three inputs: AVX-512.
pub fn lut3() -> String {
    with_sbox("The cipher for words with an instruction for every function of three inputs.", |d| LUT3.lut3(d))
}

/// With two-input operators, the linear layers cost two operators for each sum of three, which is no more than the best
/// available networks of two-input sums.
fn with_sbox(about: &str, sbox: impl Fn(Direction) -> Circuit) -> String {
    let [forward, inverse] = [Direction::Encrypt, Direction::Decrypt];
    module(
        about,
        &sbox(forward),
        &sbox(inverse),
        &linear::mix_column_with_key(forward, Basis::STANDARD),
        &linear::mix_column_with_key(inverse, Basis::STANDARD),
    )
}

/// A module with `encrypt` and `decrypt`, generic over `crate::Lanes`; `about` is its documentation.
///
/// The S-box circuits map 8 bits to 8; the others map a column (byte `r`, row `r`, is inputs `8 r` to `8 r + 7`) and
/// then the 32 bits of its round key to the column after MixColumns, or its inverse, and the addition of the key.
///
/// # Panics
/// If a circuit has a different shape.
pub fn module(
    about: &str,
    sbox_forward: &Circuit,
    sbox_inverse: &Circuit,
    mix_forward_with_key: &Circuit,
    mix_inverse_with_key: &Circuit,
) -> String {
    let encrypt = one_direction(Direction::Encrypt, sbox_forward, mix_forward_with_key);
    let decrypt = one_direction(Direction::Decrypt, sbox_inverse, mix_inverse_with_key);
    let about = format!(" {about}");
    let tokens = quote! {
        #![doc = #about]
        use crate::Lanes;
        #encrypt
        #decrypt
    };
    let code = prettyplease::unparse(&syn::parse2(tokens).expect("the printer writes Rust"));
    // The formatter leaves no blank lines between items, each of which begins with its documentation.
    let mut spaced = String::new();
    let mut previous = "///";
    for line in code.lines() {
        if previous.starts_with("//!") || line.starts_with("///") && !previous.starts_with("///") {
            spaced.push('\n');
        }
        spaced += line;
        spaced.push('\n');
        previous = line;
    }
    spaced
}

/// The cipher in one direction, and its layers.
fn one_direction(direction: Direction, sbox: &Circuit, mix: &Circuit) -> TokenStream {
    let ([name, sub_byte, mix_column, table], doc) = match direction {
        Direction::Encrypt => (
            ["encrypt", "sub_byte", "mix_column", "SHIFT_ROWS"],
            " Encrypts one block a lane: `state` is 128 bit-planes, `round_keys` one plane of 0 or `!0` a key bit.",
        ),
        Direction::Decrypt => (
            ["decrypt", "inv_sub_byte", "inv_mix_column", "INV_SHIFT_ROWS"],
            " Decrypts one block a lane; `round_keys` are those of the equivalent inverse cipher (FIPS 197, \
             section 5.3.5), in the order of use.",
        ),
    };
    let inverse = if direction == Direction::Decrypt { "the inverse of " } else { "" };
    let [name, sub_byte, mix_column, table] = [name, sub_byte, mix_column, table].map(|n| format_ident!("{n}"));

    let columns = (0..4).map(|column| {
        let bytes = (0..4).map(|row| Literal::usize_unsuffixed(cipher::shift_rows_source(4 * column + row, direction)));
        quote!([#(#bytes),*])
    });
    let table_doc = format!(" The four bytes, by row, that {inverse}ShiftRows brings into each column.");

    let sub_byte_body = body(sbox, 8, |i| {
        let bit = Literal::usize_unsuffixed(i);
        (format_ident!("x{i}"), quote!(byte[#bit]))
    });
    let mix_column_body = body(mix, 32, |i| {
        let number = Literal::usize_unsuffixed;
        match i.checked_sub(32) {
            None => {
                let (row, bit) = (number(i / 8), number(i % 8));
                (format_ident!("x{i}"), quote!(column[#row][#bit]))
            }
            Some(i) => {
                let bit = number(i);
                (format_ident!("k{i}"), quote!(L::splat(key[#bit])))
            }
        }
    });
    let sub_byte_doc = format!(" {}: the S-box on one byte, bit by bit.", described(sbox));
    let mix_column_doc =
        format!(" {}: {inverse}MixColumns on one column, its bytes by row, and the round key.", described(mix));

    quote! {
        #[doc = #table_doc]
        const #table: [[usize; 4]; 4] = [#(#columns),*];

        #[doc = #doc]
        ///
        /// # Panics
        /// If the number of round keys is 1 or even.
        #[inline(always)]
        pub fn #name<L: Lanes>(state: &mut [L; 128], round_keys: &[[u32; 128]]) {
            let [first, middle @ .., last] = round_keys else { panic!("a cipher has at least two round keys") };
            assert!(middle.len() % 2 == 1, "an even number of round keys");
            for (plane, key) in state.iter_mut().zip(first) {
                *plane = *plane ^ L::splat(*key);
            }
            // A round goes from column to column, not from step to step: so there are gates to compute while planes are loaded and stored.
            let (mut from, mut to) = (state, &mut [L::splat(0); 128]);
            let mut substituted = [[L::splat(0); 8]; 4];
            for key in middle {
                let columns = to.as_chunks_mut().0.iter_mut().zip(key.as_chunks().0);
                for ((column, key), bytes) in columns.zip(&#table) {
                    for (byte, to) in bytes.iter().zip(&mut substituted) {
                        #sub_byte(&from.as_chunks().0[*byte], to);
                    }
                    #mix_column(substituted.each_ref(), key, column);
                }
                std::mem::swap(&mut from, &mut to);
            }
            let bytes = to.as_chunks_mut().0.iter_mut().zip(last.as_chunks::<8>().0);
            for ((byte, key), number) in bytes.zip(#table.as_flattened()) {
                #sub_byte(&from.as_chunks().0[*number], byte);
                for (plane, key) in byte.iter_mut().zip(key) {
                    *plane = *plane ^ L::splat(*key);
                }
            }
        }

        #[doc = #sub_byte_doc]
        #[inline(always)]
        fn #sub_byte<L: Lanes>(byte: &[L; 8], to: &mut [L; 8]) {
            #sub_byte_body
        }

        #[doc = #mix_column_doc]
        #[inline(always)]
        fn #mix_column<L: Lanes>(column: [&[L; 8]; 4], key: &[u32; 32], to: &mut [L; 32]) {
            #mix_column_body
        }
    }
}

/// A circuit's name and cost.
fn described(circuit: &Circuit) -> String {
    let stats = circuit.stats();
    format!("Circuit `{}`, {} gates, {} of them with three inputs", circuit.name(), stats.gates(), stats.by_arity[3])
}

/// The gates of a circuit as one `let` each. An input is read where it is first used and an output is written where it
/// is computed, so that few values are live at a time.
fn body(circuit: &Circuit, outputs: usize, input: impl Fn(usize) -> (Ident, TokenStream)) -> TokenStream {
    assert_eq!(circuit.outputs().len(), outputs, "outputs of circuit {}", circuit.name());
    let inputs = circuit.inputs().len();
    let outputs_of = |w: Wire| circuit.outputs().iter().enumerate().filter(move |(_, (_, o))| *o == w).map(|(i, _)| i);
    let name = |w: Wire| match (w.index().checked_sub(inputs), outputs_of(w).next()) {
        (None, _) => input(w.index()).0,
        (_, Some(output)) => format_ident!("y{output}"),
        (Some(gate), None) => format_ident!("t{gate}"),
    };
    let write = |w: Wire, lines: &mut Vec<TokenStream>| {
        for output in outputs_of(w) {
            let (output, value) = (Literal::usize_unsuffixed(output), name(w));
            lines.push(quote!(to[#output] = #value;));
        }
    };
    let mut lines = Vec::new();
    let mut is_read = vec![false; inputs];
    let mut read = |w: Wire, lines: &mut Vec<TokenStream>| {
        if let Some(is_read @ false) = is_read.get_mut(w.index()) {
            *is_read = true;
            let (name, value) = input(w.index());
            lines.push(quote!(let #name = #value;));
            write(w, lines);
        }
    };
    for (i, gate) in circuit.gates().iter().enumerate() {
        gate.fanin().for_each(|w| read(w, &mut lines));
        let wire = circuit.gate_wire(i);
        let (name, value) = (name(wire), expression(gate, &name));
        lines.push(quote!(let #name = #value;));
        write(wire, &mut lines);
    }
    // An input may be an output without a gate.
    circuit.outputs().iter().for_each(|(_, w)| read(*w, &mut lines));
    quote!(#(#lines)*)
}

/// A gate as an expression: operators for up to two inputs, a call for three.
fn expression(gate: &Gate, name: &impl Fn(Wire) -> Ident) -> TokenStream {
    let support: Vec<usize> = (0..3).filter(|&i| gate.table.depends_on(i)).collect();
    let operands: Vec<Ident> = support.iter().map(|&i| name(gate.inputs[i])).collect();
    // The table over the inputs that matter, as if they came first, with the others at zero.
    let table = Lut3::from_fn(|a, b, _| {
        let mut bits = [false; 3];
        support.iter().zip([a, b]).for_each(|(&i, bit)| bits[i] = bit);
        gate.table.at(bits[0], bits[1], bits[2])
    });
    match operands.as_slice() {
        [] if gate.table == Lut3::FALSE => quote!(L::splat(0)),
        [] => quote!(L::splat(!0)),
        [a] if table == Lut3::NOT => quote!(!#a),
        [a] => quote!(#a),
        [a, b] => {
            const AND: u8 = lut::A & lut::B;
            const AND_NOT: u8 = lut::A & !lut::B;
            const NOT_AND: u8 = !lut::A & lut::B;
            const OR: u8 = lut::A | lut::B;
            const OR_NOT: u8 = lut::A | !lut::B;
            const NOT_OR: u8 = !lut::A | lut::B;
            const NAND: u8 = !AND;
            const NOR: u8 = !OR;
            const XOR: u8 = lut::A ^ lut::B;
            match table.0 {
                AND => quote!(#a & #b),
                AND_NOT => quote!(#a & !#b),
                NOT_AND => quote!(!#a & #b),
                OR => quote!(#a | #b),
                OR_NOT => quote!(#a | !#b),
                NOT_OR => quote!(!#a | #b),
                NAND => quote!(!(#a & #b)),
                NOR => quote!(!(#a | #b)),
                XOR => quote!(#a ^ #b),
                _ => quote!(!(#a ^ #b)),
            }
        }
        _ => {
            let table: Literal = format!("{:#04x}", gate.table.0).parse().expect("a number");
            quote!(L::lut3::<#table>(#(#operands),*))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::straight_line;

    #[test]
    fn operators_compute_their_tables() {
        let wires = [0, 1, 2].map(Wire);
        let name = |w: Wire| format_ident!("x{}", w.0);
        for table in (0..=255).map(Lut3) {
            let gate = Gate { table, inputs: wires };
            let printed = expression(&gate, &name).to_string();
            match gate.arity() {
                0 => assert_eq!(printed, if table == Lut3::TRUE { "L :: splat (! 0)" } else { "L :: splat (0)" }),
                1 | 2 => {
                    let program = format!("fn f(x0: W, x1: W, x2: W) -> [W; 1] {{ let y0 = {printed}; [y0] }}");
                    let read = straight_line::parse("f", &program).unwrap();
                    assert_eq!(read.evaluate(&[lut::A, lut::B, lut::C]), [table.0], "{printed}");
                }
                _ => assert_eq!(printed, format!("L :: lut3 :: < {:#04x} > (x0 , x1 , x2)", table.0)),
            }
        }
    }

    #[test]
    fn inputs_are_read_and_outputs_written_once_where_they_are_needed() {
        let mut circuit = Circuit::new("c", ["a", "b", "c"]);
        let [a, b, c] = [0, 1, 2].map(|i| circuit.input(i));
        let sum = circuit.xor(a, b);
        let majority = circuit.gate(Lut3((lut::A & lut::B) ^ (lut::B & lut::C) ^ (lut::A & lut::C)), [sum, b, c]);
        let last = circuit.and(majority, sum);
        for (i, wire) in [last, sum, c, sum].into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        let printed = body(&circuit, 4, |i| (format_ident!("x{i}"), quote!(from[#i]))).to_string();
        let expected = "let x0 = from [0usize] ; let x1 = from [1usize] ; let y1 = x0 ^ x1 ; to [1] = y1 ; to [3] = y1 ; \
                        let x2 = from [2usize] ; to [2] = x2 ; let t1 = L :: lut3 :: < 0xe8 > (x1 , x2 , y1) ; \
                        let y0 = y1 & t1 ; to [0] = y0 ;";
        assert_eq!(printed, expected);
    }

    #[test]
    fn modules_are_rust_and_the_same_twice() {
        for module in [two_input, lut3] {
            let text = module();
            assert_eq!(text, module());
            let file = syn::parse_file(&text).unwrap();
            let functions = file.items.iter().filter(|i| matches!(i, syn::Item::Fn(_))).count();
            assert_eq!(functions, 6);
        }
        assert!(!two_input().lines().any(|l| l.contains("lut3") && !l.contains("0x96") && !l.contains("///")));
    }
}
