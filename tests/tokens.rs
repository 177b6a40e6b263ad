//! Counting up to a limit and truncating, against the plain count; estimates keep the same promises.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::cell::Cell;
use std::convert::Infallible;

use backcut::{Encoding, Estimate, Keep, Scaled, truncate};
use support::quarters;
use support::random::{Random, text};
use unicode_segmentation::UnicodeSegmentation;

/// Texts in which tokens, code points and clusters disagree.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        "hello world, this is a plain sentence.",
        "e\u{301}e\u{301}e\u{301} a\u{308}\u{323} combining",
        "👩\u{200d}👩\u{200d}👧👨\u{200d}💻🏳\u{fe0f}\u{200d}🌈 families",
        "🇩🇪🇫🇷🇬🇧",
        "漢字かな交じり文を書く。中文也是。",
        "한국어 \u{1112}\u{1161}\u{11ab}",
        "नमस्ते दुनिया",
        "a \u{301}b\u{600} c",
        "line\r\nline\n\n\n  indented\n\ttab\u{a0}no-break\u{2028}separator",
        "<|endoftext|> is text here",
        "it's we'll I'M",
        "1234567890 12 345",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push(" ".repeat(70));
    texts.push(format!("a{}b", " ".repeat(40)));
    texts.push("x".repeat(60));
    texts.push(format!("end{}", "\n".repeat(20)));
    let mut random = Random(7);
    texts.extend((0..60).map(|_| text(&mut random, 16)));
    texts
}

#[test]
fn counting_up_to_a_limit_agrees_with_counting() {
    for encoding in Encoding::ALL {
        for text in texts() {
            let count = encoding.count(&text);
            for limit in (0..count + 5).chain([1_000]) {
                let found = encoding.count_up_to(&text, limit);
                assert_eq!(
                    found,
                    (count <= limit).then_some(count),
                    "{encoding:?} {limit} {text:?}"
                );
            }
        }
    }
}

/// The longest piece among all clusters' edges.
fn longest(text: &str, limit: u64, keep: Keep, count: impl Fn(&str) -> u64) -> usize {
    let mut edges: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
    edges.push(text.len());
    if keep == Keep::Head {
        edges
            .into_iter()
            .filter(|&at| count(&text[..at]) <= limit)
            .max()
    } else {
        edges
            .into_iter()
            .filter(|&at| count(&text[at..]) <= limit)
            .min()
    }
    .unwrap()
}

fn agrees(text: &str, limit: u64, additive: bool, count: &dyn Fn(&str) -> u64) {
    for keep in [Keep::Head, Keep::Tail] {
        let Ok(at) = truncate(text, limit, keep, additive, |piece| {
            Ok::<_, Infallible>(count(piece))
        });
        assert_eq!(
            at,
            longest(text, limit, keep, count),
            "{limit} {keep:?} {text:?}"
        );
    }
}

#[test]
fn truncate_keeps_the_longest_piece() {
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        for text in texts() {
            for limit in 0..=encoding.count(&text) + 1 {
                agrees(&text, limit, true, &|piece| encoding.count(piece));
            }
        }
    }
}

#[test]
fn truncate_with_a_counter_that_is_not_additive() {
    for text in texts() {
        for limit in 0..=quarters(&text) + 1 {
            agrees(&text, limit, false, &quarters);
        }
    }
}

/// What no token respects: runs, long words, digits, junk, scripts without blanks.
const HARD: [&str; 32] = [
    "a",
    "x",
    "B",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "=",
    "-",
    "/",
    "'",
    "'s",
    "'re",
    "\"",
    ".",
    ",",
    "7",
    "123",
    "é",
    "ß",
    "ж",
    "ก",
    "漢",
    "か",
    "한",
    "。",
    "👩\u{200d}👧",
    "🇩🇪",
    "\u{600}",
    "\u{a0}",
    "e\u{301}",
];

/// Texts of few kinds of pieces each, many of them in runs.
fn hard(random: &mut Random, most: usize) -> String {
    let kinds: Vec<&str> = (0..=random.below(5)).map(|_| *random.pick(&HARD)).collect();
    let mut text = String::new();
    while text.len() < most && !random.once_in(40) {
        text.push_str(&random.pick(&kinds).repeat(1 + random.below(12)));
    }
    text
}

const VOCABULARIES: [Encoding; 4] = [
    Encoding::O200kBase,
    Encoding::Cl100kBase,
    Encoding::P50kBase,
    Encoding::R50kBase,
];

#[test]
fn truncate_keeps_the_longest_piece_of_hard_texts() {
    let mut random = Random(11);
    for encoding in VOCABULARIES {
        for _ in 0..400 {
            let text = hard(&mut random, 400);
            let limit = random.below(1 + usize::try_from(encoding.count(&text)).unwrap()) as u64;
            for keep in [Keep::Head, Keep::Tail] {
                assert_eq!(
                    encoding.truncate(&text, limit, keep),
                    longest(&text, limit, keep, |piece| encoding.count(piece)),
                    "{encoding:?} {limit} {keep:?} {text:?}"
                );
            }
        }
    }
}

#[test]
fn estimates_truncate_hard_texts() {
    let mut random = Random(13);
    for estimate in estimates() {
        for _ in 0..300 {
            let text = hard(&mut random, 300);
            let limit = random.below(1 + usize::try_from(estimate.count(&text)).unwrap()) as u64;
            assert_eq!(
                estimate.count_up_to(&text, limit),
                Some(estimate.count(&text)).filter(|&count| count <= limit)
            );
            for keep in [Keep::Head, Keep::Tail] {
                assert_eq!(
                    estimate.truncate(&text, limit, keep),
                    longest(&text, limit, keep, |piece| estimate.count(piece)),
                    "{estimate:?} {limit} {keep:?} {text:?}"
                );
            }
        }
    }
}

/// Counting from either end is exact: both sides of where it stops add up to the whole, and a little more would be too much.
#[test]
fn counts_add_up_where_reaching_ends() {
    let mut random = Random(5);
    let mut inside = 0;
    for encoding in VOCABULARIES {
        for k in 0..4_000 {
            let text = if k % 2 == 0 {
                hard(&mut random, 300)
            } else {
                text(&mut random, 60)
            };
            let all = encoding.count(&text);
            let limit = random.below(2 + usize::try_from(all).unwrap()) as u64;
            for keep in [Keep::Head, Keep::Tail] {
                let (at, tokens) = encoding.reach(&text, limit, keep);
                let sides = [encoding.count(&text[..at]), encoding.count(&text[at..])];
                let kept = sides[usize::from(keep == Keep::Tail)];
                assert_eq!(tokens, kept, "{encoding:?} {limit} {keep:?} {text:?}");
                assert_eq!(sides[0] + sides[1], all, "{encoding:?} {at} {text:?}");
                assert!(tokens <= limit);
                inside += usize::from(0 < at && at < text.len());
            }
        }
    }
    assert!(inside > 4_000, "{inside} cuts inside of a text");
}

#[test]
fn reaching_goes_as_far_as_counts_add_up() {
    let encoding = Encoding::O200kBase;
    assert_eq!(encoding.reach("one two three", 2, Keep::Head), (7, 2));
    assert_eq!(encoding.reach("one two three", 2, Keep::Tail), (3, 2));
    assert_eq!(encoding.reach("one two three", 3, Keep::Tail), (0, 3));
    assert_eq!(encoding.reach("", 0, Keep::Head), (0, 0));
}

/// The tokenizer's work in bytes, by its calls: what a limit costs does not depend on the text behind it.
#[test]
fn truncate_costs_what_the_limit_costs() {
    let encoding = Encoding::O200kBase;
    let prose = "What a text says is of no matter here, as long as it has words. ";
    let minified = r#"{"a":1,"b":[1,2,3],"long_key_name":"value"},"#;
    let cjk = "漢字かな交じり文を書く。中文也是。";
    for (unit, bytes_a_token) in [
        (prose, 8),
        (minified, 8),
        (cjk, 200),
        ("x", 2_000),
        (" ", 20_000),
    ] {
        for keep in [Keep::Head, Keep::Tail] {
            let work = |text: &str, limit| {
                let bytes = Cell::new(0);
                let Ok(_) = truncate(text, limit, keep, true, |piece| {
                    bytes.set(bytes.get() + piece.len());
                    Ok::<_, Infallible>(encoding.count(piece))
                });
                bytes.get()
            };
            let (short, long) = (
                unit.repeat(200_000 / unit.len()),
                unit.repeat(4_000_000 / unit.len()),
            );
            assert!(
                work(&long, 100) <= 100 * bytes_a_token,
                "{} {keep:?} {unit:?}",
                work(&long, 100)
            );
            assert_eq!(work(&long, 100), work(&short, 100), "{keep:?} {unit:?}");
        }
    }
}

/// What stands in front of a tail decides where its clusters begin.
#[test]
fn clusters_are_seen_in_the_whole_text() {
    let encoding = Encoding::O200kBase;
    let flags = format!("a{}", "🇩🇪".repeat(3_001));
    for limit in 0..40 {
        let at = encoding.truncate(&flags, limit, Keep::Tail);
        assert_eq!((at - 1) % 8, 0, "{limit}");
    }
    // U+0600 belongs to what follows it, be it a blank.
    for text in ["word\u{600} b", "\u{600} word", "a\u{600} \u{600} b"] {
        agrees(text, 2, true, &|piece| encoding.count(piece));
    }
}

fn times(base: Encoding, numerator: u32, denominator: u32) -> Estimate {
    Estimate::Scaled(Scaled::new(base, numerator, denominator).unwrap())
}

fn estimates() -> Vec<Estimate> {
    vec![
        Estimate::Approximate,
        times(Encoding::O200kBase, 118, 100),
        times(Encoding::Cl100kBase, 7, 3),
        times(Encoding::O200kBase, 1, 1),
    ]
}

#[test]
fn a_factor_is_at_least_one() {
    assert_eq!(Scaled::new(Encoding::O200kBase, 1, 2), None);
    assert_eq!(Scaled::new(Encoding::O200kBase, 0, 0), None);
}

#[test]
fn a_scaled_estimate_is_the_product_rounded_up() {
    for text in texts() {
        let tokens = Encoding::O200kBase.count(&text);
        let estimate = times(Encoding::O200kBase, 118, 100);
        assert_eq!(estimate.count(&text), (tokens * 118).div_ceil(100));
    }
}

#[test]
fn estimates_keep_limits_as_encodings_do() {
    for estimate in estimates() {
        for text in texts() {
            let count = estimate.count(&text);
            assert!(count >= (text.len() as u64).div_ceil(128));
            for limit in 0..count + 3 {
                let found = estimate.count_up_to(&text, limit);
                assert_eq!(
                    found,
                    (count <= limit).then_some(count),
                    "{estimate:?} {limit} {text:?}"
                );
                for keep in [Keep::Head, Keep::Tail] {
                    assert_eq!(
                        estimate.truncate(&text, limit, keep),
                        longest(&text, limit, keep, |piece| estimate.count(piece)),
                        "{estimate:?} {limit} {keep:?} {text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_limit_is_too_large_for_an_estimate() {
    for estimate in estimates() {
        assert_eq!(
            estimate.count_up_to("some words", u64::MAX),
            Some(estimate.count("some words"))
        );
        assert_eq!(estimate.truncate("some words", u64::MAX, Keep::Head), 10);
    }
}

/// Texts of several thousand bytes are not searched exhaustively; the cut still holds and lies near the limit.
#[test]
fn truncate_holds_on_long_texts() {
    let encoding = Encoding::O200kBase;
    for text in [
        "word and ".repeat(2_000),
        "漢字".repeat(3_000),
        "x".repeat(20_000),
        " ".repeat(9_000),
    ] {
        let limit = encoding.count(&text) / 2;
        for keep in [Keep::Head, Keep::Tail] {
            let Ok(at) = truncate(&text, limit, keep, true, |piece| {
                Ok::<_, Infallible>(encoding.count(piece))
            });
            let piece = if keep == Keep::Head {
                &text[..at]
            } else {
                &text[at..]
            };
            let tokens = encoding.count(piece);
            assert!(
                tokens <= limit && tokens + 4 >= limit,
                "{tokens} of {limit}, {keep:?}"
            );
        }
    }
}

#[test]
fn an_error_of_the_counter_comes_through() {
    let failed = truncate("some text", 1, Keep::Head, false, |_| Err("no"));
    assert_eq!(failed, Err("no"));
}
