//! `pi`: messages of Pi and `OpenClaw`, bare or as the entries of a session's log. `docs/formats/pi.md`.

mod blocks;
mod glance;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::{
    Flaw, Marks, Reading, Sink, Wire, id_at, misfit, no_message, records, text_at, word_at,
    wrong_word_at,
};
use crate::plan::{Path, to};
use crate::value::{Key, Text, Value};

/// Pi and `OpenClaw`.
pub(crate) struct Pi;

const ROLES: &str =
    "one of user, assistant, toolResult, bashExecution, custom, branchSummary, compactionSummary";

const ENTRIES: &str = "one of message, compaction, branch_summary, custom_message, custom, session, session_info, label, \
                       model_change, thinking_level_change";

impl Wire for Pi {
    const MERGES: bool = false;
    const INSISTS_ON_USER: bool = true;

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        // Nearly every message is a bare one, whose role says it all.
        if let Some(kind) = word_at(message, Key::Role, Kind::of)? {
            return Ok(kind.turn());
        }
        Ok(find(message)?.kind.turn())
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if !matches!(turn, Turn::Model | Turn::Result) {
            return Ok(());
        }
        let nested = message.get(Key::Role)?.is_none();
        let inner = if nested {
            message.get(Key::Message)?
        } else {
            None
        };
        link(inner.as_ref().unwrap_or(message), turn, links)
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let found = find(message)?;
        blocks::read(&found, sink)?;
        Ok(found.kind.turn())
    }

    fn glance<V: Value>(
        message: &V,
        how: Reading,
        links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        glance::glance(message, how, links)
    }

    fn notice_path<V: Value>(message: &V) -> Result<Option<Path>, Foreign> {
        let Ok(found) = find(message) else {
            return Ok(Some(to![Key::Content]));
        };
        let key = match found.kind {
            Kind::Summary => Key::Summary,
            // What Pi says of a command that was run has no room for it.
            Kind::Bash => return Ok(None),
            _ => Key::Content,
        };
        Ok(Some(if found.nested {
            to![Key::Message, key]
        } else {
            to![key]
        }))
    }

    fn inspect<V: Value>(
        message: &V,
        turn: Turn,
        links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign> {
        let Ok(found) = find(message) else {
            return Ok(0);
        };
        if turn == Turn::User && is_empty(&found)? {
            flaws.push(Flaw::new("missing_content", "it has no content"));
        }
        let mut ties = links.calls.iter().chain(&links.results);
        if ties.any(|tie| tie.id.is_none()) {
            flaws.push(Flaw::new("missing_id", "a call or a result has no id"));
        }
        Ok(0)
    }
}

/// What a message, or an entry, is to Pi.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What the user says, and what an extension says in the user's place.
    User,
    Assistant,
    Result,
    /// A command that the user ran.
    Bash,
    /// A summary of what was compacted, or of a branch that was left.
    Summary,
    /// What is not sent to a provider: an entry of the log, a command that the user kept to themselves.
    Unsent,
}

impl Kind {
    /// What a role alone says.
    fn of(role: &str) -> Option<Self> {
        Some(match role {
            "user" | "custom" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::Result,
            "branchSummary" | "compactionSummary" => Self::Summary,
            _ => return None,
        })
    }

    const fn turn(self) -> Turn {
        match self {
            Self::User | Self::Bash | Self::Summary => Turn::User,
            Self::Assistant => Turn::Model,
            Self::Result => Turn::Result,
            Self::Unsent => Turn::System,
        }
    }
}

/// A message where it was found.
struct Found<V> {
    kind: Kind,
    /// What holds its fields.
    record: V,
    /// Whether that stands under `message` of an entry.
    nested: bool,
}

/// Finds the message in an entry, or in itself.
fn find<V: Value>(message: &V) -> Result<Found<V>, ReadError> {
    if !message.is_record() {
        return Err(no_message(message));
    }
    let mut fields = [const { None }; 2];
    message.fields(&[Key::Role, Key::Type], &mut fields)?;
    let [role, entry] = &fields;
    let Some(entry) = entry.as_ref().filter(|_| role.is_none()) else {
        return bare(message.clone(), role.as_ref(), false);
    };
    let kind = match entry.word().as_deref() {
        Some("message") => {
            let inner = message.get(Key::Message)?;
            let Some(inner) = inner.clone().filter(Value::is_record) else {
                let expected = "a mapping or an object with a role";
                return Err(ReadError::Misfit(misfit(
                    "message",
                    inner.as_ref(),
                    expected,
                )));
            };
            let role = inner.get(Key::Role)?;
            return bare(inner, role.as_ref(), true);
        }
        Some("compaction" | "branch_summary") => Kind::Summary,
        Some("custom_message") => Kind::User,
        Some(
            "custom"
            | "session"
            | "session_info"
            | "label"
            | "model_change"
            | "thinking_level_change",
        ) => Kind::Unsent,
        _ => return Err(wrong_word_at("type", Some(entry), ENTRIES)),
    };
    Ok(Found {
        kind,
        record: message.clone(),
        nested: false,
    })
}

/// A message with its role.
fn bare<V: Value>(record: V, role: Option<&V>, nested: bool) -> Result<Found<V>, ReadError> {
    let word = role.and_then(Value::word);
    let kind = match (word.as_deref(), word.as_deref().and_then(Kind::of)) {
        (_, Some(kind)) => kind,
        (Some("bashExecution"), _) if is_true(&record, Key::ExcludeFromContext)? => Kind::Unsent,
        (Some("bashExecution"), _) => Kind::Bash,
        _ => {
            let path = if nested { "message.role" } else { "role" };
            return Err(wrong_word_at(path, role, ROLES));
        }
    };
    Ok(Found {
        kind,
        record,
        nested,
    })
}

/// Whether what stands under a key is `true`.
fn is_true<V: Value>(record: &V, key: Key) -> Result<bool, Foreign> {
    let Some(value) = record.get(key)?.filter(|value| value.text().is_none()) else {
        return Ok(false);
    };
    Ok(value
        .compact_json()?
        .is_some_and(|json| json.as_str() == "true"))
}

/// Whether a turn of the model's broke off: it is not sent.
fn is_broken_off<V: Value>(record: &V) -> Result<bool, Foreign> {
    Ok(text_at(record, Key::StopReason)?
        .is_some_and(|reason| matches!(reason.as_str().as_ref(), "error" | "aborted")))
}

/// The ties of a message.
fn link<V: Value>(record: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
    match turn {
        Turn::Result => {
            let id = id_at(record, Key::ToolCallIdCamel)?;
            links.results.push(Tie::new(Family::Tool, id));
        }
        Turn::Model => {
            for block in records(record.get(Key::Content)?.as_ref()) {
                let kind = block.get(Key::Type)?;
                if kind.is_some_and(|kind| kind.word().is_some_and(|kind| kind == "toolCall")) {
                    let id = id_at(&block, Key::Id)?;
                    links.calls.push(Tie::new(Family::Tool, id));
                }
            }
        }
        Turn::System | Turn::Developer | Turn::User => {}
    }
    Ok(())
}

/// Whether a user turn says nothing.
fn is_empty<V: Value>(found: &Found<V>) -> Result<bool, Foreign> {
    let record = &found.record;
    let said = match found.kind {
        Kind::Summary => record.get(Key::Summary)?,
        Kind::Bash => record.get(Key::Command)?,
        _ => record.get(Key::Content)?,
    };
    Ok(said.is_none_or(|said| {
        said.list() == Some(0) || said.text().is_some_and(|text| text.chars() == 0)
    }))
}
