//! Where the strings, brackets, colons and commas of a JSON text are, and where its characters begin: found 64 bytes at a time,
//! without a branch for each byte, by the way of G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second" (2019).

use super::masks::{BLOCK, Masks};
use super::{Buffers, Syntax};

/// What is known of a text before its grammar is.
pub(super) struct Index {
    /// The first byte that a string must not have, or the first escape that is none. Outside of strings these sets mean nothing,
    /// but something wrong stands there in front of it.
    pub flaw: Option<Syntax>,
}

/// Indexes a text: `signs` gets the offsets of quotes and of the signs outside of strings, `starts` a bit for each byte with which a
/// character of a string begins, where an escape is one character and so is a pair of surrogates. O(bytes).
pub(super) fn index(text: &[u8], buffers: &mut Buffers) -> Index {
    buffers.signs.clear();
    buffers.starts.clear();
    buffers.unicode.clear();
    let mut flaw = scan(text, buffers);
    pair(text, buffers, &mut flaw);
    Index { flaw }
}

#[cfg(target_arch = "x86_64")]
fn scan(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
    #[target_feature(enable = "sse2")]
    fn with_sse2(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
        scan_by(text, buffers, |block| super::masks::sse2(block))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn with_avx2(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
        scan_by(text, buffers, |block| super::masks::avx2(block))
    }

    let has = |found: [bool; 5]| found == [true; 5];
    if has([
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("bmi1"),
        is_x86_feature_detected!("bmi2"),
        is_x86_feature_detected!("lzcnt"),
        is_x86_feature_detected!("popcnt"),
    ]) {
        // SAFETY: the processor was asked for each of these.
        #[allow(unsafe_code)]
        unsafe {
            with_avx2(text, buffers)
        }
    } else {
        // SAFETY: SSE2 is part of x86-64; no processor of that architecture is without it.
        #[allow(unsafe_code)]
        unsafe {
            with_sse2(text, buffers)
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn scan(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
    scan_by(text, buffers, Masks::with_words)
}

/// What one block leaves to the next.
#[derive(Default)]
struct Carry {
    /// 1 where the block ended in a backslash that escapes what follows.
    escape: u64,
    /// All ones where it ended inside of a string.
    string: u64,
}

#[inline(always)] // into the function whose instructions `masks` needs
#[allow(clippy::inline_always)]
fn scan_by(
    text: &[u8],
    buffers: &mut Buffers,
    masks: impl Fn(&[u8; BLOCK]) -> Masks,
) -> Option<Syntax> {
    let mut carry = Carry::default();
    let mut flaw = None;
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    buffers.starts.reserve(blocks.len() + 1);
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let mut found = 0;
    for (number, block) in blocks.iter().chain([&last]).enumerate() {
        let masks = masks(block);
        let base = number * BLOCK;
        let escaped = carry.escaped(masks.backslashes);
        let quotes = masks.quotes & !escaped;
        let inside = carry.inside(quotes);
        buffers.starts.push(!(masks.continued | escaped));
        found = put(
            &mut buffers.signs,
            found,
            base,
            (masks.signs & !inside) | quotes,
        );
        let unicode = escaped & masks.u;
        let wrong = (masks.controls & inside) | (escaped & !masks.escapable);
        if unicode | wrong != 0 {
            bits(unicode, |bit| buffers.unicode.push(offset(base + bit)));
            if wrong != 0 && flaw.is_none() {
                let bit = wrong.trailing_zeros() as usize;
                flaw = Some(if escaped >> bit & 1 == 1 {
                    Syntax::escape(base + bit - 1)
                } else {
                    Syntax::control(base + bit, block[bit])
                });
            }
        }
    }
    buffers.signs.truncate(found);
    flaw
}

impl Carry {
    /// Which bytes stand behind a backslash that escapes them.
    #[inline]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escape);
        }
        // In a run of backslashes each second one escapes: a subtraction carries along the run (J. Keiser, simdjson).
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let escaping = backslashes & !self.escape;
        let codes = ((escaping << 1) | ODD).wrapping_sub(escaping) ^ ODD;
        let escaped = codes ^ (backslashes | self.escape);
        self.escape = (codes & backslashes) >> 63;
        escaped
    }

    /// Which bytes are inside of strings, the opening quotes among them.
    #[inline]
    fn inside(&mut self, quotes: u64) -> u64 {
        let mut inside = quotes;
        for step in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << step;
        }
        inside ^= self.string;
        self.string = (inside.cast_signed() >> 63).cast_unsigned();
        inside
    }
}

/// An offset as it is kept: texts are shorter than 4 GiB.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn offset(at: usize) -> u32 {
    at as u32
}

fn bits(mut set: u64, mut each: impl FnMut(usize)) {
    while set != 0 {
        each(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}

/// Adds the offsets of a set's bits behind the first `found`; gives how many there are now.
///
/// Eight are written whatever the set has: to stop at the last one would be a branch that no processor foresees.
#[inline]
fn put(signs: &mut Vec<u32>, found: usize, base: usize, mut set: u64) -> usize {
    if signs.len() < found + BLOCK {
        signs.resize((found + BLOCK) * 2, 0);
    }
    let count = set.count_ones() as usize;
    let Some(room) = signs
        .get_mut(found..)
        .and_then(|room| room.first_chunk_mut::<BLOCK>())
    else {
        return found;
    };
    let mut written = 0;
    while written < count {
        for place in &mut room.as_chunks_mut::<8>().0[written / 8] {
            *place = offset(base) + set.trailing_zeros();
            set &= set.wrapping_sub(1);
        }
        written += 8;
    }
    found + count
}

/// Reads the escapes of UTF-16: their digits begin no character, and neither does the second of a pair.
fn pair(text: &[u8], buffers: &mut Buffers, flaw: &mut Option<Syntax>) {
    let mut before = None;
    for &at in &buffers.unicode {
        let at = at as usize;
        let Some(unit) = unit(text, at + 1) else {
            let broken = Syntax::escape(at - 1);
            if flaw
                .as_ref()
                .is_none_or(|flaw| broken.offset < flaw.offset)
            {
                *flaw = Some(broken);
            }
            return;
        };
        let mut clear = |at: usize| buffers.starts[at / BLOCK] &= !(1 << (at % BLOCK));
        (at + 1..at + 5).for_each(&mut clear);
        let is_second = (0xdc00..0xe000).contains(&unit) && before == Some(at);
        if is_second {
            clear(at - 1);
        }
        before = (0xd800..0xdc00).contains(&unit).then_some(at + 6);
    }
}

/// The four hexadecimal digits at `at`.
pub(super) fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}
