//! Content: a string or a list of parts.

use super::clones;
use crate::cost::{Meter, place};
use crate::error::ReadError;
use crate::format::observation::Observation;
use crate::format::{
    Format, media, misfit, part_text, records, refuse_foreign, string, text_at, unknown_texts,
};
use crate::plan::to;
use crate::value::{Key, Value};

/// Meters a content. `beside_calls`: the message has `tool_calls`. `auto`: a part of another format is refused.
pub(super) fn content<V: Value>(
    content: &V,
    beside_calls: bool,
    auto: bool,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    if let Some(text) = content.text() {
        meter.text(&text)?;
        return Ok(());
    }
    let len = parts(content)?;
    for k in 0..len {
        let Some(part) = content.item(k) else { break };
        one(&part, k, beside_calls, auto, meter)?;
    }
    Ok(())
}

/// Gives the texts of a result's content to its observation and meters all else.
pub(super) fn observe<V: Value>(
    content: &V,
    observation: &mut Observation<V::Text>,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    if let Some(text) = content.text() {
        observation.text(to![Key::Content], text, true);
        return Ok(());
    }
    for k in 0..parts(content)? {
        let Some(part) = content.item(k) else { break };
        if let Some(document) = clones::document(&part)? {
            let path = to![Key::Content, k, Key::Document];
            let (path, text) = clones::text_of(&document, path, k)?;
            observation.text(path, text, true);
            continue;
        }
        // What is wrong with a part is found by metering it.
        match part_text(&part)? {
            Some(text) if part.text().is_some() => {
                observation.text(to![Key::Content, k], text, true);
            }
            Some(text) => {
                // The text that a picture carries shares the cap and costs nothing, cut or not.
                let is_media = media::is_media(&part)?;
                if is_media {
                    one(&part, k, false, false, meter)?;
                }
                observation.text(to![Key::Content, k, Key::Text], text, !is_media);
            }
            None => one(&part, k, false, false, meter)?,
        }
    }
    Ok(())
}

/// The number of parts of a content that is no string.
fn parts<V: Value>(content: &V) -> Result<usize, ReadError> {
    content.list().ok_or_else(|| {
        ReadError::Misfit(misfit(
            "content",
            Some(content),
            "a string, a list of parts or null",
        ))
    })
}

/// Meters one part.
fn one<V: Value>(
    part: &V,
    k: usize,
    beside_calls: bool,
    auto: bool,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), ReadError> {
    if let Some(text) = part.text() {
        meter.text(&text)?;
        return Ok(());
    }
    if !part.is_record() {
        return Err(ReadError::Misfit(misfit(
            place("content", k),
            Some(part),
            "a string or a mapping",
        )));
    }
    let kind = part.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    let text_under = |key: Key| -> Result<V::Text, ReadError> {
        let path = || place("content", k) + "." + key.name();
        match part.get(key)? {
            Some(value) => string(&value, path, "a string"),
            None => Err(ReadError::Misfit(misfit::<V>(path(), None, "a string"))),
        }
    };
    if auto && kind.as_deref() != Some("text") {
        refuse_foreign(part, Format::OpenaiChat)?;
    }
    if kind.as_deref() == Some("document")
        && let Some(document) = clones::document(part)?
    {
        return Ok(meter.text(&clones::text_of(&document, Vec::new(), k)?.1)?);
    }
    if let Some(kind) = kind.as_deref().and_then(media::Kind::of) {
        if meter.wants_media() {
            meter.media(media::read(part, kind)?);
        }
        return Ok(());
    }
    match kind.as_deref() {
        Some("text") => meter.text(&text_under(Key::Text)?)?,
        Some("refusal") => meter.text(&text_under(Key::Refusal)?)?,
        // The call stands in tool_calls as well and is counted there.
        Some("tool_use") if beside_calls => {}
        // Mistral's is a list of texts.
        Some("thinking")
            if part
                .get(Key::Thinking)?
                .is_some_and(|it| it.list().is_some()) =>
        {
            for inner in records(part.get(Key::Thinking)?.as_ref()) {
                if let Some(text) = text_at(&inner, Key::Text)? {
                    meter.text(&text)?;
                }
            }
        }
        _ => {
            unknown_texts(part, meter)?;
        }
    }
    Ok(())
}
