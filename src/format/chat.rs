//! `openai-chat`: Chat Completions of `OpenAI` and its clones. `docs/rules.md`, section 1.

mod foreign;
mod inspect;
mod parts;

use crate::cap::{self, PartCut};
use crate::cost::{Media, Meter, place};
use crate::error::{Foreign, Misfit, ReadError};
use crate::facts::{Family, Links, Role, Tie, Ties};
use crate::format::misfit;
use crate::value::{Key, Text, Value};
use crate::window::Cap;

pub(crate) use inspect::inspect;
pub(crate) use parts::{NoticePlace, notice_place};

const ROLES: &str = "one of system, developer, user, assistant, tool, function";

/// The role of a message: all that is looked at where a message is not read.
pub(crate) fn role<V: Value>(message: &V, auto: bool) -> Result<Role, ReadError> {
    if !message.is_record() {
        return Err(ReadError::Misfit(misfit("", Some(message), "a mapping or an object with a role")));
    }
    let [role] = message.fields(&[Key::Role])?;
    role_of(message, role, auto)
}

/// The role that stands under `role`.
fn role_of<V: Value>(message: &V, value: Option<V>, auto: bool) -> Result<Role, ReadError> {
    let text = value.as_ref().and_then(Value::text);
    if let Some(role) = text.as_ref().and_then(|text| Role::of(&text.as_word())) {
        return Ok(role);
    }
    if auto && let Some(format) = foreign::by_role(message, text.as_ref())? {
        return Err(ReadError::NotThereYet(format));
    }
    let found = match (&value, text) {
        (None, _) => "nothing".to_owned(),
        (Some(value), Some(_)) => value.shown(),
        (Some(value), None) => value.type_name(),
    };
    Err(ReadError::Misfit(Misfit { path: "role".to_owned(), found, expected: ROLES }))
}

/// How observations are shortened.
#[derive(Clone, Copy)]
pub(crate) enum Shorten {
    Not,
    To(Cap),
    /// `ThenaJS`: this many characters, marker on top, and `tool` messages only.
    Thena(usize),
}

/// How a message is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Whether a part of another format is refused.
    pub auto: bool,
    pub shorten: Shorten,
}

/// What was read of a message.
pub(crate) struct Read<T> {
    pub role: Role,
    pub links: Links<T>,
    /// The cuts of a capped observation, and the characters that go with them.
    pub capped: Option<Box<Capped>>,
}

/// A shortened observation.
#[derive(Clone, Debug)]
pub(crate) struct Capped {
    pub cuts: Vec<PartCut>,
    /// Characters before the cap.
    pub from: u64,
    /// UTF-8 bytes before the cap; 0 unless they are measured.
    pub from_bytes: u64,
    /// Characters of its texts that are not cut at all.
    pub whole: u64,
    /// The same in UTF-8 bytes; 0 unless they are measured.
    pub whole_bytes: u64,
}

impl Capped {
    /// Characters that are left of the observation, markers included.
    pub(crate) fn chars(&self) -> u64 {
        self.cuts.iter().filter_map(|cut| cut.cut).map(|cut| cut.chars() as u64).sum::<u64>() + self.whole
    }

    /// What a grid takes the message for, whose sizes as sent are given: the observation counts as exactly the cap.
    pub(crate) fn measured(&self, cap: Cap, chars: u64, bytes: u64) -> (u64, u64) {
        let cap = cap.chars as u64;
        let scaled = u128::from(self.from_bytes) * u128::from(cap) / u128::from(self.from.max(1));
        // `bytes` has those texts that stayed whole; they are part of the observation, and so of `scaled`.
        (chars - self.chars() + cap, bytes - self.whole_bytes + u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// Reads a message: its role, its links to others, its cost into `meter`.
pub(crate) fn read<V: Value>(message: &V, how: Reading, meter: &mut Meter<'_, V::Text>) -> Result<Read<V::Text>, ReadError> {
    if !message.is_record() {
        return Err(ReadError::Misfit(misfit("", Some(message), "a mapping or an object with a role")));
    }
    let [role, content, tool_calls, tool_call_id, function_call, refusal, reasoning_content, reasoning, audio, name] =
        message.fields(&[
            Key::Role,
            Key::Content,
            Key::ToolCalls,
            Key::ToolCallId,
            Key::FunctionCall,
            Key::Refusal,
            Key::ReasoningContent,
            Key::Reasoning,
            Key::Audio,
            Key::Name,
        ])?;
    let role = role_of(message, role, how.auto)?;
    meter.message(role)?;
    let mut capped = None;
    let links = match role {
        Role::System | Role::Developer | Role::User => {
            if let Some(content) = content {
                parts::content(&content, false, how.auto, meter)?;
            }
            speaker(name, meter)?;
            Links::None
        }
        Role::Tool | Role::Function => {
            if let Some(content) = content {
                capped = observation(&content, role, how, meter)?;
            }
            speaker(name, meter)?;
            Links::Result(if role == Role::Tool {
                let id = tool_call_id.map(|id| string(&id, || "tool_call_id".to_owned(), STRING_OR_NULL)).transpose()?;
                Tie { family: Family::Tool, id: id.filter(|id| id.chars() > 0) }
            } else {
                Tie { family: Family::Legacy, id: None }
            })
        }
        Role::Assistant => {
            if let Some(content) = content {
                parts::content(&content, tool_calls.is_some(), how.auto, meter)?;
            }
            if let Some(refusal) = refusal {
                meter.text(&string(&refusal, || "refusal".to_owned(), STRING_OR_NULL)?)?;
            }
            for text in [reasoning_content, reasoning].into_iter().flatten().filter_map(|value| value.text()) {
                meter.text(&text)?;
            }
            if audio.is_some() {
                meter.media(Media::Audio);
            }
            speaker(name, meter)?;
            let mut ties = Ties::new();
            if let Some(calls) = tool_calls {
                self::tool_calls(&calls, &mut ties, meter)?;
            }
            if let Some(call) = function_call {
                function(&call, || "function_call".to_owned(), Key::Arguments, meter)?;
                ties.push(Tie { family: Family::Legacy, id: None });
            }
            if ties.is_empty() { Links::None } else { Links::Calls(ties) }
        }
    };
    Ok(Read { role, links, capped })
}

/// The links of a message alone, where nothing else of it is used: what is wrong with it does not matter.
pub(crate) fn links<V: Value>(message: &V, role: Role) -> Result<Links<V::Text>, Foreign> {
    let id = |value: Option<V>| value.and_then(|value| value.text()).filter(|id| id.chars() > 0);
    Ok(match role {
        Role::Tool => Links::Result(Tie { family: Family::Tool, id: id(message.get(Key::ToolCallId)?) }),
        Role::Function => Links::Result(Tie { family: Family::Legacy, id: None }),
        Role::Assistant => {
            let calls = message.get(Key::ToolCalls)?;
            let function_call = message.get(Key::FunctionCall)?;
            let mut ties = Ties::new();
            for k in 0..calls.as_ref().and_then(Value::list).unwrap_or(0) {
                let call = calls.as_ref().and_then(|calls| calls.item(k)).filter(Value::is_record);
                let id = match call {
                    Some(call) => id(call.get(Key::Id)?),
                    None => None,
                };
                ties.push(Tie { family: Family::Tool, id });
            }
            if function_call.is_some_and(|call| call.is_record()) {
                ties.push(Tie { family: Family::Legacy, id: None });
            }
            if ties.is_empty() { Links::None } else { Links::Calls(ties) }
        }
        Role::System | Role::Developer | Role::User => Links::None,
    })
}

const STRING_OR_NULL: &str = "a string or null";

/// The text of a value that must be one.
fn string<V: Value>(value: &V, path: impl Fn() -> String, expected: &'static str) -> Result<V::Text, ReadError> {
    value.text().ok_or_else(|| ReadError::Misfit(misfit(path(), Some(value), expected)))
}

/// A speaker's name: it costs tokens only.
#[inline]
fn speaker<V: Value>(name: Option<V>, meter: &mut Meter<'_, V::Text>) -> Result<(), ReadError> {
    if meter.counts_tokens()
        && let Some(name) = name
    {
        let name = string(&name, || "name".to_owned(), STRING_OR_NULL)?;
        if name.chars() > 0 {
            meter.name(&name)?;
        }
    }
    Ok(())
}

/// `tool_calls`: their ties, their cost.
fn tool_calls<V: Value>(calls: &V, ties: &mut Ties<V::Text>, meter: &mut Meter<'_, V::Text>) -> Result<(), ReadError> {
    let Some(len) = calls.list() else {
        return Err(ReadError::Misfit(misfit("tool_calls", Some(calls), "a list of calls or null")));
    };
    ties.reserve(len);
    for k in 0..len {
        let Some(call) = calls.item(k) else { break };
        let at = |inner: &'static str| move || place("tool_calls", k) + inner;
        if !call.is_record() {
            return Err(ReadError::Misfit(misfit(at("")(), Some(&call), CALL)));
        }
        let [id, function_said, custom_said] = call.fields(&[Key::Id, Key::Function, Key::Custom])?;
        let (said, kind, arguments) = match (function_said, custom_said) {
            (Some(said), _) => (said, ".function", Key::Arguments),
            (None, Some(said)) => (said, ".custom", Key::Input),
            (None, None) => return Err(ReadError::Misfit(misfit(at("")(), Some(&call), CALL))),
        };
        let id = id.map(|id| string(&id, at(".id"), STRING_OR_NULL)).transpose()?;
        function(&said, at(kind), arguments, meter)?;
        ties.push(Tie { family: Family::Tool, id: id.filter(|id| id.chars() > 0) });
    }
    Ok(())
}

const CALL: &str = "a mapping with function or custom";

/// What a call says: a name, and arguments or input.
fn function<V: Value>(call: &V, path: impl Fn() -> String, arguments: Key, meter: &mut Meter<'_, V::Text>) -> Result<(), ReadError> {
    if !call.is_record() {
        return Err(ReadError::Misfit(misfit(path(), Some(call), "a mapping with a name")));
    }
    let [name, said, input] = call.fields(&[Key::Name, Key::Arguments, Key::Input])?;
    let name = name.map(|name| string(&name, || path() + ".name", "a string")).transpose()?;
    meter.call(name.as_ref())?;
    if let Some(value) = if arguments == Key::Arguments { said } else { input } {
        match value.text() {
            Some(text) => meter.text(&text)?,
            None => match value.compact_json()? {
                Some(json) => meter.made(&json)?,
                None => {
                    let path = path() + "." + arguments.name();
                    return Err(ReadError::Misfit(misfit(path, Some(&value), "a string or a JSON value")));
                }
            },
        }
    }
    Ok(())
}

/// The content of a result, shortened if it is asked for and needed.
fn observation<V: Value>(content: &V, role: Role, how: Reading, meter: &mut Meter<'_, V::Text>) -> Result<Option<Box<Capped>>, ReadError> {
    let most = match how.shorten {
        Shorten::Not => None,
        Shorten::To(cap) => Some(cap.chars),
        Shorten::Thena(chars) => (role == Role::Tool).then_some(chars),
    };
    // The common case needs no list of texts: nothing is shortened, or a single text is short enough.
    let short = |most| content.text().is_some_and(|text| text.chars() <= most);
    if most.is_none_or(short) {
        parts::content(content, false, how.auto, meter)?;
        return Ok(None);
    }
    let texts = parts::observation_texts(content)?;
    let cuts = match how.shorten {
        Shorten::To(cap) => cap::cap(&texts, cap),
        Shorten::Thena(chars) => cap::cap_thena(&texts, chars),
        Shorten::Not => None,
    };
    let Some(cuts) = cuts else {
        parts::content(content, false, how.auto, meter)?;
        return Ok(None);
    };
    let whole = texts.iter().filter(|(part, _)| cuts.iter().all(|cut| cut.part != *part));
    let bytes = |texts: &mut dyn Iterator<Item = &(Option<usize>, V::Text)>, meter: &Meter<'_, V::Text>| {
        if meter.measures() { texts.map(|(_, text)| text.bytes() as u64).sum() } else { 0 }
    };
    let capped = Capped {
        from: texts.iter().map(|(_, text)| text.chars() as u64).sum(),
        from_bytes: bytes(&mut texts.iter(), meter),
        whole: whole.clone().map(|(_, text)| text.chars() as u64).sum(),
        whole_bytes: bytes(&mut whole.clone(), meter),
        cuts,
    };
    parts::cut_content(content, &capped.cuts, how.auto, meter)?;
    Ok(Some(Box::new(capped)))
}

/// Characters of a message's content alone, and its cap, by `ThenaJS`'s rules.
pub(crate) fn thena<V: Value>(message: &V, role: Role, auto: bool, cap: Option<usize>) -> Result<(u64, Option<Box<Capped>>), ReadError> {
    let mut meter = Meter::new(None, None, false);
    let Some(content) = message.get(Key::Content)? else { return Ok((0, None)) };
    let shorten = cap.map_or(Shorten::Not, Shorten::Thena);
    let beside_calls = message.get(Key::ToolCalls)?.is_some();
    let capped = if role == Role::Tool {
        observation(&content, role, Reading { auto, shorten }, &mut meter)?
    } else {
        parts::content(&content, beside_calls, auto, &mut meter)?;
        None
    };
    Ok((meter.chars, capped))
}

/// Whether a message's content is exactly that text.
pub(crate) fn is_content<V: Value>(message: &V, text: &str) -> Result<bool, Foreign> {
    Ok(message.get(Key::Content)?.and_then(|content| content.text()).is_some_and(|content| content.as_str() == text))
}
