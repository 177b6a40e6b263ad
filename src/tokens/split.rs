//! Where an encoding's pattern splits a text into pieces, each of which is merged on its own.
//!
//! The patterns are those of tiktoken 0.14, alternatives in order. Written by hand they need no look-ahead engine and no going
//! back: every piece is found in one pass over its bytes, and one byte behind it.

use super::block::{self, BLOCK};
use super::classes::{Class, class_at};

/// The pattern of an encoding.
pub(super) trait Split {
    /// Where the piece that begins at `at` ends. `at` is a code point's first byte, in front of the text's end.
    fn end(text: &[u8], at: usize) -> usize;

    /// Where some pieces begin behind the one that begins at `at`, as bits: none is missing up to the highest of them.
    fn starts(text: &[u8], at: usize) -> u64;
}

/// [`block::starts`] of the bytes at a place; behind the text's end nothing is plain.
#[inline]
fn block_starts<const CASED: bool>(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    if rest.get(1).is_none_or(|&byte| byte > 0x7F) {
        return 0;
    }
    if let Some(block) = rest.first_chunk() {
        return block::starts::<CASED>(block);
    }
    let mut block = [0xFF; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block::starts::<CASED>(&block)
}

/// The pattern of `o200k_base`:
///
/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n/]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(super) struct O200k;

/// The pattern of `cl100k_base`:
///
/// ```text
/// '(?i:[sdmt]|ll|ve|re)
/// [^\r\n\p{L}\p{N}]?+\p{L}++
/// \p{N}{1,3}+
///  ?[^\s\p{L}\p{N}]++[\r\n]*+
/// \s++$
/// \s*[\r\n]
/// \s+(?!\S)
/// \s
/// ```
pub(super) struct Cl100k;

/// The pattern of `r50k_base` and `p50k_base`:
///
/// ```text
/// '(?:[sdmt]|ll|ve|re)
///  ?\p{L}++
///  ?\p{N}++
///  ?[^\s\p{L}\p{N}]++
/// \s++$
/// \s+(?!\S)
/// \s
/// ```
pub(super) struct Gpt2;

impl Split for O200k {
    #[inline]
    fn starts(text: &[u8], at: usize) -> u64 {
        block_starts::<true>(text, at)
    }

    #[inline]
    fn end(text: &[u8], at: usize) -> usize {
        use Class::{Caseless, Lower, Mark, Number, Other, Space, Upper};
        let (class, len) = class_at(text, at);
        let next = at + len;
        match class {
            // A mark may also stand in front of a word; the end is the same.
            Upper | Lower | Caseless | Mark => cased_word(text, at),
            Number => up_to_three_numbers(text, next),
            Other => match class_at(text, next).0 {
                Upper | Lower | Caseless | Mark => cased_word(text, next),
                _ => slashes(text, run(text, next, &[Other, Mark])),
            },
            Space => match class_at(text, next).0 {
                _ if is_break(text[at]) => blanks(text, at).behind_breaks(),
                Space => blanks(text, at).behind_breaks(),
                Upper | Lower | Caseless | Mark => cased_word(text, next),
                Other if text[at] == b' ' => slashes(text, run(text, next, &[Other, Mark])),
                _ => next,
            },
            Class::End => at,
        }
    }
}

impl Split for Cl100k {
    #[inline]
    fn starts(text: &[u8], at: usize) -> u64 {
        block_starts::<false>(text, at)
    }

    #[inline]
    fn end(text: &[u8], at: usize) -> usize {
        use Class::{Caseless, Lower, Mark, Number, Other, Space, Upper};
        let (class, len) = class_at(text, at);
        let next = at + len;
        match class {
            Upper | Lower | Caseless => letters(text, at),
            Number => up_to_three_numbers(text, next),
            Other | Mark => {
                let contracted = contraction(text, at, true);
                match class_at(text, next).0 {
                    _ if contracted > at => contracted,
                    Upper | Lower | Caseless => letters(text, next),
                    _ => breaks(text, run(text, next, &[Other, Mark])),
                }
            }
            Space => match class_at(text, next).0 {
                _ if is_break(text[at]) => blanks(text, at).whole_or_behind_breaks(),
                Space => blanks(text, at).whole_or_behind_breaks(),
                Upper | Lower | Caseless => letters(text, next),
                Other | Mark if text[at] == b' ' => breaks(text, run(text, next, &[Other, Mark])),
                _ => next,
            },
            Class::End => at,
        }
    }
}

impl Split for Gpt2 {
    #[inline]
    fn starts(_: &[u8], _: usize) -> u64 {
        0
    }

    #[inline]
    fn end(text: &[u8], at: usize) -> usize {
        use Class::{Caseless, Lower, Mark, Number, Other, Space, Upper};
        let (class, len) = class_at(text, at);
        let next = at + len;
        // A blank in front belongs to what follows it, unless that is another one.
        let (class, next) = match class {
            Space if text[at] == b' ' => match class_at(text, next) {
                (Space | Class::End, _) => (Space, next),
                (class, len) => (class, next + len),
            },
            _ => (class, next),
        };
        match class {
            Upper | Lower | Caseless => letters(text, next),
            Number => run(text, next, &[Number]),
            Other | Mark => match contraction(text, at, false) {
                contracted if contracted > at => contracted,
                _ => run(text, next, &[Other, Mark]),
            },
            Space => blanks(text, at).all_but_last(),
            Class::End => at,
        }
    }
}

/// How many of eight bytes, from the first, are small ASCII letters.
#[inline]
const fn leading_letters(bytes: [u8; 8]) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = HIGH >> 7;
    let word = u64::from_le_bytes(bytes);
    // The high bit of each byte: not below a, not above z, and ASCII.
    let low = word & !HIGH;
    let from_a = low + ONES * (0x80 - b'a' as u64);
    let behind_z = low + ONES * (0x80 - b'z' as u64 - 1);
    let others = !(from_a & !behind_z & !word) & HIGH;
    (others.trailing_zeros() / 8) as usize
}

const fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// The end of a run of code points of these classes.
#[inline]
fn run(text: &[u8], mut at: usize, classes: &[Class]) -> usize {
    loop {
        let (class, len) = class_at(text, at);
        if !classes.contains(&class) {
            return at;
        }
        at += len;
    }
}

/// The end of a run of `\p{L}`.
#[inline]
fn letters(text: &[u8], at: usize) -> usize {
    use Class::{Caseless, Lower, Upper};
    small_or(text, at, &[Upper, Lower, Caseless])
}

/// The end of a word of capitals, then small letters, and of a contraction behind it.
///
/// Letters without case and marks may be either. Where no small letter follows the capitals, the word ends behind the last of
/// those without case, so that there is one; where there is none of them either, it is all capitals.
#[inline]
fn cased_word(text: &[u8], mut at: usize) -> usize {
    use Class::{Caseless, Lower, Mark, Upper};
    let mut caseless = None;
    loop {
        let (class, len) = class_at(text, at);
        match class {
            Upper => at += len,
            Caseless | Mark => {
                at += len;
                caseless = Some(at);
            }
            Lower => {
                at = small_letters(text, at);
                break;
            }
            _ => {
                at = caseless.unwrap_or(at);
                break;
            }
        }
    }
    contraction(text, at, true)
}

/// The end of a run of `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
#[inline]
fn small_letters(text: &[u8], at: usize) -> usize {
    use Class::{Caseless, Lower, Mark};
    small_or(text, at, &[Lower, Caseless, Mark])
}

/// The end of a run of code points of these classes, small ASCII letters among them.
#[inline]
fn small_or(text: &[u8], mut at: usize, classes: &[Class]) -> usize {
    loop {
        at = lower_ascii(text, at);
        let (class, len) = class_at(text, at);
        if !classes.contains(&class) {
            return at;
        }
        at += len;
    }
}

/// The end of a run of `[a-z]`, eight bytes at a time.
#[inline]
fn lower_ascii(text: &[u8], mut at: usize) -> usize {
    while let Some(&word) = text[at..].first_chunk() {
        let letters = leading_letters(word);
        at += letters;
        if letters < 8 {
            return at;
        }
    }
    while text.get(at).is_some_and(u8::is_ascii_lowercase) {
        at += 1;
    }
    at
}

/// The end of a contraction that begins at `at`, or `at`. Without case the long s is an s.
#[inline]
fn contraction(text: &[u8], at: usize, ignore_case: bool) -> usize {
    if text.get(at) != Some(&b'\'') {
        return at;
    }
    let letter = |behind: usize| {
        let byte = text.get(at + behind).copied().unwrap_or(0);
        if ignore_case {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    };
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => at + 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => at + 3,
        (0xC5, 0xBF) if ignore_case => at + 3,
        _ => at,
    }
}

/// The end of a run of numbers of which one lies in front of `at`, at most three in all.
#[inline]
fn up_to_three_numbers(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        let (class, len) = class_at(text, at);
        if class != Class::Number {
            break;
        }
        at += len;
    }
    at
}

/// The end of a run of `[\r\n/]`.
#[inline]
fn slashes(text: &[u8], mut at: usize) -> usize {
    while text
        .get(at)
        .is_some_and(|&byte| is_break(byte) || byte == b'/')
    {
        at += 1;
    }
    at
}

/// The end of a run of `[\r\n]`.
#[inline]
fn breaks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_break(byte)) {
        at += 1;
    }
    at
}

/// A run of `\s`.
struct Blanks {
    start: usize,
    /// Where its last code point begins.
    last: usize,
    end: usize,
    /// Behind its last line break; its start if there is none.
    broken: usize,
    is_last: bool,
}

fn blanks(text: &[u8], start: usize) -> Blanks {
    let (mut last, mut end, mut broken) = (start, start, start);
    loop {
        let (class, len) = class_at(text, end);
        if class != Class::Space {
            break;
        }
        last = end;
        end += len;
        if is_break(text[last]) {
            broken = end;
        }
    }
    let is_last = end == text.len();
    Blanks {
        start,
        last,
        end,
        broken,
        is_last,
    }
}

impl Blanks {
    /// `\s++$`, `\s+(?!\S)`, `\s`.
    fn all_but_last(&self) -> usize {
        if self.is_last || self.last == self.start {
            self.end
        } else {
            self.last
        }
    }

    /// `\s*[\r\n]+`, `\s+(?!\S)`, `\s+`.
    fn behind_breaks(&self) -> usize {
        if self.broken > self.start {
            self.broken
        } else {
            self.all_but_last()
        }
    }

    /// `\s++$`, `\s*[\r\n]`, `\s+(?!\S)`, `\s`.
    fn whole_or_behind_breaks(&self) -> usize {
        if self.is_last {
            self.end
        } else {
            self.behind_breaks()
        }
    }
}
