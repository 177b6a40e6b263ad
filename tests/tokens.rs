//! Counting up to a limit and truncating, against the plain count; estimates keep the same promises.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

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
