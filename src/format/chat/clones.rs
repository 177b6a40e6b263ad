//! What clones of Chat Completions add to a message.

use crate::cost::{Media, Meter, place};
use crate::error::{Foreign, ReadError};
use crate::facts::{Family, Links, Role, Tie};
use crate::format::{Sink, id_at, records, text_at, text_or_json};
use crate::media;
use crate::plan::{Path, Step, to};
use crate::value::{Key, Text, Value};

/// `tool_responses` of AG2 0.2: the results of several calls in one message of the tools', each with its place. `None` where the
/// message is a result itself.
pub(super) fn responses<V: Value>(listed: &V, tool_call_id: Option<&V>) -> Option<Vec<(usize, V)>> {
    let own = tool_call_id.is_some_and(|id| id.text().is_none_or(|id| id.chars() > 0));
    let responses: Vec<(usize, V)> = (0..listed.list().filter(|_| !own)?)
        .filter_map(|k| Some((k, listed.item(k)?)))
        .filter(|(_, each)| each.is_record())
        .collect();
    (!responses.is_empty()).then_some(responses)
}

/// The same of a message that was not taken apart.
pub(super) fn responses_of<V: Value>(message: &V) -> Result<Option<Vec<(usize, V)>>, Foreign> {
    let Some(listed) = message.get(Key::ToolResponses)? else {
        return Ok(None);
    };
    let role = message.get(Key::Role)?;
    if role.is_none_or(|role| role.word().is_none_or(|role| role != "tool")) {
        return Ok(None);
    }
    let id = message.get(Key::ToolCallId)?;
    Ok(responses(&listed, id.as_ref()))
}

/// Reads them: each is sent as a message of its own, and the content beside them, which repeats them, is not.
pub(super) fn read_responses<V: Value>(
    responses: &[(usize, V)],
    sink: &mut Sink<'_, '_, V>,
) -> Result<(), ReadError> {
    for (nth, (k, response)) in responses.iter().enumerate() {
        if nth > 0 {
            sink.meter.message(Role::Tool)?;
        }
        if let Some(content) = response.get(Key::Content)? {
            let text = text_or_json(&content, || place("tool_responses", *k) + ".content")?;
            let path = to![Key::ToolResponses, *k, Key::Content];
            sink.observation(|observation, _| {
                observation.text(path, text, true);
                Ok(())
            })?;
        }
    }
    link(responses, sink.links)?;
    Ok(())
}

/// Their ties.
pub(super) fn link<V: Value>(
    responses: &[(usize, V)],
    links: &mut Links<V::Text>,
) -> Result<(), Foreign> {
    for (_, response) in responses {
        let id = id_at(response, Key::ToolCallId)?;
        links.results.push(Tie::new(Family::Tool, id));
    }
    Ok(())
}

/// `reasoning_details` of `OpenRouter`.
pub(super) fn reasoning_details<V: Value>(
    details: &V,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(), Foreign> {
    for detail in records(Some(details)) {
        for key in [Key::Text, Key::Summary] {
            if let Some(text) = text_at(&detail, key)? {
                meter.text(&text)?;
            }
        }
        for key in [Key::Signature, Key::Data] {
            if let Some(sealed) = text_at(&detail, key)? {
                meter.opaque(&sealed)?;
            }
        }
    }
    Ok(())
}

/// `images` of Ollama: each in base64.
pub(super) fn images<V: Value>(images: &V, meter: &mut Meter<'_, V::Text>) {
    if !meter.wants_media() {
        return;
    }
    for image in (0..images.list().unwrap_or(0)).map_while(|k| images.item(k)) {
        let size = image.text().and_then(|data| media::size(&data.as_str()));
        meter.media(Media::Image { low: false, size });
    }
}

/// The document that a part of Cohere's holds; one of a picture or a file it is not.
pub(super) fn document<V: Value>(part: &V) -> Result<Option<V>, Foreign> {
    if !part.is_record() {
        return Ok(None);
    }
    let kind = part.get(Key::Type)?;
    if kind.is_none_or(|kind| kind.word().is_none_or(|kind| kind != "document")) {
        return Ok(None);
    }
    Ok(part.get(Key::Document)?.filter(Value::is_record))
}

/// What a document says, which stands at `path`, and the path to it: its only entry if that is a text, so that a shortened one is
/// read as it was written; else its compact JSON.
pub(super) fn text_of<V: Value>(
    document: &V,
    mut path: Path,
    k: usize,
) -> Result<(Path, V::Text), ReadError> {
    if let Some((name, only)) = document.only_entry()?
        && let Some(text) = only.text()
    {
        path.push(Step::Name(name.as_str().into_owned()));
        return Ok((path, text));
    }
    let at = || place("content", k) + ".document";
    Ok((path, text_or_json(document, at)?))
}
