//! The URL of an object, and the version of it that is read.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::uploads::ObjectFolder;
use super::{ListedObject, Object, stores};

/// Schemes of stores, and of web servers.
const SCHEMES: [&str; 11] =
    ["s3", "s3a", "az", "azure", "abfs", "abfss", "adl", "gs", "gcs", "https", "http"];

/// An object by its URL. Clones share the version that the first look has found: it is read by all of them.
#[derive(Clone)]
pub struct ObjectLocation {
    url: Arc<str>,
    opened: Arc<Mutex<Option<Arc<dyn Object>>>>,
    folder: Option<Arc<ObjectFolder>>,
    is_new: bool,
    listed_length: Option<u64>,
}

impl ObjectLocation {
    /// Names the object of a URL.
    pub fn new(url: &str) -> Self {
        Self { url: url.into(), opened: Arc::default(), folder: None, is_new: false, listed_length: None }
    }

    /// Names an object of a listing.
    pub fn listed(object: &ListedObject) -> Self {
        Self { listed_length: Some(object.length), ..Self::new(&object.url) }
    }

    /// Returns the length in bytes, as a listing or else the object has said.
    pub(crate) fn length(&self) -> Option<u64> {
        self.listed_length.or_else(|| self.open().ok()?.length())
    }

    /// Names an object that is published with the others of its folder.
    pub(crate) fn in_folder(url: &str, folder: Arc<ObjectFolder>) -> Self {
        Self { folder: Some(folder), ..Self::new(url) }
    }

    /// Returns a location whose object must not exist yet when it is written.
    #[must_use]
    pub fn only_new(self) -> Self {
        Self { is_new: true, ..self }
    }

    /// Returns the whole URL, which may hold a signature.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn folder(&self) -> Option<&Arc<ObjectFolder>> {
        self.folder.as_ref()
    }

    pub(crate) fn must_be_new(&self) -> bool {
        self.is_new
    }

    /// Returns the part of the URL that names the object, for suffixes.
    pub fn path(&self) -> &Path {
        Path::new(path_of(&self.url))
    }

    /// Opens the object; a second call returns the same one.
    ///
    /// # Errors
    /// The errors of [`ObjectStores::open`](super::ObjectStores::open).
    pub fn open(&self) -> io::Result<Arc<dyn Object>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = &*opened {
            return Ok(Arc::clone(object));
        }
        let object = stores()?.open(&self.url)?;
        *opened = Some(Arc::clone(&object));
        Ok(object)
    }

    /// Returns true if there is such an object.
    ///
    /// # Errors
    /// The server confirms neither that the object exists nor that it is missing.
    pub fn exists(&self) -> io::Result<bool> {
        match self.open() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for ObjectLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_url(&self.url))
    }
}

impl fmt::Debug for ObjectLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectLocation({self})")
    }
}

/// Returns true if a text is the URL of an object, by its scheme.
pub fn is_object_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| SCHEMES.iter().any(|s| s.eq_ignore_ascii_case(scheme)))
}

/// Returns true if a text is the URL of a web server, which lists nothing and where `*` is a character as any
/// other.
pub fn is_web_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http"))
}

/// Returns a URL as it is shown: without a password, and without the query, which may hold a signature. Any
/// other text is shown as it is.
pub fn shown_url(text: &str) -> String {
    if !is_web_url(text) {
        return text.to_owned();
    }
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let (place, query) = match rest.find(['?', '#']) {
        Some(at) => (rest.get(..at).unwrap_or_default(), "?..."),
        None => (rest, ""),
    };
    let (authority, path) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
}

/// Returns the part of a URL behind the host or the bucket.
fn path_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = match is_web_url(url) {
        true => rest.split(['?', '#']).next().unwrap_or_default(),
        false => rest,
    };
    rest.split_once('/').map_or("", |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_objects_are_told_from_paths() {
        for text in
            ["s3://b/k", "S3://b/k", "abfss://c@a.dfs.core.windows.net/k", "https://h/p?x=1", "gs://b"]
        {
            assert!(is_object_url(text), "{text}");
        }
        for text in ["orders.csv", "C:\\a.csv", "s3:/b/k", "mssql://h/db", "file:///a", "-", "a://b"] {
            assert!(!is_object_url(text), "{text}");
        }
    }

    #[test]
    fn what_is_shown_of_a_url_is_no_secret() {
        for (url, shown) in [
            ("https://u:pw@h:1/a/b.csv?sig=x#y", "https://h:1/a/b.csv?..."),
            ("https://h/a@b.csv", "https://h/a@b.csv"),
            ("HTTP://u@h", "HTTP://h"),
            ("s3://b/what?.csv", "s3://b/what?.csv"),
            ("az://container@account/k", "az://container@account/k"),
        ] {
            assert_eq!(shown_url(url), shown, "{url}");
        }
    }

    #[test]
    fn the_suffix_stands_in_the_path() {
        for (url, path) in [
            ("https://h/a/b.csv.gz?sig=x.parquet", "a/b.csv.gz"),
            ("s3://b/d/k.parquet", "d/k.parquet"),
            ("s3://b", ""),
            ("s3://b/a?c.csv", "a?c.csv"),
        ] {
            assert_eq!(ObjectLocation::new(url).path(), Path::new(path), "{url}");
        }
    }
}
