//! The rate of a bare loopback connection, measured with every figure for comparison.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

/// Bytes of one write and one read.
const BUFFER_BYTES: usize = 512 << 10;

/// Sends `total_bytes` to a thread that reads and drops them; bytes per second.
pub fn bytes_per_second(total_bytes: usize) -> io::Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let reader = thread::spawn(move || -> io::Result<usize> {
        let (mut socket, _) = listener.accept()?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut received = 0;
        loop {
            match socket.read(&mut buffer)? {
                0 => return Ok(received),
                read => received += read,
            }
        }
    });
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let buffer = vec![7; BUFFER_BYTES];
    let started = Instant::now();
    let mut left = total_bytes;
    while left > 0 {
        let piece = left.min(BUFFER_BYTES);
        socket.write_all(buffer.get(..piece).unwrap_or_default())?;
        left -= piece;
    }
    drop(socket);
    let received = reader.join().map_err(|_| io::Error::other("the reading thread failed"))??;
    let seconds = started.elapsed().as_secs_f64();
    if received != total_bytes {
        return Err(io::Error::other(format!("sent {total_bytes} bytes, {received} arrived")));
    }
    Ok(total_bytes as f64 / seconds)
}
