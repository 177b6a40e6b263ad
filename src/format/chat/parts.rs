//! Content: a string or a list of parts.

use super::{foreign, string};
use crate::cap::{PartCut, Placed, TextCut};
use crate::cost::{Media, Meter, place};
use crate::error::{Foreign, ReadError};
use crate::format::misfit;
use crate::value::{Key, Text, Value};

/// Meters a content. `beside_calls`: the message has `tool_calls`.
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

/// Meters an observation's content of which only `cuts` stays. Gives the characters and bytes of the texts that share its cap.
pub(super) fn cut_content<V: Value>(
    content: &V,
    cuts: &[PartCut],
    auto: bool,
    meter: &mut Meter<'_, V::Text>,
) -> Result<(u64, u64), ReadError> {
    // Cuts are in the order of their parts.
    let cut_of = |part: Option<usize>| {
        let at = cuts.binary_search_by_key(&part, |cut| cut.part).ok()?;
        Some(cuts[at].cut)
    };
    let meter_cut = |text: &V::Text, cut: Option<TextCut>, meter: &mut Meter<'_, V::Text>| match cut
    {
        Some(cut) => meter.cut_text(text, &cut),
        None => Ok(()),
    };
    if let Some(text) = content.text() {
        let before = meter.chars;
        meter_cut(&text, cut_of(None).flatten(), meter)?;
        return Ok((meter.chars - before, 0));
    }
    let mut shared = (0, 0);
    for k in 0..parts(content)? {
        let Some(part) = content.item(k) else { break };
        // The text that a picture carries costs nothing, cut or not.
        let text = match part_text(&part)? {
            Some(text) if !is_media(&part)? => text,
            _ => {
                one(&part, k, false, auto, meter)?;
                continue;
            }
        };
        let before = (meter.chars, meter.bytes);
        match cut_of(Some(k)) {
            Some(cut) => meter_cut(&text, cut, meter)?,
            None => one(&part, k, false, auto, meter)?,
        }
        shared.0 += meter.chars - before.0;
        shared.1 += meter.bytes - before.1;
    }
    Ok(shared)
}

/// The texts of an observation that may be shortened, each with its place.
pub(super) fn observation_texts<V: Value>(content: &V) -> Result<Vec<Placed<V::Text>>, ReadError> {
    if let Some(text) = content.text() {
        return Ok(vec![(None, text)]);
    }
    let mut texts = Vec::new();
    for k in 0..parts(content)? {
        let Some(part) = content.item(k) else { break };
        if let Some(text) = part_text(&part)? {
            texts.push((Some(k), text));
        }
    }
    Ok(texts)
}

/// A part's text: the part itself, or what stands under `text`.
pub(crate) fn part_text<V: Value>(part: &V) -> Result<Option<V::Text>, Foreign> {
    match part.text() {
        Some(text) => Ok(Some(text)),
        None if part.is_record() => Ok(part.get(Key::Text)?.and_then(|text| text.text())),
        None => Ok(None),
    }
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
    if let Some(media) = media(part, kind.as_deref())? {
        meter.media(media);
        return Ok(());
    }
    match kind.as_deref() {
        Some("text") => meter.text(&text_under(Key::Text)?)?,
        Some("refusal") => meter.text(&text_under(Key::Refusal)?)?,
        // The call stands in tool_calls as well and is counted there.
        Some("tool_use") if beside_calls => {}
        kind => {
            if auto
                && !beside_calls
                && let Some(format) = foreign::by_part(part, kind)?
            {
                return Err(ReadError::NotThereYet(format));
            }
            unknown(part, meter)?;
        }
    }
    Ok(())
}

/// What a part of that type costs by the piece.
fn media<V: Value>(part: &V, kind: Option<&str>) -> Result<Option<Media>, Foreign> {
    Ok(Some(match kind.unwrap_or_default() {
        "image_url" | "image" | "input_image" if is_low(part)? => Media::ImageLow,
        "image_url" | "image" | "input_image" => Media::Image,
        "input_audio" | "audio" | "audio_url" => Media::Audio,
        "file" | "document" | "document_url" | "input_file" | "video" | "video_url" => Media::File,
        _ => return Ok(None),
    }))
}

fn is_media<V: Value>(part: &V) -> Result<bool, Foreign> {
    if !part.is_record() {
        return Ok(false);
    }
    let kind = part.get(Key::Type)?;
    Ok(media(part, kind.as_ref().and_then(Value::word).as_deref())?.is_some())
}

/// Whether an image is sent at low detail.
fn is_low<V: Value>(part: &V) -> Result<bool, Foreign> {
    let low = |value: V| value.word().is_some_and(|detail| detail == "low");
    if part.get(Key::Detail)?.is_some_and(low) {
        return Ok(true);
    }
    match part.get(Key::ImageUrl)? {
        Some(image) if image.is_record() => Ok(image.get(Key::Detail)?.is_some_and(low)),
        _ => Ok(false),
    }
}

/// Meters the texts of a part that nobody knows.
fn unknown<V: Value>(part: &V, meter: &mut Meter<'_, V::Text>) -> Result<(), ReadError> {
    for key in [Key::Text, Key::Thinking] {
        if let Some(text) = part.get(key)?.and_then(|value| value.text()) {
            meter.text(&text)?;
            return Ok(());
        }
    }
    let Some(inner) = part.get(Key::Content)? else {
        return Ok(());
    };
    if let Some(text) = inner.text() {
        meter.text(&text)?;
        return Ok(());
    }
    for item in (0..inner.list().unwrap_or(0))
        .map_while(|k| inner.item(k))
        .filter(Value::is_record)
    {
        if let Some(text) = item.get(Key::Text)?.and_then(|text| text.text()) {
            meter.text(&text)?;
        }
    }
    Ok(())
}

/// Where a notice goes that is folded into a user turn.
#[derive(Clone)]
pub(crate) enum NoticePlace<T> {
    /// The turn begins with it already.
    There,
    /// In front of this text, with a blank line between.
    Before(T),
    /// Into a part of its own, or as the whole content.
    Alone,
}

/// Where `notice` would go in a user turn, whose content has been read before.
pub(crate) fn notice_place<V: Value>(
    message: &V,
    notice: &str,
) -> Result<NoticePlace<V::Text>, Foreign> {
    let Some(content) = message.get(Key::Content)? else {
        return Ok(NoticePlace::Alone);
    };
    if let Some(text) = content.text() {
        let there = text
            .as_str()
            .strip_prefix(notice)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("\n\n"));
        return Ok(if there {
            NoticePlace::There
        } else {
            NoticePlace::Before(text)
        });
    }
    let Some(first) = content.item(0) else {
        return Ok(NoticePlace::Alone);
    };
    let text = match first.text() {
        Some(text) => Some(text),
        None if first.is_record() => {
            let is_text = first
                .get(Key::Type)?
                .is_some_and(|kind| kind.word().is_some_and(|kind| kind == "text"));
            if is_text {
                first.get(Key::Text)?.and_then(|text| text.text())
            } else {
                None
            }
        }
        None => None,
    };
    let there = text.is_some_and(|text| text.as_str() == notice);
    Ok(if there {
        NoticePlace::There
    } else {
        NoticePlace::Alone
    })
}
