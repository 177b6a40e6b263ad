//! `check`: every breach of the format's rules. `docs/rules.md`, section 9.

use rustc_hash::FxHashMap;

use crate::cost::{FIGURES, Meter};
use crate::cut::{Reader, TextOf};
use crate::error::Error;
use crate::facts::{Family, Links, Turn};
use crate::format::Lead;
use crate::format::{self, Flaw, Format, Reading, Seen, Shorten, Sink};
use crate::groups::{Answer, Step, pair, turn_end};
use crate::value::{History, Text};

/// One breach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A stable name.
    pub code: &'static str,
    /// The message's place.
    pub index: usize,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Ids of the calls concerned.
    pub ids: Vec<String>,
}

/// Every violation of the format's rules, in order of index. None: no provider of the format refuses the history.
///
/// `format`: `None` decides from the shape. O(messages).
///
/// # Errors
/// [`Error`]: a message that cannot be read, or what the caller's own code raised.
pub fn check<H: History>(history: &H, format: Option<Format>) -> Result<Vec<Violation>, Error> {
    let wire = Reader::new(history, format)?;
    wire.check_roles(history, 0, history.len())?;
    let mut violations = Vec::new();
    let mut add = |index, flaw: Flaw| {
        violations.push(Violation {
            code: flaw.code,
            index,
            message: flaw.message.into_owned(),
            ids: flaw.ids,
        });
    };
    if history.is_empty() {
        add(0, Flaw::new("empty_history", "the history has no message"));
    }
    let reading = Reading {
        auto: wire.auto,
        shorten: Shorten::Not,
        names: true,
        lead: Lead::All,
    };
    let mut steps: Vec<Step<TextOf<H>>> = Vec::with_capacity(history.len());
    let mut seen = Vec::with_capacity(history.len());
    let mut flaws = Vec::new();
    for index in 0..history.len() {
        let message = history.message(index)?;
        let mut meter = Meter::new(&FIGURES, None, None, false);
        let mut links = Links::default();
        let mut sink = Sink::new(reading, &mut meter, &mut links);
        let turn =
            format::read(wire.format, &message, &mut sink).map_err(|error| error.at(index))?;
        let marks = format::inspect(wire.format, &message, turn, &links, &mut flaws)?;
        for flaw in flaws.drain(..) {
            add(index, flaw);
        }
        seen.push(Seen { turn, marks });
        Step::push_all(&mut steps, index, turn, &mut links);
    }
    for (index, flaw) in format::order(wire.format, &seen) {
        add(index, flaw);
    }
    for (index, flaw) in duplicates(&steps, wire.format.merges()) {
        add(index, flaw);
    }
    for (index, flaw) in pairs(&steps, wire.format) {
        add(index, flaw);
    }
    violations.sort_by_key(|violation| violation.index);
    Ok(violations)
}

/// Ids that calls of one turn share, each once, with the message that brings it again.
fn duplicates<T: Text>(steps: &[Step<T>], merges: bool) -> Vec<(usize, Flaw)> {
    let mut times: FxHashMap<(Family, String), usize> = FxHashMap::default();
    let mut found: Vec<(usize, Flaw)> = Vec::new();
    let mut end = 0;
    for (k, step) in steps.iter().enumerate() {
        if k >= end {
            times.clear();
            end = turn_end(steps, k, merges).max(k + 1);
        }
        let Some((call, id)) = step.call().and_then(|call| Some((call, call.id.as_ref()?))) else {
            continue;
        };
        let id = id.as_str().into_owned();
        let times = times.entry((call.family, id.clone())).or_insert(0);
        *times += 1;
        if *times != 2 {
            continue;
        }
        match found.last_mut() {
            Some((index, flaw)) if *index == step.at => flaw.ids.push(id),
            _ => {
                let message = "two calls of the turn have the same id";
                found.push((step.at, Flaw::with("duplicate_id", message, vec![id])));
            }
        }
    }
    found
}

/// What pairing finds: calls without a result, results without a call or away from it.
fn pairs<T: Text>(steps: &[Step<T>], format: Format) -> Vec<(usize, Flaw)> {
    let (merges, late_is_sound) = (format.merges(), format.takes_late_results());
    // A head holds neither calls nor results, so the walk over everything is the walk over the body.
    let pairing = pair(steps, merges);
    let mut found = Vec::new();
    let live = live_end(steps, merges);
    let is_live = |index| live.is_some_and(|live| index >= live);
    // Of calls that make calls themselves, the last message that does so.
    let mut makes_until: FxHashMap<usize, usize> = FxHashMap::default();
    for (step, answer) in steps.iter().zip(&pairing.answers) {
        if let Answer::Made(call) = *answer {
            makes_until.insert(call, step.at);
        }
    }
    let makes = |k| makes_until.get(k).is_some_and(|&until| is_live(until));
    let at = |&k: &usize| steps[k].at;
    for calls in pairing.unanswered.chunk_by(|a, b| at(a) == at(b)) {
        let index = at(&calls[0]);
        let ids = calls
            .iter()
            .filter_map(|&k| steps[k].call()?.id.as_ref())
            .map(|id| id.as_str().into_owned())
            .collect();
        let all = steps
            .iter()
            .filter(|step| step.at == index && step.call().is_some())
            .count();
        let (code, what) = if is_live(index) || calls.iter().any(makes) {
            ("pending_call", "no result yet")
        } else {
            ("unanswered_call", "no result")
        };
        let message = format!("{} of its {all} calls have {what}", calls.len()).into();
        found.push((index, Flaw { code, message, ids }));
    }
    for (step, answer) in steps.iter().zip(&pairing.answers) {
        let family = step.result().map(|tie| tie.family);
        let (code, message) = match *answer {
            Answer::NoResult | Answer::InRun(_) | Answer::Made(_) => continue,
            // A call whose work includes other calls has its result behind theirs.
            Answer::Late(call) if makes_until.contains_key(&call) => continue,
            Answer::Late(_) if late_is_sound || family == Some(Family::Server) => continue,
            Answer::Late(call) => (
                "late_result",
                format!(
                    "it answers a call of messages[{}], but does not stand right behind it",
                    steps[call].at
                ),
            ),
            Answer::Orphan => ("orphan_result", "it answers no call".to_owned()),
        };
        let ids = step.result().and_then(|tie| tie.id.as_ref());
        let ids = ids.map(|id| id.as_str().into_owned()).into_iter().collect();
        let message = message.into();
        found.push((step.at, Flaw { code, message, ids }));
    }
    found
}

/// Where the turn begins behind which only its results stand: its calls may still be answered.
fn live_end<T>(steps: &[Step<T>], merges: bool) -> Option<usize> {
    let last = steps.iter().rposition(|step| step.turn != Turn::Result)?;
    if steps[last].turn != Turn::Model {
        return None;
    }
    let begin = steps[..=last]
        .iter()
        .rposition(|step| step.turn != Turn::Model || !(merges || step.at == steps[last].at));
    Some(steps[begin.map_or(0, |before| before + 1)].at)
}
