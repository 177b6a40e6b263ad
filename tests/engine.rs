//! Golden cases of the engine: small histories whose plan, count or error is known by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use backcut::{
    Between, Cap, Ceiling, Compat, Edit, Encoding, Error, FIGURES, Figures, Format, Key, Limits,
    NoticeRole, Overflow, PartCut, Plan, Start, Step, TextCut, ToolKeep, TrimTo, check, count,
};
use serde_json::{Value as Raw, json};
use support::{Exact, Json, Messages, Quarters, Recorder, most, plan, plan_tokens};

fn user(text: &str) -> Raw {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Raw {
    json!({"role": "assistant", "content": text})
}

fn system(text: &str) -> Raw {
    json!({"role": "system", "content": text})
}

fn calls(ids: &[&str]) -> Raw {
    let calls: Vec<Raw> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str, text: &str) -> Raw {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn turns(limit: u64) -> Limits {
    Limits {
        max_turns: most(limit),
        start: Start::Any,
        ..Limits::default()
    }
}

fn kept(plan: &Plan) -> Vec<usize> {
    plan.kept().collect()
}

// Cuts

#[test]
fn what_fits_is_not_touched() {
    let history = [system("s"), user("u"), assistant("a")];
    let plan = plan(&history, &turns(2)).unwrap();
    assert!(plan.is_unchanged());
    assert_eq!(kept(&plan), [0, 1, 2]);
    assert_eq!(plan.report.chars_sent, 2);
    assert_eq!(plan.report.tokens_sent, None);
    assert_eq!(plan.report.format, Format::OpenaiChat);
}

#[test]
fn nothing_and_a_lone_head_stay() {
    assert!(plan(&[], &turns(1)).unwrap().is_unchanged());
    let head = [
        system("0123456789"),
        json!({"role": "developer", "content": "d"}),
    ];
    assert!(plan(&head, &turns(1)).unwrap().is_unchanged());
    // 3 + (3 + 2 + 3) + (3 + 3 + 1)
    let limits = |tokens| Limits {
        max_tokens: most(tokens),
        ..Limits::default()
    };
    assert!(plan_tokens(&head, &limits(18)).unwrap().is_unchanged());
    let error = plan_tokens(&head, &limits(17)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Budget {
                needed: 18,
                limit: 17,
                ceiling: Ceiling::Tokens,
                index: None
            }
        ),
        "{error:?}"
    );
}

#[test]
fn the_longest_tail_stays_behind_the_head() {
    let history = [
        system("s"),
        user("1"),
        assistant("2"),
        user("3"),
        assistant("4"),
    ];
    let plan = plan(&history, &turns(3)).unwrap();
    assert_eq!(kept(&plan), [0, 2, 3, 4]);
    assert_eq!(plan.report.first_changed, Some(1));
    assert!(plan.report.window_trimmed);
    assert_eq!(plan.report.window_orphans_dropped, 0);
}

#[test]
fn calls_and_results_go_together() {
    let history = [
        user("u"),
        calls(&["a", "b"]),
        result("b", "B"),
        result("a", "A"),
        user("v"),
    ];
    for (limit, expected) in [(4, vec![1, 2, 3, 4]), (3, vec![4]), (1, vec![4])] {
        let plan = plan(&history, &turns(limit)).unwrap();
        assert_eq!(kept(&plan), expected, "{limit}");
        let orphans = if limit == 3 { 2 } else { 0 };
        assert_eq!(plan.report.window_orphans_dropped, orphans, "{limit}");
    }
}

#[test]
fn a_late_result_welds() {
    let history = [
        user("u"),
        calls(&["a"]),
        user("meanwhile"),
        result("a", "A"),
        user("v"),
        assistant("w"),
    ];
    assert_eq!(kept(&plan(&history, &turns(4)).unwrap()), [4, 5]);
    assert_eq!(kept(&plan(&history, &turns(5)).unwrap()), [1, 2, 3, 4, 5]);
}

#[test]
fn an_id_used_again_belongs_to_its_newest_call() {
    let history = [
        calls(&["a"]),
        result("a", "1"),
        calls(&["a"]),
        result("a", "2"),
        user("v"),
    ];
    assert_eq!(kept(&plan(&history, &turns(3)).unwrap()), [2, 3, 4]);
    assert_eq!(check(&Messages(&history), None).unwrap(), []);
    // An older open call of the id is closed for good.
    let history = [
        calls(&["a"]),
        user("u"),
        calls(&["a"]),
        result("a", "2"),
        result("a", "1"),
    ];
    assert_eq!(
        codes(&history),
        [(0, "unanswered_call"), (4, "orphan_result")]
    );
}

#[test]
fn without_ids_the_place_decides() {
    let mut call = calls(&["", "b"]);
    call["tool_calls"][0]["id"] = Raw::Null;
    let mut anonymous = result("", "A");
    anonymous["tool_call_id"] = Raw::Null;
    let history = [user("u"), call, result("b", "B"), anonymous, user("v")];
    assert_eq!(codes(&history), [(1, "missing_id"), (3, "missing_id")]);
    assert_eq!(kept(&plan(&history, &turns(4)).unwrap()), [1, 2, 3, 4]);
    assert_eq!(kept(&plan(&history, &turns(3)).unwrap()), [4]);
}

#[test]
fn legacy_calls_pair_with_function_messages_only() {
    let call = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let answer = json!({"role": "function", "name": "f", "content": "F"});
    let history = [user("u"), call.clone(), answer.clone(), user("v")];
    assert_eq!(codes(&history), []);
    assert_eq!(kept(&plan(&history, &turns(2)).unwrap()), [3]);
    assert_eq!(
        codes(&[call, result("a", "A")]),
        [(0, "pending_call"), (1, "orphan_result")]
    );
    assert_eq!(
        codes(&[calls(&["a"]), answer]),
        [(0, "pending_call"), (1, "orphan_result")]
    );
}

#[test]
fn the_task_stays_in_front_of_its_run() {
    let history = [
        user("old"),
        user("task"),
        calls(&["a"]),
        result("a", "A"),
        calls(&["b"]),
        result("b", "B"),
    ];
    let limits = |turns| Limits {
        start: Start::User,
        ..self::turns(turns)
    };
    let plan_of = |turns| plan(&history, &limits(turns)).unwrap();
    assert_eq!(kept(&plan_of(5)), [1, 2, 3, 4, 5]);
    assert_eq!(kept(&plan_of(4)), [1, 4, 5]);
    assert_eq!(plan_of(3).report.first_changed, Some(0));
    let dropped = plan_of(2);
    assert_eq!(kept(&dropped), [4, 5]);
    assert!(dropped.report.task_dropped);
}

#[test]
fn no_tail_begins_at_a_system_message() {
    let history = [user("1"), assistant("2"), system("mid"), user("3")];
    assert_eq!(kept(&plan(&history, &turns(2)).unwrap()), [3]);
    let history = [user("1"), assistant("2"), system("last")];
    assert_eq!(kept(&plan(&history, &turns(2)).unwrap()), [1, 2]);
}

#[test]
fn what_cannot_fit_is_an_error_or_is_kept() {
    let history = [system("s"), user("u"), calls(&["a"]), result("a", "A")];
    let error = plan(&history, &turns(1)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Budget {
                needed: 2,
                limit: 1,
                ceiling: Ceiling::Turns,
                index: Some(2)
            }
        ),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the newest group needs 2 of max_turns, but there are 1"
    );
    let limits = Limits {
        on_overflow: Overflow::Keep,
        ..turns(1)
    };
    let plan = plan(&history, &limits).unwrap();
    assert_eq!(kept(&plan), [0, 2, 3]);
    assert!(plan.report.over_budget);
}

// Notice

fn noticed(role: NoticeRole, limit: u64) -> Limits {
    Limits {
        notice: Some("cut".to_owned()),
        notice_role: role,
        start: Start::User,
        ..turns(limit)
    }
}

#[test]
fn a_notice_stands_behind_the_head_in_its_role() {
    let head = json!({"role": "developer", "content": "d"});
    let history = [head, user("1"), assistant("2"), user("3")];
    let at = |role| plan(&history, &noticed(role, 1)).unwrap();
    let auto = at(NoticeRole::Auto);
    let notice = auto.notice.clone().unwrap();
    assert_eq!(
        (notice.role, notice.at, notice.folded),
        ("developer", 1, false)
    );
    assert_eq!((auto.report.chars_sent, auto.report.messages_sent), (4, 3));
    assert_eq!(at(NoticeRole::System).notice.unwrap().role, "system");
}

#[test]
fn a_notice_is_folded_into_the_first_user_turn() {
    let history = [user("1"), assistant("2"), user("3")];
    let plan = plan(&history, &noticed(NoticeRole::User, 1)).unwrap();
    let notice = plan.notice.unwrap();
    assert_eq!((notice.role, notice.at, notice.folded), ("user", 0, true));
    // "cut", a blank line, "3"
    assert_eq!(plan.report.chars_sent, 6);
    assert_eq!(plan.report.messages_sent, 1);
}

#[test]
fn a_carried_notice_is_not_repeated() {
    let history = [system("cut"), user("1"), assistant("2"), user("3")];
    let plan = plan(&history, &noticed(NoticeRole::Auto, 1)).unwrap();
    assert_eq!(plan.notice, None);
    assert_eq!(plan.report.chars_sent, 4, "its characters count");
}

#[test]
fn the_notice_gives_way_before_the_newest_group() {
    let history = [user("0123456789"), user("0123456789")];
    let limits = |chars| Limits {
        max_chars: most(chars),
        ..noticed(NoticeRole::Auto, 2)
    };
    assert!(plan(&history, &limits(13)).unwrap().notice.is_some());
    assert!(plan(&history, &limits(12)).unwrap().notice.is_none());
}

// Cap

fn cap_of(content: &Raw, chars: usize, keep: ToolKeep) -> Vec<PartCut> {
    let history = [
        user("u"),
        calls(&["a"]),
        json!({"role": "tool", "tool_call_id": "a", "content": content}),
    ];
    let limits = Limits {
        cap: Some(Cap { chars, keep }),
        ..Limits::default()
    };
    let mut plan = plan(&history, &limits).unwrap();
    assert_eq!(plan.report.first_changed, Some(2));
    assert_eq!(plan.report.tools_truncated, 1);
    assert_eq!(plan.edits.len(), 1);
    let Edit { index, cuts } = plan.edits.remove(0);
    assert_eq!(index, 2);
    cuts
}

#[test]
fn a_cap_keeps_the_end_that_is_asked_for() {
    let text = "0123456789abcdefghijklmnopqrstuvwxyz";
    let apply = |chars, keep| {
        cap_of(&json!(text), chars, keep)[0]
            .cut
            .unwrap()
            .apply(text)
    };
    assert_eq!(apply(18, ToolKeep::Head), "0123\n… [truncated]");
    assert_eq!(apply(18, ToolKeep::Tail), "… [truncated]\nwxyz");
    assert_eq!(apply(20, ToolKeep::HeadTail), "012\n… [truncated]\nyz");
    // Too small for the marker.
    assert_eq!(apply(5, ToolKeep::Tail), "01234");
}

#[test]
fn a_cap_breaks_no_cluster() {
    let text = "👩\u{200d}👩\u{200d}👧".repeat(10);
    let cut = |chars, keep| cap_of(&json!(text), chars, keep)[0].cut.unwrap();
    let of = |cut: TextCut| (cut.head, cut.tail);
    assert_eq!(of(cut(14 + 9, ToolKeep::Head)), (5, 0));
    assert_eq!(of(cut(14 + 9, ToolKeep::Tail)), (0, 5));
    assert_eq!(of(cut(15 + 11, ToolKeep::HeadTail)), (5, 5));
    assert_eq!(of(cut(14 + 4, ToolKeep::Head)), (0, 0));
}

#[test]
fn a_cap_counts_over_all_parts() {
    let content = json!([
        {"type": "text", "text": "0123456789"},
        {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "text", "text": "0123456789"},
        "0123456789",
    ]);
    let cuts = cap_of(&content, 14 + 12, ToolKeep::Head);
    let cut = TextCut {
        head: 2,
        tail: 0,
        marker: "\n… [truncated]",
    };
    let expected = [
        PartCut {
            path: vec![Step::Key(Key::Content), Step::Item(2), Step::Key(Key::Text)],
            cut: Some(cut),
        },
        PartCut {
            path: vec![Step::Key(Key::Content), Step::Item(3)],
            cut: None,
        },
    ];
    assert_eq!(cuts, expected);
}

// trim_to

#[test]
fn a_grid_is_measured_from_the_front() {
    let history: Vec<Raw> = (0..9).map(|k| user(&format!("{k:04}"))).collect();
    let cut = |limits: Limits| {
        let limits = Limits {
            trim_to: TrimTo::new(0.5),
            ..limits
        };
        plan_tokens(&history, &limits).unwrap().tail
    };
    // Step 3: the fitting cut is 3, and it is on the grid.
    assert_eq!(cut(turns(6)), 3);
    // Step 4 (3.5 rounded up): 2 fits, 4 is the grid's.
    assert_eq!(cut(turns(7)), 4);
    // Step 12 of 24 characters, 4 a message: 3 fits and is the grid's.
    let chars = |limit| Limits {
        max_chars: most(limit),
        ..Limits::default()
    };
    assert_eq!(cut(chars(24)), 3);
    // Step 15: 30 characters hold 7 messages; four messages are the first 15 or more.
    assert_eq!(cut(chars(30)), 4);
    // A message is 3 + 1 + 1 tokens: 3 + 5 x 8 fit. It measures 4 + 4 x 4 bytes; the step is 88 of 4 x 44, five messages.
    let tokens = Limits {
        max_tokens: most(44),
        ..Limits::default()
    };
    assert_eq!(cut(tokens), 5);
}

/// `docs/rules.md` 5: where K leaves nothing out there is no notice, so the characters ask for no cut here.
#[test]
fn a_grid_weighs_no_notice_where_nothing_is_left_out() {
    let history: Vec<Raw> = (0..4).map(|k| user(&format!("{k:09}"))).collect();
    let limits = Limits {
        max_turns: most(3),
        max_chars: most(36),
        notice: Some("cut".to_owned()),
        trim_to: TrimTo::new(0.5),
        ..Limits::default()
    };
    // Turns: 1 fits, step 2. Characters: all 36 fit, so no cut.
    assert_eq!(plan(&history, &limits).unwrap().tail, 2);
    let limits = Limits {
        max_turns: most(3),
        trim_to: TrimTo::new(0.67),
        ..limits
    };
    // Turns: step 1, so the cut is 1. Weighed with a notice, characters would cut at a step of 12, which is 2.
    assert_eq!(plan(&history, &limits).unwrap().tail, 1);
}

#[test]
fn the_grid_takes_a_picture_with_a_text_for_its_cap() {
    let picture =
        json!([{"type": "image_url", "image_url": {"url": "u"}, "text": "x".repeat(100)}]);
    let history = [
        user("u"),
        calls(&["a"]),
        json!({"role": "tool", "tool_call_id": "a", "content": picture}),
        user("v"),
        user("w"),
    ];
    let limits = Limits {
        cap: Some(Cap {
            chars: 50,
            keep: ToolKeep::Head,
        }),
        trim_to: TrimTo::new(0.5),
        ..turns(2)
    };
    assert_eq!(plan(&history, &limits).unwrap().tail, 3);
}

// What is read, and what is counted

#[test]
fn messages_before_the_cut_are_not_tokenized() {
    let history: Vec<Raw> = (0..1_000).map(|k| user(&format!("text {k:04}"))).collect();
    let counter = Recorder::default();
    let limits = Limits {
        max_tokens: most(60),
        notice: Some("cut".to_owned()),
        ..Limits::default()
    };
    let plan = backcut::plan(&Messages(&history), &limits, Some(&counter), None, None).unwrap();
    // A message is 3 + 1 + 3 tokens, the notice 3 + 2 + 1: 3 + 6 + 7 x 7 = 58.
    assert_eq!(kept(&plan), (993..1_000).collect::<Vec<_>>());
    assert_eq!(plan.report.tokens_sent, Some(58));
    assert!(
        counter.has_seen("text 0991"),
        "the one at which the ceiling is passed"
    );
    assert!(!counter.has_seen("text 0990"));
}

#[test]
fn a_text_that_cannot_fit_is_not_tokenized() {
    let long = "hopeless ".repeat(200);
    let history = [user("a"), user(&long)];
    let counter = Recorder {
        bytewise: true,
        ..Recorder::default()
    };
    let limits = Limits {
        max_tokens: most(14),
        ..Limits::default()
    };
    let error =
        backcut::plan(&Messages(&history), &limits, Some(&counter), None, None).unwrap_err();
    // 1,800 bytes are more than 14 x 128 and count as ceil(1800 / 128).
    assert!(
        matches!(
            error,
            Error::Budget {
                needed: 22,
                limit: 14,
                index: Some(1),
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!counter.has_seen("hopeless"));
}

/// `docs/rules.md` 2: such a text is not tokenized for a notice either.
#[test]
fn a_text_that_cannot_fit_is_not_tokenized_to_fold_a_notice() {
    let long = "hopeless ".repeat(200);
    let history = [user("a"), user(&long)];
    let counter = Recorder {
        bytewise: true,
        ..Recorder::default()
    };
    let limits = Limits {
        max_tokens: most(14),
        notice: Some("cut".to_owned()),
        notice_role: NoticeRole::User,
        on_overflow: Overflow::Keep,
        ..Limits::default()
    };
    let plan = backcut::plan(&Messages(&history), &limits, Some(&counter), None, None).unwrap();
    assert!(plan.report.over_budget);
    assert_eq!(plan.report.tokens_sent, Some(22));
    assert!(!counter.has_seen("hopeless"));
}

#[test]
fn tokens_of_a_message_are_the_sum_of_its_pieces() {
    let history = [
        system("You help."),
        json!({"role": "user", "name": "Ada", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "u"}},
            {"type": "input_audio", "input_audio": {}},
            {"type": "file", "file": {}},
            {"type": "unheard_of", "thinking": "hm", "other": "never counted"},
        ]}),
        json!({"role": "assistant", "content": null, "refusal": "no", "reasoning_content": "because", "audio": {"id": "x"}, "tool_calls": [
            {"id": "never counted", "type": "function", "function": {"name": "search", "arguments": "{\"q\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "search", "arguments": {"q": [1, "é"]}}},
            {"id": "c", "type": "custom", "custom": {"name": "run", "input": "code"}},
        ]}),
        json!({"role": "assistant", "function_call": {"name": "legacy", "arguments": "{}"}}),
    ];
    let each: Vec<u64> = history
        .iter()
        .map(|message| {
            count(
                &Messages(std::slice::from_ref(message)),
                None,
                &FIGURES,
                &Quarters,
                None,
                None,
            )
            .unwrap()
                - 3
        })
        .collect();
    let expected = [
        3 + 2 + 3,
        3 + 1 + (1 + 1) + 4 + 85 + 765 + 300 + 1_500 + 1,
        // {"q":[1,"é"]} is 13 code points
        3 + 3 + 1 + 2 + 300 + (3 + 2 + 2) + (3 + 2 + 4) + (3 + 1 + 1),
        3 + 3 + (3 + 2 + 1),
    ];
    assert_eq!(each, expected);
    let all = count(&Messages(&history), None, &FIGURES, &Quarters, None, None).unwrap();
    assert_eq!(all, 3 + expected.iter().sum::<u64>());
}

#[test]
fn tools_and_system_count_beside_the_messages() {
    let of = |tools: Raw| {
        backcut::count(
            &Messages(&[]),
            None,
            &FIGURES,
            &Quarters,
            Some(&Json(&tools)),
            None,
        )
        .unwrap()
    };
    assert_eq!(of(json!([])), 3);
    // "f:" is 1
    assert_eq!(of(json!([{"name": "f"}])), 3 + 12 + 7 + 1);
    let tool = json!({"type": "function", "function": {"name": "weather", "description": "Looks it up.", "parameters": {
    "type": "object", "properties": {
        "city": {"type": "string", "description": "Where."},
        "unit": {"type": ["string", "null"], "enum": ["C", "F", 1]},
        "days": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    }}}});
    // "weather:Looks it up" 19; "city:string:Where" 17; "unit:string|null:" 17; "days:array:" 11; "n:integer:" 10
    let properties = 3 + (3 + 5) + (3 + 5 + (-3 + 3 * 4)) + (3 + 3 + 3 + (3 + 3));
    assert_eq!(
        of(json!([tool])),
        3 + 12 + 7 + 5 + u64::try_from(properties).unwrap()
    );
    let system = |system: Raw| {
        backcut::count(
            &Messages(&[]),
            None,
            &FIGURES,
            &Quarters,
            None,
            Some(&Json(&system)),
        )
        .unwrap()
    };
    assert_eq!(system(json!("12345")), 3 + 3 + 2 + 2);
    assert_eq!(
        system(json!(["12345", {"type": "text", "text": "1"}])),
        3 + 3 + 2 + 2 + 1
    );
}

#[test]
fn built_in_encodings_count_as_tiktoken_does() {
    let history = [user("hello world")];
    let of = |encoding| {
        count(
            &Messages(&history),
            None,
            &FIGURES,
            &Exact(encoding),
            None,
            None,
        )
        .unwrap()
    };
    for encoding in Encoding::ALL {
        assert_eq!(of(encoding), 3 + 3 + 1 + 2);
        assert_eq!(Encoding::of(encoding.name()), Some(encoding));
    }
    let tools = json!([{"name": "f"}]);
    let of = |figures: Figures| {
        count(
            &Messages(&[]),
            None,
            &figures,
            &Quarters,
            Some(&Json(&tools)),
            None,
        )
        .unwrap()
    };
    assert_eq!(of(Figures::of("gpt-4")) - of(FIGURES), 3);
}

// Errors

fn misfit(history: &[Raw]) -> (Option<usize>, String, String) {
    let of = |error| match error {
        Error::Format { index, misfit } => (index, misfit.path, misfit.found),
        error => panic!("{error:?}"),
    };
    let planned = of(plan_tokens(history, &Limits::default()).unwrap_err());
    let counted = of(count(&Messages(history), None, &FIGURES, &Quarters, None, None).unwrap_err());
    assert_eq!(planned, counted);
    planned
}

#[test]
fn an_error_says_where_and_what() {
    let at = |message: Raw| misfit(&[user("fine"), message, user("fine")]);
    let expect = |path: &str, found: &str| (Some(1), path.to_owned(), found.to_owned());
    assert_eq!(at(json!(7)), expect("", "number"));
    assert_eq!(at(json!({"content": "x"})), expect("role", "nothing"));
    assert_eq!(at(json!({"role": "robot"})), expect("role", "\"robot\""));
    assert_eq!(
        at(json!({"role": "user", "content": 1})),
        expect("content", "number")
    );
    assert_eq!(
        at(json!({"role": "user", "content": ["x", 1]})),
        expect("content[1]", "number")
    );
    assert_eq!(
        at(json!({"role": "user", "content": [{"type": "text"}]})),
        expect("content[0].text", "nothing")
    );
    assert_eq!(
        at(json!({"role": "user", "content": "x", "name": 1})),
        expect("name", "number")
    );
    assert_eq!(
        at(json!({"role": "tool", "content": "x", "tool_call_id": 1})),
        expect("tool_call_id", "number")
    );
    let call = |call: Raw| at(json!({"role": "assistant", "tool_calls": [{"function": {}}, call]}));
    assert_eq!(call(json!("x")), expect("tool_calls[1]", "string"));
    assert_eq!(call(json!({"id": "a"})), expect("tool_calls[1]", "object"));
    assert_eq!(
        call(json!({"id": 1, "function": {}})),
        expect("tool_calls[1].id", "number")
    );
    assert_eq!(
        call(json!({"function": "f"})),
        expect("tool_calls[1].function", "string")
    );
    assert_eq!(
        call(json!({"custom": {"name": 1}})),
        expect("tool_calls[1].custom.name", "number")
    );
    let legacy = json!({"role": "assistant", "function_call": {"name": 1}});
    assert_eq!(at(legacy), expect("function_call.name", "number"));
}

#[test]
fn the_oldest_wrong_role_goes_first() {
    let history = [
        json!({"role": "x"}),
        user("fine"),
        json!({"role": "user", "content": 1}),
    ];
    assert_eq!(misfit(&history).0, Some(0));
    // Behind a cut, everything is read; in front of it, roles alone.
    let history = [json!({"role": "user", "content": 1}), user("a"), user("b")];
    assert_eq!(kept(&plan(&history, &turns(1)).unwrap()), [2]);
    let history = [json!({"role": "x"}), user("a"), user("b")];
    let error = plan(&history, &turns(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "messages[0].role: expected one of system, developer, user, assistant, tool, function, found \"x\""
    );
}

#[test]
fn the_first_shape_that_is_one_formats_alone_decides() {
    let shapes = [
        (
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}),
            Format::Anthropic,
        ),
        (
            json!({"type": "reasoning", "summary": []}),
            Format::OpenaiResponses,
        ),
        (
            json!({"role": "model", "parts": [{"text": "x"}]}),
            Format::Gemini,
        ),
        (
            json!({"role": "assistant", "content": [{"text": "x"}]}),
            Format::Bedrock,
        ),
        (
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "f"}]}),
            Format::Pi,
        ),
        (
            json!({"type": "ai", "data": {"content": "x"}}),
            Format::Langchain,
        ),
        (json!({"kind": "response", "parts": []}), Format::PydanticAi),
    ];
    for (message, expected) in shapes {
        let history = [message.clone()];
        let found = plan(&history, &turns(5)).unwrap();
        assert_eq!(found.report.format, expected, "{message}");
        // One that belongs to another format than those before it is not guessed at.
        let history = [user("u"), calls(&["a"]), result("a", "x"), message];
        let error = plan(&history, &turns(5)).unwrap_err();
        let between = Between {
            looks: expected,
            before: Format::OpenaiChat,
        };
        assert!(
            matches!(error, Error::Ambiguous { index: 3, between: found } if found == between),
            "{error:?}"
        );
    }
}

#[test]
fn items_of_responses_in_a_row_are_one_turn() {
    let history = [
        user("u"),
        json!({"type": "reasoning", "summary": []}),
        json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}),
        json!({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"}),
        json!({"type": "custom_tool_call_output", "call_id": "a", "output": "X"}),
        json!({"type": "function_call_output", "call_id": "a", "output": "A"}),
        user("v"),
    ];
    assert_eq!(codes(&history), []);
    assert_eq!(kept(&plan(&history, &turns(5)).unwrap()), [6]);
    assert_eq!(
        codes(&history[..4]),
        [(2, "pending_call"), (3, "pending_call")]
    );
    assert_eq!(
        codes(&[history[1].clone(), user("u")]),
        [(0, "reasoning_without_follower")]
    );
}

// check

fn codes(history: &[Raw]) -> Vec<(usize, &'static str)> {
    let found = check(&Messages(history), None).unwrap();
    found
        .iter()
        .map(|violation| (violation.index, violation.code))
        .collect()
}

#[test]
fn every_violation_has_its_code() {
    assert_eq!(codes(&[]), [(0, "empty_history")]);
    assert_eq!(
        codes(&[json!({"role": "user"}), json!({"role": "assistant"})]),
        [(0, "missing_content"), (1, "missing_content")]
    );
    assert_eq!(codes(&[json!({"role": "assistant", "refusal": "no"})]), []);
    assert_eq!(
        codes(&[json!({"role": "assistant", "content": "x", "tool_calls": []})]),
        [(0, "empty_tool_calls")]
    );
    let mut mixed = calls(&["a", "a"]);
    mixed["function_call"] = json!({"name": "f"});
    assert_eq!(
        codes(&[mixed]),
        [(0, "mixed_calls"), (0, "duplicate_id"), (0, "pending_call")]
    );
    let picture = json!({"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url"}]});
    assert_eq!(codes(&[calls(&["a"]), picture]), [(1, "media_in_result")]);
    assert_eq!(
        codes(&[json!({"role": "function", "content": "x"})]),
        [(0, "missing_id"), (0, "orphan_result")]
    );
    assert_eq!(codes(&[calls(&["a"]), user("u")]), [(0, "unanswered_call")]);
    assert_eq!(
        codes(&[calls(&["a"]), user("u"), result("a", "A")]),
        [(2, "late_result")]
    );
}

#[test]
fn a_violation_names_the_calls() {
    let history = [user("u"), calls(&["a", "b", "c"]), result("b", "B")];
    let found = check(&Messages(&history), None).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].index), ("pending_call", 1));
    assert_eq!(found[0].ids, ["a", "c"]);
    assert_eq!(found[0].message, "2 of its 3 calls have no result yet");
}

// compat="thena"

#[test]
fn thena_keeps_its_quirks() {
    let thena = |max_turns, max_chars, max_chars_per_tool| Limits {
        notice: Some("cut".to_owned()),
        compat: Some(Compat::Thena {
            max_turns,
            max_chars,
            max_chars_per_tool,
        }),
        ..Limits::default()
    };
    let history = [
        system("s"),
        user("1"),
        calls(&["a"]),
        result("a", "0123456789"),
        user("2"),
    ];
    // A result at the front is an orphan and goes.
    let plan_of = |limits: Limits| plan(&history, &limits).unwrap();
    let cut = plan_of(thena(Some(2), None, None));
    assert_eq!(
        (kept(&cut), cut.report.window_orphans_dropped),
        (vec![0, 4], 1)
    );
    assert_eq!(cut.notice.unwrap().at, 1);
    // None of the body is all of it, and counts as a cut.
    let zero = plan_of(thena(Some(0), None, None));
    assert_eq!(kept(&zero), [0, 1, 2, 3, 4]);
    assert!(zero.report.window_trimmed);
    assert!(zero.notice.is_some());
    // The marker stands on top of the cap.
    let capped = plan_of(thena(None, None, Some(4)));
    assert_eq!(
        capped.edits[0].cuts[0].cut.unwrap().apply("0123456789"),
        "0123\n… [truncated]"
    );
    // One message stays, however long.
    let least = plan_of(thena(None, Some(0), None));
    assert_eq!(kept(&least), [0, 4]);
    assert!(least.report.over_budget);
}
