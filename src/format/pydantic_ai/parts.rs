//! What a part costs.

use super::{Kind, Tied, kind, link, media, tied};
use crate::cost::place;
use crate::error::ReadError;
use crate::facts::Turn;
use crate::format::{Lead, STRING_OR_NULL, Sink, meter_value_or, misfit, string, text_at};
use crate::plan::{Path, Step, to};
use crate::value::{Key, Text, Value};

/// Reads part `k` of a message.
pub(super) fn read<V: Value>(
    part: &V,
    k: usize,
    turn: Turn,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if !part.is_record() {
        let at = place("parts", k);
        return Err(ReadError::Misfit(misfit(at, Some(part), "a part")));
    }
    let tied = tied(part)?;
    match tied {
        Some(Tied::Call | Tied::ServerCall) => {
            sink.meter.call(text_at(part, Key::ToolName)?.as_ref())?;
            if let Some(args) = part.get(Key::Args)? {
                let at = || place("parts", k) + ".args";
                meter_value_or(&args, sink.meter, || said(&args, at))?;
            }
        }
        Some(Tied::Result | Tied::ServerResult) => {
            sink.meter.result();
            if let Some(content) = part.get(Key::Content)? {
                returned(&content, k, tied == Some(Tied::Result), sink)?;
            }
        }
        None => return other(part, k, sink),
    }
    link(part, tied, turn, sink.links)?;
    Ok(())
}

/// A part that neither calls nor answers.
fn other<V: Value>(part: &V, k: usize, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    let at = || place("parts", k) + ".content";
    let content = part.get(Key::Content)?;
    let kind = kind(part)?;
    match kind {
        Kind::System => {
            if let Some(content) = content {
                let text = string(&content, at, STRING_OR_NULL)?;
                if sink.how.lead == Lead::Without {
                    sink.meter.opaque(&text)?;
                } else {
                    sink.meter.text(&text)?;
                }
            }
        }
        Kind::Text => {
            if let Some(content) = content {
                sink.meter.text(&string(&content, at, STRING_OR_NULL)?)?;
            }
        }
        Kind::Prompt => {
            if let Some(content) = content {
                prompt(&content, k, sink)?;
            }
        }
        Kind::Thinking => thinking(part, k, content.as_ref(), sink)?,
        Kind::Retry | Kind::Feedback => {
            if let Some(content) = content {
                sink.meter.text(&said(&content, at)?)?;
            }
        }
        Kind::File => {
            if let Some(content) = content {
                show(&content, sink)?;
            }
        }
        Kind::Speech => {
            if let Some(text) = text_at(part, Key::Transcript)? {
                sink.meter.text(&text)?;
            }
        }
        _ => {
            if let Some(text) = content.and_then(|content| content.text()) {
                sink.meter.text(&text)?;
            }
            if kind == Kind::Compaction {
                let details = part.get(Key::ProviderDetails)?.filter(Value::is_record);
                if let Some(details) = details
                    && let Some(sealed) = text_at(&details, Key::EncryptedContent)?
                {
                    sink.meter.opaque(&sealed)?;
                }
            }
        }
    }
    Ok(())
}

/// Thinking: signed for Anthropic's models, it is bound to what stands in front of it.
fn thinking<V: Value>(
    part: &V,
    k: usize,
    content: Option<&V>,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    let text = match content {
        Some(content) => {
            let at = || place("parts", k) + ".content";
            Some(string(content, at, STRING_OR_NULL)?)
        }
        None => None,
    };
    let signature = text_at(part, Key::Signature)?.filter(|it| it.chars() > 0);
    let read = |sink: &mut Sink<'_, '_, V>| {
        if let Some(text) = &text {
            sink.meter.text(text)?;
        }
        if let Some(signature) = &signature {
            sink.meter.opaque(signature)?;
        }
        Ok(())
    };
    let provider = part.get(Key::ProviderName)?;
    let bound = match provider.as_ref().and_then(Value::word).as_deref() {
        Some(name) => matches!(name, "anthropic" | "bedrock"),
        None => true,
    };
    if bound && signature.is_some() {
        sink.thinking(|| to![Key::Parts, k], read)
    } else {
        read(sink)
    }
}

/// What the user says: a string, or a list of strings, texts and media.
fn prompt<V: Value>(content: &V, k: usize, sink: &mut Sink<'_, '_, V>) -> Result<(), ReadError> {
    if let Some(text) = content.text() {
        return Ok(sink.meter.text(&text)?);
    }
    let at = || place("parts", k) + ".content";
    let Some(len) = content.list() else {
        let expected = "a string or a list of strings and media";
        return Err(ReadError::Misfit(misfit(at(), Some(content), expected)));
    };
    for i in 0..len {
        let Some(item) = content.item(i) else { break };
        if let Some(text) = item.text() {
            sink.meter.text(&text)?;
        } else if !item.is_record() {
            let (path, expected) = (place(&at(), i), "a string or a mapping");
            return Err(ReadError::Misfit(misfit(path, Some(&item), expected)));
        } else if !show(&item, sink)?
            && let Some(text) = text_at(&item, Key::Content)?
        {
            sink.meter.text(&text)?;
        }
    }
    Ok(())
}

/// Meters a picture, a sound or a file; whether it is one.
fn show<V: Value>(value: &V, sink: &mut Sink<'_, '_, V>) -> Result<bool, ReadError> {
    let kind = media::kind(value)?;
    if let Some(kind) = kind
        && sink.meter.wants_media()
    {
        sink.meter.media(media::read(value, kind)?);
    }
    Ok(kind.is_some())
}

/// What a tool gave back: JSON, or a list that holds media, which then stand beside its other items.
fn returned<V: Value>(
    content: &V,
    k: usize,
    is_observation: bool,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(text) = content.text() {
        let fits = sink.cap().is_none_or(|most| text.chars() <= most);
        if fits || !is_observation {
            return Ok(sink.meter.text(&text)?);
        }
    }
    let at = || place("parts", k) + ".content";
    let mut texts: Vec<(Path, V::Text)> = Vec::new();
    let path = || to![Key::Parts, k, Key::Content];
    if holds_media(content)? {
        for i in 0..content.list().unwrap_or(0) {
            let Some(item) = content.item(i) else { break };
            if !show(&item, sink)? {
                let text = said(&item, || place(&at(), i))?;
                texts.push((to![Key::Parts, k, Key::Content, i], text));
            }
        }
    } else if !show(content, sink)? {
        let (step, text) = json(content, at)?;
        let mut path = path();
        path.extend(step);
        texts.push((path, text));
    }
    if is_observation {
        return sink.observation(|observation, _| {
            for (path, text) in texts {
                observation.text(path, text, true);
            }
            Ok(())
        });
    }
    for (_, text) in &texts {
        sink.meter.text(text)?;
    }
    Ok(())
}

fn holds_media<V: Value>(content: &V) -> Result<bool, ReadError> {
    for item in (0..content.list().unwrap_or(0)).map_while(|i| content.item(i)) {
        if media::kind(&item)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The text of a value, and the step to it if it stands further inside: a mapping whose one entry is a text says that text.
fn json<V: Value>(
    value: &V,
    path: impl Fn() -> String,
) -> Result<(Option<Step>, V::Text), ReadError> {
    if value.is_record()
        && let Some((name, only)) = value.only_entry()?
        && let Some(text) = only.text()
    {
        return Ok((Some(Step::Name(name.as_str().into_owned())), text));
    }
    Ok((None, said(value, path)?))
}

/// A text as it is, all else as it is sent.
fn said<V: Value>(value: &V, path: impl Fn() -> String) -> Result<V::Text, ReadError> {
    match value.text() {
        Some(text) => Ok(text),
        None => value.sent()?.ok_or_else(|| {
            ReadError::Misfit(misfit(path(), Some(value), "a string or a JSON value"))
        }),
    }
}
