//! Objects of S3, Azure, Google and web servers as sources and destinations of loads.
//!
//! The rest of bulkwire is synchronous. This crate has a runtime of its own, in which all requests run, and implements the traits of
//! `formats::objects`; a program makes it known once by [`register`].

mod address;
mod client;
mod credentials;
mod failure;
mod names;
mod patience;
mod profile;
mod runtime;
mod settings;
mod store;
mod stored_object;
mod upload;
mod web_object;

use std::io;
use std::sync::Arc;

use formats::objects::{ListedObject, Object, ObjectStores, ObjectWriter};

use address::{Address, Service};
use stored_object::StoredObject;
use upload::Upload;
use web_object::WebObject;

/// Makes these stores known to the process.
pub fn register() {
    formats::objects::register(Box::new(Stores));
}

/// The stores that this crate reaches.
struct Stores;

impl ObjectStores for Stores {
    fn open(&self, url: &str) -> io::Result<Arc<dyn Object>> {
        let address = Address::parse(url)?;
        if address.service == Service::Web {
            return Ok(Arc::new(WebObject::open(url)?));
        }
        Ok(Arc::new(StoredObject::open(store::of(&address)?, &address.object()?)?))
    }

    fn create(&self, url: &str, is_new: bool, in_parts: bool) -> io::Result<Box<dyn ObjectWriter>> {
        let address = Address::parse(url)?;
        if address.service == Service::Web {
            let text = "web servers are read and not written; write to s3://, az:// or gs://";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Box::new(Upload::begin(store::of(&address)?, address.object()?, is_new, in_parts)?))
    }

    fn list(&self, folder: &str, max: usize) -> io::Result<Vec<ListedObject>> {
        let address = Address::parse(folder)?;
        if address.service == Service::Web {
            let text = "a web server lists no files; name each of them";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        stored_object::list(store::of(&address)?, &address, max)
    }
}
