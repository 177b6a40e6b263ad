//! `trim_to`: cuts on a grid that is measured from the front, so that a cut stays put until the window is full again.
//! `docs/rules.md`, section 5.6.

use super::{Candidate, Search, Variant};
use crate::cost::BYTES_PER_TOKEN;
use crate::error::{Ceiling, Error};
use crate::value::History;
use crate::window::TrimTo;

/// The cut that all ceilings agree on: the furthest of theirs, at most the newest group.
pub(super) fn cut<H: History>(
    search: &mut Search<'_, '_, H>,
    newest: Candidate,
    variant: Variant,
    share: TrimTo,
) -> Result<Candidate, Error> {
    let limits = search.walk.limits;
    // Oldest first: where a tail may begin, with its size where it may fit some ceiling. Older ones are not measured in
    // tokens.
    let mut candidates: Vec<(usize, Option<Candidate>)> = Vec::new();
    for k in (0..search.walk.boundaries().len()).rev() {
        let tail = search.walk.boundaries()[k];
        if tail <= newest.tail && search.is_allowed(tail, variant)? {
            let bare = search.walk.base + search.walk.suffix_behind_a_cut(tail);
            let hopeless = limits
                .ceilings()
                .all(|(ceiling, limit)| bare.of(ceiling) > limit);
            candidates.push((
                tail,
                if hopeless {
                    None
                } else {
                    search.candidate(tail, variant)?
                },
            ));
        }
    }
    let mut furthest = 0;
    for (ceiling, limit) in limits.ceilings() {
        // The longest tail is the first from which on everything fits.
        let fits = |candidate: &Option<Candidate>| {
            candidate.is_some_and(|candidate| candidate.size.of(ceiling) <= limit)
        };
        let fitting = candidates
            .iter()
            .rposition(|(_, candidate)| !fits(candidate))
            .map_or(0, |k| k + 1);
        let whole = search.walk.base + search.walk.suffix(search.walk.head);
        if fitting == 0 && whole.of(ceiling) <= limit {
            // This ceiling asks for no cut.
            continue;
        }
        let dropped: Vec<u64> = candidates
            .iter()
            .map(|&(tail, _)| dropped(search, ceiling, tail))
            .collect();
        let rests: Vec<u64> = candidates
            .iter()
            .map(|&(tail, _)| search.walk.suffix_behind_a_cut(tail).of(ceiling))
            .collect();
        let unit = if ceiling == Ceiling::Tokens {
            BYTES_PER_TOKEN
        } else {
            1
        };
        let step = share.step(limit.saturating_mul(unit));
        let at = on_grid(&dropped, fitting, step, |at| {
            share.is_half_kept(rests[at], rests[fitting])
        });
        furthest = furthest.max(at);
    }
    Ok(candidates[furthest].1.unwrap_or(newest))
}

/// The first candidate at or behind the grid line that follows the last one that is too long; `fitting` is the longest that
/// fits.
///
/// A step may take too much: a large group lies across the line, a head leaves little room, or the guess of 4 bytes a token is
/// far off (digits, hex, a caller's own tokenizer). Then it is halved until enough is kept, at the least the longest that fits.
fn on_grid(
    dropped: &[u64],
    fitting: usize,
    mut step: u64,
    is_enough: impl Fn(usize) -> bool,
) -> usize {
    let passed = fitting.checked_sub(1).map_or(0, |early| dropped[early]);
    while step > 1 {
        let line = (passed / step + 1) * step;
        let at = (fitting..dropped.len()).find(|&k| dropped[k] >= line);
        let at = at.unwrap_or(dropped.len() - 1);
        if is_enough(at) {
            return at;
        }
        step /= 2;
    }
    fitting
}

/// What a cut at `boundary` drops, in the ceiling's unit on the grid.
fn dropped<H: History>(search: &Search<'_, '_, H>, ceiling: Ceiling, boundary: usize) -> u64 {
    let walk = &*search.walk;
    let (all, rest) = (walk.measure(walk.head), walk.measure(boundary));
    match ceiling {
        Ceiling::Turns => (boundary - walk.head) as u64,
        Ceiling::Chars => all.0 - rest.0,
        Ceiling::Tokens => all.1 - rest.1,
    }
}
