//! URLs of objects: which service, which bucket or container, which key.

use std::io;

use object_store::path::Path;

/// Kind of store that keeps an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    S3,
    Azure,
    Google,
    Web,
}

/// A URL in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) service: Service,
    /// Scheme and bucket or container, as the service's own libraries spell them: `s3://bucket`.
    pub(crate) root: String,
    /// Scheme and bucket as they were given.
    given_root: String,
    /// Key of the object: the part of the URL behind the bucket, not decoded.
    key: String,
}

impl Address {
    /// Reads a URL.
    pub(crate) fn parse(url: &str) -> io::Result<Self> {
        let refused = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refused("a URL is expected".to_owned()))?;
        let (service, scheme) = match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => (Service::S3, "s3"),
            "gs" | "gcs" => (Service::Google, "gs"),
            "az" | "azure" | "adl" => (Service::Azure, "az"),
            "abfs" | "abfss" => (Service::Azure, "abfss"),
            "https" => (Service::Web, "https"),
            "http" => (Service::Web, "http"),
            other => return Err(refused(format!("{other}:// is not understood"))),
        };
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        if place.is_empty() {
            let what = match service {
                Service::S3 | Service::Google => "bucket",
                Service::Azure => "container",
                Service::Web => "host",
            };
            return Err(refused(format!("the URL names no {what}")));
        }
        let given = url.get(..url.len() - rest.len() + place.len()).unwrap_or_default();
        Ok(Self {
            service,
            root: format!("{scheme}://{place}"),
            given_root: given.to_owned(),
            key: key.to_owned(),
        })
    }

    /// Returns the key of an object.
    pub(crate) fn object(&self) -> io::Result<Path> {
        if self.key.is_empty() || self.key.ends_with('/') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the URL names no object, but a bucket or a folder",
            ));
        }
        self.path()
    }

    /// Returns the key of a folder; the root's is empty.
    pub(crate) fn folder(&self) -> io::Result<Path> {
        self.path()
    }

    fn path(&self) -> io::Result<Path> {
        let parsed = Path::parse(self.key.strip_suffix('/').unwrap_or(&self.key)).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("the key cannot be used: {error}"))
        })?;
        // A slash at the beginning would be dropped, and another object be named.
        match self.key.starts_with('/') {
            true => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the key cannot be used: it begins with a slash",
            )),
            false => Ok(parsed),
        }
    }

    /// Returns the URL of another object of the same store.
    pub(crate) fn url_of(&self, path: &Path) -> String {
        format!("{}/{path}", self.given_root)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn urls_are_read() {
        for (url, service, root, key) in [
            ("s3://b/dir/k.csv", Service::S3, "s3://b", "dir/k.csv"),
            ("S3A://b/k", Service::S3, "s3://b", "k"),
            ("s3://b/a b%20?c.csv", Service::S3, "s3://b", "a b%20?c.csv"),
            ("gs://b/k", Service::Google, "gs://b", "k"),
            ("az://c/k", Service::Azure, "az://c", "k"),
            (
                "abfss://c@a.dfs.core.windows.net/d/k",
                Service::Azure,
                "abfss://c@a.dfs.core.windows.net",
                "d/k",
            ),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.service, address.root.as_str()), (service, root), "{url}");
            let object = address.object().unwrap();
            assert_eq!(object.as_ref(), key, "{url}");
            assert_eq!(address.url_of(&object), url);
        }
    }

    #[test]
    fn what_names_no_object_is_refused() {
        for (url, part) in [
            ("s3://", "names no bucket"),
            ("az:///k", "names no container"),
            ("https:///k", "names no host"),
            ("s3://b", "names no object"),
            ("s3://b/dir/", "names no object"),
            ("s3://b//k", "cannot be used"),
            ("s3://b/a//k", "cannot be used"),
            ("s3://b/../k", "cannot be used"),
            ("ftp://h/k", "ftp:// is not understood"),
        ] {
            let error = Address::parse(url).and_then(|address| address.object()).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
        assert_eq!(Address::parse("s3://b/d/").unwrap().folder().unwrap().as_ref(), "d");
        assert_eq!(Address::parse("s3://b").unwrap().folder().unwrap().as_ref(), "");
    }
}
