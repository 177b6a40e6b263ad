//! Any bytes as a request: no panic, and what is sent is JSON again, of the kept bytes and new ones.

#![no_main]

use std::num::NonZeroU64;

use backcut::{Buffers, Cap, Document, Format, Limits, Piece, Task, Thinking, ToolKeep};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, most, cap], body)) = data.split_first_chunk::<3>() else {
        return;
    };
    let keep = [ToolKeep::Head, ToolKeep::Tail, ToolKeep::HeadTail][usize::from(choice) % 3];
    let limits = Limits {
        format: Format::ALL.get(usize::from(choice) % 12).copied(),
        max_chars: NonZeroU64::new(u64::from(most)),
        cap: (cap > 0).then_some(Cap {
            chars: usize::from(cap),
            keep,
        }),
        notice: (choice & 128 == 0).then(|| "[cut]".to_owned()),
        thinking: Thinking::Strip,
        ..Limits::default()
    };
    let task = Task {
        limits: &limits,
        counter: None,
        key: None,
        count_before: false,
    };
    let Ok(trimmed) = task.trim(body, &mut Buffers::default()) else {
        return;
    };
    let Some(pieces) = trimmed.pieces else {
        return;
    };
    let mut sent = Vec::new();
    let mut end = 0;
    for piece in pieces {
        match piece {
            Piece::Kept(span) => {
                // The order of the body, but for joints, which may be copied once more.
                end = end.max(span.end);
                sent.extend_from_slice(&body[span]);
            }
            Piece::New(text) => sent.extend_from_slice(text.as_bytes()),
        }
    }
    assert_eq!(end, body.len());
    let mut buffers = Buffers::default();
    let document = Document::read(&sent, &mut buffers);
    assert!(document.is_ok(), "{}", String::from_utf8_lossy(&sent));
});
