//! Objects of stores and of web servers, which are read and written like files. The traits say what a store
//! offers; windows ask for bytes ahead of their readers.
//!
//! No network is known here. A program registers the [`ObjectStores`] that it links; the crate `objects` has one.

mod ahead;
mod budget;
mod object_location;
mod uploads;
mod window;

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub(crate) use ahead::Ahead;
pub use object_location::{ObjectLocation, is_object_url, is_web_url, shown_url};
pub(crate) use uploads::{ObjectFolder, Upload, abandon_uploads};
pub(crate) use window::Windows;

/// An object as it was when it was first looked at. Every read asks for that version.
pub trait Object: Debug + Send + Sync {
    /// Returns the length of the object in bytes; `None` if the server does not say.
    fn length(&self) -> Option<u64>;

    /// Returns true if ranges of the object can be read.
    fn has_ranges(&self) -> bool;

    /// Returns a text that distinguishes this version from any other: entity tag, length, time of change.
    /// `None` if the server gives none of them.
    fn fingerprint(&self) -> Option<String>;

    /// Begins to read a range in the background.
    fn begin(&self, range: Range<u64>) -> Box<dyn PendingBytes>;

    /// Reads from the first byte to the last.
    ///
    /// # Errors
    /// The server refuses.
    fn stream(&self) -> io::Result<Box<dyn Read + Send>>;
}

/// A range under way. Dropped, it is given up.
pub trait PendingBytes: Send {
    /// Waits for all of its bytes.
    ///
    /// # Errors
    /// The object has changed, the server refuses, or too many tries in a row have failed.
    fn wait(self: Box<Self>) -> io::Result<Bytes>;
}

/// An object under way to its store. It appears when it is published; dropped, it is given up and its parts are deleted.
pub trait ObjectWriter: Write + Send {
    /// Sends what is left, so that nothing but publishing is missing.
    ///
    /// # Errors
    /// The store refuses a part.
    fn seal(&mut self) -> io::Result<()>;

    /// Publishes the object under its name.
    ///
    /// # Errors
    /// The store refuses, or has such an object already and may not have.
    fn publish(&mut self) -> io::Result<()>;

    /// Deletes the object again after it was published.
    ///
    /// # Errors
    /// The store refuses.
    fn withdraw(&mut self) -> io::Result<()>;

    /// Returns a function that gives the upload up from another thread.
    fn abandon(&self) -> Arc<dyn Fn() + Send + Sync>;
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// URL of the object.
    pub url: String,
    /// Length of the object in bytes.
    pub length: u64,
}

/// The stores that a program can reach.
pub trait ObjectStores: Send + Sync {
    /// Looks at an object.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], or another refusal of the server; the text does not repeat the URL.
    fn open(&self, url: &str) -> io::Result<Arc<dyn Object>>;

    /// Begins an object. `is_new`: there may be none of the name, also when it is published. `in_parts`: it will be sealed long
    /// before it is published.
    ///
    /// # Errors
    /// The URL cannot be written, the server refuses, or there is such an object.
    fn create(&self, url: &str, is_new: bool, in_parts: bool) -> io::Result<Box<dyn ObjectWriter>>;

    /// Lists the objects whose URLs begin with that of a folder, in any order. `max` of them are enough.
    ///
    /// # Errors
    /// The server refuses, or knows no listings.
    fn list(&self, folder: &str, max: usize) -> io::Result<Vec<ListedObject>>;
}

static STORES: OnceLock<Box<dyn ObjectStores>> = OnceLock::new();

/// Makes stores known to this process; the first to be registered stay.
pub fn register(stores: Box<dyn ObjectStores>) {
    // A second registration is that of the same stores: a program and the library in it.
    let _ = STORES.set(stores);
}

/// Returns the stores of this process.
pub(crate) fn stores() -> io::Result<&'static dyn ObjectStores> {
    let missing = || io::Error::new(io::ErrorKind::Unsupported, "this program reads and writes files only");
    STORES.get().map(AsRef::as_ref).ok_or_else(missing)
}

/// Lists the objects whose URLs begin with that of a folder, in any order; `max` of them are enough.
///
/// # Errors
/// The errors of [`ObjectStores::list`].
pub fn list(folder: &str, max: usize) -> io::Result<Vec<ListedObject>> {
    stores()?.list(folder, max)
}
