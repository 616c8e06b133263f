// SPDX-License-Identifier: Apache-2.0
//! Spans of the `tracing` crate as bricks of the same name. A span that is entered and left again
//! is as many executions. Spans that a thread leaves in another order than it entered them end
//! with the one around them, and are counted unmatched.
use std::cell::RefCell;
use tracing_core::span::{Attributes, Id};
use tracing_core::Subscriber;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use brick::{Brick, Span};

thread_local! {
    static OPEN: RefCell<Vec<(u64, Span)>> = RefCell::new(Vec::new());
}

/// Add it to a registry: `tracing_subscriber::registry().with(brick::BrickLayer)`.
pub struct BrickLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for BrickLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let brick = Brick::in_category(metadata.name(), metadata.target());
        if let (Ok(brick), Some(span)) = (brick, context.span(id)) {
            span.extensions_mut().insert(brick);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let brick = context.span(id).and_then(|span| span.extensions().get::<Brick>().copied());
        if let Some(brick) = brick {
            OPEN.with(|open| open.borrow_mut().push((id.into_u64(), brick::span(brick))));
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        OPEN.with(|open| {
            let mut open = open.borrow_mut();
            if let Some(place) = open.iter().rposition(|(opened, _)| *opened == id.into_u64()) {
                open.truncate(place + 1);
                open.pop();
            }
        });
    }
}
