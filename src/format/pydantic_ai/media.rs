//! Pictures, sounds and files by their `kind`.

use crate::cost::Media;
use crate::error::Foreign;
use crate::format::text_at;
use crate::media;
use crate::value::{Key, Text, Value};

/// What is shown rather than said.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Image,
    Audio,
    File,
}

/// What a value shows, if it does.
pub(super) fn kind<V: Value>(value: &V) -> Result<Option<Kind>, Foreign> {
    if !value.is_record() {
        return Ok(None);
    }
    let kind = value.get(Key::Kind)?;
    Ok(Some(match kind.as_ref().and_then(Value::word).as_deref() {
        Some("image-url") => Kind::Image,
        Some("audio-url") => Kind::Audio,
        Some("video-url" | "document-url") => Kind::File,
        Some("binary" | "uploaded-file") => {
            let of = text_at(value, Key::MediaType)?;
            match of.as_ref().map(Text::as_str) {
                Some(of) if of.starts_with("image") => Kind::Image,
                Some(of) if of.starts_with("audio") => Kind::Audio,
                _ => Kind::File,
            }
        }
        _ => return Ok(None),
    }))
}

/// What is known of it.
pub(super) fn read<V: Value>(value: &V, kind: Kind) -> Result<Media, Foreign> {
    Ok(match kind {
        Kind::Image => {
            let url = text_at(value, Key::Url)?;
            let size = match url {
                Some(url) => media::data_of(&url.as_str()).and_then(media::size),
                None => data(value)?.and_then(|data| media::size(&data.as_str())),
            };
            let more = value.get(Key::VendorMetadata)?.filter(Value::is_record);
            let detail = match more {
                Some(more) => text_at(&more, Key::Detail)?,
                None => None,
            };
            let low = detail.is_some_and(|detail| detail.as_str() == "low");
            Media::Image { low, size }
        }
        Kind::Audio => {
            let data = data(value)?;
            Media::Audio(data.and_then(|data| media::duration(&data.as_str(), data.chars())))
        }
        Kind::File => Media::File,
    })
}

/// Its bytes in base64: so they stand in JSON, and so objects give them when they are asked.
fn data<V: Value>(value: &V) -> Result<Option<V::Text>, Foreign> {
    match text_at(value, Key::Data)? {
        Some(data) => Ok(Some(data)),
        None => text_at(value, Key::Base64),
    }
}
