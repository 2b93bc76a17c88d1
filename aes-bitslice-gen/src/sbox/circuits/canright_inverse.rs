// Canright's inverse S-box in 121 gates: 81 XORs (or XNORs), 34 NANDs and 6 NORs. D. Canright, "A Very Compact S-Box for AES", CHES 2005.
// a and b are the halves of a byte in the basis [d^16, d] of GF(2^8) over GF(2^4), with d = 0xff; bits 3, 2 and 1, 0 of a half are in
// the basis [alpha^8, alpha^2] of GF(2^4) over GF(2^2), alpha^2 = 0x5c; two bits in the basis [Omega^2, Omega] of GF(2^2), Omega = 0xbd.
fn inverse_sbox<W: Word>(x0: W, x1: W, x2: W, x3: W, x4: W, x5: W, x6: W, x7: W) -> [W; 8] {
    // The inverse of the S-box's affine map, and into the tower of fields.
    let a1 = !(x4 ^ x6); let r0 = x0 ^ x3; let r1 = !(x0 ^ a1); let a2 = !(x1 ^ r1); let r2 = x2 ^ x7;
    let r3 = x1 ^ x6; let b0 = !(x5 ^ a2); let b3 = x7 ^ a1; let b2 = !(x5 ^ r2); let a3 = x4 ^ x7;
    let a0 = !(r0 ^ r3); let b1 = !(x4 ^ r0);

    // Inversion in GF(2^8): the sums that products share, and the norm, which joins the product of the halves and the scaled
    // square of their sum.
    let sa1 = a3 ^ a1; let sa0 = a2 ^ a0; let sb1 = b3 ^ b1; let sb0 = b2 ^ b0;
    let al = a1 ^ a0; let ah = a3 ^ a2; let aa = sa1 ^ sa0;
    let bl = b1 ^ b0; let bh = b3 ^ b2; let bb = sb1 ^ sb0;
    let c1 = !(ah & bh); let c2 = !(sa0 & sb0); let c3 = !(aa & bb);
    let c13 = c1 ^ c3; let c12 = c1 ^ c2; let c23 = c2 ^ c3;
    let e0 = !(sa0 | sb0); let e1 = !(a3 & b3); let e2 = e0 ^ e1; let n3 = e2 ^ c13;
    let e3 = !(sa1 | sb1); let e4 = !(a2 & b2); let e5 = e3 ^ e4; let n2 = e5 ^ c12;
    let e6 = !(al | bl); let e7 = !(a1 & b1); let e8 = e6 ^ e7; let n1 = e8 ^ c23;
    let e9 = !(a0 | b0); let e10 = !(al & bl); let e11 = !(sa1 & sb1); let e12 = e9 ^ e10; let e13 = e11 ^ c2; let n0 = e12 ^ e13;

    // Inversion in GF(2^4), likewise; in GF(2^2) the inverse exchanges the two bits.
    let sn = n3 ^ n2; let sm = n1 ^ n0;
    let f0 = !(n3 | n1); let f1 = !(sn & sm); let i0 = f0 ^ f1;
    let f2 = !(sn | sm); let f3 = !(n2 & n0); let i1 = f2 ^ f3;
    let si = i1 ^ i0;
    let f4 = !(si & sm); let f5 = !(i1 & n1); let f6 = !(i0 & n0); let d3 = f5 ^ f4; let d2 = f6 ^ f4;
    let f7 = !(si & sn); let f8 = !(i1 & n3); let f9 = !(i0 & n2); let d1 = f8 ^ f7; let d0 = f9 ^ f7;

    // The products with the inverse of the norm, which are the halves of the inverse.
    let sd1 = d3 ^ d1; let sd0 = d2 ^ d0; let dl = d1 ^ d0; let dh = d3 ^ d2; let dd = sd1 ^ sd0;
    let g0 = !(dh & bh); let g1 = !(d3 & b3); let g2 = !(d2 & b2); let h3 = g1 ^ g0; let h2 = g2 ^ g0;
    let g3 = !(dl & bl); let g4 = !(d1 & b1); let g5 = !(d0 & b0); let h1 = g4 ^ g3; let h0 = g5 ^ g3;
    let g6 = !(sd0 & sb0); let g7 = !(dd & bb); let g8 = !(sd1 & sb1); let p1 = g7 ^ g6; let p0 = g8 ^ g6;
    let z7 = h3 ^ p1; let z6 = h2 ^ p0; let z5 = h1 ^ p1; let z4 = h0 ^ p0;
    let g9 = !(dh & ah); let g10 = !(d3 & a3); let g11 = !(d2 & a2); let k3 = g10 ^ g9; let k2 = g11 ^ g9;
    let g12 = !(dl & al); let g13 = !(d1 & a1); let g14 = !(d0 & a0); let k1 = g13 ^ g12; let k0 = g14 ^ g12;
    let g15 = !(sd0 & sa0); let g16 = !(dd & aa); let g17 = !(sd1 & sa1); let q1 = g16 ^ g15; let q0 = g17 ^ g15;
    let z3 = k3 ^ q1; let z2 = k2 ^ q0; let z1 = k1 ^ q1; let z0 = k0 ^ q0;

    // Back to the standard basis.
    let y0 = z2; let t0 = z5 ^ z6; let y7 = z1 ^ z4; let t1 = z3 ^ t0; let t2 = z7 ^ t1; let t3 = z0 ^ t2;
    let y1 = z1 ^ z5; let y4 = z1 ^ z6; let t4 = z5 ^ z7; let t5 = z2 ^ t1; let y3 = y7 ^ t5; let y2 = y7 ^ t4;
    let y5 = z2 ^ t3; let y6 = z1 ^ t3;
    [y0, y1, y2, y3, y4, y5, y6, y7]
}
