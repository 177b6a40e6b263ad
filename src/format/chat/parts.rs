//! Content: a string or a list of parts.

use super::{foreign, string};
use crate::cap::{PartCut, Placed, TextCut};
use crate::cost::{Media, Meter, place};
use crate::error::{Foreign, ReadError};
use crate::format::misfit;
use crate::media::{self, Duration, ImageSize};
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
    if let Some(kind) = kind.as_deref().and_then(MediaKind::of) {
        if meter.wants_media() {
            meter.media(media(part, kind)?);
        }
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

/// Parts that cost by the piece, by their type.
#[derive(Clone, Copy)]
enum MediaKind {
    Image,
    Audio,
    File,
}

impl MediaKind {
    fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "image_url" | "image" | "input_image" => Self::Image,
            "input_audio" | "audio" | "audio_url" => Self::Audio,
            "file" | "document" | "document_url" | "input_file" | "video" | "video_url" => {
                Self::File
            }
            _ => return None,
        })
    }
}

fn is_media<V: Value>(part: &V) -> Result<bool, Foreign> {
    if !part.is_record() {
        return Ok(false);
    }
    let kind = part.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    Ok(kind.as_deref().and_then(MediaKind::of).is_some())
}

/// What is known of a part of that kind.
fn media<V: Value>(part: &V, kind: MediaKind) -> Result<Media, Foreign> {
    Ok(match kind {
        MediaKind::Image => {
            let image = part.get(Key::ImageUrl)?;
            Media::Image {
                low: is_low(part, image.as_ref())?,
                size: image_size(part, image.as_ref())?,
            }
        }
        MediaKind::Audio => Media::Audio(audio_length(part)?),
        MediaKind::File => Media::File,
    })
}

/// The text under a key of what may be a mapping.
fn text_in<V: Value>(record: Option<&V>, key: Key) -> Result<Option<V::Text>, Foreign> {
    match record.filter(|record| record.is_record()) {
        Some(record) => Ok(record.get(key)?.and_then(|value| value.text())),
        None => Ok(None),
    }
}

/// Whether an image is sent at low detail. `image`: what stands under `image_url`.
fn is_low<V: Value>(part: &V, image: Option<&V>) -> Result<bool, Foreign> {
    for record in [Some(part), image] {
        if text_in(record, Key::Detail)?.is_some_and(|detail| detail.as_str() == "low") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The size of an image that is sent along in base64: in a data URL, or in a source as Anthropic has it.
fn image_size<V: Value>(part: &V, image: Option<&V>) -> Result<Option<ImageSize>, Foreign> {
    let url = match image.and_then(Value::text) {
        Some(url) => Some(url),
        None => text_in(image, Key::Url)?,
    };
    if let Some(url) = url {
        return Ok(media::data_of(&url.as_str()).and_then(media::size));
    }
    let source = part.get(Key::Source)?;
    let kind = text_in(source.as_ref(), Key::Type)?;
    if kind.is_none_or(|kind| kind.as_str() != "base64") {
        return Ok(None);
    }
    let data = text_in(source.as_ref(), Key::Data)?;
    Ok(data.and_then(|data| media::size(&data.as_str())))
}

/// The length of a sound that is sent along in base64.
fn audio_length<V: Value>(part: &V) -> Result<Option<Duration>, Foreign> {
    let data = text_in(part.get(Key::InputAudio)?.as_ref(), Key::Data)?;
    Ok(data.and_then(|data| media::duration(&data.as_str(), data.chars())))
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
