//! Copies to shared memory that run beside the threads, and the barriers in shared memory at which threads wait for them (PTX ISA, sections on
//! `cp.async.bulk`, `mbarrier` and the async proxy).
//!
//! A phase of such a barrier is over when as many threads have arrived as it was made for, and all bytes that they expect have come. Here
//! these come as soon as a copy begins; but a thread reaches them only after it has itself waited for that phase, having waited for all
//! phases before it. So it does not matter when they come. A try to wait may be in vain although the phase is over: the first one is.
//!
//! Copies and tensor cores reach shared memory by another way than threads do, the async proxy. They see what a thread has written if a fence
//! of this thread (`fence.proxy.async`) came after that, and a barrier after the fence.

use crate::proof::async_proxy::Barrier;
use crate::proof::context::Context;
use crate::proof::instruction::{Next, operand};
use crate::proof::order::{Access, WARP};
use crate::proof::thread::Thread;
use crate::proof::value::{Value, Why};
use crate::ptx::{Operand, Statement};
use std::ops::Range;

/// Bytes of a barrier.
const BARRIER: u64 = 8;

/// Copies are of pieces of this many bytes, at multiples of it.
const PIECE: u64 = 16;

impl Context<'_> {
    /// Records that a thread reaches shared memory.
    ///
    /// # Errors
    /// If it has not waited for a copy to there.
    pub(crate) fn note_shared(&mut self, thread: &Thread, at: u64, bytes: u64, is_store: bool) -> Result<(), Why> {
        let Some(proxy) = &mut self.proxy else { return Ok(()) };
        proxy.have_arrived(at..at + bytes, std::slice::from_ref(thread))?;
        if is_store {
            for at in at..at + bytes {
                proxy.copied.remove(&at);
                proxy.barriers.remove(&(at / BARRIER * BARRIER));
                proxy.written.insert(at, (thread.index, None));
                proxy.unpublished.entry(thread.index).or_default().push(at);
            }
        }
        Ok(())
    }

    /// Records that tensor cores read shared memory for all threads of a warpgroup.
    ///
    /// # Errors
    /// If one of them has not waited for a copy to there, the async proxy does not see what is there, or it is a race.
    pub(crate) fn note_read_of_matrix(&mut self, threads: &[Thread], bytes: Range<u64>) -> Result<(), Why> {
        let proxy = self.proxy.as_ref().ok_or("no async proxy")?;
        proxy.have_arrived(bytes.clone(), threads)?;
        // Of each warp one thread: they have passed the same barriers.
        for thread in threads.iter().step_by(WARP) {
            let moment = self.moment(thread);
            self.proxy.as_ref().ok_or("no async proxy")?.are_published(bytes.clone(), &moment)?;
            bytes.clone().try_for_each(|at| self.memory.note(at, Access::Read, moment))?;
        }
        Ok(())
    }

    /// `fence.proxy.async.shared::cta`.
    pub(crate) fn publish(&mut self, thread: &Thread) {
        let moment = self.moment(thread);
        let Some(proxy) = &mut self.proxy else { return };
        for at in proxy.unpublished.remove(&thread.index).unwrap_or_default() {
            if let Some((by, fence @ None)) = proxy.written.get_mut(&at)
                && *by == thread.index
            {
                *fence = Some(moment);
            }
        }
    }

    /// `mbarrier.init`, `mbarrier.arrive.expect_tx` and `mbarrier.try_wait.parity`.
    pub(crate) fn barrier_in_memory(&mut self, thread: &mut Thread, statement: &Statement) -> Result<Next, Why> {
        let operands = &statement.operands;
        let at_operand = usize::from(!statement.opcode.starts_with("mbarrier.init"));
        let number = |n: usize| self.value(thread, operand(operands, n)?)?.number();
        let (at, given) = (number(at_operand)?, number(at_operand + 1)?);
        let moment = self.moment(thread);
        self.reaches("shared", at, BARRIER)?;
        if at_operand == 0 {
            let is_there = self.proxy.as_ref().is_some_and(|proxy| proxy.barriers.contains_key(&at));
            if is_there || given == 0 {
                return Err("a barrier that is there already, or is for no threads".into());
            }
            self.note_shared(thread, at, BARRIER, true)?;
            let proxy = self.proxy.as_mut().ok_or("no async proxy")?;
            proxy.barriers.insert(at, Barrier { threads: given, missing: given, bytes: 0, over: 0 });
            (at..at + BARRIER).try_for_each(|at| self.memory.fill(at, moment))?;
            return Ok(Next::Following);
        }
        (at..at + BARRIER).try_for_each(|at| self.memory.note(at, Access::Atomic, moment))?;
        let barrier = self.proxy.as_mut().ok_or("no async proxy")?.barrier(at)?;
        if statement.opcode.starts_with("mbarrier.arrive") {
            if !matches!(&operands[0], Operand::Special(name) if name == "_") {
                return Err("no rule for these operands".into());
            }
            barrier.bytes += given;
            barrier.missing -= 1;
            barrier.complete();
            return Ok(Next::Following);
        }
        // The phase of this parity is over if the one that is not has the other.
        if u64::from(barrier.over & 1) == given {
            return Ok(Next::Undecided);
        }
        let before = thread.arrivals.get(&at).copied().unwrap_or_default();
        if barrier.over > before + 1 {
            return Err("a phase is over that the thread has not waited for".into());
        }
        thread.has_tried = !thread.has_tried;
        if !thread.has_tried {
            thread.arrivals.insert(at, barrier.over);
        }
        thread.write(operand(operands, 0)?, Value::Number((!thread.has_tried).into()))?;
        Ok(Next::Following)
    }

    /// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [barrier]`.
    pub(crate) fn copy(&mut self, thread: &Thread, operands: &[Operand]) -> Result<Next, Why> {
        let number = |n: usize| self.value(thread, operand(operands, n)?)?.number();
        let (to, from, bytes, at) = (number(0)?, number(1)?, number(2)?, number(3)?);
        let moment = self.moment(thread);
        for after in (0..bytes).step_by(PIECE as usize) {
            self.reaches("shared", to + after, PIECE)?;
            self.reaches("global", from + after, PIECE)?;
        }
        if bytes == 0 || !bytes.is_multiple_of(PIECE) {
            return Err(format!("a copy of {bytes} bytes"));
        }
        let proxy = self.proxy.as_mut().ok_or("no async proxy")?;
        proxy.are_published(at..at + BARRIER, &moment)?;
        proxy.are_published(to..to + bytes, &moment)?;
        proxy.have_arrived(to..to + bytes, std::slice::from_ref(thread))?;
        let barrier = proxy.barrier(at)?;
        let phase = barrier.over;
        barrier.bytes = barrier.bytes.checked_sub(bytes).ok_or("a copy of bytes that are not expected")?;
        barrier.complete();
        for (to, from) in (to..to + bytes).zip(from..) {
            if self.memory.is_writable(from) {
                return Err("a copy of what the launch may write".into());
            }
            let byte = self.memory.byte(from)?;
            self.memory.fill(to, moment)?;
            self.memory.put(to, [byte]);
            proxy.written.remove(&to);
            proxy.barriers.remove(&(to / BARRIER * BARRIER));
            proxy.copied.insert(to, (at, phase));
        }
        (to..to + bytes).for_each(|to| self.memory.begin_order(to));
        Ok(Next::Following)
    }
}
