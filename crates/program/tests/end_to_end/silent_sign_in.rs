//! A sign-in by a token that the server asks for: after silence behind any message the wait ends in its time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use bulkwire_server::Entra;

use crate::faulty_line::{Fault, Kind, Line, Way};
use crate::fixture::{Fixture, Ran};
use crate::watchdog::boundaries;

/// A public key, of RFC 7517, appendix A.1. Nobody signs by it.
const KEYS: &str = r#"{"keys": [{"kty": "EC", "crv": "P-256", "use": "sig", "kid": "1", "alg": "ES256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
/// Seconds of connecting; a healthy server may be slow on a busy machine.
const IN_ORDER: u32 = 100;
const WITH_FAULT: u32 = 2;

/// Starts the service of a managed identity. It answers with a token, or never.
fn token_service(answers: bool) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let _ = client.read(&mut request);
            if answers {
                let token = r#"{"access_token": "a.b.c", "expires_in": "3600", "token_type": "Bearer"}"#;
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
                let _ = write!(client, "{head}Content-Length: {}\r\n\r\n{token}", token.len());
            } else {
                silent.push(client);
            }
        }
    });
    port
}

fn sign_in(fixture: &Fixture, port: u16, service: u16, seconds: u32) -> Ran {
    let url = format!(
        "Server=127.0.0.1,{port};Authentication=ActiveDirectoryManagedIdentity;TrustServerCertificate=yes;\
         Connect Timeout={seconds};Command Timeout={seconds}"
    );
    let endpoint = format!("http://127.0.0.1:{service}/token");
    let variables = [("IDENTITY_ENDPOINT", endpoint.as_str()), ("IDENTITY_HEADER", "header")];
    fixture.run_with_variables(&variables, &["query", "SELECT 1", "--url", &url])
}

#[test]
fn silence_behind_any_message_of_a_federated_login_has_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.json");
    std::fs::write(&keys, KEYS).unwrap();
    let fixture = Fixture::with(|options| {
        options.entra = Some(Entra {
            keys,
            issuer: "https://login.microsoftonline.com/tenant/".to_owned(),
            audiences: vec![Entra::AUDIENCE.to_owned()],
            sign_in_url: None,
            trusted: vec!["*".to_owned()],
        });
    });
    let service = token_service(true);
    let server = fixture.server.address();
    let line = Line::new(server, None);
    // The whole conversation, to the server's word about the token.
    let ran = sign_in(&fixture, line.port, service, IN_ORDER);
    assert!(ran.code == 1 && ran.stderr.contains("18456"), "{}", ran.stderr);
    let [ups, downs] = line.passed();
    let mut runs = Vec::new();
    for (way, stream) in [(Way::Up, &ups), (Way::Down, &downs)] {
        let ends = boundaries(stream);
        // The server ends with its refusal and the farewell of TLS: who loses these hears that it has closed.
        let awaited = match way {
            Way::Up => &ends[..ends.len() - 1],
            Way::Down => &ends[..ends.len() - 3],
        };
        runs.extend(awaited.iter().map(|at| Fault { way, at: *at, kind: Kind::Stall }));
        runs.extend(awaited.iter().skip(1).map(|at| Fault { way, at: *at, kind: Kind::Fin }));
    }
    assert!(runs.len() > 10, "{runs:?}");
    thread::scope(|scope| {
        for &run in &runs {
            let fixture = &fixture;
            scope.spawn(move || {
                let line = Line::new(server, Some(run));
                let ran = sign_in(fixture, line.port, service, WITH_FAULT);
                assert_eq!(ran.code, 1, "{run:?}: {}", ran.stderr);
                let is_told = ["in time", "took longer", "time-out", "timed out"]
                    .iter()
                    .any(|word| ran.stderr.contains(word));
                assert_eq!(is_told, run.kind == Kind::Stall, "{run:?}: {}", ran.stderr);
            });
        }
    });
    // Those who sign tokens may be silent too.
    let ran = sign_in(&fixture, server.port(), token_service(false), WITH_FAULT);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("time"), "{}", ran.stderr);
}
