// SPDX-License-Identifier: Apache-2.0
//! Times the bricks of an engine: what it computes, by token, layer and brick. A span costs two
//! readings of the clock while something records, and a branch while nothing does.
//!
//! ```no_run
//! let session = brick::Session::record("run.pftrace").unwrap();
//! for _ in 0..8 {
//!     let _step = brick::step(brick::Phase::Decode, 1);
//!     let _span = brick::span(brick::bricks::RMS_NORM);
//!     // the work
//! }
//! session.stop().unwrap();
//! ```
//!
//! Then `brick report run.pftrace`. A program that runs under `brick record` needs no session.
use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

mod ffi;

/// What the library refused, by its own number (a negative errno or a BRICK_E*).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(c_int);

impl Error {
    pub fn code(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the text is a constant of the library
        let text = unsafe { CStr::from_ptr(ffi::brick_strerror(self.0)) };
        f.write_str(&text.to_string_lossy())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "brick::Error({}: {})", self.0, self)
    }
}

impl std::error::Error for Error {}

const EINVAL: c_int = -22;

fn checked(code: c_int) -> Result<u32, Error> {
    u32::try_from(code).map_err(|_| Error(code))
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error(EINVAL))
}

/// A named unit of compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Brick(u32);

impl Brick {
    /// The brick of that name, made if there is none. Its category is Other where it is new.
    pub fn named(name: &str) -> Result<Brick, Error> {
        Brick::in_category(name, "Other")
    }

    /// The same, in a category that is made as well.
    pub fn in_category(name: &str, category: &str) -> Result<Brick, Error> {
        let (name, category) = (c_text(name)?, c_text(category)?);
        let category = checked(unsafe { ffi::brick_category_register(category.as_ptr()) })?;
        checked(unsafe { ffi::brick_register(name.as_ptr(), category) }).map(Brick)
    }

    /// The brick of that name or alias, if there is one.
    pub fn find(name: &str) -> Option<Brick> {
        let name = c_text(name).ok()?;
        checked(unsafe { ffi::brick_lookup(name.as_ptr()) }).ok().map(Brick)
    }

    pub fn id(self) -> u32 {
        self.0
    }

    pub fn name(self) -> String {
        let name = unsafe { ffi::brick_name(self.0) };
        if name.is_null() {
            return String::new();
        }
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// What this process recorded of it so far; an error if it never ran.
    pub fn stats(self) -> Result<Stats, Error> {
        let mut out = ffi::Stats { size: std::mem::size_of::<ffi::Stats>(), ..Default::default() };
        checked(unsafe { ffi::brick_stats_get(self.0, &mut out) })?;
        Ok(Stats {
            count: out.count,
            total_ns: out.total_ns,
            self_ns: out.self_ns,
            wait_ns: out.wait_ns,
            min_ns: out.min_ns,
            max_ns: out.max_ns,
        })
    }

    /// Count an execution that the program timed itself.
    pub fn record_elapsed(self, ns: u64, elements: u64, bytes: u64) {
        unsafe { ffi::brick_record_elapsed(self.0, ns, elements, bytes) }
    }

    /// A value over time, named by the brick.
    pub fn counter(self, value: f64) {
        unsafe { ffi::brick_counter(self.0, value) }
    }
}

/// Exact statistics of a brick. Times in ns; `self_ns` is without nested bricks and waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub count: u64,
    pub total_ns: u64,
    pub self_ns: u64,
    pub wait_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

/// Bricks with numbers of their own (brick/registry.h).
pub mod bricks {
    use super::Brick;

    /// RmsNorm
    pub const RMS_NORM: Brick = Brick(0);
    /// LayerNorm
    pub const LAYER_NORM: Brick = Brick(1);
    /// QkvProjection
    pub const QKV_PROJECTION: Brick = Brick(2);
    /// RopeEmbedding
    pub const ROPE_EMBEDDING: Brick = Brick(3);
    /// AttentionScore
    pub const ATTENTION_SCORE: Brick = Brick(4);
    /// AttentionSoftmax
    pub const ATTENTION_SOFTMAX: Brick = Brick(5);
    /// AttentionOutput
    pub const ATTENTION_OUTPUT: Brick = Brick(6);
    /// OutputProjection
    pub const OUTPUT_PROJECTION: Brick = Brick(7);
    /// GateProjection
    pub const GATE_PROJECTION: Brick = Brick(8);
    /// UpProjection
    pub const UP_PROJECTION: Brick = Brick(9);
    /// Activation
    pub const ACTIVATION: Brick = Brick(10);
    /// DownProjection
    pub const DOWN_PROJECTION: Brick = Brick(11);
    /// Embedding
    pub const EMBEDDING: Brick = Brick(12);
    /// LmHead
    pub const LM_HEAD: Brick = Brick(13);
    /// Sampling
    pub const SAMPLING: Brick = Brick(14);
    /// SpMV
    pub const SPMV: Brick = Brick(15);
    /// SpMM
    pub const SPMM: Brick = Brick(16);
    /// FormatConvert
    pub const FORMAT_CONVERT: Brick = Brick(17);
    /// FFT1D
    pub const FFT_1D: Brick = Brick(18);
    /// FFT2D
    pub const FFT_2D: Brick = Brick(19);
    /// LUFactorize
    pub const LU_FACTORIZE: Brick = Brick(20);
    /// QRFactorize
    pub const QR_FACTORIZE: Brick = Brick(21);
    /// SVDCompute
    pub const SVD_COMPUTE: Brick = Brick(22);
    /// Prefill
    pub const PREFILL: Brick = Brick(23);
    /// Decode
    pub const DECODE: Brick = Brick(24);
    /// BarrierWait
    pub const BARRIER_WAIT: Brick = Brick(25);
    /// GraphBuild
    pub const GRAPH_BUILD: Brick = Brick(26);
    /// GraphAlloc
    pub const GRAPH_ALLOC: Brick = Brick(27);
    /// GraphCompute
    pub const GRAPH_COMPUTE: Brick = Brick(28);
    /// InputCopy
    pub const INPUT_COPY: Brick = Brick(29);
    /// OutputCopy
    pub const OUTPUT_COPY: Brick = Brick(30);
    /// Synchronize
    pub const SYNCHRONIZE: Brick = Brick(31);
    /// TileMacro
    pub const TILE_MACRO: Brick = Brick(32);
    /// TileMidi
    pub const TILE_MIDI: Brick = Brick(33);
    /// TileMicro
    pub const TILE_MICRO: Brick = Brick(34);
    /// Mixed
    pub const MIXED: Brick = Brick(35);
    /// WarmUp
    pub const WARM_UP: Brick = Brick(36);
    /// FlashAttention
    pub const FLASH_ATTENTION: Brick = Brick(37);
    /// KvCacheWrite
    pub const KV_CACHE_WRITE: Brick = Brick(38);
    /// ResidualAdd
    pub const RESIDUAL_ADD: Brick = Brick(39);
    /// ExpertRouter
    pub const EXPERT_ROUTER: Brick = Brick(40);
    /// ExpertCombine
    pub const EXPERT_COMBINE: Brick = Brick(41);
    /// BatchPrepare
    pub const BATCH_PREPARE: Brick = Brick(42);
    /// UbatchProcess
    pub const UBATCH_PROCESS: Brick = Brick(43);
    /// KvCachePrepare
    pub const KV_CACHE_PREPARE: Brick = Brick(44);
    /// GraphPlan
    pub const GRAPH_PLAN: Brick = Brick(45);
}

/// Whether something records.
#[inline]
pub fn enabled() -> bool {
    // The library writes it while others read it: an atomic word.
    let on = unsafe { &*(std::ptr::addr_of!(ffi::brick__on) as *const AtomicU32) };
    on.load(Ordering::Relaxed) != 0
}

/// An open brick. It ends when it is dropped, on the thread that began it.
#[must_use = "a span that is dropped at once times nothing"]
pub struct Span {
    span: u32,
    thread: PhantomData<*const ()>,
}

#[inline]
fn opened(span: u32) -> Span {
    Span { span, thread: PhantomData }
}

/// Begin a brick in this thread's present layer.
#[inline]
pub fn span(brick: Brick) -> Span {
    opened(if enabled() { unsafe { ffi::brick__begin(brick.0) } } else { 0 })
}

/// Begin a brick in a layer; -1 is outside of blocks.
#[inline]
pub fn span_in_layer(brick: Brick, layer: i32) -> Span {
    opened(if enabled() { unsafe { ffi::brick__begin_layer(brick.0, layer) } } else { 0 })
}

impl Span {
    /// End it, and say what it produced, moved and computed.
    #[inline]
    pub fn end_work(mut self, elements: u64, bytes: u64, flops: u64) {
        if self.span != 0 {
            unsafe { ffi::brick__end_work(self.span, elements, bytes, flops) }
        }
        self.span = 0;
    }

    /// End it and begin the brick right behind it, with one reading of the clock for both.
    #[inline]
    pub fn lap(&mut self, next: Brick) {
        if self.span != 0 || enabled() {
            self.span = unsafe { ffi::brick__lap(self.span, next.0) };
        }
    }

    /// The same, and say what the one that ends did.
    #[inline]
    pub fn lap_work(&mut self, elements: u64, bytes: u64, flops: u64, next: Brick) {
        if self.span != 0 || enabled() {
            self.span = unsafe { ffi::brick__lap_work(self.span, elements, bytes, flops, next.0) };
        }
    }

    /// How long ago it began, in ns; 0 while nothing records.
    pub fn elapsed_ns(&self) -> u64 {
        unsafe { ffi::brick_elapsed_ns(self.span) }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if self.span != 0 {
            unsafe { ffi::brick__end(self.span) }
        }
    }
}

/// Work that begins here and may end on another thread, beside others in any order.
#[must_use = "what is never ended is not recorded"]
pub struct AsyncSpan(ffi::Async);

/// Begin it.
pub fn async_span(brick: Brick) -> AsyncSpan {
    AsyncSpan(unsafe { ffi::brick_async_begin(brick.0) })
}

impl AsyncSpan {
    /// End it, on any thread. Returns how long it took, in ns; 0 where nothing was measured.
    pub fn end(self) -> u64 {
        unsafe { ffi::brick_async_end(&self.0, 0) }
    }
}

/// What a step does with its tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Prefill = 0,
    Decode = 1,
    WarmUp = 3,
}

/// One evaluation of so many tokens; it ends when the span is dropped.
pub fn step(phase: Phase, tokens: u64) -> Span {
    opened(unsafe { ffi::brick_step_begin(phase as c_int, tokens) })
}

/// A server's batch: tokens of prompts, and tokens from which new ones are made.
pub fn step_mixed(prompt_tokens: u32, output_tokens: u32) -> Span {
    opened(unsafe { ffi::brick_step_begin_mixed(prompt_tokens, output_tokens) })
}

/// Which of a step's tokens are a sequence's.
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    pub model: u32,
    pub sequence: u32,
    /// Tokens of its prompt, and tokens from which new ones are made.
    pub prompt_tokens: u32,
    pub output_tokens: u32,
    /// Where in the sequence the first of them stands; -1: not known.
    pub position: i32,
}

impl Sequence {
    /// Say it of the step that is open on this thread.
    pub fn tell(self) -> Result<(), Error> {
        let told = ffi::StepSequence {
            size: std::mem::size_of::<ffi::StepSequence>(),
            model: self.model,
            sequence: self.sequence,
            prompt_tokens: self.prompt_tokens,
            output_tokens: self.output_tokens,
            results: self.output_tokens,
            position: self.position,
        };
        checked(unsafe { ffi::brick_step_sequence(&told) }).map(|_| ())
    }
}

/// A request: what its sequence evaluates until it is dropped, on any thread.
#[must_use = "a request that is dropped at once has no tokens"]
pub struct Request {
    model: u32,
    sequence: u32,
}

/// Begin it. `number` is the program's own; 0: it has none.
pub fn request(model: u32, sequence: u32, number: u64) -> Result<Request, Error> {
    let size = std::mem::size_of::<ffi::Request>();
    let begun = ffi::Request { size, model, sequence, number, arrived: 0 };
    checked(unsafe { ffi::brick_request_begin(&begun) })?;
    Ok(Request { model, sequence })
}

impl Drop for Request {
    fn drop(&mut self) {
        unsafe { ffi::brick_request_end(self.model, self.sequence) };
    }
}

/// Layer of the bricks that this thread begins from now on; -1 for none.
pub fn set_layer(layer: i32) {
    unsafe { ffi::brick_layer_set(layer) }
}

/// This thread's name in reports.
pub fn set_thread_name(name: &str) {
    if let Ok(name) = c_text(name) {
        unsafe { ffi::brick_thread_name(name.as_ptr()) }
    }
}

/// Add "key=value" to what the recording says of itself.
pub fn note(key: &str, value: &str) -> Result<(), Error> {
    let (key, value) = (c_text(key)?, c_text(value)?);
    let format = b"%s\0".as_ptr();
    checked(unsafe { ffi::brick_note(key.as_ptr(), format.cast(), value.as_ptr()) }).map(|_| ())
}

/// A recording of this process. It is completed when it is stopped or dropped.
pub struct Session {
    running: bool,
}

impl Session {
    /// Record into a file (a Perfetto trace).
    pub fn record(output: &str) -> Result<Session, Error> {
        let output = c_text(output)?;
        Session::start(output.as_ptr())
    }

    /// Keep statistics only.
    pub fn statistics() -> Result<Session, Error> {
        Session::start(std::ptr::null())
    }

    fn start(output: *const std::os::raw::c_char) -> Result<Session, Error> {
        let options = ffi::SessionOptions {
            size: std::mem::size_of::<ffi::SessionOptions>(),
            output,
            directory: std::ptr::null(),
            mode: 0,
            ring_records: 0,
            interval_ms: 0,
            off_cpu: 0,
        };
        checked(unsafe { ffi::brick_session_start(&options) })?;
        Ok(Session { running: true })
    }

    pub fn pause(&self) {
        unsafe { ffi::brick_pause() }
    }

    pub fn resume(&self) {
        unsafe { ffi::brick_resume() }
    }

    /// Complete the file, and say if that failed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.running = false;
        checked(unsafe { ffi::brick_session_stop() }).map(|_| ())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.running {
            unsafe { ffi::brick_session_stop() };
        }
    }
}

/// `time!("Name")` times the rest of the block as a brick of that name, which is registered once.
/// `time!("Name", expression)` times the expression and yields its value. A brick that cannot be
/// registered (the table is full) is not timed.
#[macro_export]
macro_rules! time {
    ($name:literal) => {
        let _brick_span = $crate::__named_span!($name);
    };
    ($name:literal, $work:expr) => {{
        let _brick_span = $crate::__named_span!($name);
        $work
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __named_span {
    ($name:literal) => {{
        static BRICK: $crate::NamedBrick = $crate::NamedBrick::new($name);
        BRICK.span()
    }};
}

/// A brick that is registered at its first use while something records.
#[doc(hidden)]
pub struct NamedBrick {
    name: &'static str,
    id: AtomicU32,
}

const NOT_YET: u32 = u32::MAX;
const REFUSED: u32 = u32::MAX - 1;

impl NamedBrick {
    pub const fn new(name: &'static str) -> NamedBrick {
        NamedBrick { name, id: AtomicU32::new(NOT_YET) }
    }

    #[inline]
    pub fn span(&self) -> Span {
        if !enabled() {
            return opened(0);
        }
        match self.id.load(Ordering::Relaxed) {
            NOT_YET => self.first_span(),
            REFUSED => opened(0),
            id => opened(unsafe { ffi::brick__begin(id) }),
        }
    }

    #[cold]
    fn first_span(&self) -> Span {
        let id = Brick::named(self.name).map_or(REFUSED, Brick::id);
        self.id.store(id, Ordering::Relaxed);
        self.span()
    }
}
