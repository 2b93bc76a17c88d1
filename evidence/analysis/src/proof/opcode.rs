//! The instructions that have a rule in `instruction`, with all their modifiers: those of the stored kernels. With other modifiers they are
//! different instructions, and PTX that has one is refused.

/// Sorted.
#[rustfmt::skip]
pub(crate) const OPCODES: [&str; 127] = [
    "add.s32", "add.s64", "add.u64", "and.b16", "and.b32", "and.b64", "and.pred", "atom.global.add.u32",
    "atom.global.exch.b32", "atom.global.inc.u32", "atom.global.max.u64", "atom.global.xor.b32", "atom.shared.add.u32",
    "bar.sync", "bar.warp.sync", "bfi.b32", "bfi.b64", "bra", "bra.uni", "brev.b32", "call.uni",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "cvt.s64.s32", "cvt.u16.u32", "cvt.u32.u16",
    "cvt.u32.u64", "cvt.u64.u32", "cvta.global.u64", "cvta.to.global.u64", "div.u32", "dp4a.s32.s32",
    "fence.proxy.async.shared::cta", "griddepcontrol.launch_dependents", "griddepcontrol.wait", "ld.const.u32",
    "ld.global.nc.u32", "ld.global.nc.u64", "ld.global.nc.v4.u32", "ld.global.u32", "ld.global.u64", "ld.global.u8",
    "ld.global.v4.u32", "ld.local.u32", "ld.param.b64", "ld.param.u32", "ld.param.u64", "ld.param.u8", "ld.shared.u32",
    "ld.shared.v4.u32", "ld.u8", "lop3.b32", "mad.lo.s32", "max.u32", "max.u64",
    "mbarrier.arrive.expect_tx.shared::cta.b64", "mbarrier.init.shared::cta.b64",
    "mbarrier.try_wait.parity.shared::cta.b64", "membar.gl", "min.u32", "min.u64",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "mov.b64", "mov.pred", "mov.u16", "mov.u32", "mov.u64",
    "mul.lo.s32", "mul.lo.s64", "mul.wide.s32", "mul.wide.u16", "mul.wide.u32", "neg.s32", "not.b32", "not.pred",
    "or.b32", "or.b64", "or.pred", "prmt.b32", "redux.sync.or.b32", "ret", "selp.b32", "selp.b64", "selp.u16",
    "selp.u32", "setp.eq.b32", "setp.eq.s16", "setp.eq.s32", "setp.eq.s64", "setp.ge.u32", "setp.ge.u64", "setp.gt.u32",
    "setp.gt.u64", "setp.le.u32", "setp.le.u64", "setp.lt.s32", "setp.lt.s64", "setp.lt.u32", "setp.lt.u64",
    "setp.ne.b32", "setp.ne.s16", "setp.ne.s32", "setp.ne.s64", "shfl.sync.idx.b32", "shl.b32", "shl.b64", "shr.s32",
    "shr.u16", "shr.u32", "shr.u64", "st.global.u32", "st.global.u8", "st.global.v4.u32", "st.local.u32",
    "st.param.b32", "st.param.b64", "st.shared.u32", "st.shared.v4.u32", "sub.s32", "sub.s64",
    "wgmma.commit_group.sync.aligned", "wgmma.fence.sync.aligned",
    "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc", "wgmma.wait_group.sync.aligned", "xor.b16",
    "xor.b32", "xor.b64", "xor.pred",
];
