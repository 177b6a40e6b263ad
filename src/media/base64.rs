//! Base64 as providers take it, decoded no further than somebody reads.

/// So many characters are looked at: metadata in front of an image's size are longer in no picture that is sent, and a look
/// costs a fraction of a millisecond at most.
const LONGEST: usize = 1 << 20;

/// Characters that are skipped at a time.
const BLOCK: usize = 64;

/// The bytes of a text in base64. White space is passed over, both alphabets are known, and padding or anything else ends it.
pub(super) struct Bytes<'t> {
    text: &'t [u8],
    /// Bits that were read and not given out yet, and how many.
    bits: u32,
    count: u32,
}

/// The six bits of a character.
const fn digit(sign: u8) -> Option<u32> {
    let value = match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(value as u32)
}

impl<'t> Bytes<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let text = text.as_bytes();
        Self {
            text: &text[..text.len().min(LONGEST)],
            bits: 0,
            count: 0,
        }
    }

    /// The next bytes, all or none.
    pub(super) fn read<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.next()?;
        }
        Some(bytes)
    }

    /// Passes over `count` bytes; where there are fewer, over all.
    pub(super) fn pass(&mut self, mut count: usize) {
        while count > 0 {
            // Between two groups of four characters whole blocks can go, if nothing in them needs a closer look.
            while self.count == 0
                && count >= BLOCK / 4 * 3
                && let Some((block, rest)) = self.text.split_first_chunk::<BLOCK>()
                && is_plain(block)
            {
                self.text = rest;
                count -= BLOCK / 4 * 3;
            }
            if count > 0 && self.next().is_none() {
                return;
            }
            count = count.saturating_sub(1);
        }
    }
}

/// Whether every character is a digit. Without a branch, so that it is done for many at once.
#[allow(clippy::needless_bitwise_bool)] // as it says
fn is_plain(block: &[u8; BLOCK]) -> bool {
    block.iter().fold(true, |plain, &sign| {
        let letter = (sign | 0x20).wrapping_sub(b'a') < 26;
        let number = sign.wrapping_sub(b'0') < 10;
        let other = (sign == b'+') | (sign == b'-') | (sign == b'/') | (sign == b'_');
        plain & (letter | number | other)
    })
}

impl Iterator for Bytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        while self.count < 8 {
            let (&sign, rest) = self.text.split_first()?;
            match digit(sign) {
                Some(digit) => {
                    self.bits = self.bits << 6 | digit;
                    self.count += 6;
                }
                None if matches!(sign, b' ' | b'\t'..=b'\r') => {}
                None => {
                    self.text = &[];
                    return None;
                }
            }
            self.text = rest;
        }
        self.count -= 8;
        let [_, _, _, byte] = (self.bits >> self.count).to_be_bytes();
        Some(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        Bytes::new(text).collect()
    }

    #[test]
    fn both_alphabets_white_space_and_any_padding() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("aGVsbG8"), b"hello");
        assert_eq!(decoded(" aG\nVs\t\r\x0b\x0cbG8 "), b"hello");
        assert_eq!(decoded("-_+/"), [0xfb, 0xff, 0xbf]);
        assert_eq!(decoded("aGVs=bG8"), b"hel");
        assert_eq!(decoded("aGVs\u{a0}bG8"), b"hel");
        assert_eq!(decoded("aGVsb"), b"hel");
        assert_eq!(decoded(""), b"");
        for sign in 0..=u8::MAX {
            let plain = is_plain(&[sign; BLOCK]);
            assert_eq!(plain, digit(sign).is_some(), "{sign}");
        }
    }

    #[test]
    fn skipping_is_reading() {
        let plain: String = (0..1_000)
            .map(|k| ["aGVs", "bG8_", "-/+9"][k % 3])
            .collect();
        let mut spaced = plain.clone();
        for at in [1_777, 600, 333, 3] {
            spaced.insert(at, '\n');
        }
        for text in [plain, spaced] {
            let all = decoded(&text);
            for from in 0..5 {
                for count in (0..200).chain([1_000, 2_990, 2_999, 5_000]) {
                    let mut bytes = Bytes::new(&text);
                    bytes.pass(from);
                    bytes.pass(count);
                    assert_eq!(
                        bytes.collect::<Vec<_>>(),
                        all[(from + count).min(all.len())..]
                    );
                }
            }
        }
    }

    #[test]
    fn no_more_than_a_mebibyte_is_looked_at() {
        let text = "AAAA".repeat(LONGEST / 4) + "BBBB";
        assert_eq!(Bytes::new(&text).count(), LONGEST / 4 * 3);
    }
}
