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

/// Writes the function that makes [`Masks`] with one set of instructions: the same steps with other names.
#[cfg(target_arch = "x86_64")]
macro_rules! with_instructions {
    (
        $(#[$doc:meta])* $name:ident, $features:literal, $width:literal, $vector:ident,
        $load:ident, $splat:ident, $equal:ident, $greater:ident, $or:ident, $bits:ident
    ) => {
        $(#[$doc])*
        #[target_feature(enable = $features)]
        #[inline]
        pub(super) fn $name(bytes: &[u8; BLOCK]) -> Masks {
            use std::arch::x86_64::{$bits, $equal, $greater, $load, $or, $splat, $vector};
            let mut masks = Masks::default();
            for (at, chunk) in bytes.as_chunks::<$width>().0.iter().enumerate() {
                // SAFETY: it reads as many bytes as the chunk has, aligned or not.
                // Measured: put together of words, the whole index takes 1.1 times as long.
                #[allow(unsafe_code)]
                let chunk = unsafe { $load(chunk.as_ptr().cast::<$vector>()) };
                let of = |byte: u8| $splat(byte.cast_signed());
                let is = |byte: u8| $equal(chunk, of(byte));
                let bits = |which: $vector| u64::from($bits(which).cast_unsigned()) << ($width * at);
                let (quotes, backslashes, u) = (is(b'"'), is(b'\\'), is(b'u'));
                // `[` and `{`, `]` and `}` are a bit apart.
                let folded = $or(chunk, of(0x20));
                let brackets = $or($equal(folded, of(b'{')), $equal(folded, of(b'}')));
                let escapable = $or($or(quotes, backslashes), $or(is(b'/'), u));
                let letters = $or($or(is(b'b'), is(b'f')), $or(is(b'n'), $or(is(b'r'), is(b't'))));
                masks.quotes |= bits(quotes);
                masks.backslashes |= bits(backslashes);
                masks.signs |= bits($or(brackets, $or(is(b':'), is(b','))));
                // Signed: what is not ASCII is below all, and what continues a character below what begins one.
                masks.controls |= bits($greater(of(0x20), chunk)) & !bits(chunk);
                masks.continued |= bits($greater(of(0xc0), chunk));
                masks.escapable |= bits($or(escapable, letters));
                masks.u |= bits(u);
            }
            masks
        }
    };
}

#[cfg(target_arch = "x86_64")]
with_instructions! {
    /// Sixteen bytes at a time.
    sse2, "sse2", 16, __m128i,
    _mm_loadu_si128, _mm_set1_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_or_si128, _mm_movemask_epi8
}

#[cfg(target_arch = "x86_64")]
with_instructions! {
    /// Thirty-two bytes at a time.
    avx2, "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq", 32, __m256i,
    _mm256_loadu_si256, _mm256_set1_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_or_si256, _mm256_movemask_epi8
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

/// All at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
#[inline]
pub(super) fn avx512(bytes: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm512_cmpeq_epi8_mask, _mm512_cmplt_epi8_mask, _mm512_cmplt_epu8_mask,
        _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi8,
    };
    // SAFETY: it reads as many bytes as the block has, aligned or not. There is no other way to load them.
    #[allow(unsafe_code)]
    let block = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    let of = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(block, of(byte));
    let folded = _mm512_or_si512(block, of(0x20));
    let is_folded = |byte: u8| _mm512_cmpeq_epi8_mask(folded, of(byte));
    let (quotes, backslashes, u) = (is(b'"'), is(b'\\'), is(b'u'));
    let letters = is(b'b') | is(b'f') | is(b'n') | is(b'r') | is(b't') | u;
    Masks {
        quotes,
        backslashes,
        signs: is_folded(b'{') | is_folded(b'}') | is(b':') | is(b','),
        controls: _mm512_cmplt_epu8_mask(block, of(0x20)),
        continued: _mm512_cmplt_epi8_mask(block, of(0xc0)),
        escapable: quotes | backslashes | is(b'/') | letters,
        u,
    }
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
    let product = _mm_clmulepi64_si128::<0>(
        _mm_set_epi64x(0, set.cast_signed()),
        _mm_set1_epi8(-1),
    );
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
        _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32,
        _mm512_maskz_compress_epi8, _mm512_set_epi64, _mm512_set1_epi32, _mm512_storeu_si512,
    };
    if set.count_ones() > 16 {
        return places(set, base, room);
    }
    let from = |first: u8| i64::from_le_bytes(std::array::from_fn(|k| first + k as u8));
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
            .map(|first| std::array::from_fn(|k| first.wrapping_add(k as u8)))
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
