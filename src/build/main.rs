//! Makes the tables that the engine counts tokens with: vocabularies laid out for look-up, and the classes of code points.
//!
//! Both come from crates: vocabularies from `tiktoken-rs`, which carries `OpenAI`'s files, and Unicode's classes from
//! `regex-syntax`, the very tables that tiktoken's own splitter reads. Nothing is downloaded, here or later.

// A build script may stop with a panic: that is how it tells cargo.
#![allow(clippy::expect_used, clippy::panic)]

mod classes;
mod hash;
#[path = "../tokens/layout.rs"]
#[allow(dead_code, clippy::cast_possible_truncation)]
mod layout;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/build");
    println!("cargo::rerun-if-changed=src/tokens/layout.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    write(&out, "classes", &classes::tables());
    vocabulary::write_all(&out);
}

/// Writes one table. Numbers are little-endian everywhere.
fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("OUT_DIR is writable");
}
