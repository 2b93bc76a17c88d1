//! Every model in every order of its threads' steps, with at most the number of switches given here away from a thread that could
//! have gone on: without a limit, some take hours. To run one model alone: `cargo test --manifest-path evidence/loom/Cargo.toml --test orders
//! done`; without `--test`, a name makes cargo compile the files' own tests, too, which are not for loom.

use aes_bitslice_loom::models;
use aes_bitslice_loom::sync::start_of_time;

fn all_orders(switches: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        start_of_time();
        model();
    });
}

#[test]
fn queue() {
    all_orders(3, || models::jobs_are_done_once(1, 3));
    all_orders(3, || models::jobs_are_done_once(2, 3));
    all_orders(3, models::a_job_is_done_when_threads_end);
}

#[test]
fn slots() {
    all_orders(3, || models::slots_have_one_user(3, 1));
    all_orders(3, || models::slots_have_one_user(3, 2));
}

#[test]
fn schedule() {
    all_orders(4, || models::chunks_are_taken_once(4));
}

#[test]
fn turns() {
    all_orders(3, || models::turns_come_in_order(3));
    all_orders(4, models::a_cancelled_turn_ends);
}

#[test]
fn done() {
    all_orders(3, || models::done_chunks_are_waited_for(2));
    all_orders(3, || models::done_chunks_are_waited_for(3));
    all_orders(3, models::all_who_wait_for_chunks_are_woken);
    all_orders(4, models::a_cancelled_wait_ends);
}

#[test]
fn submitted_calls() {
    all_orders(3, models::a_submitted_call_is_waited_for);
    all_orders(3, models::a_submitted_call_wakes_its_task);
    all_orders(3, models::a_submitted_call_may_be_dropped);
}
