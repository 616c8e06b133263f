// SPDX-License-Identifier: Apache-2.0
//! The parts of brick/brick.h that the crate calls, as that header declares them.
use std::os::raw::{c_char, c_int};

/// `struct brick_session_options`
#[repr(C)]
pub struct SessionOptions {
    pub size: usize,
    pub output: *const c_char,
    pub directory: *const c_char,
    pub mode: u32,
    pub ring_records: u32,
    pub interval_ms: u32,
    pub off_cpu: u32,
}

/// `struct brick_stats`, as far as the crate reads it; its size says so.
#[repr(C)]
#[derive(Default)]
pub struct Stats {
    pub size: usize,
    pub count: u64,
    pub total_ns: u64,
    pub self_ns: u64,
    pub wait_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

/// `struct brick_async`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Async {
    pub begin: u64,
    pub brick: u32,
    pub layer: i32,
    pub session: u32,
}

/// `struct brick_step_sequence`
#[repr(C)]
pub struct StepSequence {
    pub size: usize,
    pub model: u32,
    pub sequence: u32,
    pub prompt_tokens: u32,
    pub output_tokens: u32,
    pub results: u32,
    pub position: i32,
}

/// `struct brick_request`
#[repr(C)]
pub struct Request {
    pub size: usize,
    pub model: u32,
    pub sequence: u32,
    pub number: u64,
    pub arrived: u64,
}

extern "C" {
    pub static brick__on: u32;
    pub fn brick__begin(brick: u32) -> u32;
    pub fn brick__begin_layer(brick: u32, layer: c_int) -> u32;
    pub fn brick__end(span: u32);
    pub fn brick__end_work(span: u32, elements: u64, bytes: u64, flops: u64);
    pub fn brick__lap(span: u32, next: u32) -> u32;
    pub fn brick__lap_work(span: u32, elements: u64, bytes: u64, flops: u64, next: u32) -> u32;
    pub fn brick_elapsed_ns(span: u32) -> u64;
    pub fn brick_layer_set(layer: c_int);
    pub fn brick_step_begin(phase: c_int, tokens: u64) -> u32;
    pub fn brick_step_begin_mixed(prompt_tokens: u32, output_tokens: u32) -> u32;
    pub fn brick_step_sequence(sequence: *const StepSequence) -> c_int;
    pub fn brick_request_begin(request: *const Request) -> c_int;
    pub fn brick_request_end(model: u32, sequence: u32) -> c_int;
    pub fn brick_record_elapsed(brick: u32, ns: u64, elements: u64, bytes: u64);
    pub fn brick_async_begin(brick: u32) -> Async;
    pub fn brick_async_end(span: *const Async, elements: u64) -> u64;
    pub fn brick_counter(brick: u32, value: f64);
    pub fn brick_thread_name(name: *const c_char);
    pub fn brick_register(name: *const c_char, category: u32) -> c_int;
    pub fn brick_category_register(name: *const c_char) -> c_int;
    pub fn brick_lookup(name: *const c_char) -> c_int;
    pub fn brick_name(brick: u32) -> *const c_char;
    pub fn brick_session_start(options: *const SessionOptions) -> c_int;
    pub fn brick_session_stop() -> c_int;
    pub fn brick_pause();
    pub fn brick_resume();
    pub fn brick_note(key: *const c_char, format: *const c_char, ...) -> c_int;
    pub fn brick_stats_get(brick: u32, out: *mut Stats) -> c_int;
    pub fn brick_strerror(code: c_int) -> *const c_char;
}
