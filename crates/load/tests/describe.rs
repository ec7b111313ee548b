//! Describing a table from catalogue results, and the plans that follow from it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use arrow::datatypes::{DataType, Field, Schema};
use bulkwire_load::{
    Client, Error, LoadOptions, LoadPlan, RecoveryModel, Storage, TableDescription, encrypted_columns,
};
use support::{Server, done};
use tds::{
    Collation, Column, Direction, Length, PacketType, SqlType, TypeInfo, Value, ValuePlace, Writer,
    encode_columns, encode_value,
};

const COLLATION: Option<Collation> = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

/// A result set whose columns are nullable ints or texts, as the first row (or `int`) tells.
fn result(names: &[&str], rows: &[Vec<Value>]) -> Vec<u8> {
    let kind = |index: usize| match rows.iter().map(|row| &row[index]).find(|value| !value.is_null()) {
        Some(Value::String(_)) => SqlType::NVarChar { length: Length::Units(128) },
        Some(Value::Bit(_)) => SqlType::Bit,
        Some(Value::TinyInt(_)) => SqlType::TinyInt,
        Some(Value::BigInt(_)) => SqlType::BigInt,
        _ => SqlType::Int,
    };
    let types: Vec<TypeInfo> = (0..names.len())
        .map(|index| {
            let sql_type = kind(index);
            let collation = COLLATION.filter(|_| sql_type.is_character());
            TypeInfo::new(sql_type, true, collation)
        })
        .collect();
    let columns: Vec<Column> = names
        .iter()
        .zip(&types)
        .map(|(name, info)| Column::new(*name, info.sql_type.clone(), true, info.collation))
        .collect();
    let mut w = Writer::new();
    w.u8(0x81);
    encode_columns(Some(&columns), &mut w, Direction::ServerToClient);
    for row in rows {
        w.u8(0xD1);
        row.iter().zip(&types).for_each(|(value, info)| encode_value(value, info, &mut w, ValuePlace::Row));
    }
    let mut bytes = w.finish().unwrap();
    bytes.extend(done(0x11, 0xC1, rows.len() as u64));
    bytes
}

/// What a test's table is like, beside its columns (id int identity, name nvarchar(20), total computed, ver rowversion).
#[derive(Clone)]
struct Target {
    exists: bool,
    /// `sys.indexes.type` of all indexes; the first has the key (id, name DESC).
    indexes: Vec<u8>,
    ignores_duplicates: bool,
    trigger: bool,
    rows: i64,
    /// The first has all rows.
    partitions: i32,
    recovery_model: u8,
    /// `sys.columns.is_nullable` of all columns.
    nullable: bool,
    /// A result tells its columns, whatever the catalogue knows.
    is_temporary: bool,
    /// `id` is encrypted by a key of another database, `name` by one of its own. Servers before 2016 lack the columns.
    is_encrypted: bool,
}

const HEAP: Target = Target {
    exists: true,
    indexes: Vec::new(),
    ignores_duplicates: false,
    trigger: false,
    rows: 0,
    partitions: 1,
    recovery_model: 3,
    nullable: true,
    is_temporary: false,
    is_encrypted: false,
};

const ENCRYPTION: [&str; 5] = [
    "encryption_type",
    "encryption_type_desc",
    "encryption_algorithm_name",
    "column_encryption_key_id",
    "column_encryption_key_database_name",
];

/// What the catalogue says of a column's encryption.
fn encryption(column: &str) -> Vec<Value> {
    let algorithm = || text("AEAD_AES_256_CBC_HMAC_SHA_256");
    match column {
        "id" => vec![Value::Int(2), text("RANDOMIZED"), algorithm(), Value::Int(7), text("vault")],
        "name" => vec![Value::Int(1), text("DETERMINISTIC"), algorithm(), Value::Int(1), Value::Null],
        _ => vec![Value::Null; 5],
    }
}

fn catalogue(target: &Target) -> Vec<u8> {
    let objects = match target.exists {
        true => vec![vec![text("dbo"), text("t"), text("U ")]],
        false => vec![],
    };
    let column = |id: i32, name: &str, type_name: &str, identity, computed, default: i32| {
        let mut row = vec![
            Value::Int(id),
            text(name),
            text(type_name),
            Value::Bit(target.nullable),
            Value::Bit(identity),
            Value::Bit(computed),
            Value::Null,
            Value::Int(default),
        ];
        if target.is_encrypted {
            row.extend(encryption(name));
        }
        row
    };
    let mut column_names = vec![
        "column_id",
        "name",
        "type_name",
        "is_nullable",
        "is_identity",
        "is_computed",
        "collation_name",
        "default_object_id",
    ];
    if target.is_encrypted {
        column_names.extend(ENCRYPTION);
    }
    let columns = vec![
        column(1, "id", "int", true, false, 0),
        column(2, "name", "nvarchar", false, false, 77),
        column(3, "total", "int", false, true, 0),
        column(4, "ver", "timestamp", false, false, 0),
    ];
    let index = |id: usize, kind: u8| {
        let flag = Value::Bit(id == 1);
        let unique =
            [flag.clone(), flag, Value::Bit(false), Value::Bit(false), Value::Bit(target.ignores_duplicates)];
        [vec![Value::Int(id as i32), text(&format!("ix{id}")), Value::TinyInt(kind)], unique.to_vec()]
            .concat()
    };
    let mut indexes: Vec<Vec<Value>> =
        target.indexes.iter().enumerate().map(|(at, kind)| index(at + 1, *kind)).collect();
    if !target.indexes.iter().any(|kind| matches!(kind, 1 | 5)) {
        indexes.insert(0, index(0, 0));
    }
    let keys = vec![
        vec![Value::Int(1), text("id"), Value::TinyInt(1), Value::Bit(false)],
        vec![Value::Int(1), text("name"), Value::TinyInt(2), Value::Bit(true)],
    ];
    let trigger = vec![vec![text("tr"), Value::Bit(false), Value::Bit(false)]];
    let check = vec![vec![text("ck"), Value::Bit(false), Value::Bit(true)]];
    let constraint_names = ["name", "is_disabled", "is_not_trusted"];
    let mut all: Vec<u8> = [
        result(&["schema_name", "table_name", "object_type"], &objects),
        result(&column_names, &columns),
        result(
            &[
                "index_id",
                "name",
                "type",
                "is_unique",
                "is_primary_key",
                "is_unique_constraint",
                "is_disabled",
                "ignore_dup_key",
            ],
            &indexes,
        ),
        result(&["index_id", "name", "key_ordinal", "is_descending_key"], &keys),
        result(
            &["name", "is_disabled", "is_instead_of_trigger"],
            if target.trigger { &trigger } else { &[] },
        ),
        result(&constraint_names, if target.trigger { &check } else { &[] }),
        result(&constraint_names, &[]),
        result(
            &["index_id", "partition_number", "rows"],
            &(1..=target.partitions)
                .map(|number| {
                    let rows = if number == 1 { target.rows } else { 0 };
                    vec![Value::Int(1), Value::Int(number), Value::BigInt(rows)]
                })
                .collect::<Vec<_>>(),
        ),
        result(
            &["name", "recovery_model", "collation_name", "compatibility_level"],
            &[vec![
                text("db"),
                Value::TinyInt(target.recovery_model),
                text("Latin1_General_CI_AS"),
                Value::TinyInt(160),
            ]],
        ),
    ]
    .concat();
    if target.exists || target.is_temporary {
        all.extend(table_columns());
    } else {
        all.extend(support::error(208, 1, 16, "Invalid object name 'nope'."));
        all.extend(done(0x02, 0xC1, 0));
    }
    all
}

fn table_columns() -> Vec<u8> {
    let mut computed = Column::new("total", SqlType::Int, true, None);
    computed.flags.0 |= 0x20;
    let columns = [
        Column::new("id", SqlType::Int, false, None),
        Column::new("name", SqlType::NVarChar { length: Length::Units(20) }, true, COLLATION),
        computed,
        Column::new("ver", SqlType::RowVersion, false, None),
    ];
    let mut w = Writer::new();
    w.u8(0x81);
    encode_columns(Some(&columns), &mut w, Direction::ServerToClient);
    let mut bytes = w.finish().unwrap();
    bytes.extend(done(0x10, 0xC1, 0));
    bytes
}

fn describe(target: &Target, name: &str) -> (Client, Result<TableDescription, Error>, Vec<String>) {
    describe_by(vec![catalogue(target)], name)
}

/// A server that answers batches so, one after another.
fn answering(answers: Vec<Vec<u8>>) -> Server<Vec<String>> {
    Server::start(move |mut peer| {
        peer.log_in();
        let mut asked = Vec::new();
        for answer in &answers {
            let Some(message) = peer.message() else { break };
            assert_eq!(message.packet_type, PacketType::SqlBatch);
            asked.push(message.sql());
            // Larger than a packet: answers of any length are cut.
            peer.reply(answer);
        }
        asked
    })
}

fn describe_by(answers: Vec<Vec<u8>>, name: &str) -> (Client, Result<TableDescription, Error>, Vec<String>) {
    let server = answering(answers);
    let mut client = server.client();
    let description = client.describe(&name.parse().unwrap());
    // The scripted server reads on until the client is gone, or has had its request.
    match description.is_ok() {
        true => (client, description, server.join()),
        false => (client, description, Vec::new()),
    }
}

fn schema(names: &[&str]) -> Schema {
    let field = |name: &&str| match *name {
        "name" => Field::new(*name, DataType::Utf8, true),
        _ => Field::new(*name, DataType::Int32, false),
    };
    Schema::new(names.iter().map(field).collect::<Vec<_>>())
}

/// The choices as `setting=value`.
fn choices(target: &Target, options: &LoadOptions) -> Vec<String> {
    let (client, description, _) = describe(target, "t");
    let plan = LoadPlan::new(&client, &description.unwrap(), &schema(&["name"]), options).unwrap();
    assert!(plan.choices.iter().all(|choice| !choice.reason.is_empty()), "{plan}");
    plan.choices.into_iter().map(|choice| format!("{}={}", choice.setting, choice.value)).collect()
}

#[test]
fn a_temporary_table_that_the_catalogue_lacks_is_a_heap() {
    let (_, description, asked) = describe(&Target { exists: false, is_temporary: true, ..HEAP }, "#t");
    let description = description.unwrap();
    assert_eq!((description.name.to_string().as_str(), description.storage), ("[#t]", Storage::Heap));
    assert!(asked[0].ends_with("SELECT TOP 0 * FROM [#t]"), "{}", asked[0]);
    assert_eq!(description.columns.len(), 4);
}

#[test]
fn what_the_catalogue_forbids_is_not_nullable_whatever_a_result_says() {
    let target = Target { nullable: false, ..HEAP };
    let (_, description, _) = describe(&target, "t");
    let name = &description.unwrap().columns[1];
    // Its column comes with the flag.
    assert!(!name.column.flags.is_nullable());
    let (_, description, _) = describe(&HEAP, "t");
    let columns = description.unwrap().columns;
    let nullable: Vec<bool> = columns.iter().map(|column| column.column.flags.is_nullable()).collect();
    assert_eq!(nullable, [false, true, true, false]);
}

/// What the catalogue says of three partitions by `id`, and of an index that is not divided so.
fn partitions(is_right: bool) -> Vec<u8> {
    let space = |id: i32, index: &str, function: Value, name: &str| {
        let scheme = if function.is_null() { Value::Null } else { text("ids") };
        vec![Value::Int(id), text(index), scheme, text(name), function, Value::Bit(is_right), text("id")]
    };
    let names = [
        "index_id",
        "index_name",
        "scheme_name",
        "function_name",
        "function_id",
        "boundary_value_on_right",
        "column_name",
    ];
    let mut all = [
        result(&names, &[space(1, "ix1", Value::Int(65_536), "by_id"), space(2, "ix2", Value::Null, "")]),
        result(
            &["boundary_id", "value"],
            &[vec![Value::Int(1), Value::Int(10)], vec![Value::Int(2), Value::Int(20)]],
        ),
    ]
    .concat();
    all.extend(done(0x00, 0xC1, 0));
    all
}

#[test]
fn partitions_are_described_by_one_more_request() {
    let target = Target { indexes: vec![1, 2], rows: 7, partitions: 3, ..HEAP };
    let (_, description, asked) = describe_by(vec![catalogue(&target), partitions(true)], "t");
    let description = description.unwrap();
    assert_eq!((asked.len(), description.partitions, description.rows), (2, 3, 7));
    let partitioning = description.partitioning.unwrap();
    assert_eq!(partitioning.shown(), "3 partitions by [id] (RANGE RIGHT, function by_id, scheme ids)");
    assert_eq!(partitioning.boundaries, [Value::Int(10), Value::Int(20)]);
    assert_eq!((partitioning.rows, partitioning.unaligned_indexes), (vec![7, 0, 0], vec!["ix2".to_owned()]));
    let (_, description, asked) = describe(&Target { partitions: 1, ..target }, "t");
    assert_eq!((asked.len(), description.unwrap().partitioning), (1, None));
}

#[test]
fn a_server_that_does_not_tell_its_partitions_is_loaded_all_the_same() {
    let target = Target { indexes: vec![1], partitions: 3, ..HEAP };
    let mut refused = support::error(208, 1, 16, "Invalid object name 'sys.partition_schemes'.");
    refused.extend(done(0x02, 0xC1, 0));
    let (client, description, _) = describe_by(vec![catalogue(&target), refused], "t");
    let description = description.unwrap();
    assert_eq!((description.partitions, &description.partitioning), (3, &None));
    let options = LoadOptions::default().with_writers(Some(4));
    let plan = LoadPlan::new(&client, &description, &schema(&["name"]), &options).unwrap().to_string();
    let why = "writers may meet in a partition: the catalogue does not say how the table is partitioned";
    assert!(plan.contains(why), "{plan}");
}

#[test]
fn writers_of_a_partitioned_table_are_as_many_as_its_partitions() {
    let target = Target { indexes: vec![1], partitions: 3, ..HEAP };
    let plan = |options: &LoadOptions| {
        let (client, description, _) = describe_by(vec![catalogue(&target), partitions(false)], "t");
        LoadPlan::new(&client, &description.unwrap(), &schema(&["id", "name"]), options).unwrap()
    };
    let auto = LoadOptions { keep_identity: true, ..LoadOptions::default() }.with_writers(None);
    let planned = plan(&auto);
    assert!(planned.routes && !planned.hints.table_lock);
    assert_eq!(planned.writers_max, 3);
    assert!(planned.writers_reason.starts_with("a writer a partition"), "{}", planned.writers_reason);
    // Without routing, one writer builds the empty table under a table lock.
    let shared = plan(&LoadOptions { by_partition: Some(false), ..auto });
    assert_eq!((shared.routes, shared.hints.table_lock, shared.writers_max), (false, true, 1));
}

#[test]
fn a_table_is_described_from_the_catalogue() {
    let target = Target { indexes: vec![1, 2], trigger: true, rows: 1234, recovery_model: 1, ..HEAP };
    let (_, description, asked) = describe(&target, "d.dbo.t");
    let description = description.unwrap();
    assert_eq!(description.name.to_string(), "[d].[dbo].[t]");
    assert_eq!(
        (description.storage, description.rows, description.partitions),
        (Storage::Clustered, 1234, 1)
    );
    assert_eq!(
        description.clustered_index().unwrap().key,
        [("id".to_owned(), false), ("name".to_owned(), true)]
    );
    assert_eq!(description.secondary_indexes().count(), 1);
    let flags: Vec<_> = description
        .columns
        .iter()
        .map(|c| (c.is_identity, c.is_computed, c.is_rowversion, c.has_default))
        .collect();
    assert_eq!(
        flags,
        [
            (true, false, false, false),
            (false, false, false, true),
            (false, true, false, false),
            (false, false, true, false)
        ]
    );
    assert_eq!(description.triggers.len(), 1);
    assert!(description.constraints[0].is_not_trusted && !description.constraints[0].is_foreign_key);
    assert_eq!(description.database.recovery_model, Some(RecoveryModel::Full));
    assert_eq!(description.loadable_columns(false).len(), 1);
    assert_eq!(description.loadable_columns(true).len(), 2);
    assert!(
        asked[0].contains("FROM [d].sys.columns") && asked[0].contains("OBJECT_ID(N'[d].[dbo].[t]')"),
        "{}",
        asked[0]
    );
    assert!(asked[0].ends_with("SELECT TOP 0 * FROM [d].[dbo].[t]"), "{}", asked[0]);
}

/// The rows of `sys.column_encryption_keys`.
fn keys(rows: &[(i32, &str)]) -> Vec<u8> {
    let rows: Vec<_> = rows.iter().map(|(id, name)| vec![Value::Int(*id), text(name)]).collect();
    let mut answer = result(&["column_encryption_key_id", "name"], &rows);
    answer.extend(done(0, 0xC1, 0));
    answer
}

#[test]
fn encrypted_columns_are_named_with_their_keys() {
    let target = Target { is_encrypted: true, ..HEAP };
    let answers = vec![
        catalogue(&target),
        keys(&[(1, "of_vault"), (7, "cek_vault")]),
        keys(&[(1, "cek"), (7, "other")]),
    ];
    let (client, description, asked) = describe_by(answers, "d.dbo.t");
    let description = description.unwrap();
    assert_eq!(
        description.encrypted_columns_shown().unwrap(),
        "id encrypted (randomized, key cek_vault of database vault), name encrypted (deterministic, key cek)"
    );
    let name = description.columns[1].encryption.as_ref().unwrap();
    assert_eq!((name.algorithm.as_str(), name.key_id), ("AEAD_AES_256_CBC_HMAC_SHA_256", 1));
    assert!(description.columns[2].encryption.is_none());
    let from = |sql: &str| sql.rsplit(' ').next().unwrap().to_owned();
    assert_eq!(
        [from(&asked[1]), from(&asked[2])],
        ["[vault].sys.column_encryption_keys", "[d].sys.column_encryption_keys"]
    );

    let plan = |allowed| {
        let options = LoadOptions { allow_encrypted_values: allowed, ..LoadOptions::default() };
        LoadPlan::new(&client, &description, &schema(&["name"]), &options).unwrap().to_string()
    };
    assert!(plan(false).contains("name encrypted (deterministic, key cek)"), "{}", plan(false));
    assert!(plan(false).contains("--allow-encrypted-values loads ciphertext"), "{}", plan(false));
    assert!(plan(true).contains("stored as the ciphertext that they are"), "{}", plan(true));
}

#[test]
fn keys_that_may_not_be_seen_have_their_numbers() {
    let mut denied = support::error(229, 5, 14, "The SELECT permission was denied.");
    denied.extend(done(0x02, 0xC1, 0));
    let target = Target { is_encrypted: true, ..HEAP };
    let (_, description, _) = describe_by(vec![catalogue(&target), denied, keys(&[])], "t");
    assert_eq!(
        description.unwrap().encrypted_columns_shown().unwrap(),
        "id encrypted (randomized, key number 7 of database vault), name encrypted (deterministic, key number 1)"
    );
}

#[test]
fn encrypted_columns_alone_are_asked_of_any_server() {
    let names = [&["name"], ENCRYPTION.as_slice()].concat();
    let row = |name: &str| [vec![text(name)], encryption(name)].concat();
    let mut columns = result(&names, &[row("id"), row("name"), row("total")]);
    columns.extend(done(0, 0xC1, 0));
    let server = answering(vec![columns, keys(&[(7, "cek_vault")]), keys(&[(1, "cek")])]);
    let mut client = server.client();
    let found = encrypted_columns(&mut client, &"dbo.t".parse().unwrap()).unwrap();
    let found: Vec<String> = found.iter().map(|(name, how)| format!("{name} {how}")).collect();
    assert_eq!(
        found,
        [
            "id encrypted (randomized, key cek_vault of database vault)",
            "name encrypted (deterministic, key cek)"
        ]
    );
    assert_eq!(server.join().len(), 3);
    // SQL Server 2014, which lacks the columns of the view, and a server that lacks the view.
    let mut old = result(&["name"], &[vec![text("id")]]);
    old.extend(done(0, 0xC1, 0));
    let mut foreign = support::error(208, 1, 16, "Invalid object name 'sys.columns'.");
    foreign.extend(done(0x02, 0xC1, 0));
    for answer in [old, foreign] {
        let server = answering(vec![answer]);
        let found = encrypted_columns(&mut server.client(), &"dbo.t".parse().unwrap()).unwrap();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(server.join().len(), 1);
    }
}

#[test]
fn a_missing_table_is_an_error() {
    let (_, description, _) = describe(&Target { exists: false, ..HEAP }, "nope");
    let error = description.unwrap_err();
    assert_eq!(
        error.to_string(),
        "table [nope] does not exist in database master, or this login may not see it"
    );
}

#[test]
fn plans_follow_the_target() {
    let options = LoadOptions::default();
    let cases: [(Target, &[&str]); 6] = [
        (
            HEAP,
            &[
                "target=[dbo].[t] (heap)",
                "TABLOCK=on",
                "logging=minimal",
                "batch rows=500,000",
                "ORDER=none",
                "count check=exact",
            ],
        ),
        (Target { recovery_model: 1, ..HEAP }, &["TABLOCK=on", "logging=full"]),
        (Target { indexes: vec![1], ..HEAP }, &["TABLOCK=on", "logging=partly minimal"]),
        (Target { indexes: vec![1], rows: 5, ..HEAP }, &["TABLOCK=off"]),
        (Target { indexes: vec![5], ..HEAP }, &["TABLOCK=off", "batch rows=1,048,576", "logging=minimal"]),
        (
            Target { indexes: vec![1], ignores_duplicates: true, trigger: true, ..HEAP },
            &[
                "count check=at most",
                "CHECK_CONSTRAINTS=off",
                "FIRE_TRIGGERS=off",
                "KEEP_NULLS=off",
                "keep identity=off",
            ],
        ),
    ];
    for (target, expected) in cases {
        let chosen = choices(&target, &options);
        for choice in expected {
            assert!(chosen.iter().any(|c| c == choice), "{choice} is not among {chosen:?}");
        }
    }
}

#[test]
fn several_connections_never_wait_for_a_table_lock_of_their_own() {
    let key = vec![("id".to_owned(), false), ("name".to_owned(), true)];
    let planned = |indexes: &[u8], rows: i64, writers: Option<usize>, options: LoadOptions| {
        let target = Target { indexes: indexes.to_vec(), rows, ..HEAP };
        let (client, description, _) = describe(&target, "t");
        let options = options.with_writers(writers);
        let plan = LoadPlan::new(&client, &description.unwrap(), &schema(&["name"]), &options).unwrap();
        (plan.hints.table_lock, plan.writers_max, plan.writers_reason)
    };
    let plain = LoadOptions::default;
    let sorted = || LoadOptions { order: key.clone(), ..LoadOptions::default() };
    let locked = || LoadOptions { table_lock: Some(true), ..LoadOptions::default() };
    // One connection, and as many as pay, build an empty tree under a table lock, unless each batch has a range of its own.
    let (lock, most, reason) = planned(&[1], 0, None, plain());
    assert!(lock && most == 1 && reason.contains("heap-then-key"), "{reason}");
    assert!(planned(&[1], 0, Some(1), sorted()).0);
    let (lock, most, reason) = planned(&[1], 0, None, sorted());
    assert!(!lock && most > 1 && reason.contains("range of the key"), "{reason}");
    // A number that is asked for is not queued behind a lock.
    assert!(!planned(&[1], 0, Some(8), plain()).0);
    assert!(!planned(&[2], 0, Some(8), plain()).0);
    let (lock, most, reason) = planned(&[1], 5, None, plain());
    assert!(!lock && most > 1 && reason.contains("victim"), "{reason}");
    let (lock, most, _) = planned(&[1], 5, None, locked());
    assert!(lock && most == 1);
    let (lock, most, _) = planned(&[], 0, Some(8), plain());
    assert!(lock && most > 1, "a bulk-update lock is shared");
}

#[test]
fn every_choice_can_be_overridden() {
    let options = LoadOptions {
        batch_rows: Some(7),
        table_lock: Some(false),
        check_constraints: true,
        fire_triggers: true,
        keep_nulls: true,
        order: vec![("id".to_owned(), false), ("name".to_owned(), true)],
        transaction: bulkwire_load::BatchTransaction::Autocommit,
        ..LoadOptions::default()
    };
    let (client, description, _) = describe(&Target { indexes: vec![1], ..HEAP }, "t");
    let plan = LoadPlan::new(&client, &description.unwrap(), &schema(&["name"]), &options).unwrap();
    assert_eq!(
        plan.statement(),
        "INSERT BULK [dbo].[t] ([name] nvarchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS) \
         WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS, ROWS_PER_BATCH = 7, ORDER ([id] ASC, [name] DESC))"
    );
    let printed = plan.to_string();
    assert!(printed.contains("as asked; it is the clustered key"), "{printed}");
}

#[test]
fn identity_values_are_kept_or_refused_never_dropped() {
    let (client, description, _) = describe(&HEAP, "t");
    let description = description.unwrap();
    let plan =
        |options: &LoadOptions| LoadPlan::new(&client, &description, &schema(&["id", "name"]), options);
    assert!(matches!(plan(&LoadOptions::default()), Err(Error::Identity { column }) if column == "id"));
    let kept = plan(&LoadOptions { keep_identity: true, ..LoadOptions::default() }).unwrap();
    assert!(
        kept.statement().starts_with("INSERT BULK [dbo].[t] ([id] int, [name] nvarchar(20)"),
        "{}",
        kept.statement()
    );
}
