//! The ordered walk: which result answers which call, and so where a history may be cut.
//!
//! `docs/rules.md`, section 4. [`pair`] walks a stretch forward and is the definition; [`Backward`] finds the same
//! boundaries from the newest message back, reading no further than it must: a stretch is closed as soon as no result in it
//! can answer a call in front of it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Family, Links, Tie, Turn};
use crate::value::Text;

/// One tie of a message, or a message that has none: what the walk steps over.
#[derive(Clone, Debug)]
pub(crate) struct Step<T> {
    /// The message's place.
    pub at: usize,
    pub turn: Turn,
    pub tie: Option<Side<T>>,
}

/// A tie, seen from its message.
#[derive(Clone, Debug)]
pub(crate) enum Side<T> {
    Call(Tie<T>),
    Result(Tie<T>),
}

impl<T> Step<T> {
    /// The steps of the message at `at`, in order: its results, its calls, or one step without a tie.
    pub(crate) fn push_all(steps: &mut Vec<Self>, at: usize, turn: Turn, links: &mut Links<T>) {
        let before = steps.len();
        let step = |tie| Self { at, turn, tie };
        steps.extend(
            links
                .results
                .drain(..)
                .map(|tie| step(Some(Side::Result(tie)))),
        );
        steps.extend(links.calls.drain(..).map(|tie| step(Some(Side::Call(tie)))));
        if steps.len() == before {
            steps.push(step(None));
        }
    }

    pub(crate) fn call(&self) -> Option<&Tie<T>> {
        match &self.tie {
            Some(Side::Call(tie)) => Some(tie),
            _ => None,
        }
    }

    pub(crate) fn result(&self) -> Option<&Tie<T>> {
        match &self.tie {
            Some(Side::Result(tie)) => Some(tie),
            _ => None,
        }
    }
}

/// What a step answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is no result.
    NoResult,
    /// A call, this step, of the turn that its run stands behind, or of its own turn.
    InRun(usize),
    /// A call, this step, from further away.
    Late(usize),
    /// Nothing: this call, a step, has made those of its message.
    Made(usize),
    /// Nothing.
    Orphan,
}

/// The ids by which a call and its result find each other: most have one, the legacy family none.
fn keys<T: Text>(tie: &Tie<T>) -> impl Iterator<Item = (Family, String)> {
    let family = tie.family;
    [&tie.id, &tie.alias]
        .into_iter()
        .flatten()
        .map(move |id| (family, id.as_str().into_owned()))
}

/// Whether the result is, at first sight, that call's.
fn is_answer<T: Text>(result: &Tie<T>, call: &Tie<T>) -> bool {
    result.family == call.family
        && matches!((&result.id, &call.id), (Some(a), Some(b)) if a.same(b))
}

/// Which call of one turn each result of the run behind it answers; calls are answered at most once.
///
/// Steps a and b of the walk. O(calls + results).
fn match_run<T: Text>(calls: &[&Tie<T>], results: &[&Tie<T>]) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut answered = vec![false; calls.len()];
    // Step a: calls by their ids, of several the last first.
    let mut by_id: FxHashMap<(Family, String), Vec<usize>> = FxHashMap::default();
    for (k, call) in calls.iter().enumerate() {
        for key in keys(call) {
            by_id.entry(key).or_default().push(k);
        }
    }
    let mut answers: Vec<Option<usize>> = results
        .iter()
        .map(|result| {
            keys(result).find_map(|key| {
                let named = by_id.get_mut(&key)?;
                // A call may have been answered by its other id.
                let k = std::iter::from_fn(|| named.pop()).find(|&k| !answered[k])?;
                answered[k] = true;
                Some(k)
            })
        })
        .collect();
    // Step b: the first call that is left, for a result with an id the first without. Calls are only ever taken, so for each
    // family and each kind of result the search goes on where it ended.
    let mut next = [[0; 2]; Family::COUNT];
    for (result, answer) in results.iter().zip(&mut answers) {
        if answer.is_some() {
            continue;
        }
        let from = &mut next[result.family as usize][usize::from(result.id.is_some())];
        let open = |k: usize| {
            !answered[k]
                && calls[k].family == result.family
                && (calls[k].id.is_none() || result.id.is_none())
        };
        *from = (*from..calls.len())
            .find(|&k| open(k))
            .unwrap_or(calls.len());
        if *from < calls.len() {
            answered[*from] = true;
            *answer = Some(*from);
        }
    }
    (answers, answered)
}

/// The walk over a stretch of messages, oldest first.
pub(crate) struct Pairing {
    /// What each step answers.
    pub answers: Vec<Answer>,
    /// Steps with a call that got no result, in order.
    pub unanswered: Vec<usize>,
}

/// Where the turn that begins at step `begin` ends: a message of the model's, and all that follow where they are one turn.
pub(crate) fn turn_end<T>(steps: &[Step<T>], begin: usize, merges: bool) -> usize {
    let at = steps[begin].at;
    steps[begin..]
        .iter()
        .position(|step| step.turn != Turn::Model || !(merges || step.at == at))
        .map_or(steps.len(), |len| begin + len)
}

/// Pairs results with calls in a stretch that no result leaves to the front. `merges`: messages of the model's in a row are one
/// turn. O(steps).
pub(crate) fn pair<T: Text>(steps: &[Step<T>], merges: bool) -> Pairing {
    let mut answers = vec![Answer::NoResult; steps.len()];
    // Open calls by id; one with two ids stands here twice.
    let mut open: FxHashMap<(Family, String), usize> = FxHashMap::default();
    // The newest call of an id, open or not: what a call says that it was made by.
    let mut newest: FxHashMap<(Family, String), usize> = FxHashMap::default();
    let has_makers = steps
        .iter()
        .any(|step| step.result().is_some_and(|result| result.loose));
    let mut closed = vec![false; steps.len()];
    let mut at = 0;
    while at < steps.len() {
        if let Some(result) = steps[at].result().filter(|result| !result.loose) {
            if answers[at] == Answer::NoResult {
                answers[at] = answer_late(result, &mut open, &mut closed);
            }
            at += 1;
            continue;
        }
        if steps[at].turn != Turn::Model {
            at += 1;
            continue;
        }
        let end = turn_end(steps, at, merges);
        let (mut calls, mut made) = (Vec::new(), Vec::new());
        for (k, step) in steps.iter().enumerate().take(end).skip(at) {
            match &step.tie {
                Some(Side::Call(_)) => calls.push(k),
                Some(Side::Result(result)) if result.loose => made.push((k, result)),
                Some(Side::Result(result)) => {
                    // Within the turn first: what the provider ran itself.
                    let own = calls.iter().copied().find(|&call| {
                        !closed[call]
                            && steps[call]
                                .call()
                                .is_some_and(|call| is_answer(result, call))
                    });
                    answers[k] = match own {
                        Some(call) => {
                            closed[call] = true;
                            Answer::InRun(call)
                        }
                        None => answer_late(result, &mut open, &mut closed),
                    };
                }
                None => {}
            }
        }
        let run: Vec<usize> = (end..steps.len())
            .take_while(|&k| steps[k].turn == Turn::Result)
            .filter(|&k| steps[k].result().is_some())
            .collect();
        let waiting: Vec<usize> = calls
            .iter()
            .copied()
            .filter(|&call| !closed[call])
            .collect();
        let (answered_by, answered) = match_run(
            &waiting
                .iter()
                .filter_map(|&k| steps[k].call())
                .collect::<Vec<_>>(),
            &run.iter()
                .filter_map(|&k| steps[k].result())
                .collect::<Vec<_>>(),
        );
        for (&k, answer) in run.iter().zip(answered_by) {
            if let Some(call) = answer {
                answers[k] = Answer::InRun(waiting[call]);
            }
        }
        // Opening an id anew closes an older open call for good.
        for &k in &calls {
            for key in steps[k].call().into_iter().flat_map(keys) {
                open.remove(&key);
                if has_makers {
                    newest.insert(key, k);
                }
            }
        }
        for (k, maker) in made {
            let maker = keys(maker).find_map(|key| newest.get(&key));
            answers[k] = maker.map_or(Answer::NoResult, |&call| Answer::Made(call));
        }
        for (&k, answered) in waiting.iter().zip(answered) {
            closed[k] = answered;
            if let Some(call) = steps[k].call().filter(|_| !answered) {
                open.extend(keys(call).map(|key| (key, k)));
            }
        }
        at = end.max(at + 1);
    }
    let unanswered = (0..steps.len())
        .filter(|&k| !closed[k] && steps[k].call().is_some_and(|call| !call.loose))
        .collect();
    Pairing {
        answers,
        unanswered,
    }
}

/// The open call that a result answers from further away.
fn answer_late<T: Text>(
    result: &Tie<T>,
    open: &mut FxHashMap<(Family, String), usize>,
    closed: &mut [bool],
) -> Answer {
    let call = keys(result).find_map(|key| open.remove(&key).filter(|&call| !closed[call]));
    call.map_or(Answer::Orphan, |call| {
        closed[call] = true;
        Answer::Late(call)
    })
}

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
    pub(crate) fn push(&mut self, turn: Turn, links: &mut Links<T>) {
        self.seen -= 1;
        let at = self.seen;
        match turn {
            Turn::Model => {
                self.turn.push(at);
                self.calls
                    .extend(links.calls.drain(..).rev().map(|tie| (at, tie)));
                self.inner
                    .extend(links.results.drain(..).rev().map(|tie| (at, tie)));
                if !self.merges {
                    self.close_turn();
                }
            }
            Turn::Result => {
                self.close_turn();
                self.run
                    .extend(links.results.drain(..).rev().map(|tie| (at, tie)));
            }
            Turn::User | Turn::System | Turn::Developer => {
                self.close_turn();
                if self.stretch.is_empty() && self.run.is_empty() {
                    self.boundaries.push(at);
                } else {
                    self.pending
                        .extend(self.run.iter().flat_map(|(_, tie)| keys(tie)));
                    self.take_run();
                    self.stretch.push(Step {
                        at,
                        turn,
                        tie: None,
                    });
                    self.settle_if_closed();
                }
            }
        }
    }

    /// Takes the turn that was pushed together with the run behind it.
    fn close_turn(&mut self) {
        let Some(&oldest) = self.turn.last() else {
            return;
        };
        if self.stretch.is_empty() && self.inner.is_empty() && self.has_answers_in_order() {
            self.boundaries.push(oldest);
            self.run.clear();
            self.turn.clear();
            self.calls.clear();
        } else {
            self.close_turn_slowly();
        }
    }

    /// Whether the run is one result for each call, in order; so it is for a turn that neither calls nor is called.
    fn has_answers_in_order(&self) -> bool {
        self.run.len() == self.calls.len()
            && self
                .run
                .iter()
                .zip(&self.calls)
                .all(|((_, result), (_, call))| is_answer(result, call))
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
        // Results within the turn come before any of its calls opens an id anew; what no call of an older message of the turn
        // is left for needs one from outside.
        let mut left: Vec<&(usize, Tie<T>)> = self.calls.iter().rev().collect();
        for (at, result) in self.inner.iter().rev() {
            if result.loose {
                let is_own = self.calls.iter().any(|(_, call)| is_answer(result, call));
                if !is_own {
                    self.pending.extend(keys(result));
                }
                continue;
            }
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
fn boundaries<T: Text>(steps: &[Step<T>], merges: bool) -> Vec<usize> {
    let pairing = pair(steps, merges);
    // For each step, the latest message with a result that is welded to a call at or before it.
    let mut welded_to = vec![0; steps.len()];
    for (step, answer) in steps.iter().zip(&pairing.answers) {
        if let Answer::Late(call) | Answer::Made(call) = *answer {
            welded_to[call] = welded_to[call].max(step.at);
        }
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[derive(Clone, Debug)]
    struct Id(usize);

    impl Text for Id {
        fn chars(&self) -> usize {
            1
        }

        fn bytes(&self) -> usize {
            1
        }

        fn as_str(&self) -> Cow<'_, str> {
            Cow::Borrowed(if self.0 == 0 { "x" } else { "y" })
        }

        fn same(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    /// Numbers that look random, from a seed (splitmix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % end
        }

        fn id(&mut self) -> Id {
            Id(usize::from(self.below(2) == 0))
        }

        fn tie(&mut self) -> Tie<Id> {
            match self.below(8) {
                0 => Tie::new(Family::Legacy, None),
                1 => Tie {
                    family: Family::LocalShell,
                    id: Some(self.id()),
                    alias: Some(self.id()),
                    loose: false,
                },
                2 => Tie::new(Family::Tool, None),
                _ => Tie::new(Family::Tool, Some(self.id())),
            }
        }

        fn ties(&mut self, least: u64, most: u64) -> Vec<Tie<Id>> {
            (0..least + self.below(most)).map(|_| self.tie()).collect()
        }

        fn message(&mut self) -> (Turn, Links<Id>) {
            let mut links = Links::default();
            let turn = match self.below(5) {
                0 => Turn::User,
                1 | 2 => {
                    links.calls = self.ties(0, 3);
                    if self.below(3) == 0 {
                        links.results = self.ties(0, 2);
                        for tie in &mut links.results {
                            tie.loose = tie.family == Family::Tool && self.below(3) == 0;
                        }
                    }
                    Turn::Model
                }
                _ => {
                    links.results = self.ties(1, 2);
                    Turn::Result
                }
            };
            (turn, links)
        }
    }

    #[test]
    fn backward_finds_the_boundaries_of_the_forward_walk() {
        for seed in 0..40_000_usize {
            let mut random = Random(seed as u64);
            let (len, merges) = (1 + seed % 12, seed % 2 == 0);
            let messages: Vec<_> = (0..len).map(|_| random.message()).collect();
            let mut steps = Vec::new();
            for (at, (turn, links)) in messages.clone().into_iter().enumerate() {
                Step::push_all(&mut steps, at, turn, &mut links.clone());
            }
            let mut all = boundaries(&steps, merges);
            all.reverse();
            let mut backward = Backward::new(len, merges);
            for (i, (turn, links)) in messages.iter().enumerate().rev() {
                backward.push(*turn, &mut links.clone());
                // Whatever has been found is final, and nothing is left out before the last of it.
                let found = backward.boundaries();
                assert_eq!(
                    found,
                    &all[..found.len()],
                    "seed {seed} at {i}: {messages:?}"
                );
                assert_eq!(backward.unseen(), i);
            }
            backward.finish();
            assert_eq!(backward.boundaries(), all, "seed {seed}: {messages:?}");
        }
    }
}
