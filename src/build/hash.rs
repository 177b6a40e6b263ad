//! Perfect hashing: the pilots and places that [`crate::layout::place`] reads.

use crate::layout::{bucket, place};

/// A place for each of a set of keys.
pub struct Perfect {
    /// A pilot for each bucket.
    pub pilots: Vec<u16>,
    /// For each place the index of the key that lies there.
    pub places: Vec<Option<usize>>,
}

/// Keys in a bucket, on average: more make pilots hard to find, fewer make more pilots.
const BUCKET: usize = 4;

/// Finds the pilots for keys with these hashes, which differ. Expected O(keys).
pub fn perfect(hashes: &[u64]) -> Perfect {
    let count = hashes.len() + hashes.len() / 20 + 8;
    let mut buckets = vec![Vec::new(); hashes.len().div_ceil(BUCKET)];
    for (key, &hash) in hashes.iter().enumerate() {
        buckets[bucket(hash, hashes.len().div_ceil(BUCKET))].push(key);
    }
    // The fullest first, while there is room.
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(buckets[at].len()));
    let mut pilots = vec![0; buckets.len()];
    let mut places = vec![None; count];
    let mut found = Vec::new();
    for at in order {
        let pilot = (0..=u16::MAX).find(|&pilot| {
            found.clear();
            buckets[at].iter().all(|&key| {
                let place = place(hashes[key], pilot, count);
                let free = places[place].is_none() && !found.contains(&place);
                found.push(place);
                free
            })
        });
        pilots[at] = pilot.expect("two keys of a bucket have the same hash");
        for (&key, &place) in buckets[at].iter().zip(&found) {
            places[place] = Some(key);
        }
    }
    Perfect { pilots, places }
}
