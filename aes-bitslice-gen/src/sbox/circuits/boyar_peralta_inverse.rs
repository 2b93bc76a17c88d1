// The inverse S-box in 121 gates: Boyar and Peralta's straight-line program by the technique of
// J. Boyar, R. Peralta, "A New Combinational Logic Minimization Technique with Applications to Cryptology",
// SEA 2010. Names are the program's; its u0 and s0 are the most significant bits.
fn inverse_sbox<W: Word>(u7: W, u6: W, u5: W, u4: W, u3: W, u2: W, u1: W, u0: W) -> [W; 8] {
    // Top linear layer, with the inverse of the S-box's affine map.
    let y0 = u0 ^ u3; let y2 = !(u1 ^ u3); let y4 = u0 ^ y2;
    let rtl0 = u6 ^ u7; let y1 = y2 ^ rtl0; let y7 = !(u2 ^ y1);
    let rtl1 = u3 ^ u4; let y6 = !(u7 ^ rtl1); let y3 = y1 ^ rtl1;
    let rtl2 = !(u0 ^ u2); let y5 = u5 ^ rtl2;
    let sa1 = y0 ^ y2; let sa0 = y1 ^ y3; let sb1 = y4 ^ y6; let sb0 = y5 ^ y7;
    let ah = y0 ^ y1; let al = y2 ^ y3; let aa = sa0 ^ sa1;
    let bh = y4 ^ y5; let bl = y6 ^ y7; let bb = sb0 ^ sb1;
    let ab20 = sa0 ^ sb0; let ab22 = al ^ bl; let ab23 = y3 ^ y7; let ab21 = sa1 ^ sb1;

    // From GF(2^8) down to GF(2^4): the norm.
    let abcd1 = ah & bh; let rr1 = y0 & y4; let ph11 = ab20 ^ abcd1;
    let t01 = y1 & y5; let ph01 = t01 ^ abcd1;
    let abcd2 = al & bl; let r1 = y2 & y6; let pl11 = ab22 ^ abcd2;
    let r2 = y3 & y7; let pl01 = r2 ^ abcd2;
    let r3 = sa0 & sb0; let vr1 = aa & bb; let pr1 = vr1 ^ r3;
    let wr1 = sa1 & sb1; let qr1 = wr1 ^ r3;
    let ab0 = ph11 ^ rr1; let ab1 = ph01 ^ ab21; let ab2 = pl11 ^ r1; let ab3 = pl01 ^ qr1;
    let cp1 = ab0 ^ pr1; let cp2 = ab1 ^ qr1; let cp3 = ab2 ^ pr1; let cp4 = ab3 ^ ab23;

    // Inversion in GF(2^4), and the sums that the multiplications after it need.
    let tinv1 = cp3 ^ cp4; let tinv2 = cp3 & cp1; let tinv3 = cp2 ^ tinv2; let tinv4 = cp1 ^ cp2;
    let tinv5 = cp4 ^ tinv2; let tinv6 = tinv5 & tinv4; let tinv7 = tinv3 & tinv1;
    let d2 = cp4 ^ tinv7; let d0 = cp2 ^ tinv6;
    let tinv8 = cp1 & cp4; let tinv9 = tinv4 & tinv8; let tinv10 = tinv4 ^ tinv2; let d1 = tinv9 ^ tinv10;
    let tinv11 = cp2 & cp3; let tinv12 = tinv1 & tinv11; let tinv13 = tinv1 ^ tinv2; let d3 = tinv12 ^ tinv13;
    let sd1 = d1 ^ d3; let sd0 = d0 ^ d2; let dl = d0 ^ d1; let dh = d2 ^ d3; let dd = sd0 ^ sd1;

    // Back up to GF(2^8).
    let abcd3 = dh & bh; let rr2 = d3 & y4; let t02 = d2 & y5;
    let abcd4 = dl & bl; let r4 = d1 & y6; let r5 = d0 & y7;
    let r6 = sd0 & sb0; let vr2 = dd & bb; let wr2 = sd1 & sb1;
    let abcd5 = dh & ah; let r7 = d3 & y0; let r8 = d2 & y1;
    let abcd6 = dl & al; let r9 = d1 & y2; let r10 = d0 & y3;
    let r11 = sd0 & sa0; let vr3 = dd & aa; let wr3 = sd1 & sa1;

    // Bottom linear layer.
    let ph12 = rr2 ^ abcd3; let ph02 = t02 ^ abcd3; let pl12 = r4 ^ abcd4; let pl02 = r5 ^ abcd4;
    let pr2 = vr2 ^ r6; let qr2 = wr2 ^ r6;
    let p0 = ph12 ^ pr2; let p1 = ph02 ^ qr2; let p2 = pl12 ^ pr2; let p3 = pl02 ^ qr2;
    let ph13 = r7 ^ abcd5; let ph03 = r8 ^ abcd5; let pl13 = r9 ^ abcd6; let pl03 = r10 ^ abcd6;
    let pr3 = vr3 ^ r11; let qr3 = wr3 ^ r11;
    let p4 = ph13 ^ pr3; let s7 = ph03 ^ qr3; let p6 = pl13 ^ pr3; let p7 = pl03 ^ qr3;
    let s3 = p1 ^ p6; let s6 = p2 ^ p6; let s0 = p3 ^ p6;
    let x11 = p0 ^ p2; let s5 = s0 ^ x11; let x13 = p4 ^ p7; let x14 = x11 ^ x13; let s1 = s3 ^ x14;
    let x16 = p1 ^ s7; let s2 = x14 ^ x16; let x18 = p0 ^ p4; let x19 = s5 ^ x16; let s4 = x18 ^ x19;
    [s7, s6, s5, s4, s3, s2, s1, s0]
}
