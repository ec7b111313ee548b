//! arrow-sql-server: record batches straight into bulk load packets.
//!
//! Its default backend (`DirectRawBulk`) with the largest packets, given batches of the size of its own benchmark. It writes no
//! WITH clause, and so the table lock is asked for as its documentation says: by the table's option. Nothing in it reads.

use arrow_sql_server::{
    CompatibilityLevel, MssqlProfile, MssqlVersion, PlanOptions, PlannedSchema, StringPolicy, TableName,
    TimestampPolicy, WriteOptions, connect_mssql_client_from_ado_string,
};

use arrow::datatypes::Schema;

use crate::Failure;
use crate::arguments::{Arguments, Mode};
use crate::meter::{Meter, Report};
use crate::source;

const CLIENT: &str = "arrow-sql-server 0.4.0";
/// Rows of a batch: whole batches of 50,000 are slower, for nothing is sent before a batch is encoded.
const BATCH_ROWS: usize = 8_192;
/// The column whose target is varchar; the others are nvarchar.
const VARCHAR_COLUMN: &str = "col_str2";

pub async fn run(arguments: &Arguments) -> Result<Report, Failure> {
    if arguments.mode == Mode::Read {
        return Err("arrow-sql-server does not read".into());
    }
    let commits = source::commits(arguments)?;
    let schema = commits.iter().flatten().next().ok_or("no rows")?.schema();
    let table = match arguments.table.split_once('.') {
        Some((owner, table)) => TableName::new(owner, table)?,
        None => TableName::unqualified(arguments.table.as_str())?,
    };
    let connection = format!(
        "server=tcp:{},{};user id={};password={{{}}};database={};encrypt={};TrustServerCertificate=true;Packet Size={}",
        arguments.host,
        arguments.port,
        arguments.user,
        arguments.password,
        arguments.database,
        if arguments.encrypt { "true" } else { "DANGER_PLAINTEXT" },
        arguments.packet_size_bytes(),
    );
    let mut client = connect_mssql_client_from_ado_string(&connection).await?;
    client.set_bulk_load_table_lock(&table, true).await?;

    let meter = Meter::start()?;
    let mut rows = 0;
    for batches in &commits {
        let mut writer = client.bulk_writer(table.clone(), plan(&schema)?, WriteOptions::default()).await?;
        for batch in batches {
            for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                let rows = BATCH_ROWS.min(batch.num_rows() - start);
                writer.write_batch(&batch.slice(start, rows)).await?;
            }
        }
        rows += writer.finish().await?.rows_written;
    }
    let mut report = meter.stop(CLIENT.to_owned(), rows)?;
    report.source = Some("arrow");
    Ok(report)
}

/// The plan for the benchmark's table. A policy for strings holds for a whole plan, so the plan of the varchar column comes from
/// a second one.
fn plan(schema: &Schema) -> Result<PlannedSchema, Failure> {
    let profile = MssqlProfile::new(MssqlVersion::SqlServer2022, CompatibilityLevel::SQL_SERVER_2022)?;
    let planned = |string_policy| {
        let timestamp_policy = TimestampPolicy::DateTime2 { precision: 6 };
        let options = PlanOptions { string_policy, timestamp_policy, ..PlanOptions::default() };
        profile.plan_arrow_schema(schema, options).map(|outcome| outcome.into_value())
    };
    let wide = planned(StringPolicy::NVarChar(100))?;
    let narrow = planned(StringPolicy::AsciiVarChar(100))?;
    let (profile, options) = (wide.profile(), wide.plan_options());
    let mappings = wide
        .into_mappings()
        .into_iter()
        .zip(narrow.into_mappings())
        .map(|(wide, narrow)| if wide.arrow().name() == VARCHAR_COLUMN { narrow } else { wide })
        .collect();
    Ok(PlannedSchema::new(profile, options, mappings))
}
