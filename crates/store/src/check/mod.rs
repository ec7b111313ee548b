//! A structural check: every page of every table, every map, every pointer, and that they agree (what DBCC CHECKDB does).

pub(crate) mod finding;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use crate::catalogue::Table;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::heap::large::{self, FragmentSource, LargeValueReader};
use crate::page::maps;
use crate::page::unit::UnitKind;
use crate::page::{
    CAPACITY_BYTES, EXTENT_PAGES, ExtentId, Page, PageId, PageType, RowId, SLOT_BYTES, UnitId,
    information_bytes,
};
use crate::record::compress::{Compression, PageInformation};
use crate::record::layout::Layout;
use crate::record::stored::{PageRows, StoredRow};
use crate::record::{self, BoundBatch, RecordType, RowGatherer, no_large_values, record_type};
use crate::tree;
use finding::{Finding, FindingKind};

/// Entries of an index in no order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entries {
    count: u64,
    sum: u64,
}

impl Entries {
    fn add(&mut self, record: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(record);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Checks everything. The caller holds every table alone.
pub(crate) fn check(shared: &Shared, tables: &[Arc<Table>]) -> Result<Vec<Finding>, EngineError> {
    let mut check = Check::new(shared);
    for table in tables {
        check.table(table);
    }
    check.maps()?;
    Ok(check.findings)
}

/// Checks one table. The caller keeps others from changing it.
pub(crate) fn check_table(shared: &Shared, table: &Table) -> Vec<Finding> {
    let mut check = Check::new(shared);
    check.table(table);
    check.findings
}

struct Check<'a> {
    shared: &'a Shared,
    findings: Vec<Finding>,
    /// Owner of each extent, as findings name it.
    owners: BTreeMap<ExtentId, String>,
    /// The unit that is being checked.
    unit: Option<UnitId>,
}

impl FragmentSource for Check<'_> {
    fn page(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        self.shared.pager.cache.read(id)
    }
}

/// Returns the kind of a finding: a failure to read belongs to the page that could not be read, else
/// `otherwise`.
fn kind_of(error: &EngineError, otherwise: FindingKind) -> FindingKind {
    match error {
        EngineError::DamagedPage { .. } | EngineError::Io { .. } => FindingKind::UnreadablePage,
        _ => otherwise,
    }
}

impl<'a> Check<'a> {
    fn new(shared: &'a Shared) -> Self {
        Check { shared, findings: Vec::new(), owners: BTreeMap::new(), unit: None }
    }

    fn find(&mut self, kind: FindingKind, table: Option<&str>, page: PageId, reason: impl Into<String>) {
        self.find_in(kind, table, page, None, reason);
    }

    fn find_in(
        &mut self,
        kind: FindingKind,
        table: Option<&str>,
        page: PageId,
        slot: Option<u16>,
        reason: impl Into<String>,
    ) {
        let unit = self.unit.filter(|_| table.is_some());
        let table = table.map(str::to_owned);
        self.findings.push(Finding { kind, table, unit, page, slot, reason: reason.into() });
    }

    fn table(&mut self, table: &Table) {
        let mut rows = 0_u64;
        let mut stubs: BTreeMap<RowId, RowId> = BTreeMap::new();
        let mut forwarded: BTreeMap<RowId, RowId> = BTreeMap::new();
        let mut pointers: Vec<(PageId, Vec<u8>)> = Vec::new();
        let mut fragments: BTreeSet<RowId> = BTreeSet::new();
        for kind in table.unit_kinds() {
            self.unit = Some(table.unit(kind).id);
            for extent in table.unit(kind).extents.iter() {
                let group = self.shared.pager.files.file(extent.extent.file).map(|file| file.group);
                if group.ok() != Some(table.unit(kind).group) {
                    let reason = format!("an extent outside of file group {}", table.unit(kind).group);
                    self.find(FindingKind::Allocation, Some(&table.name), extent.extent.page(0), reason);
                }
                if let Some(other) = self.owners.insert(extent.extent, table.name.to_string()) {
                    self.find(
                        FindingKind::Allocation,
                        Some(&table.name),
                        extent.extent.page(0),
                        format!("the extent is also {other}'s"),
                    );
                }
                for id in extent.pages() {
                    let Some(page) = self.unit_page(table, kind, id) else { continue };
                    for (slot, row) in page.rows() {
                        let address = RowId { page: id, slot };
                        match row.first().and_then(|status| record_type(*status)) {
                            Some(RecordType::ForwardingStub) => {
                                stubs.extend(record::stub_target(row).map(|target| (address, target)));
                                continue;
                            }
                            Some(RecordType::Forwarded) => {
                                forwarded.extend(record::forwarded_from(row).map(|home| (address, home)));
                            }
                            Some(RecordType::Index) => continue,
                            Some(RecordType::Fragment) => {
                                fragments.insert(address);
                                continue;
                            }
                            _ => {}
                        }
                        rows += 1;
                        pointers
                            .extend(record::pointers(row).into_iter().map(|pointer| (id, pointer.to_vec())));
                    }
                }
            }
        }
        self.unit = Some(table.unit(UnitKind::InRow).id);
        for (home, target) in &stubs {
            if forwarded.remove(target) != Some(*home) {
                self.find_in(
                    FindingKind::ForwardingStub,
                    Some(&table.name),
                    home.page,
                    Some(home.slot),
                    format!("slot {} leads to no row of its own", home.slot),
                );
            }
        }
        for address in forwarded.keys() {
            let reason = format!("nothing leads to slot {}", address.slot);
            let (page, slot) = (address.page, Some(address.slot));
            self.find_in(FindingKind::ForwardedRow, Some(&table.name), page, slot, reason);
        }
        for (page, pointer) in pointers {
            match large::fragments(self, &pointer) {
                Ok(used) => {
                    for fragment in used {
                        if !fragments.remove(&fragment) {
                            let reason = format!("a value's fragment {fragment:?} is used twice or missing");
                            self.find(FindingKind::OffRow, Some(&table.name), page, reason);
                        }
                    }
                }
                Err(error) => {
                    let kind = kind_of(&error, FindingKind::OffRow);
                    self.find(kind, Some(&table.name), page, error.to_string());
                }
            }
        }
        for fragment in fragments {
            self.find_in(
                FindingKind::OffRow,
                Some(&table.name),
                fragment.page,
                Some(fragment.slot),
                format!("no value has the fragment in slot {}", fragment.slot),
            );
        }
        for kind in table.unit_kinds() {
            let Some(tree) = table.tree(kind) else { continue };
            self.unit = Some(table.unit(kind).id);
            match tree::check(tree, |id| self.shared.pager.cache.read(id)) {
                Ok(found) if found == table.unit(kind).pages() => {}
                Ok(found) => self.find(
                    FindingKind::Tree,
                    Some(&table.name),
                    tree.root,
                    format!("the tree has {found} pages, its maps more or less"),
                ),
                Err(error) => {
                    let kind = kind_of(&error, FindingKind::Tree);
                    self.find(kind, Some(&table.name), tree.root, error.to_string());
                }
            }
        }
        self.unit = Some(table.unit(UnitKind::InRow).id);
        if !table.indexes.is_empty()
            && let Err(error) = self.indexes(table)
        {
            let first = table.unit(UnitKind::InRow).first_iam;
            let reason = format!("its indexes cannot be checked: {error}");
            self.find(kind_of(&error, FindingKind::IndexEntries), Some(&table.name), first, reason);
        }
        // Rows of a page that cannot be read cannot be counted.
        let lost = |finding: &Finding| {
            matches!(finding.kind, FindingKind::UnreadablePage | FindingKind::ForeignPage)
                && finding.table.as_deref() == Some(&table.name)
        };
        if rows != table.rows && !self.findings.iter().any(lost) {
            let first = table.unit(UnitKind::InRow).first_iam;
            let reason = format!("{rows} rows, the catalogue says {}", table.rows);
            self.find(FindingKind::RowCount, Some(&table.name), first, reason);
        }
    }

    /// Checks that every row has its entry in every index, and that no entry is without a row: numbers and
    /// sums over all bytes of entries are equal.
    fn indexes(&mut self, table: &Table) -> Result<(), EngineError> {
        let mut expected = vec![Entries::default(); table.indexes.len()];
        let columns: Vec<usize> = (0..table.layout.columns.len()).collect();
        for id in table.unit(UnitKind::InRow).extents.iter().flat_map(|extent| extent.pages()) {
            let page = self.shared.pager.cache.read(id)?;
            if page.page_type() != Some(PageType::Data) {
                continue;
            }
            let mut gatherer = RowGatherer::new(&table.layout);
            gatherer.push_page(&page)?;
            let addresses = gatherer.addresses();
            let batch = gatherer.finish(&columns, &LargeValueReader { source: &*self })?;
            for (index, expected) in table.indexes.iter().zip(&mut expected) {
                let column = |column: usize| batch.columns().get(column).cloned();
                let rows = index.rows_of(column, &addresses, batch.num_rows())?;
                let bound = BoundBatch::new(&index.tree.layout, &rows, &mut no_large_values())?;
                (0..bound.rows()).for_each(|row| expected.add(&bound.record(row)));
            }
        }
        for (index, expected) in table.indexes.iter().zip(expected) {
            let mut found = Entries::default();
            for id in index.unit.extents.iter().flat_map(|extent| extent.pages()) {
                let page = self.shared.pager.cache.read(id)?;
                if page.level() > 0 {
                    continue;
                }
                let unreadable = || tree::damaged(id, "a row cannot be read");
                let rows = PageRows::new(&page).ok_or_else(unreadable)?;
                for slot in 0..page.slot_count() {
                    let record = rows.row(slot).and_then(StoredRow::record);
                    found.add(&record.ok_or_else(unreadable)?);
                }
            }
            if found != expected {
                let (name, found, expected) = (index.name(), found.count, expected.count);
                let reason =
                    format!("index {name:?} has {found} entries for {expected} rows, or others than theirs");
                self.unit = Some(index.unit.id);
                self.find(FindingKind::IndexEntries, Some(&table.name), index.tree.root, reason);
            }
        }
        Ok(())
    }

    /// Checks one page of a table: its header, its space, its rows, its PFS entry.
    fn unit_page(&mut self, table: &Table, kind: UnitKind, id: PageId) -> Option<Arc<Page>> {
        let unit = table.unit(kind).id;
        let name = Some(&*table.name);
        let page = match self.shared.pager.cache.read(id) {
            Ok(page) => page,
            Err(error) => {
                self.find(kind_of(&error, FindingKind::UnreadablePage), name, id, error.to_string());
                return None;
            }
        };
        let fits_unit = match (kind, page.page_type()) {
            (UnitKind::InRow, Some(PageType::Index)) => table.clustered.is_some(),
            (UnitKind::InRow, page_type) => page_type == Some(PageType::Data),
            (UnitKind::Index(_), page_type) => page_type == Some(PageType::Index),
            (_, page_type) => matches!(page_type, Some(PageType::TextMix | PageType::TextTree)),
        };
        if !fits_unit || page.unit() != unit {
            let reason = format!("a page of type {:?} of unit {:?}", page.page_type(), page.unit());
            self.find(FindingKind::ForeignPage, name, id, reason);
            return None;
        }
        let mut places: Vec<(usize, usize)> = Vec::new();
        for slot in 0..page.slot_count() {
            match (page.row_offset(slot), page.row(slot)) {
                (Some(offset), Some(row)) => places.push((offset, row.len())),
                (Some(_), None) => {
                    let reason = format!("slot {slot} leads to no record");
                    self.find_in(FindingKind::PageLayout, name, id, Some(slot), reason);
                }
                (None, _) => {}
            }
        }
        places.sort_unstable();
        if places
            .windows(2)
            .any(|pair| matches!(pair, [(start, length), (next, _)] if start + length > *next))
        {
            self.find(FindingKind::PageLayout, name, id, "two rows overlap");
        }
        let used: usize = places.iter().map(|(_, length)| length).sum::<usize>()
            + SLOT_BYTES * usize::from(page.slot_count())
            + information_bytes(page.bytes()).unwrap_or(0);
        if used + page.free_bytes() != CAPACITY_BYTES {
            self.find(
                FindingKind::PageLayout,
                name,
                id,
                format!("{used} bytes used and {} free do not make a page", page.free_bytes()),
            );
        }
        let layout = table.tree(kind).map_or(&table.layout, |tree| &tree.layout);
        let has_rows = page.page_type() == Some(PageType::Data)
            || (page.page_type() == Some(PageType::Index) && page.level() == 0);
        if has_rows && let Err(error) = rows_of(layout, &page) {
            self.find(kind_of(&error, FindingKind::Record), name, id, error.to_string());
        }
        if page.is_compressed() {
            // Trees are checked for themselves.
            let by_mistake = table.tree(kind).is_none() && layout.compression != Compression::Page;
            if by_mistake || PageInformation::read(page.bytes()).is_none() {
                let reason = "compression information that is damaged, or should not be there";
                self.find(FindingKind::PageLayout, name, id, reason);
            }
        }
        let (pfs, entry) = maps::pfs_of(id);
        match self.shared.pager.cache.read(pfs) {
            Ok(map) => {
                // The PFS does not note the fullness of the pages of a tree, which are not searched for room.
                let in_tree = table.tree(kind).is_some();
                let fullness = if in_tree { 0 } else { maps::fullness(page.free_bytes()) };
                let (found, expected) = (maps::free_space(&map, entry), maps::ALLOCATED | fullness);
                if found != expected {
                    let reason = format!("its PFS entry is {found:#04x}, not {expected:#04x}");
                    self.find(FindingKind::FreeSpace, name, id, reason);
                }
            }
            Err(error) => self.find(FindingKind::UnreadablePage, None, pfs, error.to_string()),
        }
        Some(page)
    }

    /// Checks that every extent is free, or has exactly one owner that its maps name.
    fn maps(&mut self) -> Result<(), EngineError> {
        let cache = &self.shared.pager.cache;
        for file in self.shared.pager.files.all() {
            for extent in 0..self.shared.allocator.file_extents(file.number) {
                let id = ExtentId { file: file.number, extent };
                let (gam, bit) = maps::gam_of(id);
                let free = maps::bit(&*cache.read(gam)?, bit);
                let (pfs, entry) = maps::pfs_of(id.page(0));
                let pfs = cache.read(pfs)?;
                let entries: Vec<u8> =
                    (0..EXTENT_PAGES).map(|index| maps::free_space(&pfs, entry + index)).collect();
                let mixed = entries.iter().any(|entry| entry & maps::MIXED != 0)
                    || maps::bit(&*cache.read(maps::sgam_of(id).0)?, bit);
                let owned = self.owners.contains_key(&id);
                let system = maps::is_system_extent(extent);
                let owners =
                    usize::from(free) + usize::from(mixed) + usize::from(owned) + usize::from(system);
                if owners != 1 {
                    let reason = format!("extent: free {free}, mixed {mixed}, owned {owned}, fixed {system}");
                    self.find(FindingKind::Allocation, None, id.page(0), reason);
                }
                if free && entries.iter().any(|entry| entry & maps::ALLOCATED != 0) {
                    let reason = "pages of a free extent are marked as used";
                    self.find(FindingKind::Allocation, None, id.page(0), reason);
                }
            }
        }
        Ok(())
    }
}

/// Reads what can be read of a page's rows without their large values, which are checked on their own.
fn rows_of(layout: &Layout, page: &Arc<Page>) -> Result<(), EngineError> {
    let mut rows = RowGatherer::new(layout);
    rows.push_page(page)?;
    if layout.is_compressed() {
        let all: Vec<usize> = (0..layout.columns.len()).collect();
        rows.finish(&all, &record::empty_large_values())?;
    }
    Ok(())
}
