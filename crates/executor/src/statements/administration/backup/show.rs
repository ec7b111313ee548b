//! The result sets of RESTORE HEADERONLY, FILELISTONLY and LABELONLY, column by column as SQL Server has them.

use database_files::{BackupFile, BackupHeader, BackupKind, HeaderFile, Lsn, MediaLabel, Moment};
use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;
use tsql::backup::{Restore, RestoreKind};

use super::calendar;
use super::device::Devices;
use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::statements::administration::dbcc;

/// The columns of RESTORE HEADERONLY of SQL Server 2022.
const HEADER: &[(&str, &str)] = &[
    ("BackupName", "nvarchar(128)"),
    ("BackupDescription", "nvarchar(255)"),
    ("BackupType", "smallint"),
    ("ExpirationDate", "datetime"),
    ("Compressed", "bit"),
    ("Position", "smallint"),
    ("DeviceType", "tinyint"),
    ("UserName", "nvarchar(128)"),
    ("ServerName", "nvarchar(128)"),
    ("DatabaseName", "nvarchar(128)"),
    ("DatabaseVersion", "int"),
    ("DatabaseCreationDate", "datetime"),
    ("BackupSize", "numeric(20,0)"),
    ("FirstLSN", "numeric(25,0)"),
    ("LastLSN", "numeric(25,0)"),
    ("CheckpointLSN", "numeric(25,0)"),
    ("DatabaseBackupLSN", "numeric(25,0)"),
    ("BackupStartDate", "datetime"),
    ("BackupFinishDate", "datetime"),
    ("SortOrder", "smallint"),
    ("CodePage", "smallint"),
    ("UnicodeLocaleId", "int"),
    ("UnicodeComparisonStyle", "int"),
    ("CompatibilityLevel", "tinyint"),
    ("SoftwareVendorId", "int"),
    ("SoftwareVersionMajor", "int"),
    ("SoftwareVersionMinor", "int"),
    ("SoftwareVersionBuild", "int"),
    ("MachineName", "nvarchar(128)"),
    ("Flags", "int"),
    ("BindingID", "guid"),
    ("RecoveryForkID", "guid"),
    ("Collation", "nvarchar(128)"),
    ("FamilyGUID", "guid"),
    ("HasBulkLoggedData", "bit"),
    ("IsSnapshot", "bit"),
    ("IsReadOnly", "bit"),
    ("IsSingleUser", "bit"),
    ("HasBackupChecksums", "bit"),
    ("IsDamaged", "bit"),
    ("BeginsLogChain", "bit"),
    ("HasIncompleteMetaData", "bit"),
    ("IsForceOffline", "bit"),
    ("IsCopyOnly", "bit"),
    ("FirstRecoveryForkID", "guid"),
    ("ForkPointLSN", "numeric(25,0)"),
    ("RecoveryModel", "nvarchar(60)"),
    ("DifferentialBaseLSN", "numeric(25,0)"),
    ("DifferentialBaseGUID", "guid"),
    ("BackupTypeDescription", "nvarchar(60)"),
    ("BackupSetGUID", "guid"),
    ("CompressedBackupSize", "bigint"),
    ("Containment", "tinyint"),
    ("KeyAlgorithm", "nvarchar(32)"),
    ("EncryptorThumbprint", "varbinary(20)"),
    ("EncryptorType", "nvarchar(32)"),
    ("LastValidRestoreTime", "datetime"),
    ("TimeZone", "nvarchar(32)"),
    ("CompressionAlgorithm", "nvarchar(32)"),
];

/// The columns of RESTORE FILELISTONLY.
const FILE_LIST: &[(&str, &str)] = &[
    ("LogicalName", "nvarchar(128)"),
    ("PhysicalName", "nvarchar(260)"),
    ("Type", "char(1)"),
    ("FileGroupName", "nvarchar(128)"),
    ("Size", "numeric(20,0)"),
    ("MaxSize", "numeric(20,0)"),
    ("FileId", "bigint"),
    ("CreateLSN", "numeric(25,0)"),
    ("DropLSN", "numeric(25,0)"),
    ("UniqueId", "guid"),
    ("ReadOnlyLSN", "numeric(25,0)"),
    ("ReadWriteLSN", "numeric(25,0)"),
    ("BackupSizeInBytes", "bigint"),
    ("SourceBlockSize", "int"),
    ("FileGroupId", "int"),
    ("LogGroupGUID", "guid"),
    ("DifferentialBaseLSN", "numeric(25,0)"),
    ("DifferentialBaseGUID", "guid"),
    ("IsReadOnly", "bit"),
    ("IsPresent", "bit"),
    ("TDEThumbprint", "varbinary(32)"),
    ("SnapshotUrl", "nvarchar(360)"),
];

/// The columns of RESTORE LABELONLY.
const LABEL: &[(&str, &str)] = &[
    ("MediaName", "nvarchar(128)"),
    ("MediaSetId", "guid"),
    ("FamilyCount", "int"),
    ("FamilySequenceNumber", "int"),
    ("MediaFamilyId", "guid"),
    ("MediaSequenceNumber", "int"),
    ("MediaLabelPresent", "tinyint"),
    ("MediaDescription", "nvarchar(255)"),
    ("SoftwareName", "nvarchar(128)"),
    ("SoftwareVendorId", "int"),
    ("MediaDate", "datetime"),
    ("MirrorCount", "int"),
    ("IsCompressed", "bit"),
];

/// A disk, as DeviceType numbers it.
const DISK: i64 = 2;
/// The bit of Flags for checksums.
const CHECKSUMS: i64 = 16;
const PAGE_BYTES: i64 = 8192;

/// Sends the result set of a statement. Returns its rows.
pub(super) async fn run(
    session: &mut Session,
    restore: &Restore,
    frame: &Frame,
    output: &mut Output,
) -> Result<u64, SqlError> {
    let devices = Devices::of(session, restore, frame).await?;
    let file = &devices.first()?.file;
    let view = match restore.kind {
        RestoreKind::LabelOnly => label(file.label()),
        RestoreKind::FileListOnly => file_list(devices.header()?),
        _ => headers(file, restore.options.set.as_ref().map(|_| devices.set)),
    };
    let rows = dbcc::rows(session, &view, output).await?;
    Ok(rows.unwrap_or_default())
}

fn int(number: impl Into<i64>) -> Datum {
    Datum::Int(number.into())
}

fn optional_text(text: &str) -> Datum {
    if text.is_empty() { Datum::Null } else { Datum::Text(text.to_owned()) }
}

/// Returns an identity in the order of its text. One of zeros is none.
fn guid(bytes: [u8; 16]) -> Datum {
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    let [i, j, k, l, m, n, o, p] = rest;
    match bytes == [0; 16] {
        true => Datum::Null,
        false => Datum::Guid([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]),
    }
}

fn lsn(lsn: Lsn) -> Datum {
    Datum::Decimal(lsn.number())
}

/// Returns a moment as a datetime; NULL for one that is not in its calendar.
fn moment(moment: Moment) -> Datum {
    calendar::ticks(moment).map_or(Datum::Null, Datum::Moment)
}

/// Makes the rows of RESTORE HEADERONLY: of all sets, or of one.
fn headers(file: &BackupFile, one: Option<usize>) -> View {
    let mut view = View::new(HEADER);
    for (index, header) in file.headers().enumerate() {
        if one.is_none_or(|one| one == index) {
            add_header(&mut view, file.label(), header, index);
            if let Some(own) = file.own(index) {
                // Its pages have no boot page that says it.
                let entry = serde_json::from_str::<serde_json::Value>(&own.entry).unwrap_or_default();
                let model = entry["recovery_model"].as_str().map(|model| Datum::Text(model.to_owned()));
                view.set("RecoveryModel", model.unwrap_or(Datum::Null));
            }
        }
    }
    view
}

fn add_header(view: &mut View, label: &MediaLabel, header: &BackupHeader, index: usize) {
    let (kind, words) = match header.kind {
        BackupKind::Full => (1_i64, "DATABASE"),
        BackupKind::Log => (2, "TRANSACTION LOG"),
        BackupKind::Differential => (5, "DATABASE DIFFERENTIAL"),
    };
    let (major, minor, build) = header.server_version;
    let none = || Datum::Bit(false);
    let is_differential = header.kind == BackupKind::Differential;
    view.add([
        ("BackupName", optional_text(&header.name)),
        ("BackupDescription", optional_text(&header.description)),
        ("BackupType", int(kind)),
        ("ExpirationDate", header.expires.map_or(Datum::Null, moment)),
        ("Compressed", Datum::Bit(header.is_compressed)),
        ("Position", int(index as i64 + 1)),
        ("DeviceType", int(DISK)),
        ("ServerName", optional_text(&header.server)),
        ("DatabaseName", optional_text(&header.database)),
        ("DatabaseVersion", int(header.version)),
        ("DatabaseCreationDate", moment(header.created)),
        ("BackupSize", Datum::Decimal(i128::from(header.size))),
        ("FirstLSN", lsn(header.first_lsn)),
        ("LastLSN", lsn(header.last_lsn)),
        ("CheckpointLSN", lsn(header.checkpoint_lsn)),
        ("DatabaseBackupLSN", lsn(header.base_lsn)),
        ("BackupStartDate", moment(header.begun)),
        ("BackupFinishDate", moment(header.finished)),
        ("SortOrder", int(header.sort_order)),
        ("CodePage", int(0)),
        ("UnicodeLocaleId", int(header.locale)),
        ("UnicodeComparisonStyle", int(header.comparison_style)),
        ("CompatibilityLevel", int(header.compatibility)),
        ("SoftwareVendorId", int(header.vendor)),
        ("SoftwareVersionMajor", int(major)),
        ("SoftwareVersionMinor", int(minor)),
        ("SoftwareVersionBuild", int(build)),
        ("MachineName", optional_text(&header.server)),
        ("Flags", int(if header.has_checksums { CHECKSUMS } else { 0 })),
    ]);
    let rest = [
        ("BindingID", guid(header.binding_id)),
        ("RecoveryForkID", guid(header.recovery_fork_id)),
        ("Collation", header.collation.clone().map_or(Datum::Null, Datum::Text)),
        ("FamilyGUID", guid(header.recovery_fork_id)),
        ("HasBulkLoggedData", none()),
        ("IsSnapshot", none()),
        ("IsReadOnly", none()),
        ("IsSingleUser", none()),
        ("HasBackupChecksums", Datum::Bit(header.has_checksums)),
        ("IsDamaged", none()),
        ("BeginsLogChain", none()),
        ("HasIncompleteMetaData", none()),
        ("IsForceOffline", none()),
        ("IsCopyOnly", Datum::Bit(header.is_copy_only)),
        ("FirstRecoveryForkID", guid(header.recovery_fork_id)),
        ("RecoveryModel", header.recovery_model.map_or(Datum::Null, |text| Datum::Text(text.to_owned()))),
        ("DifferentialBaseLSN", if is_differential { lsn(header.base_lsn) } else { Datum::Null }),
        ("BackupTypeDescription", Datum::Text(words.to_owned())),
        ("BackupSetGUID", guid(header.set_id)),
        ("CompressedBackupSize", int(header.stored_bytes as i64)),
        ("Containment", int(0)),
    ];
    for (name, value) in rest {
        view.set(name, value);
    }
    if label.is_compressed {
        view.set("CompressionAlgorithm", Datum::Text("MS_XPRESS".to_owned()));
    }
}

fn file_list(header: &BackupHeader) -> View {
    let mut view = View::new(FILE_LIST);
    for file in &header.files {
        add_file(&mut view, header, file);
    }
    view
}

fn add_file(view: &mut View, header: &BackupHeader, file: &HeaderFile) {
    let is_differential = header.kind == BackupKind::Differential;
    view.add([
        ("LogicalName", Datum::Text(file.name.clone())),
        ("PhysicalName", Datum::Text(file.path.clone())),
        ("Type", Datum::Text(if file.is_log { "L" } else { "D" }.to_owned())),
        ("FileGroupName", file.group_name.clone().map_or(Datum::Null, Datum::Text)),
        ("Size", Datum::Decimal(i128::from(file.size))),
        ("MaxSize", Datum::Decimal(i128::from(file.size_max))),
        ("FileId", int(file.number)),
        ("CreateLSN", Datum::Decimal(0)),
        ("DropLSN", Datum::Decimal(0)),
        ("UniqueId", Datum::Guid([0; 16])),
        ("ReadOnlyLSN", Datum::Decimal(0)),
        ("ReadWriteLSN", Datum::Decimal(0)),
        ("BackupSizeInBytes", int(i64::from(file.pages) * PAGE_BYTES)),
        ("SourceBlockSize", int(file.sector_bytes)),
        ("FileGroupId", int(file.group)),
        ("DifferentialBaseLSN", if is_differential { lsn(header.base_lsn) } else { Datum::Decimal(0) }),
        ("IsReadOnly", Datum::Bit(false)),
        ("IsPresent", Datum::Bit(true)),
    ]);
}

fn label(label: &MediaLabel) -> View {
    let mut family = [0; 16];
    family.iter_mut().zip(label.family_id.to_be_bytes()).for_each(|(to, from)| *to = from);
    let mut view = View::new(LABEL);
    view.add([
        ("MediaName", optional_text(&label.name)),
        ("MediaSetId", guid(label.set_id)),
        ("FamilyCount", int(label.families)),
        ("FamilySequenceNumber", int(label.family)),
        ("MediaFamilyId", Datum::Guid(family)),
        ("MediaSequenceNumber", int(1)),
        ("MediaLabelPresent", int(i64::from(!label.name.is_empty()))),
        ("MediaDescription", optional_text(&label.description)),
        ("SoftwareName", optional_text(&label.software)),
        ("SoftwareVendorId", int(label.vendor)),
        ("MediaDate", moment(label.date)),
        ("MirrorCount", int(label.mirrors)),
        ("IsCompressed", Datum::Bit(label.is_compressed)),
    ]);
    view
}
