//! Information about the server itself in T-SQL: system views, and functions that know the session, the server or the catalogue.
//!
//! | Room | What it is |
//! |---|---|
//! | [`facts`] | a statement's view of server, session and catalogue |
//! | [`view`] | a table whose rows are made up when it is read |
//! | [`system_views`] | the `sys` and `INFORMATION_SCHEMA` views |
//! | [`functions`] | functions by [`facts::Facts`], such as `OBJECT_ID` and `@@SPID` |

pub mod facts;
pub mod functions;
pub mod system_views;
pub mod view;
