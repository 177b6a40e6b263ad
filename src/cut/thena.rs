//! `compat="thena"`: `contextWindow()` of `ThenaJS`. `docs/rules.md`, section 8.

use crate::error::Error;
use crate::facts::Role;
use crate::format::chat;
use crate::format::{Capped, Format};
use crate::plan::{Edit, Notice, Plan, Report, first_changed};
use crate::value::History;
use crate::window::{Compat, Limits};

use super::request::Reader;

/// Plans a trim by `ThenaJS`'s rules. O(messages).
pub(super) fn plan<H: History>(
    history: &H,
    limits: &Limits,
    compat: Compat,
    wire: Reader,
) -> Result<Plan, Error> {
    let Compat::Thena {
        max_turns,
        max_chars,
        max_chars_per_tool,
    } = compat;
    if wire.format != Format::OpenaiChat {
        return Err(Error::NotInFormat {
            option: "compat",
            format: wire.format,
        });
    }
    let auto = wire.auto;
    let len = history.len();
    let mut body: Vec<(Role, u64, Option<Capped>)> = Vec::new();
    let mut head = 0;
    for index in 0..len {
        let message = history.message(index)?;
        let role = chat::role(&message).map_err(|error| error.at(index))?;
        if body.is_empty() && chat::turn_of(role).is_system() {
            head += 1;
            continue;
        }
        let (chars, capped) = chat::thena(&message, role, auto, max_chars_per_tool)
            .map_err(|error| error.at(index))?;
        body.push((role, chars, capped));
    }

    let mut first = 0;
    let mut trimmed = false;
    if let Some(most) = max_turns
        && body.len() > most
    {
        // The last 0 of a JavaScript array is all of it.
        first = if most == 0 { 0 } else { body.len() - most };
        trimmed = true;
    }
    let mut chars: u64 = body[first..].iter().map(|(_, chars, _)| chars).sum();
    let over = |chars| max_chars.is_some_and(|most| chars > most);
    while body.len() - first > 1 && over(chars) {
        chars -= body[first].1;
        first += 1;
        trimmed = true;
    }
    let mut orphans = 0;
    while let Some((Role::Tool, size, _)) = body.get(first) {
        chars -= size;
        first += 1;
        orphans += 1;
    }

    let tail = head + first;
    let sent = || {
        body[first..]
            .iter()
            .enumerate()
            .filter_map(|(k, (_, _, capped))| Some((tail + k, capped.as_ref()?)))
    };
    let edits: Vec<Edit> = sent()
        .map(|(index, capped)| Edit {
            index,
            cuts: capped.cuts.clone(),
        })
        .collect();
    // The marker stands on top of the cap, so that a text may even grow by it.
    let chars_capped = sent()
        .map(|(_, capped)| capped.from.saturating_sub(capped.to))
        .sum();
    let text = limits.notice.as_ref().filter(|_| trimmed);
    let notice = text.map(|text| Notice {
        text: text.clone(),
        role: Role::System.name(),
        at: head,
        folded: false,
    });
    let mut plan = Plan {
        head,
        task: None,
        tail,
        lead: false,
        left_out: Vec::new(),
        report: Report {
            window_trimmed: trimmed,
            messages_original: len,
            messages_sent: head + body.len() - first + usize::from(notice.is_some()),
            window_orphans_dropped: orphans,
            task_dropped: false,
            tools_truncated: edits.len(),
            chars_capped,
            chars_sent: chars,
            tokens_sent: None,
            first_changed: None,
            over_budget: over(chars),
            thinking_invalidated: false,
            format: wire.format,
        },
        edits,
        notice,
    };
    plan.report.first_changed = first_changed(plan.kept(), len, &plan.edits, plan.notice.as_ref());
    Ok(plan)
}
