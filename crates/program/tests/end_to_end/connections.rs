//! Every kind of encryption, for real.

use bulkwire_server::EncryptionPolicy;

use crate::fixture::{Fixture, PASSWORD, text};

fn answer(fixture: &Fixture, parameters: &str) -> Result<String, String> {
    let ran = fixture.run_with(
        &fixture.url(parameters),
        PASSWORD,
        &["query", "SELECT 6 * 7 AS n", "-o", "csv"],
        "",
    );
    if ran.code == 0 { Ok(ran.stdout) } else { Err(ran.stderr) }
}

#[test]
fn off_login_only_full_and_strict_all_answer() {
    let fixture = Fixture::new();
    let pem = fixture.file("server.pem", fixture.server.certificate_pem().unwrap());
    let pinned = format!("ServerCertificate={}", text(&pem));
    for parameters in [
        "Encrypt=Off".to_owned(),
        "Encrypt=Optional&TrustServerCertificate=true".to_owned(),
        format!("Encrypt=Optional&{pinned}"),
        "Encrypt=Mandatory&TrustServerCertificate=true".to_owned(),
        format!("Encrypt=Mandatory&{pinned}"),
        format!("Encrypt=Strict&{pinned}"),
    ] {
        assert_eq!(answer(&fixture, &parameters).as_deref(), Ok("n\n42\n"), "{parameters}");
    }
}

#[test]
fn an_unknown_certificate_is_refused() {
    let fixture = Fixture::new();
    for parameters in ["", "Encrypt=Mandatory", "Encrypt=Strict"] {
        let refused = answer(&fixture, parameters).unwrap_err();
        assert!(
            refused.contains("certificate") && refused.contains("self-signed"),
            "{parameters}: {refused}"
        );
    }
    let trusting = answer(&fixture, "Encrypt=Strict&TrustServerCertificate=true").unwrap_err();
    assert!(trusting.contains("TrustServerCertificate"), "{trusting}");
}

#[test]
fn a_server_that_requires_encryption_refuses_clear_connections() {
    let fixture = Fixture::with(|options| options.encryption = EncryptionPolicy::Required);
    assert!(answer(&fixture, "Encrypt=Off").is_err());
    let optional = answer(&fixture, "Encrypt=Optional&TrustServerCertificate=true");
    assert_eq!(optional.as_deref(), Ok("n\n42\n"));
}

#[test]
fn a_server_without_tls_refuses_encrypted_connections() {
    let fixture = Fixture::with(|options| options.certificate = None);
    assert_eq!(answer(&fixture, "Encrypt=Off").as_deref(), Ok("n\n42\n"));
    for encrypt in ["Mandatory", "Optional"] {
        let refused = answer(&fixture, &format!("Encrypt={encrypt}&TrustServerCertificate=true"));
        assert!(refused.is_err_and(|said| said.contains("Encrypt=Off")), "{encrypt}");
    }
}

#[test]
fn bulk_loads_work_under_every_encryption_and_packet_size() {
    let fixture = Fixture::new();
    let pem = fixture.file("server.pem", fixture.server.certificate_pem().unwrap());
    let rows: String = (0..20_000).map(|n| format!("{n},text of row {n}\n")).collect();
    fixture.file("t.csv", format!("n,s\n{rows}"));
    fixture.sql("CREATE TABLE t (n int NOT NULL, s varchar(40) NULL)");
    let strict = format!("Encrypt=Strict&ServerCertificate={}", text(&pem));
    let encryptions = [
        "Encrypt=Off",
        "Encrypt=Optional&TrustServerCertificate=true",
        "Encrypt=yes&TrustServerCertificate=true",
        &strict,
    ];
    for encryption in encryptions {
        for packet_size in ["512", "4096", "16380", "32767"] {
            let arguments = ["load", "t", "t.csv", "--quiet", "--truncate", "--packet-size", packet_size];
            let ran = fixture.run_with(&fixture.url(encryption), PASSWORD, &arguments, "");
            assert_eq!(ran.code, 0, "{encryption} {packet_size}: {}", ran.stderr);
            let found = fixture.rows("SELECT COUNT(*), SUM(n), MIN(s), MAX(s) FROM t");
            assert_eq!(
                found, "20000,199990000,text of row 0,text of row 9999\n",
                "{encryption} {packet_size}"
            );
        }
    }
}
