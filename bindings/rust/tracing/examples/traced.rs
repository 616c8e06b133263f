// SPDX-License-Identifier: Apache-2.0
//! A program that only knows `tracing`, recorded: `traced run.pftrace`.
use tracing_subscriber::layer::SubscriberExt;

fn attend() -> u64 {
    let _span = tracing::info_span!("attend").entered();
    (0..1000).fold(0, |sum: u64, i| (sum * 31 + i) % 1009)
}

fn main() {
    let output = std::env::args().nth(1).expect("usage: traced FILE");
    let subscriber = tracing_subscriber::registry().with(brick_tracing::BrickLayer);
    tracing::subscriber::set_global_default(subscriber).expect("no other subscriber");
    let session = brick::Session::record(&output).expect("a session");
    let mut sum = 0;
    for _ in 0..10 {
        let _token = tracing::info_span!("token").entered();
        sum += attend() + attend();
    }
    session.stop().expect("a recording");
    println!("{sum}");
}
