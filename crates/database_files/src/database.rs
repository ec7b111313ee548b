//! A database in data files or in backups.

use std::collections::BTreeMap;
use std::sync::Arc;

use rows::Form;

use crate::{
    backup::{self, BackupKind, BackupSet, DataStream, Media, place_frames},
    catalogue::{Boot, Rowset, SystemTables, TableRows, UnitPages, Units, modules, tables},
    definition::{Module, Table},
    description::{Description, Origin},
    error::{FileError, Reason, Result, malformed, unsupported},
    image::{FilePages, Image},
    little_endian::u8_at,
    log::{Unfinished, unfinished_pages},
    pages::{HEADER_BYTES, PAGE_BYTES, PageAddress, header_address, kind},
    random_access::ReadAt,
    reading::TableReader,
    records::FixedVar,
    scan::{PagesOfRowset, Scan},
};

/// A database whose pages can be read.
pub struct PagedDatabase {
    image: Arc<Image>,
    units: Units,
    tables: Vec<TableRows>,
    modules: Vec<Module>,
    description: Description,
    unfinished: Unfinished,
    streams: Vec<(Arc<dyn ReadAt>, DataStream)>,
}

impl PagedDatabase {
    /// Opens data files, or the backups of a database: a full one, all its stripes, and at most one differential one that rests on it.
    /// `set` is the number (from 1) of the backup in files that have several.
    ///
    /// # Errors
    /// A file is none of these, is damaged, or another one is missing that belongs to it.
    pub fn open(sources: Vec<Arc<dyn ReadAt>>, set: Option<usize>) -> Result<Self> {
        let name = sources.first().map(|source| source.name().to_owned()).unwrap_or_default();
        let mut backups = Vec::new();
        let mut data_files = Vec::new();
        for source in sources {
            let mut head = [0; 16];
            if source.length() < 2 * PAGE_BYTES as u64 {
                return Err(FileError::new(
                    source.name(),
                    "",
                    malformed("it is too short for a data file or a backup"),
                ));
            }
            source
                .read_exact_at(&mut head, 0)
                .map_err(|error| FileError::io(source.name(), "the head", &error))?;
            match backup::is_backup(&head) {
                true => backups.push(Media::read(backup::open(source)?)?),
                false => data_files.push(source),
            }
        }
        let opened = match (backups.is_empty(), data_files.is_empty()) {
            (false, true) => image_of_backups(&name, backups, set)?,
            (true, false) if set.is_some() => {
                let text = "data files are no backup: the number of one means nothing here".to_owned();
                return Err(FileError::new(&name, "", Reason::Incomplete(text)));
            }
            (true, false) => OpenedFiles {
                image: image_of_files(&name, data_files)?,
                origin: Origin::DataFiles,
                unfinished: Unfinished::none(),
                streams: Vec::new(),
            },
            _ => {
                let reason = Reason::Incomplete("backups and data files are not read together".to_owned());
                return Err(FileError::new(&name, "", reason));
            }
        };
        Self::of_files(opened)
    }

    fn of_files(opened: OpenedFiles) -> Result<Self> {
        let OpenedFiles { image, origin, unfinished, streams } = opened;
        let boot = Boot::read(&image)?;
        if matches!(origin, Origin::DataFiles) && !boot.is_clean {
            let text = "the database was not shut down: its pages may lack what only its log (.ldf) has. \
                        Attach it to a server and detach it, or take a backup";
            return Err(FileError::new(image.name(), "", Reason::Incomplete(text.to_owned())));
        }
        let units = Units::read(&image, boot.allocation_units)?;
        let system = SystemTables::read(&image, &boot, &units)?;
        let of_system = system.pages.iter().copied().chain([PageAddress { file: 1, page: 9 }]);
        if let Some((page, reason)) = unfinished.find(of_system) {
            let text =
                format!("a page of the catalogue is not final: {reason}. A restore would repeat the log");
            return Err(image.error(page, Reason::Incomplete(text)));
        }
        let tables = tables(&system, &boot);
        let modules = modules(&system);
        let description = Description::of(&boot, origin);
        Ok(Self { image: Arc::new(image), units, tables, modules, description, unfinished, streams })
    }

    /// Returns what the files say of the database.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Compares the checksums of the backup's data streams with their bytes, and counts them; 0 if the backup was made without.
    ///
    /// # Errors
    /// One of them does not agree.
    pub fn verify_checksums(&self) -> Result<usize> {
        let mut verified = 0;
        for (source, stream) in &self.streams {
            verified += usize::from(stream.verify(&**source)?);
        }
        Ok(verified)
    }

    /// Returns the tables of users, by name.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.tables.iter().map(|table| &table.table)
    }

    /// Returns views, procedures, functions and triggers.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Begins to read the rows of a table, by its number among [`tables`](Self::tables).
    ///
    /// # Errors
    /// Its rows are not read, or its allocation maps are damaged.
    pub fn read(&self, table: usize, form: Form, batch_rows: usize, threads: usize) -> Result<TableReader> {
        let missing = || FileError::new(self.image.name(), "", malformed("there is no such table"));
        let rows = self.tables.get(table).ok_or_else(missing)?;
        let of_table = |error: FileError| error.of_table(&rows.table.full_name());
        if let Some(reason) = &rows.table.unreadable {
            return Err(of_table(FileError::new(self.image.name(), "", unsupported(reason.clone()))));
        }
        self.check_final(rows).map_err(of_table)?;
        let parts = rows
            .rowsets
            .iter()
            .map(|rowset| self.part(rowset))
            .collect::<Result<Vec<_>>>()
            .map_err(of_table)?;
        Scan::in_pieces(Arc::clone(&self.image), &rows.table, parts, form, batch_rows, threads)
    }

    /// Refuses a table with a page that only the log makes final, among its allocation maps, rows and large values.
    fn check_final(&self, rows: &TableRows) -> Result<()> {
        if self.unfinished.first().is_none() {
            return Ok(());
        }
        for rowset in &rows.rowsets {
            for unit in self.units.of(rowset.id) {
                let (maps, pages) = UnitPages::list_all(&self.image, *unit)?;
                if let Some((page, reason)) = self.unfinished.find(maps.into_iter().chain(pages)) {
                    let text = format!("the page is not final: {reason}. A restore would repeat the log");
                    return Err(self.image.error(page, Reason::Incomplete(text)));
                }
            }
        }
        Ok(())
    }

    fn part(&self, rowset: &Rowset) -> Result<PagesOfRowset> {
        let unit = self.units.of_rows(rowset.id);
        let pages = unit.map(|unit| UnitPages::list(&self.image, unit)).transpose()?.unwrap_or_default();
        Ok(PagesOfRowset { rowset: rowset.clone(), pages })
    }
}

/// The facts of files that are known before their catalogue is read.
struct OpenedFiles {
    image: Image,
    origin: Origin,
    unfinished: Unfinished,
    streams: Vec<(Arc<dyn ReadAt>, DataStream)>,
}

/// Returns the data streams of a backup set with the containers that hold them.
fn streams_of(stripes: &[Media], set: usize) -> Vec<(Arc<dyn ReadAt>, DataStream)> {
    let of_media = |media: &Media| {
        let groups = media.sets.get(set).map(|set| set.data.as_slice()).unwrap_or_default();
        groups.iter().flatten().map(|stream| (Arc::clone(&media.source), *stream)).collect::<Vec<_>>()
    };
    stripes.iter().flat_map(of_media).collect()
}

/// Finds the pages of data files. A log that is among them is left out.
fn image_of_files(name: &str, sources: Vec<Arc<dyn ReadAt>>) -> Result<Image> {
    let mut files = BTreeMap::new();
    let mut kept: Vec<Arc<dyn ReadAt>> = Vec::new();
    let mut database = None;
    for source in sources {
        let mut pages = vec![0; 2 * PAGE_BYTES];
        source
            .read_exact_at(&mut pages, 0)
            .map_err(|error| FileError::io(source.name(), "page 0", &error))?;
        let wrong = |text: &str| FileError::new(source.name(), "", malformed(text));
        let header = header_address(&pages).filter(|address| address.page == 0);
        let header = header.filter(|_| u8_at(&pages, 1) == Some(kind::FILE_HEADER));
        let header = header
            .ok_or_else(|| wrong("it is neither a data file (.mdf, .ndf) nor a backup of SQL Server"))?;
        if u8_at(&pages, PAGE_BYTES + 1) != Some(kind::PFS) {
            continue;
        }
        let binding =
            binding_of(&pages).ok_or_else(|| wrong("its header has no identity of the database"))?;
        if *database.get_or_insert_with(|| binding.clone()) != binding {
            return Err(wrong("it belongs to another database than the files before it"));
        }
        let pages = FilePages::Whole { source: kept.len() as u32 };
        if files.insert(header.file, pages).is_some() {
            return Err(wrong(&format!("file {} of the database is given twice", header.file)));
        }
        kept.push(source);
    }
    match files.contains_key(&1) {
        true => Ok(Image::new(name, kept, files)),
        false => {
            let text = "the first data file (.mdf) is missing".to_owned();
            Err(FileError::new(name, "", Reason::Incomplete(text)))
        }
    }
}

/// Returns the identity that all files of a database have in their headers: the first variable column of the record there.
fn binding_of(header: &[u8]) -> Option<Vec<u8>> {
    let record = FixedVar::parse(header.get(HEADER_BYTES..PAGE_BYTES)?)?;
    let (binding, _) = record.variable(0)?;
    (binding.len() == 16).then(|| binding.to_vec())
}

/// Finds the pages of backups.
fn image_of_backups(name: &str, backups: Vec<Media>, set: Option<usize>) -> Result<OpenedFiles> {
    let groups = media_sets(backups)?;
    let chosen = ChosenBackups::among(&groups, name, set)?;
    let (stripes, index) = chosen.full;
    let mut files = place_frames(stripes, index, 0)?;
    let sources_of = |stripes: &[Media]| -> Vec<Arc<dyn ReadAt>> {
        stripes.iter().map(|media| Arc::clone(&media.source)).collect()
    };
    let mut sources = sources_of(stripes);
    let base = stripes.first().and_then(|media| media.sets.get(index));
    let mut origin = Origin::of_backup(base, sources.len(), false);
    if let Some((later, later_index)) = chosen.differential {
        let set = later.first().and_then(|media| media.sets.get(later_index));
        check_base(later, set, base)?;
        // Both may be in the same files.
        let is_same = std::ptr::eq(later, stripes);
        let first_source = if is_same { 0 } else { sources.len() };
        for (number, pages) in place_frames(later, later_index, first_source)? {
            let merged = match files.remove(&number) {
                Some(earlier) => earlier.overlaid(pages),
                None => pages,
            };
            files.insert(number, merged);
        }
        if !is_same {
            sources.extend(sources_of(later));
        }
        origin = Origin::of_backup(set, sources.len(), true);
    }
    let image = Image::new(name, sources, files);
    let (last, last_index) = chosen.differential.unwrap_or(chosen.full);
    let unfinished = unfinished_pages(&image, last, last_index)?;
    let all = [chosen.full].into_iter().chain(chosen.differential);
    let streams = all.flat_map(|(stripes, index)| streams_of(stripes, index)).collect();
    Ok(OpenedFiles { image, origin, unfinished, streams })
}

/// A backup among media: all its stripes, and its number (from 0) in each of them.
type Chosen<'a> = (&'a [Media], usize);

/// The backups that make a database.
struct ChosenBackups<'a> {
    full: Chosen<'a>,
    differential: Option<Chosen<'a>>,
}

impl<'a> ChosenBackups<'a> {
    /// Chooses a full backup and at most one differential one that rests on it. A differential one finds its full one in the same
    /// file, too.
    fn among(groups: &'a [Vec<Media>], name: &str, set: Option<usize>) -> Result<Self> {
        let (mut full, mut differential): (Option<Chosen<'a>>, Option<Chosen<'a>>) = (None, None);
        for stripes in groups {
            let index = chosen_set(stripes, set, groups.len() == 1)?;
            let Some((media, chosen)) =
                stripes.first().and_then(|media| Some((media, media.sets.get(index)?)))
            else {
                continue;
            };
            let incomplete =
                |text: &str| FileError::new(media.source.name(), "", Reason::Incomplete(text.to_owned()));
            if chosen.own.is_some() {
                let text = "it is a backup of bulkwire's own server without tables that are read here; RESTORE DATABASE of that server reads it";
                return Err(FileError::new(media.source.name(), "", unsupported(text)));
            }
            let place = match (chosen.is_full(), chosen.is_differential()) {
                (true, _) => &mut full,
                (_, true) => &mut differential,
                _ => {
                    return Err(incomplete(
                        "it is a backup of the log, which is read only behind a full one",
                    ));
                }
            };
            if place.is_some() {
                let text = "another backup of the same kind is given: one database at a time is read";
                return Err(incomplete(text));
            }
            *place = Some((stripes.as_slice(), index));
        }
        let in_same_file = || differential.and_then(|(stripes, index)| base_in(stripes, index));
        match full.or_else(in_same_file) {
            Some(full) => Ok(Self { full, differential }),
            None => {
                let text =
                    "a differential backup is read together with the full one that it rests on".to_owned();
                Err(FileError::new(name, "", Reason::Incomplete(text)))
            }
        }
    }
}

/// Finds the full backup that a differential one rests on, before it in the same files.
fn base_in(stripes: &[Media], index: usize) -> Option<Chosen<'_>> {
    let sets = &stripes.first()?.sets;
    let wanted = sets.get(index)?.header.base_lsn;
    let is_base = |set: &BackupSet| set.is_full() && set.header.checkpoint_lsn == wanted;
    let base = sets.get(..index)?.iter().rposition(is_base)?;
    Some((stripes, base))
}

/// Refuses a differential backup of another full one.
fn check_base(later: &[Media], set: Option<&BackupSet>, base: Option<&BackupSet>) -> Result<()> {
    let (Some(set), Some(base), Some(media)) = (set, base, later.first()) else { return Ok(()) };
    match set.header.base_lsn == base.header.checkpoint_lsn {
        true => Ok(()),
        false => {
            let text = format!(
                "the differential backup rests on a full one whose checkpoint is {}, and the given one has {}",
                set.header.base_lsn, base.header.checkpoint_lsn
            );
            Err(FileError::new(media.source.name(), "", Reason::Incomplete(text)))
        }
    }
}

/// Puts the stripes of each media set together, in the order of their numbers.
fn media_sets(backups: Vec<Media>) -> Result<Vec<Vec<Media>>> {
    let mut groups: Vec<Vec<Media>> = Vec::new();
    for media in backups {
        match groups.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.label.set_id == media.label.set_id && first.label.families > 1)
        }) {
            Some(group) => group.push(media),
            None => groups.push(vec![media]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|media| media.label.family);
        let Some(first) = group.first() else { continue };
        let numbers: Vec<u16> = group.iter().map(|media| media.label.family).collect();
        let wanted: Vec<u16> = (1..=first.label.families).collect();
        if numbers != wanted {
            let given = numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let text = format!(
                "it is stripe {given} of {}: every other extent is in the other files of the backup, which must be given too",
                first.label.families
            );
            return Err(FileError::new(first.source.name(), "", Reason::Incomplete(text)));
        }
    }
    Ok(groups)
}

/// Returns the number (from 0) of the backup that is meant. Files with one alone need none; `is_only`: no other files are given.
fn chosen_set(stripes: &[Media], set: Option<usize>, is_only: bool) -> Result<usize> {
    let Some(media) = stripes.first() else { return Ok(0) };
    let count = media.sets.len();
    match (set, count) {
        (None, 1) => Ok(0),
        (Some(_), 1) if !is_only => Ok(0),
        (Some(number), _) if (1..=count).contains(&number) => Ok(number - 1),
        (Some(number), _) => {
            let text = format!("it has {count} backups, and number {number} is asked for");
            Err(FileError::new(media.source.name(), "", Reason::Incomplete(text)))
        }
        (None, _) => {
            let list: Vec<String> = (1..)
                .zip(&media.sets)
                .map(|(number, set)| format!("{number}: {} of {}", kind_of(set), set.header.database))
                .collect();
            let text = format!("it has several backups ({}): say which by its number", list.join("; "));
            Err(FileError::new(media.source.name(), "", Reason::Incomplete(text)))
        }
    }
}

/// Names the kind of a backup.
fn kind_of(set: &BackupSet) -> &'static str {
    match set.header.kind {
        BackupKind::Full => "full",
        BackupKind::Differential => "differential",
        BackupKind::Log => "log",
    }
}

#[cfg(test)]
mod compressed_tables;
#[cfg(test)]
mod real_files;
#[cfg(test)]
mod remade;
