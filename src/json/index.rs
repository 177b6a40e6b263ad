//! Where the strings, brackets, colons and commas of a JSON text are, and where its characters begin: found 64 bytes at a time,
//! without a branch for each byte, by the way of G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second" (2019).

use super::masks::{BLOCK, Masks};
use super::{Buffers, Syntax};

/// Indexes a text: `signs` gets the offsets of quotes and of the signs outside of strings, `starts` a bit for each byte with which a
/// character of a string begins, where an escape is one character and so is a pair of surrogates. O(bytes).
///
/// What it gives is the first byte that a string must not have, or the first escape that is none. Outside of strings these sets mean
/// nothing, but something wrong stands there in front of it.
pub(super) fn index(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
    buffers.unicode.clear();
    let blocks = text.len() / BLOCK + 1;
    if buffers.starts.len() < blocks {
        buffers.starts.resize(blocks, 0);
    }
    let flaw = scan(text, buffers);
    pair(text, buffers, flaw)
}

#[cfg(target_arch = "x86_64")]
fn scan(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
    use super::masks;

    #[target_feature(enable = "sse2")]
    fn with_sse2(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
        let kit = (|block: &_| masks::sse2(block), masks::parity, masks::places);
        scan_by(text, buffers, kit)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn with_avx2(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
        let kit = (
            |block: &_| masks::avx2(block),
            |set| masks::parity_by_product(set),
            masks::places,
        );
        scan_by(text, buffers, kit)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
    fn with_avx512(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
        let kit = (
            |block: &_| masks::avx512(block),
            |set| masks::parity_by_product(set),
            |set, base, room: &mut _| masks::places_by_compressing(set, base, room),
        );
        scan_by(text, buffers, kit)
    }

    // SAFETY: the processor is asked for what it must have; SSE2 is part of x86-64.
    // Measured (`docs/performance/json.md`): each is faster than the one behind it.
    #[allow(unsafe_code)]
    unsafe {
        if masks::has_avx512() {
            with_avx512(text, buffers)
        } else if masks::has_avx2() {
            with_avx2(text, buffers)
        } else {
            with_sse2(text, buffers)
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn scan(text: &[u8], buffers: &mut Buffers) -> Option<Syntax> {
    use super::masks::{parity, places};
    scan_by(text, buffers, (Masks::with_words, parity, places))
}

/// What one block leaves to the next.
#[derive(Default)]
struct Carry {
    /// 1 where the block ended in a backslash that escapes what follows.
    escape: u64,
    /// All ones where it ended inside of a string.
    string: u64,
}

/// Scans with a kit of three tools of [`masks`](super::masks): what each byte is, parity, places.
#[inline(always)] // into the function that may use the instructions of its tools
#[allow(clippy::inline_always)]
fn scan_by(
    text: &[u8],
    buffers: &mut Buffers,
    (masks, parity, places): (
        impl Fn(&[u8; BLOCK]) -> Masks,
        impl Fn(u64) -> u64,
        impl Fn(u64, u32, &mut [u32; BLOCK]),
    ),
) -> Option<Syntax> {
    let mut carry = Carry::default();
    let mut flaw = None;
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let Buffers {
        signs,
        starts,
        unicode,
        count,
        is_ascii,
        ..
    } = buffers;
    let (mut found, mut continued) = (0, 0);
    for (number, starts) in starts.iter_mut().enumerate().take(blocks.len() + 1) {
        let block = blocks.get(number).unwrap_or(&last);
        let masks = masks(block);
        let base = number * BLOCK;
        let escaped = carry.escaped(masks.backslashes);
        let quotes = masks.quotes & !escaped;
        let inside = parity(quotes) ^ carry.string;
        carry.string = (inside.cast_signed() >> 63).cast_unsigned();
        *starts = !(masks.continued | escaped);
        continued |= masks.continued;
        let set = (masks.signs & !inside) | quotes;
        if signs.len() < found + BLOCK {
            signs.resize((found + BLOCK) * 2, 0);
        }
        if let Some(room) = signs[found..].first_chunk_mut() {
            places(set, offset(base), room);
        }
        found += set.count_ones() as usize;
        let utf16 = escaped & masks.u;
        let wrong = (masks.controls & inside) | (escaped & !masks.escapable);
        if utf16 | wrong != 0 {
            bits(utf16, |bit| unicode.push(offset(base + bit)));
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
    *count = found;
    *is_ascii = continued == 0;
    flaw
}

impl Carry {
    /// Which bytes stand behind a backslash that escapes them.
    #[inline]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        // In a run of backslashes each second one escapes: a subtraction carries along the run (J. Keiser, simdjson).
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let escaping = backslashes & !self.escape;
        let codes = ((escaping << 1) | ODD).wrapping_sub(escaping) ^ ODD;
        let escaped = codes ^ (backslashes | self.escape);
        self.escape = (codes & backslashes) >> 63;
        escaped
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

/// Reads the escapes of UTF-16: their digits begin no character, and neither does the second of a pair.
fn pair(text: &[u8], buffers: &mut Buffers, flaw: Option<Syntax>) -> Option<Syntax> {
    let mut before = None;
    for &at in &buffers.unicode {
        let at = at as usize;
        let Some(unit) = unit(text, at + 1) else {
            let broken = Syntax::escape(at - 1);
            let flaw = flaw.filter(|flaw| flaw.offset < broken.offset);
            return Some(flaw.unwrap_or(broken));
        };
        let mut clear = |at: usize| buffers.starts[at / BLOCK] &= !(1 << (at % BLOCK));
        (at + 1..at + 5).for_each(&mut clear);
        let is_second = (0xdc00..0xe000).contains(&unit) && before == Some(at);
        if is_second {
            clear(at - 1);
        }
        before = (0xd800..0xdc00).contains(&unit).then_some(at + 6);
    }
    flaw
}

/// The four hexadecimal digits at `at`.
pub(super) fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}
