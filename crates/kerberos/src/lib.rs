//! Signs in with a Kerberos ticket, and accepts tickets, for the programs that ask over standard input and output
//! (`sign_in`). It alone opens the system's GSSAPI; on Windows it calls SSPI.

mod end;
#[cfg(unix)]
mod gssapi;
#[cfg(windows)]
mod sspi;

#[cfg(unix)]
use gssapi as mechanism;
#[cfg(windows)]
use sspi as mechanism;

use std::io::{self, BufRead, Read, Write};

use end::End;
use sign_in::{LINE_MAX_BYTES, Reply, Request, Role, decoded};

/// Answers each line, until the sign-in fails or the other side has no more tokens.
pub fn converse() -> io::Result<()> {
    let Some(Request { begin: Some(role), .. }) = receive()? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the first line names no role"));
    };
    let starts = matches!(role, Role::Initiate { .. });
    let mut end = match mechanism::begin(role) {
        Ok(end) => end,
        Err(error) => return send(&failure(error)),
    };
    // A server's end says that it has its keys.
    match starts {
        true if !answer(&mut *end, None)? => return Ok(()),
        true => {}
        false => send(&Reply::default())?,
    }
    while let Some(request) = receive()? {
        let token = request.token.as_deref().and_then(decoded);
        let token =
            token.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line without a token"))?;
        if !answer(&mut *end, Some(&token))? {
            break;
        }
    }
    Ok(())
}

/// Answers a token; returns true if more may follow.
fn answer(end: &mut dyn End, token: Option<&[u8]>) -> io::Result<bool> {
    match end.step(token) {
        Ok(reply) => send(&reply).map(|()| true),
        Err(error) => send(&failure(error)).map(|()| false),
    }
}

fn failure(error: String) -> Reply {
    Reply { error: Some(error), ..Reply::default() }
}

fn receive() -> io::Result<Option<Request>> {
    let mut line = String::new();
    match io::stdin().lock().take(LINE_MAX_BYTES).read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

fn send(reply: &Reply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(reply)?)?;
    out.flush()
}
