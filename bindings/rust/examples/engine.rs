// SPDX-License-Identifier: Apache-2.0
//! An engine of two layers that records itself: `engine run.pftrace`, then `brick report`.
use brick::{bricks, Phase, Sequence, Session};

fn compute(n: u32) -> f32 {
    (0..n).fold(0.0, |sum, i| sum + (i as f32).sqrt())
}

fn evaluate() -> f32 {
    let mut sum = 0.0;
    for layer in 0..2 {
        let _layer = brick::layer(layer);
        let mut span = brick::span(bricks::RMS_NORM);
        sum += compute(1000);
        span.lap(bricks::QKV_PROJECTION);
        sum += compute(4000);
        span.end_work(4000, 16000, 8000);
    }
    sum + brick::time!("PickToken", compute(500))
}

/// The prompt's own step makes the first token.
fn prefill(tokens: u32) -> Result<f32, brick::Error> {
    let _step = brick::step(Phase::Prefill, tokens.into());
    Sequence::prompt(0, tokens).at(0).tell()?;
    Ok(evaluate())
}

fn decode(position: i32) -> Result<f32, brick::Error> {
    let _step = brick::step(Phase::Decode, 1);
    Sequence::output(0, 1).at(position).tell()?;
    Ok(evaluate())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = std::env::args().nth(1).ok_or("usage: engine FILE")?;
    let session = Session::record(&output)?;
    brick::note("engine.version", "1")?;
    let request = brick::request(0, 0, 7)?;
    let mut sum = prefill(5)?;
    for token in 0..99 {
        sum += decode(5 + token)?;
    }
    drop(request);
    let stats = bricks::QKV_PROJECTION.stats()?;
    session.stop()?;
    println!("{} executions of {}, sum {sum}", stats.count, bricks::QKV_PROJECTION.name());
    Ok(())
}
