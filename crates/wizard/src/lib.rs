//! The wizard: copies that people make in their browser.
//!
//! It builds the options of one copy. It shows them as a command, saves them as a package and runs them, so these cannot differ.
//!
//! | Module | What it is |
//! |---|---|
//! | [`Draft`] | everything that the pages collect; the copy, its words, and its package |
//! | [`security`] | who may talk to the server: token, cookie, host, origin |
//! | [`server`] | the listener on 127.0.0.1, and when it ends |
//! | [`pages`] | one file a step: what it shows, and what it takes |
//! | [`text`], [`preview`] | what text files look like under choices; the first rows of a copy |
//! | `browse` | files and tables to choose from |
//! | [`running`] | the copy under way |

mod assets;
mod browse;
pub mod draft;
mod errors;
mod form;
pub mod pages;
pub mod preview;
pub mod running;
pub mod security;
pub mod server;
mod source_text;
pub mod text;
mod wizard;

pub use draft::Draft;
pub use server::{Options, ServeError, serve};
pub use wizard::{Engine, Errors, Wizard};
