//! Pictures, sounds and files as most formats have them: a part with a `type`.

use crate::cost::Media;
use crate::error::Foreign;
use crate::media::{self, Duration, ImageSize};
use crate::value::{Key, Text, Value};

/// Parts that cost by the piece, by their type.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Image,
    Audio,
    File,
}

impl Kind {
    pub(super) fn of(kind: &str) -> Option<Self> {
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

/// Whether a part is a picture, a sound or a file.
pub(super) fn is_media<V: Value>(part: &V) -> Result<bool, Foreign> {
    if !part.is_record() {
        return Ok(false);
    }
    let kind = part.get(Key::Type)?;
    let kind = kind.as_ref().and_then(Value::word);
    Ok(kind.as_deref().and_then(Kind::of).is_some())
}

/// What is known of a part of that kind.
pub(super) fn read<V: Value>(part: &V, kind: Kind) -> Result<Media, Foreign> {
    Ok(match kind {
        Kind::Image => {
            let image = part.get(Key::ImageUrl)?;
            Media::Image {
                low: is_low(part, image.as_ref())?,
                size: image_size(part, image.as_ref())?,
            }
        }
        Kind::Audio => Media::Audio(audio_length(part)?),
        Kind::File => Media::File,
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
