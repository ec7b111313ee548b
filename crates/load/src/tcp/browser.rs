//! SQL Server Browser: which port does `host\instance` listen on? (MC-SQLR, UDP port 1434)

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs, UdpSocket},
    time::Duration,
};

/// The Browser's port.
const BROWSER_PORT: u16 = 1434;
/// CLNT_UCAST_INST: asks about one instance.
const REQUEST: u8 = 0x04;
/// SVR_RESP: every answer starts with it.
const RESPONSE: u8 = 0x05;
/// Longest instance name, in bytes (MC-SQLR 2.2.3).
const NAME_LEN_MAX: usize = 32;
/// Longest answer to CLNT_UCAST_INST, in bytes (MC-SQLR 2.2.5).
const RESPONSE_LEN_MAX: usize = 3 + 1024;
/// UDP loses packets: ask this often, and wait this long each time.
const ATTEMPTS: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(1);

/// The reason why the port of an instance stayed unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// Nothing answered.
    #[error(
        "SQL Server Browser on {host} (UDP 1434) did not answer about instance \"{instance}\": {source}; \
         if the port is known, give Server=host,port"
    )]
    NoAnswer {
        /// The host asked.
        host: String,
        /// The instance.
        instance: String,
        /// The last error.
        source: io::Error,
    },
    /// An answer, but no TCP port in it.
    #[error(
        "SQL Server Browser on {host} names no TCP port for instance \"{instance}\"; is TCP enabled there?"
    )]
    NoTcp {
        /// The host asked.
        host: String,
        /// The instance.
        instance: String,
    },
    /// The instance's name cannot be sent in a request.
    #[error("\"{instance}\" is not an instance name: 1 to 32 bytes without NUL are")]
    Name {
        /// The instance.
        instance: String,
    },
}

/// Asks SQL Server Browser on `host` for the TCP port of `instance`. `patience` caps the wait for one answer.
pub fn instance_port(host: &str, instance: &str, patience: Option<Duration>) -> Result<u16, BrowserError> {
    port_from(host, BROWSER_PORT, instance, patience)
}

fn port_from(
    host: &str,
    browser_port: u16,
    instance: &str,
    patience: Option<Duration>,
) -> Result<u16, BrowserError> {
    if instance.is_empty() || instance.len() > NAME_LEN_MAX || instance.contains('\0') {
        return Err(BrowserError::Name { instance: instance.to_owned() });
    }
    let patience = patience.map_or(PATIENCE, |limit| limit.min(PATIENCE)).max(Duration::from_millis(1));
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for _ in 0..ATTEMPTS {
        match (host, browser_port).to_socket_addrs().and_then(|addresses| ask(addresses, instance, patience))
        {
            Ok(answer) => {
                let missing = || BrowserError::NoTcp { host: host.to_owned(), instance: instance.to_owned() };
                return tcp_port(&answer, instance).ok_or_else(missing);
            }
            Err(error) => last = error,
        }
    }
    Err(BrowserError::NoAnswer { host: host.to_owned(), instance: instance.to_owned(), source: last })
}

fn ask(
    addresses: impl Iterator<Item = SocketAddr>,
    instance: &str,
    patience: Duration,
) -> io::Result<Vec<u8>> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        let local: SocketAddr =
            if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        let exchange = || {
            let socket = UdpSocket::bind(local)?;
            socket.connect(address)?;
            socket.set_read_timeout(Some(patience))?;
            let mut request = vec![REQUEST];
            request.extend_from_slice(instance.as_bytes());
            request.push(0);
            socket.send(&request)?;
            let mut answer = vec![0; RESPONSE_LEN_MAX];
            let length = socket.recv(&mut answer)?;
            answer.truncate(length);
            Ok(answer)
        };
        match exchange() {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Finds the port in `05 length "ServerName;S;InstanceName;I;…;tcp;1433;…;;"`.
fn tcp_port(answer: &[u8], instance: &str) -> Option<u16> {
    let (&RESPONSE, rest) = answer.split_first()? else { return None };
    let (length, text) = rest.split_at_checked(2)?;
    let length = u16::from_le_bytes(length.try_into().ok()?);
    let text = String::from_utf8_lossy(text.get(..usize::from(length))?);
    let mut parts = text.split(';');
    let mut port = None;
    let mut right_instance = false;
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        match key.to_ascii_lowercase().as_str() {
            "instancename" => right_instance = value.eq_ignore_ascii_case(instance),
            "tcp" => port = value.parse().ok().filter(|port| *port > 0),
            "" => break,
            _ => {}
        }
    }
    port.filter(|_| right_instance)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn answer(text: &str) -> Vec<u8> {
        let mut bytes = vec![RESPONSE];
        bytes.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    const ANSWER: &str = "ServerName;ILSUNG1;InstanceName;YUKONSTD;IsClustered;No;Version;9.00.1399.06;tcp;57137;np;\\\\ILSUNG1\\pipe\\x;;";

    #[test]
    fn port_is_found_in_the_published_example() {
        // The answer of MC-SQLR section 4.
        assert_eq!(tcp_port(&answer(ANSWER), "yukonstd"), Some(57137));
    }

    #[test]
    fn answers_without_a_usable_port_give_none() {
        assert_eq!(tcp_port(&answer(ANSWER), "OTHER"), None);
        assert_eq!(tcp_port(&answer("ServerName;S;InstanceName;I;np;pipe;;"), "I"), None);
        assert_eq!(tcp_port(&answer("InstanceName;I;tcp;99999;;"), "I"), None);
        assert_eq!(tcp_port(&answer("InstanceName;I;tcp;0;;"), "I"), None);
        assert_eq!(tcp_port(&answer("InstanceName;I;;tcp;1433;;"), "I"), None);
    }

    #[test]
    fn every_truncation_is_survived() {
        let whole = answer(ANSWER);
        for length in 0..whole.len() {
            assert_eq!(tcp_port(&whole[..length], "YUKONSTD"), None, "{length} bytes");
        }
    }

    #[test]
    fn a_browser_is_asked_over_udp() {
        let browser = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = browser.local_addr().unwrap().port();
        let service = std::thread::spawn(move || {
            let mut request = [0; 64];
            let (length, from) = browser.recv_from(&mut request).unwrap();
            browser.send_to(&answer(ANSWER), from).unwrap();
            request[..length].to_vec()
        });
        assert_eq!(port_from("127.0.0.1", port, "YUKONSTD", None).unwrap(), 57137);
        assert_eq!(service.join().unwrap(), b"\x04YUKONSTD\0");
    }

    #[test]
    fn impossible_names_are_refused_before_asking() {
        for name in ["", "a\0b", &"x".repeat(33)] {
            assert!(matches!(instance_port("127.0.0.1", name, None), Err(BrowserError::Name { .. })));
        }
    }
}
