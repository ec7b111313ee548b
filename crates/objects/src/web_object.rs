//! A file of a web server: by ranges if the server knows them, otherwise as one stream.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::{Buf, Bytes, BytesMut};
use formats::objects::{Object, PendingBytes};
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
    RANGE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};

use crate::patience::Patience;
use crate::runtime::{self, Task};
use crate::settings::allows_http;
use crate::stored_object::Pending;
use crate::{client, failure, names};

/// Pieces of a stream that wait for the reader.
const PIECES: usize = 16;

/// A file of a web server, in the version that was found first.
#[derive(Debug, Clone)]
pub(crate) struct WebObject {
    client: Client,
    url: Url,
    version: Version,
    has_ranges: bool,
}

/// Marks by which a server distinguishes one version of a file from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Version {
    length: Option<u64>,
    tag: Option<String>,
    modified: Option<String>,
}

impl WebObject {
    /// Looks at a file by asking for its first byte, which is also allowed where a look is not.
    pub(crate) fn open(url: &str) -> io::Result<Self> {
        let refused = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let url = Url::parse(url).map_err(|error| refused(format!("the URL cannot be used: {error}")))?;
        let allows_http = url.host_str().is_some_and(allows_http);
        if url.scheme() == "http" && !allows_http {
            return Err(refused(
                "unencrypted connections are for this machine only; use https, or set BULKWIRE_ALLOW_HTTP=true".to_owned(),
            ));
        }
        let client = client::client(allows_http)?;
        let (asked, target) = (client.clone(), url.clone());
        let (version, has_ranges) = runtime::run(async move {
            let answer =
                tried(&mut Patience::new(), || asked.get(target.clone()).header(RANGE, "bytes=0-0")).await;
            match answer {
                Ok(answer) => look(&answer),
                // There is no first byte of an empty file, of which some servers say so.
                Err(error) if error.to_string().starts_with("416") => {
                    let answer = tried(&mut Patience::new(), || asked.get(target.clone())).await?;
                    Ok((Version::of(answer.headers()), false))
                }
                Err(error) => Err(error),
            }
        })?;
        // Ranges of which nothing says the version could be those of two.
        let has_version = version.tag.is_some() || version.modified.is_some();
        Ok(Self { client, url, version, has_ranges: has_ranges && has_version })
    }

    /// Begins a request for this version.
    fn request(&self) -> RequestBuilder {
        let request = self.client.get(self.url.clone());
        match (&self.version.tag, &self.version.modified) {
            (Some(tag), _) if !tag.starts_with("W/") => request.header(IF_MATCH, tag),
            (_, Some(modified)) => request.header(IF_UNMODIFIED_SINCE, modified),
            _ => request,
        }
    }

    /// Reads a range, and goes on where a connection broke.
    async fn range(&self, range: Range<u64>) -> io::Result<Bytes> {
        let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
        let mut bytes = BytesMut::with_capacity(length);
        let mut patience = Patience::new();
        while bytes.len() < length {
            let from = range.start + bytes.len() as u64;
            let last = range.end - 1;
            let mut answer =
                tried(&mut patience, || self.request().header(RANGE, format!("bytes={from}-{last}"))).await?;
            self.check(&answer, Some(from))?;
            loop {
                match answer.chunk().await {
                    Ok(Some(piece)) => {
                        bytes.extend_from_slice(&piece);
                        patience.rest();
                    }
                    Ok(None) if bytes.len() < length => {
                        let short =
                            io::Error::new(io::ErrorKind::UnexpectedEof, "the server sent too few bytes");
                        patience.after(short).await?;
                        break;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        patience.after(failure::of_chain(&error)).await?;
                        break;
                    }
                }
            }
        }
        match bytes.len() > length {
            true => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the server sent more than was asked for"))
            }
            false => Ok(bytes.freeze()),
        }
    }

    /// Checks that an answer is of this version, and begins where it should.
    fn check(&self, answer: &Response, from: Option<u64>) -> io::Result<()> {
        let mut found = Version::of(answer.headers());
        if let Some(from) = from {
            if answer.status() != StatusCode::PARTIAL_CONTENT {
                return match self.version.differs(&found) {
                    true => Err(failure::changed()),
                    false => Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the server does not send the range that was asked for",
                    )),
                };
            }
            let (start, total) = content_range(answer.headers());
            found.length = total;
            if start != Some(from) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the server sent another range than was asked for",
                ));
            }
        }
        if self.version.differs(&found) { Err(failure::changed()) } else { Ok(()) }
    }

    /// Sends the whole file to a reader; after a break it is read again up to where it broke.
    async fn send(self, pieces: SyncSender<io::Result<Option<Bytes>>>) -> io::Result<()> {
        let mut patience = Patience::new();
        let mut done = 0u64;
        loop {
            let mut answer = tried(&mut patience, || self.request()).await?;
            self.check(&answer, None)?;
            let mut passed = 0u64;
            let broken = loop {
                match answer.chunk().await {
                    Ok(Some(mut piece)) => {
                        let before = passed;
                        passed += piece.len() as u64;
                        if passed <= done {
                            continue;
                        }
                        piece.advance(usize::try_from(done.saturating_sub(before)).unwrap_or(0));
                        done = passed;
                        patience.rest();
                        let sender = pieces.clone();
                        let sent =
                            tokio::task::spawn_blocking(move || sender.send(Ok(Some(piece))).is_ok()).await;
                        if !sent.unwrap_or(false) {
                            return Ok(());
                        }
                    }
                    Ok(None) if self.version.length.is_some_and(|length| done < length) => {
                        break io::Error::new(io::ErrorKind::UnexpectedEof, "the server sent too few bytes");
                    }
                    Ok(None) => return Ok(()),
                    Err(error) => break failure::of_chain(&error),
                }
            };
            // An object without a tag and a date could be another version by now, so reading is not resumed.
            if done > 0 && self.version.tag.is_none() && self.version.modified.is_none() {
                return Err(broken);
            }
            patience.after(broken).await?;
        }
    }
}

impl Object for WebObject {
    fn length(&self) -> Option<u64> {
        self.version.length
    }

    fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    fn fingerprint(&self) -> Option<String> {
        let Version { length, tag, modified } = &self.version;
        let sign = match (tag, modified) {
            (Some(tag), _) => format!("tag {tag}"),
            (None, Some(modified)) => format!("of {modified}"),
            (None, None) => return None,
        };
        Some(match length {
            Some(length) => format!("{length} bytes, {sign}"),
            None => sign,
        })
    }

    fn begin(&self, range: Range<u64>) -> Box<dyn PendingBytes> {
        let object = self.clone();
        Box::new(Pending(runtime::spawn(async move {
            let turn = runtime::ranges()?;
            let _turn = turn.acquire().await.map_err(io::Error::other)?;
            object.range(range).await
        })))
    }

    fn stream(&self) -> io::Result<Box<dyn Read + Send>> {
        let (sender, pieces) = sync_channel(PIECES);
        let object = self.clone();
        let task = runtime::spawn(async move {
            let end = object.send(sender.clone()).await.map(|()| None);
            let sent = tokio::task::spawn_blocking(move || sender.send(end).is_ok()).await;
            // A piece that was not taken is dropped: the reader is gone.
            drop(sent);
            Ok(())
        })?;
        Ok(Box::new(Stream { pieces, current: Bytes::new(), has_ended: false, _task: task }))
    }
}

/// Bytes of a file, received piece by piece.
struct Stream {
    pieces: Receiver<io::Result<Option<Bytes>>>,
    current: Bytes,
    has_ended: bool,
    _task: Task<()>,
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !into.is_empty() && !self.has_ended {
            let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the answer has ended early");
            match self.pieces.recv().map_err(|_| ended())?? {
                Some(piece) => self.current = piece,
                // Only what was said to be the end is one.
                None => self.has_ended = true,
            }
        }
        let count = into.len().min(self.current.len());
        if let Some(into) = into.get_mut(..count) {
            self.current.copy_to_slice(into);
        }
        Ok(count)
    }
}

impl Version {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::to_owned);
        Self {
            length: text(CONTENT_LENGTH).and_then(|text| text.parse().ok()),
            tag: text(ETAG),
            modified: text(LAST_MODIFIED),
        }
    }

    /// Returns true if the two versions contradict each other in a mark that both have.
    fn differs(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one != other)
        }
        differ(&self.length, &other.length)
            || differ(&self.tag, &other.tag)
            || differ(&self.modified, &other.modified)
    }
}

/// Reads the version of a file whose first byte was asked for, and returns true if that byte alone was sent.
fn look(answer: &Response) -> io::Result<(Version, bool)> {
    let version = Version::of(answer.headers());
    if answer.status() != StatusCode::PARTIAL_CONTENT {
        return Ok((version, false));
    }
    let (start, total) = content_range(answer.headers());
    let has_ranges = start == Some(0) && total.is_some();
    Ok((Version { length: total, ..version }, has_ranges))
}

/// Returns the start of a range, and the length of the whole: `bytes 0-0/1234`.
fn content_range(headers: &HeaderMap) -> (Option<u64>, Option<u64>) {
    let text = headers.get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some((range, total)) = text.strip_prefix("bytes ").and_then(|text| text.split_once('/')) else {
        return (None, None);
    };
    (range.split_once('-').and_then(|(start, _)| start.trim().parse().ok()), total.trim().parse().ok())
}

/// Sends a request until the answer is no passing trouble.
async fn tried(patience: &mut Patience, request: impl Fn() -> RequestBuilder) -> io::Result<Response> {
    loop {
        let error = match request().send().await {
            Ok(answer) if answer.status().is_success() => return Ok(answer),
            Ok(answer) => {
                let status = answer.status();
                let error = failure::of_answer(status.as_u16(), &status.to_string(), &head(answer).await);
                let passes = status.is_server_error()
                    || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
                if !passes {
                    return Err(error);
                }
                error
            }
            Err(error) if error.is_builder() || error.is_redirect() => return Err(failure::of_chain(&error)),
            Err(error) => {
                // A certificate does not get better.
                if failure::is_of_certificate(&error) {
                    return Err(failure::of_chain(&error));
                }
                if names::is_missing(&error) {
                    patience.after_unknown_host(failure::of_chain(&error)).await?;
                    continue;
                }
                failure::of_chain(&error)
            }
        };
        patience.after(error).await?;
    }
}

/// Reads the beginning of an answer's text.
async fn head(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < 8192
        && let Ok(Some(piece)) = answer.chunk().await
    {
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, JoinHandle};

    use super::*;
    use crate::names::tests::Nowhere;
    use crate::patience::{UNKNOWN_HOST_TRIES, tests::hasty};

    /// Starts a server on this machine that gives these answers, one to a connection. Returns its port, and
    /// the requests that it got.
    pub(crate) fn serving(answers: Vec<String>) -> (u16, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move || {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                stream.write_all(answer.as_bytes()).unwrap();
                requests.push(String::from_utf8(request).unwrap().to_lowercase());
            }
            requests
        };
        (port, thread::spawn(serve))
    }

    pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
            body.len()
        )
    }

    /// The parameters of a signed address are not passed to another host, and without a version there are no
    /// ranges.
    #[test]
    fn a_redirection_hears_nothing_of_where_it_came_from() {
        for (version, has_ranges) in [("", false), ("ETag: \"a\"\r\n", true)] {
            let first =
                answer("206 Partial Content", &format!("Content-Range: bytes 0-0/3\r\n{version}"), "x");
            let (there, heard) = serving(vec![first]);
            let (here, _) = serving(vec![answer(
                "302 Found",
                &format!("Location: http://127.0.0.1:{there}/b.csv\r\n"),
                "",
            )]);
            let object = WebObject::open(&format!("http://127.0.0.1:{here}/a.csv?sig=SECRET")).unwrap();
            assert_eq!(object.has_ranges(), has_ranges);
            let heard = heard.join().unwrap();
            assert!(heard[0].starts_with("get /b.csv "), "{heard:?}");
            assert!(!heard[0].contains("referer") && !heard[0].contains("secret"), "{heard:?}");
        }
    }

    #[test]
    fn an_unencrypted_redirection_stays_on_this_machine() {
        let to = "Location: http://files.example.invalid/b.csv\r\n";
        let (here, _) = serving(vec![answer("302 Found", to, "")]);
        let error = WebObject::open(&format!("http://127.0.0.1:{here}/a.csv")).unwrap_err().to_string();
        assert!(error.contains("without encryption"), "{error}");
    }

    #[tokio::test]
    async fn a_web_server_that_does_not_exist_is_tried_a_few_times() {
        let asked = Arc::new(AtomicUsize::new(0));
        let nowhere = Nowhere { says: "Name or service not known", asked: Arc::clone(&asked) };
        let client = client::looking_up(Arc::new(nowhere)).unwrap();
        let url: Url = "https://files.example/a.csv".parse().unwrap();
        let error = tried(&mut hasty(), || client.get(url.clone())).await.unwrap_err();
        assert_eq!(error.to_string(), "no host has the name files.example");
        assert_eq!(asked.load(Ordering::Relaxed), UNKNOWN_HOST_TRIES);
    }
}
