//! What a content block costs.

use super::{Kind, answer, is_text_block, maker};
use crate::cost::{Media, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Tie, Turn};
use crate::format::observation::Observation;
use crate::format::{
    Sink, media, meter_value, misfit, part_text, records, string, string_at, text_at, unknown_texts,
};
use crate::plan::to;
use crate::value::{Key, Text, Value};

const TEXT_OR_BLOCK: &str = "a string or a mapping";
const STRING_OR_NULL: &str = "a string or null";

/// What a provider's own tool says in a result, and what of it is encrypted.
const SAID: [Key; 5] = [Key::Text, Key::Title, Key::Url, Key::Stdout, Key::Stderr];
const ENCRYPTED: [Key; 2] = [Key::EncryptedContent, Key::EncryptedStdout];

/// Reads block `k` of a message.
pub(super) fn read<V: Value>(
    block: &V,
    k: usize,
    turn: Turn,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(text) = block.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let at = || place("content", k);
    if !block.is_record() {
        return Err(ReadError::Misfit(misfit(at(), Some(block), TEXT_OR_BLOCK)));
    }
    let mut fields = [const { None }; KEYS.len()];
    block.fields(&KEYS, &mut fields)?;
    let [kind, text, id, name, input, tool_use_id, content, caller] = &fields;
    let kind = kind.as_ref().and_then(Value::word);
    let kind = kind.as_deref().unwrap_or_default();
    let id_of = |id: &Option<V>, key: Key| -> Result<Option<V::Text>, ReadError> {
        let path = || at() + "." + key.name();
        let id = id.as_ref().map(|id| string(id, path, STRING_OR_NULL));
        Ok(id.transpose()?.filter(|id| id.chars() > 0))
    };
    match (Kind::of(kind), text) {
        (Some(Kind::Call(family)), _) => {
            let id = id_of(id, Key::Id)?;
            let name = name
                .as_ref()
                .map(|name| string(name, || at() + ".name", "a string"));
            sink.meter.call(name.transpose()?.as_ref())?;
            if let Some(input) = input {
                meter_value(input, || at() + ".input", sink.meter)?;
            }
            if turn == Turn::Model {
                let call = Tie::new(family, id).called_by(Family::Server, maker(caller.as_ref())?);
                sink.links.calls.push(call);
            }
        }
        (Some(Kind::Result(family)), _) => {
            let id = id_of(tool_use_id, Key::ToolUseId)?;
            sink.meter.result();
            if let Some(content) = content {
                if family == Family::Tool {
                    result(content, k, sink)?;
                } else {
                    server_result(content, sink)?;
                }
            }
            answer(sink.links, turn, Tie::new(family, id));
        }
        (None, Some(text)) if kind == "text" => {
            sink.meter
                .text(&string(text, || at() + ".text", "a string")?)?;
        }
        (None, _) if kind == "thinking" || kind == "redacted_thinking" => {
            thinking(block, k, kind, sink)?;
        }
        (None, _) => shown(block, kind, at, sink)?,
    }
    Ok(())
}

/// The keys of a block that are read at once.
const KEYS: [Key; 8] = [
    Key::Type,
    Key::Text,
    Key::Id,
    Key::Name,
    Key::Input,
    Key::ToolUseId,
    Key::Content,
    Key::Caller,
];

/// Thinking is bound to what stands before it by a signature, or is sealed whole.
fn thinking<V: Value>(
    block: &V,
    k: usize,
    kind: &str,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let sealed = if kind == "thinking" {
        Key::Signature
    } else {
        Key::Data
    };
    let read = |sink: &mut Sink<'_, '_, V>| {
        if kind == "thinking" {
            let at = || place("content", k);
            if let Some(text) = string_at(block, at, Key::Thinking, STRING_OR_NULL)? {
                sink.meter.text(&text)?;
            }
        }
        if let Some(sealed) = text_at(block, sealed)? {
            sink.meter.opaque(&sealed)?;
        }
        Ok(())
    };
    sink.thinking(|| to![Key::Content, k], read)
}

/// A block that says or shows something by itself.
fn shown<V: Value>(
    block: &V,
    kind: &str,
    at: impl Fn() -> String,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    match kind {
        "text" => {
            let Some(text) = string_at(block, &at, Key::Text, "a string")? else {
                let path = at() + ".text";
                return Err(ReadError::Misfit(misfit::<V>(path, None, "a string")));
            };
            sink.meter.text(&text)?;
        }
        "image" => image(block, sink)?,
        "document" => document(block, sink)?,
        "search_result" => {
            said(block, &[Key::Title, Key::Source], sink)?;
            content_texts(block, sink)?;
        }
        "compaction" => {
            content_texts(block, sink)?;
            if let Some(secret) = text_at(block, Key::EncryptedContent)? {
                sink.meter.opaque(&secret)?;
            }
        }
        _ => unknown_texts(block, sink.meter)?,
    }
    Ok(())
}

/// The texts under some keys.
fn said<V: Value>(record: &V, keys: &[Key], sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    for &key in keys {
        if let Some(text) = text_at(record, key)? {
            sink.meter.text(&text)?;
        }
    }
    Ok(())
}

/// The texts of a `content`: a string, or the texts of its blocks.
fn content_texts<V: Value>(record: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    let Some(content) = record.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = content.text() {
        return sink.meter.text(&text);
    }
    for inner in records(Some(&content)) {
        said(&inner, &[Key::Text], sink)?;
    }
    Ok(())
}

fn image<V: Value>(block: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    if sink.meter.wants_media() {
        sink.meter.media(media::read(block, media::Kind::Image)?);
    }
    Ok(())
}

/// A document: its title and context, and what its source holds as text; any other is a file.
fn document<V: Value>(block: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    said(block, &[Key::Title, Key::Context], sink)?;
    let source = block.get(Key::Source)?.filter(Value::is_record);
    if let Some(source) = &source {
        let kind = source.get(Key::Type)?;
        match kind.as_ref().and_then(Value::word).as_deref() {
            Some("text") => {
                if let Some(text) = text_at(source, Key::Data)? {
                    return sink.meter.text(&text);
                }
            }
            Some("content") => {
                content_texts(source, sink)?;
                for inner in records(source.get(Key::Content)?.as_ref()) {
                    let kind = inner.get(Key::Type)?;
                    if kind.is_some_and(|kind| kind.word().is_some_and(|kind| kind == "image")) {
                        image(&inner, sink)?;
                    }
                }
                return Ok(());
            }
            _ => {}
        }
    }
    sink.meter.media(Media::File);
    Ok(())
}

/// What the provider's tool gave back: the texts in it and, one level down, in what it holds.
fn server_result<V: Value>(content: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    if let Some(text) = content.text() {
        return sink.meter.text(&text);
    }
    for item in items(content) {
        result_texts(&item, sink)?;
        let Some(within) = item.get(Key::Content)? else {
            continue;
        };
        if let Some(text) = within.text() {
            sink.meter.text(&text)?;
        }
        for inner in items(&within) {
            let kind = inner.get(Key::Type)?;
            if kind.is_some_and(|kind| kind.word().is_some_and(|kind| kind == "document")) {
                document(&inner, sink)?;
            } else {
                result_texts(&inner, sink)?;
            }
        }
    }
    Ok(())
}

/// The records of a list, or the one record.
fn items<V: Value>(content: &V) -> Vec<V> {
    if content.is_record() {
        vec![content.clone()]
    } else {
        records(Some(content)).collect()
    }
}

fn result_texts<V: Value>(item: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    said(item, &SAID, sink)?;
    for key in ENCRYPTED {
        if let Some(secret) = text_at(item, key)? {
            sink.meter.opaque(&secret)?;
        }
    }
    Ok(())
}

/// What the client's tool gave back: a string, or blocks whose texts share a cap.
fn result<V: Value>(content: &V, k: usize, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if let Some(text) = content.text() {
        return match sink.cap() {
            Some(most) if text.chars() > most => sink.observation(|observation, _| {
                observation.text(to![Key::Content, k, Key::Content], text, true);
                Ok(())
            }),
            _ => Ok(sink.meter.text(&text)?),
        };
    }
    if content.list().is_none() {
        return Err(ReadError::Misfit(misfit(
            place("content", k) + ".content",
            Some(content),
            "a string, a list of blocks or null",
        )));
    }
    sink.observation(|observation, sink| observe(content, k, observation, sink))
}

fn observe<V: Value>(
    content: &V,
    k: usize,
    observation: &mut Observation<V::Text>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    for i in 0..content.list().unwrap_or(0) {
        let Some(block) = content.item(i) else { break };
        let at = || place(&(place("content", k) + ".content"), i);
        if let Some(text) = block.text() {
            observation.text(to![Key::Content, k, Key::Content, i], text, true);
            continue;
        }
        if !block.is_record() {
            return Err(ReadError::Misfit(misfit(at(), Some(&block), TEXT_OR_BLOCK)));
        }
        let kind = block.get(Key::Type)?;
        let kind = kind.as_ref().and_then(Value::word);
        let kind = kind.as_deref().unwrap_or_default();
        match part_text(&block)? {
            Some(text) if is_text_block(kind) => {
                let path = to![Key::Content, k, Key::Content, i, Key::Text];
                observation.text(path, text, true);
            }
            _ => shown(&block, kind, at, sink)?,
        }
    }
    Ok(())
}
