// SPDX-License-Identifier: Apache-2.0
//! What a span costs here, in ns, as the best of many rounds: off, on, and through the macro.
//! `bench-probe` measures the same in C.
use std::time::Instant;

const PAIRS: u32 = 20_000;
const ROUNDS: u32 = 200;

fn best(mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..PAIRS {
            work();
        }
        least = least.min(begin.elapsed().as_nanos() as f64 / f64::from(PAIRS));
    }
    least
}

fn main() -> Result<(), brick::Error> {
    let plain = brick::bricks::RMS_NORM;
    let off = best(|| drop(brick::span(plain)));
    let session = brick::Session::statistics()?;
    let on = best(|| drop(brick::span(plain)));
    let named = best(|| {
        brick::time!("Named");
    });
    session.stop()?;
    println!("off {off:.1} on {on:.1} macro {named:.1}");
    Ok(())
}
