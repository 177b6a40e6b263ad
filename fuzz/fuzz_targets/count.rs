//! Counts are those of two independent judges: the textbook's merge of each piece, and tiktoken-rs, which splits by regex.

#![no_main]

mod input;
#[path = "../../tests/support/textbook.rs"]
mod textbook;

use std::sync::LazyLock;

use backcut::{Encoding, set_cache_bytes};
use libfuzzer_sys::fuzz_target;
use textbook::Textbook;

static JUDGES: LazyLock<[Textbook; Encoding::ALL.len()]> =
    LazyLock::new(|| Encoding::ALL.map(Textbook::of));

fuzz_target!(|data: &[u8]| {
    let Some((limit, cache, encoding, text)) = input::input(data, 512) else {
        return;
    };
    // Seldom nothing is remembered, or next to nothing; else so little that new pieces soon take the place of old ones.
    set_cache_bytes(match cache {
        0..4 => 0,
        4..8 => 600,
        _ => 16 << 10,
    });
    let judge = &JUDGES[encoding as usize];
    let count = encoding.count(&text);
    let pieces: Vec<&str> = encoding.pieces(&text).collect();
    assert_eq!(pieces.concat(), text, "{encoding:?}");
    assert_eq!(count, judge.merge_all(&pieces), "{encoding:?} {text:?}");
    assert_eq!(count, judge.count(&text), "{encoding:?} {text:?}");
    // Near the count, and anywhere below.
    let near = (count + u64::from(limit % 5)).saturating_sub(2);
    for limit in [near, u64::from(limit)] {
        let expected = (count <= limit).then_some(count);
        let found = encoding.count_up_to(&text, limit);
        assert_eq!(found, expected, "{encoding:?} {limit} {text:?}");
    }
});
