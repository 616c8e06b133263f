// SPDX-License-Identifier: Apache-2.0
//! Checksums and digests of results, to compare runs by.
use crate::{c_text, done, ffi, or_null, Brick, Error};
use std::ffi::CString;

/// FNV-1a 64 over the first 64 values as little-endian f32.
pub fn checksum(values: &[f32]) -> u64 {
    unsafe { ffi::brick_digest_fnv64(values.as_ptr(), values.len()) }
}

fn tensor(values: &[f32], label: &Option<CString>) -> ffi::Tensor {
    ffi::Tensor {
        data: values.as_ptr().cast(),
        dtype: 1, // BRICK_DTYPE_F32
        ne: [values.len() as u64, 1, 1, 1],
        label: or_null(label),
        ..ffi::Tensor::sized()
    }
}

/// Sums of a result: two of them tell how far two results are apart.
pub struct Digest(Box<ffi::Digest>);

impl Digest {
    pub fn of(values: &[f32]) -> Result<Digest, Error> {
        // written as a whole where it is computed
        let mut out = Box::new(unsafe { std::mem::zeroed() });
        done(unsafe { ffi::brick_digest_compute(&mut *out, &tensor(values, &None)) })?;
        Ok(Digest(out))
    }

    /// [`checksum`] of the values.
    pub fn checksum(&self) -> u64 {
        self.0.fnv64
    }

    /// Estimate of |x - y| / |x|. 0: they are equal.
    pub fn error(&self, other: &Digest) -> f64 {
        unsafe { ffi::brick_digest_error(&*self.0, &*other.0) }
    }
}

/// Ask for digests in the recording, or for none any more.
pub fn set_digests(on: bool) {
    unsafe { ffi::brick_digests_set(on.into()) }
}

/// Record the digest of a brick's result for `brick diverge`. An error where nobody asked for them.
pub fn digest(brick: Brick, layer: i32, values: &[f32], label: Option<&str>) -> Result<(), Error> {
    let label = label.map(c_text).transpose()?;
    done(unsafe { ffi::brick_digest(brick.id(), layer, &tensor(values, &label)) })
}
