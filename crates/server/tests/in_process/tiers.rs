//! Service tiers: the options that set them, and the utilisation that they show.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answers::{answer, login};
use crate::instances::empty;
use executor::session::Session;
use executor::statements::open_session;

/// A sample is of 15 seconds: without one after so many there is none.
const PATIENCE: Duration = Duration::from_secs(180);

async fn lines(session: &mut Session, batch: &str) -> Vec<String> {
    let lines = answer(session, batch).await;
    lines.into_iter().filter(|line| !line.starts_with('[') && !line.starts_with("affected")).collect()
}

/// Asks until the answer is yes.
async fn until(session: &mut Session, query: &str) {
    let began = Instant::now();
    while lines(session, query).await != ["yes"] {
        assert!(began.elapsed() < PATIENCE, "{query}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn utilisation_has_a_row_for_fifteen_seconds_and_follows_the_load() {
    let instance = Arc::new(empty());
    let mut session = open_session(Arc::clone(&instance), login(51)).unwrap();
    let prepared = "ALTER DATABASE CURRENT SET RECOVERY FULL
         ALTER DATABASE CURRENT MODIFY (SERVICE_OBJECTIVE = 'P3')
         CREATE TABLE t (id int NOT NULL, filler char(200) NOT NULL)
         INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 20000)";
    assert_eq!(lines(&mut session, prepared).await, [""; 0]);
    until(&mut session, "SELECT 'yes' FROM sys.dm_db_resource_stats HAVING SUM(avg_log_write_percent) > 0")
        .await;
    // Without load the newest sample is one of nothing.
    until(
        &mut session,
        "SELECT 'yes' FROM (SELECT TOP 1 * FROM sys.dm_db_resource_stats ORDER BY end_time DESC) s WHERE avg_log_write_percent = 0",
    )
    .await;
    // 20,000 rows of 211 bytes and a slot are 4.2 MB of log, fully logged; P3 allows 365.2 MiB a minute, of which 15 seconds are a quarter.
    let shown = lines(
        &mut session,
        "SELECT CASE WHEN SUM(avg_log_write_percent) BETWEEN 4.0 AND 9.0 THEN 'as much' ELSE CAST(SUM(avg_log_write_percent) AS varchar(20)) END, MIN(dtu_limit), MAX(dtu_limit), COUNT(cpu_limit),
           CASE WHEN MAX(avg_cpu_percent) <= 110 AND MAX(avg_memory_usage_percent) BETWEEN 0 AND 100 THEN 'shares' END FROM sys.dm_db_resource_stats",
    )
    .await;
    assert_eq!(shown, ["as much | 800 | 800 | 0 | shares"]);
    let ends = "SELECT COUNT(*) FROM sys.dm_db_resource_stats a JOIN sys.dm_db_resource_stats b ON b.end_time > a.end_time AND b.end_time < DATEADD(second, 14, a.end_time)";
    assert_eq!(lines(&mut session, ends).await, ["0"]);
}
