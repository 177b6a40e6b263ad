//! What a part costs.

use crate::cost::{Media, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Tie, Turn};
use crate::format::{
    STRING_OR_NULL, Sink, first_of, has_any, id_at, json, meter_value, misfit, records, string_at,
    text_at,
};
use crate::media;
use crate::plan::{Path, to};
use crate::value::{Key, Lent, Text, Value};

/// On the wire and in the SDK.
type Names = [Key; 2];

const CALL: Names = [Key::FunctionCallCamel, Key::FunctionCall];
const RESPONSE: Names = [Key::FunctionResponseCamel, Key::FunctionResponse];
const SERVER_CALL: Names = [Key::ToolCallCamel, Key::ToolCall];
const SERVER_RESPONSE: Names = [Key::ToolResponseCamel, Key::ToolResponse];
const INLINE: Names = [Key::InlineDataCamel, Key::InlineData];
const FILE: Names = [Key::FileDataCamel, Key::FileData];
const MIME: Names = [Key::MimeTypeCamel, Key::MimeType];
const CODE: Names = [Key::ExecutableCodeCamel, Key::ExecutableCode];
const OUTCOME: Names = [Key::CodeExecutionResultCamel, Key::CodeExecutionResult];
const SIGNATURE: Names = [Key::ThoughtSignatureCamel, Key::ThoughtSignature];

/// All that a part may hold beside a text.
const HELD: [Names; 9] = [
    CALL,
    RESPONSE,
    SERVER_CALL,
    SERVER_RESPONSE,
    INLINE,
    FILE,
    CODE,
    OUTCOME,
    SIGNATURE,
];

/// What a part holds under each of these names.
fn held_in<V: Value>(part: &V) -> Result<[Option<(Key, V)>; HELD.len()], Foreign> {
    let mut found = [const { None }; HELD.len()];
    let looked = part.look(|key, value| {
        if let Some(at) = HELD.iter().position(|names| names.contains(&key))
            && !value.is_null()
            && (found[at].is_none() || key == HELD[at][0])
        {
            found[at] = Some((key, value.keep()));
        }
        true
    });
    if !looked {
        for (found, names) in found.iter_mut().zip(&HELD) {
            *found = first_of(part, names)?;
        }
    }
    Ok(found)
}

/// The call in a part.
pub(super) fn call<V: Value>(part: &V) -> Result<Option<(Key, V)>, Foreign> {
    first_of(part, &CALL)
}

/// The result in a part.
pub(super) fn response<V: Value>(part: &V) -> Result<Option<(Key, V)>, Foreign> {
    first_of(part, &RESPONSE)
}

/// Whether a part holds a result.
pub(super) fn has_response<V: Value>(part: &V) -> Result<bool, Foreign> {
    has_any(part, &RESPONSE)
}

/// The tie of a part into `links`, where it stands in a turn in which it counts.
pub(super) fn link<V: Value>(
    part: &V,
    turn: Turn,
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    let found = match turn {
        Turn::Model => call(part)?,
        Turn::Result => response(part)?,
        _ => None,
    };
    match found {
        Some((_, held)) => tie(&held, turn, links),
        None => Ok(()),
    }
}

/// The tie of a call in the model's turn, or of a result in another.
fn tie<V: Value>(held: &V, turn: Turn, links: &mut Links<V::Text>) -> Result<(), Foreign> {
    let id = if held.is_record() {
        id_at(held, Key::Id)?
    } else {
        None
    };
    let ties = if turn == Turn::Model {
        &mut links.calls
    } else {
        &mut links.results
    };
    ties.push(Tie::new(Family::Tool, id));
    Ok(())
}

/// Whether nothing is in a part: no text, nothing of what a part may hold, and nothing that nobody knows.
pub(super) fn is_empty<V: Value>(part: &V) -> Result<bool, Foreign> {
    if part.get(Key::Text)?.is_some() || first_of(part, HELD.as_flattened())?.is_some() {
        return Ok(false);
    }
    let known = |name: &str| {
        matches!(Key::of(name), Some(key) if matches!(key, Key::Text | Key::Thought)
            || HELD.as_flattened().contains(&key))
    };
    Ok(part
        .entries()?
        .iter()
        .all(|(name, _)| known(&name.as_str())))
}

/// Reads part `k` of a message.
pub(super) fn read<V: Value>(
    part: &V,
    k: usize,
    turn: Turn,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if let Some(text) = part.text() {
        return Ok(sink.meter.text(&text)?);
    }
    if !part.is_record() {
        let expected = "a string or a mapping";
        return Err(ReadError::Misfit(misfit(
            place("parts", k),
            Some(part),
            expected,
        )));
    }
    if let Some(text) = string_at(part, || place("parts", k), Key::Text, "a string")? {
        sink.meter.text(&text)?;
    }
    for (names, found) in HELD.into_iter().zip(held_in(part)?) {
        let Some((key, held)) = found else { continue };
        let at = || place("parts", k) + "." + key.name();
        read_held(names, &held, &at, to![Key::Parts, k, key], sink)?;
        if matches!(
            (names, turn),
            (CALL, Turn::Model) | (RESPONSE, Turn::Result)
        ) {
            tie(&held, turn, sink.links)?;
        }
    }
    Ok(())
}

/// Reads what a part holds under `names`.
fn read_held<V: Value>(
    names: Names,
    held: &V,
    at: &dyn Fn() -> String,
    mut path: Path,
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    if names == SIGNATURE {
        // Bytes in the SDK, of which nothing is counted.
        if let Some(signature) = held.text() {
            sink.meter.opaque(&signature)?;
        }
        return Ok(());
    }
    if !held.is_record() {
        return Err(ReadError::Misfit(misfit(at(), Some(held), "a mapping")));
    }
    let text_under = |key| string_at(held, at, key, STRING_OR_NULL);
    match names {
        CALL | SERVER_CALL => {
            let name = text_under(Key::Name)?;
            text_under(Key::Id)?;
            sink.meter.call(name.as_ref())?;
            if let Some(args) = held.get(Key::Args)? {
                meter_value(&args, || at() + ".args", sink.meter)?;
            }
        }
        RESPONSE | SERVER_RESPONSE => {
            text_under(Key::Id)?;
            sink.meter.result();
            if let Some(response) = held.get(Key::Response)? {
                let (step, text) = json::said(&response, || at() + ".response")?;
                match sink.cap() {
                    Some(most) if names == RESPONSE && text.chars() > most => {
                        path.push(Key::Response.into());
                        path.extend(step);
                        sink.observation(|observation, _| {
                            observation.text(path, text, true);
                            Ok(())
                        })?;
                    }
                    _ => sink.meter.text(&text)?,
                }
            }
            for inner in records(held.get(Key::Parts)?.as_ref()) {
                for names in [INLINE, FILE] {
                    if let Some((_, shown)) = first_of(&inner, &names)? {
                        show(&shown, sink)?;
                    }
                }
            }
        }
        CODE | OUTCOME => {
            let key = if names == CODE {
                Key::Code
            } else {
                Key::Output
            };
            if let Some(text) = text_under(key)? {
                sink.meter.text(&text)?;
            }
        }
        _ => show(held, sink)?,
    }
    Ok(())
}

/// A picture, a sound or a file, by its media type.
fn show<V: Value>(held: &V, sink: &mut Sink<'_, '_, V>) -> Result<(), Foreign> {
    if !sink.meter.wants_media() || !held.is_record() {
        return Ok(());
    }
    let mime = first_of(held, &MIME)?.and_then(|(_, mime)| mime.text());
    let mime = mime.as_ref().map_or_else(Default::default, Text::as_str);
    let data = text_at(held, Key::Data)?;
    sink.meter.media(if mime.starts_with("image/") {
        Media::Image {
            low: false,
            size: data.and_then(|data| media::size(&data.as_str())),
        }
    } else if mime.starts_with("audio/") {
        Media::Audio(data.and_then(|data| media::duration(&data.as_str(), data.chars())))
    } else {
        Media::File
    });
    Ok(())
}
