//! Signed thinking: what a change in front of it invalidates, what stripping it saves, and which edits that takes.

use super::Walk;
use crate::format;
use crate::plan::{Edit, PartCut};
use crate::value::History;
use crate::window::{Size, Thinking};

/// A message with signed thinking.
pub(super) struct Signed {
    index: usize,
    /// The parts that go when it is stripped; none where it stays as it is.
    cuts: Vec<PartCut>,
    /// Whether nothing else is in it.
    whole: bool,
    /// Whether its turn is completed: a plain user turn stands behind it.
    completed: bool,
    /// What stripping saves, here and behind.
    saved: Size,
}

/// What of its signed thinking a change invalidates or removes.
#[derive(Default)]
pub(in crate::cut) struct Stripped {
    /// Edits of the messages that lose a part, oldest first.
    pub edits: Vec<Edit>,
    /// Messages that go whole.
    pub left_out: Vec<usize>,
    /// What it saves.
    pub saved: Size,
    /// Whether signed thinking is sent behind the change.
    pub invalidated: bool,
}

impl<H: History> Walk<'_, H> {
    /// What stripping signed thinking saves from `index` on, once something in front of it was changed.
    pub(super) fn saved_from(&self, index: usize) -> Size {
        if self.limits.thinking == Thinking::Keep {
            return Size::default();
        }
        let behind = self.signed.partition_point(|signed| signed.index >= index);
        behind
            .checked_sub(1)
            .map_or(Size::default(), |oldest| self.signed[oldest].saved)
    }

    /// What becomes of the signed thinking of `index` and all behind it once something in front was changed.
    pub(in crate::cut) fn strip(&self, index: usize) -> Stripped {
        let behind = self.signed.partition_point(|signed| signed.index >= index);
        let (mut edits, mut left_out) = (Vec::new(), Vec::new());
        let strips = self.limits.thinking == Thinking::Strip;
        let mut invalidated = false;
        for signed in self.signed[..behind].iter().rev() {
            let goes = strips && signed.completed && (signed.whole || !signed.cuts.is_empty());
            match (goes, signed.whole) {
                (false, _) => invalidated = true,
                (true, true) => left_out.push(signed.index),
                (true, false) => edits.push(Edit {
                    index: signed.index,
                    cuts: signed.cuts.clone(),
                }),
            }
        }
        Stripped {
            edits,
            left_out,
            saved: self.saved_from(index),
            invalidated,
        }
    }

    /// Takes up the signed thinking of a message, whose whole size is given.
    pub(super) fn sign(
        &mut self,
        index: usize,
        thinking: format::Thinking,
        chars: u64,
        tokens: u64,
    ) {
        let completed = !self.users.is_empty();
        let newer = self
            .signed
            .last()
            .map_or(Size::default(), |newer| newer.saved);
        let saved = match (completed, thinking.whole) {
            (false, _) => Size::default(),
            (true, true) => Size {
                turns: 1,
                chars,
                tokens,
            },
            (true, false) => Size {
                turns: 0,
                chars: thinking.chars,
                tokens: thinking.tokens,
            },
        };
        self.signed.push(Signed {
            index,
            cuts: thinking.cuts,
            whole: thinking.whole,
            completed,
            saved: newer + saved,
        });
    }
}
