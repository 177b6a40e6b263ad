//! The tables of each vocabulary.

use std::collections::HashMap;
use std::path::Path;

use tiktoken_rs::CoreBPE;

use crate::hash::{Perfect, perfect};
use crate::layout::{
    CROSSING_BITS, ID_BITS, LONGEST, NO_ID, SHORT, byte_bit, crossing_bit, hash_long, hash_pair,
    hash_short, pair, short,
};
use crate::write;

/// Writes the tables of all vocabularies.
pub fn write_all(folder: &Path) {
    let load = |bpe: Result<CoreBPE, _>| bpe.expect("tiktoken-rs carries its vocabularies");
    for (name, bpe) in [
        ("o200k", load(tiktoken_rs::o200k_base())),
        ("cl100k", load(tiktoken_rs::cl100k_base())),
        ("p50k", load(tiktoken_rs::p50k_base())),
        ("r50k", load(tiktoken_rs::r50k_base())),
    ] {
        write_tables(folder, name, &tokens(&bpe));
    }
}

/// The ordinary tokens, by id.
fn tokens(bpe: &CoreBPE) -> HashMap<Vec<u8>, u32> {
    let special = bpe.special_tokens();
    let special = |token: &[u8]| special.iter().any(|special| special.as_bytes() == token);
    (0..1 << ID_BITS)
        .filter_map(|id| Some((bpe.decode_bytes(&[id]).ok()?, id)))
        .filter(|(token, _)| !special(token))
        .collect()
}

fn write_tables(folder: &Path, name: &str, tokens: &HashMap<Vec<u8>, u32>) {
    let mut sorted: Vec<(&[u8], u32)> =
        tokens.iter().map(|(token, &id)| (&token[..], id)).collect();
    sorted.sort_unstable_by_key(|&(_, id)| id);
    assert!(sorted.iter().all(|(token, _)| token.len() <= LONGEST));
    let write = |table: &str, bytes: &[u8]| write(folder, &format!("{name}.{table}"), bytes);
    let write_perfect = |table: &str, hashes: &[u64], place: &dyn Fn(Option<usize>) -> Vec<u8>| {
        let Perfect { pilots, places } = perfect(hashes);
        let pilots: Vec<u8> = pilots.into_iter().flat_map(u16::to_le_bytes).collect();
        let places: Vec<u8> = places.into_iter().flat_map(place).collect();
        write(&format!("{table}.pilots"), &pilots);
        write(&format!("{table}.places"), &places);
    };

    let is_short = |token: &&[u8]| token.len() <= SHORT;
    let (texts, long): (Vec<&[u8]>, Vec<&[u8]>) =
        sorted.iter().map(|&(token, _)| token).partition(is_short);

    let keys: Vec<u128> = texts.into_iter().map(short).collect();
    let hashes: Vec<u64> = keys.iter().map(|&key| hash_short(key)).collect();
    let key = |at: Option<usize>| at.map_or(0, |at| keys[at]).to_le_bytes().to_vec();
    write_perfect("short", &hashes, &key);

    // A place holds where the token's text begins, and its length in the lowest byte.
    let hashes: Vec<u64> = long.iter().map(|token| hash_long(token)).collect();
    let begins: Vec<usize> = long
        .iter()
        .scan(0, |end, token| {
            *end += token.len();
            Some(*end - token.len())
        })
        .collect();
    let span = |at: Option<usize>| at.map_or(0, |at| begins[at] << 8 | long[at].len());
    let span = |at| u32::try_from(span(at)).expect("long tokens have some 200 KB");
    write_perfect("long", &hashes, &|at| span(at).to_le_bytes().to_vec());
    write("long.texts", &long.concat());

    let merges: Vec<(u64, u32)> = sorted
        .iter()
        .filter_map(|&(token, id)| Some((last_merge(token, id, tokens)?, id)))
        .collect();
    // The engine cuts pieces and takes a part that is a token for one: that holds where merging leads to every token.
    let bytes = sorted.iter().filter(|(token, _)| token.len() == 1).count();
    assert_eq!(
        merges.len() + bytes,
        sorted.len(),
        "a token of {name} is not merged"
    );
    let hashes: Vec<u64> = merges.iter().map(|&(pair, _)| hash_pair(pair)).collect();
    let merge = |at: usize| merges[at].0 | u64::from(merges[at].1) << (2 * ID_BITS);
    let merge = |at: Option<usize>| at.map_or(0, merge).to_le_bytes().to_vec();
    write_perfect("pairs", &hashes, &merge);

    write_crossings(folder, name, tokens);

    let id = |text: &[u8]| tokens.get(text).copied().unwrap_or(NO_ID).to_le_bytes();
    let bytes: Vec<u8> = (0..=u8::MAX).flat_map(|a| id(&[a])).collect();
    write("bytes", &bytes);
    let two = (0..=u8::MAX).flat_map(|a| (0..=u8::MAX).map(move |b| [a, b]));
    let bigrams: Vec<u8> = two.flat_map(|two| id(&two)).collect();
    write("bigrams", &bigrams);
}

/// Writes which code points may be neighbours inside of a token, as far as not both are ASCII: between all others a text may be
/// cut and merged in two. Pairs of whole code points are bits by their hash. Where a token begins or ends within a code point,
/// the bytes on both sides stand for all code points that have them.
fn write_crossings(folder: &Path, name: &str, tokens: &HashMap<Vec<u8>, u32>) {
    let mut chars = vec![0_u64; CROSSING_BITS / 64];
    let mut bytes = vec![0_u64; 1 << 16 >> 6];
    let is_whole = |part: &[u8]| std::str::from_utf8(part).is_ok();
    let number = |part: &[u8]| part.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b));
    for token in tokens.keys() {
        let parts: Vec<&[u8]> = token
            .chunk_by(|_, &byte| (0x80..0xC0).contains(&byte))
            .collect();
        for two in parts.windows(2) {
            let (left, right) = (two[0], two[1]);
            if left.is_ascii() && right.is_ascii() {
                continue;
            }
            let last = left[left.len() - 1];
            let (table, (word, bit)) = if is_whole(left) && is_whole(right) {
                (&mut chars, crossing_bit(number(left), number(right)))
            } else {
                (&mut bytes, byte_bit(last, right[0]))
            };
            table[word] |= 1 << bit;
        }
    }
    for (table, bits) in [("crossings.chars", chars), ("crossings.bytes", bytes)] {
        let bits: Vec<u8> = bits.into_iter().flat_map(u64::to_le_bytes).collect();
        write(folder, &format!("{name}.{table}"), &bits);
    }
}

/// The pair whose merge makes this token: the one pair that is ever merged into it. Merges inside a span that no merge crosses
/// are those of the span alone, so where two neighbours become this token anywhere, they are what the token's own text is
/// merged into last. `None` for single bytes, and where merging the text does not lead to the token.
fn last_merge(token: &[u8], id: u32, tokens: &HashMap<Vec<u8>, u32>) -> Option<u64> {
    let mut starts: Vec<usize> = (0..=token.len()).collect();
    while starts.len() > 3 {
        let merged = |at: usize| tokens.get(&token[starts[at]..starts[at + 2]]).copied();
        let (_, at) = (0..starts.len() - 2)
            .filter_map(|at| Some((merged(at).filter(|&merged| merged < id)?, at)))
            .min()?;
        starts.remove(at + 1);
    }
    let &[start, middle, end] = &starts[..] else {
        return None;
    };
    Some(pair(
        *tokens.get(&token[start..middle])?,
        *tokens.get(&token[middle..end])?,
    ))
}
