// SPDX-License-Identifier: Apache-2.0
//! Tiles: pieces of a kernel's work, with their place in the grid and a switch of their own.
use crate::{ffi, Error, Stats};
use std::os::raw::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// Sizes of tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileLevel {
    /// For the last-level cache, or a device's memory.
    Macro = 0,
    /// For the second-level cache, or shared memory.
    Midi = 1,
    /// For registers.
    Micro = 2,
}

impl TileLevel {
    /// Whether tiles of this level are recorded.
    #[inline]
    pub fn enabled(self) -> bool {
        let on = unsafe { &*(std::ptr::addr_of!(ffi::brick__tiles_on) as *const AtomicU32) };
        on.load(Ordering::Relaxed) >> self as u32 & 1 != 0
    }

    pub fn stats(self) -> Result<Stats, Error> {
        Stats::from(|out| unsafe { ffi::brick_tile_stats_get(self as c_int, out) })
    }
}

/// Record tiles of these levels, and of no other.
pub fn set_tiles(levels: &[TileLevel]) {
    let bits = levels.iter().fold(0, |bits, &level| bits | 1 << level as u32);
    unsafe { ffi::brick_tiles_set(bits) }
}

/// An open tile. It ends when it is dropped, on the thread that began it.
#[must_use = "a tile that is dropped at once times nothing"]
pub struct Tile {
    tile: ffi::Tile,
    thread: std::marker::PhantomData<*const ()>,
}

/// Begin the tile at that row and column of its level's grid.
#[inline]
pub fn tile(level: TileLevel, row: u32, column: u32) -> Tile {
    let tile = if level.enabled() {
        unsafe { ffi::brick__tile_begin(level as c_int, row, column) }
    } else {
        ffi::Tile { span: 0, row, column }
    };
    Tile { tile, thread: std::marker::PhantomData }
}

impl Tile {
    /// End it, and say what it produced, moved and computed.
    pub fn end_work(mut self, elements: u64, bytes: u64, flops: u64) {
        self.end(elements, bytes, flops);
    }

    fn end(&mut self, elements: u64, bytes: u64, flops: u64) {
        if self.tile.span != 0 {
            unsafe { ffi::brick__tile_end(&self.tile, elements, bytes, flops) }
        }
        self.tile.span = 0;
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        self.end(0, 0, 0);
    }
}
