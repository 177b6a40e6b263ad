//! Remembers long histories whose roles have been checked, so that a growing conversation is not checked from its first
//! message at every call.
//!
//! What is in front of a cut is neither read nor sent; its roles are checked so that a broken history is told early. A
//! history is recognised by messages at fixed samples: by their addresses and, since another message may come to lie where one was,
//! by the lengths of their texts. A message that was replaced between two samples by a broken one is found only when something
//! reads it.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use super::names::walk;
use super::value::length;
use crate::format::Known;

/// Parts shorter than this are always checked.
const WORTH: usize = 256;

/// Of a longer part, this many messages are compared, evenly spread, besides its first and last ones.
const SAMPLES: usize = 24;

/// Conversations remembered; each takes about 300 bytes.
const SLOTS: usize = 256;

/// Checked histories.
pub(super) struct Seen {
    slots: Mutex<Vec<Option<Checked>>>,
}

struct Checked {
    known: Known,
    samples: Vec<usize>,
}

impl Seen {
    pub(super) const fn new() -> Self {
        Self {
            slots: Mutex::new(Vec::new()),
        }
    }

    /// What is known of the messages in front. O(samples).
    pub(super) fn known(&self, list: &Bound<'_, PyList>) -> Option<Known> {
        if list.len() < WORTH {
            return None;
        }
        // A busy or broken memory only means checking again.
        let slots = self.slots.try_lock().ok()?;
        let checked = slots.get(slot(list))?.as_ref()?;
        let end = checked.known.end;
        (end <= list.len() && samples(list, end) == checked.samples).then_some(checked.known)
    }

    /// Remembers it.
    pub(super) fn remember(&self, list: &Bound<'_, PyList>, known: Known) {
        if known.end < WORTH {
            return;
        }
        let Ok(mut slots) = self.slots.try_lock() else {
            return;
        };
        if slots.is_empty() {
            slots.resize_with(SLOTS, || None);
        }
        slots[slot(list)] = Some(Checked {
            known,
            samples: samples(list, known.end),
        });
    }
}

fn address(list: &Bound<'_, PyList>, index: usize) -> usize {
    list.get_item(index)
        .map_or(0, |message| message.as_ptr() as usize)
}

/// Where a conversation is kept: its first messages decide, for a system prompt is often shared.
fn slot(list: &Bound<'_, PyList>) -> usize {
    let mixed = (0..4).fold(0usize, |mix, k| {
        mix.rotate_left(11) ^ (address(list, k) >> 4)
    });
    (mixed ^ (mixed >> 17)) % SLOTS
}

/// A message as far as it is told from others: where it lies, and the lengths of its texts.
fn print(list: &Bound<'_, PyList>, index: usize) -> usize {
    let Ok(message) = list.get_item(index) else {
        return 0;
    };
    let mut mixed = message.as_ptr() as usize;
    if let Ok(dict) = message.cast::<PyDict>() {
        walk(dict, |_, value| {
            let size = match value.cast::<PyString>() {
                Ok(text) => length(&text),
                Err(_) => value.get_type_ptr() as usize,
            };
            mixed = mixed.rotate_left(7) ^ size;
            true
        });
    }
    mixed
}

fn samples(list: &Bound<'_, PyList>, end: usize) -> Vec<usize> {
    let step = (end / SAMPLES).max(1);
    let edges = (0..4).chain(end.saturating_sub(4)..end);
    edges
        .chain((0..end).step_by(step))
        .map(|index| print(list, index))
        .collect()
}
