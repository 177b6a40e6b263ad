//! The class of each code point, as far as the patterns of the encodings tell them apart.

use regex_syntax::hir::{Class, HirKind};
use regex_syntax::parse;

use crate::layout::CLASS_BLOCK;

/// The classes, in the order of `tokens::classes::Class`; what is in none of them is the first.
const CLASSES: [&str; 6] = [
    r"[\p{Lu}\p{Lt}]",
    r"\p{Ll}",
    r"[\p{Lm}\p{Lo}]",
    r"\p{M}",
    r"\p{N}",
    r"\s",
];

/// Two tables, one behind the other: for each block of code points the number of its stored block, and the stored blocks, one
/// byte a code point.
pub fn tables() -> Vec<u8> {
    let mut classes = vec![0_u8; 0x11_0000];
    for (pattern, class) in CLASSES.into_iter().zip(1..) {
        let hir = parse(pattern).expect("the pattern is one");
        let HirKind::Class(Class::Unicode(ranges)) = hir.kind() else {
            panic!("{pattern} is no class");
        };
        for range in ranges.ranges() {
            classes[range.start() as usize..=range.end() as usize].fill(class);
        }
    }
    let mut stored: Vec<&[u8]> = Vec::new();
    let mut table: Vec<u8> = classes
        .chunks(CLASS_BLOCK)
        .map(|block| {
            let at = stored.iter().position(|&other| other == block);
            let at = at.unwrap_or_else(|| {
                stored.push(block);
                stored.len() - 1
            });
            u8::try_from(at).expect("some 230 blocks differ")
        })
        .collect();
    table.extend(stored.concat());
    table
}
