// SPDX-License-Identifier: Apache-2.0
//! What `brick report` says, inside of the program.
use crate::{c_path, c_text, done, ffi, Error};
use std::os::raw::{c_int, c_void};
use std::path::Path;

/// How a report is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    Text = 0,
    /// Schema brick/report/2.
    Json = 1,
    Csv = 2,
}

/// What its rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportBy {
    Brick = 0,
    Category = 1,
    Layer = 2,
    Phase = 3,
    Step = 4,
    Thread = 5,
    Kernel = 6,
    Queue = 7,
}

/// The report of the session: of what ran so far, or, after it was stopped, of all.
pub fn report(format: ReportFormat, by: ReportBy) -> Result<String, Error> {
    write(format, ffi::ReportOptions { by: by as u32, ..ffi::ReportOptions::sized() })
}

/// The same with columns of your choice, as `brick report --columns` takes them: "self,/token,avg".
pub fn report_columns(format: ReportFormat, by: ReportBy, columns: &str) -> Result<String, Error> {
    let columns = c_text(columns)?;
    let sized = ffi::ReportOptions::sized();
    write(format, ffi::ReportOptions { by: by as u32, columns: columns.as_ptr(), ..sized })
}

/// The report of a recording.
pub fn report_of(
    path: impl AsRef<Path>,
    format: ReportFormat,
    by: ReportBy,
) -> Result<String, Error> {
    let path = c_path(path.as_ref())?;
    let sized = ffi::ReportOptions::sized();
    write(format, ffi::ReportOptions { by: by as u32, file: path.as_ptr(), ..sized })
}

fn write(format: ReportFormat, options: ffi::ReportOptions) -> Result<String, Error> {
    text_from(|stream| unsafe { ffi::brick_report_write(stream, format as c_int, &options) })
}

/// The text that a function of the library writes to a stream (FILE *).
pub(crate) fn text_from(write: impl FnOnce(*mut c_void) -> c_int) -> Result<String, Error> {
    let (mut text, mut bytes) = (std::ptr::null_mut(), 0);
    let stream = unsafe { ffi::open_memstream(&mut text, &mut bytes) };
    if stream.is_null() {
        return Err(Error(-12)); // -ENOMEM
    }
    let code = write(stream);
    // the stream's end gives the memory and its length; it is ours then
    let closed = unsafe { ffi::fclose(stream) };
    let written = if text.is_null() {
        String::new()
    } else {
        let held = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes) };
        let own = String::from_utf8_lossy(held).into_owned();
        unsafe { ffi::free(text.cast()) };
        own
    };
    done(if code == 0 && closed != 0 { -12 } else { code }).map(|()| written)
}

/// The session in numbers. Times in ns; negative rates and shares are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Of all steps; without steps the threads' lifetimes.
    pub wall_ns: u64,
    pub first_token_ns: u64,
    pub prefill_steps: u64,
    pub prefill_tokens: u64,
    pub decode_steps: u64,
    pub decode_tokens: u64,
    pub prefill_tokens_per_s: f64,
    pub decode_tokens_per_s: f64,
    /// Of all bricks.
    pub executions: u64,
    pub elements: u64,
    pub bytes: u64,
    pub flops: u64,
    /// Of `wall_ns`.
    pub elements_per_s: f64,
    pub coverage: f64,
    pub cost_low: f64,
    pub cost_high: f64,
    pub device_ns: u64,
    pub lost: u64,
    pub open: u64,
    /// Sum of the bricks' own times.
    pub bricks_ns: u64,
    pub elements_per_brick_s: f64,
}

/// Ask for it.
pub fn summary() -> Result<Summary, Error> {
    let mut out = ffi::Summary::sized();
    done(unsafe { ffi::brick_summary(&mut out) })?;
    Ok(Summary {
        wall_ns: out.wall_ns,
        first_token_ns: out.first_token_ns,
        prefill_steps: out.prefill_steps,
        prefill_tokens: out.prefill_tokens,
        decode_steps: out.decode_steps,
        decode_tokens: out.decode_tokens,
        prefill_tokens_per_s: out.prefill_tokens_per_s,
        decode_tokens_per_s: out.decode_tokens_per_s,
        executions: out.executions,
        elements: out.elements,
        bytes: out.bytes,
        flops: out.flops,
        elements_per_s: out.elements_per_s,
        coverage: out.coverage,
        cost_low: out.cost_low,
        cost_high: out.cost_high,
        device_ns: out.device_ns,
        lost: out.lost,
        open: out.open,
        bricks_ns: out.bricks_ns,
        elements_per_brick_s: out.elements_per_brick_s,
    })
}

/// libbrick-report obeys BRICK_TRACE_OUT when it is loaded. A linker would leave it out of a program
/// that asks for no report; what the start of a program refers to stays.
#[used]
#[link_section = ".init_array"]
static LOADED: extern "C" fn() = load;

extern "C" fn load() {
    let held = ffi::brick_report_write as *const ();
    unsafe { std::ptr::read_volatile(&held) };
}
