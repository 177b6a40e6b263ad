//! What a target makes of the bytes that it is given.

use backcut::Encoding;

/// Two numbers, an encoding, and a text of about `most` bytes if not of fewer: the bytes behind four numbers, what is not
/// UTF-8 replaced, as often as the third of them says. libFuzzer does not find long runs by itself.
pub fn input(data: &[u8], most: usize) -> Option<(u8, u8, Encoding, String)> {
    let (&[first, second, times, encoding], text) = data.split_first_chunk()?;
    let text = String::from_utf8_lossy(&text[..text.len().min(most)]);
    let times = usize::from(times % 64).min(most / text.len().max(1)).max(1);
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    Some((first, second, encoding, text.repeat(times)))
}
