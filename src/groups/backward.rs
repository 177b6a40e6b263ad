//! The walk back: the same boundaries, from the newest message on. A stretch is closed as soon as no result in it can answer a
//! call in front of it.

use rustc_hash::FxHashSet;

use super::{Side, Step, is_answer, keys, match_run, pair};
use crate::facts::{Family, Links, Tie, Turn};
use crate::value::Text;

/// Finds the boundaries of a body from its end to its front.
pub(crate) struct Backward<T> {
    /// Whether messages of the model's in a row are one turn.
    merges: bool,
    /// The oldest message that was pushed.
    seen: usize,
    /// Steps of a stretch that is still open, newest first. Empty in a history whose results stand behind their calls.
    stretch: Vec<Step<T>>,
    /// Ids of results in it whose call may stand further in front.
    pending: FxHashSet<(Family, String)>,
    /// Results in front of it, newest first: the run of the turn that may stand before them, each with its message.
    run: Vec<(usize, Tie<T>)>,
    /// The turn in front of that, as far as it was pushed: messages of the model's.
    turn: Vec<usize>,
    /// Its calls, newest first.
    calls: Vec<(usize, Tie<T>)>,
    /// Results within it.
    inner: Vec<(usize, Tie<T>)>,
    /// Boundaries found so far, newest first.
    boundaries: Vec<usize>,
}

impl<T: Text> Backward<T> {
    /// A walk over the messages before `end`.
    pub(crate) fn new(end: usize, merges: bool) -> Self {
        Self {
            merges,
            seen: end,
            stretch: Vec::new(),
            pending: FxHashSet::default(),
            run: Vec::new(),
            turn: Vec::new(),
            calls: Vec::new(),
            inner: Vec::new(),
            boundaries: Vec::new(),
        }
    }

    /// The boundaries found so far, newest first: complete behind and including the last.
    pub(crate) fn boundaries(&self) -> &[usize] {
        &self.boundaries
    }

    /// What stands before this index was not pushed yet.
    pub(crate) fn unseen(&self) -> usize {
        self.seen
    }

    /// Takes the next older message: its turn and its links, which it empties. O(1) for a history whose results stand behind
    /// their calls.
    #[inline]
    pub(crate) fn push(&mut self, turn: Turn, links: &mut Links<T>) {
        self.seen -= 1;
        let at = self.seen;
        match turn {
            Turn::Result if links.results.is_empty() => {
                // Nothing of it is paired, but it stays with the message before it.
                self.close_turn();
                self.stretch_to(at, turn);
            }
            Turn::Result => {
                self.close_turn();
                while let Some(tie) = links.results.pop() {
                    self.run.push((at, tie));
                }
            }
            Turn::Model => {
                if self.merges || !self.is_answered_in_order(links) {
                    self.push_model(at, links);
                } else {
                    self.boundaries.push(at);
                    self.run.clear();
                    links.calls.clear();
                }
            }
            Turn::User | Turn::System | Turn::Developer => {
                self.close_turn();
                if self.stretch.is_empty() && self.run.is_empty() {
                    self.boundaries.push(at);
                } else {
                    self.stretch_to(at, turn);
                    self.settle_if_closed();
                }
            }
        }
    }

    /// Takes the run, and a message in front of it that has no ties, into the stretch.
    fn stretch_to(&mut self, at: usize, turn: Turn) {
        self.pending
            .extend(self.run.iter().flat_map(|(_, tie)| keys(tie)));
        self.take_run();
        self.stretch.push(Step {
            at,
            turn,
            tie: None,
        });
    }

    /// Whether a message is a turn whose run is one result for each of its calls, in order.
    #[inline]
    fn is_answered_in_order(&self, links: &Links<T>) -> bool {
        self.stretch.is_empty()
            && links.results.is_empty()
            && self.run.len() == links.calls.len()
            && self
                .run
                .iter()
                .rev()
                .zip(&links.calls)
                .all(|((_, result), call)| is_answer(result, call) && call.caller().is_none())
    }

    /// Takes a message of the model's, which may be a part of a turn.
    fn push_model(&mut self, at: usize, links: &mut Links<T>) {
        self.turn.push(at);
        while let Some(tie) = links.calls.pop() {
            self.calls.push((at, tie));
        }
        while let Some(tie) = links.results.pop() {
            self.inner.push((at, tie));
        }
        if !self.merges {
            self.close_turn();
        }
    }

    /// Takes the turn that was pushed, if one was, together with the run behind it.
    #[inline]
    fn close_turn(&mut self) {
        if let Some(&oldest) = self.turn.last() {
            self.close_turn_from(oldest);
        }
    }

    /// The same where its oldest message is `oldest`.
    #[inline(never)] // many formats have no such turns, and are asked at each message
    fn close_turn_from(&mut self, oldest: usize) {
        if self.stretch.is_empty() && self.inner.is_empty() && self.has_answers_in_order() {
            self.boundaries.push(oldest);
            self.run.clear();
            self.turn.clear();
            self.calls.clear();
        } else {
            self.close_turn_slowly();
        }
    }

    /// Whether the run is one result for each call, in order, and none was made by another call; so it is for a turn that
    /// neither calls nor is called.
    fn has_answers_in_order(&self) -> bool {
        self.run.len() == self.calls.len()
            && self
                .run
                .iter()
                .zip(&self.calls)
                .all(|((_, result), (_, call))| is_answer(result, call) && call.caller().is_none())
    }

    /// The same for any run.
    #[cold]
    fn close_turn_slowly(&mut self) {
        let (answers, _) = match_run(
            &self
                .calls
                .iter()
                .rev()
                .map(|(_, tie)| tie)
                .collect::<Vec<_>>(),
            &self
                .run
                .iter()
                .rev()
                .map(|(_, tie)| tie)
                .collect::<Vec<_>>(),
        );
        for ((_, result), answer) in self.run.iter().rev().zip(answers) {
            if answer.is_none() {
                self.pending.extend(keys(result));
            }
        }
        // A call of an id, answered or not, hides every older one from the results behind it.
        for key in self.calls.iter().flat_map(|(_, call)| keys(call)) {
            self.pending.remove(&key);
        }
        for (_, call) in &self.calls {
            if let Some((family, id)) = call.caller() {
                let own = |call: &Tie<T>| {
                    call.family == *family && call.id.as_ref().is_some_and(|own| own.same(id))
                };
                if !self.calls.iter().any(|(_, call)| own(call)) {
                    self.pending.insert((*family, id.as_str().into_owned()));
                }
            }
        }
        // Results within the turn come before any of its calls opens an id anew; what no call of an older message of the turn
        // is left for needs one from outside.
        let mut left: Vec<&(usize, Tie<T>)> = self.calls.iter().rev().collect();
        for (at, result) in self.inner.iter().rev() {
            let own = left
                .iter()
                .position(|(call_at, call)| call_at < at && is_answer(result, call));
            match own {
                Some(call) => drop(left.remove(call)),
                None => self.pending.extend(keys(result)),
            }
        }
        self.take_run();
        let mut calls = std::mem::take(&mut self.calls).into_iter().peekable();
        let mut inner = std::mem::take(&mut self.inner).into_iter().peekable();
        for at in std::mem::take(&mut self.turn) {
            let before = self.stretch.len();
            let turn = Turn::Model;
            while let Some((_, tie)) = calls.next_if(|(of, _)| *of == at) {
                self.stretch.push(Step {
                    at,
                    turn,
                    tie: Some(Side::Call(tie)),
                });
            }
            while let Some((_, tie)) = inner.next_if(|(of, _)| *of == at) {
                self.stretch.push(Step {
                    at,
                    turn,
                    tie: Some(Side::Result(tie)),
                });
            }
            if self.stretch.len() == before {
                self.stretch.push(Step {
                    at,
                    turn,
                    tie: None,
                });
            }
        }
        self.settle_if_closed();
    }

    /// Puts the run into the stretch.
    fn take_run(&mut self) {
        let turn = Turn::Result;
        for (at, tie) in self.run.drain(..) {
            self.stretch.push(Step {
                at,
                turn,
                tie: Some(Side::Result(tie)),
            });
        }
    }

    fn settle_if_closed(&mut self) {
        if self.pending.is_empty() {
            self.settle();
        }
    }

    /// Says that there is no older message: what is still open is settled as it stands.
    pub(crate) fn finish(&mut self) {
        self.close_turn();
        self.take_run();
        if !self.stretch.is_empty() {
            self.settle();
        }
    }

    /// Turns the open stretch into boundaries.
    fn settle(&mut self) {
        self.stretch.reverse();
        let found = boundaries(&self.stretch, self.merges);
        self.boundaries.extend(found.into_iter().rev());
        self.stretch.clear();
        self.pending.clear();
    }
}

/// Boundaries of a stretch, oldest first; its first message is one.
pub(super) fn boundaries<T: Text>(steps: &[Step<T>], merges: bool) -> Vec<usize> {
    let pairing = pair(steps, merges);
    // For each step, the latest message with a result that is welded to a call at or before it.
    let mut welded_to = vec![0; steps.len()];
    for &(first, last) in &pairing.welds {
        welded_to[first] = welded_to[first].max(steps[last].at);
    }
    let mut weld = 0;
    let mut found = Vec::new();
    let mut before: Option<&Step<T>> = None;
    for (step, &reach) in steps.iter().zip(&welded_to) {
        let is_first_step = before.is_none_or(|before| before.at != step.at);
        let goes_on = merges
            && step.turn == Turn::Model
            && before.is_some_and(|before| before.turn == Turn::Model);
        if is_first_step
            && (before.is_none() || (step.at > weld && step.turn != Turn::Result && !goes_on))
        {
            found.push(step.at);
        }
        weld = weld.max(reach);
        before = Some(step);
    }
    found
}
