//! Which of 64 bytes are what: the sets of bits from which the index of a text is made.

/// Bytes that are looked at together.
pub(super) const BLOCK: usize = 64;

/// The lowest bit is the first byte.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    pub quotes: u64,
    pub backslashes: u64,
    /// One of `{}[]:,`.
    pub signs: u64,
    /// Below 0x20: allowed in a string as escapes only.
    pub controls: u64,
    /// A byte of a character behind its first.
    pub continued: u64,
    /// What may stand behind a backslash.
    pub escapable: u64,
    /// A `u`.
    pub u: u64,
}

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Masks {
    /// Eight bytes at a time in a 64-bit word, on any processor.
    pub(super) fn with_words(bytes: &[u8; BLOCK]) -> Self {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        const ONES: u64 = HIGH >> 7;
        let mut masks = Self::default();
        for (at, &word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(word);
            let low = word & !HIGH;
            // The high bit of each byte tells.
            let is = |byte: u8| !((low ^ (ONES * u64::from(byte))) + !HIGH) & !word & HIGH;
            let below = |byte: u8| !(low + ONES * u64::from(0x80 - byte)) & !word & HIGH;
            let put = |set: &mut u64, which: u64| {
                let bits = (which >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                *set |= bits << (8 * at);
            };
            let (quotes, backslashes, u) = (is(b'"'), is(b'\\'), is(b'u'));
            put(&mut masks.quotes, quotes);
            put(&mut masks.backslashes, backslashes);
            put(
                &mut masks.signs,
                is(b'{') | is(b'}') | is(b'[') | is(b']') | is(b':') | is(b','),
            );
            put(&mut masks.controls, below(0x20));
            put(&mut masks.continued, word & HIGH & !(word << 1));
            let letters = is(b'b') | is(b'f') | is(b'n') | is(b'r') | is(b't') | u;
            put(
                &mut masks.escapable,
                quotes | backslashes | is(b'/') | letters,
            );
            put(&mut masks.u, u);
        }
        masks
    }
}

/// What a byte is, told by its halves: a bit that both tables have for them. Bytes that are not ASCII are nothing.
#[cfg(target_arch = "x86_64")]
mod class {
    /// `[ ] { }`
    const BRACKET: u8 = 1;
    const COLON: u8 = 2;
    const COMMA: u8 = 4;
    pub(super) const U: u8 = 8;
    /// `b f n`
    const LETTER: u8 = 16;
    /// `r t`
    const LATE_LETTER: u8 = 32;
    /// `" /`
    const QUOTE: u8 = 64;
    const BACKSLASH: u8 = 128;

    pub(super) const SIGN: u8 = BRACKET | COLON | COMMA;
    pub(super) const ESCAPABLE: u8 = U | LETTER | LATE_LETTER | QUOTE | BACKSLASH;

    /// By the lower half.
    #[rustfmt::skip]
    pub(super) const LOW: [u8; 16] = [
        0, 0, LETTER | LATE_LETTER | QUOTE, 0, LATE_LETTER, U, LETTER, 0,
        0, 0, COLON, BRACKET, COMMA | BACKSLASH, BRACKET, LETTER, QUOTE,
    ];
    /// By the upper half.
    #[rustfmt::skip]
    pub(super) const HIGH: [u8; 16] = [
        0, 0, COMMA | QUOTE, COLON, 0, BRACKET | BACKSLASH, LETTER, BRACKET | U | LATE_LETTER,
        0, 0, 0, 0, 0, 0, 0, 0,
    ];
}

/// Sixteen bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn sse2(bytes: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    let mut masks = Masks::default();
    for (at, chunk) in bytes.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: it reads sixteen bytes of sixteen, aligned or not. There is no other way to load them.
        #[allow(unsafe_code)]
        let chunk = unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) };
        let of = |byte: u8| _mm_set1_epi8(byte.cast_signed());
        let is = |byte: u8| _mm_cmpeq_epi8(chunk, of(byte));
        let any = |which: &[__m128i]| {
            let or = |one, &other| _mm_or_si128(one, other);
            which.iter().skip(1).fold(which[0], or)
        };
        let bits = |which| u64::from(_mm_movemask_epi8(which).cast_unsigned()) << (16 * at);
        let (quotes, backslashes, u) = (is(b'"'), is(b'\\'), is(b'u'));
        // `[` and `{`, `]` and `}` are a bit apart.
        let folded = _mm_or_si128(chunk, of(0x20));
        let is_folded = |byte: u8| _mm_cmpeq_epi8(folded, of(byte));
        let letters = any(&[is(b'b'), is(b'f'), is(b'n'), is(b'r'), is(b't'), u]);
        masks.quotes |= bits(quotes);
        masks.backslashes |= bits(backslashes);
        masks.signs |= bits(any(&[is_folded(b'{'), is_folded(b'}'), is(b':'), is(b',')]));
        // Signed: what is not ASCII is below all, and what continues a character below what begins one.
        masks.controls |= bits(_mm_cmpgt_epi8(of(0x20), chunk)) & !bits(chunk);
        masks.continued |= bits(_mm_cmpgt_epi8(of(0xc0), chunk));
        masks.escapable |= bits(any(&[quotes, backslashes, is(b'/'), letters]));
        masks.u |= bits(u);
    }
    masks
}

/// Thirty-two bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
#[inline]
pub(super) fn avx2(bytes: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
        _mm256_shuffle_epi8, _mm256_srli_epi16,
    };
    let of = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let table = |table: &[u8; 16]| {
        // SAFETY: it reads sixteen bytes of sixteen, aligned or not. There is no other way to load them.
        #[allow(unsafe_code)]
        let table = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
        _mm256_broadcastsi128_si256(table)
    };
    let mut masks = Masks::default();
    for (at, chunk) in bytes.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: it reads thirty-two bytes of thirty-two, aligned or not. There is no other way to load them.
        #[allow(unsafe_code)]
        let chunk = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
        let bits = |which| u64::from(_mm256_movemask_epi8(which).cast_unsigned()) << (32 * at);
        let is = |byte: u8| bits(_mm256_cmpeq_epi8(chunk, of(byte)));
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(chunk), of(0x0f));
        let low = _mm256_shuffle_epi8(table(&class::LOW), chunk);
        let class = _mm256_and_si256(low, _mm256_shuffle_epi8(table(&class::HIGH), high));
        let none = |set: u8| bits(_mm256_cmpeq_epi8(_mm256_and_si256(class, of(set)), of(0)));
        let all = u64::from(u32::MAX) << (32 * at);
        masks.quotes |= is(b'"');
        masks.backslashes |= is(b'\\');
        masks.signs |= !none(class::SIGN) & all;
        // Signed: what is not ASCII is below all, and what continues a character below what begins one.
        masks.controls |= bits(_mm256_cmpgt_epi8(of(0x20), chunk)) & !bits(chunk);
        masks.continued |= bits(_mm256_cmpgt_epi8(of(0xc0), chunk));
        masks.escapable |= !none(class::ESCAPABLE) & all;
        masks.u |= is(b'u');
    }
    masks
}

/// All at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
#[inline]
pub(super) fn avx512(bytes: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask,
        _mm512_cmplt_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_set1_epi8,
        _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_test_epi8_mask,
    };
    let of = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let table = |table: &[u8; 16]| {
        // SAFETY: it reads sixteen bytes of sixteen, aligned or not. There is no other way to load them.
        #[allow(unsafe_code)]
        let table = unsafe { _mm_loadu_si128(table.as_ptr().cast()) };
        _mm512_broadcast_i32x4(table)
    };
    // SAFETY: it reads as many bytes as the block has, aligned or not. There is no other way to load them.
    #[allow(unsafe_code)]
    let block = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    let high = _mm512_and_si512(_mm512_srli_epi16::<4>(block), of(0x0f));
    let low = _mm512_shuffle_epi8(table(&class::LOW), block);
    let class = _mm512_and_si512(low, _mm512_shuffle_epi8(table(&class::HIGH), high));
    Masks {
        quotes: _mm512_cmpeq_epi8_mask(block, of(b'"')),
        backslashes: _mm512_cmpeq_epi8_mask(block, of(b'\\')),
        signs: _mm512_test_epi8_mask(class, of(class::SIGN)),
        controls: _mm512_cmplt_epu8_mask(block, of(0x20)),
        continued: _mm512_cmplt_epi8_mask(block, of(0xc0)),
        escapable: _mm512_test_epi8_mask(class, of(class::ESCAPABLE)),
        u: _mm512_test_epi8_mask(class, of(class::U)),
    }
}

/// Whether [`avx2`] may be called.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("pclmulqdq")
}

/// Whether [`avx512`] may be called.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2")
}

/// The running parity of a set: each bit says whether the bits up to it are odd in number.
#[inline]
pub(super) const fn parity(mut set: u64) -> u64 {
    let mut step = 1;
    while step < 64 {
        set ^= set << step;
        step *= 2;
    }
    set
}

/// [`parity`] as a multiplication without carries, by all ones.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "pclmulqdq")]
#[inline]
pub(super) fn parity_by_product(set: u64) -> u64 {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8,
    };
    let product =
        _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, set.cast_signed()), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

/// Writes `base` and the place of each bit of a set; what stands behind the last is of no use.
///
/// Eight are written at a time, whatever the set has: to stop at the last would be a branch that no processor foresees.
#[inline]
pub(super) fn places(mut set: u64, base: u32, room: &mut [u32; BLOCK]) {
    for room in room.as_chunks_mut::<8>().0 {
        for place in room {
            *place = base.wrapping_add(set.trailing_zeros());
            set &= set.wrapping_sub(1);
        }
        if set == 0 {
            break;
        }
    }
}

/// The same by one instruction that puts the numbers of up to sixteen bits together.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
#[inline]
pub(super) fn places_by_compressing(set: u64, base: u32, room: &mut [u32; BLOCK]) {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32, _mm512_maskz_compress_epi8,
        _mm512_set_epi64, _mm512_set1_epi32, _mm512_storeu_si512,
    };
    if set.count_ones() > 16 {
        return places(set, base, room);
    }
    let from = |first: i64| 0x0706_0504_0302_0100 + first * 0x0101_0101_0101_0101;
    let numbers = _mm512_set_epi64(
        from(56),
        from(48),
        from(40),
        from(32),
        from(24),
        from(16),
        from(8),
        from(0),
    );
    let numbers = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(set, numbers));
    let base = _mm512_set1_epi32(base.cast_signed());
    let places = _mm512_add_epi32(_mm512_cvtepu8_epi32(numbers), base);
    // SAFETY: it writes sixteen words, and there is room for sixty-four, aligned or not. There is no other way to store them.
    #[allow(unsafe_code)]
    unsafe {
        _mm512_storeu_si512(room.as_mut_ptr().cast(), places);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{BLOCK, Masks, parity, places};

    /// Blocks in which each byte comes in each place.
    fn blocks() -> impl Iterator<Item = [u8; BLOCK]> {
        let mixed = (0..4096_usize).map(|seed| {
            std::array::from_fn(|k| {
                const BYTES: &[u8] = b"\"\\{}[]:,u/bfnrt \n\x00\x1f\x7f\x80\xbf\xc0\xffAz0";
                let mixed = (seed * 64 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29;
                BYTES[mixed % BYTES.len()]
            })
        });
        (0..=255_u8)
            .map(|first| std::array::from_fn(|k| first.wrapping_add(u8::try_from(k).unwrap())))
            .chain(mixed)
    }

    #[test]
    fn words_tell_what_each_byte_is() {
        for block in blocks() {
            let of = |is: &dyn Fn(u8) -> bool| {
                (0..BLOCK).fold(0, |set, k| set | u64::from(is(block[k])) << k)
            };
            let expected = Masks {
                quotes: of(&|byte| byte == b'"'),
                backslashes: of(&|byte| byte == b'\\'),
                signs: of(&|byte| b"{}[]:,".contains(&byte)),
                controls: of(&|byte| byte < 0x20),
                continued: of(&|byte| (0x80..0xc0).contains(&byte)),
                escapable: of(&|byte| b"\"\\/bfnrtu".contains(&byte)),
                u: of(&|byte| byte == b'u'),
            };
            assert_eq!(Masks::with_words(&block), expected, "{block:?}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn every_set_of_instructions_says_the_same() {
        for block in blocks() {
            let words = Masks::with_words(&block);
            // SAFETY: SSE2 is part of x86-64, and the processor is asked for the others.
            unsafe {
                assert_eq!(super::sse2(&block), words);
                if super::has_avx2() {
                    assert_eq!(super::avx2(&block), words);
                    assert_eq!(super::parity_by_product(words.quotes), parity(words.quotes));
                }
                if super::has_avx512() {
                    assert_eq!(super::avx512(&block), words);
                    let (mut one, mut other) = ([0; BLOCK], [0; BLOCK]);
                    places(words.signs, 100, &mut one);
                    super::places_by_compressing(words.signs, 100, &mut other);
                    let count = words.signs.count_ones() as usize;
                    assert_eq!(one[..count], other[..count]);
                }
            }
        }
    }
}
