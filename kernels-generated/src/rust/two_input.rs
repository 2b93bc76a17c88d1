//! The cipher for words with operators of two inputs.

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

/// Circuit `boyar-peralta`, 113 gates, 0 of them with three inputs: the S-box on one byte, bit by bit.
#[inline(always)]
fn sub_byte<L: Lanes>(byte: &[L; 8], to: &mut [L; 8]) {
    let x2 = byte[2];
    let x4 = byte[4];
    let t0 = x2 ^ x4;
    let x1 = byte[1];
    let x7 = byte[7];
    let t1 = x1 ^ x7;
    let t2 = x4 ^ x7;
    let t3 = x2 ^ x7;
    let x5 = byte[5];
    let x6 = byte[6];
    let t4 = x5 ^ x6;
    let x0 = byte[0];
    let t5 = x0 ^ t4;
    let t6 = x4 ^ t5;
    let t7 = t0 ^ t1;
    let t8 = x7 ^ t5;
    let t9 = x1 ^ t5;
    let t10 = t3 ^ t9;
    let x3 = byte[3];
    let t11 = x3 ^ t7;
    let t12 = x2 ^ t11;
    let t13 = x6 ^ t11;
    let t14 = x0 ^ t12;
    let t15 = t4 ^ t12;
    let t16 = t2 ^ t13;
    let t17 = x0 ^ t16;
    let t18 = t15 ^ t16;
    let t19 = t3 ^ t15;
    let t20 = t4 ^ t16;
    let t21 = t1 ^ t20;
    let t22 = x7 ^ t20;
    let t23 = t7 & t12;
    let t24 = t10 & t14;
    let t25 = t23 ^ t24;
    let t26 = x0 & t6;
    let t27 = t23 ^ t26;
    let t28 = t1 & t20;
    let t29 = t5 & t9;
    let t30 = t28 ^ t29;
    let t31 = t8 & t17;
    let t32 = t28 ^ t31;
    let t33 = t2 & t16;
    let t34 = t0 & t18;
    let t35 = t33 ^ t34;
    let t36 = t3 & t15;
    let t37 = t33 ^ t36;
    let t38 = t13 ^ t25;
    let t39 = t27 ^ t37;
    let t40 = t30 ^ t35;
    let t41 = t32 ^ t37;
    let t42 = t35 ^ t38;
    let t43 = t19 ^ t39;
    let t44 = t21 ^ t40;
    let t45 = t22 ^ t41;
    let t46 = t42 ^ t43;
    let t47 = t42 & t44;
    let t48 = t45 ^ t47;
    let t49 = t46 & t48;
    let t50 = t43 ^ t49;
    let t51 = t44 ^ t45;
    let t52 = t43 ^ t47;
    let t53 = t51 & t52;
    let t54 = t45 ^ t53;
    let t55 = t44 ^ t54;
    let t56 = t48 ^ t54;
    let t57 = t45 & t56;
    let t58 = t55 ^ t57;
    let t59 = t48 ^ t57;
    let t60 = t50 & t59;
    let t61 = t46 ^ t60;
    let t62 = t58 ^ t61;
    let t63 = t50 ^ t54;
    let t64 = t50 ^ t61;
    let t65 = t54 ^ t58;
    let t66 = t62 ^ t63;
    let t67 = t12 & t65;
    let t68 = t14 & t58;
    let t69 = x0 & t54;
    let t70 = t20 & t64;
    let t71 = t5 & t61;
    let t72 = t17 & t50;
    let t73 = t16 & t63;
    let t74 = t18 & t66;
    let t75 = t15 & t62;
    let t76 = t7 & t65;
    let t77 = t10 & t58;
    let t78 = t6 & t54;
    let t79 = t1 & t64;
    let t80 = t9 & t61;
    let t81 = t8 & t50;
    let t82 = t2 & t63;
    let t83 = t0 & t66;
    let t84 = t3 & t62;
    let t85 = t82 ^ t83;
    let t86 = t77 ^ t85;
    let t87 = t76 ^ t86;
    let t88 = t67 ^ t69;
    let t89 = t67 ^ t68;
    let t90 = t70 ^ t71;
    let t91 = t79 ^ t88;
    let t92 = t74 ^ t90;
    let t93 = t75 ^ t91;
    let t94 = t92 ^ t93;
    let t95 = t89 ^ t90;
    let t96 = t70 ^ t72;
    let t97 = t80 ^ t85;
    let t98 = t88 ^ t96;
    let y4 = t87 ^ t95;
    to[4] = y4;
    let t100 = t73 ^ t92;
    let t101 = t81 ^ t94;
    let t102 = t97 ^ t98;
    let y0 = !(t79 ^ t102);
    to[0] = y0;
    let t104 = t82 ^ t100;
    let t105 = t78 ^ t86;
    let y7 = t87 ^ t100;
    to[7] = y7;
    let y1 = !(t94 ^ t102);
    to[1] = y1;
    let y3 = t98 ^ y4;
    to[3] = y3;
    let y6 = !(y4 ^ t100);
    to[6] = y6;
    let t110 = t101 ^ t104;
    let y5 = !(t84 ^ t110);
    to[5] = y5;
    let y2 = t101 ^ t105;
    to[2] = y2;
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

/// Circuit `boyar-peralta, inverse`, 121 gates, 0 of them with three inputs: the S-box on one byte, bit by bit.
#[inline(always)]
fn inv_sub_byte<L: Lanes>(byte: &[L; 8], to: &mut [L; 8]) {
    let x4 = byte[4];
    let x7 = byte[7];
    let t0 = x4 ^ x7;
    let x6 = byte[6];
    let t1 = !(x4 ^ x6);
    let t2 = x7 ^ t1;
    let x0 = byte[0];
    let x1 = byte[1];
    let t3 = x0 ^ x1;
    let t4 = t1 ^ t3;
    let x5 = byte[5];
    let t5 = !(x5 ^ t4);
    let x3 = byte[3];
    let t6 = x3 ^ x4;
    let t7 = !(x0 ^ t6);
    let t8 = t4 ^ t6;
    let t9 = !(x5 ^ x7);
    let x2 = byte[2];
    let t10 = x2 ^ t9;
    let t11 = t0 ^ t1;
    let t12 = t4 ^ t8;
    let t13 = t2 ^ t7;
    let t14 = t5 ^ t10;
    let t15 = t0 ^ t4;
    let t16 = t1 ^ t8;
    let t17 = t11 ^ t12;
    let t18 = t2 ^ t10;
    let t19 = t5 ^ t7;
    let t20 = t13 ^ t14;
    let t21 = t12 ^ t14;
    let t22 = t16 ^ t19;
    let t23 = t5 ^ t8;
    let t24 = t11 ^ t13;
    let t25 = t15 & t18;
    let t26 = t0 & t2;
    let t27 = t21 ^ t25;
    let t28 = t4 & t10;
    let t29 = t25 ^ t28;
    let t30 = t16 & t19;
    let t31 = t1 & t7;
    let t32 = t22 ^ t30;
    let t33 = t5 & t8;
    let t34 = t30 ^ t33;
    let t35 = t12 & t14;
    let t36 = t17 & t20;
    let t37 = t35 ^ t36;
    let t38 = t11 & t13;
    let t39 = t35 ^ t38;
    let t40 = t26 ^ t27;
    let t41 = t24 ^ t29;
    let t42 = t31 ^ t32;
    let t43 = t34 ^ t39;
    let t44 = t37 ^ t40;
    let t45 = t39 ^ t41;
    let t46 = t37 ^ t42;
    let t47 = t23 ^ t43;
    let t48 = t46 ^ t47;
    let t49 = t44 & t46;
    let t50 = t45 ^ t49;
    let t51 = t44 ^ t45;
    let t52 = t47 ^ t49;
    let t53 = t51 & t52;
    let t54 = t48 & t50;
    let t55 = t47 ^ t54;
    let t56 = t45 ^ t53;
    let t57 = t44 & t47;
    let t58 = t51 & t57;
    let t59 = t49 ^ t51;
    let t60 = t58 ^ t59;
    let t61 = t45 & t46;
    let t62 = t48 & t61;
    let t63 = t48 ^ t49;
    let t64 = t62 ^ t63;
    let t65 = t60 ^ t64;
    let t66 = t55 ^ t56;
    let t67 = t56 ^ t60;
    let t68 = t55 ^ t64;
    let t69 = t65 ^ t66;
    let t70 = t18 & t68;
    let t71 = t2 & t64;
    let t72 = t10 & t55;
    let t73 = t19 & t67;
    let t74 = t7 & t60;
    let t75 = t5 & t56;
    let t76 = t14 & t66;
    let t77 = t20 & t69;
    let t78 = t13 & t65;
    let t79 = t15 & t68;
    let t80 = t0 & t64;
    let t81 = t4 & t55;
    let t82 = t16 & t67;
    let t83 = t1 & t60;
    let t84 = t8 & t56;
    let t85 = t12 & t66;
    let t86 = t17 & t69;
    let t87 = t11 & t65;
    let t88 = t70 ^ t71;
    let t89 = t70 ^ t72;
    let t90 = t73 ^ t74;
    let t91 = t73 ^ t75;
    let t92 = t76 ^ t77;
    let t93 = t76 ^ t78;
    let t94 = t88 ^ t92;
    let t95 = t89 ^ t93;
    let t96 = t90 ^ t92;
    let t97 = t91 ^ t93;
    let t98 = t79 ^ t80;
    let t99 = t79 ^ t81;
    let t100 = t82 ^ t83;
    let t101 = t82 ^ t84;
    let t102 = t85 ^ t86;
    let t103 = t85 ^ t87;
    let t104 = t98 ^ t102;
    let y0 = t99 ^ t103;
    to[0] = y0;
    let t106 = t100 ^ t102;
    let t107 = t101 ^ t103;
    let y4 = t95 ^ t106;
    to[4] = y4;
    let y1 = t96 ^ t106;
    to[1] = y1;
    let y7 = t97 ^ t106;
    to[7] = y7;
    let t111 = t94 ^ t96;
    let y2 = y7 ^ t111;
    to[2] = y2;
    let t113 = t104 ^ t107;
    let t114 = t111 ^ t113;
    let y6 = y4 ^ t114;
    to[6] = y6;
    let t116 = t95 ^ y0;
    let y5 = t114 ^ t116;
    to[5] = y5;
    let t118 = t94 ^ t104;
    let t119 = y2 ^ t116;
    let y3 = t118 ^ t119;
    to[3] = y3;
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
