//! What an item costs.

use super::items::{Kind, id_keys};
use crate::cost::{Media, place};
use crate::error::ReadError;
use crate::facts::{Family, Role};
use crate::format::observation::Observation;
use crate::format::{
    STRING_OR_NULL, Sink, media, meter_value, misfit, part_text, records, string, text_at,
};
use crate::media as bytes;
use crate::plan::{Step, to};
use crate::value::{Key, Text, Value};

/// Reads an item.
pub(super) fn read<V: Value>(
    kind: Kind,
    item: &V,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    match kind {
        Kind::Message(role) => {
            sink.meter.message(role)?;
            content(item, sink)?;
        }
        Kind::Call(family) => {
            ids(item, family, true)?;
            call(item, said_by(family), sink)?;
            if let Some(opaque) = text_at(item, Key::Fingerprint)? {
                sink.meter.opaque(&opaque)?;
            }
        }
        Kind::Output(family) => {
            ids(item, family, false)?;
            sink.meter.result();
            output(item, family, sink)?;
        }
        Kind::Hosted(keys) => call(item, keys, sink)?,
        Kind::Tools => {
            sink.meter.message(Role::Developer)?;
            definitions(item, sink)?;
        }
        Kind::Reasoning | Kind::Other => {
            sink.meter.item();
            for key in [Key::Text, Key::Output, Key::Content, Key::Summary] {
                texts(item.get(key)?.as_ref(), sink)?;
            }
            if let Some(sealed) = text_at(item, Key::EncryptedContent)? {
                sink.meter.opaque(&sealed)?;
            }
        }
        Kind::Trigger | Kind::Settings => sink.meter.item(),
    }
    Ok(())
}

/// Refuses ids that are none.
fn ids<V: Value>(item: &V, family: Family, is_call: bool) -> Result<(), ReadError> {
    let (key, other) = id_keys(family, is_call);
    for key in [Some(key), other].into_iter().flatten() {
        if let Some(id) = item.get(key)? {
            string(&id, || key.name().to_owned(), STRING_OR_NULL)?;
        }
    }
    Ok(())
}

/// The keys under which a call says what it asks for.
const fn said_by(family: Family) -> &'static [Key] {
    match family {
        Family::Custom => &[Key::Input],
        Family::Computer => &[Key::Action, Key::Actions],
        Family::LocalShell | Family::Shell => &[Key::Action],
        Family::ApplyPatch => &[Key::Operation],
        Family::Program => &[Key::Code],
        _ => &[Key::Arguments],
    }
}

/// A call, or what the provider ran itself.
fn call<V: Value>(item: &V, keys: &[Key], sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let name = match item.get(Key::Name)? {
        Some(name) => Some(string(&name, || "name".to_owned(), STRING_OR_NULL)?),
        None => None,
    };
    sink.meter.call(name.as_ref())?;
    for &key in keys {
        match key {
            Key::Results => texts(item.get(key)?.as_ref(), sink)?,
            Key::Result => {
                let image = text_at(item, key)?;
                if let Some(image) = image.filter(|_| sink.meter.wants_media()) {
                    let size = bytes::size(&image.as_str());
                    sink.meter.media(Media::Image { low: false, size });
                }
            }
            Key::Outputs => {
                for output in records(item.get(key)?.as_ref()) {
                    ran(&output, sink)?;
                }
            }
            _ => {
                if let Some(said) = item.get(key)? {
                    let at = || key.name().to_owned();
                    meter_value(&said, at, sink.meter)?;
                }
            }
        }
    }
    Ok(())
}

/// What came of code that the provider ran: a picture, or a log.
fn ran<V: Value>(output: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if let Some(logs) = text_at(output, Key::Logs)? {
        sink.meter.text(&logs)?;
    } else if let Some(url) = text_at(output, Key::Url)?
        && sink.meter.wants_media()
    {
        let size = bytes::data_of(&url.as_str()).and_then(bytes::size);
        sink.meter.media(Media::Image { low: false, size });
    }
    Ok(())
}

/// Definitions of tools, which the model reads as JSON.
fn definitions<V: Value>(item: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if let Some(tools) = item.get(Key::Tools)? {
        meter_value(&tools, || "tools".to_owned(), sink.meter)?;
    }
    Ok(())
}

/// The content of a message.
fn content<V: Value>(item: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let Some(content) = item.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = content.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let Some(len) = content.list() else {
        return Err(ReadError::Misfit(misfit(
            "content",
            Some(&content),
            "a string, a list of parts or null",
        )));
    };
    for k in 0..len {
        let Some(part) = content.item(k) else { break };
        let at = || place("content", k);
        match part_text(&part)? {
            Some(text) if part.text().is_some() => sink.meter.text(&text)?,
            _ => shown(&part, &at, sink)?,
        }
    }
    Ok(())
}

/// Parts that say their `text`.
pub(super) fn is_text(kind: &str) -> bool {
    matches!(
        kind,
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text"
    )
}

/// A part that is no string.
fn shown<V: Value>(
    part: &V,
    at: &dyn Fn() -> String,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if !part.is_record() {
        let expected = "a string or a mapping";
        return Err(ReadError::Misfit(misfit(at(), Some(part), expected)));
    }
    let kind = part.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    let kind = kind.as_deref().unwrap_or_default();
    if let Some(kind) = media_kind(kind) {
        if sink.meter.wants_media() {
            sink.meter.media(media::read(part, kind)?);
        }
        return Ok(());
    }
    let key = match kind {
        kind if is_text(kind) => Key::Text,
        "refusal" => Key::Refusal,
        _ => return unknown(part, sink),
    };
    let path = || at() + "." + key.name();
    match part.get(key)? {
        Some(text) => Ok(sink.meter.text(&string(&text, path, "a string")?)?),
        None => Err(ReadError::Misfit(misfit::<V>(path(), None, "a string"))),
    }
}

/// What a part shows, if it does.
fn media_kind(kind: &str) -> Option<media::Kind> {
    match kind {
        "computer_screenshot" => Some(media::Kind::Image),
        kind => media::Kind::of(kind),
    }
}

/// The texts of a part that nobody knows.
fn unknown<V: Value>(part: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    match text_at(part, Key::Text)? {
        Some(text) => Ok(sink.meter.text(&text)?),
        None => texts(part.get(Key::Content)?.as_ref(), sink),
    }
}

/// A text, or a list of them, alone or in records.
fn texts<V: Value>(said: Option<&V>, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let Some(said) = said else { return Ok(()) };
    if let Some(text) = said.text() {
        return Ok(sink.meter.text(&text)?);
    }
    for inner in (0..said.list().unwrap_or(0)).map_while(|k| said.item(k)) {
        if let Some(text) = part_text(&inner)? {
            sink.meter.text(&text)?;
        }
    }
    Ok(())
}

/// What an output says.
fn output<V: Value>(item: &V, family: Family, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    match family {
        Family::ToolSearch => return definitions(item, sink),
        // The provider's own, whose bytes stay as they are.
        Family::Program => return texts(item.get(Key::Result)?.as_ref(), sink),
        Family::Approval => return texts(item.get(Key::Reason)?.as_ref(), sink),
        _ => {}
    }
    let Some(said) = item.get(Key::Output)? else {
        return Ok(());
    };
    if let Some(text) = said.text() {
        return match sink.cap() {
            Some(most) if text.chars() > most => sink.observation(|observation, _| {
                observation.text(to![Key::Output], text, true);
                Ok(())
            }),
            _ => Ok(sink.meter.text(&text)?),
        };
    }
    if said.list().is_none() && !said.is_record() {
        return Err(ReadError::Misfit(misfit(
            "output",
            Some(&said),
            "a string, a list of parts, a picture or null",
        )));
    }
    sink.observation(|observation, sink| {
        let Some(len) = said.list() else {
            let at = || "output".to_owned();
            return observe(&said, &[Key::Output.into()], &at, observation, sink);
        };
        for k in 0..len {
            let Some(part) = said.item(k) else { break };
            let at = || place("output", k);
            match part.text() {
                Some(text) => observation.text(to![Key::Output, k], text, true),
                None => observe(
                    &part,
                    &[Key::Output.into(), k.into()],
                    &at,
                    observation,
                    sink,
                )?,
            }
        }
        Ok(())
    })
}

/// A part of an output: its texts may be shortened, all else stays.
fn observe<V: Value>(
    part: &V,
    path: &[Step],
    at: &dyn Fn() -> String,
    observation: &mut Observation<V::Text>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if !part.is_record() {
        return shown(part, at, sink);
    }
    let to = |key: Key| {
        let mut path = path.to_vec();
        path.push(key.into());
        path
    };
    // A chunk of a shell's.
    let (stdout, stderr) = (text_at(part, Key::Stdout)?, text_at(part, Key::Stderr)?);
    if stdout.is_some() || stderr.is_some() {
        for (key, text) in [(Key::Stdout, stdout), (Key::Stderr, stderr)] {
            if let Some(text) = text {
                observation.text_beside(to(key), text);
            }
        }
        return Ok(());
    }
    let kind = part.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    let is_media = kind.as_deref().and_then(media_kind).is_some();
    match text_at(part, Key::Text)? {
        Some(text) if !is_media => observation.text(to(Key::Text), text, true),
        _ => shown(part, at, sink)?,
    }
    Ok(())
}
