//! The rows of a load.

use std::fs::File;
use std::io::BufReader;

use arrow::array::RecordBatch;
use arrow::ipc::reader::FileReader;

use crate::Failure;
use crate::arguments::Arguments;

/// The first `--rows` rows of the source: for each commit, its record batches.
pub fn commits(arguments: &Arguments) -> Result<Vec<Vec<RecordBatch>>, Failure> {
    let path = arguments.source.as_ref().ok_or("a load needs --source")?;
    let mut left = usize::try_from(arguments.rows)?;
    let room = if arguments.batch_rows == 0 { left } else { arguments.batch_rows };
    let mut commits = vec![Vec::new()];
    let mut free = room;
    for batch in FileReader::try_new(BufReader::new(File::open(path)?), None)? {
        let batch = batch?;
        let mut start = 0;
        while start < batch.num_rows() && left > 0 {
            if free == 0 {
                commits.push(Vec::new());
                free = room;
            }
            let rows = (batch.num_rows() - start).min(left).min(free);
            if let Some(commit) = commits.last_mut() {
                commit.push(batch.slice(start, rows));
            }
            (start, left, free) = (start + rows, left - rows, free - rows);
        }
    }
    if left > 0 {
        return Err(format!("the source lacks {left} of the rows").into());
    }
    Ok(commits)
}
