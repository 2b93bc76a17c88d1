//! The cipher for words with an instruction for every function of three inputs.

use crate::Lanes;

/// The four bytes, by row, that ShiftRows brings into each column.
const SHIFT_ROWS: [[usize; 4]; 4] = [
    [0, 5, 10, 15],
    [4, 9, 14, 3],
    [8, 13, 2, 7],
    [12, 1, 6, 11],
];

/// Encrypts one block a lane: `state` is 128 bit-planes, `round_keys` one plane of 0 or `!0` a key bit.
///
/// # Panics
/// If there are fewer than two round keys.
#[inline(always)]
pub fn encrypt<L: Lanes>(state: &mut [L; 128], round_keys: &[[u32; 128]]) {
    let [first, middle @ .., last] = round_keys else {
        panic!("a cipher has at least two round keys")
    };
    for (plane, key) in state.iter_mut().zip(first) {
        *plane = *plane ^ L::splat(*key);
    }
    let mut substituted = [[L::splat(0); 8]; 16];
    for key in middle {
        for (from, to) in state.as_chunks().0.iter().zip(&mut substituted) {
            sub_byte(from, to);
        }
        let columns = state.as_chunks_mut().0.iter_mut().zip(key.as_chunks().0);
        for ((column, key), bytes) in columns.zip(&SHIFT_ROWS) {
            mix_column(bytes.map(|byte| &substituted[byte]), key, column);
        }
    }
    for (from, to) in state.as_chunks().0.iter().zip(&mut substituted) {
        sub_byte(from, to);
    }
    let bytes = state.as_chunks_mut::<8>().0.iter_mut().zip(last.as_chunks::<8>().0);
    for ((byte, key), from) in bytes.zip(SHIFT_ROWS.as_flattened()) {
        for bit in 0..8 {
            byte[bit] = substituted[*from][bit] ^ L::splat(key[bit]);
        }
    }
}

/// Circuit `lut3`, 61 gates, 56 of them with three inputs: the S-box on one byte, bit by bit.
#[inline(always)]
fn sub_byte<L: Lanes>(byte: &[L; 8], to: &mut [L; 8]) {
    let x1 = byte[1];
    let x2 = byte[2];
    let x5 = byte[5];
    let t0 = L::lut3::<0x96>(x1, x2, x5);
    let x0 = byte[0];
    let t1 = x0 ^ t0;
    let x4 = byte[4];
    let t2 = L::lut3::<0x96>(x1, x4, t1);
    let x6 = byte[6];
    let t3 = x6 ^ t2;
    let x3 = byte[3];
    let x7 = byte[7];
    let t4 = L::lut3::<0x96>(x3, x7, t3);
    let t5 = t1 ^ t4;
    let t6 = L::lut3::<0x96>(x0, x4, t5);
    let t7 = L::lut3::<0x60>(x7, t3, t6);
    let t8 = L::lut3::<0x69>(x4, x5, t1);
    let t9 = L::lut3::<0x6c>(x6, t7, t8);
    let t10 = x7 ^ t1;
    let t11 = L::lut3::<0xc9>(t0, t9, t10);
    let t12 = L::lut3::<0x96>(x3, x4, x7);
    let t13 = L::lut3::<0x36>(t1, t11, t12);
    let t14 = L::lut3::<0x69>(x7, t5, t8);
    let t15 = !(t6 & t14);
    let t16 = L::lut3::<0xa6>(t2, t5, t15);
    let t17 = L::lut3::<0x69>(x7, t13, t16);
    let t18 = L::lut3::<0x56>(t0, t8, t15);
    let t19 = L::lut3::<0x95>(x6, t10, t12);
    let t20 = L::lut3::<0x96>(t9, t18, t19);
    let t21 = L::lut3::<0xe2>(t2, t4, t12);
    let t22 = L::lut3::<0x69>(t7, t13, t21);
    let t23 = L::lut3::<0x49>(t17, t20, t22);
    let t24 = L::lut3::<0xca>(t3, t5, t8);
    let t25 = L::lut3::<0x69>(x6, t11, t24);
    let t26 = L::lut3::<0xad>(t20, t22, t25);
    let t27 = L::lut3::<0x4a>(t20, t23, t26);
    let t28 = L::lut3::<0x63>(t22, t23, t25);
    let t29 = L::lut3::<0x75>(t17, t25, t26);
    let t30 = L::lut3::<0x69>(t27, t28, t29);
    let t31 = L::lut3::<0x83>(t22, t28, t30);
    let t32 = L::lut3::<0x95>(t17, t28, t31);
    let t33 = L::lut3::<0x93>(t12, t28, t32);
    let t34 = L::lut3::<0x6f>(t10, t28, t30);
    let t35 = L::lut3::<0x65>(x7, t30, t34);
    let t36 = L::lut3::<0x95>(t4, t29, t35);
    let y1 = L::lut3::<0x6a>(t14, t32, t36);
    to[1] = y1;
    let t38 = L::lut3::<0x95>(t0, t27, y1);
    let t39 = L::lut3::<0x6a>(t0, t29, t38);
    let t40 = L::lut3::<0x6a>(x6, t27, t39);
    let t41 = L::lut3::<0x6a>(t2, t32, t40);
    let y5 = L::lut3::<0x65>(t12, t33, t41);
    to[5] = y5;
    let t43 = L::lut3::<0x59>(t8, t27, y5);
    let t44 = L::lut3::<0x69>(t27, t28, t32);
    let t45 = L::lut3::<0x14>(x7, t14, t44);
    let y0 = L::lut3::<0x69>(t35, t43, t45);
    to[0] = y0;
    let t47 = L::lut3::<0x9f>(t4, t28, t32);
    let t48 = L::lut3::<0x6a>(t1, t32, t36);
    let t49 = L::lut3::<0x95>(t14, t29, t48);
    let y2 = L::lut3::<0x69>(t45, t47, t49);
    to[2] = y2;
    let t51 = L::lut3::<0x59>(t2, t28, t33);
    let t52 = L::lut3::<0x9a>(t6, t44, t51);
    let y3 = L::lut3::<0x9a>(t3, t30, t52);
    to[3] = y3;
    let t54 = L::lut3::<0x6a>(t5, t28, t43);
    let y4 = L::lut3::<0x96>(t34, t47, t54);
    to[4] = y4;
    let t56 = L::lut3::<0x9a>(t3, t44, t52);
    let t57 = L::lut3::<0x9a>(t6, t30, t40);
    let y6 = L::lut3::<0x69>(y2, t56, t57);
    to[6] = y6;
    let t59 = L::lut3::<0x6a>(x6, t29, y3);
    let y7 = L::lut3::<0x96>(t38, t51, t59);
    to[7] = y7;
}

/// Circuit `MixColumns, AddRoundKey`, 77 gates, 67 of them with three inputs: MixColumns on one column, its bytes by row, and the round key.
#[inline(always)]
fn mix_column<L: Lanes>(column: [&[L; 8]; 4], key: &[u32; 32], to: &mut [L; 32]) {
    let x7 = column[0][7];
    let x31 = column[3][7];
    let t0 = x7 ^ x31;
    let x0 = column[0][0];
    let x16 = column[2][0];
    let t1 = L::lut3::<0x96>(x0, x16, t0);
    let x8 = column[1][0];
    let x24 = column[3][0];
    let t2 = L::lut3::<0x96>(x0, x8, x24);
    let x15 = column[1][7];
    let t3 = L::lut3::<0x96>(x15, x31, t2);
    let k0 = L::splat(key[0]);
    let y0 = L::lut3::<0x96>(k0, t1, t3);
    to[0] = y0;
    let x23 = column[2][7];
    let t5 = x15 ^ x23;
    let t6 = L::lut3::<0x96>(x24, t0, t5);
    let x9 = column[1][1];
    let x17 = column[2][1];
    let x25 = column[3][1];
    let t7 = L::lut3::<0x96>(x9, x17, x25);
    let t8 = L::lut3::<0x96>(t3, t5, t7);
    let k1 = L::splat(key[1]);
    let y1 = L::lut3::<0x96>(k1, t6, t8);
    to[1] = y1;
    let x18 = column[2][2];
    let t10 = x18 ^ x25;
    let x26 = column[3][2];
    let t11 = L::lut3::<0x96>(x26, t7, t10);
    let x1 = column[0][1];
    let x10 = column[1][2];
    let k2 = L::splat(key[2]);
    let t12 = L::lut3::<0x96>(x1, x10, k2);
    let y2 = L::lut3::<0x96>(x17, t11, t12);
    to[2] = y2;
    let x11 = column[1][3];
    let t14 = L::lut3::<0x96>(x11, x26, x31);
    let x19 = column[2][3];
    let t15 = x19 ^ t14;
    let t16 = L::lut3::<0x96>(x10, x15, t15);
    let x3 = column[0][3];
    let k20 = L::splat(key[20]);
    let t17 = L::lut3::<0x96>(x3, x7, k20);
    let x2 = column[0][2];
    let t18 = L::lut3::<0x96>(x2, k20, t17);
    let x27 = column[3][3];
    let t19 = L::lut3::<0x96>(x3, x27, t14);
    let t20 = L::lut3::<0x96>(x11, t18, t19);
    let k3 = L::splat(key[3]);
    let y3 = L::lut3::<0x96>(k3, t16, t20);
    to[3] = y3;
    let x28 = column[3][4];
    let t22 = L::lut3::<0x96>(x19, x23, x28);
    let x4 = column[0][4];
    let t23 = L::lut3::<0x96>(x4, x11, x15);
    let x20 = column[2][4];
    let t24 = L::lut3::<0x96>(x20, t22, t23);
    let x21 = column[2][5];
    let x29 = column[3][5];
    let t25 = L::lut3::<0x96>(x4, x21, x29);
    let x12 = column[1][4];
    let t26 = x12 ^ t25;
    let t27 = L::lut3::<0x96>(x4, t22, t26);
    let t28 = L::lut3::<0x96>(k20, t25, t27);
    let k4 = L::splat(key[4]);
    let t29 = L::lut3::<0x96>(k4, t24, t28);
    let y4 = L::lut3::<0x96>(x28, t17, t29);
    to[4] = y4;
    let x13 = column[1][5];
    let k5 = L::splat(key[5]);
    let y5 = L::lut3::<0x96>(x13, k5, t26);
    to[5] = y5;
    let x5 = column[0][5];
    let t32 = x5 ^ x13;
    let x14 = column[1][6];
    let x22 = column[2][6];
    let t33 = L::lut3::<0x96>(x14, x22, t32);
    let x30 = column[3][6];
    let k6 = L::splat(key[6]);
    let y6 = L::lut3::<0x96>(x30, k6, t33);
    to[6] = y6;
    let k31 = L::splat(key[31]);
    let t35 = L::lut3::<0x96>(x7, x30, k31);
    let x6 = column[0][6];
    let y31 = L::lut3::<0x96>(x6, t5, t35);
    to[31] = y31;
    let t37 = L::lut3::<0x96>(x14, x31, t35);
    let k7 = L::splat(key[7]);
    let y7 = L::lut3::<0x96>(k7, y31, t37);
    to[7] = y7;
    let k8 = L::splat(key[8]);
    let y8 = L::lut3::<0x96>(k8, t1, t6);
    to[8] = y8;
    let t40 = L::lut3::<0x96>(x1, x8, x17);
    let k9 = L::splat(key[9]);
    let t41 = L::lut3::<0x96>(k9, t5, t40);
    let y9 = L::lut3::<0x96>(x16, x25, t41);
    to[9] = y9;
    let k10 = L::splat(key[10]);
    let y10 = L::lut3::<0x96>(x2, k10, t11);
    to[10] = y10;
    let t44 = L::lut3::<0x96>(x18, x23, t19);
    let k11 = L::splat(key[11]);
    let y11 = L::lut3::<0x96>(k11, t16, t44);
    to[11] = y11;
    let k12 = L::splat(key[12]);
    let y12 = k12 ^ t24;
    to[12] = y12;
    let t47 = L::lut3::<0x96>(x4, x5, x20);
    let k13 = L::splat(key[13]);
    let y13 = L::lut3::<0x96>(k13, t26, t47);
    to[13] = y13;
    let t49 = L::lut3::<0x96>(x21, x22, x30);
    let t50 = L::lut3::<0x96>(x6, x13, t49);
    let k14 = L::splat(key[14]);
    let y14 = k14 ^ t50;
    to[14] = y14;
    let t52 = L::lut3::<0x96>(x14, x22, t0);
    let k15 = L::splat(key[15]);
    let y15 = L::lut3::<0x96>(x23, k15, t52);
    to[15] = y15;
    let k16 = L::splat(key[16]);
    let y16 = L::lut3::<0x96>(k16, t7, t8);
    to[16] = y16;
    let k17 = L::splat(key[17]);
    let t55 = L::lut3::<0x96>(x0, k17, t8);
    let y17 = L::lut3::<0x96>(x16, t40, t55);
    to[17] = y17;
    let t57 = L::lut3::<0x96>(x2, x10, t10);
    let t58 = x9 ^ t57;
    let k18 = L::splat(key[18]);
    let y18 = L::lut3::<0x96>(k18, t11, t58);
    to[18] = y18;
    let k19 = L::splat(key[19]);
    let y19 = k19 ^ t44;
    to[19] = y19;
    let y20 = L::lut3::<0x96>(x27, x31, t28);
    to[20] = y20;
    let t62 = L::lut3::<0x96>(x28, x29, t32);
    let k21 = L::splat(key[21]);
    let y21 = L::lut3::<0x96>(x20, k21, t62);
    to[21] = y21;
    let t64 = L::lut3::<0x96>(x29, t33, t50);
    let k22 = L::splat(key[22]);
    let y22 = L::lut3::<0x96>(x5, k22, t64);
    to[22] = y22;
    let k23 = L::splat(key[23]);
    let t66 = L::lut3::<0x96>(x15, k23, t49);
    let y23 = L::lut3::<0x96>(x21, t0, t66);
    to[23] = y23;
    let k24 = L::splat(key[24]);
    let y24 = L::lut3::<0x96>(x8, k24, t1);
    to[24] = y24;
    let k25 = L::splat(key[25]);
    let t69 = L::lut3::<0x96>(k25, t2, t40);
    let y25 = L::lut3::<0x96>(x9, t0, t69);
    to[25] = y25;
    let k26 = L::splat(key[26]);
    let y26 = L::lut3::<0x96>(x1, k26, t57);
    to[26] = y26;
    let k27 = L::splat(key[27]);
    let y27 = L::lut3::<0x96>(k27, t15, t18);
    to[27] = y27;
    let k28 = L::splat(key[28]);
    let t73 = L::lut3::<0x96>(k28, t23, t24);
    let y28 = L::lut3::<0x96>(t17, y20, t73);
    to[28] = y28;
    let k29 = L::splat(key[29]);
    let y29 = L::lut3::<0x96>(k29, t25, t62);
    to[29] = y29;
    let k30 = L::splat(key[30]);
    let y30 = L::lut3::<0x96>(k30, t49, t64);
    to[30] = y30;
}

/// The four bytes, by row, that the inverse of ShiftRows brings into each column.
const INV_SHIFT_ROWS: [[usize; 4]; 4] = [
    [0, 13, 10, 7],
    [4, 1, 14, 11],
    [8, 5, 2, 15],
    [12, 9, 6, 3],
];

/// Decrypts one block a lane; `round_keys` are those of the equivalent inverse cipher (FIPS 197, section 5.3.5), in the order of use.
///
/// # Panics
/// If there are fewer than two round keys.
#[inline(always)]
pub fn decrypt<L: Lanes>(state: &mut [L; 128], round_keys: &[[u32; 128]]) {
    let [first, middle @ .., last] = round_keys else {
        panic!("a cipher has at least two round keys")
    };
    for (plane, key) in state.iter_mut().zip(first) {
        *plane = *plane ^ L::splat(*key);
    }
    let mut substituted = [[L::splat(0); 8]; 16];
    for key in middle {
        for (from, to) in state.as_chunks().0.iter().zip(&mut substituted) {
            inv_sub_byte(from, to);
        }
        let columns = state.as_chunks_mut().0.iter_mut().zip(key.as_chunks().0);
        for ((column, key), bytes) in columns.zip(&INV_SHIFT_ROWS) {
            inv_mix_column(bytes.map(|byte| &substituted[byte]), key, column);
        }
    }
    for (from, to) in state.as_chunks().0.iter().zip(&mut substituted) {
        inv_sub_byte(from, to);
    }
    let bytes = state.as_chunks_mut::<8>().0.iter_mut().zip(last.as_chunks::<8>().0);
    for ((byte, key), from) in bytes.zip(INV_SHIFT_ROWS.as_flattened()) {
        for bit in 0..8 {
            byte[bit] = substituted[*from][bit] ^ L::splat(key[bit]);
        }
    }
}

/// Circuit `lut3, inverse`, 62 gates, 49 of them with three inputs: the S-box on one byte, bit by bit.
#[inline(always)]
fn inv_sub_byte<L: Lanes>(byte: &[L; 8], to: &mut [L; 8]) {
    let x0 = byte[0];
    let x5 = byte[5];
    let t0 = !(x0 ^ x5);
    let x3 = byte[3];
    let t1 = x0 ^ x3;
    let x1 = byte[1];
    let x2 = byte[2];
    let t2 = L::lut3::<0x69>(x1, x2, t0);
    let x4 = byte[4];
    let x7 = byte[7];
    let t3 = L::lut3::<0x96>(x4, x7, t2);
    let x6 = byte[6];
    let t4 = !(x6 ^ t3);
    let t5 = t1 ^ t4;
    let t6 = L::lut3::<0x96>(x4, t0, t5);
    let t7 = L::lut3::<0xca>(x1, t3, t6);
    let t8 = L::lut3::<0x65>(t0, t5, t7);
    let t9 = !(t1 ^ t6);
    let t10 = !(x6 ^ t9);
    let t11 = L::lut3::<0x72>(x1, t0, t10);
    let t12 = L::lut3::<0x69>(t2, t7, t11);
    let t13 = L::lut3::<0x96>(x0, x4, t2);
    let t14 = L::lut3::<0x96>(x2, t0, t13);
    let t15 = L::lut3::<0x93>(t9, t12, t14);
    let t16 = L::lut3::<0xe2>(x1, t1, t13);
    let t17 = L::lut3::<0x69>(t8, t15, t16);
    let t18 = L::lut3::<0xf9>(x6, t0, t14);
    let t19 = L::lut3::<0x93>(t4, t8, t13);
    let t20 = L::lut3::<0x96>(t1, t12, t19);
    let t21 = !(t18 ^ t20);
    let t22 = L::lut3::<0x59>(t2, t6, t15);
    let t23 = L::lut3::<0x65>(x2, t3, t19);
    let t24 = L::lut3::<0x87>(t21, t22, t23);
    let t25 = L::lut3::<0x58>(t21, t22, t24);
    let t26 = t17 ^ t25;
    let t27 = L::lut3::<0x1d>(t21, t23, t26);
    let t28 = L::lut3::<0x4b>(t23, t24, t27);
    let t29 = L::lut3::<0x5c>(t17, t22, t24);
    let t30 = L::lut3::<0x1d>(t22, t25, t26);
    let t31 = t29 ^ t30;
    let t32 = !(t28 ^ t31);
    let t33 = !(t27 ^ t30);
    let t34 = t32 ^ t33;
    let t35 = L::lut3::<0x14>(t3, t6, t34);
    let t36 = L::lut3::<0x59>(x6, t29, t35);
    let t37 = L::lut3::<0xa9>(t3, t31, t36);
    let t38 = L::lut3::<0xa6>(t6, t28, t37);
    let t39 = L::lut3::<0x41>(x2, t2, t33);
    let t40 = L::lut3::<0x6a>(t13, t29, t39);
    let t41 = L::lut3::<0xa6>(x1, t29, t40);
    let t42 = L::lut3::<0x65>(t13, t34, t41);
    let y7 = L::lut3::<0x59>(t14, t28, t42);
    to[7] = y7;
    let t44 = L::lut3::<0x09>(t9, t27, t28);
    let t45 = L::lut3::<0x96>(t35, t38, t44);
    let t46 = L::lut3::<0xa9>(t10, t33, t36);
    let t47 = L::lut3::<0x96>(y7, t45, t46);
    let t48 = L::lut3::<0x56>(t1, t27, t47);
    let t49 = L::lut3::<0x69>(t36, t38, t48);
    let t50 = L::lut3::<0x59>(t0, t32, t49);
    let y5 = L::lut3::<0xa9>(t4, t30, t47);
    to[5] = y5;
    let t52 = L::lut3::<0x14>(t0, t14, t31);
    let t53 = L::lut3::<0x69>(t40, y5, t52);
    let t54 = L::lut3::<0xa9>(t2, t27, t42);
    let y0 = L::lut3::<0x69>(t50, t53, t54);
    to[0] = y0;
    let y1 = L::lut3::<0x95>(t5, t32, t37);
    to[1] = y1;
    let t57 = L::lut3::<0x69>(t40, t50, y1);
    let y2 = L::lut3::<0x9a>(x2, t30, t57);
    to[2] = y2;
    let y3 = !(t45 ^ y2);
    to[3] = y3;
    let y4 = L::lut3::<0x56>(x1, t34, t53);
    to[4] = y4;
    let y6 = L::lut3::<0x69>(t45, t49, y4);
    to[6] = y6;
}

/// Circuit `InvMixColumns, AddRoundKey`, 86 gates, 72 of them with three inputs: the inverse of MixColumns on one column, its bytes by row, and the round key.
#[inline(always)]
fn inv_mix_column<L: Lanes>(column: [&[L; 8]; 4], key: &[u32; 32], to: &mut [L; 32]) {
    let x22 = column[2][6];
    let x23 = column[2][7];
    let t0 = x22 ^ x23;
    let x14 = column[1][6];
    let x30 = column[3][6];
    let t1 = x14 ^ x30;
    let x7 = column[0][7];
    let t2 = L::lut3::<0x96>(x7, t0, t1);
    let x6 = column[0][6];
    let t3 = L::lut3::<0x96>(x6, x22, t1);
    let x15 = column[1][7];
    let x31 = column[3][7];
    let t4 = L::lut3::<0x96>(x15, x31, t3);
    let t5 = L::lut3::<0x96>(x6, t2, t4);
    let x5 = column[0][5];
    let x29 = column[3][5];
    let t6 = x5 ^ x29;
    let x28 = column[3][4];
    let t7 = x28 ^ x30;
    let x4 = column[0][4];
    let x12 = column[1][4];
    let t8 = L::lut3::<0x96>(x4, x12, t7);
    let x13 = column[1][5];
    let x20 = column[2][4];
    let t9 = L::lut3::<0x96>(x13, x20, t8);
    let t10 = L::lut3::<0x96>(x5, t6, t9);
    let t11 = L::lut3::<0x96>(x31, t2, t10);
    let x21 = column[2][5];
    let t12 = L::lut3::<0x96>(x13, x21, t6);
    let t13 = L::lut3::<0x96>(t0, t10, t12);
    let x16 = column[2][0];
    let t14 = L::lut3::<0x96>(x16, t11, t13);
    let x8 = column[1][0];
    let x24 = column[3][0];
    let t15 = L::lut3::<0x96>(x8, x24, t5);
    let x9 = column[1][1];
    let t16 = L::lut3::<0x96>(x9, t4, t15);
    let k0 = L::splat(key[0]);
    let t17 = L::lut3::<0x96>(x9, k0, t16);
    let y0 = L::lut3::<0x96>(t5, t14, t17);
    to[0] = y0;
    let t19 = x24 ^ t14;
    let x0 = column[0][0];
    let t20 = L::lut3::<0x96>(x0, t5, t19);
    let t21 = L::lut3::<0x96>(x8, x16, t20);
    let x1 = column[0][1];
    let t22 = L::lut3::<0x96>(x1, t14, t21);
    let x25 = column[3][1];
    let t23 = L::lut3::<0x96>(x1, x9, x25);
    let t24 = L::lut3::<0x96>(t19, t22, t23);
    let x17 = column[2][1];
    let k1 = L::splat(key[1]);
    let y1 = L::lut3::<0x96>(x17, k1, t24);
    to[1] = y1;
    let x18 = column[2][2];
    let t26 = x18 ^ t16;
    let x2 = column[0][2];
    let x26 = column[3][2];
    let t27 = L::lut3::<0x96>(x2, x26, t26);
    let x10 = column[1][2];
    let t28 = L::lut3::<0x96>(x10, x26, t27);
    let t29 = L::lut3::<0x96>(t4, t23, t28);
    let t30 = L::lut3::<0x96>(x2, t27, t29);
    let t31 = L::lut3::<0x96>(x10, t22, t30);
    let k2 = L::splat(key[2]);
    let y2 = L::lut3::<0x96>(k2, t29, t31);
    to[2] = y2;
    let k7 = L::splat(key[7]);
    let y7 = L::lut3::<0x96>(k7, t4, t13);
    to[7] = y7;
    let x11 = column[1][3];
    let t34 = L::lut3::<0x96>(x11, x17, t27);
    let x19 = column[2][3];
    let t35 = L::lut3::<0x96>(x19, t11, t34);
    let t36 = L::lut3::<0x96>(k7, y7, t35);
    let x27 = column[3][3];
    let t37 = L::lut3::<0x96>(x27, t31, t36);
    let k3 = L::splat(key[3]);
    let y3 = L::lut3::<0x96>(k3, t29, t37);
    to[3] = y3;
    let x3 = column[0][3];
    let t39 = x3 ^ t34;
    let t40 = L::lut3::<0x96>(x11, x27, t39);
    let t41 = L::lut3::<0x96>(x17, t16, t22);
    let t42 = t30 ^ t41;
    let t43 = t5 ^ t42;
    let t44 = L::lut3::<0x96>(t36, t40, t43);
    let t45 = L::lut3::<0x96>(x4, t0, t43);
    let t46 = x31 ^ t45;
    let t47 = L::lut3::<0x96>(t6, t44, t46);
    let t48 = L::lut3::<0x96>(t1, t8, t47);
    let t49 = L::lut3::<0x96>(x23, t13, t48);
    let t50 = L::lut3::<0x96>(x20, t29, t42);
    let t51 = L::lut3::<0x96>(t9, t34, t37);
    let t52 = L::lut3::<0x96>(x30, t50, t51);
    let t53 = L::lut3::<0x96>(t3, t49, t52);
    let k4 = L::splat(key[4]);
    let y4 = L::lut3::<0x96>(x5, k4, t53);
    to[4] = y4;
    let t55 = L::lut3::<0x96>(x28, t35, t45);
    let t56 = L::lut3::<0x96>(t10, t50, t55);
    let k5 = L::splat(key[5]);
    let y5 = L::lut3::<0x96>(k5, t53, t56);
    to[5] = y5;
    let k6 = L::splat(key[6]);
    let y6 = L::lut3::<0x96>(x6, k6, t49);
    to[6] = y6;
    let k8 = L::splat(key[8]);
    let y8 = k8 ^ t20;
    to[8] = y8;
    let k9 = L::splat(key[9]);
    let y9 = L::lut3::<0x96>(k9, t24, t41);
    to[9] = y9;
    let k10 = L::splat(key[10]);
    let y10 = L::lut3::<0x96>(x17, k10, t27);
    to[10] = y10;
    let k11 = L::splat(key[11]);
    let y11 = L::lut3::<0x96>(k11, t34, t44);
    to[11] = y11;
    let k12 = L::splat(key[12]);
    let y12 = L::lut3::<0x96>(k12, t12, t56);
    to[12] = y12;
    let k13 = L::splat(key[13]);
    let y13 = L::lut3::<0x96>(k13, t52, t56);
    to[13] = y13;
    let t65 = x6 ^ t48;
    let k14 = L::splat(key[14]);
    let y14 = L::lut3::<0x96>(k14, t3, t65);
    to[14] = y14;
    let k15 = L::splat(key[15]);
    let y15 = k15 ^ t11;
    to[15] = y15;
    let k16 = L::splat(key[16]);
    let y16 = L::lut3::<0x96>(k16, t4, t21);
    to[16] = y16;
    let k17 = L::splat(key[17]);
    let y17 = L::lut3::<0x96>(k17, t19, t23);
    to[17] = y17;
    let k18 = L::splat(key[18]);
    let y18 = L::lut3::<0x96>(k18, t4, t42);
    to[18] = y18;
    let t71 = t29 ^ t44;
    let k19 = L::splat(key[19]);
    let y19 = L::lut3::<0x96>(x19, k19, t71);
    to[19] = y19;
    let k20 = L::splat(key[20]);
    let y20 = L::lut3::<0x96>(x13, k20, t52);
    to[20] = y20;
    let t74 = L::lut3::<0x96>(x14, t56, t65);
    let k21 = L::splat(key[21]);
    let y21 = L::lut3::<0x96>(k21, t52, t74);
    to[21] = y21;
    let k22 = L::splat(key[22]);
    let y22 = L::lut3::<0x96>(k22, t10, t48);
    to[22] = y22;
    let k23 = L::splat(key[23]);
    let y23 = L::lut3::<0x96>(k23, t5, t13);
    to[23] = y23;
    let k24 = L::splat(key[24]);
    let y24 = L::lut3::<0x96>(k24, t15, t20);
    to[24] = y24;
    let k25 = L::splat(key[25]);
    let y25 = L::lut3::<0x96>(k25, t19, t41);
    to[25] = y25;
    let k26 = L::splat(key[26]);
    let y26 = L::lut3::<0x96>(k26, t4, t29);
    to[26] = y26;
    let k27 = L::splat(key[27]);
    let y27 = L::lut3::<0x96>(k27, t37, t40);
    to[27] = y27;
    let k28 = L::splat(key[28]);
    let y28 = L::lut3::<0x96>(k28, t6, t74);
    to[28] = y28;
    let k29 = L::splat(key[29]);
    let y29 = L::lut3::<0x96>(k29, t51, t55);
    to[29] = y29;
    let k30 = L::splat(key[30]);
    let y30 = L::lut3::<0x96>(k30, t10, t49);
    to[30] = y30;
    let k31 = L::splat(key[31]);
    let y31 = L::lut3::<0x96>(k31, t4, t11);
    to[31] = y31;
}
