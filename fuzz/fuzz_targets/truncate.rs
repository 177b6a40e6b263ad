//! What is kept of a text is its longest piece within the limit, among all that break no grapheme cluster.

#![no_main]

mod input;

use std::convert::Infallible;

use backcut::{Keep, truncate};
use libfuzzer_sys::fuzz_target;
use unicode_segmentation::UnicodeSegmentation;

fuzz_target!(|data: &[u8]| {
    let Some((limit, keep, encoding, text)) = input::input(data, 192) else {
        return;
    };
    let keep = [Keep::Head, Keep::Tail][usize::from(keep % 2)];
    let piece = |at: usize| match keep {
        Keep::Head => &text[..at],
        Keep::Tail => &text[at..],
    };
    // Small limits, and those near the count.
    let limit = match limit {
        0..128 => u64::from(limit),
        _ => encoding.count(&text).saturating_sub(u64::from(limit - 128)),
    };
    let edges = text.grapheme_indices(true).map(|(at, _)| at);
    let longest = edges
        .chain([text.len()])
        .filter(|&at| encoding.count(piece(at)) <= limit)
        .max_by_key(|&at| piece(at).len());
    let Ok(at) = truncate(&text, limit, keep, true, |piece| {
        Ok::<_, Infallible>(encoding.count(piece))
    });
    assert_eq!(Some(at), longest, "{encoding:?} {keep:?} {limit} {text:?}");
});
