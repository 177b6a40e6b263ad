//! The ordered walk: which result answers which call, and so where a history may be cut.
//!
//! `docs/rules.md`, section 4. [`pair`] walks a stretch forward and is the definition; [`Backward`] finds the same
//! boundaries from the newest message back, reading no further than it must.

mod backward;
mod forward;

use rustc_hash::FxHashMap;

use crate::facts::{Family, Links, Tie, Turn};
use crate::value::Text;

pub(crate) use backward::Backward;
pub(crate) use forward::pair;

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
    /// Nothing.
    Orphan,
}

/// The ids by which a call and its result find each other: most have one, the legacy family none.
fn keys<T: Text>(tie: &Tie<T>) -> impl Iterator<Item = (Family, String)> {
    let family = tie.family;
    [tie.id.as_ref(), tie.alias()]
        .into_iter()
        .flatten()
        .map(move |id| (family, id.key()))
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::backward::boundaries;
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
            match self.below(10) {
                0 => Tie::new(Family::Legacy, None),
                1 => Tie::new(Family::LocalShell, Some(self.id())).with_alias(Some(self.id())),
                2 => {
                    let caller = Some(self.id());
                    Tie::new(Family::Tool, Some(self.id())).called_by(Family::Tool, caller)
                }
                3 => Tie::new(Family::Tool, None),
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
