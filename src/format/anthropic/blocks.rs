//! What a content block costs.

use super::{Kind, link};
use crate::cost::{Media, place};
use crate::error::ReadError;
use crate::facts::Turn;
use crate::format::observation::Observation;
use crate::format::{Sink, media, misfit, part_text, records, string, text_at, text_or_json};
use crate::plan::to;
use crate::value::{Key, Text, Value};

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
    let at = |inner: &'static str| move || place("content", k) + inner;
    if !block.is_record() {
        let expected = "a string or a block";
        return Err(ReadError::Misfit(misfit(at("")(), Some(block), expected)));
    }
    let kind = block.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    let kind = kind.as_deref().unwrap_or_default();
    match Kind::of(kind) {
        Some(Kind::Call | Kind::ServerCall) => {
            sink.meter.call(text_at(block, Key::Name)?.as_ref())?;
            if let Some(input) = block.get(Key::Input)? {
                sink.meter.text(&text_or_json(&input, at(".input"))?)?;
            }
        }
        Some(Kind::Result) => {
            sink.meter.result();
            if let Some(content) = block.get(Key::Content)? {
                result(&content, k, sink)?;
            }
        }
        Some(Kind::ServerResult) => {
            sink.meter.result();
            if let Some(content) = block.get(Key::Content)? {
                sink.meter.text(&text_or_json(&content, at(".content"))?)?;
            }
        }
        None => return other(block, kind, k, sink),
    }
    link(block, turn, sink.links)?;
    Ok(())
}

/// A block that neither calls nor answers.
fn other<V: Value>(
    block: &V,
    kind: &str,
    k: usize,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    match kind {
        "text" => {
            let at = || place("content", k) + ".text";
            match block.get(Key::Text)? {
                Some(text) => sink.meter.text(&string(&text, at, "a string")?)?,
                None => {
                    return Err(ReadError::Misfit(misfit::<V>(at(), None, "a string")));
                }
            }
        }
        "thinking" => {
            let signature = text_at(block, Key::Signature)?.filter(|it| it.chars() > 0);
            let signed = signature.is_some();
            let read = |sink: &mut Sink<'_, '_, V>| {
                if let Some(text) = text_at(block, Key::Thinking)? {
                    sink.meter.text(&text)?;
                }
                if let Some(signature) = &signature {
                    sink.meter.opaque(signature)?;
                }
                Ok(())
            };
            if signed {
                sink.thinking(|| to![Key::Content, k], read)?;
            } else {
                read(sink)?;
            }
        }
        "redacted_thinking" => sink.thinking(
            || to![Key::Content, k],
            |sink| {
                if let Some(data) = text_at(block, Key::Data)? {
                    sink.meter.opaque(&data)?;
                }
                Ok(())
            },
        )?,
        "image" | "document" | "file" | "container_upload" | "video" => shown(block, kind, sink)?,
        _ => texts(block, sink)?,
    }
    Ok(())
}

/// A picture or a document: one of plain text, or of blocks, costs its texts.
fn shown<V: Value>(block: &V, kind: &str, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let source = block.get(Key::Source)?.filter(Value::is_record);
    if let Some(source) = source.as_ref().filter(|_| kind == "document") {
        let of = source.get(Key::Type)?;
        match of.as_ref().and_then(Value::word).as_deref() {
            Some("text") => {
                if let Some(text) = text_at(source, Key::Data)? {
                    sink.meter.text(&text)?;
                }
                return Ok(());
            }
            Some("content") => return texts(source, sink),
            _ => {}
        }
    }
    if sink.meter.wants_media() {
        sink.meter.media(match media::Kind::of(kind) {
            Some(kind) => media::read(block, kind)?,
            None => Media::File,
        });
    }
    Ok(())
}

/// The texts of a block that nobody knows: its `text`, else its `content`, a string or blocks.
fn texts<V: Value>(block: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if let Some(text) = text_at(block, Key::Text)? {
        return Ok(sink.meter.text(&text)?);
    }
    let Some(content) = block.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = content.text() {
        return Ok(sink.meter.text(&text)?);
    }
    for inner in records(Some(&content)) {
        if let Some(text) = text_at(&inner, Key::Text)? {
            sink.meter.text(&text)?;
        }
    }
    Ok(())
}

/// The content of a result: a string, or blocks of which a cap may shorten the texts.
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
        if block.text().is_none() && !block.is_record() {
            return Err(ReadError::Misfit(misfit(
                place(&(place("content", k) + ".content"), i),
                Some(&block),
                "a string or a block",
            )));
        }
        let text = part_text(&block)?;
        match text {
            Some(text) if block.text().is_some() => {
                observation.text(to![Key::Content, k, Key::Content, i], text, true);
            }
            Some(text) => {
                let path = to![Key::Content, k, Key::Content, i, Key::Text];
                observation.text(path, text, true);
            }
            None => {
                let kind = block.get(Key::Type)?;
                let kind = kind.as_ref().and_then(Value::word);
                match kind.as_deref().unwrap_or_default() {
                    kind @ ("image" | "document" | "file" | "video") => shown(&block, kind, sink)?,
                    _ => texts(&block, sink)?,
                }
            }
        }
    }
    Ok(())
}
