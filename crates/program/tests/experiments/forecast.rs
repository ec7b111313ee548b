//! What a load takes against what was forecast: pages and log, over the AdventureWorks tables, lineitem and the table of eleven columns.
//! `--nocapture` prints forecast, truth and error of each.

use std::path::Path;
use std::time::Duration;

use crate::served::Served;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bulkwire_bench::{adventure_works, eleven_columns, lineitem::LineItem};
use formats::{Compression, Location};
use load::forecast::{Batches, Circumstances, Forecast};
use load::{Client, Forecaster, LoadOptions, LoadPlan, TableName};

/// The shares by which sizes and log may be wrong.
const SIZE_ERROR: f64 = 0.05;
const LOG_ERROR: f64 = 0.10;
/// Sizes below which a relative error says nothing, in bytes: a page, and a few blocks of log.
const SIZE_LITTLE: f64 = 8192.0;
const LOG_LITTLE: f64 = 4096.0;

/// A forecast and what then happened.
struct Compared {
    name: String,
    bytes: (f64, f64),
    log: (f64, f64),
}

impl Compared {
    fn size_error(&self) -> f64 {
        (self.bytes.0 - self.bytes.1) / self.bytes.1.max(1.0)
    }

    fn log_error(&self) -> f64 {
        (self.log.0 - self.log.1) / self.log.1.max(1.0)
    }

    fn is_right(&self) -> bool {
        let size =
            self.size_error().abs() <= SIZE_ERROR || (self.bytes.0 - self.bytes.1).abs() <= SIZE_LITTLE;
        let log = self.log_error().abs() <= LOG_ERROR || (self.log.0 - self.log.1).abs() <= LOG_LITTLE;
        size && log
    }
}

fn number(client: &mut Client, sql: &str) -> f64 {
    let tables = client.query_values(sql).unwrap();
    tables[0].rows[0][0].to_string().parse().unwrap()
}

fn log_flushed(client: &mut Client) -> f64 {
    number(
        client,
        "SELECT cntr_value FROM sys.dm_os_performance_counters \
         WHERE counter_name = 'Log Bytes Flushed/sec' AND instance_name = DB_NAME()",
    )
}

fn used_bytes(client: &mut Client, table: &str) -> f64 {
    let sql = format!(
        "SELECT SUM(used_page_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('{table}')"
    );
    8192.0 * number(client, &sql)
}

/// Forecasts a load into an empty table, and loads.
fn compare(
    client: &mut Client,
    name: &str,
    table: &str,
    batches: &[RecordBatch],
    options: &LoadOptions,
    sample: usize,
) -> (Compared, Forecast) {
    let schema = batches.first().map_or_else(|| Schema::empty().into(), RecordBatch::schema);
    let target = client.describe(&table.parse::<TableName>().unwrap()).unwrap();
    let plan = LoadPlan::new(client, &target, &schema, options).unwrap();
    // The forecast asks when the next one comes.
    client.execute("CHECKPOINT").unwrap();
    let mut forecaster = Forecaster::new(client, &plan).unwrap();
    for batch in batches.iter().take(sample) {
        assert!(forecaster.take(batch), "{name}: the whole source is small");
    }
    let circumstances = Circumstances {
        rows_total: Some(batches.iter().map(|batch| batch.num_rows() as u64).sum()),
        batches: Batches::Fixed(plan.batch_rows),
        empties: false,
        reading: Duration::from_millis(1),
        may_probe: false,
    };
    let forecast = forecaster.forecast(client, &circumstances);
    assert_eq!(forecast.rows_unfit, 0, "{name}");
    let before = log_flushed(client);
    let rows = batches.iter().cloned().map(Ok::<_, std::io::Error>);
    let report = load::load(client, &plan, rows, &mut |_| {}).unwrap();
    let logged = log_flushed(client) - before;
    assert_eq!(report.rows, forecast.rows, "{name}");
    let bytes = (forecast.bytes() as f64, used_bytes(client, table));
    let log = (forecast.log_bytes as f64, logged);
    (Compared { name: name.to_owned(), bytes, log }, forecast)
}

/// Prints all, and fails if one is wrong.
fn judge(all: &[Compared]) {
    println!(
        "{:46} {:>12} {:>12} {:>7} {:>12} {:>12} {:>7}",
        "table", "bytes", "truth", "error", "log", "truth", "error"
    );
    for compared in all {
        let Compared { name, bytes, log } = compared;
        println!(
            "{name:46} {:>12} {:>12} {:>6.1}% {:>12} {:>12} {:>6.1}%{}",
            bytes.0,
            bytes.1,
            100.0 * compared.size_error(),
            log.0,
            log.1,
            100.0 * compared.log_error(),
            if compared.is_right() { "" } else { "  <--" }
        );
    }
    let wrong: Vec<&str> = all.iter().filter(|of| !of.is_right()).map(|of| of.name.as_str()).collect();
    assert!(wrong.is_empty(), "wrong by more than they may: {wrong:?}");
}

/// A database of this recovery model, and a connection to it.
fn database(server: &Served, model: &str) -> Client {
    let name = format!("forecast_{model}");
    let mut client = server.client();
    client.execute(&format!("CREATE DATABASE {name}")).unwrap();
    client.execute(&format!("ALTER DATABASE {name} SET RECOVERY {model}")).unwrap();
    client.execute(&format!("USE {name}")).unwrap();
    // The first checkpoint and the first table of a database come with work of their own.
    client.execute("CREATE TABLE dbo.first_one (n int); INSERT INTO dbo.first_one VALUES (1)").unwrap();
    client
}

#[test]
fn adventure_works_tables_take_what_was_forecast() {
    let folder = Path::new("../../testdata/adventureworks-dw");
    let server = Served::in_memory();
    let mut all = Vec::new();
    for model in ["SIMPLE", "FULL"] {
        let mut client = database(&server, model);
        for (name, table) in adventure_works::tables(folder).unwrap() {
            client.execute(&table.create_table(&name)).unwrap();
            let format = table.file_format();
            let location = Location::Path(folder.join(&table.file));
            let reader = formats::open(&location, &format, Compression::None, 65_536).unwrap();
            let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let options = LoadOptions { keep_identity: true, ..LoadOptions::default() };
            let quoted = format!("dbo.[{name}]");
            all.push(
                compare(&mut client, &format!("{model} {name}"), &quoted, &batches, &options, usize::MAX).0,
            );
        }
    }
    judge(&all);
}

/// Structures of tables: name, and statements with `{t}` for the table.
const SCHEMAS: [(&str, &str); 12] = [
    ("heap", ""),
    ("heap, ROW", "ALTER TABLE {t} REBUILD WITH (DATA_COMPRESSION = ROW)"),
    ("heap, PAGE", "ALTER TABLE {t} REBUILD WITH (DATA_COMPRESSION = PAGE)"),
    ("heap and index", "CREATE INDEX i ON {t} ({text})"),
    (
        "heap and two indexes",
        "CREATE UNIQUE INDEX i ON {t} ({unique}); CREATE INDEX j ON {t} ({number}) INCLUDE ({text})",
    ),
    ("clustered, unique", "CREATE UNIQUE CLUSTERED INDEX c ON {t} ({unique})"),
    ("clustered, with doubles", "CREATE CLUSTERED INDEX c ON {t} ({few})"),
    ("clustered by numbers, 70 %", "CREATE CLUSTERED INDEX c ON {t} ({number}) WITH (FILLFACTOR = 70)"),
    (
        "clustered, ROW, index",
        "CREATE UNIQUE CLUSTERED INDEX c ON {t} ({unique}) WITH (DATA_COMPRESSION = ROW); CREATE INDEX i ON {t} ({text}) WITH (DATA_COMPRESSION = ROW)",
    ),
    ("clustered, PAGE", "CREATE UNIQUE CLUSTERED INDEX c ON {t} ({unique}) WITH (DATA_COMPRESSION = PAGE)"),
    (
        "clustered by doubles, PAGE, index PAGE",
        "CREATE CLUSTERED INDEX c ON {t} ({few}) WITH (DATA_COMPRESSION = PAGE); CREATE INDEX i ON {t} ({number}) INCLUDE ({few}) WITH (DATA_COMPRESSION = PAGE)",
    ),
    (
        "clustered and three indexes",
        "CREATE UNIQUE CLUSTERED INDEX c ON {t} ({unique}); CREATE INDEX i ON {t} ({text}); CREATE INDEX j ON {t} ({few}, {number}) WITH (FILLFACTOR = 80); CREATE INDEX k ON {t} ({number} DESC) WHERE {number} IS NOT NULL",
    ),
];

/// Names of columns for the places in [`SCHEMAS`].
struct Places<'a> {
    text: &'a str,
    unique: &'a str,
    number: &'a str,
    few: &'a str,
}

fn in_twelve_schemas(
    create: impl Fn(&str) -> String,
    places: &Places<'_>,
    batches: &[RecordBatch],
    batch_rows: Option<u64>,
    sample: usize,
) -> Vec<Compared> {
    let server = Served::in_memory();
    let mut all = Vec::new();
    for model in ["SIMPLE", "FULL"] {
        let mut client = database(&server, model);
        for (number, (name, statements)) in SCHEMAS.iter().enumerate() {
            let table = format!("dbo.t{number}");
            client.execute(&create(&table)).unwrap();
            let statements = statements
                .replace("{t}", &table)
                .replace("{text}", places.text)
                .replace("{unique}", places.unique)
                .replace("{number}", places.number)
                .replace("{few}", places.few);
            if !statements.is_empty() {
                client.execute(&statements).unwrap();
            }
            let options = LoadOptions { batch_rows, ..LoadOptions::default() };
            all.push(compare(&mut client, &format!("{model} {name}"), &table, batches, &options, sample).0);
            client.execute(&format!("DROP TABLE {table}")).unwrap();
        }
    }
    all
}

const ELEVEN: Places<'_> = Places { text: "col_str2", unique: "id", number: "col_bigint", few: "col_date" };

#[test]
fn eleven_columns_take_what_was_forecast_in_twelve_schemas() {
    let batches: Vec<RecordBatch> = eleven_columns::batches(16_384, 4096).map(Result::unwrap).collect();
    judge(&in_twelve_schemas(eleven_columns::create_table, &ELEVEN, &batches, None, usize::MAX));
}

#[test]
fn lineitem_takes_what_was_forecast_in_twelve_schemas() {
    let create = |name: &str| {
        format!(
            "CREATE TABLE {name} (l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL, \
             l_linenumber int NOT NULL, l_quantity decimal(15, 2), l_extendedprice decimal(15, 2), l_discount decimal(15, 2), \
             l_tax decimal(15, 2), l_returnflag nvarchar(1), l_linestatus nvarchar(1), l_shipdate date, l_commitdate date, \
             l_receiptdate date, l_shipinstruct nvarchar(25), l_shipmode nvarchar(10), l_comment nvarchar(44))"
        )
    };
    let places = Places {
        text: "l_comment",
        unique: "l_orderkey, l_linenumber",
        number: "l_partkey",
        few: "l_shipdate",
    };
    let batches: Vec<RecordBatch> = LineItem::new(16_384, 4096).collect();
    judge(&in_twelve_schemas(create, &places, &batches, None, usize::MAX));
}

#[test]
fn a_sample_of_the_rows_says_about_as_much() {
    let batches: Vec<RecordBatch> = eleven_columns::batches(16_384, 4096).map(Result::unwrap).collect();
    judge(&in_twelve_schemas(eleven_columns::create_table, &ELEVEN, &batches, None, 2));
}

/// Later batches are put between the rows of those before, page by page, and a checkpoint between them has pages logged once more.
#[test]
fn several_batches_are_reckoned_with() {
    let batches: Vec<RecordBatch> = eleven_columns::batches(16_384, 4096).map(Result::unwrap).collect();
    judge(&in_twelve_schemas(eleven_columns::create_table, &ELEVEN, &batches, Some(4096), usize::MAX));
}

#[test]
fn the_log_of_several_writers_has_a_range_where_their_order_matters() {
    let server = Served::in_memory();
    let mut client = database(&server, "FULL");
    let batches: Vec<RecordBatch> = eleven_columns::batches(16_384, 4096).map(Result::unwrap).collect();
    let mut forecast = |table: &str, key: &str, batches_of: Batches| {
        client.execute(&eleven_columns::create_table(table)).unwrap();
        client.execute(key).unwrap();
        let target = client.describe(&table.parse::<TableName>().unwrap()).unwrap();
        let plan = LoadPlan::new(&client, &target, &batches[0].schema(), &LoadOptions::default()).unwrap();
        let mut forecaster = Forecaster::new(&mut client, &plan).unwrap();
        assert!(batches.iter().all(|batch| forecaster.take(batch)));
        let circumstances = Circumstances {
            rows_total: None,
            batches: batches_of,
            empties: false,
            reading: Duration::from_millis(1),
            may_probe: false,
        };
        forecaster.forecast(&mut client, &circumstances)
    };
    let by_key = "CREATE CLUSTERED INDEX c ON dbo.keyed (col_bigint)";
    let keyed = forecast("dbo.keyed", by_key, Batches::Growing);
    let (least, most) = keyed.log_range_bytes.unwrap();
    assert!(least < keyed.log_bytes && keyed.log_bytes <= most, "{least} {} {most}", keyed.log_bytes);
    assert!(keyed.to_string().contains("by how batches of several writers come"), "{keyed}");
    // The largest batch has all of these rows.
    let alone = forecast("dbo.alone", &by_key.replace("keyed", "alone"), Batches::Fixed(1 << 20));
    assert_eq!(alone.log_range_bytes, None);
    assert!(least.abs_diff(alone.log_bytes) < 4096, "{least} {}", alone.log_bytes);
    let heap = forecast("dbo.plain", "SELECT 1", Batches::Growing);
    assert_eq!(heap.log_range_bytes, None);
}
