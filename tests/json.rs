//! JSON as a source against `serde_json`: the same values, the same texts, and the same texts refused.

// A test that cannot go on should stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use backcut::{Buffers, Document, JsonValue, Text, Value};
use serde_json::Value as Raw;
use support::random::Random;

/// A value and how it may be written, with blanks and escapes wherever they may be.
fn write(random: &mut Random, depth: usize, json: &mut String) {
    blanks(random, json);
    match random.below(if depth < 5 { 9 } else { 6 }) {
        0 => json.push_str(["null", "true", "false"][random.below(3)]),
        1 => json.push_str(
            [
                "0",
                "-0",
                "12",
                "-1.5",
                "2e3",
                "1.25E-7",
                "12345678901234567890123",
            ][random.below(7)],
        ),
        2..6 => string(random, "", json),
        6 => {
            json.push('[');
            for k in 0..random.below(4) {
                json.push_str(if k > 0 { "," } else { "" });
                write(random, depth + 1, json);
            }
            blanks(random, json);
            json.push(']');
        }
        _ => {
            json.push('{');
            for k in 0..random.below(20) {
                json.push_str(if k > 0 { "," } else { "" });
                blanks(random, json);
                string(random, &k.to_string(), json);
                blanks(random, json);
                json.push(':');
                write(random, depth + 1, json);
            }
            blanks(random, json);
            json.push('}');
        }
    }
    blanks(random, json);
}

fn blanks(random: &mut Random, json: &mut String) {
    if random.below(3) == 0 {
        json.push_str([" ", "\n", "\r\n", "\t", "  "][random.below(5)]);
    }
}

/// A string that begins with `front`, which no other may.
fn string(random: &mut Random, front: &str, json: &mut String) {
    json.push('"');
    json.push_str(front);
    let most = if random.once_in(9) { 90 } else { 9 };
    for _ in 0..random.below(most) {
        json.push_str(
            [
                "a",
                "b c",
                "é",
                "日本",
                "😀",
                "\u{7f}",
                "[",
                "]",
                "{",
                "}",
                ":",
                ",",
                "role",
                r"\n",
                r#"\""#,
                r"\\",
                r"\/",
                r"\u0041",
                r"\u00e9",
                r"\ud83d\uDE00",
                r"\b\f\r\t",
                r"\\\\",
                r"\u005c",
            ][random.below(23)],
        );
    }
    json.push('"');
}

/// Holds a value against what `serde_json` reads.
fn compare(value: &JsonValue<'_>, raw: &Raw) {
    match raw {
        Raw::Array(items) => {
            assert_eq!(value.list(), Some(items.len()));
            for (k, item) in items.iter().enumerate() {
                compare(&value.item(k).unwrap(), item);
            }
            assert!(value.item(items.len()).is_none());
            // And from behind.
            for (k, item) in items.iter().enumerate().rev() {
                compare(&value.item(k).unwrap(), item);
            }
        }
        Raw::Object(members) => {
            let entries = value.entries().unwrap();
            assert_eq!(entries.len(), members.len());
            for ((key, value), (name, raw)) in entries.iter().zip(members) {
                assert_eq!(key.as_str(), *name);
                compare(value, raw);
            }
        }
        Raw::String(text) => {
            let found = value.text().unwrap();
            assert_eq!(found.as_str(), *text);
            assert_eq!(
                (found.chars(), found.bytes()),
                (text.chars().count(), text.len())
            );
            for chars in [0, 1, found.chars() / 2, found.chars(), found.chars() + 1] {
                assert_eq!(
                    found.front(chars),
                    text.chars().take(chars).collect::<String>()
                );
            }
        }
        _ => {
            assert!(value.text().is_none() && value.list().is_none() && !value.is_record());
        }
    }
}

#[test]
fn values_are_those_of_serde_json() {
    let mut buffers = Buffers::default();
    for seed in 0..4_000 {
        let mut random = Random(seed);
        // Blocks of 64 bytes begin at another place each time.
        let mut json = " ".repeat(random.below(64));
        write(&mut random, 0, &mut json);
        let raw: Raw =
            serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        match Document::read(json.as_bytes(), &mut buffers) {
            Ok(document) => compare(&document.root(), &raw),
            Err(syntax) => panic!("{syntax}: {json}"),
        }
    }
}

#[test]
fn what_serde_json_refuses_is_refused() {
    let mut buffers = Buffers::default();
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let mut json = String::new();
        write(&mut random, 2, &mut json);
        let mut json = json.into_bytes();
        for _ in 0..=random.below(2) {
            let at = random.below(json.len());
            match random.below(3) {
                0 => json[at] = b"\"\\{}[]:,u0-e. \n\x01\xc3x"[random.below(18)],
                1 => json.truncate(at.max(1)),
                _ => {
                    json.remove(at);
                }
            }
            if json.is_empty() {
                json.push(b' ');
            }
        }
        let found = Document::read(&json, &mut buffers).map(|_| ());
        match serde_json::from_slice::<Raw>(&json) {
            // Keys that come twice, `serde_json` takes.
            Ok(_) => match found {
                Ok(()) => taken += 1,
                Err(syntax) => {
                    assert_eq!(syntax.expected, "each key of an object once", "{json:?}");
                }
            },
            // Lone surrogates and numbers beyond a double, it refuses.
            Err(error)
                if found.is_ok()
                    && ["surrogate", "hex escape", "out of range"]
                        .iter()
                        .any(|why| error.to_string().contains(why)) => {}
            Err(error) => {
                let syntax =
                    found.expect_err(&format!("{error}: {}", String::from_utf8_lossy(&json)));
                assert!(syntax.offset <= json.len());
                refused += 1;
            }
        }
    }
    assert!(
        refused > 5_000 && taken > 500,
        "{refused} refused, {taken} taken"
    );
}
