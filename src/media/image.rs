//! The size of an image, from its header.

use std::num::NonZeroU16;

use super::base64::Bytes;

/// Pixels of an image. More than 65,535 along a side are nobody's photograph: JPEG and GIF cannot say so, and no provider
/// takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageSize {
    width: NonZeroU16,
    height: NonZeroU16,
}

impl ImageSize {
    /// `None` where a side is 0 or more than 65,535.
    pub(crate) fn new(width: u32, height: u32) -> Option<Self> {
        let side = |pixels: u32| u16::try_from(pixels).ok().and_then(NonZeroU16::new);
        Some(Self {
            width: side(width)?,
            height: side(height)?,
        })
    }

    pub(crate) fn width(self) -> NonZeroU16 {
        self.width
    }

    pub(crate) fn height(self) -> NonZeroU16 {
        self.height
    }
}

/// The size of the image that a text holds in base64: PNG, JPEG, GIF or WebP, known by its own first bytes. `None` where it is
/// none of these, or broken.
pub(crate) fn size(base64: &str) -> Option<ImageSize> {
    let mut bytes = Bytes::new(base64);
    let (width, height) = match bytes.read()? {
        [0xff, 0xd8] => jpeg(bytes),
        [0x89, b'P'] => png(bytes),
        [b'G', b'I'] => gif(bytes),
        [b'R', b'I'] => webp(bytes),
        _ => None,
    }?;
    ImageSize::new(width, height)
}

/// Source: Portable Network Graphics, 5.2 and 11.2.1.
fn png(mut bytes: Bytes) -> Option<(u32, u32)> {
    let [
        b'N',
        b'G',
        b'\r',
        b'\n',
        0x1a,
        b'\n',
        _,
        _,
        _,
        _,
        b'I',
        b'H',
        b'D',
        b'R',
    ] = bytes.read()?
    else {
        return None;
    };
    Some((
        u32::from_be_bytes(bytes.read()?),
        u32::from_be_bytes(bytes.read()?),
    ))
}

/// Source: Graphics Interchange Format 89a, 17 and 18.
fn gif(mut bytes: Bytes) -> Option<(u32, u32)> {
    let [b'F', b'8', b'7' | b'9', b'a'] = bytes.read()? else {
        return None;
    };
    Some((le16(&mut bytes)?, le16(&mut bytes)?))
}

/// Walks the segments to the frame header. Source: ITU-T T.81, annex B.
fn jpeg(mut bytes: Bytes) -> Option<(u32, u32)> {
    loop {
        let [0xff] = bytes.read()? else { return None };
        let marker = bytes.find(|&byte| byte != 0xff)?;
        match marker {
            // Restart markers and the like have no length.
            0x01 | 0xd0..=0xd8 => {}
            // The scan, or the end, and no frame header before it; 0 is no marker.
            0x00 | 0xd9 | 0xda => return None,
            // Of C0 to CF all but the tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let [_, _, _] = bytes.read()?; // its length, and the bits of a sample
                let height = u16::from_be_bytes(bytes.read()?);
                let width = u16::from_be_bytes(bytes.read()?);
                return Some((width.into(), height.into()));
            }
            _ => {
                let length = u16::from_be_bytes(bytes.read()?);
                bytes.pass(usize::from(length).checked_sub(2)?);
            }
        }
    }
}

/// Source: WebP Container Specification; RFC 6386, 9.1; WebP Lossless Bitstream Specification, 3.
fn webp(mut bytes: Bytes) -> Option<(u32, u32)> {
    let [
        b'F',
        b'F',
        _,
        _,
        _,
        _,
        b'W',
        b'E',
        b'B',
        b'P',
        b'V',
        b'P',
        b'8',
        kind,
        _,
        _,
        _,
        _,
    ] = bytes.read()?
    else {
        return None;
    };
    match kind {
        b' ' => {
            let [_, _, _, 0x9d, 0x01, 0x2a] = bytes.read()? else {
                return None;
            };
            // The upper two bits are a scale.
            Some((le16(&mut bytes)? & 0x3fff, le16(&mut bytes)? & 0x3fff))
        }
        b'L' => {
            let [0x2f] = bytes.read()? else { return None };
            let bits = u32::from_le_bytes(bytes.read()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b'X' => {
            let [_, _, _, _] = bytes.read()?; // what else is in the file
            Some((le24(&mut bytes)? + 1, le24(&mut bytes)? + 1))
        }
        _ => None,
    }
}

fn le16(bytes: &mut Bytes) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.read()?).into())
}

fn le24(bytes: &mut Bytes) -> Option<u32> {
    let [low, middle, high] = bytes.read()?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base64 with padding.
    fn encoded(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let word = group
                .iter()
                .fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
                << (8 * (3 - group.len()));
            for k in 0..4 {
                let digit = DIGITS[(word >> (18 - 6 * k)) as usize & 63];
                text.push(if k > group.len() { '=' } else { digit.into() });
            }
        }
        text
    }

    fn of(bytes: &[&[u8]]) -> Option<(u16, u16)> {
        let whole = encoded(&bytes.concat());
        let found = size(&whole);
        // Whatever is cut off, nothing panics, and no other size is found.
        for end in 0..whole.len().min(400) {
            let part = size(&whole[..end]);
            assert!(part.is_none() || part == found);
        }
        found.map(|size| (size.width.get(), size.height.get()))
    }

    #[test]
    fn png_and_gif() {
        let png = |width: u32, height: u32| {
            of(&[
                b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
                &width.to_be_bytes(),
                &height.to_be_bytes(),
                b"\x08\x02\0\0\0",
            ])
        };
        assert_eq!(png(640, 480), Some((640, 480)));
        assert_eq!(png(65_535, 1), Some((65_535, 1)));
        assert_eq!(png(65_536, 1), None);
        assert_eq!(png(0, 1), None);
        assert_eq!(
            of(&[b"\x89PNG\r\n\x1a\n\0\0\0\x04CgBI\0\0\0\0\0\0\0\0"]),
            None
        );
        assert_eq!(of(&[b"GIF89a\x80\x02\xe0\x01\0\0\0"]), Some((640, 480)));
        assert_eq!(of(&[b"GIF87a\x01\0\x02\0\0\0\0"]), Some((1, 2)));
        assert_eq!(of(&[b"GIF88a\x01\0\x02\0\0\0\0"]), None);
    }

    #[test]
    fn jpeg_behind_any_metadata() {
        let frame = |marker: u8| [0xff, marker, 0, 17, 8, 1, 0xe0, 2, 0x80, 3];
        let filler = vec![0xd9; 65_533];
        let segment: &[u8] = &[&b"\xff\xe1\xff\xff"[..], &filler].concat();
        assert_eq!(of(&[b"\xff\xd8", &frame(0xc0)]), Some((640, 480)));
        assert_eq!(
            of(&[
                b"\xff\xd8\xff\xe0\x00\x02\xff\xff\xff\xff\xd8",
                &frame(0xc2)[1..]
            ]),
            None
        );
        assert_eq!(
            of(&[b"\xff\xd8\xff\xe0\x00\x02\xff\xff\xff", &frame(0xc2)]),
            Some((640, 480))
        );
        for tables in [0xc4, 0xc8, 0xcc, 0xdb] {
            assert_eq!(of(&[b"\xff\xd8", &frame(tables)]), None);
        }
        // Eleven long segments can be passed, twelve are behind the bound.
        assert_eq!(
            of(&[b"\xff\xd8", &segment.repeat(11), &frame(0xcf)]),
            Some((640, 480))
        );
        assert_eq!(of(&[b"\xff\xd8", &segment.repeat(12), &frame(0xcf)]), None);
        assert_eq!(of(&[b"\xff\xd8\xff\xe0\x00\x01", &frame(0xc0)]), None);
        assert_eq!(of(&[b"\xff\xd8\xff\xda\x00\x02", &frame(0xc0)]), None);
        assert_eq!(of(&[b"\xff\xd8\x00", &frame(0xc0)]), None);
    }

    #[test]
    fn webp_in_three_kinds() {
        let webp =
            |kind: &[u8], data: &[u8]| of(&[b"RIFF\0\0\0\0WEBPVP8", kind, b"\0\0\0\0", data]);
        assert_eq!(
            webp(b" ", b"\0\0\0\x9d\x01\x2a\x80\x42\xe0\x81"),
            Some((640, 480))
        );
        assert_eq!(webp(b" ", b"\0\0\0\x9d\x01\x2b\x80\x42\xe0\x81"), None);
        let bits = 639 + (479 << 14) + (1_u32 << 28);
        assert_eq!(
            webp(b"L", &[&b"\x2f"[..], &bits.to_le_bytes()].concat()),
            Some((640, 480))
        );
        assert_eq!(
            webp(b"X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0"),
            Some((640, 480))
        );
        assert_eq!(webp(b"X", b"\0\0\0\0\xff\xff\0\xdf\x01\0"), None);
        assert_eq!(webp(b"Y", b"\0\0\0\0\x7f\x02\0\xdf\x01\0"), None);
        assert_eq!(
            of(&[b"RIFF\0\0\0\0WAVEVP8X\0\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0"]),
            None
        );
    }
}
