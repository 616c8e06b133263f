// SPDX-License-Identifier: Apache-2.0
//! Recording this process, and what recordings say of themselves.
use crate::{c_path, c_text, checked, done, ffi, or_null, text_of, Error};
use std::os::raw::c_void;
use std::path::{Path, PathBuf};

/// When the device is synchronised to get its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Never: the device's own timestamps.
    #[default]
    Deferred = 0,
    /// At the end of each layer.
    PerLayer = 1,
    /// Around each brick.
    Immediate = 2,
    /// Nothing is recorded.
    None = 3,
}

impl Mode {
    pub(crate) fn from(code: i32) -> Mode {
        [Mode::Deferred, Mode::PerLayer, Mode::Immediate]
            .get(code as usize)
            .copied()
            .unwrap_or(Mode::None)
    }
}

/// How a session records. `..Default::default()` is statistics only.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// The recording to write.
    pub output: Option<PathBuf>,
    /// Where to keep the session's file for a consumer outside; None: in memory.
    pub directory: Option<PathBuf>,
    pub mode: Mode,
    /// Records that each thread keeps; 0: 262144, or none without an output.
    pub ring_records: u32,
    /// Of the writer at most; 0: 1000.
    pub interval_ms: u32,
    /// Do not ask the kernel when threads were off their CPUs.
    pub without_off_cpu: bool,
    /// Limits as "p99" or "decode=50ms": the seconds around slow steps have files of their own, too.
    pub slow: Option<String>,
    /// Of all these files; 0: 200 MB.
    pub slow_bytes: u64,
    /// How many of them in an hour; 0: 6.
    pub slow_per_hour: u32,
    /// Write nothing else.
    pub slow_only: bool,
}

impl SessionOptions {
    /// Record into a file.
    pub fn output(path: impl AsRef<Path>) -> SessionOptions {
        SessionOptions { output: Some(path.as_ref().to_owned()), ..Default::default() }
    }

    fn with<T>(&self, start: impl FnOnce(*const ffi::SessionOptions) -> T) -> Result<T, Error> {
        let output = self.output.as_deref().map(c_path).transpose()?;
        let directory = self.directory.as_deref().map(c_path).transpose()?;
        let slow = self.slow.as_deref().map(c_text).transpose()?;
        Ok(start(&ffi::SessionOptions {
            output: or_null(&output),
            directory: or_null(&directory),
            mode: self.mode as u32,
            ring_records: self.ring_records,
            interval_ms: self.interval_ms,
            off_cpu: self.without_off_cpu.into(),
            slow: or_null(&slow),
            slow_bytes: self.slow_bytes,
            slow_per_hour: self.slow_per_hour,
            slow_only: self.slow_only.into(),
            ..ffi::SessionOptions::sized()
        }))
    }
}

/// A recording of this process. It is completed when it is stopped or dropped.
#[derive(Debug)]
pub struct Session {
    running: bool,
}

impl Session {
    /// Record into a file (a Perfetto trace).
    pub fn record(output: impl AsRef<Path>) -> Result<Session, Error> {
        Session::start(&SessionOptions::output(output))
    }

    /// Keep statistics only.
    pub fn statistics() -> Result<Session, Error> {
        Session::start(&SessionOptions::default())
    }

    /// Record as the options say.
    pub fn start(options: &SessionOptions) -> Result<Session, Error> {
        done(options.with(|options| unsafe { ffi::brick_session_start(options) })?)?;
        Ok(Session { running: true })
    }

    /// Switch recording off without ending the session.
    pub fn pause(&self) {
        unsafe { ffi::brick_pause() }
    }

    /// Switch it on again.
    pub fn resume(&self) {
        unsafe { ffi::brick_resume() }
    }

    /// Set all statistics back to zero and begin a new epoch.
    pub fn reset(&self) -> Result<(), Error> {
        done(unsafe { ffi::brick_reset() })
    }

    /// Begin a new epoch and keep the statistics.
    pub fn begin_epoch(&self) -> Result<(), Error> {
        done(unsafe { ffi::brick_epoch_begin() })
    }

    /// The mode of all devices that have none of their own.
    pub fn mode(&self) -> Mode {
        Mode::from(unsafe { ffi::brick_mode_get() })
    }

    pub fn set_mode(&self, mode: Mode) -> Result<(), Error> {
        done(unsafe { ffi::brick_mode_set(mode as i32) })
    }

    /// Whether executions are kept one by one, for graphs and the steps of reports.
    pub fn graph(&self) -> Result<bool, Error> {
        checked(unsafe { ffi::brick_session_graph_get() }).map(|is_on| is_on == 1)
    }

    pub fn set_graph(&self, is_on: bool) -> Result<(), Error> {
        done(unsafe { ffi::brick_session_graph_set(is_on.into()) })
    }

    /// Complete the file, and say if that failed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.running = false;
        done(unsafe { ffi::brick_session_stop() })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.running {
            unsafe { ffi::brick_session_stop() };
        }
    }
}

/// A session beside the process's own, for one of several models: it has its own bricks,
/// statistics, notes, losses and output. It is completed when it is dropped.
#[derive(Debug)]
pub struct OwnSession(*mut c_void);

// any thread may use it; it ends once
unsafe impl Send for OwnSession {}
unsafe impl Sync for OwnSession {}

impl OwnSession {
    /// Make it and start it.
    pub fn create(options: &SessionOptions) -> Result<OwnSession, Error> {
        let mut out = std::ptr::null_mut();
        done(options.with(|options| unsafe { ffi::brick_session_create(&mut out, options) })?)?;
        Ok(OwnSession(out))
    }

    /// All that this thread calls within `work` is about this session.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _inside = Inside { before: unsafe { ffi::brick_session_use(self.0) } };
        work()
    }

    /// Complete it, and say if that failed.
    pub fn destroy(self) -> Result<(), Error> {
        let session = std::mem::ManuallyDrop::new(self);
        done(unsafe { ffi::brick_session_destroy(session.0) })
    }
}

impl Drop for OwnSession {
    fn drop(&mut self) {
        unsafe { ffi::brick_session_destroy(self.0) };
    }
}

/// Brings the thread back into the session that it came from, also by a panic.
struct Inside {
    before: *mut c_void,
}

impl Drop for Inside {
    fn drop(&mut self) {
        unsafe { ffi::brick_session_use(self.before) };
    }
}

/// Add "key=value" to what the recording says of itself.
pub fn note(key: &str, value: &str) -> Result<(), Error> {
    let (key, value) = (c_text(key)?, c_text(value)?);
    let format = b"%s\0".as_ptr();
    done(unsafe { ffi::brick_note(key.as_ptr(), format.cast(), value.as_ptr()) })
}

/// The last note of that key.
pub fn noted(key: &str) -> Result<String, Error> {
    let key = c_text(key)?;
    let length = checked(unsafe { ffi::brick_note_get(key.as_ptr(), std::ptr::null_mut(), 0) })?;
    let mut value = vec![0u8; length as usize + 1];
    let (at, bytes) = (value.as_mut_ptr(), value.len());
    checked(unsafe { ffi::brick_note_get(key.as_ptr(), at.cast(), bytes) })?;
    Ok(text_of(value.as_ptr().cast()))
}

/// ns since the session's epoch: its start, or the last [`begin_epoch`](Session::begin_epoch).
pub fn epoch_ns() -> u64 {
    unsafe { ffi::brick_epoch_ns() }
}

/// Note the share of accesses that the second-level cache served, 0 to 1.
pub fn set_l2_hit_rate(share: f64) -> Result<(), Error> {
    done(unsafe { ffi::brick_l2_hit_rate_set(share) })
}

/// Note whether memory is shared with the device without copies.
pub fn set_zero_copy(is_used: bool) -> Result<(), Error> {
    done(unsafe { ffi::brick_zero_copy_set(is_used.into()) })
}

/// What was set last.
pub fn l2_hit_rate() -> Result<f64, Error> {
    let mut share = 0.0;
    done(unsafe { ffi::brick_l2_hit_rate_get(&mut share) })?;
    Ok(share)
}

/// What was set last.
pub fn zero_copy() -> Result<bool, Error> {
    checked(unsafe { ffi::brick_zero_copy_get() }).map(|is_used| is_used == 1)
}
