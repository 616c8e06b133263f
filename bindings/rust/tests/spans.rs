// SPDX-License-Identifier: Apache-2.0
//! Spans are counted once, nested ones apart, and none while nothing records. One test, since a
//! process has one session.
use brick::{bricks, Brick, OwnSession, Session, SessionOptions};

fn nested() -> u32 {
    brick::time!("Outer");
    brick::time!("Inner", 7)
}

#[test]
fn counted_once() {
    drop(brick::span(bricks::SAMPLING)); // nothing records
    assert!(!brick::enabled());
    assert!(bricks::SAMPLING.stats().is_err());
    let session = Session::statistics().unwrap();
    assert!(brick::enabled());
    assert!(Session::statistics().is_err(), "one session at a time");
    for _ in 0..5 {
        assert_eq!(nested(), 7);
    }
    let mut span = brick::span(bricks::RMS_NORM);
    assert!(span.elapsed_ns() > 0);
    span.lap(bricks::LM_HEAD);
    span.end_work(10, 20, 30);
    let elsewhere = brick::async_span(bricks::SPMV);
    let ns = std::thread::spawn(move || elsewhere.end()).join().unwrap();
    assert!(ns > 0);
    let (outer, inner) = (Brick::find("Outer").unwrap(), Brick::find("Inner").unwrap());
    let (outer, inner) = (outer.stats().unwrap(), inner.stats().unwrap());
    assert_eq!((outer.count, inner.count), (5, 5));
    assert!(outer.total_ns >= inner.total_ns && outer.self_ns <= outer.total_ns);
    assert_eq!(bricks::RMS_NORM.stats().unwrap().count, 1);
    assert_eq!(bricks::LM_HEAD.stats().unwrap().flops, 30);
    // a layer's guard brings back the one around it
    {
        let _outer = brick::layer(5);
        drop(brick::layer(6));
        assert_eq!(brick::set_layer(5), 5);
    }
    assert_eq!(brick::set_layer(-1), -1);
    assert_eq!(bricks::LM_HEAD.stats().unwrap().count, 1);
    assert!(Brick::named("a\0b").is_err());
    assert_eq!(Brick::find("Qkv"), Some(bricks::QKV_PROJECTION));
    session.pause();
    assert_eq!(nested(), 7);
    session.resume();
    assert_eq!(Brick::find("Outer").unwrap().stats().unwrap().count, 5);
    // names of macros are valid in every session, wherever they were used first
    let own = OwnSession::create(&SessionOptions::default()).unwrap();
    let only_here = own.enter(|| {
        brick::time!("First there");
        Brick::named("Only there").unwrap()
    });
    assert_eq!(own.enter(|| only_here.name()), "Only there");
    assert!(Brick::find("Only there").is_none());
    assert!(Brick::find("First there").is_some());
    own.destroy().unwrap();
    session.stop().unwrap();
    assert!(!brick::enabled());
}
