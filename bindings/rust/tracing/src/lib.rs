// SPDX-License-Identifier: Apache-2.0
//! Spans of the `tracing` crate as bricks of the same name, and its events as instants. A span that
//! is entered and left again is as many executions.
//!
//! A span that is entered inside of its parent, or where none is open, nests as a brick does. Any
//! other may outlive what it is entered in: it goes to the lane "Asynchronous" with its whole length.
//! Where a parent is left before its child, the child goes on as a second execution, so the times of
//! both are right.
//!
//! An event is named by its message, or by its place where it has none or where the message of one
//! place changes: names are for ever.
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::sync::RwLock;

use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use brick::{AsyncSpan, Brick, Span};

const NAME_BYTES: usize = 47; // of a brick's name at most

/// A span that this thread has entered.
struct Open {
    id: u64,
    brick: Brick,
    timer: Timer,
}

enum Timer {
    /// On the thread's stack, which ends when it is dropped.
    Nested(Option<Span>),
    Beside(AsyncSpan),
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}

/// Add it to a registry: `tracing_subscriber::registry().with(brick_tracing::BrickLayer)`.
pub struct BrickLayer;

/// What names the events of a place.
struct Named {
    message: String, // empty: its place
    brick: Option<Brick>,
}

static EVENTS: RwLock<Option<HashMap<Identifier, Named>>> = RwLock::new(None);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for BrickLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let brick = Brick::of_process(cut(metadata.name()), cut(metadata.target()));
        if let (Ok(brick), Some(span)) = (brick, context.span(id)) {
            span.extensions_mut().insert(brick);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let span = context.span(id);
        let brick = span.as_ref().and_then(|span| span.extensions().get::<Brick>().copied());
        if let (Some(span), Some(brick)) = (span, brick) {
            let holds = |around: u64| span.scope().skip(1).any(|at| at.id().into_u64() == around);
            OPEN.with(|open| enter(&mut open.borrow_mut(), id.into_u64(), brick, holds));
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        OPEN.with(|open| leave(&mut open.borrow_mut(), id.into_u64()));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !brick::enabled() {
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        if let Some(brick) = brick_of(event.metadata(), &message.0) {
            brick.instant();
        }
    }
}

/// `holds` says whether a span is an ancestor of the one that is entered.
fn enter(open: &mut Vec<Open>, id: u64, brick: Brick, holds: impl Fn(u64) -> bool) {
    let nests = match open.last() {
        None => true,
        Some(Open { timer: Timer::Beside(_), .. }) => false,
        Some(around) => holds(around.id),
    };
    let timer = if nests {
        Timer::Nested(Some(brick::span(brick)))
    } else {
        Timer::Beside(brick::async_span(brick))
    };
    open.push(Open { id, brick, timer });
}

fn leave(open: &mut Vec<Open>, id: u64) {
    let place = match open.iter().rposition(|span| span.id == id) {
        Some(place) => place,
        None => return,
    };
    let mut above = open.split_off(place);
    let left = above.remove(0);
    match left.timer {
        Timer::Beside(span) => drop(span.end()),
        Timer::Nested(span) => {
            // a stack ends from its top
            for inner in above.iter_mut().rev() {
                if let Timer::Nested(span) = &mut inner.timer {
                    *span = None;
                }
            }
            drop(span);
            for inner in above.iter_mut() {
                if let Timer::Nested(span) = &mut inner.timer {
                    *span = Some(brick::span(inner.brick));
                }
            }
        }
    }
    open.append(&mut above);
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // a String takes all
            let _ = write!(self.0, "{value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0.push_str(value);
        }
    }
}

/// The brick that names events of this place.
fn brick_of(metadata: &'static Metadata<'static>, message: &str) -> Option<Brick> {
    let place = metadata.callsite();
    let known = |events: &HashMap<Identifier, Named>| {
        let named = events.get(&place)?;
        Some((named.message.is_empty() || named.message == message, named.brick))
    };
    let found = EVENTS.read().ok()?.as_ref().and_then(known);
    if let Some((true, brick)) = found {
        return brick;
    }
    let by_message = found.is_none() && !message.is_empty();
    let name = if by_message { cut(message).to_owned() } else { place_of(metadata) };
    let brick = Brick::of_process(&name, cut(metadata.target())).ok();
    let message = if by_message { message.to_owned() } else { String::new() };
    let mut events = EVENTS.write().ok()?;
    events.get_or_insert_with(HashMap::new).insert(place, Named { message, brick });
    brick
}

/// "event src/main.rs:15", from its end where that is too long.
fn place_of(metadata: &Metadata<'_>) -> String {
    let name = metadata.name();
    let mut from = name.len().saturating_sub(NAME_BYTES);
    while !name.is_char_boundary(from) {
        from += 1;
    }
    name[from..].to_owned()
}

/// As much of it as a name holds.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(NAME_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
