//! Parts of Iridium SQL (crate `iridium_server`) for bulkwire's client to meet.
//!
//! `bulkwire-other-server serve FOLDER [tls]` runs the server in memory on a free port of loopback; it prints `listening on
//! ADDRESS` and runs until it is killed. Its certificate and key go into FOLDER; the password of `sa` comes from
//! OTHER_SERVER_PASSWORD.
//!
//! `bulkwire-other-server decode FILE` reads the payload of a bulk load message as that server does, and prints its rows,
//! cells divided by `|`.

use std::error::Error;

use iridium_core::Database;
use iridium_core::types::Value;
use iridium_server::tds::bulk::parse_bulk_load_data;
use iridium_server::tls::generate_self_signed_cert;
use iridium_server::{ServerConfig, TdsServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", folder] => serve(folder, false).await,
        ["serve", folder, "tls"] => serve(folder, true).await,
        ["decode", file] => decode(file),
        _ => Err("serve FOLDER [tls], or decode FILE".into()),
    }
}

async fn serve(folder: &str, tls: bool) -> Result<(), Box<dyn Error>> {
    let password = std::env::var("OTHER_SERVER_PASSWORD")?;
    let mut config = ServerConfig::with_auth("sa", password).port(0);
    if tls {
        let (certificate, key) = (format!("{folder}/certificate.pem"), format!("{folder}/key.pem"));
        generate_self_signed_cert(&certificate, &key)?;
        config = config.with_tls_cert(certificate, key);
    } else {
        config = config.disable_tls();
    }
    let mut server = TdsServer::new_with_database(Database::new(), config);
    println!("listening on {}", server.bind().await?);
    server.run().await
}

fn decode(file: &str) -> Result<(), Box<dyn Error>> {
    let load = parse_bulk_load_data(&std::fs::read(file)?, &[])?;
    println!("{}", load.columns.join("|"));
    for row in &load.rows {
        let cells: Vec<String> = row.iter().map(shown).collect();
        println!("{}", cells.join("|"));
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        value => value.to_string_value(),
    }
}
