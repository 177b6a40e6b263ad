//! What a content costs.

use super::{Found, calls};
use crate::cost::{Media, place};
use crate::error::{Foreign, ReadError};
use crate::facts::Turn;
use crate::format::media::Kind;
use crate::format::{Sink, media, misfit, records, string_at, text_at, unknown_texts};
use crate::media::{duration, size};
use crate::plan::to;
use crate::value::{Key, Text, Value};

/// What a speaker says. `listed`: the calls stand beside the content as well.
pub(super) fn said<V: Value>(
    found: &Found<V>,
    listed: bool,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let Some(content) = found.record.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = content.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let len = blocks(found, &content)?;
    for k in 0..len {
        let Some(block) = content.item(k) else { break };
        read(found, &block, k, listed, sink)?;
    }
    // Calls beside the content stay, whatever goes of it.
    sink.has_parts(len + usize::from(listed));
    Ok(())
}

fn blocks<V: Value>(found: &Found<V>, content: &V) -> Result<usize, ReadError> {
    let expected = "a string, a list of blocks or null";
    content
        .list()
        .ok_or_else(|| ReadError::Misfit(misfit(found.at("content"), Some(content), expected)))
}

fn read<V: Value>(
    found: &Found<V>,
    block: &V,
    k: usize,
    listed: bool,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(text) = block.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let at = |inner: &str| place(&found.at("content"), k) + inner;
    if !block.is_record() {
        let expected = "a string or a mapping";
        return Err(ReadError::Misfit(misfit(at(""), Some(block), expected)));
    }
    let kind = block.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    let kind = kind.as_deref().unwrap_or_default();
    if found.turn() == Turn::Model && is_call(kind) {
        // It says again what is listed.
        return if listed {
            Ok(())
        } else {
            calls::said(block, &at(""), sink.meter)
        };
    }
    if let Some(kind) = Kind::of(kind) {
        return Ok(shown(block, kind, sink)?);
    }
    match kind {
        "text" => {
            let Some(text) = string_at(block, || at(""), Key::Text, "a string")? else {
                let missing = misfit::<V>(at(".text"), None, "a string");
                return Err(ReadError::Misfit(missing));
            };
            sink.meter.text(&text)?;
        }
        "thinking" | "redacted_thinking" | "reasoning" | "reasoning_content" => {
            let thought = Thought::of(block, kind)?;
            if thought.signed {
                let path = || found.path(to![Key::Content, k]);
                sink.thinking(path, |sink| thought.read(sink))?;
            } else {
                thought.read(sink)?;
            }
        }
        "refusal" => {
            if let Some(text) = text_at(block, Key::Refusal)? {
                sink.meter.text(&text)?;
            }
        }
        _ => unknown_texts(block, sink.meter)?,
    }
    Ok(())
}

/// Whether a block is a call as its provider has it.
fn is_call(kind: &str) -> bool {
    matches!(
        kind,
        "tool_use" | "tool_call" | "invalid_tool_call" | "function_call"
    )
}

/// What the model thought, as one provider or another has it.
struct Thought<T> {
    texts: Vec<T>,
    /// What goes back as it came: a signature, or the thinking itself, encrypted.
    opaque: Vec<T>,
    /// Whether a change in front of it makes it void.
    signed: bool,
}

impl<T: Text> Thought<T> {
    fn of<V: Value<Text = T>>(block: &V, kind: &str) -> Result<Self, Foreign> {
        let mut texts: Vec<T> = Vec::new();
        // Bedrock's stands a level further down.
        let inner = match block.get(Key::ReasoningContent)? {
            Some(inner) if inner.is_record() => inner,
            _ => block.clone(),
        };
        for key in [Key::Thinking, Key::Reasoning, Key::Text] {
            if let Some(text) = text_at(&inner, key)? {
                texts.push(text);
                break;
            }
        }
        for summary in records(block.get(Key::Summary)?.as_ref()) {
            texts.extend(text_at(&summary, Key::Text)?);
        }
        let extras = block.get(Key::Extras)?.filter(V::is_record);
        let signature = match text_at(&inner, Key::Signature)? {
            None => match &extras {
                Some(extras) => text_at(extras, Key::Signature)?,
                None => None,
            },
            signature => signature,
        };
        let mut opaque: Vec<T> = signature.into_iter().collect();
        let redacted = kind == "redacted_thinking";
        if redacted {
            opaque.extend(text_at(block, Key::Data)?);
        }
        let signed = redacted || opaque.iter().any(|it| it.chars() > 0);
        opaque.extend(text_at(block, Key::EncryptedContent)?);
        Ok(Self {
            texts,
            opaque,
            signed,
        })
    }

    fn read<V: Value<Text = T>>(&self, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
        for text in &self.texts {
            sink.meter.text(text)?;
        }
        for data in &self.opaque {
            sink.meter.opaque(data)?;
        }
        Ok(())
    }
}

/// A picture, a sound, a file: as its provider has it, or as `LangChain` does, with the data beside the type.
fn shown<V: Value>(block: &V, kind: Kind, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    if !sink.meter.wants_media() {
        return Ok(());
    }
    let data = match text_at(block, Key::Base64)? {
        None => text_at(block, Key::Data)?,
        data => data,
    };
    let known = media::read(block, kind)?;
    sink.meter.media(match (known, data) {
        (Media::Image { low, size: None }, Some(data)) => Media::Image {
            low,
            size: size(&data.as_str()),
        },
        (Media::Audio(None), Some(data)) => Media::Audio(duration(&data.as_str(), data.chars())),
        (known, _) => known,
    });
    Ok(())
}

/// The content of a result, which a cap may shorten.
pub(super) fn result<V: Value>(
    found: &Found<V>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let Some(content) = found.record.get(Key::Content)? else {
        return Ok(());
    };
    sink.content(
        &content,
        |path| found.path(path),
        |content| blocks(found, content),
        |block| Ok(!media::is_media(block)?),
        |block, k, sink| read(found, block, k, false, sink),
    )
}
