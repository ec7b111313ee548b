//! The system's GSSAPI library, opened when a sign-in begins: nothing is linked to it, and a program runs where it is missing.
//!
//! This file alone has `unsafe` code: calls of C functions cannot be had otherwise. Each call gets pointers to values that live
//! until it returns, and every handle is released by its owner's `Drop`.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr;
use std::slice;
use std::sync::{Mutex, PoisonError};

use libloading::Library as Opened;

use super::interface::*;

/// Names of the library, MIT's first: the one that SQL Server's own clients use.
#[cfg(not(target_os = "macos"))]
const NAMES: &[&str] = &["libgssapi_krb5.so.2", "libgssapi.so.3", "libgssapi_krb5.so", "libgssapi.so"];
#[cfg(target_os = "macos")]
const NAMES: &[&str] =
    &["/System/Library/Frameworks/GSS.framework/GSS", "libgssapi_krb5.2.dylib", "libgssapi_krb5.dylib"];

/// The opened library, kept until the process ends: what it has allocated must not outlive it.
static OPENED: Mutex<Option<&'static Library>> = Mutex::new(None);

/// Functions of the library.
pub(super) struct Library {
    import_name: ImportName,
    canonicalize_name: CanonicalizeName,
    display_name: DisplayName,
    release_name: ReleaseName,
    acquire_credential: AcquireCredential,
    release_credential: ReleaseCredential,
    initiate_context: InitiateContext,
    accept_context: AcceptContext,
    delete_context: DeleteContext,
    display_status: DisplayStatus,
    release_buffer: ReleaseBuffer,
}

impl Library {
    /// Opens the library, once in a process. The error says which names were tried and what the system says.
    pub(super) fn open() -> Result<&'static Self, String> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = *opened {
            return Ok(library);
        }
        let mut said = Vec::new();
        for name in NAMES {
            // Safe as far as the library's own initialisers are: it is the system's.
            match unsafe { Opened::new(name) } {
                Ok(library) => {
                    let library: &'static Opened = Box::leak(Box::new(library));
                    let functions = Self::look_up(library)
                        .map_err(|error| format!("{name} is no GSSAPI library: {error}"))?;
                    return Ok(opened.insert(Box::leak(Box::new(functions))));
                }
                Err(error) => said.push(error.to_string()),
            }
        }
        Err(said.join("; "))
    }

    fn look_up(library: &'static Opened) -> Result<Self, libloading::Error> {
        // Each type is that of the function's declaration in RFC 2744.
        unsafe {
            Ok(Self {
                import_name: *library.get::<ImportName>(b"gss_import_name\0")?,
                canonicalize_name: *library.get::<CanonicalizeName>(b"gss_canonicalize_name\0")?,
                display_name: *library.get::<DisplayName>(b"gss_display_name\0")?,
                release_name: *library.get::<ReleaseName>(b"gss_release_name\0")?,
                acquire_credential: *library.get::<AcquireCredential>(b"gss_acquire_cred\0")?,
                release_credential: *library.get::<ReleaseCredential>(b"gss_release_cred\0")?,
                initiate_context: *library.get::<InitiateContext>(b"gss_init_sec_context\0")?,
                accept_context: *library.get::<AcceptContext>(b"gss_accept_sec_context\0")?,
                delete_context: *library.get::<DeleteContext>(b"gss_delete_sec_context\0")?,
                display_status: *library.get::<DisplayStatus>(b"gss_display_status\0")?,
                release_buffer: *library.get::<ReleaseBuffer>(b"gss_release_buffer\0")?,
            })
        }
    }

    /// Takes the bytes out of a buffer that the library has filled, and gives it back.
    fn take(&self, mut buffer: Buffer) -> Vec<u8> {
        let (length, value) = (buffer.length, buffer.value);
        let bytes = match value.is_null() {
            true => Vec::new(),
            false => unsafe { slice::from_raw_parts(value.cast::<u8>(), length) }.to_vec(),
        };
        let mut minor = 0;
        unsafe { (self.release_buffer)(&mut minor, &mut buffer) };
        bytes
    }

    fn check(&self, major: Word, minor: Word) -> Result<(), Error> {
        match major & FAILURES {
            0 => Ok(()),
            _ => Err(Error(self.words(major, minor))),
        }
    }

    /// Puts a status into words: those of GSSAPI, and the mechanism's in brackets.
    fn words(&self, major: Word, minor: Word) -> String {
        let major = self.lines(major, MAJOR_STATUS).concat();
        let minor = self.lines(minor, MINOR_STATUS);
        minor.iter().fold(major, |words, line| format!("{words} ({line})"))
    }

    fn lines(&self, status: Word, kind: c_int) -> Vec<String> {
        let mut lines = Vec::new();
        let mut more = 0;
        loop {
            let (mut minor, mut text) = (0, Buffer::EMPTY);
            let major =
                unsafe { (self.display_status)(&mut minor, status, kind, ptr::null(), &mut more, &mut text) };
            if major & FAILURES != 0 {
                lines.push(format!("unknown status {status:#010x}"));
                return lines;
            }
            lines.push(String::from_utf8_lossy(&self.take(text)).into_owned());
            if more == 0 {
                return lines;
            }
        }
    }
}

/// A failure in the library's words: "major status (minor status)".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error(pub String);

/// A name that the library has parsed.
pub(super) struct Name {
    library: &'static Library,
    handle: Handle,
}

impl Name {
    /// Parses a name of the kind `kind`, an object identifier.
    pub(super) fn new(library: &'static Library, text: &str, kind: &'static [u8]) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, ptr::null_mut());
        let (text, kind) = (Buffer::of(text.as_bytes()), Oid::of(kind));
        let major = unsafe { (library.import_name)(&mut minor, &text, &kind, &mut handle) };
        let name = Self { library, handle };
        library.check(major, minor).map(|()| name)
    }

    /// Returns the name as the mechanism has it: with the host completed, and perhaps the realm.
    pub(super) fn canonical(&self, mechanism: &'static [u8]) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, ptr::null_mut());
        let mechanism = Oid::of(mechanism);
        let major =
            unsafe { (self.library.canonicalize_name)(&mut minor, self.handle, &mechanism, &mut handle) };
        let name = Self { library: self.library, handle };
        self.library.check(major, minor).map(|()| name)
    }

    /// Returns the name as text.
    pub(super) fn text(&self) -> Result<String, Error> {
        let (mut minor, mut text) = (0, Buffer::EMPTY);
        let major =
            unsafe { (self.library.display_name)(&mut minor, self.handle, &mut text, ptr::null_mut()) };
        let text = self.library.take(text);
        self.library.check(major, minor)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        if !self.handle.is_null() {
            unsafe { (self.library.release_name)(&mut minor, &mut self.handle) };
        }
    }
}

/// A ticket, or the keys of a service.
pub(super) struct Credential {
    library: &'static Library,
    handle: Handle,
}

impl Credential {
    /// Finds the credentials of `name`, or else the default ones, for [`INITIATE`] or [`ACCEPT`]. Only
    /// Kerberos is used, bare or inside SPNEGO, and never NTLM.
    pub(super) fn acquire(
        library: &'static Library,
        name: Option<&Name>,
        usage: c_int,
    ) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, ptr::null_mut());
        let name = name.map_or(ptr::null_mut(), |name| name.handle);
        let mut both = [Oid::of(KERBEROS), Oid::of(SPNEGO)];
        let mechanisms = OidSet { count: both.len(), elements: both.as_mut_ptr() };
        let major = unsafe {
            (library.acquire_credential)(
                &mut minor,
                name,
                Word::MAX,
                &mechanisms,
                usage,
                &mut handle,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let credential = Self { library, handle };
        library.check(major, minor).map(|()| credential)
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let mut minor = 0;
        if !self.handle.is_null() {
            unsafe { (self.library.release_credential)(&mut minor, &mut self.handle) };
        }
    }
}

/// The tokens of one sign-in, at either end.
pub(super) struct Context {
    library: &'static Library,
    handle: Handle,
    credential: Credential,
    done: bool,
    flags: Word,
}

impl Context {
    /// Creates a sign-in that has not begun.
    pub(super) fn new(credential: Credential) -> Self {
        Self { library: credential.library, handle: ptr::null_mut(), credential, done: false, flags: 0 }
    }

    /// Returns true if no more tokens are expected.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Returns true if the server has proved who it is.
    pub(super) fn is_mutual(&self) -> bool {
        self.flags & MUTUAL != 0
    }

    /// Takes the server's token (none at first) and returns the next one for `target`, by SPNEGO, as SQL Server's own clients send.
    /// It asks for no delegation: a server gets no ticket to act in the user's name.
    pub(super) fn initiate(
        &mut self,
        target: &Name,
        token: Option<&[u8]>,
        binding: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let (mut minor, mut answer) = (0, Buffer::EMPTY);
        let mechanism = Oid::of(SPNEGO);
        let token = token.map_or(Buffer::EMPTY, Buffer::of);
        let bindings = binding.map(bindings_of);
        let major = unsafe {
            (self.library.initiate_context)(
                &mut minor,
                self.credential.handle,
                &mut self.handle,
                target.handle,
                &mechanism,
                MUTUAL | INTEGRITY,
                0,
                bindings.as_ref().map_or(ptr::null(), ptr::from_ref),
                &token,
                ptr::null_mut(),
                &mut answer,
                &mut self.flags,
                ptr::null_mut(),
            )
        };
        self.finish(major, minor, answer)
    }

    /// Takes a client's token and returns the answer. Once [`is_done`](Self::is_done), also who the client is.
    pub(super) fn accept(
        &mut self,
        token: &[u8],
        binding: Option<&[u8]>,
    ) -> Result<(Option<Vec<u8>>, Option<Name>), Error> {
        let (mut minor, mut answer, mut client) = (0, Buffer::EMPTY, ptr::null_mut());
        let token = Buffer::of(token);
        let bindings = binding.map(bindings_of);
        let major = unsafe {
            (self.library.accept_context)(
                &mut minor,
                &mut self.handle,
                self.credential.handle,
                &token,
                bindings.as_ref().map_or(ptr::null(), ptr::from_ref),
                &mut client,
                ptr::null_mut(),
                &mut answer,
                &mut self.flags,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let client = Name { library: self.library, handle: client };
        let answer = self.finish(major, minor, answer)?;
        Ok((answer, self.done.then_some(client)))
    }

    fn finish(&mut self, major: Word, minor: Word, answer: Buffer) -> Result<Option<Vec<u8>>, Error> {
        let answer = self.library.take(answer);
        self.library.check(major, minor)?;
        self.done = major & CONTINUE_NEEDED == 0;
        Ok((!self.done || !answer.is_empty()).then_some(answer))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        if !self.handle.is_null() {
            unsafe { (self.library.delete_context)(&mut minor, &mut self.handle, ptr::null_mut()) };
        }
    }
}

/// Binds a sign-in to the TLS session that `data` identifies (RFC 5929).
fn bindings_of(data: &[u8]) -> ChannelBindings {
    ChannelBindings {
        initiator_address_type: 0,
        initiator_address: Buffer::EMPTY,
        acceptor_address_type: 0,
        acceptor_address: Buffer::EMPTY,
        application_data: Buffer::of(data),
    }
}
