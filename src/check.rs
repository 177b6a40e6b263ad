//! `check`: every breach of the format's rules. `docs/rules.md`, section 9.

use crate::cut::{TextOf, check_roles};
use crate::error::Error;
use crate::facts::Links;
use crate::format::Format;
use crate::format::chat;
use crate::groups::{Answer, pair};
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

/// A breach that is seen in one message alone.
pub(crate) struct Flaw {
    pub code: &'static str,
    pub message: &'static str,
    pub ids: Vec<String>,
}

/// Every violation of the format's rules, in order of index. None: no provider of the format refuses the history.
///
/// `format`: `None` decides from the shape. O(messages).
///
/// # Errors
/// [`Error`]: a message that cannot be read, or what the caller's own code raised.
pub fn check<H: History>(history: &H, format: Option<Format>) -> Result<Vec<Violation>, Error> {
    let auto = format.is_none();
    check_roles(history, auto, 0, history.len())?;
    let mut violations = Vec::new();
    if history.is_empty() {
        let message = "the history has no message".to_owned();
        violations.push(Violation {
            code: "empty_history",
            index: 0,
            message,
            ids: Vec::new(),
        });
    }
    let mut links: Vec<Links<TextOf<H>>> = Vec::with_capacity(history.len());
    for index in 0..history.len() {
        let message = history.message(index)?;
        let (link, flaws) = chat::inspect(&message, auto).map_err(|error| error.at(index))?;
        links.push(link);
        violations.extend(flaws.into_iter().map(|flaw| Violation {
            code: flaw.code,
            index,
            message: flaw.message.to_owned(),
            ids: flaw.ids,
        }));
    }
    // A head holds neither calls nor results, so the walk over everything is the walk over the body.
    let pairing = pair(&links.iter().collect::<Vec<_>>());
    let live = links
        .iter()
        .rposition(|link| !matches!(link, Links::Result(_)));
    for pairs in pairing.unanswered.chunk_by(|a, b| a.0 == b.0) {
        let index = pairs[0].0;
        let Links::Calls(calls) = &links[index] else {
            continue;
        };
        let ids = pairs
            .iter()
            .filter_map(|&(_, k)| calls[k].id.as_ref())
            .map(|id| id.as_str().into_owned())
            .collect();
        let pending = live == Some(index);
        let (code, what) = if pending {
            ("pending_call", "no result yet")
        } else {
            ("unanswered_call", "no result")
        };
        let message = format!("{} of its {} calls have {what}", pairs.len(), calls.len());
        violations.push(Violation {
            code,
            index,
            message,
            ids,
        });
    }
    for (index, answer) in pairing.answers.iter().enumerate() {
        let (code, message) = match *answer {
            Answer::NoResult | Answer::InRun => continue,
            Answer::Late(call) => (
                "late_result",
                format!(
                    "it answers a call of messages[{call}], but does not stand right behind it"
                ),
            ),
            Answer::Orphan => ("orphan_result", "it answers no call".to_owned()),
        };
        let ids = match &links[index] {
            Links::Result(tie) => tie.id.iter().map(|id| id.as_str().into_owned()).collect(),
            _ => Vec::new(),
        };
        violations.push(Violation {
            code,
            index,
            message,
            ids,
        });
    }
    violations.sort_by_key(|violation| violation.index);
    Ok(violations)
}
