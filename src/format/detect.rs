//! Which format a history is in, where nobody said: the first message whose shape is one format's alone decides.
//! `docs/rules.md`, section 1.

use crate::error::{Error, Foreign};
use crate::format::{Format, records, text_at};
use crate::value::{History, Key, Lent, Text, Value};

/// What is known of a history from an earlier look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Messages from the front that are known to be messages of `format`.
    pub end: usize,
    /// The format.
    pub format: Format,
    /// Messages from the front whose shape is known to decide nothing.
    pub plain: usize,
}

/// What the shapes of a history tell.
#[derive(Clone, Copy)]
pub(crate) struct Detected {
    pub format: Format,
    /// Messages in front that decide nothing.
    pub plain: usize,
    /// Messages in front that are known to have a lawful role on top of it.
    pub lawful: usize,
}

/// The format of a history. One whose messages are all plain is in `fallback`. O(messages up to the first that decides).
pub(crate) fn detect<H: History>(history: &H, fallback: Format) -> Result<Detected, Error> {
    let len = history.len();
    let known = history.known();
    let from = known.map_or(0, |known| known.plain.min(len));
    let mut found = Detected {
        format: fallback,
        plain: len,
        lawful: known
            .filter(|known| known.format == Format::OpenaiChat)
            .map_or(0, |known| known.end.min(len)),
    };
    for index in from..len {
        let message = history.message(index)?;
        if is_plain(&message) {
            found.lawful += usize::from(found.lawful == index);
        } else if let Some(format) = hint(&message)? {
            found.format = format;
            found.plain = index;
            break;
        }
    }
    if found.format != Format::OpenaiChat {
        found.lawful = 0;
    }
    Ok(found)
}

/// Roles that more than one format has.
fn is_common(role: &str) -> bool {
    matches!(role, "system" | "developer" | "user" | "assistant")
}

/// Whether a message has a role that all formats have, a text, and nothing else of note.
#[inline]
fn is_plain<V: Value>(message: &V) -> bool {
    let (mut plain, mut role, mut text) = (true, false, false);
    let looked = message.look(|key, value| {
        match key {
            Key::Role => {
                role = value.word(|word| is_common(word).then_some(())).is_some();
                plain = role;
            }
            Key::Content => {
                text = value.chars().is_some();
                plain = text;
            }
            Key::ToolCalls
            | Key::FunctionCall
            | Key::Kind
            | Key::Type
            | Key::Parts
            | Key::Lc
            | Key::StopReason => plain = value.is_null(),
            _ => {}
        }
        plain
    });
    looked && plain && role && text
}

/// The format that a message's shape belongs to; `None` where it may be in several, or in none.
pub(crate) fn hint<V: Value>(message: &V) -> Result<Option<Format>, Foreign> {
    if message.is_record() {
        by_shape(message)
    } else {
        Ok(None)
    }
}

fn by_shape<V: Value>(message: &V) -> Result<Option<Format>, Foreign> {
    let word = |key| -> Result<Option<String>, Foreign> {
        Ok(text_at(message, key)?.map(|text| text.as_str().into_owned()))
    };
    let has = |key| -> Result<bool, Foreign> { Ok(message.get(key)?.is_some()) };
    let kind = word(Key::Kind)?;
    if matches!(kind.as_deref(), Some("request" | "response")) {
        return Ok(Format::of("pydantic-ai"));
    }
    let role = word(Key::Role)?;
    let role = role.as_deref();
    if role == Some("model") || (has(Key::Parts)? && !has(Key::Kind)?) {
        return Ok(Format::of("gemini"));
    }
    let item = word(Key::Type)?;
    let item = item.as_deref();
    if is_pi(message, role, item)? {
        return Ok(Format::of("pi"));
    }
    let calls = message.get(Key::ToolCalls)?;
    if matches!(role, Some("human" | "ai"))
        || item.is_some_and(is_langchain)
        || has(Key::Lc)?
        || calls.as_ref().map_or(Ok(false), calls_of_langchain)?
    {
        return Ok(Format::of("langchain"));
    }
    let content = message.get(Key::Content)?;
    match item {
        None => {}
        // Anthropic's own reply is of type `message` too; its parts tell.
        Some("message")
            if content
                .as_ref()
                .is_none_or(|content| content.text().is_none()) => {}
        Some(_) => return Ok(Format::of("openai-responses")),
    }
    if matches!(role, Some("tool" | "function")) || calls.is_some() || has(Key::FunctionCall)? {
        return Ok(Some(Format::OpenaiChat));
    }
    for part in records(content.as_ref()) {
        if let Some(format) = by_part(&part)? {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

/// Whether a message is Pi's: a bare one, or the entry of a session's log.
fn is_pi<V: Value>(message: &V, role: Option<&str>, item: Option<&str>) -> Result<bool, Foreign> {
    let of_pi = matches!(
        role,
        Some("toolResult" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary")
    );
    if of_pi || text_at(message, Key::StopReason)?.is_some() {
        return Ok(true);
    }
    Ok(match item {
        Some("message") => message
            .get(Key::Message)?
            .is_some_and(|inner| inner.is_record()),
        Some("compaction") => text_at(message, Key::Summary)?.is_some(),
        Some("custom") => message.get(Key::Role)?.is_none(),
        Some(
            "session"
            | "model_change"
            | "thinking_level_change"
            | "branch_summary"
            | "custom_message"
            | "label"
            | "session_info",
        ) => true,
        _ => false,
    })
}

/// Whether the type of a message is one of `LangChain`'s, in pieces or whole.
fn is_langchain(item: &str) -> bool {
    let chunk = item
        .strip_suffix("MessageChunk")
        .map(str::to_ascii_lowercase);
    matches!(
        chunk.as_deref().unwrap_or(item),
        "human"
            | "ai"
            | "tool"
            | "system"
            | "function"
            | "developer"
            | "chat"
            | "generic"
            | "remove"
    )
}

/// Whether `tool_calls` are as `LangChain` has them, by the first.
fn calls_of_langchain<V: Value>(calls: &V) -> Result<bool, Foreign> {
    let first = calls.item(0).filter(Value::is_record);
    first.map_or(Ok(false), |call| {
        Ok(call.get(Key::Function)?.is_none() && call.get(Key::Args)?.is_some())
    })
}

/// The format that a content part's shape belongs to.
pub(crate) fn by_part<V: Value>(part: &V) -> Result<Option<Format>, Foreign> {
    if !part.is_record() {
        return Ok(None);
    }
    let kind = part.get(Key::Type)?;
    let is_typed = kind.is_some();
    let kind = kind.as_ref().and_then(Value::word);
    let name = match kind.as_deref() {
        // Refusals and sounds are in Chat Completions and in Responses.
        Some("image_url" | "file") => "openai-chat",
        Some(
            "tool_use" | "tool_result" | "redacted_thinking" | "server_tool_use" | "mcp_tool_use",
        ) => "anthropic",
        Some("thinking") if text_at(part, Key::ThinkingSignature)?.is_some() => "pi",
        Some("thinking") if text_at(part, Key::Thinking)?.is_some() => "anthropic",
        Some("image" | "document") if has_record(part, Key::Source)? => "anthropic",
        Some(kind) if kind.ends_with("_tool_result") => "anthropic",
        Some("toolCall") => "pi",
        Some("image") if text_at(part, Key::Data)?.is_some() => "pi",
        Some(
            "input_text" | "output_text" | "input_image" | "input_file" | "summary_text"
            | "reasoning_text",
        ) => "openai-responses",
        None if !is_typed && is_block_of_bedrock(part)? => "bedrock",
        _ => return Ok(None),
    };
    Ok(Format::of(name))
}

fn has_record<V: Value>(part: &V, key: Key) -> Result<bool, Foreign> {
    Ok(part.get(key)?.is_some_and(|value| value.is_record()))
}

/// Blocks of Bedrock's have no type: their one key names it.
fn is_block_of_bedrock<V: Value>(part: &V) -> Result<bool, Foreign> {
    for key in [
        Key::Text,
        Key::ToolUse,
        Key::ToolResult,
        Key::ReasoningContentCamel,
        Key::Image,
        Key::Document,
        Key::Video,
        Key::CachePoint,
        Key::GuardContent,
        Key::CitationsContent,
    ] {
        if part.get(key)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
