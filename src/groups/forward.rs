//! The walk forward: the definition of what answers what.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Answer, Side, Step, is_answer, keys, match_run};
use crate::facts::{Family, Tie, Turn};
use crate::value::Text;

/// The walk over a stretch of messages, oldest first.
#[derive(Default)]
pub(crate) struct Pairing {
    /// What each step answers.
    pub answers: Vec<Answer>,
    /// Steps with a call that got no result, in order.
    pub unanswered: Vec<usize>,
    /// For each step with a call the last step of what belongs to it: of its turn, or of that of the last call that it made.
    pub until: Vec<usize>,
    /// Calls that have made calls themselves, whose results theirs has to wait for.
    pub callers: FxHashSet<usize>,
    /// Steps whose messages must not be parted: from the first to the second.
    pub welds: Vec<(usize, usize)>,
}

/// Pairs results with calls in a stretch that no result leaves to the front. `merges`: messages of the model's in a row are one
/// turn. O(steps).
pub(crate) fn pair<T: Text>(steps: &[Step<T>], merges: bool) -> Pairing {
    let mut walk = Forward {
        steps,
        open: FxHashMap::default(),
        latest: FxHashMap::default(),
        closed: vec![false; steps.len()],
        found: Pairing {
            answers: vec![Answer::NoResult; steps.len()],
            until: (0..steps.len()).collect(),
            ..Pairing::default()
        },
    };
    let mut at = 0;
    while at < steps.len() {
        if steps[at].turn == Turn::Model {
            let end = turn_end(steps, at, merges);
            walk.turn(at, end);
            at = end;
        } else {
            walk.answer_from_afar(at);
            at += 1;
        }
    }
    walk.found.unanswered = (0..steps.len())
        .filter(|&k| !walk.closed[k] && steps[k].call().is_some_and(|call| !call.optional))
        .collect();
    walk.found
}

/// Where the turn that begins at step `begin` ends: a message of the model's, and all that follow where they are one turn.
fn turn_end<T>(steps: &[Step<T>], begin: usize, merges: bool) -> usize {
    let at = steps[begin].at;
    steps[begin..]
        .iter()
        .position(|step| step.turn != Turn::Model || !(merges || step.at == at))
        .map_or(steps.len(), |len| begin + len)
}

struct Forward<'s, T> {
    steps: &'s [Step<T>],
    /// Open calls by id; one with two ids stands here twice.
    open: FxHashMap<(Family, String), usize>,
    /// The newest call of each id.
    latest: FxHashMap<(Family, String), usize>,
    /// Calls that have been answered.
    closed: Vec<bool>,
    found: Pairing,
}

impl<T: Text> Forward<'_, T> {
    /// The open call that a result answers from further away, unless its run has paired it.
    fn answer_from_afar(&mut self, k: usize) {
        let Some(result) = self.steps[k].result() else {
            return;
        };
        if self.found.answers[k] != Answer::NoResult {
            return;
        }
        let call = keys(result).find_map(|key| {
            let call = self.open.remove(&key)?;
            (!self.closed[call]).then_some(call)
        });
        self.found.answers[k] = call.map_or(Answer::Orphan, |call| {
            self.closed[call] = true;
            self.found.welds.push((call, k));
            Answer::Late(call)
        });
    }

    /// A turn of the model's, and the run behind it.
    fn turn(&mut self, begin: usize, end: usize) {
        let steps = self.steps;
        let mut calls: Vec<(usize, &Tie<T>)> = Vec::new();
        for (k, step) in steps.iter().enumerate().take(end).skip(begin) {
            match &step.tie {
                Some(Side::Call(call)) => calls.push((k, call)),
                Some(Side::Result(result)) => self.answer_within(k, result, &calls),
                None => {}
            }
        }
        self.pair_run(&calls, end);
        self.bind_callers(&calls, end);
        // Opening an id anew closes an older open call for good; of two calls with one id the last is open.
        for key in calls.iter().flat_map(|(_, call)| keys(call)) {
            self.open.remove(&key);
        }
        for (k, call) in calls {
            if !self.closed[k] {
                self.open.extend(keys(call).map(|key| (key, k)));
            }
        }
    }

    /// A result that the provider gave itself: of a call of the same turn, else of an older one.
    fn answer_within(&mut self, k: usize, result: &Tie<T>, calls: &[(usize, &Tie<T>)]) {
        let own = calls
            .iter()
            .find(|(call, tie)| !self.closed[*call] && is_answer(result, tie));
        match own {
            Some(&(call, _)) => {
                self.closed[call] = true;
                self.found.answers[k] = Answer::InRun(call);
            }
            None => self.answer_from_afar(k),
        }
    }

    /// The results that stand directly behind a turn.
    fn pair_run(&mut self, calls: &[(usize, &Tie<T>)], end: usize) {
        let waiting: Vec<&(usize, &Tie<T>)> = calls
            .iter()
            .filter(|(call, _)| !self.closed[*call])
            .collect();
        let run: Vec<(usize, &Tie<T>)> = (end..self.steps.len())
            .take_while(|&k| self.steps[k].turn == Turn::Result)
            .filter_map(|k| Some((k, self.steps[k].result()?)))
            .collect();
        let (answers, _) = match_run(
            &waiting.iter().map(|(_, tie)| *tie).collect::<Vec<_>>(),
            &run.iter().map(|(_, tie)| *tie).collect::<Vec<_>>(),
        );
        for ((k, _), answer) in run.into_iter().zip(answers) {
            if let Some(call) = answer {
                let (call, _) = *waiting[call];
                self.closed[call] = true;
                self.found.answers[k] = Answer::InRun(call);
            }
        }
    }

    /// Calls that other calls made stay with them.
    fn bind_callers(&mut self, calls: &[(usize, &Tie<T>)], end: usize) {
        for &(k, call) in calls {
            self.found.until[k] = end - 1;
            self.latest.extend(keys(call).map(|key| (key, k)));
        }
        for &(k, call) in calls {
            let caller = call.caller();
            let caller = caller.map(|(family, id)| (*family, id.as_str().into_owned()));
            if let Some(&caller) = caller.and_then(|key| self.latest.get(&key)) {
                let until = &mut self.found.until[caller];
                *until = (*until).max(end - 1);
                self.found.callers.insert(caller);
                self.found.welds.push((caller.min(k), caller.max(k)));
            }
        }
    }
}
