//! `pydantic-ai`: `ModelRequest` and `ModelResponse`, as objects or as their JSON. `docs/formats/pydantic-ai.md`.

mod glance;
mod inspect;
mod media;
mod parts;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::{
    Block, Flaw, Lead, Marks, Reading, Seen, Sink, Wire, id_at, misfit, records, word_at,
    wrong_word,
};
use crate::plan::{PartCut, Path, to};
use crate::value::{Key, Value};

/// Histories of pydantic-ai.
pub(crate) struct PydanticAi;

impl Wire for PydanticAi {
    const MERGES: bool = true;
    const INSISTS_ON_USER: bool = true;
    const BLOCK: Block = Block::Text;

    /// Those of the provider's own tools the library leaves wherever they stand.
    fn takes_late(family: Family) -> bool {
        family == Family::Server
    }

    fn role<V: Value>(message: &V) -> Result<(), ReadError> {
        is_request(message).map(|_| ())
    }

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        Ok(if is_request(message)? {
            turn_of(message.get(Key::Parts)?.as_ref())?
        } else {
            Turn::Model
        })
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if matches!(turn, Turn::Result | Turn::Model) {
            for part in records(message.get(Key::Parts)?.as_ref()) {
                link(&part, tied(&part)?, turn, links)?;
            }
        }
        Ok(())
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let is_request = is_request(message)?;
        let parts = message.get(Key::Parts)?;
        let turn = if is_request {
            turn_of(parts.as_ref())?
        } else {
            Turn::Model
        };
        sink.meter.message(match turn {
            Turn::Model => Role::Assistant,
            Turn::System => Role::System,
            _ if sink.how.lead == Lead::Only => Role::System,
            _ => Role::User,
        })?;
        let Some(parts) = parts else {
            return Ok(turn);
        };
        let Some(len) = parts.list() else {
            let expected = "a list of parts";
            return Err(ReadError::Misfit(misfit("parts", Some(&parts), expected)));
        };
        for k in 0..len {
            let Some(part) = parts.item(k) else { break };
            if sink.how.lead != Lead::Only || is_system(&part)? {
                parts::read(&part, k, turn, sink)?;
            }
        }
        sink.has_parts(len);
        Ok(turn)
    }

    fn glance<V: Value>(
        message: &V,
        how: Reading,
        links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        glance::glance(message, how, links)
    }

    fn notice_path<V: Value>(message: &V) -> Result<Option<Path>, Foreign> {
        let parts = message.get(Key::Parts)?;
        let mut place = None;
        for k in 0..parts.as_ref().and_then(Value::list).unwrap_or(0) {
            let part = parts.as_ref().and_then(|parts| parts.item(k));
            let Some(part) = part.filter(Value::is_record) else {
                continue;
            };
            match kind(&part)? {
                Kind::Prompt => {
                    place = Some(k);
                    break;
                }
                // Where the library itself speaks for the user, and in one text.
                Kind::Retry | Kind::Feedback if place.is_none() => {
                    let content = part.get(Key::Content)?;
                    place = content.and_then(|content| content.text()).map(|_| k);
                }
                _ => {}
            }
        }
        // Nowhere: what the user says is no text.
        Ok(place.map(|k| to![Key::Parts, k, Key::Content]))
    }

    fn lead<V: Value>(message: &V) -> Result<Option<Vec<PartCut>>, Foreign> {
        let Some(parts) = message.get(Key::Parts)? else {
            return Ok(None);
        };
        let len = parts.list().unwrap_or(0);
        let mut cuts = Vec::new();
        for k in 0..len {
            let Some(part) = parts.item(k) else { break };
            if !is_system(&part)? {
                cuts.push(PartCut::new(to![Key::Parts, k], None));
            }
        }
        Ok((cuts.len() < len && !cuts.is_empty()).then_some(cuts))
    }

    fn inspect<V: Value>(
        message: &V,
        turn: Turn,
        links: &Links<V::Text>,
        flaws: &mut Vec<Flaw>,
    ) -> Result<Marks, Foreign> {
        inspect::inspect(message, turn, links, flaws)
    }

    fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
        inspect::order(seen)
    }
}

/// Whether a message is a request; else it is a response.
fn is_request<V: Value>(message: &V) -> Result<bool, ReadError> {
    if !message.is_record() {
        let expected = "a mapping or an object with a kind";
        return Err(ReadError::Misfit(misfit("", Some(message), expected)));
    }
    let named = |kind: &str| match kind {
        "request" => Some(true),
        "response" => Some(false),
        _ => None,
    };
    if let Some(is_request) = word_at(message, Key::Kind, named)? {
        return Ok(is_request);
    }
    let kind = message.get(Key::Kind)?;
    Err(wrong_word(
        Key::Kind,
        kind.as_ref(),
        "one of request, response",
    ))
}

/// Parts of which more is known than their texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    System,
    Prompt,
    Return,
    Retry,
    Feedback,
    Text,
    Thinking,
    Call,
    ServerCall,
    ServerReturn,
    File,
    Speech,
    Compaction,
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "system-prompt" => Self::System,
            "user-prompt" => Self::Prompt,
            "tool-return" => Self::Return,
            "retry-prompt" => Self::Retry,
            "retry-feedback" => Self::Feedback,
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "tool-call" => Self::Call,
            "builtin-tool-call" => Self::ServerCall,
            "builtin-tool-return" => Self::ServerReturn,
            "file" => Self::File,
            "speech" => Self::Speech,
            "compaction" => Self::Compaction,
            _ => Self::Other,
        }
    }
}

/// The kind of a part.
fn kind<V: Value>(part: &V) -> Result<Kind, Foreign> {
    let kind = part.get(Key::PartKind)?;
    let kind = kind.as_ref().and_then(Value::word);
    Ok(kind.map_or(Kind::Other, |kind| Kind::of(&kind)))
}

/// Whether a part instructs.
fn is_system<V: Value>(part: &V) -> Result<bool, Foreign> {
    Ok(part.is_record() && kind(part)? == Kind::System)
}

/// What a request is, by its parts.
fn turn_of<V: Value>(parts: Option<&V>) -> Result<Turn, Foreign> {
    let (mut instructs, mut converses) = (false, false);
    for part in records(parts) {
        if tied(&part)? == Some(Tied::Result) {
            return Ok(Turn::Result);
        }
        let system = is_system(&part)?;
        instructs |= system;
        converses |= !system;
    }
    Ok(if instructs && !converses {
        Turn::System
    } else {
        Turn::User
    })
}

/// Parts that call or answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tied {
    Call,
    Result,
    ServerCall,
    ServerResult,
}

/// What a part calls or answers, if it does: a retry that names no tool answers nothing.
fn tied<V: Value>(part: &V) -> Result<Option<Tied>, Foreign> {
    Ok(Some(match kind(part)? {
        Kind::Call => Tied::Call,
        Kind::Return => Tied::Result,
        Kind::Retry if id_at(part, Key::ToolName)?.is_some() => Tied::Result,
        Kind::ServerCall => Tied::ServerCall,
        Kind::ServerReturn => Tied::ServerResult,
        _ => return Ok(None),
    }))
}

/// The tie of a part into `links`, where it stands in a message in which it counts.
fn link<V: Value>(
    part: &V,
    tied: Option<Tied>,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    let Some(tied) = tied else {
        return Ok(());
    };
    let id = id_at(part, Key::ToolCallId)?;
    match (tied, turn) {
        (Tied::Call, Turn::Model) => links.calls.push(Tie::new(Family::Tool, id)),
        (Tied::ServerCall, Turn::Model) => links.calls.push(Tie::new(Family::Server, id)),
        (Tied::Result, Turn::Result) => links.results.push(Tie::new(Family::Tool, id)),
        (Tied::ServerResult, Turn::Model) => links.settle(Tie::new(Family::Server, id)),
        _ => {}
    }
    Ok(())
}
