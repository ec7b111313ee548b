//! Messages before the first request.

pub mod feature;
pub mod fed_auth;
pub mod login;
pub mod prelogin;
pub mod secret;
pub mod version;
