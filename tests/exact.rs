//! Counts of the built-in encodings, against the textbook's merge of each piece and against tiktoken-rs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::LazyLock;
use std::thread;

use backcut::{DEFAULT_CACHE_BYTES, Encoding, set_cache_bytes};
use support::random::Random;
use support::textbook::Textbook;

/// The encodings that differ.
const ENCODINGS: [Encoding; 4] = [
    Encoding::O200kBase,
    Encoding::Cl100kBase,
    Encoding::P50kBase,
    Encoding::R50kBase,
];

static JUDGES: LazyLock<[(Encoding, Textbook); 4]> =
    LazyLock::new(|| ENCODINGS.map(|encoding| (encoding, Textbook::of(encoding))));

/// What decides where a pattern splits, and things around it.
#[rustfmt::skip]
const ATOMS: [&str; 54] = [
    " ", "  ", "\n", "\r\n", "\r", "\t", "\u{b}", "\u{1c}", "\u{85}", "\u{a0}", "\u{2028}", "\u{3000}", "\u{feff}", "\0",
    "'", "'s", "'S", "'ſ", "'t", "'re", "'VE", "'ll", "'x", "/", "//", "-", "=-", "...", "_",
    "a", "the", " the", "Hello", "WORLD", "iPhone", "é", "ſ", "İ", "ǅ", "ʰ", "e\u{301}", "\u{301}",
    "漢字", "かな", "한국어", "न", "1", "12345", "٣", "½", "👩\u{200d}👧", "🇩🇪", "\u{10ffff}", "<|endoftext|>",
];

/// A text of up to `most - 1` things of all kinds, or of very few kinds.
fn text(random: &mut Random, most: usize) -> String {
    let few = random.once_in(3).then(|| 2 + random.below(6));
    let first = random.below(ATOMS.len());
    (0..random.below(most))
        .map(|_| match few {
            Some(few) => ATOMS[(first + random.below(few) * 7) % ATOMS.len()].to_owned(),
            None if random.once_in(8) => random.pick(&ATOMS).repeat(1 + random.below(40)),
            None if random.once_in(4) => char::from_u32(random.below(0x3_0000).try_into().unwrap())
                .unwrap_or('x')
                .to_string(),
            None if random.once_in(4) => (0..random.below(60))
                .map(|_| char::from(b"etaoinshrdluETA"[random.below(15)]))
                .collect(),
            None => (*random.pick(&ATOMS)).to_owned(),
        })
        .collect()
}

/// Texts made by hand, runs of every kind, random texts.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "Hello, wörld! <|endoftext|> 你好 12345",
        "it's we'll I'M e'ſ'lLbrr 'tis DON'T o'clock",
        "\n \n",
        "  \u{b}",
        "ⅧV٣03",
        "x = [\n    1,\n\n\n    2]\r\n\r\n",
        "//\n///\r\n /*\n\n/ !\n/",
    ]
    .map(str::to_owned)
    .to_vec();
    for unit in ATOMS {
        for len in [2, 15, 16, 17, 63, 64, 65, 126, 127, 129, 512] {
            texts.push(unit.repeat(len / unit.len()));
            texts.push(format!("x{}y", unit.repeat(len / unit.len())));
        }
    }
    let mut random = Random(11);
    for alphabet in [
        "abcdefghijklmnopqrstuvwxyz",
        "ab",
        "aA",
        "0123456789abcdef",
        "กขคง",
        "漢字日本語的",
        "\u{301}\u{302}a",
    ] {
        let letters: Vec<char> = alphabet.chars().collect();
        texts.extend((0..30).map(|_| {
            let len = 1 + random.below(400);
            (0..len).map(|_| *random.pick(&letters)).collect::<String>()
        }));
    }
    texts.extend((0..3_000).map(|_| text(&mut random, 24)));
    texts
}

/// Without a judge, and so short that Miri can run it: each way through the engine once.
#[test]
fn a_little_of_everything() {
    let text = "it's a WORLD of Words, iPhone 12345 x = [\n    1,\n\n\n    2]\r\n\r\n//\n we'll \u{e9}t\u{e9} 漢字 👍 "
        .to_owned()
        + &"abcdefghijklmnopqrstuvwxyz".repeat(3)
        + " done now and again, and so on";
    for (encoding, tokens) in ENCODINGS.into_iter().zip([44, 48, 91, 95]) {
        // Found out, then remembered.
        assert_eq!([encoding.count(&text), encoding.count(&text)], [tokens; 2]);
        assert_eq!(encoding.count_up_to(&text, tokens - 1), None);
        assert_eq!(encoding.pieces(&text).collect::<String>(), text);
    }
}

#[test]
fn pieces_are_the_text_and_a_count_is_the_sum_of_their_merges() {
    for (encoding, judge) in &*JUDGES {
        for text in texts() {
            let pieces: Vec<&str> = encoding.pieces(&text).collect();
            assert_eq!(pieces.concat(), text, "{encoding:?}");
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            let count = encoding.count(&text);
            assert_eq!(count, judge.merge_all(&pieces), "{encoding:?} {text:?}");
            assert_eq!(count, judge.count(&text), "{encoding:?} {text:?}");
        }
    }
}

#[test]
fn very_long_pieces() {
    let mut random = Random(13);
    for (encoding, judge) in &*JUDGES {
        for unit in ["a", " ", "\n", "=-", "漢", "\u{301}", "é", "ab", "0", "👍"] {
            let text = unit.repeat(100_000 / unit.len());
            assert_eq!(
                encoding.count(&text),
                judge.count(&text),
                "{encoding:?} {unit:?}"
            );
        }
        for letters in [&b"abcdefghijklmnopqrstuvwxyz"[..], b"ACGT", b"aA", b"=-+*"] {
            let text: String = (0..50_000)
                .map(|_| char::from(*random.pick(letters)))
                .collect();
            assert_eq!(
                encoding.count(&text),
                judge.count(&text),
                "{encoding:?} {text}"
            );
        }
    }
}

/// All of the planes in which more than marks are assigned, and some of the others: Python's tests take them all.
#[test]
fn code_points_of_every_kind() {
    let others = ('\u{32400}'..=char::MAX).step_by(61);
    let points: Vec<char> = ('\0'..'\u{32400}').chain(others).collect();
    for (encoding, judge) in &*JUDGES {
        for some in points.chunks(64) {
            let lines: Vec<String> = (some.iter())
                .map(|point| format!("{point}a{point}B 1{point}\n"))
                .collect();
            let text = lines.concat();
            assert_eq!(
                encoding.count(&text),
                judge.count(&text),
                "{encoding:?} {text:?}"
            );
        }
    }
}

/// Nothing, less than a piece, a few pieces, and the size by default: while eight threads count, a ninth changes it.
#[test]
fn neither_memory_nor_threads_change_a_count() {
    const SIZES: [usize; 6] = [0, 1, 100, 600, 20_000, DEFAULT_CACHE_BYTES];
    let texts = texts();
    let expected: Vec<Vec<u64>> = (JUDGES.iter())
        .map(|(_, judge)| texts.iter().map(|text| judge.count(text)).collect())
        .collect();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (texts, expected) = (&texts, &expected);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..4 * texts.len() {
                        let (which, at) =
                            (random.below(ENCODINGS.len()), random.below(texts.len()));
                        let count = ENCODINGS[which].count(&texts[at]);
                        assert_eq!(
                            count, expected[which][at],
                            "{:?} {:?}",
                            ENCODINGS[which], texts[at]
                        );
                    }
                })
            })
            .collect();
        let mut sizes = SIZES.iter().cycle();
        while threads.iter().any(|thread| !thread.is_finished()) {
            set_cache_bytes(*sizes.next().unwrap());
            thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    set_cache_bytes(DEFAULT_CACHE_BYTES);
}

#[test]
fn aliases_count_alike() {
    let mut random = Random(17);
    for _ in 0..500 {
        let text = text(&mut random, 12);
        for (alias, of) in [
            (Encoding::O200kHarmony, Encoding::O200kBase),
            (Encoding::P50kEdit, Encoding::P50kBase),
            (Encoding::Gpt2, Encoding::R50kBase),
        ] {
            assert_eq!(alias.count(&text), of.count(&text), "{alias:?} {text:?}");
        }
    }
}
