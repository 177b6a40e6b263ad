//! The ordered walk: which result answers which call, and so where a history may be cut.
//!
//! `docs/rules.md`, section 4. [`pair`] walks a stretch forward and is the definition; [`Backward`] finds the same
//! boundaries from the newest message back, reading no further than it must: a stretch is closed as soon as no result in it
//! can answer a call in front of it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Family, Links, Role, Tie};
use crate::value::Text;

/// What a result answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is no result.
    NoResult,
    /// A call of the message that its run stands behind.
    InRun,
    /// A call of the message at this place, from further away.
    Late(usize),
    /// Nothing.
    Orphan,
}

/// Whether the two ids are both there and the same.
fn same_id<T: Text>(a: &Tie<T>, b: &Tie<T>) -> bool {
    matches!((&a.id, &b.id), (Some(a), Some(b)) if a.same(b))
}

/// Which call of one message each result of the run behind it answers; calls are answered at most once.
///
/// Steps a and b of the walk. O(calls + results).
fn match_run<T: Text>(calls: &[Tie<T>], results: &[&Tie<T>]) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut answered = vec![false; calls.len()];
    // Step a: calls by their ids, of several the last first.
    let mut by_id: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    for (k, call) in calls.iter().enumerate() {
        if let Some(id) = id_of(call) {
            by_id.entry(id).or_default().push(k);
        }
    }
    let mut answers: Vec<Option<usize>> = results
        .iter()
        .map(|result| {
            let k = by_id.get_mut(&id_of(result)?)?.pop()?;
            answered[k] = true;
            Some(k)
        })
        .collect();
    // Step b: the first call that is left, for a result with an id the first without. Calls are only ever taken, so for each
    // family and each kind of result the search goes on where it ended.
    let mut next = [[0; 2]; 2];
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

/// The id by which a call and its result find each other; the legacy family has none.
fn id_of<T: Text>(tie: &Tie<T>) -> Option<String> {
    let id = tie.id.as_ref().filter(|_| tie.family == Family::Tool)?;
    Some(id.as_str().into_owned())
}

/// The walk over a stretch of messages, oldest first.
pub(crate) struct Pairing {
    /// What each message answers.
    pub answers: Vec<Answer>,
    /// Calls that got no result: message, and place among its calls.
    pub unanswered: Vec<(usize, usize)>,
}

/// Pairs results with calls in a stretch that no result leaves to the front. O(messages + calls).
pub(crate) fn pair<T: Text>(links: &[&Links<T>]) -> Pairing {
    let mut answers = vec![Answer::NoResult; links.len()];
    // Open calls by id: message, and place among its calls.
    let mut open: FxHashMap<String, (usize, usize)> = FxHashMap::default();
    let mut unanswered = Vec::new();
    for (i, link) in links.iter().enumerate() {
        match link {
            Links::None => {}
            Links::Calls(calls) => {
                let run: Vec<&Tie<T>> = links[i + 1..]
                    .iter()
                    .map_while(|link| match link {
                        Links::Result(tie) => Some(tie),
                        _ => None,
                    })
                    .collect();
                let (answered_by, answered) = match_run(calls, &run);
                for (k, answer) in answered_by.iter().enumerate() {
                    if answer.is_some() {
                        answers[i + 1 + k] = Answer::InRun;
                    }
                }
                // Opening an id anew closes an older open call for good.
                for id in calls.iter().filter_map(id_of) {
                    unanswered.extend(open.remove(&id));
                }
                for (k, call) in calls.iter().enumerate().filter(|&(k, _)| !answered[k]) {
                    let closed = match id_of(call) {
                        Some(id) => open.insert(id, (i, k)),
                        None => Some((i, k)),
                    };
                    unanswered.extend(closed);
                }
            }
            Links::Result(_) if answers[i] == Answer::InRun => {}
            Links::Result(tie) => {
                answers[i] = match id_of(tie).and_then(|id| open.remove(&id)) {
                    Some((call, _)) => Answer::Late(call),
                    None => Answer::Orphan,
                };
            }
        }
    }
    unanswered.extend(open.into_values());
    unanswered.sort_unstable();
    Pairing {
        answers,
        unanswered,
    }
}

/// Finds the boundaries of a body from its end to its front.
pub(crate) struct Backward<T> {
    /// One behind the newest message that no boundary settles yet.
    end: usize,
    /// Messages of a stretch that is still open, newest first; the newest stands at `end - 1`. Empty in a history whose
    /// results stand behind their calls.
    stretch: Vec<Links<T>>,
    /// Ids of results in it whose call may stand further in front.
    pending: FxHashSet<String>,
    /// Results in front of it, newest first: the run of the call that may stand before them.
    run: Vec<Tie<T>>,
    /// Boundaries found so far, newest first.
    boundaries: Vec<usize>,
}

impl<T: Text> Backward<T> {
    /// A walk over the messages before `end`.
    pub(crate) fn new(end: usize) -> Self {
        Self {
            end,
            stretch: Vec::new(),
            pending: FxHashSet::default(),
            run: Vec::new(),
            boundaries: Vec::new(),
        }
    }

    /// The boundaries found so far, newest first: complete behind and including the last.
    pub(crate) fn boundaries(&self) -> &[usize] {
        &self.boundaries
    }

    /// What stands before this index was not pushed yet.
    pub(crate) fn unseen(&self) -> usize {
        self.end - self.stretch.len() - self.run.len()
    }

    /// Takes the next older message: its role and its ties. O(1) for a history whose results stand behind their calls.
    pub(crate) fn push(&mut self, role: Role, ties: &mut Vec<Tie<T>>) {
        if role.is_result() {
            self.run.extend(ties.pop());
        } else if self.stretch.is_empty() && self.has_answers_in_order(ties) {
            self.end -= self.run.len() + 1;
            self.boundaries.push(self.end);
            self.run.clear();
        } else {
            self.push_slowly(role, ties);
        }
    }

    /// Whether the run is one result for each call, in order; so it is for a message that neither calls nor is called.
    fn has_answers_in_order(&self, calls: &[Tie<T>]) -> bool {
        self.run.len() == calls.len()
            && self
                .run
                .iter()
                .rev()
                .zip(calls)
                .all(|(result, call)| result.family == call.family && same_id(result, call))
    }

    /// The same for any run.
    fn push_slowly(&mut self, role: Role, ties: &mut Vec<Tie<T>>) {
        let run = std::mem::take(&mut self.run);
        let oldest_first: Vec<&Tie<T>> = run.iter().rev().collect();
        let (answers, _) = match_run(ties, &oldest_first);
        for (result, answer) in oldest_first.iter().zip(answers) {
            if answer.is_none() {
                self.pending.extend(id_of(result));
            }
        }
        // A call of an id, answered or not, hides every older one from the results behind it.
        for id in ties.iter().filter_map(id_of) {
            self.pending.remove(&id);
        }
        self.stretch.extend(run.into_iter().map(Links::Result));
        self.stretch.push(Links::of(role, ties));
        if self.pending.is_empty() {
            self.settle();
        }
    }

    /// Says that there is no older message: what is still open is settled as it stands.
    pub(crate) fn finish(&mut self) {
        self.stretch.extend(self.run.drain(..).map(Links::Result));
        if !self.stretch.is_empty() {
            self.settle();
        }
    }

    /// Turns the open stretch into boundaries.
    fn settle(&mut self) {
        let start = self.end - self.stretch.len();
        let links: Vec<&Links<T>> = self.stretch.iter().rev().collect();
        let inner = inner_boundaries(&links);
        self.boundaries
            .extend(inner.into_iter().rev().map(|i| start + i));
        self.boundaries.push(start);
        self.end = start;
        self.stretch.clear();
        self.pending.clear();
    }
}

/// Boundaries of a stretch behind its first message, oldest first.
fn inner_boundaries<T: Text>(links: &[&Links<T>]) -> Vec<usize> {
    let pairing = pair(links);
    // For each message, the latest result that is welded to a call at or before it.
    let mut welded_to = vec![0; links.len()];
    for (j, answer) in pairing.answers.iter().enumerate() {
        if let Answer::Late(call) = *answer {
            welded_to[call] = welded_to[call].max(j);
        }
    }
    let mut weld = welded_to[0];
    let mut boundaries = Vec::new();
    for (i, &reach) in welded_to.iter().enumerate().skip(1) {
        if i > weld && pairing.answers[i] == Answer::NoResult {
            boundaries.push(i);
        }
        weld = weld.max(reach);
    }
    boundaries
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
            Cow::Borrowed("x")
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

        fn tie(&mut self) -> Tie<Id> {
            let legacy = self.below(6) == 0;
            let id = (!legacy && self.below(5) > 0).then(|| Id(usize::from(self.below(2) == 0)));
            let family = if legacy { Family::Legacy } else { Family::Tool };
            Tie { family, id }
        }

        fn links(&mut self) -> Links<Id> {
            match self.below(5) {
                0 => Links::None,
                1 => Links::Calls((0..=self.below(3)).map(|_| self.tie()).collect()),
                _ => Links::Result(self.tie()),
            }
        }
    }

    /// Boundaries as section 4 defines them, newest first.
    fn naive(links: &[&Links<Id>]) -> Vec<usize> {
        let answers = pair(links).answers;
        let welded = |i: usize| {
            (i..links.len()).any(|j| matches!(answers[j], Answer::Late(call) if call < i))
        };
        (0..links.len())
            .rev()
            .filter(|&i| i == 0 || (answers[i] == Answer::NoResult && !welded(i)))
            .collect()
    }

    #[test]
    fn backward_finds_the_boundaries_of_the_forward_walk() {
        for seed in 0..20_000_usize {
            let mut random = Random(seed as u64);
            let len = 1 + seed % 12;
            let links: Vec<Links<Id>> = (0..len).map(|_| random.links()).collect();
            let mut backward = Backward::new(len);
            let all = naive(&links.iter().collect::<Vec<_>>());
            for (i, link) in links.iter().enumerate().rev() {
                let (role, mut ties) = match link.clone() {
                    Links::None => (Role::User, Vec::new()),
                    Links::Calls(calls) => (Role::Assistant, calls),
                    Links::Result(tie) => (Role::Tool, vec![tie]),
                };
                backward.push(role, &mut ties);
                // Whatever has been found is final, and nothing is left out before the last of it.
                let found = backward.boundaries();
                assert_eq!(found, &all[..found.len()], "seed {seed} at {i}: {links:?}");
            }
            backward.finish();
            assert_eq!(backward.boundaries(), all, "seed {seed}: {links:?}");
            assert_eq!(backward.unseen(), 0);
        }
    }
}
