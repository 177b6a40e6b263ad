//! The engine against brute force, over histories out of a seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use backcut::{
    Cap, Error, Limits, NoticeRole, Overflow, Plan, Start, ToolKeep, TrimTo, Violation, check,
};
use serde_json::{Value as Raw, json};
use support::oracle::{self, Outcome, Sent};
use support::random::{self, Random};
use support::{Messages, most, plan_tokens};

const NOTICE: &str = "(older messages left out)";

fn some(random: &mut Random, one_in: usize, from: usize, to: usize) -> Option<u64> {
    random
        .once_in(one_in)
        .then(|| (from + random.below(to - from)) as u64)
}

/// Options, and the share of `trim_to` among them, in eighths.
fn limits(random: &mut Random) -> (Limits, Option<u64>) {
    let share = *random.pick(&[None, None, Some(2_u32), Some(4), Some(7)]);
    let keep = *random.pick(&[ToolKeep::Head, ToolKeep::Tail, ToolKeep::HeadTail]);
    let cap = some(random, 2, 1, 40).map(|chars| Cap {
        chars: usize::try_from(chars).unwrap(),
        keep,
    });
    let notice = *random.pick(&[None, Some("n"), Some(NOTICE)]);
    let limits = Limits {
        max_turns: some(random, 2, 1, 14).and_then(most),
        max_chars: some(random, 2, 10, 300).and_then(most),
        max_tokens: some(random, 2, 20, 300).and_then(most),
        cap,
        start: *random.pick(&[Start::User, Start::Any]),
        notice: notice.map(str::to_owned),
        notice_role: *random.pick(&[NoticeRole::Auto, NoticeRole::System, NoticeRole::User]),
        trim_to: share.and_then(|eighths| TrimTo::new(f64::from(eighths) / 8.0)),
        on_overflow: *random.pick(&[Overflow::Raise, Overflow::Keep]),
        ..Limits::default()
    };
    (limits, share.map(u64::from))
}

/// A history, now and then with the notice in its head or in a user turn.
fn history(random: &mut Random) -> Vec<Raw> {
    let mut history = random::history(random, 14);
    if random.once_in(8) {
        history.insert(0, json!({"role": "system", "content": NOTICE}));
    }
    for message in &mut history {
        if message["role"] == "user" && random.once_in(8) {
            message["content"] = json!(format!("{NOTICE}\n\nand more"));
        }
    }
    history
}

/// What a plan sends, as the oracle says it.
fn sent(history: &[Raw], plan: &Plan) -> Sent {
    let kept: Vec<usize> = plan.kept().collect();
    let mut messages: Vec<Raw> = kept
        .iter()
        .map(
            |&index| match plan.edits.iter().find(|edit| edit.index == index) {
                Some(edit) => oracle::edited(&history[index], edit),
                None => history[index].clone(),
            },
        )
        .collect();
    if let Some(notice) = &plan.notice {
        if notice.folded {
            assert!(oracle::fold(&mut messages[notice.at], &notice.text));
        } else {
            messages.insert(
                notice.at,
                json!({"role": notice.role, "content": notice.text}),
            );
        }
    }
    let report = &plan.report;
    assert_eq!(report.messages_original, history.len());
    assert_eq!(report.messages_sent, messages.len());
    assert_eq!(report.window_trimmed, kept.len() < history.len());
    assert_eq!(report.tools_truncated, plan.edits.len());
    assert!(plan.edits.iter().all(|edit| kept.contains(&edit.index)));
    let gone = plan.edits.iter().map(|edit| {
        let message = &history[edit.index];
        oracle::chars(message) - oracle::chars(&oracle::edited(message, edit))
    });
    assert_eq!(report.chars_capped, gone.sum::<u64>());
    Sent {
        messages,
        kept,
        notice: plan
            .notice
            .as_ref()
            .map(|notice| (notice.at, notice.role.to_owned(), notice.folded)),
        chars: report.chars_sent,
        tokens: report.tokens_sent.unwrap(),
        first_changed: report.first_changed,
        orphans: report.window_orphans_dropped,
        task_dropped: report.task_dropped,
        over_budget: report.over_budget,
    }
}

fn outcome(history: &[Raw], limits: &Limits) -> Outcome {
    match plan_tokens(history, limits) {
        Ok(plan) => Outcome::Sent(sent(history, &plan)),
        Err(Error::Budget {
            needed,
            limit,
            ceiling,
            index,
        }) => Outcome::Budget {
            ceiling,
            needed,
            limit,
            index,
        },
        Err(error) => panic!("{error}"),
    }
}

fn show(history: &[Raw]) -> String {
    let lines: Vec<String> = history
        .iter()
        .enumerate()
        .map(|(k, message)| format!("{k}: {message}"))
        .collect();
    lines.join("\n")
}

#[test]
fn a_plan_is_what_brute_force_finds() {
    for seed in 0..6_000 {
        let mut random = Random(seed);
        let history = history(&mut random);
        let (limits, share) = limits(&mut random);
        let expected = oracle::plan(&history, &limits, share);
        let found = outcome(&history, &limits);
        assert_eq!(
            found,
            expected,
            "seed {seed}, {limits:?}, {}",
            show(&history)
        );
    }
}

/// What was cut once is not cut again: the plan of a result without its notice keeps all of it.
#[test]
fn a_cut_is_a_fixed_point() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let history = history(&mut random);
        let (limits, _) = limits(&mut random);
        let limits = Limits {
            notice: None,
            on_overflow: Overflow::Raise,
            ..limits
        };
        let Outcome::Sent(first) = outcome(&history, &limits) else {
            continue;
        };
        let again = plan_tokens(&first.messages, &limits).unwrap();
        assert!(
            again.is_unchanged(),
            "seed {seed}, {limits:?}, {}",
            show(&history)
        );
    }
}

fn ties(violations: &[Violation]) -> Vec<(usize, &'static str)> {
    violations
        .iter()
        .filter(|violation| ["late_result", "orphan_result"].contains(&violation.code))
        .map(|violation| (violation.index, violation.code))
        .collect()
}

#[test]
fn check_finds_every_late_result_and_every_orphan() {
    for seed in 0..3_000 {
        let history = random::history(&mut Random(seed), 14);
        let answers = oracle::answers(&history);
        let expected: Vec<(usize, &str)> = (0..history.len())
            .filter(|&j| oracle::is_result(&history[j]))
            .filter_map(|j| match answers[j] {
                None => Some((j, "orphan_result")),
                Some(call) => history[call + 1..j]
                    .iter()
                    .any(|message| !oracle::is_result(message))
                    .then_some((j, "late_result")),
            })
            .collect();
        let found = check(&Messages(&history), None).unwrap();
        assert_eq!(ties(&found), expected, "seed {seed}, {}", show(&history));
        assert!(found.is_sorted_by_key(|violation| violation.index));
    }
}

/// Where no result is missing, none is after a cut: what check finds in the result, it found in the history.
#[test]
fn a_cut_breaks_no_pair() {
    for seed in 0..3_000 {
        let mut random = Random(seed);
        let history = random::history(&mut random, 14);
        let (limits, _) = limits(&mut random);
        let Outcome::Sent(sent) = outcome(&history, &limits) else {
            continue;
        };
        let codes = |history: &[Raw]| -> Vec<&str> {
            let found = check(&Messages(history), None).unwrap();
            found.iter().map(|violation| violation.code).collect()
        };
        let before = codes(&history);
        for code in codes(&sent.messages) {
            // A result that follows a cut in its own batch's order may lose its place, never its call.
            let known = before.contains(&code) || code == "empty_history";
            assert!(known, "seed {seed}: {code}, {limits:?}, {}", show(&history));
        }
    }
}

/// No more than the cap, cut at clusters' edges, and what is reported as gone is gone.
#[test]
fn a_capped_text_is_whole_clusters_within_the_cap() {
    for seed in 0..5_000 {
        let mut random = Random(seed);
        let text = random::text(&mut random, 30);
        let keep = *random.pick(&[ToolKeep::Head, ToolKeep::Tail, ToolKeep::HeadTail]);
        let cap = Cap {
            chars: 1 + random.below(60),
            keep,
        };
        let history = [json!({"role": "function", "name": "f", "content": text})];
        let limits = Limits {
            cap: Some(cap),
            ..Limits::default()
        };
        let plan = plan_tokens(&history, &limits).unwrap();
        let chars = text.chars().count();
        let [edit] = plan.edits.as_slice() else {
            assert!(chars <= cap.chars && plan.is_unchanged());
            continue;
        };
        let cut = edit.cuts[0].cut.unwrap();
        let left = cut.apply(&text);
        assert_eq!(left.chars().count(), cut.chars());
        assert!(cut.chars() <= cap.chars, "seed {seed}");
        assert_eq!(plan.report.chars_sent, cut.chars() as u64);
        assert_eq!(plan.report.chars_capped, (chars - cut.chars()) as u64);
        // Where there is no room for a marker, code points are all that counts.
        if !cut.marker.is_empty() {
            let edges = oracle::edges(&text);
            assert!(edges.contains(&cut.head) && edges.contains(&(chars - cut.tail)));
            // Not one cluster more would have fitted.
            let room = cap.chars - cut.marker.chars().count();
            let (head, tail) = match keep {
                ToolKeep::Head => (room, 0),
                ToolKeep::Tail => (0, room),
                ToolKeep::HeadTail => (room.div_ceil(2), room / 2),
            };
            assert!(edges.iter().all(|&edge| edge <= cut.head || edge > head));
            let from_back = |edge: usize| chars - edge;
            assert!(
                edges
                    .iter()
                    .all(|&edge| from_back(edge) <= cut.tail || from_back(edge) > tail)
            );
        }
    }
}

/// A conversation that grows is cut at the same place for a while, if `trim_to` asks for that.
#[test]
fn a_grid_holds_the_cut_still() {
    let step = |k: usize| json!({"role": if k.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("message {k}")});
    let limits = Limits {
        max_turns: most(20),
        trim_to: TrimTo::new(0.5),
        ..Limits::default()
    };
    let mut history: Vec<Raw> = Vec::new();
    let mut cuts = Vec::new();
    for k in 0..200 {
        history.push(step(k));
        let plan = plan_tokens(&history, &limits).unwrap();
        assert_eq!(plan.tail % 10, 0, "on the grid");
        assert!(history.len() - plan.tail <= 20);
        cuts.push(plan.tail);
    }
    assert!(cuts.is_sorted());
    cuts.dedup();
    assert_eq!(cuts, (0..19).map(|k| k * 10).collect::<Vec<_>>());
}
