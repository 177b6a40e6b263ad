//! `langchain`: message objects, and what they are written to. `docs/formats/langchain.md`.

mod blocks;
mod calls;
mod glance;

use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie, Turn};
use crate::format::chat::turn_of;
use crate::format::{
    Flaw, Marks, Reading, STRING_OR_NULL, Sink, Wire, id_at, misfit, no_message, string, text_at,
    wrong_word_at,
};
use crate::plan::{Path, Step};
use crate::value::{Key, Lent, Text, Value};

use calls::Calls;

/// `LangChain`.
pub(crate) struct Langchain;

const KINDS: &str = "one of human, ai, system, developer, tool, function, chat";

impl Wire for Langchain {
    const MERGES: bool = false;
    const INSISTS_ON_USER: bool = true;

    fn turn<V: Value>(message: &V) -> Result<Turn, ReadError> {
        match role_at_a_glance(message) {
            Some(role) => Ok(turn_of(role)),
            None => Ok(find(message)?.turn()),
        }
    }

    fn links<V: Value>(message: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
        if !matches!(turn, Turn::Model | Turn::Result) {
            return Ok(());
        }
        match find(message) {
            Ok(found) => link(&found, links),
            Err(_) => Ok(()),
        }
    }

    fn read<V: Value>(message: &V, sink: &mut Sink<'_, '_, V>) -> Result<Turn, ReadError> {
        let found = find(message)?;
        let record = &found.record;
        sink.meter.message(found.role)?;
        match found.turn() {
            Turn::Result => {
                sink.meter.result();
                blocks::result(&found, sink)?;
            }
            Turn::Model => {
                let calls = Calls::of(record)?;
                blocks::said(&found, calls.is_some(), sink)?;
                if let Some(calls) = calls {
                    calls.read(&found, sink.meter)?;
                    calls.link(&mut sink.links.calls)?;
                }
            }
            _ => blocks::said(&found, false, sink)?,
        }
        // A result's is its tool's.
        if sink.how.names
            && found.turn() != Turn::Result
            && let Some(name) = id_at(record, Key::Name)?
        {
            sink.meter.name(&name)?;
        }
        if found.role == Role::Tool
            && let Some(id) = record.get(Key::ToolCallId)?
        {
            string(&id, || found.at("tool_call_id"), STRING_OR_NULL)?;
        }
        if found.turn() != Turn::Model {
            link(&found, sink.links)?;
        }
        Ok(found.turn())
    }

    fn glance<V: Value>(
        message: &V,
        how: Reading,
        links: &mut Links<V::Text>,
    ) -> Option<(Turn, u64)> {
        glance::glance(message, how, links)
    }

    fn notice_path<V: Value>(message: &V) -> Result<Option<Path>, Foreign> {
        let under = find(message).ok().and_then(|found| found.under);
        let mut path: Path = under.into_iter().map(Step::from).collect();
        path.push(Key::Content.into());
        Ok(Some(path))
    }

    fn carries<V: Value>(message: &V, notice: &str) -> Result<bool, Foreign> {
        let Ok(found) = find(message) else {
            return Ok(false);
        };
        let content = text_at(&found.record, Key::Content)?;
        Ok(content.is_some_and(|content| content.as_str() == notice))
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
        if turn == Turn::User {
            let content = found.record.get(Key::Content)?;
            let is_empty = content.is_none_or(|content| {
                content.list() == Some(0) || content.text().is_some_and(|text| text.chars() == 0)
            });
            if is_empty {
                flaws.push(Flaw::new("missing_content", "it has no content"));
            }
        }
        let mut ties = links.calls.iter().chain(&links.results);
        if ties.any(|tie| tie.family == Family::Tool && tie.id.is_none()) {
            flaws.push(Flaw::new("missing_id", "a call or a result has no id"));
        }
        Ok(0)
    }
}

/// A message where it was found.
struct Found<V> {
    role: Role,
    /// What holds its fields.
    record: V,
    /// The key under which that stands, if it is not the message itself.
    under: Option<Key>,
}

impl<V> Found<V> {
    const fn turn(&self) -> Turn {
        turn_of(self.role)
    }

    /// A place, for an error.
    fn at(&self, place: &str) -> String {
        match self.under {
            Some(key) => format!("{}.{place}", key.name()),
            None => place.to_owned(),
        }
    }

    /// A place, for an edit.
    fn path(&self, path: Path) -> Path {
        self.under.map(Step::Key).into_iter().chain(path).collect()
    }
}

/// What a message is, by its type, its role or the name of its class.
#[derive(Clone, Copy)]
enum Kind {
    Is(Role),
    /// Its role says what it is.
    Chat,
    /// No message: it says that one is to be removed.
    Remove,
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        let word = word.strip_suffix("Chunk").unwrap_or(word);
        Some(match word.strip_suffix("Message").unwrap_or(word) {
            "human" | "Human" | "user" => Self::Is(Role::User),
            "ai" | "AI" | "assistant" => Self::Is(Role::Assistant),
            "system" | "System" => Self::Is(Role::System),
            "developer" | "Developer" => Self::Is(Role::Developer),
            "tool" | "Tool" => Self::Is(Role::Tool),
            "function" | "Function" => Self::Is(Role::Function),
            "chat" | "Chat" | "generic" => Self::Chat,
            "remove" | "Remove" => Self::Remove,
            _ => return None,
        })
    }

    /// The kind that a value names.
    fn named<V: Value>(value: Option<&V>) -> Option<Self> {
        value.and_then(Value::word).as_deref().and_then(Self::of)
    }
}

/// The role of a message that names it by its type and is not written as its constructor, as [`find`] would find it.
fn role_at_a_glance<V: Value>(message: &V) -> Option<Role> {
    let (mut kind, mut constructed) = (None, false);
    message.look(|key, value| {
        match key {
            Key::Type => kind = value.word(Kind::of),
            Key::Lc => constructed = !value.is_null(),
            _ => {}
        }
        !constructed
    });
    match kind {
        Some(Kind::Is(role)) if !constructed => Some(role),
        _ => None,
    }
}

/// Finds what a message is, and its fields.
fn find<V: Value>(message: &V) -> Result<Found<V>, ReadError> {
    if !message.is_record() {
        return Err(no_message(message));
    }
    let mut fields = [const { None }; 4];
    message.fields(&[Key::Type, Key::Role, Key::Lc, Key::Content], &mut fields)?;
    let [kind, role, lc, content] = &fields;
    if lc.is_some() {
        return constructed(message);
    }
    let (kind, word) = match Kind::named(kind.as_ref()) {
        Some(known) => (known, kind),
        None if role.is_some() => match Kind::named(role.as_ref()) {
            Some(known) => (known, role),
            None => return Err(wrong_word_at("role", role.as_ref(), KINDS)),
        },
        None => return Err(wrong_word_at("type", kind.as_ref(), KINDS)),
    };
    let data = match content {
        Some(_) => None,
        None => message.get(Key::Data)?.filter(Value::is_record),
    };
    let under = data.is_some().then_some(Key::Data);
    let record = data.unwrap_or_else(|| message.clone());
    let role = role_of(kind, &record, "type", word.as_ref())?;
    Ok(Found {
        role,
        record,
        under,
    })
}

/// A message as its constructor: `{lc, type, id, kwargs}`, where the last of `id` is its class.
fn constructed<V: Value>(message: &V) -> Result<Found<V>, ReadError> {
    let kwargs = message.get(Key::Kwargs)?;
    let Some(record) = kwargs.clone().filter(Value::is_record) else {
        let expected = "a mapping with the fields of the message";
        return Err(ReadError::Misfit(misfit(
            "kwargs",
            kwargs.as_ref(),
            expected,
        )));
    };
    let id = message.get(Key::Id)?;
    let class = id
        .as_ref()
        .and_then(|id| id.item(id.list()?.checked_sub(1)?));
    let Some(kind) = Kind::named(class.as_ref()) else {
        let expected = "a list that ends in the class of a message";
        return Err(wrong_word_at(
            "id",
            class.as_ref().or(id.as_ref()),
            expected,
        ));
    };
    Ok(Found {
        role: role_of(kind, &record, "id", class.as_ref())?,
        record,
        under: Some(Key::Kwargs),
    })
}

/// The role of a message; `word`, at `path`, names its kind.
fn role_of<V: Value>(
    kind: Kind,
    record: &V,
    path: &str,
    word: Option<&V>,
) -> Result<Role, ReadError> {
    match kind {
        Kind::Is(role) => Ok(role),
        // Any word may be the role of such a one; what is no other's is somebody who speaks to the model.
        Kind::Chat => Ok(match Kind::named(record.get(Key::Role)?.as_ref()) {
            Some(Kind::Is(role)) => role,
            _ => Role::User,
        }),
        Kind::Remove => {
            let expected = "a message, not the command to remove one";
            Err(wrong_word_at(path, word, expected))
        }
    }
}

/// The ties of a message.
fn link<V: Value>(found: &Found<V>, links: &mut Links<V::Text>) -> Result<(), Foreign> {
    let record = &found.record;
    match found.role {
        Role::Tool => {
            let id = id_at(record, Key::ToolCallId)?;
            links.results.push(Tie::new(Family::Tool, id));
        }
        Role::Function => links.results.push(Tie::new(Family::Legacy, None)),
        Role::Assistant => {
            if let Some(calls) = Calls::of(record)? {
                calls.link(&mut links.calls)?;
            }
        }
        _ => {}
    }
    Ok(())
}
