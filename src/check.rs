//! `check`: every breach of the format's rules. `docs/rules.md`, section 9.

use rustc_hash::FxHashMap;

use crate::cost::{FIGURES, Meter};
use crate::cut::{Reader, TextOf};
use crate::error::Error;
use crate::facts::{Family, Links, Turn};
use crate::format::Lead;
use crate::format::{self, Flaw, Format, REFERS, Reading, Seen, Shorten, Sink};
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
    let wire = Reader::new(history, format, history.fallback())?;
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
    for (index, flaw) in duplicates(&steps, wire.format.merges()) {
        add(index, flaw);
    }
    // What is referred to may be the call.
    let refers = seen.iter().position(|seen| seen.marks & REFERS != 0);
    let seen_whole = refers.unwrap_or(seen.len());
    for (index, flaw) in pairs(&steps, wire.format, seen_whole) {
        add(index, flaw);
    }
    violations.sort_by_key(|violation| {
        let rank = CODES.iter().position(|&code| code == violation.code);
        (violation.index, rank)
    });
    Ok(violations)
}

/// Every code, in the order in which those of one message are listed.
const CODES: [&str; 25] = [
    "empty_history",
    "first_not_user",
    "repeated_role",
    "missing_content",
    "blank_text",
    "empty_part",
    "missing_summary",
    "empty_tool_calls",
    "mixed_calls",
    "misplaced_system",
    "misplaced_block",
    "misplaced_trigger",
    "text_before_result",
    "document_without_text",
    "reasoning_without_follower",
    "too_many_cache_marks",
    "missing_id",
    "invalid_id",
    "duplicate_id",
    "media_in_result",
    "empty_result",
    "unanswered_call",
    "pending_call",
    "late_result",
    "orphan_result",
];

/// The ids of some steps.
fn ids<'t, T: Text + 't>(steps: impl Iterator<Item = &'t Step<T>>) -> Vec<String> {
    steps
        .filter_map(|step| step.call().or(step.result())?.id.as_ref())
        .map(|id| id.as_str().into_owned())
        .collect()
}

/// Ids that calls of one turn share, each once, at the message in which it comes again.
fn duplicates<T: Text>(steps: &[Step<T>], merges: bool) -> Vec<(usize, Flaw)> {
    let mut found = Vec::new();
    let mut seen: FxHashMap<(Family, String), usize> = FxHashMap::default();
    for (k, message) in by_message(steps) {
        let goes_on = merges && k > 0 && steps[k - 1].turn == Turn::Model;
        if message[0].turn != Turn::Model || !goes_on {
            seen.clear();
        }
        let again = message.iter().filter(|step| {
            let call = step.call();
            let key =
                call.and_then(|call| Some((call.family, call.id.as_ref()?.as_str().into_owned())));
            key.is_some_and(|key| {
                let times = seen.entry(key).or_insert(0);
                *times += 1;
                *times == 2
            })
        });
        let ids = ids(again);
        if !ids.is_empty() {
            let flaw = Flaw::with(
                "duplicate_id",
                "two calls of one turn have the same id",
                ids,
            );
            found.push((message[0].at, flaw));
        }
    }
    found
}

/// The steps of each message, with the place of the first.
fn by_message<T>(steps: &[Step<T>]) -> impl Iterator<Item = (usize, &[Step<T>])> {
    let mut begin = 0;
    steps.chunk_by(|a, b| a.at == b.at).map(move |message| {
        let first = begin;
        begin += message.len();
        (first, message)
    })
}

/// What pairing finds: calls without a result, results away from their call, or, among the first `seen_whole` messages, without one.
fn pairs<T: Text>(steps: &[Step<T>], format: Format, seen_whole: usize) -> Vec<(usize, Flaw)> {
    // A head holds neither calls nor results, so the walk over everything is the walk over the body.
    let pairing = pair(steps, format.merges());
    // Behind this step stand only results: calls that reach it may still be answered.
    let live = steps
        .iter()
        .rposition(|step| step.turn != Turn::Result)
        .unwrap_or(0);
    let is_late = |k: usize| match pairing.answers[k] {
        Answer::Late(call) => {
            let between = &steps[call.min(k)..k];
            let family = steps[k].result()?.family;
            let takes_late = format.takes_late(family);
            let of_server = matches!(family, Family::Server | Family::Mcp);
            // A provider answers its own call once the client has answered those beside it, or those that it made.
            let waited = pairing.callers.contains(&call)
                || (of_server && between.iter().all(|step| step.turn != Turn::User));
            (!takes_late && !waited).then_some(call)
        }
        _ => None,
    };
    let mut found = Vec::new();
    for (first, message) in by_message(steps) {
        let places = || first..first + message.len();
        let at = message[0].at;
        let mut add = |code, what: String, places: Vec<usize>| {
            let ids = ids(places.iter().map(|&k| &steps[k]));
            let message = what.into();
            found.push((at, Flaw { code, message, ids }));
        };
        let dead: Vec<usize> = places()
            .filter(|k| pairing.unanswered.binary_search(k).is_ok())
            .collect();
        if !dead.is_empty() {
            let all = message.iter().filter(|step| step.call().is_some()).count();
            let pending = dead.iter().any(|&k| pairing.until[k] >= live);
            let (code, what) = if pending {
                ("pending_call", "no result yet")
            } else {
                ("unanswered_call", "no result")
            };
            add(
                code,
                format!("{} of its {all} calls have {what}", dead.len()),
                dead,
            );
        }
        let late: Vec<usize> = places().filter(|&k| is_late(k).is_some()).collect();
        if let Some(call) = late.first().and_then(|&k| is_late(k)) {
            let call = steps[call].at;
            let what = format!(
                "a result answers a call of messages[{call}], but does not stand right behind it"
            );
            add("late_result", what, late);
        }
        let orphans: Vec<usize> = places()
            .filter(|&k| at < seen_whole && pairing.answers[k] == Answer::Orphan)
            .collect();
        if !orphans.is_empty() {
            add(
                "orphan_result",
                "a result answers no call".to_owned(),
                orphans,
            );
        }
    }
    found
}
