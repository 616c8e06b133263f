// SPDX-License-Identifier: Apache-2.0
//! Names of bricks, categories and sites, and what was recorded of them.
use crate::{c_text, checked, done, ffi, or_null, text_of, Error};
use std::os::raw::c_int;

/// A named unit of compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Brick(pub(crate) u32);

impl Brick {
    /// The brick of that name, made if there is none. Its category is Other where it is new.
    pub fn named(name: &str) -> Result<Brick, Error> {
        Category::OTHER.brick(name)
    }

    /// The same, in a category that is made as well.
    pub fn in_category(name: &str, category: &str) -> Result<Brick, Error> {
        Category::named(category)?.brick(name)
    }

    /// The same in the process's own registry, whatever session the thread is in: its number is
    /// valid in all sessions, so it may be kept.
    pub fn of_process(name: &str, category: &str) -> Result<Brick, Error> {
        let before = unsafe { ffi::brick_session_use(std::ptr::null_mut()) };
        let brick = Brick::in_category(name, category);
        unsafe { ffi::brick_session_use(before) };
        brick
    }

    /// The brick of that name or alias, if there is one.
    pub fn find(name: &str) -> Option<Brick> {
        let name = c_text(name).ok()?;
        checked(unsafe { ffi::brick_lookup(name.as_ptr()) }).ok().map(Brick)
    }

    /// All there are.
    pub fn all() -> impl Iterator<Item = Brick> {
        (0..unsafe { ffi::brick_count() }).map(Brick)
    }

    pub fn id(self) -> u32 {
        self.0
    }

    pub fn name(self) -> String {
        text_of(unsafe { ffi::brick_name(self.0) })
    }

    pub fn category(self) -> Category {
        Category(unsafe { ffi::brick_category_of(self.0) })
    }

    /// What this process recorded of it on threads so far; an error if it never ran there.
    pub fn stats(self) -> Result<Stats, Error> {
        Stats::from(|out| unsafe { ffi::brick_stats_get(self.0, out) })
    }

    /// The same on queues of devices.
    pub fn device_stats(self) -> Result<Stats, Error> {
        Stats::from(|out| unsafe { ffi::brick_device_stats_get(self.0, out) })
    }

    /// Add numbers that were measured elsewhere; those that are times of single executions are in no
    /// histogram.
    pub fn add_stats(self, more: &Stats) -> Result<(), Error> {
        done(unsafe { ffi::brick_stats_add(self.0, &more.to_c()) })
    }

    /// Count an execution that the program timed itself.
    pub fn record_elapsed(self, ns: u64, elements: u64, bytes: u64) {
        unsafe { ffi::brick_record_elapsed(self.0, ns, elements, bytes) }
    }

    /// Record an execution from `begin` (of [`ticks`](crate::ticks)) until now, on the lane
    /// "Asynchronous".
    pub fn record_deferred(self, begin: u64, elements: u64) -> Result<(), Error> {
        done(unsafe { ffi::brick_record_deferred(self.0, begin, elements) })
    }

    /// A point in time, named by the brick.
    pub fn instant(self) {
        unsafe { ffi::brick_instant(self.0) }
    }

    /// A value over time, named by the brick.
    pub fn counter(self, value: f64) {
        unsafe { ffi::brick_counter(self.0, value) }
    }
}

/// What bricks are summed up by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Category(u32);

impl Category {
    pub const NORM: Category = Category(0);
    pub const ATTENTION: Category = Category(1);
    pub const FFN: Category = Category(2);
    pub const OTHER: Category = Category(3);
    pub const SPARSE: Category = Category(4);
    pub const FFT: Category = Category(5);
    pub const SOLVER: Category = Category(6);
    /// Phases of a step outside of its bricks.
    pub const ENGINE: Category = Category(7);
    /// Barriers and synchronisation.
    pub const WAIT: Category = Category(8);
    /// The steps themselves.
    pub const STEP: Category = Category(9);
    pub const TILE: Category = Category(10);

    /// The category of that name, made if there is none.
    pub fn named(name: &str) -> Result<Category, Error> {
        let name = c_text(name)?;
        checked(unsafe { ffi::brick_category_register(name.as_ptr()) }).map(Category)
    }

    /// All there are.
    pub fn all() -> impl Iterator<Item = Category> {
        (0..unsafe { ffi::brick_category_count() }).map(Category)
    }

    /// The brick of that name; where it is new, in this category.
    pub fn brick(self, name: &str) -> Result<Brick, Error> {
        let name = c_text(name)?;
        checked(unsafe { ffi::brick_register(name.as_ptr(), self.0) }).map(Brick)
    }

    pub fn id(self) -> u32 {
        self.0
    }

    pub fn name(self) -> String {
        text_of(unsafe { ffi::brick_category_name(self.0) })
    }

    /// The sums of its bricks: `total_ns` is the sum of their own times.
    pub fn stats(self) -> Result<Stats, Error> {
        Stats::from(|out| unsafe { ffi::brick_category_stats_get(self.0, out) })
    }
}

/// Exact statistics. Times in ns; what was never said, or is not known, is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    pub count: u64,
    /// Recursion counts once.
    pub total_ns: u64,
    /// Without nested bricks and waits.
    pub self_ns: u64,
    pub wait_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub mean_ns: f64,
    pub stddev_ns: f64,
    pub elements: u64,
    pub bytes: u64,
    pub bytes_out: u64,
    pub flops: u64,
    /// `self_ns` as a part of all bricks', 0 to 1.
    pub share: f64,
}

impl Stats {
    pub(crate) fn from(get: impl FnOnce(*mut ffi::Stats) -> c_int) -> Result<Stats, Error> {
        let mut out = ffi::Stats::sized();
        done(get(&mut out))?;
        Ok(Stats {
            count: out.count,
            total_ns: out.total_ns,
            self_ns: out.self_ns,
            wait_ns: out.wait_ns,
            min_ns: out.min_ns,
            max_ns: out.max_ns,
            p50_ns: out.p50_ns,
            p95_ns: out.p95_ns,
            p99_ns: out.p99_ns,
            mean_ns: out.mean_ns,
            stddev_ns: out.stddev_ns,
            elements: out.elements,
            bytes: out.bytes,
            bytes_out: out.bytes_out,
            flops: out.flops,
            share: out.share,
        })
    }

    fn to_c(self) -> ffi::Stats {
        ffi::Stats {
            count: self.count,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            wait_ns: self.wait_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            elements: self.elements,
            bytes: self.bytes,
            bytes_out: self.bytes_out,
            flops: self.flops,
            ..ffi::Stats::sized()
        }
    }

    /// Those of one execution.
    pub fn of_one(ns: u64, elements: u64) -> Stats {
        let (total_ns, self_ns, min_ns, max_ns) = (ns, ns, ns, ns);
        Stats { count: 1, total_ns, self_ns, min_ns, max_ns, elements, ..Stats::default() }
    }

    /// Bytes read for each that was written; 0: not known.
    pub fn compression_ratio(self) -> f64 {
        if self.bytes_out == 0 {
            return 0.0;
        }
        self.bytes as f64 / self.bytes_out as f64
    }

    fn per_s(self, amount: u64) -> f64 {
        if self.total_ns == 0 {
            return 0.0;
        }
        amount as f64 * 1e9 / self.total_ns as f64
    }

    /// Elements per second of `total_ns`; so are the other two.
    pub fn elements_per_s(self) -> f64 {
        self.per_s(self.elements)
    }

    pub fn bytes_per_s(self) -> f64 {
        self.per_s(self.bytes)
    }

    pub fn flops_per_s(self) -> f64 {
        self.per_s(self.flops)
    }
}

/// What the session lost so far, over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    pub dropped: u64,
    pub unmatched: u64,
    pub clamped: u64,
    pub unsupported: u64,
    /// Bricks that have not ended.
    pub open: u64,
}

/// Ask for the losses.
pub fn losses() -> Result<Losses, Error> {
    let mut out = ffi::Losses::sized();
    done(unsafe { ffi::brick_losses_get(&mut out) })?;
    Ok(Losses {
        dropped: out.dropped,
        unmatched: out.unmatched,
        clamped: out.clamped,
        unsupported: out.unsupported,
        open: out.open,
    })
}

/// A place of the model that runs a brick, with the work of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site(pub(crate) u32);

/// What a site is registered with.
#[derive(Clone, Copy, Debug)]
pub struct SiteOptions<'a> {
    pub brick: Brick,
    /// -1: outside of blocks.
    pub layer: i32,
    /// None: not known.
    pub elements: Option<u64>,
    pub bytes: Option<u64>,
    pub flops: Option<u64>,
    /// The engine's names of the operation, and of the node or tensor.
    pub operation: Option<&'a str>,
    pub label: Option<&'a str>,
}

impl Site {
    /// Register it once; it takes a lock.
    pub fn register(options: SiteOptions<'_>) -> Result<Site, Error> {
        let operation = options.operation.map(c_text).transpose()?;
        let label = options.label.map(c_text).transpose()?;
        let known = [options.elements, options.bytes, options.flops];
        let flags = (0..3).filter(|&i| known[i].is_some()).map(|i| 1 << i).sum();
        let site = ffi::Site {
            brick: options.brick.0,
            layer: options.layer,
            flags,
            elements: options.elements.unwrap_or(0),
            bytes: options.bytes.unwrap_or(0),
            flops: options.flops.unwrap_or(0),
            operation: or_null(&operation),
            label: or_null(&label),
            ..ffi::Site::sized()
        };
        checked(unsafe { ffi::brick_site_register(&site) }).map(Site)
    }
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
    /// OtherStep
    pub const OTHER_STEP: Brick = Brick(46);
}
