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
        $(#[$doc:meta])* $name:ident, $feature:literal, $width:literal, $vector:ident,
        $load:expr, $splat:ident, $equal:ident, $greater:ident, $or:ident, $bits:ident
    ) => {
        $(#[$doc])*
        #[target_feature(enable = $feature)]
        #[inline]
        pub(super) fn $name(bytes: &[u8; BLOCK]) -> Masks {
            use std::arch::x86_64::{$bits, $equal, $greater, $or, $splat, $vector};
            let mut masks = Masks::default();
            for (at, chunk) in bytes.as_chunks::<$width>().0.iter().enumerate() {
                let chunk: $vector = $load(chunk);
                let of = |byte: u8| $splat(byte.cast_signed());
                let is = |byte: u8| $equal(chunk, of(byte));
                let put = |set: &mut u64, which: $vector| {
                    let bits = u64::from($bits(which).cast_unsigned());
                    *set |= bits << ($width * at);
                };
                let (quotes, backslashes, u) = (is(b'"'), is(b'\\'), is(b'u'));
                // `[` and `{`, `]` and `}` are a bit apart.
                let folded = $or(chunk, of(0x20));
                let brackets = $or($equal(folded, of(b'{')), $equal(folded, of(b'}')));
                let signs = $or(brackets, $or(is(b':'), is(b',')));
                // Signed: what is not ASCII is below all, and what continues a character below what begins one.
                let controls = $greater(of(0x20), chunk);
                let wide = $greater(of(0), chunk);
                put(&mut masks.quotes, quotes);
                put(&mut masks.backslashes, backslashes);
                put(&mut masks.signs, signs);
                put(&mut masks.controls, controls);
                masks.controls &= !(u64::from($bits(wide).cast_unsigned()) << ($width * at));
                put(&mut masks.continued, $greater(of(0xc0), chunk));
                let escapable = $or($or(quotes, backslashes), $or(is(b'/'), u));
                let letters = $or($or(is(b'b'), is(b'f')), $or(is(b'n'), $or(is(b'r'), is(b't'))));
                put(&mut masks.escapable, $or(escapable, letters));
                put(&mut masks.u, u);
            }
            masks
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn halves<const N: usize>(chunk: &[u8; N], at: usize) -> i64 {
    let mut half = [0; 8];
    half.copy_from_slice(&chunk[at..at + 8]);
    i64::from_le_bytes(half)
}

#[cfg(target_arch = "x86_64")]
with_instructions! {
    /// Sixteen bytes at a time.
    sse2, "sse2", 16, __m128i,
    |chunk: &[u8; 16]| std::arch::x86_64::_mm_set_epi64x(halves(chunk, 8), halves(chunk, 0)),
    _mm_set1_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_or_si128, _mm_movemask_epi8
}

#[cfg(target_arch = "x86_64")]
with_instructions! {
    /// Thirty-two bytes at a time.
    avx2, "avx2,bmi1,bmi2,lzcnt,popcnt", 32, __m256i,
    |chunk: &[u8; 32]| {
        let half = |at| halves(chunk, at);
        std::arch::x86_64::_mm256_set_epi64x(half(24), half(16), half(8), half(0))
    },
    _mm256_set1_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_or_si256, _mm256_movemask_epi8
}
