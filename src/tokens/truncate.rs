//! The longest piece of a text within a number of tokens, at a cost that the number decides and not the text.

use unicode_segmentation::GraphemeCursor;

use super::layout::LONGEST;
use crate::cap::nearest_boundary;

/// Which end of a text stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Keep {
    Head,
    Tail,
}

/// Pieces within so many bytes of a safe cut are found exactly; texts so long are searched exhaustively where counts do not
/// add up.
const EXACT: usize = 2_048;

/// How far behind a piece that is just too long a longer one may fit, because its end completes a longer token. Without its
/// last token a piece has one token less and is at most [`LONGEST`] bytes shorter: where the count was above the limit for so
/// many bytes, it does not come back. Of a text that may not be cut at every byte not all counts are seen; when those that are
/// have stayed above for eight times as long, the count is some eight tokens above.
const DIP: usize = 8 * LONGEST;

/// Byte offset of the cut: the longest head `text[..at]` or tail `text[at..]` that has at most `limit` tokens and breaks no
/// grapheme cluster.
///
/// A counter that is `additive` counts as the built-in encodings do: it gives each byte at most one token and each token at
/// most 128 bytes, and the counts of both sides of a *safe cut* add up. Such cuts lie behind something that is not blank and in
/// front of a blank (no line break), and behind an ASCII letter or digit or a letter of Chinese, Japanese or Korean and in
/// front of a line break or a sign other than `'`. The text is counted from its kept end, safe cut by safe cut, each stretch
/// once, and only the one in which the limit is passed is searched. O(limit), whatever the text, but for a search that goes
/// further than 2,048 bytes behind the last safe cut (one giant run): O(limit log limit).
///
/// Without `additive` nothing is known of the counter but that longer pieces tend to have more tokens. Prefixes are counted
/// until one is too long, each twice as long as the one before: O(limit) bytes in O(log limit) calls, and some hundred calls
/// near the limit. A text of at most 2,048 bytes is searched exhaustively.
///
/// Further than 2,048 bytes from where the search begins the piece may not be the longest: it has at most `limit` tokens, and
/// with one cluster more it has more than `limit`.
///
/// # Errors
/// The counter's own.
pub fn truncate<E>(
    text: &str,
    limit: u64,
    keep: Keep,
    additive: bool,
    count: impl Fn(&str) -> Result<u64, E>,
) -> Result<usize, E> {
    let count = |piece: &str, limit| Ok(Some(count(piece)?).filter(|&tokens| tokens <= limit));
    if additive {
        return truncate_additive(text, limit, keep, &Rate::TOKENS, count);
    }
    let end = End { text, keep };
    let fits = |size| Ok(count(end.piece(0, size), limit)?.is_some());
    let size = if end.len() <= EXACT {
        let sizes = end.boundaries(0, end.len());
        last(&sizes, fits)?.unwrap_or(0)
    } else {
        search(&end, 0..end.len(), capped(limit), fits)?
    };
    Ok(end.offset(size))
}

/// What a counter can make of bytes.
pub(super) struct Rate {
    /// The least that [`LONGEST`] bytes cost.
    pub least: u64,
    /// The most that a byte costs.
    pub most: u64,
}

impl Rate {
    /// Of the encodings.
    pub const TOKENS: Self = Self { least: 1, most: 1 };
}

/// [`truncate`] with an additive counter, which gives `None` for a piece that has more than the limit that it is told.
pub(super) fn truncate_additive<E>(
    text: &str,
    limit: u64,
    keep: Keep,
    rate: &Rate,
    count: impl Fn(&str, u64) -> Result<Option<u64>, E>,
) -> Result<usize, E> {
    let end = End { text, keep };
    if end.len() <= capped(limit / rate.most) {
        return Ok(end.offset(end.len()));
    }
    let walked = walk(&end, limit, rate, &count)?;
    let (from, rest) = (walked.from, limit - walked.used);
    if from == end.len() {
        return Ok(end.offset(from));
    }
    let fits = |size| Ok(count(end.piece(from, size), rest)?.is_some());
    let found = search(&end, from..walked.to, capped(rest / rate.most), fits)?;
    if found > from {
        return Ok(end.offset(found));
    }
    // Next to always a safe cut breaks no cluster. Where it does, the piece in front of it is another one.
    let mut size = end.boundary(from);
    while size < from && count(end.piece(0, size), limit)?.is_none() {
        size = end.boundary(size.saturating_sub(1));
    }
    Ok(end.offset(size))
}

/// How far `limit` tokens reach from one end in whole stretches between safe cuts: the offset, and the tokens on that side.
pub(super) fn reach(
    text: &str,
    limit: u64,
    keep: Keep,
    count: impl Fn(&str, u64) -> Option<u64>,
) -> (usize, u64) {
    let end = End { text, keep };
    let count = |piece: &str, limit| Ok::<_, std::convert::Infallible>(count(piece, limit));
    let Ok(walked) = walk(&end, limit, &Rate::TOKENS, &count);
    (end.offset(walked.from), walked.used)
}

/// How far the stretches within a limit go, and where the one ends that passes it, or at least all of it that can fit.
struct Walked {
    from: usize,
    used: u64,
    to: usize,
}

fn walk<E>(
    end: &End,
    limit: u64,
    rate: &Rate,
    count: &impl Fn(&str, u64) -> Result<Option<u64>, E>,
) -> Result<Walked, E> {
    let (mut from, mut used) = (0_usize, 0);
    loop {
        let rest = limit - used;
        // What surely fits is counted at once: most of a text goes in a few steps. What lies beyond `far` cannot fit.
        let near = from.saturating_add(capped(rest / rate.most));
        let bytes = (rest / rate.least).saturating_mul(LONGEST as u64);
        let far = from.saturating_add(capped(bytes));
        let (to, safe) = end.stretch(from, near, far);
        match count(end.piece(from, to), rest)? {
            Some(tokens) if safe => {
                from = to;
                used += tokens;
            }
            _ => return Ok(Walked { from, used, to }),
        }
        if from == end.len() {
            return Ok(Walked { from, used, to });
        }
    }
}

/// The longest size in `range`, its beginning left out and its end not, that fits; its beginning if none does.
///
/// `step`: a size to begin with, from the range's beginning.
fn search<E>(
    end: &End,
    range: std::ops::Range<usize>,
    step: usize,
    fits: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let std::ops::Range {
        start: from,
        end: to,
    } = range;
    // The longest size that is known to fit, and the shortest that is known not to.
    let mut low = from;
    let mut step = step.max(16);
    let mut high = loop {
        let goal = if step >= (to - from) / 2 {
            to
        } else {
            from + step
        };
        let size = end.boundary(goal);
        if size > low {
            if !fits(size)? {
                break size;
            }
            low = size;
        }
        if goal == to {
            return Ok(low);
        }
        step *= 2;
    };
    loop {
        let mut middle = end.boundary(low.midpoint(high));
        if middle <= low {
            middle = end.next(low);
        }
        if middle >= high {
            break;
        }
        if fits(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Each probe would count all of a long stretch anew.
    if low - from > EXACT {
        return Ok(low);
    }
    loop {
        let near = end.whole(to.min(low + LONGEST));
        let to = if end.piece(low, near).is_ascii() {
            near
        } else {
            end.whole(to.min(low + DIP))
        };
        match last(&end.boundaries(high, to), &fits)? {
            Some(size) => (low, high) = (size, to),
            None => return Ok(low),
        }
    }
}

/// The last of `sizes` that fits.
fn last<E>(sizes: &[usize], fits: impl Fn(usize) -> Result<bool, E>) -> Result<Option<usize>, E> {
    for &size in sizes.iter().rev() {
        if fits(size)? {
            return Ok(Some(size));
        }
    }
    Ok(None)
}

/// No piece within `limit` tokens of a built-in encoding or estimate has so many bytes.
#[cfg(feature = "python")]
pub(crate) fn reach_of(limit: u64) -> usize {
    capped(limit.saturating_mul(LONGEST as u64).saturating_add(1))
}

/// Whether all that lies behind `first` can be divided into grapheme clusters without what stands in front of it: `first` is
/// neither half of a flag nor anything else that may continue a cluster.
#[cfg(feature = "python")]
pub(crate) fn context_ends(first: char) -> bool {
    let two = ['a', first].iter().collect::<String>();
    let is_flag = matches!(first, '\u{1F1E6}'..='\u{1F1FF}');
    !is_flag && nearest_boundary(&two, 1, GraphemeCursor::next_boundary) == 1
}

/// As a number of bytes; no text has more than fit.
fn capped(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// A text seen from its kept end: sizes are bytes from there.
struct End<'t> {
    text: &'t str,
    keep: Keep,
}

impl<'t> End<'t> {
    fn len(&self) -> usize {
        self.text.len()
    }

    /// Where in the text a piece of that size ends (or begins, if it is a tail).
    fn offset(&self, size: usize) -> usize {
        match self.keep {
            Keep::Head => size,
            Keep::Tail => self.len() - size,
        }
    }

    /// What lies between two sizes.
    fn piece(&self, shorter: usize, longer: usize) -> &'t str {
        match self.keep {
            Keep::Head => &self.text[shorter..longer],
            Keep::Tail => &self.text[self.len() - longer..self.len() - shorter],
        }
    }

    /// The largest size up to `size` that breaks no code point.
    fn whole(&self, mut size: usize) -> usize {
        while !self.text.is_char_boundary(self.offset(size)) {
            size -= 1;
        }
        size
    }

    /// The largest size up to `size` that breaks no grapheme cluster. The text beyond it is seen, as clusters want it.
    fn boundary(&self, size: usize) -> usize {
        let at = self.offset(self.whole(size));
        match self.keep {
            Keep::Head => nearest_boundary(self.text, at, GraphemeCursor::prev_boundary),
            Keep::Tail => {
                self.len() - nearest_boundary(self.text, at, GraphemeCursor::next_boundary)
            }
        }
    }

    /// The sizes above `size` that break no grapheme cluster, in order.
    fn above(&self, size: usize) -> impl Iterator<Item = usize> {
        let mut cursor = GraphemeCursor::new(self.offset(size), self.len(), true);
        std::iter::from_fn(move || {
            let step = match self.keep {
                Keep::Head => cursor.next_boundary(self.text, 0),
                Keep::Tail => cursor.prev_boundary(self.text, 0),
            };
            // The whole text is at hand, so the cursor never lacks context.
            step.ok().flatten().map(|at| self.offset(at))
        })
    }

    /// The first of them; beyond the text if there is none.
    fn next(&self, size: usize) -> usize {
        self.above(size).next().unwrap_or(usize::MAX)
    }

    /// Those up to `to`.
    fn boundaries(&self, from: usize, to: usize) -> Vec<usize> {
        self.above(from).take_while(|&size| size <= to).collect()
    }

    /// Where a stretch from `from` on ends, and whether what follows may be counted by itself: at the last safe cut up to `near`,
    /// else at the first behind it, else at `far`. The text's end is as good as a safe cut.
    fn stretch(&self, from: usize, near: usize, far: usize) -> (usize, bool) {
        if near >= self.len() {
            return (self.len(), true);
        }
        let last = self.len() - 1;
        let is_safe = |&size: &usize| self.is_safe(size);
        let cut = (from + 1..=near).rev().find(is_safe);
        match cut.or_else(|| (near + 1..=far.min(last)).find(is_safe)) {
            Some(size) => (size, true),
            None if far > last => (self.len(), true),
            None => (self.whole(far), false),
        }
    }

    /// Whether the counts of both sides add up to the count of the whole: what stands behind the cut is never in one piece with
    /// what stands in front of it, and neither side of the split looks across.
    fn is_safe(&self, size: usize) -> bool {
        let Some((front, behind)) = self.text.split_at_checked(self.offset(size)) else {
            return false;
        };
        match (front.chars().next_back(), behind.chars().next()) {
            (Some(a), Some(b)) => {
                (is_blank(b) && !a.is_whitespace()) || (is_sign(b) && is_letter(a))
            }
            _ => false,
        }
    }
}

/// White space but line breaks.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && c != '\n' && c != '\r'
}

/// Some of the letters and digits that are such to every encoding and estimate.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '一'..='鿿' | '가'..='힣')
}

/// Line breaks, and some of the signs that end a word for all of them. The apostrophe does not: `it's`.
fn is_sign(c: char) -> bool {
    (c.is_ascii_punctuation() && c != '\'') || matches!(c, '\n' | '\r' | '、' | '。' | '，')
}
