// SPDX-License-Identifier: Apache-2.0
//! Work on a device: bricks around launches, single timers, and passes that an engine timed itself.
use crate::{c_text, checked, done, ffi, text_of, Brick, Error, Mode};
use std::fmt;
use std::os::raw::{c_char, c_int, c_void};
use std::time::Duration;

/// Why a device could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub error: Error,
    /// A sentence; may be empty.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        if !self.reason.is_empty() {
            write!(f, ": {}", self.reason)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        refused.error
    }
}

/// Names of the backends there are: "cpu", "cuda", "opencl", "vulkan", ...
pub fn backends() -> Vec<String> {
    // a table begins with its size, two numbers and its name (brick/abi/backend.h)
    #[repr(C)]
    struct Table {
        size: usize,
        version: u32,
        source: u32,
        name: *const c_char,
    }
    (0..)
        .map(|i| unsafe { ffi::brick_backend_at(i) }.cast::<Table>())
        .take_while(|table| !table.is_null())
        .map(|table| text_of(unsafe { (*table).name }))
        .collect()
}

/// A device whose work is timed by its own clock. One thread at a time uses it.
#[derive(Debug)]
pub struct Device(*mut c_void);

unsafe impl Send for Device {}

impl Device {
    /// Open a backend's default device.
    pub fn open(backend: &str) -> Result<Device, Refused> {
        unsafe { Device::open_native(backend, [std::ptr::null_mut(); 4]) }
    }

    /// Open it on the program's own handles.
    ///
    /// # Safety
    /// The handles are what the backend's header says (brick/cuda.h, opencl.h, vulkan.h, ...), and
    /// outlive the device.
    pub unsafe fn open_native(backend: &str, native: [*mut c_void; 4]) -> Result<Device, Refused> {
        let refused = |error, reason: &str| Refused { error, reason: reason.to_owned() };
        let name = c_text(backend).map_err(|error| refused(error, ""))?;
        let found = ffi::brick_backend_find(name.as_ptr());
        if found.is_null() {
            return Err(refused(Error(-4006), &format!("there is no backend {backend}")));
        }
        let options = ffi::BackendOptions { native, ..ffi::BackendOptions::sized() };
        let mut device = std::ptr::null_mut();
        let mut reason: [c_char; 256] = [0; 256];
        let code =
            ffi::brick_device_open(&mut device, found, &options, reason.as_mut_ptr(), reason.len());
        done(code).map_err(|error| refused(error, &text_of(reason.as_ptr())))?;
        Ok(Device(device))
    }

    /// When it is synchronised; the session says so until [`set_mode`](Device::set_mode) does.
    pub fn mode(&self) -> Mode {
        Mode::from(unsafe { ffi::brick_device_mode_get(self.0) })
    }

    pub fn set_mode(&self, mode: Mode) {
        unsafe { ffi::brick_device_mode_set(self.0, mode as c_int) };
    }

    /// How many bricks began on its queues and are neither recorded nor lost yet.
    pub fn pending(&self) -> u64 {
        unsafe { ffi::brick_device_pending(self.0) }
    }

    /// Record bricks that have completed. Returns how many.
    pub fn drain(&self) -> Result<u32, Error> {
        checked(unsafe { ffi::brick_device_drain(self.0) })
    }

    /// Wait for everything and record it. Returns how many bricks that were.
    pub fn finish(&self) -> Result<u32, Error> {
        checked(unsafe { ffi::brick_device_finish(self.0) })
    }

    /// The backend's default queue.
    pub fn default_queue(&self) -> DeviceQueue<'_> {
        DeviceQueue { device: self, handle: std::ptr::null_mut() }
    }

    /// The program's own queue, by the backend's handle.
    ///
    /// # Safety
    /// It is a queue of that backend (docs/BACKENDS.md), and outlives what is begun on it.
    pub unsafe fn queue(&self, handle: *mut c_void) -> DeviceQueue<'_> {
        DeviceQueue { device: self, handle }
    }

    /// A timer of work on its queues, which needs no session. It may be used again and again.
    pub fn timer(&self) -> Result<Timer<'_>, Error> {
        let mut timer = std::ptr::null_mut();
        done(unsafe { ffi::brick_timer_create(&mut timer, self.0) })?;
        Ok(Timer { device: self, timer })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        unsafe { ffi::brick_device_close(self.0) }
    }
}

/// A queue of a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceQueue<'d> {
    device: &'d Device,
    handle: *mut c_void,
}

impl<'d> DeviceQueue<'d> {
    /// Begin a brick on it, in a layer (-1: outside of blocks). It ends when it is dropped. Spans of
    /// a queue nest.
    pub fn span(&self, brick: Brick, layer: i32) -> DeviceSpan<'d> {
        let span =
            unsafe { ffi::brick_device_begin(self.device.0, self.handle, brick.id(), layer) };
        DeviceSpan { queue: *self, span }
    }

    /// A layer's launches are done: waits in mode per-layer.
    pub fn layer_end(&self) -> Result<(), Error> {
        done(unsafe { ffi::brick_device_layer_end(self.device.0, self.handle) })
    }
}

/// An open brick on a queue.
#[must_use = "a span that is dropped at once times nothing"]
pub struct DeviceSpan<'d> {
    queue: DeviceQueue<'d>,
    span: u64,
}

impl DeviceSpan<'_> {
    /// End it, and say what it produced, moved and computed.
    pub fn end_work(mut self, elements: u64, bytes: u64, flops: u64) {
        self.end(elements, bytes, flops);
    }

    fn end(&mut self, elements: u64, bytes: u64, flops: u64) {
        let (device, queue) = (self.queue.device.0, self.queue.handle);
        if self.span != 0 {
            unsafe { ffi::brick_device_end(device, queue, self.span, elements, bytes, flops) }
        }
        self.span = 0;
    }
}

impl Drop for DeviceSpan<'_> {
    fn drop(&mut self) {
        self.end(0, 0, 0);
    }
}

/// A timer of work on a device's queues.
#[derive(Debug)]
pub struct Timer<'d> {
    device: &'d Device,
    timer: *mut c_void,
}

impl Timer<'_> {
    /// Put a timestamp into the queue before the work.
    pub fn start(&mut self, queue: DeviceQueue<'_>) -> Result<(), Error> {
        done(unsafe { ffi::brick_timer_start(self.timer, queue.handle) })
    }

    /// Put a timestamp into the queue behind the work.
    pub fn stop(&mut self, queue: DeviceQueue<'_>) -> Result<(), Error> {
        done(unsafe { ffi::brick_timer_stop(self.timer, queue.handle) })
    }

    /// Time between the two by the device's clock, in ns. An error where nothing was recorded, and
    /// while the work is not done.
    pub fn elapsed_ns(&self) -> Result<u64, Error> {
        let mut ns = 0;
        done(unsafe { ffi::brick_timer_elapsed_ns(self.timer, &mut ns) })?;
        Ok(ns)
    }

    /// The same, after waiting until all of the device's work is done.
    pub fn wait_ns(&self) -> Result<u64, Error> {
        self.device.finish()?;
        self.elapsed_ns()
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        unsafe { ffi::brick_timer_destroy(self.timer) }
    }
}

/// A queue's lane in the recording, for passes that the program timed itself.
#[derive(Debug)]
pub struct Queue(*mut c_void);

// recording takes the queue's own lock
unsafe impl Send for Queue {}
unsafe impl Sync for Queue {}

/// A pass of a GPU. Times in ns of CLOCK_MONOTONIC ([`now_ns`](crate::now_ns)).
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    pub name: &'a str,
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl Queue {
    /// A queue by its name in reports and its backend's ("vulkan", ...).
    pub fn new(name: &str, backend: &str) -> Result<Queue, Error> {
        let (name, backend) = (c_text(name)?, c_text(backend)?);
        let options = ffi::QueueOptions {
            name: name.as_ptr(),
            backend: backend.as_ptr(),
            ..ffi::QueueOptions::sized()
        };
        let mut queue = std::ptr::null_mut();
        done(unsafe { ffi::brick_queue_create(&mut queue, &options) })?;
        Ok(Queue(queue))
    }

    /// Record passes, in the order of their begins.
    pub fn passes(&self, passes: &[Pass<'_>]) -> Result<(), Error> {
        let names = passes.iter().map(|pass| c_text(pass.name)).collect::<Result<Vec<_>, _>>()?;
        let own: Vec<ffi::Pass> = std::iter::zip(passes, &names)
            .map(|(pass, name)| ffi::Pass {
                name: name.as_ptr(),
                begin_ns: pass.begin_ns,
                end_ns: pass.end_ns,
            })
            .collect();
        done(unsafe { ffi::brick_queue_passes(self.0, own.as_ptr(), own.len() as u32) })
    }

    /// Record passes that ran one behind the other from `begin_ns` on.
    pub fn passes_from<N: AsRef<str>>(
        &self,
        begin_ns: u64,
        passes: &[(N, Duration)],
    ) -> Result<(), Error> {
        let mut end_ns = begin_ns;
        let placed: Vec<Pass<'_>> = passes
            .iter()
            .map(|(name, length)| {
                let begin_ns = end_ns;
                end_ns += length.as_nanos() as u64;
                Pass { name: name.as_ref(), begin_ns, end_ns }
            })
            .collect();
        self.passes(&placed)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        unsafe { ffi::brick_queue_destroy(self.0) }
    }
}

/// Keep the source of a kernel in the recording. Returns its hash, FNV-1a 64.
pub fn register_code(source: &str, name: Option<&str>, path: Option<&str>) -> Result<u64, Error> {
    let (name, path) = (name.map(c_text).transpose()?, path.map(c_text).transpose()?);
    let (name, path) = (crate::or_null(&name), crate::or_null(&path));
    Ok(unsafe { ffi::brick_code_register(source.as_ptr().cast(), source.len(), name, path) })
}

/// FNV-1a 64 of a kernel's source.
pub fn code_hash(source: &str) -> u64 {
    unsafe { ffi::brick_code_hash(source.as_ptr().cast(), source.len()) }
}
