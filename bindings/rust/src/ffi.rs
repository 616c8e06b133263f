// SPDX-License-Identifier: Apache-2.0
//! The parts of brick/brick.h and of brick/report.h, graph.h, graph_path.h that the crate calls, as
//! those headers declare them.
use std::os::raw::{c_char, c_int, c_void};

/// Structs that begin with their size: `sized()` makes one that is zero else.
macro_rules! sized {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $kind:ty,)* })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name { pub size: usize, $(pub $field: $kind,)* }
        impl $name {
            pub fn sized() -> Self {
                // numbers and pointers only: all zero is a value
                Self { size: std::mem::size_of::<Self>(), ..unsafe { std::mem::zeroed() } }
            }
        }
    )* };
}

sized! {
    /// `struct brick_session_options`
    struct SessionOptions {
        output: *const c_char, directory: *const c_char, mode: u32, ring_records: u32,
        interval_ms: u32, off_cpu: u32, slow: *const c_char, slow_bytes: u64, slow_per_hour: u32,
        slow_only: u32,
    }
    /// `struct brick_stats`
    struct Stats {
        count: u64, total_ns: u64, self_ns: u64, wait_ns: u64, min_ns: u64, max_ns: u64,
        p50_ns: u64, p95_ns: u64, p99_ns: u64, mean_ns: f64, stddev_ns: f64,
        elements: u64, bytes: u64, bytes_out: u64, flops: u64, share: f64,
    }
    /// `struct brick_losses`
    struct Losses {
        dropped: u64, unmatched: u64, clamped: u64, unsupported: u64, open: u64,
    }
    /// `struct brick_step_sequence`
    struct StepSequence {
        model: u32, sequence: u32, prompt_tokens: u32, output_tokens: u32, results: u32,
        position: i32,
    }
    /// `struct brick_request`
    struct Request {
        model: u32, sequence: u32, number: u64, arrived: u64,
    }
    /// `struct brick_site`
    struct Site {
        brick: u32, layer: i32, flags: u32, reserved: u32, elements: u64, bytes: u64, flops: u64,
        operation: *const c_char, label: *const c_char,
    }
    /// `struct brick_backend_options`
    struct BackendOptions {
        native: [*mut c_void; 4], pairs: u32, reserved: u32,
    }
    /// `struct brick_queue_options`
    struct QueueOptions {
        name: *const c_char, backend: *const c_char, flags: u32, reserved: u32,
    }
    /// `struct brick_tensor`
    struct Tensor {
        data: *const c_void, dtype: u32, flags: u32, ne: [u64; 4], nb: [u64; 4],
        label: *const c_char, output: u64, inputs: [u64; 4],
    }
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

/// `struct brick_clock`
#[repr(C)]
pub struct Clock {
    pub source: u32,
    pub shift: u32,
    pub mult: u64,
    pub base_ticks: u64,
    pub base_ns: u64,
    pub frequency: u64,
    pub residual_ns: u32,
    pub step_ticks: u32,
}

/// `struct brick_pass`
#[repr(C)]
pub struct Pass {
    pub name: *const c_char,
    pub begin_ns: u64,
    pub end_ns: u64,
}

/// `struct brick_tile`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tile {
    pub span: u32,
    pub row: u32,
    pub column: u32,
}

/// `struct brick_digest`
#[repr(C)]
pub struct Digest {
    pub dtype: u32,
    pub flags: u32,
    pub ne: [u64; 4],
    pub nan_count: u64,
    pub plus_infinite_count: u64,
    pub minus_infinite_count: u64,
    pub nonfinite: u64,
    pub min: f64,
    pub max: f64,
    pub sum: f64,
    pub square_sum: f64,
    pub fnv64: u64,
    pub sketch: [f64; 256],
}

extern "C" {
    pub static brick__on: u32;
    pub static brick__tiles_on: u32;
    pub fn brick__begin(brick: u32) -> u32;
    pub fn brick__begin_layer(brick: u32, layer: c_int) -> u32;
    pub fn brick__end(span: u32);
    pub fn brick__end_elements(span: u32, elements: u64);
    pub fn brick__end_work(span: u32, elements: u64, bytes: u64, flops: u64);
    pub fn brick__end_traffic(span: u32, elements: u64, bytes_in: u64, bytes_out: u64, flops: u64);
    pub fn brick__end_site(span: u32, site: u32);
    pub fn brick__lap(span: u32, next: u32) -> u32;
    pub fn brick__lap_work(span: u32, elements: u64, bytes: u64, flops: u64, next: u32) -> u32;
    pub fn brick__tile_begin(level: c_int, row: u32, column: u32) -> Tile;
    pub fn brick__tile_end(tile: *const Tile, elements: u64, bytes: u64, flops: u64);
    pub fn brick_async_begin(brick: u32) -> Async;
    pub fn brick_async_end(span: *const Async, elements: u64) -> u64;
    pub fn brick_async_end_as(
        span: *const Async,
        name: *const c_char,
        category: u32,
        track: *const c_char,
        elements: u64,
    ) -> u64;
    pub fn brick_backend_at(index: u32) -> *const c_void;
    pub fn brick_backend_find(name: *const c_char) -> *const c_void;
    pub fn brick_category_count() -> u32;
    pub fn brick_category_name(category: u32) -> *const c_char;
    pub fn brick_category_of(brick: u32) -> u32;
    pub fn brick_category_register(name: *const c_char) -> c_int;
    pub fn brick_category_stats_get(category: u32, out: *mut Stats) -> c_int;
    pub fn brick_clock_get() -> *const Clock;
    pub fn brick_code_hash(text: *const c_void, bytes: usize) -> u64;
    pub fn brick_code_register(
        source: *const c_char,
        bytes: usize,
        name: *const c_char,
        path: *const c_char,
    ) -> u64;
    pub fn brick_count() -> u32;
    pub fn brick_counter(brick: u32, value: f64);
    pub fn brick_cpu_isa() -> *const c_char;
    pub fn brick_device_begin(
        device: *mut c_void,
        queue: *mut c_void,
        brick: u32,
        layer: c_int,
    ) -> u64;
    pub fn brick_device_close(device: *mut c_void);
    pub fn brick_device_drain(device: *mut c_void) -> c_int;
    pub fn brick_device_end(
        device: *mut c_void,
        queue: *mut c_void,
        span: u64,
        elements: u64,
        bytes: u64,
        flops: u64,
    );
    pub fn brick_device_finish(device: *mut c_void) -> c_int;
    pub fn brick_device_layer_end(device: *mut c_void, queue: *mut c_void) -> c_int;
    pub fn brick_device_mode_get(device: *mut c_void) -> c_int;
    pub fn brick_device_mode_set(device: *mut c_void, mode: c_int) -> c_int;
    pub fn brick_device_open(
        out: *mut *mut c_void,
        backend: *const c_void,
        options: *const BackendOptions,
        reason: *mut c_char,
        reason_bytes: usize,
    ) -> c_int;
    pub fn brick_device_pending(device: *const c_void) -> u64;
    pub fn brick_device_stats_get(brick: u32, out: *mut Stats) -> c_int;
    pub fn brick_digest(brick: u32, layer: c_int, tensor: *const Tensor) -> c_int;
    pub fn brick_digest_compute(out: *mut Digest, tensor: *const Tensor) -> c_int;
    pub fn brick_digest_error(x: *const Digest, y: *const Digest) -> f64;
    pub fn brick_digest_fnv64(values: *const f32, count: usize) -> u64;
    pub fn brick_digests_set(on: c_int);
    pub fn brick_elapsed_ns(span: u32) -> u64;
    pub fn brick_end_ns(span: u32, elements: u64) -> u64;
    pub fn brick_epoch_begin() -> c_int;
    pub fn brick_epoch_ns() -> u64;
    pub fn brick_instant(brick: u32);
    pub fn brick_l2_hit_rate_get(share: *mut f64) -> c_int;
    pub fn brick_l2_hit_rate_set(share: f64) -> c_int;
    pub fn brick_layer_set(layer: c_int) -> c_int;
    pub fn brick_lookup(name: *const c_char) -> c_int;
    pub fn brick_losses_get(out: *mut Losses) -> c_int;
    pub fn brick_mode_get() -> c_int;
    pub fn brick_mode_set(mode: c_int) -> c_int;
    pub fn brick_name(brick: u32) -> *const c_char;
    pub fn brick_note(key: *const c_char, format: *const c_char, ...) -> c_int;
    pub fn brick_note_get(key: *const c_char, value: *mut c_char, bytes: usize) -> c_int;
    pub fn brick_pause();
    pub fn brick_queue_create(out: *mut *mut c_void, options: *const QueueOptions) -> c_int;
    pub fn brick_queue_destroy(queue: *mut c_void);
    pub fn brick_queue_passes(queue: *mut c_void, passes: *const Pass, count: u32) -> c_int;
    pub fn brick_record_deferred(brick: u32, begin: u64, elements: u64) -> c_int;
    pub fn brick_record_elapsed(brick: u32, ns: u64, elements: u64, bytes: u64);
    pub fn brick_register(name: *const c_char, category: u32) -> c_int;
    pub fn brick_request_begin(request: *const Request) -> c_int;
    pub fn brick_request_end(model: u32, sequence: u32) -> c_int;
    pub fn brick_reset() -> c_int;
    pub fn brick_resume();
    pub fn brick_session_create(out: *mut *mut c_void, options: *const SessionOptions) -> c_int;
    pub fn brick_session_destroy(session: *mut c_void) -> c_int;
    pub fn brick_session_graph_get() -> c_int;
    pub fn brick_session_graph_set(is_on: c_int) -> c_int;
    pub fn brick_session_start(options: *const SessionOptions) -> c_int;
    pub fn brick_session_stop() -> c_int;
    pub fn brick_session_use(session: *mut c_void) -> *mut c_void;
    pub fn brick_site_register(site: *const Site) -> c_int;
    pub fn brick_stats_add(brick: u32, more: *const Stats) -> c_int;
    pub fn brick_stats_get(brick: u32, out: *mut Stats) -> c_int;
    pub fn brick_step_begin(phase: c_int, tokens: u64) -> u32;
    pub fn brick_step_begin_mixed(prompt_tokens: u32, output_tokens: u32) -> u32;
    pub fn brick_step_sequence(sequence: *const StepSequence) -> c_int;
    pub fn brick_strerror(code: c_int) -> *const c_char;
    pub fn brick_thread_name(name: *const c_char);
    pub fn brick_ticks() -> u64;
    pub fn brick_tile_stats_get(level: c_int, out: *mut Stats) -> c_int;
    pub fn brick_tiles_set(levels: u32);
    pub fn brick_timer_create(out: *mut *mut c_void, device: *mut c_void) -> c_int;
    pub fn brick_timer_destroy(timer: *mut c_void);
    pub fn brick_timer_elapsed_ns(timer: *mut c_void, ns: *mut u64) -> c_int;
    pub fn brick_timer_start(timer: *mut c_void, queue: *mut c_void) -> c_int;
    pub fn brick_timer_stop(timer: *mut c_void, queue: *mut c_void) -> c_int;
    pub fn brick_version() -> *const c_char;
    pub fn brick_zero_copy_get() -> c_int;
    pub fn brick_zero_copy_set(is_used: c_int) -> c_int;
}

#[cfg(feature = "report")]
pub use self::with_report::*;

#[cfg(feature = "report")]
mod with_report {
    use super::*;

    sized! {
        /// `struct brick_report_options`
        struct ReportOptions {
            by: u32, rows: u32, file: *const c_char, columns: *const c_char,
        }
        /// `struct brick_summary`
        struct Summary {
            wall_ns: u64, first_token_ns: u64, prefill_steps: u64, prefill_tokens: u64,
            decode_steps: u64, decode_tokens: u64, prefill_tokens_per_s: f64,
            decode_tokens_per_s: f64, executions: u64, elements: u64, bytes: u64, flops: u64,
            elements_per_s: f64, coverage: f64, cost_low: f64, cost_high: f64, device_ns: u64,
            lost: u64, open: u64, bricks_ns: u64, elements_per_brick_s: f64,
        }
        /// `struct brick_graph_node`
        struct GraphNode {
            kind: u32, flags: u32, name: *const c_char, label: *const c_char, begin_ns: u64,
            time_ns: u64, wait_ns: u64, elements: u64, bytes: u64, lane: u32, layer: i32,
            detail: GraphDetail,
        }
        /// `struct brick_graph_code`
        struct GraphCode {
            hash: u64, name: *const c_char, source: *const c_char, path: *const c_char,
        }
        /// `struct brick_graph_path`
        struct GraphPath {
            length_ns: u64, nodes: *const u32, count: usize,
        }
        /// `struct brick_graph_times`
        struct GraphTimes {
            begin_ns: u64, end_ns: u64, own_ns: u64, slack_ns: u64,
        }
        /// `struct brick_graph_distance`
        struct GraphDistance {
            node: u32, distance: f64,
        }
        /// `struct brick_peak`
        struct Peak {
            flops: f64, bandwidth: f64, flops_per_cycle: f64,
        }
        /// `struct brick_graph_ping_pong`
        struct GraphPingPong {
            there: u32, back: u32, bytes: u64, time_ns: u64,
        }
    }

    /// The union at the end of `struct brick_graph_node`
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub union GraphDetail {
        pub kernel: GraphKernel,
        pub transfer: GraphTransfer,
        pub function: GraphFunction,
        pub task: GraphTask,
        pub reserved: [u64; 12],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct GraphKernel {
        pub code: u64,
        pub grid: [u32; 3],
        pub block: [u32; 3],
        pub shared_bytes: u64,
        pub intensity: f64,
        pub tflops: f64,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct GraphTransfer {
        pub source: *const c_char,
        pub target: *const c_char,
        pub direction: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct GraphFunction {
        pub file: *const c_char,
        pub line: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct GraphTask {
        pub polls: u64,
        pub yields: u64,
        pub poll_ns: u64,
    }

    pub type GraphWrite = unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_int;

    extern "C" {
        pub fn brick_graph_add(graph: *mut c_void, node: *const GraphNode) -> c_int;
        pub fn brick_graph_clear(graph: *mut c_void);
        pub fn brick_graph_code_add(graph: *mut c_void, code: *mut GraphCode) -> c_int;
        pub fn brick_graph_code_get(graph: *const c_void, hash: u64, out: *mut GraphCode) -> c_int;
        pub fn brick_graph_connect(
            graph: *mut c_void,
            from: u32,
            to: u32,
            kind: c_int,
            weight: f64,
        ) -> c_int;
        pub fn brick_graph_create(out: *mut *mut c_void) -> c_int;
        pub fn brick_graph_critical_path(graph: *mut c_void, out: *mut GraphPath) -> c_int;
        pub fn brick_graph_cycle(graph: *mut c_void, nodes: *mut *const u32) -> c_int;
        pub fn brick_graph_destroy(graph: *mut c_void);
        pub fn brick_graph_edge_count(graph: *const c_void) -> usize;
        pub fn brick_graph_enter(graph: *mut c_void, node: *const GraphNode) -> c_int;
        pub fn brick_graph_find(graph: *const c_void, name: *const c_char) -> c_int;
        pub fn brick_graph_is_balanced(graph: *const c_void) -> c_int;
        pub fn brick_graph_node_count(graph: *const c_void) -> usize;
        pub fn brick_graph_node_get(graph: *const c_void, id: u32, out: *mut GraphNode) -> c_int;
        pub fn brick_graph_of_kind(
            graph: *const c_void,
            kind: c_int,
            nodes: *mut *const u32,
        ) -> c_int;
        pub fn brick_graph_of_session(out: *mut *mut c_void, samples: u32) -> c_int;
        pub fn brick_graph_path_print(graph: *mut c_void, rows: usize, out: *mut c_void) -> c_int;
        pub fn brick_graph_ping_pongs(
            graph: *mut c_void,
            out: *mut GraphPingPong,
            capacity: usize,
        ) -> c_int;
        pub fn brick_graph_pop(graph: *mut c_void) -> c_int;
        pub fn brick_graph_push(graph: *mut c_void, node: u32) -> c_int;
        pub fn brick_graph_roofline(
            graph: *mut c_void,
            peak: f64,
            bandwidth: f64,
            out: *mut GraphDistance,
            capacity: usize,
        ) -> c_int;
        pub fn brick_graph_save(graph: *mut c_void, format: c_int, path: *const c_char) -> c_int;
        pub fn brick_graph_slowest_kernel(graph: *const c_void) -> c_int;
        pub fn brick_graph_times_get(graph: *mut c_void, node: u32, out: *mut GraphTimes) -> c_int;
        pub fn brick_graph_what_if(
            graph: *mut c_void,
            name: *const c_char,
            factor: f64,
            length_ns: *mut u64,
        ) -> c_int;
        pub fn brick_graph_write(
            graph: *mut c_void,
            format: c_int,
            write: GraphWrite,
            context: *mut c_void,
        ) -> c_int;
        pub fn brick_report_write(
            out: *mut c_void,
            format: c_int,
            options: *const ReportOptions,
        ) -> c_int;
        pub fn brick_peak_nominal(name: *const c_char, out: *mut Peak) -> c_int;
        pub fn brick_roofline_distance(
            achieved: f64,
            peak: f64,
            intensity: f64,
            bandwidth: f64,
        ) -> f64;
        pub fn brick_summary(out: *mut Summary) -> c_int;
        // of the C library
        pub fn open_memstream(text: *mut *mut c_char, bytes: *mut usize) -> *mut c_void;
        pub fn fclose(file: *mut c_void) -> c_int;
        pub fn free(memory: *mut c_void);
    }
}
