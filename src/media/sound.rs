//! The length of a sound, from its header.

use super::base64::Bytes;

/// How long a sound is, as a fraction of a second that is never rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duration {
    bytes: u32,
    bytes_a_second: std::num::NonZeroU32,
}

impl Duration {
    /// So much for each second, rounded up, and at most 2^32 - 1.
    pub(crate) fn times(self, each: u32) -> u64 {
        let product = u64::from(self.bytes) * u64::from(each);
        product
            .div_ceil(u64::from(self.bytes_a_second.get()))
            .min(u32::MAX.into())
    }
}

/// The length of the WAV that a text holds in base64, from its chunks `fmt ` and `data`. `None` where it is none, is broken or
/// claims to be longer than a text of so many characters can hold, as one does whose length was not known when it was begun.
///
/// Source: Multimedia Programming Interface and Data Specifications 1.0, "Waveform Audio File Format".
pub(crate) fn duration(base64: &str, chars: usize) -> Option<Duration> {
    let mut bytes = Bytes::new(base64);
    let [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E'] = bytes.read()? else {
        return None;
    };
    let mut rate = None;
    loop {
        let name: [u8; 4] = bytes.read()?;
        let length = u32::from_le_bytes(bytes.read()?);
        let mut left = usize::try_from(length).ok()?;
        if &name == b"data" {
            let fits = left > 0 && left <= chars / 4 * 3 + 2;
            return rate.filter(|_| fits).map(|bytes_a_second| Duration {
                bytes: length,
                bytes_a_second,
            });
        }
        if &name == b"fmt " {
            let [_, _, _, _, _, _, _, _] = bytes.read()?; // format, channels, samples a second
            rate = std::num::NonZeroU32::new(u32::from_le_bytes(bytes.read()?));
            left = left.checked_sub(12)?;
        }
        // A chunk of odd length is padded.
        bytes.pass(left.saturating_add(usize::try_from(length & 1).unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RIFF WAVE, fmt of 32,000 bytes a second, data of 48,000.
    const SECOND_AND_A_HALF: &str = "UklGRgAAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YYC7AAAA";

    #[test]
    fn a_wave_is_as_long_as_its_header_says() {
        let long = SECOND_AND_A_HALF.to_owned() + &"AAAA".repeat(16_000);
        let found = duration(&long, long.len())
            .map(|found| (found.times(10), found.times(1), found.times(u32::MAX)));
        assert_eq!(found, Some((15, 2, u64::from(u32::MAX))));
        // It claims more than there is.
        assert_eq!(duration(SECOND_AND_A_HALF, SECOND_AND_A_HALF.len()), None);
        // Its header is 44 bytes long.
        for end in 0..59 {
            assert_eq!(duration(&SECOND_AND_A_HALF[..end], 100_000), None);
        }
    }
}
