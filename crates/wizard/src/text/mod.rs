//! The look of a text file under the choices that were made for it.
//!
//! | Module | What it is |
//! |---|---|
//! | [`TextFile`] | the head of a file: the only part that is read for a look |
//! | `guess` | the choices that fit a file, and the doubts about them |
//! | `dialect` | choices as options of the reader; what is wrong with them, by field |
//! | [`Look`] | the first rows as cells, odd ones marked |
//! | [`Ruler`] | the first lines as characters at their places, for columns of fixed width |
//! | `fixed_width` | breaks as a format file of bcp, and the columns that it has |
//! | [`Inference`] | the types of the whole file, each with the value that it is owed to |

mod dialect;
mod fixed_width;
mod guess;
mod inference;
mod look;
mod ruler;
mod text_file;

pub use dialect::ChoiceError;
pub use fixed_width::{format_file, names};
pub use guess::{Guess, spelled_encoding};
pub use inference::{DecidedBy, Inference, InferenceState, Inferred, Refused, TypedColumn};
pub use look::{Cell, Look, LookRow, shown};
pub use ruler::{Ruler, RulerLine, Unit};
pub use text_file::{Content, TextFile};
