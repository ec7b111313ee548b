//! Measures the client alone: loads the 11-column table into a server thread that reads and discards.
//!
//! `cargo run --release -p bulkwire-load --example load_to_sink -- [ROWS] [PACKET_SIZE]`
//!
//! The sink does nothing but read the socket and look for the end of each message, on a core of its own.

use std::{
    error::Error,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use arrow::{
    array::TimestampMicrosecondArray,
    array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
        StringArray,
    },
    datatypes::{DataType, Field, Schema, TimeUnit},
    record_batch::RecordBatch,
};
use bulkwire_load::{BatchTransaction, Client, Config, CountRule, LoadPlan, load};
use rows::{BulkHints, CastOptions, Mapping, Plan};
use tds::{
    Collation, Column, Done, DoneStatus, EncryptionOption, EnvChange, Length, PacketType, Prelogin, SqlType,
    Status, TdsVersion, Writer, done,
    packet_framer::frame_message,
    token::{LoginAck, Token},
};

const SOURCE_BATCH_ROWS: usize = 65_536;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(Ok(10_000_000), |text| text.parse())?;
    let packet_size: u16 = arguments.next().map_or(Ok(32_764), |text| text.parse())?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        if let Err(error) = listener.accept().map_err(Into::into).and_then(|(socket, _)| discard(socket)) {
            eprintln!("sink: {error}");
        }
    });
    let text = format!("Server=127.0.0.1,{port};Uid=sa;Pwd=x;Encrypt=Off;Packet Size={packet_size}");
    let mut client = Client::connect(&Config::parse(&text)?)?;
    let batch = batch(SOURCE_BATCH_ROWS)?;
    let plan = LoadPlan {
        table: "dbo.t".parse()?,
        rows: Plan::new(&batch.schema(), &columns(), &Mapping::ByName, CastOptions::default())?,
        batch_rows: 200_000,
        keeps_batch_rows: true,
        writers_max: 1,
        writers_reason: "the sink has one connection",
        hints: BulkHints { table_lock: true, ..BulkHints::default() },
        transaction: BatchTransaction::Autocommit,
        // The sink counts nothing.
        count_rule: CountRule::Unchecked,
        rows_before: None,
        routing: None,
        routes: false,
        choices: Vec::new(),
    };
    let batches = rows.div_ceil(SOURCE_BATCH_ROWS as u64);
    let source = (0..batches).map(|index| {
        let left = rows - index * SOURCE_BATCH_ROWS as u64;
        Ok::<_, std::io::Error>(
            batch.slice(0, usize::try_from(left).unwrap_or(usize::MAX).min(SOURCE_BATCH_ROWS)),
        )
    });
    println!("{}", load(&mut client, &plan, source, &mut |_| {})?);
    Ok(())
}

/// Returns the table of the published experiment: eight fixed-width columns and three strings.
fn columns() -> Vec<Column> {
    let latin = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let nvarchar = SqlType::NVarChar { length: Length::Units(100) };
    let varchar = SqlType::VarChar { length: Length::Units(100) };
    vec![
        Column::new("id", SqlType::Int, false, None),
        Column::new("col_int", SqlType::Int, true, None),
        Column::new("col_bigint", SqlType::BigInt, true, None),
        Column::new("col_float", SqlType::Float, true, None),
        Column::new("col_bit", SqlType::Bit, true, None),
        Column::new("col_date", SqlType::Date, true, None),
        Column::new("col_datetime2", SqlType::DateTime2 { scale: 6 }, true, None),
        Column::new("col_decimal", SqlType::Decimal { precision: 18, scale: 4 }, true, None),
        Column::new("col_str1", nvarchar.clone(), true, latin),
        Column::new("col_str2", varchar, true, latin),
        Column::new("col_str3", nvarchar, true, latin),
    ]
}

fn batch(rows: usize) -> Outcome<RecordBatch> {
    let numbers = 0..i32::try_from(rows)?;
    let long = || numbers.clone().map(i64::from);
    let text = |prefix: &'static str, width: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(numbers.clone().map(move |n| format!("{prefix}{n:0width$}"))))
    };
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(numbers.clone())),
        Arc::new(Int32Array::from_iter_values(numbers.clone().map(|n| n.wrapping_mul(7919)))),
        Arc::new(Int64Array::from_iter_values(long().map(|n| n * 1_000_003))),
        Arc::new(Float64Array::from_iter_values(numbers.clone().map(|n| f64::from(n) * 0.5))),
        Arc::new(BooleanArray::from_iter(numbers.clone().map(|n| Some(n % 3 == 0)))),
        Arc::new(Date32Array::from_iter_values(numbers.clone().map(|n| 18_000 + n % 2000))),
        Arc::new(TimestampMicrosecondArray::from_iter_values(
            long().map(|n| 1_600_000_000_000_000 + n * 1_234_567),
        )),
        Arc::new(
            Decimal128Array::from_iter_values(long().map(|n| i128::from(n) * 12_345))
                .with_precision_and_scale(18, 4)?,
        ),
        text("customer_", 8),
        text("category_", 9),
        text("note_", 9),
    ];
    let types = [
        DataType::Int32,
        DataType::Int32,
        DataType::Int64,
        DataType::Float64,
        DataType::Boolean,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Decimal128(18, 4),
        DataType::Utf8,
        DataType::Utf8,
        DataType::Utf8,
    ];
    let fields: Vec<Field> = columns()
        .iter()
        .zip(types)
        .map(|(column, data_type)| Field::new(&column.name, data_type, column.name != "id"))
        .collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// Answers PRELOGIN and LOGIN7, then every message with a DONE, without looking at what is in it.
fn discard(mut socket: TcpStream) -> Outcome<()> {
    socket.set_nodelay(true)?;
    let prelogin = Prelogin {
        encryption: Some(EncryptionOption::NotSupported),
        mars: Some(false),
        ..Prelogin::default()
    };
    let mut packet_size = 4096;
    let mut buffer = vec![0; 1 << 20];
    // Bytes of the current packet that are still to come, and whether it ends its message.
    let (mut left, mut ends) = (0_usize, false);
    let (mut kept, mut header) = (0_usize, [0_u8; 8]);
    let mut login = Vec::new();
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = buffer.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            if left == 0 {
                let (head, tail) = rest.split_at((8 - kept).min(rest.len()));
                header.iter_mut().skip(kept).zip(head).for_each(|(to, from)| *to = *from);
                (kept, rest) = (kept + head.len(), tail);
                if kept < 8 {
                    break;
                }
                kept = 0;
                left = usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(8);
                ends = header[1] & 1 == 1;
            }
            let (payload, tail) = rest.split_at(left.min(rest.len()));
            (left, rest) = (left - payload.len(), tail);
            if header[0] == PacketType::Login7 as u8 {
                login.extend_from_slice(payload);
            }
            if left > 0 || !ends {
                continue;
            }
            let answer = match header[0] {
                0x12 => prelogin.encode()?,
                0x10 => {
                    packet_size = tds::Login7::decode(&login)?.packet_size_bytes;
                    login_answer(packet_size)?
                }
                _ => encode(&[Token::Done(Done {
                    status: DoneStatus::COUNT,
                    command: done::command::BULK_INSERT,
                    row_count: 0,
                })])?,
            };
            socket.write_all(&frame_message(
                PacketType::TabularResult,
                packet_size.min(4096) as usize,
                51,
                Status::NORMAL,
                &answer,
            ))?;
        }
    }
}

fn login_answer(packet_size: u32) -> Outcome<Vec<u8>> {
    encode(&[
        Token::LoginAck(LoginAck {
            interface: 1,
            version: TdsVersion::V7_4,
            program_name: "sink".to_owned(),
            program_version: [16, 0, 0, 0],
        }),
        Token::EnvChange(EnvChange::PacketSize { new: packet_size, old: 4096 }),
        Token::Done(Done::default()),
    ])
}

fn encode(tokens: &[Token]) -> Outcome<Vec<u8>> {
    let mut w = Writer::new();
    tokens.iter().for_each(|token| token.encode(&mut w, TdsVersion::V7_4));
    Ok(w.finish()?)
}
