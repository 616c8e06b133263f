// SPDX-License-Identifier: Apache-2.0
//! An engine of two layers that records itself: `engine run.pftrace`, then `brick report`.
use brick::{bricks, Phase, Session};

fn compute(n: u32) -> f32 {
    (0..n).fold(0.0, |sum, i| sum + (i as f32).sqrt())
}

fn decode() -> f32 {
    let _step = brick::step(Phase::Decode, 1);
    let mut sum = 0.0;
    for layer in 0..2 {
        brick::set_layer(layer);
        let mut span = brick::span(bricks::RMS_NORM);
        sum += compute(1000);
        span.lap(bricks::QKV_PROJECTION);
        sum += compute(4000);
        span.end_work(4000, 16000, 8000);
    }
    brick::set_layer(-1);
    sum + brick::time!("PickToken", compute(500))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = std::env::args().nth(1).ok_or("usage: engine FILE")?;
    let session = Session::record(&output)?;
    brick::note("engine.version", "1")?;
    let sum: f32 = (0..100).map(|_| decode()).sum();
    let stats = bricks::QKV_PROJECTION.stats()?;
    session.stop()?;
    println!("{} executions of {}, sum {sum}", stats.count, bricks::QKV_PROJECTION.name());
    Ok(())
}
