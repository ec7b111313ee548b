//! The machine, transactions by session, and the texts that are kept parsed.

use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::view::{View, bit, int, text};

const HOST_INFO: &str = "
    host_platform nvarchar(256)!
    host_distribution nvarchar(256)!
    host_release nvarchar(256)!
    host_service_pack_level nvarchar(256)! =
    host_sku int
    os_language_version int! = 0
    host_architecture nvarchar(256)!";

const SESSION_TRANSACTIONS: &str = "
    session_id int!
    transaction_id bigint!
    transaction_descriptor binary(8)!
    enlist_count int! = 1
    is_user_transaction bit!
    is_local bit! = 1
    is_enlisted bit! = 0
    is_bound bit! = 0
    open_transaction_count int!";

const CACHED_PLANS: &str = "
    bucketid int! = 0
    refcounts int! = 1
    usecounts int!
    size_in_bytes int!
    memory_object_address varbinary(8)! = 0x01
    cacheobjtype nvarchar(34)! = Compiled Plan
    objtype nvarchar(16)!
    plan_handle varbinary(64)!
    pool_id int! = 1
    parent_plan_handle varbinary(64)";

/// `sys.dm_exec_sql_text`.
pub(super) const SQL_TEXT: &str = "
    dbid smallint
    objectid int
    number smallint
    encrypted bit! = 0
    text text";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("dm_os_host_info", HOST_INFO, |_, view| {
        let platform = match std::env::consts::OS {
            "linux" => "Linux",
            "macos" => "macOS",
            "windows" => "Windows",
            other => other,
        };
        let (name, release) = distribution();
        view.add([
            ("host_platform", text(platform)),
            ("host_distribution", Datum::Text(name.unwrap_or_else(|| platform.to_string()))),
            ("host_release", Datum::Text(release.unwrap_or_default())),
            ("host_architecture", text(if cfg!(target_arch = "x86_64") { "X64" } else { "ARM64" })),
        ]);
    }),
    Entry::new("dm_tran_session_transactions", SESSION_TRANSACTIONS, session_transactions),
    Entry::new("dm_exec_cached_plans", CACHED_PLANS, |context, view| {
        for kept in (context.facts.kept_texts)() {
            view.add([
                ("usecounts", Datum::Int(i64::from(kept.uses))),
                ("size_in_bytes", Datum::Int(kept.text.len() as i64)),
                // A text with parameters before it is what a driver has prepared.
                ("objtype", text(if kept.text.starts_with("(@") { "Prepared" } else { "Adhoc" })),
                ("plan_handle", Datum::Binary(handle(&kept.text))),
            ]);
        }
    }),
];

/// Reads name and version of the system from /etc/os-release.
fn distribution() -> (Option<String>, Option<String>) {
    let told = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim_matches('"').to_string())
    };
    (field("NAME"), field("VERSION_ID"))
}

/// Computes the handle by which a text is found again, from the text alone (FNV-1a).
pub(super) fn handle(text: &str) -> Vec<u8> {
    let mut sum = 0xCBF2_9CE4_8422_2325_u64;
    for byte in text.bytes() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    let mut bytes = vec![6, 0, 1, 0];
    bytes.extend(sum.to_le_bytes());
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes
}

/// Lists the session's own transaction, and those of others as far as they hold locks.
fn session_transactions(context: &Context<'_>, view: &mut View) {
    let facts = context.facts;
    let mut add = |session: u16, transaction: i64, depth: i64| {
        view.add([
            ("session_id", int(session)),
            ("transaction_id", Datum::Int(transaction)),
            ("transaction_descriptor", Datum::Binary(transaction.to_le_bytes().to_vec())),
            ("is_user_transaction", bit(depth > 0)),
            ("open_transaction_count", Datum::Int(depth)),
        ]);
    };
    let mut seen = Vec::new();
    for figures in facts.all_figures() {
        for lock in figures.engine().locks() {
            let Some(session) = figures.session_of(lock.transaction) else { continue };
            if seen.contains(&session) {
                continue;
            }
            seen.push(session);
            let own = session == facts.spid;
            if !own || facts.transaction_count > 0 {
                let depth = if own { facts.transaction_count } else { 1 };
                add(session, i64::try_from(lock.transaction).unwrap_or(0), depth);
            }
        }
    }
    if facts.transaction_count > 0 && !seen.contains(&facts.spid) {
        add(facts.spid, i64::from(facts.spid), facts.transaction_count);
    }
}
