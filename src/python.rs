//! Glue between the core and Python: nothing here decides anything.

mod body;
mod detached;
mod errors;
mod figures;
mod json;
mod memo;
mod memory;
mod names;
mod result;
mod seen;
mod tokens;
mod value;
mod window;

pub use body::request_field;
pub use figures::figures_of;
pub use memory::{limit_memory, memory_limits};
pub use tokens::Tokenizer;
pub use window::{Window, check, count_messages};
