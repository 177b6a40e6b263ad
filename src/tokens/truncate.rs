//! The longest piece of a text within a number of tokens.

use unicode_segmentation::UnicodeSegmentation;

/// Which end of a text stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Keep {
    Head,
    Tail,
}

/// Chunks up to this many bytes are searched exhaustively.
const EXHAUSTIVE: usize = 2_048;

/// Byte offset of the cut: the longest head `text[..at]` or tail `text[at..]` that has at most `limit` tokens and breaks no
/// grapheme cluster.
///
/// Counts of the built-in encodings are `additive` at *safe cuts*, in front of a blank (no line break) behind something that
/// is not blank. There the text is counted from its kept end chunk by chunk, and only the chunk in which the limit is passed
/// is searched: all its boundaries from the longest piece down, or by halving where it is one giant run.
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
    let mut stops = if additive {
        safe_cuts(text)
    } else {
        Vec::new()
    };
    stops.insert(0, 0);
    stops.push(text.len());
    let mut edges: Vec<usize> = text
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    if keep == Keep::Tail {
        stops.reverse();
        edges.reverse();
    }
    let piece = |a: usize, b: usize| &text[a.min(b)..a.max(b)];
    let mut used = 0;
    for pair in stops.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let tokens = count(piece(from, to))?;
        if used + tokens > limit {
            let grows = |at: usize| at.abs_diff(stops[0]);
            let fitting = edges.partition_point(|&at| grows(at) <= grows(from));
            let candidates = &edges[fitting..edges.partition_point(|&at| grows(at) < grows(to))];
            let none = edges[fitting - 1];
            return longest(candidates, none, |at| {
                Ok(used + count(piece(from, at))? <= limit)
            });
        }
        used += tokens;
    }
    Ok(*stops.last().unwrap_or(&0))
}

/// Offsets at which the counts of both sides add up to the count of the whole. O(bytes).
fn safe_cuts(text: &str) -> Vec<usize> {
    let blank = |c: char| c.is_whitespace() && c != '\n' && c != '\r';
    let pairs = text.char_indices().zip(text.chars().skip(1));
    pairs
        .filter(|&((_, a), b)| !a.is_whitespace() && blank(b))
        .map(|((at, a), _)| at + a.len_utf8())
        .collect()
}

/// The last of `pieces` (offsets, from the shortest piece to the longest) that fits; `none` if none does.
fn longest<E>(
    pieces: &[usize],
    none: usize,
    fits: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut low = 0;
    let span = pieces
        .first()
        .zip(pieces.last())
        .map_or(0, |(a, b)| a.abs_diff(*b));
    if span > EXHAUSTIVE {
        // One giant run: halve first. Counts of prefixes rise but for a few merges near the limit, so look a little further.
        let mut high = pieces.len();
        while low < high {
            let middle = low.midpoint(high);
            if fits(pieces[middle])? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let reach = pieces.len().min(low + 256);
        for k in (low..reach).rev() {
            if fits(pieces[k])? {
                return Ok(pieces[k]);
            }
        }
        return Ok(low.checked_sub(1).map_or(none, |k| pieces[k]));
    }
    for &piece in pieces.iter().rev() {
        if fits(piece)? {
            return Ok(piece);
        }
    }
    Ok(none)
}
