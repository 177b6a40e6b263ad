//! What a content block costs.

use crate::cost::{Media, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::observation::Observation;
use crate::format::{
    STRING_OR_NULL, Sink, first_of, id_at, json, meter_value, misfit, records, string, string_at,
    text_at,
};
use crate::media;
use crate::plan::to;
use crate::value::{Key, Lent, Text, Value};

/// A block has one key, which says what it is.
const BLOCKS: [Key; 12] = [
    Key::Text,
    Key::ToolUse,
    Key::ToolResult,
    Key::ReasoningContentCamel,
    Key::Image,
    Key::Document,
    Key::Video,
    Key::Audio,
    Key::SearchResult,
    Key::GuardContent,
    Key::CitationsContent,
    Key::CachePoint,
];

/// What a block is, and what is in it.
pub(super) fn held<V: Value>(block: &V) -> Result<Option<(Key, V)>, Foreign> {
    let mut found = None;
    let looked = block.look(|key, value| {
        if BLOCKS.contains(&key) && !value.is_null() {
            found = Some((key, value.keep()));
        }
        found.is_none()
    });
    if looked {
        Ok(found)
    } else {
        first_of(block, &BLOCKS)
    }
}

/// To whom a call or a result belongs: a tool that the provider runs says so, and its result stands in the model's message.
/// `None` of what has no place in this turn.
pub(super) fn family<V: Value>(key: Key, held: &V, turn: Turn) -> Result<Option<Family>, Foreign> {
    let kind = if held.is_record() {
        text_at(held, Key::Type)?
    } else {
        None
    };
    let is_server = match (key, &kind) {
        (Key::ToolUse, Some(kind)) => kind.as_str() == "server_tool_use",
        (_, kind) => kind.is_some() && turn == Turn::Model,
    };
    Ok(match (key, turn, is_server) {
        (_, Turn::Model, true) => Some(Family::Server),
        (Key::ToolUse, Turn::Model, false) | (Key::ToolResult, Turn::Result, _) => {
            Some(Family::Tool)
        }
        _ => None,
    })
}

/// The tie of a block into `links`, where it stands in a turn in which it counts.
pub(super) fn link<V: Value>(
    block: &V,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    match held(block)? {
        Some((key, held)) => tie(key, &held, turn, links),
        None => Ok(()),
    }
}

fn tie<V: Value>(
    key: Key,
    held: &V,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    if !matches!(key, Key::ToolUse | Key::ToolResult) {
        return Ok(());
    }
    let Some(family) = family(key, held, turn)? else {
        return Ok(());
    };
    let id = if held.is_record() {
        id_at(held, Key::ToolUseIdCamel)?
    } else {
        None
    };
    let tie = Tie::new(family, id);
    match (key, family) {
        (Key::ToolUse, _) => links.calls.push(tie),
        (_, Family::Server) => links.settle(tie),
        _ => links.results.push(tie),
    }
    Ok(())
}

/// Reads block `k` of a message; whether it is a mark of the prompt cache.
pub(super) fn read<V: Value>(
    block: &V,
    k: usize,
    turn: Turn,
    sink: &mut Sink<'_, '_, V>,
) -> Result<bool, ReadError> {
    if let Some(text) = block.text() {
        sink.meter.text(&text)?;
        return Ok(false);
    }
    if !block.is_record() {
        let expected = "a string or a mapping";
        let at = place("content", k);
        return Err(ReadError::Misfit(misfit(at, Some(block), expected)));
    }
    let Some((key, held)) = held(block)? else {
        return Ok(false);
    };
    let at = || place("content", k) + "." + key.name();
    match key {
        Key::ToolUse => {
            record(&held, &at)?;
            string_at(&held, at, Key::ToolUseIdCamel, STRING_OR_NULL)?;
            let name = string_at(&held, at, Key::Name, STRING_OR_NULL)?;
            sink.meter.call(name.as_ref())?;
            if let Some(input) = held.get(Key::Input)? {
                meter_value(&input, || at() + ".input", sink.meter)?;
            }
        }
        Key::ToolResult => {
            record(&held, &at)?;
            string_at(&held, at, Key::ToolUseIdCamel, STRING_OR_NULL)?;
            sink.meter.result();
            if let Some(content) = held.get(Key::Content)? {
                // What the provider's own tool gave back stands in the model's message and is not cut.
                sink.observation(|observation, sink| {
                    let capped = (turn != Turn::Model).then_some(observation);
                    result(&content, k, capped, sink)
                })?;
            }
        }
        Key::ReasoningContentCamel => {
            record(&held, &at)?;
            thinking(&held, k, &at, sink)?;
        }
        _ => shown(key, &held, &at, sink)?,
    }
    tie(key, &held, turn, sink.links)?;
    Ok(key == Key::CachePoint)
}

fn record<V: Value>(held: &V, at: &dyn Fn() -> String) -> Result<(), ReadError> {
    if held.is_record() {
        return Ok(());
    }
    Err(ReadError::Misfit(misfit(at(), Some(held), "a mapping")))
}

/// What the model thought; signed, or sealed, it is bound to what stands in front of it.
fn thinking<V: Value>(
    held: &V,
    k: usize,
    at: &dyn Fn() -> String,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let said = held.get(Key::ReasoningText)?;
    let at = || at() + ".reasoningText";
    if let Some(said) = &said {
        record(said, &at)?;
    }
    let (mut text, mut signature) = (None, None);
    if let Some(said) = &said {
        text = string_at(said, at, Key::Text, STRING_OR_NULL)?;
        signature = text_at(said, Key::Signature)?.filter(|it| it.chars() > 0);
    }
    let sealed = held.get(Key::RedactedContent)?;
    let is_signed = signature.is_some() || sealed.is_some();
    let read = |sink: &mut Sink<'_, '_, V>| {
        if let Some(text) = &text {
            sink.meter.text(text)?;
        }
        // Bytes in the SDK, of which nothing is counted.
        let sealed = sealed.as_ref().and_then(Value::text);
        for data in signature.iter().chain(&sealed) {
            sink.meter.opaque(data)?;
        }
        Ok(())
    };
    if is_signed {
        sink.thinking(|| to![Key::Content, k], read)
    } else {
        read(sink)
    }
}

/// The content of a result: its texts, and its JSON, for `capped`, if a cap may shorten them.
fn result<V: Value>(
    content: &V,
    k: usize,
    mut capped: Option<&mut Observation<V::Text>>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let mut say = |path, text, sink: &mut Sink<'_, '_, V>| -> Result<(), ReadError> {
        match &mut capped {
            Some(observation) => observation.text(path, text, true),
            None => sink.meter.text(&text)?,
        }
        Ok(())
    };
    let list = || place("content", k) + ".toolResult.content";
    let path = to![Key::Content, k, Key::ToolResult, Key::Content];
    if let Some(text) = content.text() {
        return say(path, text, sink);
    }
    let Some(len) = content.list() else {
        return Err(ReadError::Misfit(misfit(
            list(),
            Some(content),
            "a string, a list of blocks or null",
        )));
    };
    for i in 0..len {
        let Some(block) = content.item(i) else { break };
        let mut path = path.clone();
        path.push(i.into());
        if let Some(text) = block.text() {
            say(path, text, sink)?;
            continue;
        }
        if !block.is_record() {
            let expected = "a string or a mapping";
            let at = place(&list(), i);
            return Err(ReadError::Misfit(misfit(at, Some(&block), expected)));
        }
        if let Some(data) = block.get(Key::Json)? {
            let (step, text) = json::said(&data, || place(&list(), i) + ".json")?;
            path.push(Key::Json.into());
            path.extend(step);
            say(path, text, sink)?;
        } else if let Some((key, held)) = held(&block)? {
            let at = || place(&list(), i) + "." + key.name();
            if key == Key::Text {
                path.push(Key::Text.into());
                say(path, string(&held, at, "a string")?, sink)?;
            } else {
                shown(key, &held, &at, sink)?;
            }
        }
    }
    Ok(())
}

/// A block that says or shows something by itself: nothing but a text must be what it should.
fn shown<V: Value>(
    key: Key,
    held: &V,
    at: &dyn Fn() -> String,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    match key {
        Key::Text => return Ok(sink.meter.text(&string(held, at, "a string")?)?),
        _ if !held.is_record() => return Ok(()),
        Key::GuardContent => {
            if let Some(text) = held.get(Key::Text)?.filter(Value::is_record) {
                said(&text, &[Key::Text], sink)?;
            }
            if let Some(image) = held.get(Key::Image)?.filter(Value::is_record) {
                show(Key::Image, &image, sink)?;
            }
        }
        Key::SearchResult => said(held, &[Key::Title, Key::Source, Key::Content], sink)?,
        Key::CitationsContent => said(held, &[Key::Content], sink)?,
        Key::Image | Key::Document | Key::Video | Key::Audio => show(key, held, sink)?,
        _ => {}
    }
    Ok(())
}

/// The texts under keys of a record, and those of the blocks in lists.
fn said<V: Value>(held: &V, keys: &[Key], sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    for &key in keys {
        let Some(value) = held.get(key)? else {
            continue;
        };
        if let Some(text) = value.text() {
            sink.meter.text(&text)?;
        }
        for block in records(Some(&value)) {
            if let Some(text) = text_at(&block, Key::Text)? {
                sink.meter.text(&text)?;
            }
        }
    }
    Ok(())
}

/// A picture, a sound, a video, a document: one that holds its text costs that.
fn show<V: Value>(key: Key, held: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    let source = held.get(Key::Source)?.filter(Value::is_record);
    if key == Key::Document {
        said(held, &[Key::Context], sink)?;
        if let Some(source) = &source
            && first_of(source, &[Key::Text, Key::Content])?.is_some()
        {
            return said(source, &[Key::Text, Key::Content], sink);
        }
    }
    if !sink.meter.wants_media() {
        return Ok(());
    }
    // Base64 on the wire; bytes in the SDK, of which nothing is known.
    let data = match &source {
        Some(source) => text_at(source, Key::Bytes)?,
        None => None,
    };
    sink.meter.media(match key {
        Key::Image => Media::Image {
            low: false,
            size: data.and_then(|data| media::size(&data.as_str())),
        },
        Key::Audio => {
            Media::Audio(data.and_then(|data| media::duration(&data.as_str(), data.chars())))
        }
        _ => Media::File,
    });
    Ok(())
}
