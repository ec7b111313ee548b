//! Answers as lines of text.

use executor::session::response::Response;
use executor::session::{Cancellation, ClientConnection, LoginSettings, Request, Session};
use executor::statements::execute;
use query::Datum;
use query::convert::display;
use tds::SqlType;
use tokio::sync::mpsc;

/// A login to `master`.
pub fn login(spid: u16) -> LoginSettings {
    LoginSettings {
        database: String::new(),
        user: "sa".into(),
        application: "scripts".into(),
        host: "host".into(),
        spid,
        ansi_defaults: true,
        is_encrypted: false,
        client: ClientConnection::default(),
    }
}

/// What a batch answers, line by line; the lines are described in `scripts.rs`.
pub async fn answer(session: &mut Session, batch: &str) -> Vec<String> {
    let (events, mut queue) = mpsc::channel(2);
    let (_, lines) = tokio::join!(
        execute(session, Request::Batch(batch.to_string()), events, Cancellation::new()),
        async {
            let mut lines = Vec::new();
            let mut types: Vec<SqlType> = Vec::new();
            let mut in_result = false;
            while let Some(event) = queue.recv().await {
                match event {
                    Response::Columns(result) => {
                        in_result = true;
                        types = result.columns.iter().map(|column| column.sql_type().clone()).collect();
                        let columns: Vec<String> = result
                            .columns
                            .iter()
                            .map(|column| {
                                let null = if column.flags.is_nullable() { " null" } else { "" };
                                format!("{} {}{null}", column.name, column.sql_type())
                            })
                            .collect();
                        for (column, field) in result.columns.iter().zip(result.schema.fields()) {
                            assert_eq!(column.flags.is_nullable(), field.is_nullable(), "{batch}");
                            assert_eq!(&column.name, field.name());
                        }
                        lines.push(format!("[{}]", columns.join(", ")));
                    }
                    Response::Batch(rows) => {
                        for row in 0..rows.num_rows() {
                            let cells: Vec<String> = rows
                                .columns()
                                .iter()
                                .zip(&types)
                                .map(|(array, sql_type)| {
                                    match Datum::read(array.as_ref(), sql_type, row).unwrap() {
                                        Datum::Null => "NULL".to_string(),
                                        value => display(&value, sql_type),
                                    }
                                })
                                .collect();
                            lines.push(cells.join(" | "));
                        }
                    }
                    Response::Done(done) => {
                        if let Some(count) = done.count.filter(|_| !in_result) {
                            lines.push(format!("affected {count}"));
                        }
                        in_result = false;
                    }
                    Response::Error(message) => {
                        in_result = false;
                        lines.push(format!("error {}: {}", message.number, message.message));
                    }
                    // The database has changed, a statement that has failed is at its end.
                    Response::Info(message) if matches!(message.number, 3621 | 5701) => {}
                    Response::Info(message) => lines.push(format!("info: {}", message.message)),
                    Response::ReturnStatus(status) => lines.push(format!("status {status}")),
                    _ => {}
                }
            }
            lines
        }
    );
    lines
}
