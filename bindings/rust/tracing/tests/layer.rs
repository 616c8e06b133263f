// SPDX-License-Identifier: Apache-2.0
//! Spans nest, or keep their own length where they are left in another order; events are instants.
//! One test, since a process has one subscriber and one session.
use std::thread::sleep;
use std::time::{Duration, Instant};

use brick::Brick;
use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt;

fn stats(name: &str) -> brick::Stats {
    Brick::find(name).expect(name).stats().expect(name)
}

fn pause() -> u64 {
    let begin = Instant::now();
    sleep(Duration::from_millis(2));
    begin.elapsed().as_nanos() as u64
}

#[test]
fn layer() {
    let subscriber = tracing_subscriber::registry().with(brick_tracing::BrickLayer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let early = info_span!("made before the session");
    let options = brick::SessionOptions { ring_records: 4096, ..Default::default() };
    let session = brick::Session::start(&options).unwrap();
    drop(early.entered());
    for i in 0..3 {
        let _outer = info_span!("outer").entered();
        tracing::info!("checkpoint");
        tracing::info!("loss {}", i);
        tracing::event!(tracing::Level::INFO, value = 0.5);
        let _inner = info_span!("inner").entered();
        pause();
    }

    // neither is the other's parent, and the first is left first
    let (first, second) = (info_span!("first"), info_span!("second"));
    let (in_first, in_second) = (first.enter(), second.enter());
    let child = info_span!("child of second").entered();
    let both = pause();
    drop(in_first);
    let rest = pause();
    drop(child);
    drop(in_second);

    // a parent is left before its child
    let parent = info_span!("parent");
    let in_parent = parent.enter();
    let orphan = info_span!("orphan").entered();
    let with_parent = pause();
    drop(in_parent);
    let alone = pause();
    drop(orphan);

    assert_eq!(stats("made before the session").count, 1);
    let (outer, inner) = (stats("outer"), stats("inner"));
    assert_eq!((outer.count, inner.count), (3, 3));
    assert!(outer.self_ns < inner.total_ns, "inner lies in outer: {outer:?} {inner:?}");
    let found = [stats("first").total_ns, stats("parent").total_ns];
    assert!(found[0] >= both && found[1] >= with_parent, "{found:?}");
    let found = stats("orphan");
    assert_eq!(found.count, 2);
    assert!(found.total_ns >= with_parent + alone, "{found:?}");
    for name in ["second", "child of second"] {
        let stats = stats(name);
        assert_eq!(stats.count, 1);
        assert!(stats.total_ns >= both + rest, "{stats:?}");
    }
    assert_eq!(brick::losses().unwrap().unmatched, 0);

    let by_place = Brick::all().map(Brick::name).filter(|name| name.contains("layer.rs:"));
    assert_eq!(by_place.count(), 2, "the message that changes, and the event without one");
    assert!(Brick::find("checkpoint").is_some());
    assert!(Brick::find("loss 1").is_none());
    session.stop().unwrap();
}
