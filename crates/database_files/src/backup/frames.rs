//! Places of extents in a backup: the data streams are frames of one extent each.
//!
//! A full backup has the extents that the allocation map (GAM) calls used, a differential one those of its differential map. So
//! the place of a frame decides which extent it is; headers only check it, for unused pages keep the headers of other times.

use std::collections::BTreeMap;

use super::{BackupSet, Media, blocks::read, media::DataStream};
use crate::{
    error::{FileError, Reason, Result, malformed},
    image::{ExtentPlace, FilePages},
    pages::{
        Bitmap, EXTENT_BYTES, EXTENT_PAGES, EXTENTS_PER_MAP, PAGE_BYTES, Page, PageAddress, header_address,
        kind,
    },
};

/// Page of the first frame that maps used extents.
const GAM_PAGE: usize = 2;
/// How a frame begins that only fills the stream up.
const FILLER: [u8; 2] = [0x01, 0x65];
/// Page of each interval's first frame that maps extents changed since the full backup.
const DIFFERENTIAL_MAP_PAGE: usize = 6;

/// Extents of each file, by number.
type Placed = BTreeMap<u16, BTreeMap<u32, ExtentPlace>>;

/// Finds the extents of the backup set number `set` (from 0) of each stripe. `first_source` is the number of the first stripe's container.
///
/// # Errors
/// The maps and the frames do not agree, or a map is damaged.
pub(crate) fn place_frames(
    stripes: &[Media],
    set: usize,
    first_source: usize,
) -> Result<BTreeMap<u16, FilePages>> {
    let mut placed = Placed::new();
    for (index, media) in stripes.iter().enumerate() {
        let Some(set) = media.sets.get(set) else { continue };
        for (group, streams) in set.data.iter().enumerate() {
            let mut frames = Frames::new(media, streams, first_source + index);
            match stripes.len() == 1 && group == 0 {
                true => place_by_maps(&mut frames, set, &mut placed)?,
                false => place_by_headers(&mut frames, &mut placed, group > 0)?,
            }
        }
    }
    Ok(placed.into_iter().map(|(file, extents)| (file, FilePages::of_extents(extents))).collect())
}

/// Places the frames of an unstriped set: each file's own maps say which extents follow.
fn place_by_maps(frames: &mut Frames<'_>, set: &BackupSet, placed: &mut Placed) -> Result<()> {
    for file in set.header.files.iter().filter(|file| !file.is_log && file.pages > 0) {
        let extents = placed.entry(file.number).or_default();
        let (mut left, mut interval) = (file.pages / EXTENT_PAGES, 0);
        while left > 0 {
            let Some(first) = frames.peek() else {
                let missing = format!("{left} extents of file {} ({}) are missing", file.number, file.name);
                return Err(frames.error(Reason::Incomplete(missing)));
            };
            let in_map = frames.extents_of_map(first, interval, set.is_differential())?;
            if in_map.len() as u64 > u64::from(left) {
                return Err(frames.error(malformed(format!(
                    "file {} ({}) has {left} extents, and its maps say {}",
                    file.number,
                    file.name,
                    in_map.len()
                ))));
            }
            for extent in in_map {
                let Some(place) = frames.next() else { break };
                extents.insert(extent, place);
                left -= 1;
            }
            interval += 1;
        }
    }
    Ok(())
}

/// Places the frames of a stripe, or of what was read again at the end: their headers say which extents they are.
///
/// Pages that are not used may keep headers of another time, so frames must come in order, each extent once. `placed` has those of
/// other stripes; what is read again replaces them.
fn place_by_headers(frames: &mut Frames<'_>, placed: &mut Placed, is_read_again: bool) -> Result<()> {
    let mut last = None;
    while let Some(place) = frames.next() {
        let bytes = frames.bytes(place, 0, EXTENT_BYTES as usize)?;
        if bytes.starts_with(&FILLER) && PageAddress::at(&bytes, 32).is_some_and(PageAddress::is_none) {
            continue;
        }
        let Some((file, extent)) = common_address(&bytes) else {
            if is_read_again {
                return Err(frames.error(malformed("no header says which extent was read again")));
            }
            // No page of it is in use: one that is has a header.
            continue;
        };
        let extents = placed.entry(file).or_default();
        let is_known = extents.contains_key(&extent);
        if is_known != is_read_again || last.is_some_and(|last| last >= (file, extent)) {
            let text =
                format!("the headers of extent {extent} of file {file} are out of order or come twice");
            return Err(frames.error(malformed(text)));
        }
        last = Some((file, extent));
        extents.insert(extent, place);
    }
    Ok(())
}

/// Returns the extent that most pages of a frame say they are in.
fn common_address(frame: &[u8]) -> Option<(u16, u32)> {
    let mut votes: BTreeMap<(u16, u32), usize> = BTreeMap::new();
    for (index, page) in (0_u32..).zip(frame.chunks_exact(PAGE_BYTES)) {
        let address = header_address(page).filter(|address| address.page % EXTENT_PAGES == index);
        if let Some(address) = address {
            *votes.entry((address.file, address.page / EXTENT_PAGES)).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address)
}

/// The frames of a container's data streams, in order.
struct Frames<'a> {
    media: &'a Media,
    streams: &'a [DataStream],
    source: usize,
    stream: usize,
    offset: u64,
}

impl<'a> Frames<'a> {
    fn new(media: &'a Media, streams: &'a [DataStream], source: usize) -> Self {
        Self { media, streams, source, stream: 0, offset: 0 }
    }

    /// Returns the place of the next frame without taking it.
    fn peek(&mut self) -> Option<ExtentPlace> {
        loop {
            let stream = self.streams.get(self.stream)?;
            if self.offset + EXTENT_BYTES <= stream.length {
                return Some(ExtentPlace { source: self.source as u32, offset: stream.at + self.offset });
            }
            (self.stream, self.offset) = (self.stream + 1, 0);
        }
    }

    fn next(&mut self) -> Option<ExtentPlace> {
        let place = self.peek()?;
        self.offset += EXTENT_BYTES;
        Some(place)
    }

    /// Returns the extents of a map's interval, whose first frame stands at `first`.
    fn extents_of_map(&self, first: ExtentPlace, interval: u32, is_differential: bool) -> Result<Vec<u32>> {
        let (page, wanted) = match (is_differential, interval) {
            (true, _) => (DIFFERENTIAL_MAP_PAGE, kind::DIFFERENTIAL_MAP),
            // The first interval begins with the file's header and the PFS, others with this map.
            (false, 0) => (GAM_PAGE, kind::GAM),
            (false, _) => (0, kind::GAM),
        };
        let bytes = self.bytes(first, page * PAGE_BYTES, PAGE_BYTES)?;
        let boxed = <Box<[u8; PAGE_BYTES]>>::try_from(bytes.into_boxed_slice());
        let page = boxed.ok().and_then(|bytes| Page::verified(bytes).ok());
        let Some(page) = page.filter(|page| page.kind() == wanted) else {
            return Err(self.error(malformed(format!(
                "the allocation map of interval {interval} is not where it must be"
            ))));
        };
        let start = interval * EXTENTS_PER_MAP;
        let map = Bitmap::of(&page);
        let mut extents: Vec<u32> = map.extents(is_differential).map(|extent| start + extent).collect();
        // The first extent has the maps themselves; the second one has the boot page.
        for always in
            [start, start + 1].into_iter().take(if is_differential && interval == 0 { 2 } else { 1 })
        {
            if let Err(at) = extents.binary_search(&always) {
                extents.insert(at, always);
            }
        }
        Ok(extents)
    }

    fn bytes(&self, place: ExtentPlace, from: usize, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        read(&*self.media.source, &mut bytes, place.offset + from as u64, "an extent")?;
        Ok(bytes)
    }

    fn error(&self, reason: Reason) -> FileError {
        FileError::new(self.media.source.name(), "the data", reason)
    }
}
