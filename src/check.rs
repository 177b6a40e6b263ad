//! `check`: every breach of the format's rules. `docs/rules.md`, section 9.

use crate::cost::{FIGURES, Meter};
use crate::cut::{Reader, TextOf};
use crate::error::Error;
use crate::facts::{Family, Links, Turn};
use crate::format::Lead;
use crate::format::{self, Flaw, Format, Reading, Seen, Shorten, Sink};
use crate::groups::{Answer, Step, pair};
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
        let unsent = sink.unsent;
        if unsent {
            links.clear();
        }
        let marks = format::inspect(wire.format, &message, turn, &links, &mut flaws)?;
        for flaw in flaws.drain(..) {
            add(index, flaw);
        }
        seen.push(Seen { turn, marks });
        // What is no part of the conversation does not come between a call and its result.
        if !(unsent && turn.is_system()) {
            Step::push_all(&mut steps, index, turn, &mut links);
        }
    }
    for (index, flaw) in format::order(wire.format, &seen) {
        add(index, flaw);
    }
    for (index, flaw) in pairs(&steps, wire.format) {
        add(index, flaw);
    }
    violations.sort_by_key(|violation| violation.index);
    Ok(violations)
}

/// What pairing finds: calls without a result, results without a call or away from it.
fn pairs<T: Text>(steps: &[Step<T>], format: Format) -> Vec<(usize, Flaw)> {
    let (merges, late_is_sound) = (format.merges(), format.takes_late_results());
    // A head holds neither calls nor results, so the walk over everything is the walk over the body.
    let pairing = pair(steps, merges);
    let mut found = Vec::new();
    let live = live_end(steps, merges);
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
        let (code, what) = if live.is_some_and(|live| index >= live) {
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
            Answer::NoResult | Answer::InRun(_) => continue,
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
