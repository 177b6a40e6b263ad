//! What Responses refuses beside missing pairs.

use super::items::{Kind, kind};
use crate::error::Foreign;
use crate::facts::{Family, Links, Turn};
use crate::format::{Flaw, Marks, REFERS, Seen};
use crate::value::{Key, Value};

/// The item is reasoning.
const REASONING: Marks = 1;
/// The item asks for a compaction.
const TRIGGER: Marks = 2;

/// The flaws of one item.
pub(super) fn inspect<V: Value>(
    item: &V,
    links: &Links<V::Text>,
    flaws: &mut Vec<Flaw>,
) -> Result<Marks, Foreign> {
    // It has been read before.
    let Ok(kind) = kind(item) else { return Ok(0) };
    let mut flaw = |code, message| flaws.push(Flaw::new(code, message));
    Ok(match kind {
        Kind::Message(_) => {
            if item.get(Key::Content)?.is_none() {
                flaw("missing_content", "it has no content");
            }
            0
        }
        Kind::Reasoning => {
            if item.get(Key::Summary)?.is_none() {
                let message = "it has no summary; an empty list is one";
                flaw("missing_summary", message);
            }
            REASONING
        }
        Kind::Call(family) | Kind::Output(family) => {
            let mut ties = links.calls.iter().chain(&links.results);
            if family != Family::ToolSearch && ties.any(|tie| tie.id.is_none()) {
                flaw("missing_id", "a call or an output has no id");
            }
            0
        }
        Kind::Trigger => TRIGGER,
        Kind::Other => {
            let kind = item.get(Key::Type)?;
            let refers =
                kind.is_some_and(|kind| kind.word().is_some_and(|it| it == "item_reference"));
            if refers { REFERS } else { 0 }
        }
        Kind::Hosted(_) | Kind::Tools | Kind::Settings => 0,
    })
}

/// The flaws of the order.
pub(super) fn order(seen: &[Seen]) -> Vec<(usize, Flaw)> {
    let mut found = Vec::new();
    // From the end: what stands behind the reasoning at hand and is none.
    let mut follower = None;
    for (index, each) in seen.iter().enumerate().rev() {
        if each.marks == REASONING {
            if follower.is_some_and(|turn| turn != Turn::Model) {
                let message = "nothing that the model said or did stands right behind it";
                found.push((index, Flaw::new("reasoning_without_follower", message)));
            }
            continue;
        }
        if each.marks == TRIGGER && index + 1 < seen.len() {
            let message = "compaction_trigger stands at the very end only";
            found.push((index, Flaw::new("misplaced_trigger", message)));
        }
        follower = Some(each.turn);
    }
    found
}
