//! An object of a store, in the version that was found first.

use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use formats::objects::{ListedObject, Object, PendingBytes};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::address::Address;
use crate::failure;
use crate::runtime::{self, Task};
use crate::store::Store;

/// An object whose every range is asked for by its entity tag.
#[derive(Debug)]
pub(crate) struct StoredObject {
    store: Store,
    meta: ObjectMeta,
}

impl StoredObject {
    /// Looks at an object.
    pub(crate) fn open(store: Store, path: &Path) -> io::Result<Self> {
        let (asked, path) = (store.clone(), path.clone());
        let meta = runtime::run(async move {
            let error = match asked.head(&path).await {
                Ok(meta) => return Ok(meta),
                Err(error) => failure::of_store(&error),
            };
            // The answer to a look has no words; that to a read has.
            let is_answer = matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput
            );
            match is_answer {
                true => match asked.get_range(&path, 0..1).await {
                    Err(said) => Err(failure::of_store(&said)),
                    Ok(_) => Err(error),
                },
                false => Err(error),
            }
        })?;
        Ok(Self { store, meta })
    }
}

impl Object for StoredObject {
    fn length(&self) -> Option<u64> {
        Some(self.meta.size)
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn fingerprint(&self) -> Option<String> {
        let ObjectMeta { size, e_tag, version, last_modified, .. } = &self.meta;
        let version = version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
        Some(match e_tag {
            Some(tag) => format!("{size} bytes, tag {tag}{version}"),
            None => format!("{size} bytes, of {}{version}", last_modified.to_rfc3339()),
        })
    }

    fn begin(&self, range: Range<u64>) -> Box<dyn PendingBytes> {
        if range.is_empty() {
            return Box::new(Pending(runtime::spawn(async { Ok(Bytes::new()) })));
        }
        let (store, path) = (self.store.clone(), self.meta.location.clone());
        let options = GetOptions {
            if_match: self.meta.e_tag.clone(),
            if_unmodified_since: self.meta.e_tag.is_none().then_some(self.meta.last_modified),
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let size = self.meta.size;
        Box::new(Pending(runtime::spawn(async move {
            let turn = runtime::ranges()?;
            let _turn = turn.acquire().await.map_err(io::Error::other)?;
            let failed = |error: object_store::Error| failure::of_store(&error);
            let found = store.get_opts(&path, options).await.map_err(failed)?;
            if found.meta.size != size {
                return Err(failure::changed());
            }
            let bytes = found.bytes().await.map_err(failed)?;
            match bytes.len() as u64 == range.end - range.start {
                true => Ok(bytes),
                false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the store sent too few bytes")),
            }
        })))
    }

    fn stream(&self) -> io::Result<Box<dyn Read + Send>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "an object of a store is read by ranges"))
    }
}

/// A range under way.
pub(crate) struct Pending(pub(crate) io::Result<Task<Bytes>>);

impl PendingBytes for Pending {
    fn wait(self: Box<Self>) -> io::Result<Bytes> {
        self.0?.wait()
    }
}

/// Lists the objects of a folder.
pub(crate) fn list(store: Store, address: &Address, max: usize) -> io::Result<Vec<ListedObject>> {
    let folder = address.folder()?;
    let address = address.clone();
    runtime::run(async move {
        let prefix = (!folder.as_ref().is_empty()).then_some(&folder);
        let mut listed = store.list(prefix).take(max);
        let mut found = Vec::new();
        while let Some(meta) = listed.next().await {
            let meta = meta.map_err(|error| failure::of_store(&error))?;
            found.push(ListedObject { url: address.url_of(&meta.location), length: meta.size });
        }
        Ok(found)
    })
}
