//! What a message of Pi's costs.

use super::{Found, Kind, is_broken_off, is_true, link};
use crate::cost::Media;
use crate::error::ReadError;
use crate::facts::{Role, Turn};
use crate::format::{
    STRING_OR_NULL, Sink, meter_value, misfit, string, string_at, text_at, unknown_texts,
};
use crate::media;
use crate::plan::{Path, Step, to};
use crate::value::{Key, Text, Value};

/// Reads a message: what it costs, its ties.
pub(super) fn read<V: Value>(
    found: &Found<V>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let record = &found.record;
    match found.kind {
        Kind::Unsent => {
            sink.unsent = true;
            return Ok(());
        }
        Kind::User | Kind::Bash | Kind::Summary => sink.meter.message(Role::User)?,
        Kind::Result => {
            sink.meter.message(Role::Tool)?;
            sink.meter.result();
        }
        Kind::Assistant if is_broken_off(record)? => {
            sink.unsent = true;
            return Ok(link(record, Turn::Model, sink.links)?);
        }
        Kind::Assistant => sink.meter.message(Role::Assistant)?,
    }
    match found.kind {
        Kind::Bash => {
            field(found, Key::Command, sink)?;
            field(found, Key::Output, sink)?;
        }
        Kind::Summary => field(found, Key::Summary, sink)?,
        Kind::Result => {
            let id = || found.at("toolCallId");
            if let Some(value) = record.get(Key::ToolCallIdCamel)? {
                string(&value, id, STRING_OR_NULL)?;
            }
            result(found, sink)?;
        }
        _ => said(found, sink)?,
    }
    link(record, found.kind.turn(), sink.links)?;
    Ok(())
}

impl<V> Found<V> {
    /// A place, for an error.
    fn at(&self, place: &str) -> String {
        if self.nested {
            format!("message.{place}")
        } else {
            place.to_owned()
        }
    }

    /// The same inside of a block.
    fn at_block(&self, k: usize, inner: &str) -> String {
        self.at(&format!("content[{k}]{inner}"))
    }

    /// A place, for an edit.
    fn path(&self, path: Path) -> Path {
        let entry = self.nested.then_some(Step::Key(Key::Message));
        entry.into_iter().chain(path).collect()
    }
}

/// A text of the message's own.
fn field<V: Value>(
    found: &Found<V>,
    key: Key,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(value) = found.record.get(key)? {
        let text = string(&value, || found.at(key.name()), STRING_OR_NULL)?;
        sink.meter.text(&text)?;
    }
    Ok(())
}

/// What a user or the model says.
fn said<V: Value>(found: &Found<V>, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let Some(content) = found.record.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = content.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let len = blocks(found, &content)?;
    let signs = found.kind == Kind::Assistant && signs(&found.record)?;
    for k in 0..len {
        let Some(block) = content.item(k) else { break };
        read_block(found, &block, k, signs, sink)?;
    }
    sink.has_parts(len);
    Ok(())
}

fn blocks<V: Value>(found: &Found<V>, content: &V) -> Result<usize, ReadError> {
    let expected = "a string, a list of blocks or null";
    content
        .list()
        .ok_or_else(|| ReadError::Misfit(misfit(found.at("content"), Some(content), expected)))
}

/// Whether the provider of a message refuses signed thinking behind a change: Anthropic does, and Bedrock.
fn signs<V: Value>(record: &V) -> Result<bool, ReadError> {
    let api = match text_at(record, Key::Api)? {
        Some(api) => Some(api),
        None => text_at(record, Key::Provider)?,
    };
    Ok(api.is_none_or(|api| {
        let api = api.as_str();
        api.contains("anthropic") || api.contains("bedrock")
    }))
}

fn read_block<V: Value>(
    found: &Found<V>,
    block: &V,
    k: usize,
    signs: bool,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(text) = block.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let at = |inner: &'static str| move || found.at_block(k, inner);
    if !block.is_record() {
        let expected = "a string or a mapping";
        return Err(ReadError::Misfit(misfit(at("")(), Some(block), expected)));
    }
    let kind = block.get(Key::Type)?;
    match kind.as_ref().and_then(Value::word).as_deref() {
        Some("text") => {
            let Some(text) = string_at(block, at(""), Key::Text, "a string")? else {
                let missing = misfit::<V>(at(".text")(), None, "a string");
                return Err(ReadError::Misfit(missing));
            };
            sink.meter.text(&text)?;
        }
        Some("thinking") => {
            let signed = signs && is_sealed(block)?;
            if signed {
                let path = || found.path(to![Key::Content, k]);
                sink.thinking(path, |sink| thinking(block, sink))?;
            } else {
                thinking(block, sink)?;
            }
        }
        Some("toolCall") => {
            string_at(block, at(""), Key::Id, STRING_OR_NULL)?;
            let name = string_at(block, at(""), Key::Name, "a string")?;
            sink.meter.call(name.as_ref())?;
            if let Some(arguments) = block.get(Key::Arguments)? {
                meter_value(&arguments, at(".arguments"), sink.meter)?;
            }
            if let Some(signature) = text_at(block, Key::ThoughtSignatureCamel)? {
                sink.meter.opaque(&signature)?;
            }
        }
        Some("image") => image(block, sink)?,
        _ => unknown_texts(block, sink.meter)?,
    }
    Ok(())
}

/// Whether thinking goes back as it came, and no other way.
fn is_sealed<V: Value>(block: &V) -> Result<bool, ReadError> {
    let signature = text_at(block, Key::ThinkingSignature)?;
    Ok(signature.is_some_and(|it| it.chars() > 0) || is_true(block, Key::Redacted)?)
}

/// A block of thinking; of a redacted one the signature is all that is sent.
fn thinking<V: Value>(block: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let text = text_at(block, Key::Thinking)?;
    if let Some(text) = text
        && !is_true(block, Key::Redacted)?
    {
        sink.meter.text(&text)?;
    }
    if let Some(signature) = text_at(block, Key::ThinkingSignature)? {
        sink.meter.opaque(&signature)?;
    }
    Ok(())
}

fn image<V: Value>(block: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if sink.meter.wants_media() {
        let data = text_at(block, Key::Data)?;
        sink.meter.media(Media::Image {
            low: false,
            size: data.and_then(|data| media::size(&data.as_str())),
        });
    }
    Ok(())
}

/// The content of a result, which a cap may shorten.
fn result<V: Value>(found: &Found<V>, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let Some(content) = found.record.get(Key::Content)? else {
        return Ok(());
    };
    sink.content(
        &content,
        |path| found.path(path),
        |content| blocks(found, content),
        |_| Ok(true),
        |block, k, sink| read_block(found, block, k, false, sink),
    )
}
