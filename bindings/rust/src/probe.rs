// SPDX-License-Identifier: Apache-2.0
//! Spans, steps and what lies in no thread's stack.
use crate::{c_text, done, ffi, or_null, Brick, Category, Error, Site};
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// Begin a brick in this thread's present layer. Where a flag decides: `on.then(|| span(brick))`.
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
    #[inline]
    fn take(mut self) -> Option<u32> {
        let span = std::mem::take(&mut self.span);
        (span != 0).then_some(span)
    }

    /// End it, and say how many elements it produced.
    #[inline]
    pub fn end_elements(self, elements: u64) {
        if let Some(span) = self.take() {
            unsafe { ffi::brick__end_elements(span, elements) }
        }
    }

    /// End it, and say what it produced, moved and computed.
    #[inline]
    pub fn end_work(self, elements: u64, bytes: u64, flops: u64) {
        if let Some(span) = self.take() {
            unsafe { ffi::brick__end_work(span, elements, bytes, flops) }
        }
    }

    /// The same with bytes read and bytes written apart.
    #[inline]
    pub fn end_traffic(self, elements: u64, bytes_in: u64, bytes_out: u64, flops: u64) {
        if let Some(span) = self.take() {
            unsafe { ffi::brick__end_traffic(span, elements, bytes_in, bytes_out, flops) }
        }
    }

    /// End an execution of a site, whose layer and work it has.
    #[inline]
    pub fn end_site(self, site: Site) {
        if let Some(span) = self.take() {
            unsafe { ffi::brick__end_site(span, site.0) }
        }
    }

    /// End it, and say how many elements it produced (0: not known). Returns how long it took, in
    /// ns; 0 where nothing was measured.
    pub fn end_ns(self, elements: u64) -> u64 {
        self.take().map_or(0, |span| unsafe { ffi::brick_end_ns(span, elements) })
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
        self.end_elements(0)
    }

    /// The same, and say how many elements it produced.
    pub fn end_elements(self, elements: u64) -> u64 {
        unsafe { ffi::brick_async_end(&self.0, elements) }
    }

    /// The same under a name that is known only now: an execution of that brick, which is made in
    /// that category if there is none. `track` names the lane that shows it.
    pub fn end_as(
        self,
        name: &str,
        category: &str,
        track: Option<&str>,
        elements: u64,
    ) -> Result<u64, Error> {
        let (name, track) = (c_text(name)?, track.map(c_text).transpose()?);
        let (category, track) = (Category::named(category)?.id(), or_null(&track));
        let name = name.as_ptr();
        Ok(unsafe { ffi::brick_async_end_as(&self.0, name, category, track, elements) })
    }
}

/// What a step does with its tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Prefill = 0,
    Decode = 1,
    WarmUp = 3,
    /// None of these, or not known: a step of training, of a solver.
    Other = 4,
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
    /// Of how many of these tokens results are wanted: 1 where a prompt ends, as the first new
    /// token comes from there.
    pub results: u32,
    /// Where in the sequence the first of them stands; -1: not known.
    pub position: i32,
}

impl Sequence {
    /// The last or only part of a prompt: it makes the first new token.
    pub fn prompt(sequence: u32, tokens: u32) -> Sequence {
        Sequence { results: 1, ..Sequence::prompt_part(sequence, tokens) }
    }

    /// A part of a prompt behind which more of it comes.
    pub fn prompt_part(sequence: u32, tokens: u32) -> Sequence {
        Sequence {
            model: 0,
            sequence,
            prompt_tokens: tokens,
            output_tokens: 0,
            results: 0,
            position: -1,
        }
    }

    /// A token from which a new one is made, or several with drafts.
    pub fn output(sequence: u32, tokens: u32) -> Sequence {
        let none = Sequence::prompt_part(sequence, 0);
        Sequence { output_tokens: tokens, results: tokens, ..none }
    }

    /// Say where in the sequence the first token stands.
    pub fn at(self, position: i32) -> Sequence {
        Sequence { position, ..self }
    }

    /// Say it of the step that is open on this thread.
    pub fn tell(self) -> Result<(), Error> {
        let told = ffi::StepSequence {
            model: self.model,
            sequence: self.sequence,
            prompt_tokens: self.prompt_tokens,
            output_tokens: self.output_tokens,
            results: self.results,
            position: self.position,
            ..ffi::StepSequence::sized()
        };
        done(unsafe { ffi::brick_step_sequence(&told) })
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
    request_arrived(model, sequence, number, 0)
}

/// The same of a request that came earlier, by [`ticks`](crate::ticks).
pub fn request_arrived(
    model: u32,
    sequence: u32,
    number: u64,
    arrived: u64,
) -> Result<Request, Error> {
    let begun = ffi::Request { model, sequence, number, arrived, ..ffi::Request::sized() };
    done(unsafe { ffi::brick_request_begin(&begun) })?;
    Ok(Request { model, sequence })
}

impl Drop for Request {
    fn drop(&mut self) {
        unsafe { ffi::brick_request_end(self.model, self.sequence) };
    }
}

/// Layer of the bricks that this thread begins from now on; -1 for none. Returns the layer until
/// now.
pub fn set_layer(layer: i32) -> i32 {
    unsafe { ffi::brick_layer_set(layer) }
}

/// A layer that holds until it is dropped; then the one around it holds again.
#[must_use = "a layer that is dropped at once holds for nothing"]
pub struct Layer {
    before: i32,
    thread: PhantomData<*const ()>,
}

/// The bricks that this thread begins from now on are in that layer.
pub fn layer(layer: i32) -> Layer {
    Layer { before: set_layer(layer), thread: PhantomData }
}

impl Drop for Layer {
    fn drop(&mut self) {
        set_layer(self.before);
    }
}

/// This thread's name in reports.
pub fn set_thread_name(name: &str) {
    if let Ok(name) = c_text(name) {
        unsafe { ffi::brick_thread_name(name.as_ptr()) }
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

/// `instant!("checkpoint saved")` is a point in time of that name.
#[macro_export]
macro_rules! instant {
    ($name:literal) => {{
        static BRICK: $crate::NamedBrick = $crate::NamedBrick::new($name);
        if let Some(brick) = BRICK.get() {
            brick.instant();
        }
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
        self.get().map_or(opened(0), span)
    }

    /// None while nothing records, and where it cannot be registered.
    #[inline]
    pub fn get(&self) -> Option<Brick> {
        if !enabled() {
            return None;
        }
        match self.id.load(Ordering::Relaxed) {
            NOT_YET => self.register(),
            REFUSED => None,
            id => Some(Brick(id)),
        }
    }

    #[cold]
    fn register(&self) -> Option<Brick> {
        let brick = Brick::of_process(self.name, "Other").ok();
        self.id.store(brick.map_or(REFUSED, Brick::id), Ordering::Relaxed);
        brick
    }
}
