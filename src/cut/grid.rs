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
            let bare = search.walk.base + search.walk.suffix(tail);
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
        let step = share.step(if ceiling == Ceiling::Tokens {
            limit.saturating_mul(BYTES_PER_TOKEN)
        } else {
            limit
        });
        let dropped: Vec<u64> = candidates
            .iter()
            .map(|&(tail, _)| dropped(search, ceiling, tail))
            .collect();
        // The grid line behind the last boundary that is too early.
        let line = fitting
            .checked_sub(1)
            .map_or(1, |early| dropped[early] / step + 1)
            .max(1)
            * step;
        let at = (fitting..candidates.len())
            .find(|&k| dropped[k] >= line)
            .unwrap_or(candidates.len() - 1);
        furthest = furthest.max(at);
    }
    Ok(candidates[furthest].1.unwrap_or(newest))
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
