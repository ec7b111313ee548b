//! A disk that fills up: what does not fit is refused with 1105, what was committed stays, reads go on, and writes work again
//! once there is room.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answers::{answer, login};
use arrow::array::{Int32Array, RecordBatch};
use databases::instance::Instance;
use databases::storage::{Databases, DirectoryFolders, Folders};
use executor::session::response::Response;
use executor::session::{Cancellation, Request, Session};
use executor::statements::{begin_bulk, execute, open_session};
use store::disk::volume::{Volume, VolumeFile};
use store::{EngineError, EngineOptions};
use tds::SqlType;
use tokio::sync::mpsc;

fn session(instance: &Arc<Instance>) -> Session {
    open_session(Arc::clone(instance), login(51)).unwrap()
}

/// The answer's lines but for row counts.
async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

async fn is_done(session: &mut Session, batch: &str) {
    assert_eq!(lines(session, batch).await, [""; 0], "{batch}");
}

/// Loads so many rows; the number of the error that stopped it.
async fn load_by(session: &mut Session, statement: &str, rows: i32) -> Result<u64, i32> {
    let (events, mut queue) = mpsc::channel(64);
    let batch = Request::Batch(statement.to_owned());
    execute(session, batch, events, Cancellation::new()).await;
    let mut target = None;
    while let Some(event) = queue.recv().await {
        if let Response::BulkExpected(expected) = event {
            target = Some(*expected);
        }
    }
    let mut writer = begin_bulk(session, target.expect("a target")).map_err(|error| error.number)?;
    let column = tds::Column::new("id".to_owned(), SqlType::Int, false, None);
    writer.columns(std::slice::from_ref(&column)).map_err(|error| error.number)?;
    // Numbers that do not compress.
    let mut random = 0x9E37_79B9_u32;
    for first in (0..rows).step_by(50_000) {
        let values = (first..(first + 50_000).min(rows)).map(|_| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random as i32
        });
        let batch = RecordBatch::try_from_iter([("id", Arc::new(Int32Array::from_iter_values(values)) as _)]);
        writer.append(batch.unwrap()).map_err(|error| error.number)?;
    }
    writer.finish().map_err(|error| error.number)
}

/// A disk on which a write that does not fit is refused as a whole.
#[derive(Debug)]
struct SmallVolume {
    directory: Arc<dyn Volume>,
    room_bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
struct SmallVolumeFile {
    file: Arc<dyn VolumeFile>,
    room_bytes: Arc<AtomicU64>,
}

impl SmallVolume {
    fn file(&self, file: Arc<dyn VolumeFile>) -> Arc<dyn VolumeFile> {
        Arc::new(SmallVolumeFile { file, room_bytes: Arc::clone(&self.room_bytes) })
    }
}

impl Volume for SmallVolume {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.directory.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(self.file(self.directory.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(self.file(self.directory.create(name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.directory.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.directory.rename(from, to)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_directory()
    }
}

impl VolumeFile for SmallVolumeFile {
    fn length_bytes(&self) -> io::Result<u64> {
        self.file.length_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.room_bytes.load(Ordering::SeqCst) < bytes.len() as u64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room_bytes.fetch_sub(bytes.len() as u64, Ordering::SeqCst);
        self.file.write_at(offset, bytes)
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        self.file.set_length(length_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// The folders of a data directory, for all of whose databases there is so much room.
#[derive(Debug)]
struct SmallFolders {
    folders: DirectoryFolders,
    room_bytes: Arc<AtomicU64>,
}

impl Folders for SmallFolders {
    fn open(&self, folder: &str, durable: bool) -> Result<Arc<dyn Volume>, EngineError> {
        let directory = self.folders.open(folder, durable)?;
        Ok(Arc::new(SmallVolume { directory, room_bytes: Arc::clone(&self.room_bytes) }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.folders.list()
    }

    fn files(&self, folder: &str) -> io::Result<Vec<String>> {
        self.folders.files(folder)
    }

    fn mark(&self, folder: &str) -> io::Result<()> {
        self.folders.mark(folder)
    }

    fn unmark(&self, folder: &str) -> io::Result<()> {
        self.folders.unmark(folder)
    }

    fn remove(&self, folder: &str) -> io::Result<()> {
        self.folders.remove(folder)
    }
}

fn open(folder: &Path, room_bytes: &Arc<AtomicU64>) -> Arc<Instance> {
    let folders = DirectoryFolders::open(folder, true).unwrap();
    let folders = SmallFolders { folders, room_bytes: Arc::clone(room_bytes) };
    let databases = Databases::open_in(Box::new(folders), EngineOptions::default()).unwrap();
    Arc::new(Instance::new(databases).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_load_into_pages_that_does_not_fit_leaves_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let room = Arc::new(AtomicU64::new(u64::MAX));
    let instance = open(folder.path(), &room);
    let mut session_one = session(&instance);
    is_done(&mut session_one, "CREATE TABLE t (id int NOT NULL); INSERT INTO t VALUES (-1)").await;
    room.store(1_500_000, Ordering::SeqCst);
    // Logged minimally: it is the data file that has no room.
    let statement = "INSERT BULK t (id int) WITH (TABLOCK)";
    assert_eq!(load_by(&mut session_one, statement, 1_000_000).await, Err(1105));
    assert_eq!(lines(&mut session_one, "SELECT COUNT(*) FROM t").await, ["1"]);
    room.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(load_by(&mut session_one, statement, 1_000_000).await, Ok(1_000_000));
    drop((session_one, instance));
    let instance = open(folder.path(), &room);
    assert_eq!(lines(&mut session(&instance), "SELECT COUNT(*) FROM t").await, ["1000001"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_for_its_log_a_database_of_pages_takes_nothing_until_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let room = Arc::new(AtomicU64::new(u64::MAX));
    let instance = open(folder.path(), &room);
    let mut session_one = session(&instance);
    is_done(&mut session_one, "CREATE TABLE t (id int NOT NULL PRIMARY KEY)").await;
    is_done(&mut session_one, "INSERT INTO t VALUES (1), (2)").await;
    room.store(0, Ordering::SeqCst);
    for batch in ["INSERT INTO t VALUES (3)", "DELETE FROM t", "CREATE TABLE u (a int)"] {
        let lines = lines(&mut session_one, batch).await;
        assert!(matches!(lines.as_slice(), [line] if line.starts_with("error 9002: ")), "{batch}: {lines:?}");
    }
    assert_eq!(lines(&mut session_one, "SELECT id FROM t ORDER BY id").await, ["1", "2"]);
    let obstacles = instance.store().obstacles();
    assert!(matches!(obstacles.as_slice(), [(name, _)] if name == "master"), "{obstacles:?}");
    room.store(u64::MAX, Ordering::SeqCst);
    // Nobody has to write for it to be seen.
    assert_eq!(instance.store().obstacles(), []);
    is_done(&mut session_one, "INSERT INTO t VALUES (3)").await;
    drop((session_one, instance));
    let instance = open(folder.path(), &room);
    let mut session_two = session(&instance);
    assert_eq!(lines(&mut session_two, "SELECT id FROM t ORDER BY id").await, ["1", "2", "3"]);
    is_done(&mut session_two, "INSERT INTO t VALUES (4)").await;
    instance.store().master().engine().shut("the log has failed");
    assert_eq!(instance.store().obstacles(), [("master".to_owned(), "the log has failed".to_owned())]);
}
