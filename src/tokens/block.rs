//! The pieces of 64 bytes of ASCII at once: a set of bits for each class of characters, and the places where pieces begin from
//! a few operations on these sets, without a branch for each piece. What is not plain is left to [`super::split`].

/// Bytes that are looked at together.
pub(super) const BLOCK: usize = 64;

/// Which of 64 bytes are what; the lowest bit is the first byte.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sets {
    /// Not ASCII.
    wide: u64,
    letters: u64,
    lower: u64,
    digits: u64,
    spaces: u64,
    /// Tabulators, line breaks, vertical tabulators, form feeds.
    controls: u64,
    breaks: u64,
    apostrophes: u64,
    slashes: u64,
}

#[cfg(target_arch = "x86_64")]
impl Sets {
    #[inline]
    fn of(bytes: &[u8; BLOCK]) -> Self {
        // SAFETY: SSE2 is part of x86-64; no processor of that architecture is without it.
        // Measured: eight bytes at a time in a register, the whole count takes 1.6 times as long where pieces are
        // remembered, 1.2 times where they are new.
        #[allow(unsafe_code)]
        unsafe {
            Self::with_sse2(bytes)
        }
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn with_sse2(bytes: &[u8; BLOCK]) -> Self {
        use std::arch::x86_64::{
            __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8,
            _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
        };
        let mut sets = Self::default();
        for (at, chunk) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let [low, high] = [0, 8].map(|at| {
                let mut half = [0; 8];
                half.copy_from_slice(&chunk[at..at + 8]);
                i64::from_le_bytes(half)
            });
            let chunk = _mm_set_epi64x(high, low);
            let is = |byte: u8| _mm_cmpeq_epi8(chunk, _mm_set1_epi8(byte.cast_signed()));
            // Signed: bytes that are not ASCII are below all.
            let within = |chunk: __m128i, first: u8, last: u8| {
                let above = _mm_cmpgt_epi8(chunk, _mm_set1_epi8(first.cast_signed() - 1));
                let below = _mm_cmpgt_epi8(_mm_set1_epi8(last.cast_signed() + 1), chunk);
                _mm_and_si128(above, below)
            };
            let put = |set: &mut u64, which: __m128i| {
                let bits = _mm_movemask_epi8(which).cast_unsigned();
                *set |= u64::from(bits) << (16 * at);
            };
            let any_case = _mm_or_si128(chunk, _mm_set1_epi8(0x20));
            put(&mut sets.wide, chunk);
            put(&mut sets.letters, within(any_case, b'a', b'z'));
            put(&mut sets.lower, within(chunk, b'a', b'z'));
            put(&mut sets.digits, within(chunk, b'0', b'9'));
            put(&mut sets.spaces, is(b' '));
            put(&mut sets.controls, within(chunk, b'\t', b'\r'));
            put(&mut sets.breaks, _mm_or_si128(is(b'\n'), is(b'\r')));
            put(&mut sets.apostrophes, is(b'\''));
            put(&mut sets.slashes, is(b'/'));
        }
        sets
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Sets {
    fn of(bytes: &[u8; BLOCK]) -> Self {
        Self::of_words(bytes)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Sets {
    /// Eight bytes at a time in a 64-bit word, on any processor.
    fn of_words(bytes: &[u8; BLOCK]) -> Self {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        const ONES: u64 = HIGH >> 7;
        let mut sets = Self::default();
        for (at, &word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(word);
            let low = word & !HIGH;
            // The high bit of each byte tells.
            let from = |low: u64, byte: u8| low + ONES * u64::from(0x80 - byte);
            let within = |low, first, last: u8| from(low, first) & !from(low, last + 1) & !word;
            let is = |byte: u8| !((low ^ (ONES * u64::from(byte))) + !HIGH) & !word;
            let put = |set: &mut u64, which: u64| {
                let bits = ((which & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                *set |= bits << (8 * at);
            };
            put(&mut sets.wide, word);
            put(&mut sets.letters, within(low | ONES << 5, b'a', b'z'));
            put(&mut sets.lower, within(low, b'a', b'z'));
            put(&mut sets.digits, within(low, b'0', b'9'));
            put(&mut sets.spaces, is(b' '));
            put(&mut sets.controls, within(low, b'\t', b'\r'));
            put(&mut sets.breaks, is(b'\n') | is(b'\r'));
            put(&mut sets.apostrophes, is(b'\''));
            put(&mut sets.slashes, is(b'/'));
        }
        sets
    }
}

/// Where pieces begin behind the one that begins with the block, as bits; up to the highest bit no piece is missing. With
/// `CASED` by the pattern of `o200k_base`, else by that of `cl100k_base`.
///
/// Nothing is told from where something is not plain: what is not ASCII, blanks between line breaks, a slash behind a line
/// break behind punctuation; and near the block's end, since what follows it is not known. O(1).
#[inline]
pub(super) fn starts<const CASED: bool>(bytes: &[u8; BLOCK]) -> u64 {
    let sets = Sets::of(bytes);
    let known = sets.wide.trailing_zeros();
    if known < 4 {
        return 0;
    }
    let space = sets.spaces | sets.controls;
    let blanks = space & !sets.breaks;
    let upper = sets.letters & !sets.lower;
    let mut others = !(sets.letters | sets.digits | space) & u64::MAX >> (BLOCK as u32 - known);
    // In front of this bit all is told; what two bytes behind decide must have been seen.
    let mut end = known - 2;
    let mut starts = 0;

    // Punctuation that stands alone in front of a letter, without a blank in front of itself, belongs to the word.
    let lone = |others: u64| others & !(others << 1) & !(sets.spaces << 1) & sets.letters >> 1;
    // Contractions: part of the word in front, or pieces of their own.
    let mut inside = 0;
    let mut candidates = sets.apostrophes
        & if CASED {
            sets.letters << 1 & sets.letters >> 1
        } else {
            lone(others)
        };
    while candidates != 0 {
        let at = candidates.trailing_zeros();
        candidates &= candidates - 1;
        if at >= end {
            break;
        }
        let letter = |behind: u32| bytes[(at + behind) as usize & (BLOCK - 1)].to_ascii_lowercase();
        let length = match (letter(1), letter(2)) {
            (b's' | b't' | b'm' | b'd', _) => 2,
            (b'r' | b'v', b'e') | (b'l', b'l') => 3,
            _ => continue,
        };
        // Behind a contraction there is no word to contract.
        if !CASED || inside & 1 << at >> 1 == 0 {
            inside |= ((1 << length) - 1) << at;
            starts |= 1 << at << length;
        }
    }
    if CASED {
        others &= !inside;
        starts |= upper & sets.lower << 1 & !inside;
    }
    let lone = lone(others);
    starts |= others & !(others << 1) & !(sets.spaces << 1);
    let words = sets.letters & !(sets.letters << 1) & !(blanks << 1) & !(lone << 1);
    starts |= words & !inside;

    // Numbers, three digits at a time.
    let mut thirds = sets.digits & !(sets.digits << 1);
    while thirds != 0 {
        starts |= thirds;
        thirds = thirds << 3 & sets.digits & sets.digits << 1 & sets.digits << 2 & sets.digits << 3;
    }

    // Line breaks behind punctuation belong to it.
    let behind_others = sets.breaks & others << 1;
    let taken = (sets.breaks ^ sets.breaks.wrapping_add(behind_others)) & sets.breaks;
    if CASED {
        let slashes = sets.slashes & taken << 1;
        end = end.min(slashes.trailing_zeros());
    }
    // Other runs of blanks and breaks: up to the last break, then up to the last blank, then that one, alone or with what follows.
    let runs = space & !taken;
    let first = runs & !(runs << 1);
    starts |= first | sets.breaks << 1 & !sets.breaks | blanks & !(space >> 1);
    let behind_breaks = blanks & (sets.breaks & !taken) << 1;
    let between = blanks.wrapping_add(behind_breaks) & !blanks & sets.breaks;
    if between != 0 {
        let run = first & ((between & between.wrapping_neg()) - 1);
        end = end.min(BLOCK as u32 - run.leading_zeros());
    }
    // A run at the end may go on.
    let last = !space & u64::MAX >> (BLOCK as u32 - known);
    if last >> (known - 1) == 0 {
        end = end.min(BLOCK as u32 - last.leading_zeros() + 1);
    }
    starts & !1 & !(u64::MAX << end)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Sets, starts};
    use crate::tokens::split::{Cl100k, O200k, Split};

    /// Random blocks of what decides where pieces begin.
    fn blocks() -> impl Iterator<Item = [u8; BLOCK]> {
        const ALPHABET: &[u8] = b"abcdstmreveLlSTDzAZ  \n\r\t 0123''''/!-.(\x0b\x1c_";
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as usize
        };
        (0..400_000).map(move |_| {
            // Few kinds in one block, so that they meet.
            let kinds = 2 + random() % 8;
            let few: Vec<u8> = (0..kinds)
                .map(|_| ALPHABET[random() % ALPHABET.len()])
                .collect();
            let mut block = std::array::from_fn(|_| few[random() % kinds]);
            if random() % 4 == 0 {
                block[random() % BLOCK] = 0xC3;
            }
            block
        })
    }

    fn agrees<S: Split, const CASED: bool>(block: &[u8; BLOCK]) -> u32 {
        let found = starts::<CASED>(block);
        let mut text = block.to_vec();
        // What follows must not matter: a letter, a line break, a mark.
        for tail in ["", "b", "\n", "\u{301}", "/", "'s"] {
            text.truncate(BLOCK);
            let known = text.iter().position(|&byte| byte > 0x7F);
            if let Some(known) = known {
                text.truncate(known);
                text.extend("\u{e9}".as_bytes());
            }
            text.extend(tail.as_bytes());
            let mut at = 0;
            let mut expected = 0;
            while at < BLOCK {
                at = S::end(&text, at);
                if at >= BLOCK || at == text.len() {
                    break;
                }
                expected |= 1_u64 << at;
            }
            let told = u64::MAX.checked_shr(found.leading_zeros()).unwrap_or(0);
            assert_eq!(
                found,
                expected & told,
                "{:?} {:?} {found:b} {expected:b}",
                String::from_utf8_lossy(block),
                String::from_utf8_lossy(&text)
            );
        }
        found.count_ones()
    }

    #[test]
    fn blocks_begin_pieces_where_the_patterns_do() {
        let mut told = 0;
        for block in blocks() {
            told += agrees::<O200k, true>(&block);
            told += agrees::<Cl100k, false>(&block);
        }
        assert!(told > 1_000_000, "{told} pieces");
    }

    #[test]
    fn sets_are_the_same_on_every_processor() {
        for block in blocks() {
            assert_eq!(Sets::of(&block), Sets::of_words(&block));
        }
    }
}
