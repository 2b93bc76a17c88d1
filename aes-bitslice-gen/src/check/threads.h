// ---------------------------------------------------------------------------------------------------------------
// The common parts of programs that run a kernel above on a CPU: data with margins, and the threads of a thread block.
// ---------------------------------------------------------------------------------------------------------------

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static int get(void *to, u64 bytes) { return fread(to, 1, bytes, stdin) == bytes; }

// Data with room on both sides that must not change.
#define MARGIN 64
typedef struct { u8 *start, *data, *end; } buffer;

static u8 margin_byte(u64 i) { return (u8)(0xa5 + 29 * i); }

static buffer new_buffer(u64 length, u64 offset) {
    const u64 size = MARGIN + offset + length + MARGIN;
    buffer b;
    b.start = malloc(size); // aligned for every type, so to 16 bytes
    if (!b.start || (size_t)b.start % 16) exit(3);
    b.data = b.start + MARGIN + offset;
    b.end = b.start + size;
    for (u64 i = 0; i < size; i++) b.start[i] = margin_byte(i);
    return b;
}

static int margins_changed(buffer b, u64 length) {
    for (u8 *p = b.start; p < b.end; p++) {
        if (p == b.data) p += length;
        if (*p != margin_byte((u64)(p - b.start))) return 1;
    }
    return 0;
}

// The threads of a thread block take turns: one runs until it has to wait for others. All threads of a group, a warp or the thread block,
// must reach a barrier or shuffle the same number of times, and no thread may leave while its neighbours wait for it.
//
// A thread starts on its stack once, with setcontext, and runs again for the next thread block. All other switches are jumps: swapcontext
// calls the operating system for the signal mask every time. The compiler's own jumps save the frame, the stack and where to go on, and no
// other register. So a function may have one of the two, not both, and `noipa` keeps callers from relying on registers that such a function
// seems not to use.
#if defined __x86_64__ && !defined __clang__
typedef void *resumption[5];
#define resumes __builtin_setjmp
#define jump(to) __builtin_longjmp(to, 1)
#else
#include <setjmp.h>
typedef jmp_buf resumption;
#define resumes setjmp
#define jump(to) longjmp(to, 1)
#endif
#define STACK (256 << 10)
typedef struct { resumption at; u32 arrived[2]; u32 turn; int has_begun, done; u32 shuffled[2]; char *stack; } cpu_thread;
static cpu_thread threads[THREADS];
static resumption scheduler;
static int last_warp_first; // changes from launch to launch
static void (*body)(void);

__attribute__((noipa)) static void go_to(resumption to) { jump(to); }

__attribute__((noipa)) static void take_turns(void) {
    if (!resumes(threads[threadIdx.x].at)) go_to(scheduler);
}

static void meet(u32 neighbours) {
    const int kind = neighbours == 32;
    const u32 first = threadIdx.x / neighbours * neighbours, here = ++threads[threadIdx.x].arrived[kind];
    for (u32 i = first; i < first + neighbours; i++)
        while ((int)(threads[i].arrived[kind] - here) < 0) take_turns();
}

static u32 from_lane(u32 value, u32 thread) {
    cpu_thread *const self = &threads[threadIdx.x];
    const u32 turn = self->turn++ & 1; // not all may have read the slot of the previous shuffle
    self->shuffled[turn] = value;
    meet(32);
    return threads[thread].shuffled[turn];
}

static void run_bodies(void) {
    for (;;) {
        body();
        threads[threadIdx.x].done = 1;
        take_turns();
    }
}

// Runs a thread until it waits or is done.
__attribute__((noipa)) static void run_thread(cpu_thread *t) {
    if (resumes(scheduler)) return;
    if (t->has_begun) go_to(t->at);
    ucontext_t begin;
    if (!t->stack && !(t->stack = malloc(STACK))) exit(3);
    getcontext(&begin);
    begin.uc_stack.ss_sp = t->stack;
    begin.uc_stack.ss_size = STACK;
    makecontext(&begin, run_bodies, 0);
    t->has_begun = 1;
    setcontext(&begin);
}

// Lets the threads of a warp take turns until none of them advances; returns whether any did.
static int run_warp(u32 first) {
    int advanced = 0, again;
    do {
        again = 0;
        for (u32 i = first; i < first + 32; i++) {
            cpu_thread *const t = &threads[i];
            if (t->done) continue;
            const u32 before = t->arrived[0] + t->arrived[1];
            threadIdx.x = i;
            run_thread(t);
            again |= t->done || t->arrived[0] + t->arrived[1] != before;
        }
        advanced |= again;
    } while (again);
    return advanced;
}

// Runs all threads of the thread block; returns 0 if some wait for a thread that has left.
static int run_thread_block(void) {
    for (u32 i = 0; i < blockDim.x; i++) {
        cpu_thread *const t = &threads[i];
        // One that still waits for others, from the previous thread block, begins anew.
        t->has_begun &= t->done;
        t->arrived[0] = t->arrived[1] = t->turn = 0;
        t->done = 0;
    }
    // Runs each warp as far as it gets, one after the other, in either order: code that relies on a missing barrier finds what another warp
    // has not written yet, or has already overwritten.
    int advanced;
    do {
        advanced = 0;
        for (u32 n = 0; n < blockDim.x / 32; n++)
            advanced |= run_warp(32 * (last_warp_first ? blockDim.x / 32 - 1 - n : n));
    } while (advanced);
    for (u32 i = 0; i < blockDim.x; i++)
        if (!threads[i].done) return 0;
    return 1;
}
