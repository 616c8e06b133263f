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
//! Then `brick report run.pftrace`. A program that runs under `brick record` needs no session. The
//! functions are those of brick/brick.h, whose comments say more. The feature `report`, which is on
//! by default, adds what libbrick-report and libbrick-graph have: [`report()`], [`summary()`],
//! [`Graph`], and the environment's `BRICK_TRACE_OUT=FILE`.
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

mod device;
mod digest;
mod ffi;
#[cfg(feature = "report")]
mod graph;
mod probe;
mod registry;
#[cfg(feature = "report")]
mod report;
mod session;
mod tile;

pub use device::*;
pub use digest::*;
#[cfg(feature = "report")]
pub use graph::*;
pub use probe::*;
pub use registry::*;
#[cfg(feature = "report")]
pub use report::*;
pub use session::*;
pub use tile::*;

/// What the library refused, by its own number (a negative errno or a BRICK_E*).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(c_int);

impl Error {
    /// Nothing was recorded.
    pub const NOT_RECORDED: Error = Error(-4005);

    pub fn code(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(unsafe { ffi::brick_strerror(self.0) }))
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

fn done(code: c_int) -> Result<(), Error> {
    checked(code).map(|_| ())
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error(EINVAL))
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error(EINVAL))
}

/// A pointer for C; null for None. The text must outlive its use.
fn or_null(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// A text of the library's; empty for null.
fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The library's version.
pub fn version() -> String {
    text_of(unsafe { ffi::brick_version() })
}

/// The best instruction set for vectors here: "avx512", "avx2", "neon", ...
pub fn cpu_isa() -> String {
    text_of(unsafe { ffi::brick_cpu_isa() })
}

/// Present time in ticks of Brick's clock.
#[inline]
pub fn ticks() -> u64 {
    unsafe { ffi::brick_ticks() }
}

/// Ticks as ns of CLOCK_MONOTONIC.
pub fn ticks_to_ns(ticks: u64) -> u64 {
    let clock = unsafe { &*ffi::brick_clock_get() };
    let delta = i128::from(ticks.wrapping_sub(clock.base_ticks) as i64);
    let ns = (delta * i128::from(clock.mult)) >> clock.shift;
    clock.base_ns.wrapping_add(ns as u64)
}

/// Present time in ns of CLOCK_MONOTONIC, as passes of a GPU are told.
pub fn now_ns() -> u64 {
    ticks_to_ns(ticks())
}
