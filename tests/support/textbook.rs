//! Counting as the textbook does it: of two neighbours the pair of the lowest rank is merged, until none is a token.

use std::collections::HashMap;

use backcut::Encoding;
use tiktoken_rs::CoreBPE;

/// A vocabulary, and tiktoken-rs as a second judge that has a pattern, too.
pub struct Textbook {
    ranks: HashMap<Vec<u8>, u32>,
    bpe: &'static CoreBPE,
}

impl Textbook {
    /// The judges of an encoding.
    pub fn of(encoding: Encoding) -> Self {
        let bpe = match encoding {
            Encoding::O200kBase | Encoding::O200kHarmony => tiktoken_rs::o200k_base_singleton(),
            Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
            Encoding::P50kBase | Encoding::P50kEdit => tiktoken_rs::p50k_base_singleton(),
            Encoding::R50kBase | Encoding::Gpt2 => tiktoken_rs::r50k_base_singleton(),
        };
        let special = bpe.special_tokens();
        let ranks = (0..200_000)
            .filter_map(|rank| Some((bpe.decode_bytes(&[rank]).ok()?, rank)))
            .filter(|(token, _)| !special.iter().any(|special| special.as_bytes() == token))
            .collect();
        Self { ranks, bpe }
    }

    /// Tokens of a text as tiktoken-rs counts them, pattern and all.
    pub fn count(&self, text: &str) -> u64 {
        self.bpe.encode_ordinary(text).len() as u64
    }

    /// Tokens of pieces. O(bytes^2) for each.
    pub fn merge_all(&self, pieces: &[&str]) -> u64 {
        pieces
            .iter()
            .map(|piece| self.merge(piece.as_bytes()))
            .sum()
    }

    /// Tokens of a piece.
    fn merge(&self, piece: &[u8]) -> u64 {
        if self.ranks.contains_key(piece) {
            return 1;
        }
        let mut starts: Vec<usize> = (0..=piece.len()).collect();
        let rank = |starts: &[usize], at: usize| {
            let (&start, &end) = starts.get(at).zip(starts.get(at + 2))?;
            self.ranks.get(&piece[start..end]).copied()
        };
        let mut ranks: Vec<Option<u32>> = (0..piece.len()).map(|at| rank(&starts, at)).collect();
        let lowest = |ranks: &[Option<u32>]| {
            let found = ranks.iter().enumerate();
            found.filter_map(|(at, rank)| Some(((*rank)?, at))).min()
        };
        while let Some((_, at)) = lowest(&ranks) {
            starts.remove(at + 1);
            ranks.remove(at + 1);
            ranks[at] = rank(&starts, at);
            if at > 0 {
                ranks[at - 1] = rank(&starts, at - 1);
            }
        }
        ranks.len() as u64
    }
}
