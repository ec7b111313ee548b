//! GSSAPI as C sees it (RFC 2744): its types, its constants, and the functions that are looked up in the system's library.

use std::ffi::{c_int, c_void};
use std::ptr;

/// `OM_uint32`.
pub(super) type Word = u32;

/// `gss_buffer_desc`: bytes and their number.
#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
pub(super) struct Buffer {
    pub length: usize,
    pub value: *mut c_void,
}

impl Buffer {
    pub(super) const EMPTY: Self = Self { length: 0, value: ptr::null_mut() };

    /// Describes bytes that the library only reads.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
    }
}

/// `gss_OID_desc`: an object identifier in DER, without tag and length.
#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
pub(super) struct Oid {
    pub length: Word,
    pub elements: *mut c_void,
}

impl Oid {
    pub(super) fn of(identifier: &'static [u8]) -> Self {
        // Every identifier below has fewer than 16 bytes.
        let length = Word::try_from(identifier.len()).unwrap_or_default();
        Self { length, elements: identifier.as_ptr().cast_mut().cast() }
    }
}

/// `gss_OID_set_desc`.
#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
pub(super) struct OidSet {
    pub count: usize,
    pub elements: *mut Oid,
}

/// `gss_channel_bindings_struct`.
#[repr(C)]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(packed(2)))]
pub(super) struct ChannelBindings {
    pub initiator_address_type: Word,
    pub initiator_address: Buffer,
    pub acceptor_address_type: Word,
    pub acceptor_address: Buffer,
    pub application_data: Buffer,
}

/// `gss_name_t`, `gss_cred_id_t` and `gss_ctx_id_t`: pointers to what only the library knows.
pub(super) type Handle = *mut c_void;

/// Kerberos 5, 1.2.840.113554.1.2.2 (RFC 4121).
pub(super) const KERBEROS: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// SPNEGO, 1.3.6.1.5.5.2 (RFC 4178).
pub(super) const SPNEGO: &[u8] = b"\x2b\x06\x01\x05\x05\x02";
/// Names as `service@host`, 1.2.840.113554.1.2.1.4 (RFC 2743, section 4.1).
pub(super) const HOST_BASED_SERVICE: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04";
/// Names as `service/host@REALM`, 1.2.840.113554.1.2.2.1 (RFC 1964, section 2.1.1).
pub(super) const KERBEROS_PRINCIPAL: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";

/// `GSS_C_INITIATE`.
pub(super) const INITIATE: c_int = 1;
/// `GSS_C_ACCEPT`.
pub(super) const ACCEPT: c_int = 2;
/// `GSS_C_MUTUAL_FLAG`: the server proves who it is.
pub(super) const MUTUAL: Word = 2;
/// `GSS_C_INTEG_FLAG`.
pub(super) const INTEGRITY: Word = 32;
/// `GSS_S_CONTINUE_NEEDED`: another token is expected.
pub(super) const CONTINUE_NEEDED: Word = 1;
/// The bits of a status that mean failure: calling errors and routine errors.
pub(super) const FAILURES: Word = 0xFFFF_0000;
/// `GSS_C_GSS_CODE` and `GSS_C_MECH_CODE`: the kinds of status that `gss_display_status` puts into words.
pub(super) const MAJOR_STATUS: c_int = 1;
pub(super) const MINOR_STATUS: c_int = 2;

pub(super) type ImportName = unsafe extern "C" fn(*mut Word, *const Buffer, *const Oid, *mut Handle) -> Word;
pub(super) type CanonicalizeName = unsafe extern "C" fn(*mut Word, Handle, *const Oid, *mut Handle) -> Word;
pub(super) type DisplayName = unsafe extern "C" fn(*mut Word, Handle, *mut Buffer, *mut *mut Oid) -> Word;
pub(super) type ReleaseName = unsafe extern "C" fn(*mut Word, *mut Handle) -> Word;
pub(super) type AcquireCredential = unsafe extern "C" fn(
    *mut Word,
    Handle,
    Word,
    *const OidSet,
    c_int,
    *mut Handle,
    *mut *mut OidSet,
    *mut Word,
) -> Word;
pub(super) type ReleaseCredential = unsafe extern "C" fn(*mut Word, *mut Handle) -> Word;
pub(super) type InitiateContext = unsafe extern "C" fn(
    *mut Word,
    Handle,
    *mut Handle,
    Handle,
    *const Oid,
    Word,
    Word,
    *const ChannelBindings,
    *const Buffer,
    *mut *mut Oid,
    *mut Buffer,
    *mut Word,
    *mut Word,
) -> Word;
pub(super) type AcceptContext = unsafe extern "C" fn(
    *mut Word,
    *mut Handle,
    Handle,
    *const Buffer,
    *const ChannelBindings,
    *mut Handle,
    *mut *mut Oid,
    *mut Buffer,
    *mut Word,
    *mut Word,
    *mut Handle,
) -> Word;
pub(super) type DeleteContext = unsafe extern "C" fn(*mut Word, *mut Handle, *mut Buffer) -> Word;
pub(super) type DisplayStatus =
    unsafe extern "C" fn(*mut Word, Word, c_int, *const Oid, *mut Word, *mut Buffer) -> Word;
pub(super) type ReleaseBuffer = unsafe extern "C" fn(*mut Word, *mut Buffer) -> Word;
