//! Pieces of a table read by several threads, and handed on in their order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow::array::RecordBatch;

use crate::error::{FileError, Result, malformed};

/// Batches of a piece that wait for those of earlier pieces.
const WAITING_BATCHES: usize = 2;

/// A batch, or the end of a piece.
enum Sent {
    Batch(Result<RecordBatch>),
    End,
}

/// A piece that no thread has taken yet, and where its batches go.
type Waiting<P> = Arc<Mutex<std::vec::IntoIter<(P, SyncSender<Sent>)>>>;

/// The receiver of a piece's batches; false if nobody wants more.
pub(crate) type Hand<'a> = dyn FnMut(RecordBatch) -> bool + 'a;

/// Reads pieces by `threads` threads. `read` hands on the batches of one piece, and fails with what is wrong in it. Batches come in the
/// order of the pieces.
pub(crate) fn in_order<P: Send + 'static>(
    pieces: Vec<P>,
    threads: usize,
    read: impl Fn(P, &mut Hand<'_>) -> Result<()> + Send + Sync + 'static,
) -> impl Iterator<Item = Result<RecordBatch>> + Send {
    let threads = threads.min(pieces.len());
    let (waiting, receivers): (Vec<_>, Vec<_>) = pieces
        .into_iter()
        .map(|piece| {
            let (sender, receiver) = sync_channel(WAITING_BATCHES);
            ((piece, sender), receiver)
        })
        .unzip();
    let waiting: Waiting<P> = Arc::new(Mutex::new(waiting.into_iter()));
    let read = Arc::new(read);
    for _ in 0..threads {
        let (waiting, read) = (Arc::clone(&waiting), Arc::clone(&read));
        thread::spawn(move || work(&waiting, &*read));
    }
    InOrder { receivers: receivers.into_iter(), current: None, is_done: false }
}

fn work<P>(waiting: &Waiting<P>, read: &impl Fn(P, &mut Hand<'_>) -> Result<()>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((piece, sender)) = next else { return };
        let mut is_wanted = true;
        let read = read(piece, &mut |batch| {
            is_wanted = is_wanted && sender.send(Sent::Batch(Ok(batch))).is_ok();
            is_wanted
        });
        let end = match read {
            Ok(()) => Sent::End,
            Err(error) => Sent::Batch(Err(error)),
        };
        if sender.send(end).is_err() {
            return;
        }
    }
}

/// Hands on the batches of one piece after another.
struct InOrder {
    receivers: std::vec::IntoIter<Receiver<Sent>>,
    current: Option<Receiver<Sent>>,
    is_done: bool,
}

impl Iterator for InOrder {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done {
            let receiver = match self.current.take().or_else(|| self.receivers.next()) {
                Some(receiver) => receiver,
                None => break,
            };
            match receiver.recv() {
                Ok(Sent::Batch(batch)) => {
                    self.is_done = batch.is_err();
                    self.current = Some(receiver);
                    return Some(batch);
                }
                Ok(Sent::End) => {}
                Err(_) => {
                    // A thread that ended without a word must not look like the end of a piece.
                    self.is_done = true;
                    return Some(Err(FileError::new("", "", malformed("a reading thread ended early"))));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn batch(number: i32) -> RecordBatch {
        let column = Arc::new(Int32Array::from(vec![number])) as _;
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    #[test]
    fn pieces_come_in_their_order() {
        let read = |piece: i32, hand: &mut Hand<'_>| {
            (0..10).take_while(|number| hand(batch(10 * piece + number))).count();
            Ok(())
        };
        let numbers: Vec<i32> = in_order((0..20).collect(), 3, read)
            .map(|batch| batch.unwrap().column(0).as_primitive::<Int32Type>().value(0))
            .collect();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_follows_an_error() {
        let read = |piece: i32, hand: &mut Hand<'_>| match piece {
            3 => Err(FileError::new("f", "p", malformed("wrong"))),
            _ => {
                hand(batch(piece));
                Ok(())
            }
        };
        let items: Vec<_> = in_order((0..20).collect(), 2, read).collect();
        assert_eq!(items.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, true, false]);
    }

    #[test]
    fn a_thread_that_panics_is_an_error() {
        let read = |piece: i32, _: &mut Hand<'_>| if piece == 1 { panic!("on purpose") } else { Ok(()) };
        let items: Vec<_> = in_order((0..5).collect(), 1, read).collect();
        assert!(matches!(items.as_slice(), [Err(_)]));
    }
}
