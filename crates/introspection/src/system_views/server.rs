//! Views of the whole server: databases, types, logins, sessions, configuration.

use std::sync::atomic::Ordering::Relaxed;

use query::Datum;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::log;
use crate::system_views::user_types;
use crate::view::{View, bit, int, moment, optional, text};
use databases::catalogue::{DEFAULT_COLLATION, FIXED_ROLES};
use databases::instance::login::ClientConnection;
use databases::instance::registry::SessionOptions;
use query::system_types::SYSTEM_TYPES;
use tsql::system_messages::MESSAGES;

const DATABASES: &str = "
    name sysname!
    database_id int!
    source_database_id int
    owner_sid varbinary(85) = 0x01
    create_date datetime!
    compatibility_level tinyint! = 160
    collation_name sysname
    user_access tinyint = 0
    user_access_desc nvarchar(60) = MULTI_USER
    is_read_only bit = 0
    is_auto_close_on bit! = 0
    is_auto_shrink_on bit = 0
    state tinyint = 0
    state_desc nvarchar(60) = ONLINE
    is_in_standby bit = 0
    is_cleanly_shutdown bit = 0
    is_supplemental_logging_enabled bit = 0
    snapshot_isolation_state tinyint = 0
    snapshot_isolation_state_desc nvarchar(60) = OFF
    is_read_committed_snapshot_on bit = 1
    recovery_model tinyint = 3
    recovery_model_desc nvarchar(60) = SIMPLE
    page_verify_option tinyint = 2
    page_verify_option_desc nvarchar(60) = CHECKSUM
    is_auto_create_stats_on bit = 0
    is_auto_create_stats_incremental_on bit = 0
    is_auto_update_stats_on bit = 0
    is_auto_update_stats_async_on bit = 0
    is_ansi_null_default_on bit = 0
    is_ansi_nulls_on bit = 1
    is_ansi_padding_on bit = 1
    is_ansi_warnings_on bit = 1
    is_arithabort_on bit = 1
    is_concat_null_yields_null_on bit = 1
    is_numeric_roundabort_on bit = 0
    is_quoted_identifier_on bit = 1
    is_recursive_triggers_on bit = 0
    is_cursor_close_on_commit_on bit = 0
    is_local_cursor_default bit = 0
    is_fulltext_enabled bit = 0
    is_trustworthy_on bit = 0
    is_db_chaining_on bit = 0
    is_parameterization_forced bit = 0
    is_master_key_encrypted_by_server bit! = 0
    is_query_store_on bit = 0
    is_published bit! = 0
    is_subscribed bit! = 0
    is_merge_published bit! = 0
    is_distributor bit! = 0
    is_sync_with_backup bit! = 0
    service_broker_guid uniqueidentifier
    is_broker_enabled bit! = 0
    log_reuse_wait tinyint = 0
    log_reuse_wait_desc nvarchar(60) = NOTHING
    is_date_correlation_on bit! = 0
    is_cdc_enabled bit! = 0
    is_encrypted bit = 0
    is_honor_broker_priority_on bit = 0
    replica_id uniqueidentifier
    group_database_id uniqueidentifier
    resource_pool_id int
    default_language_lcid smallint
    default_language_name nvarchar(128)
    default_fulltext_language_lcid int
    default_fulltext_language_name nvarchar(128)
    is_nested_triggers_on bit
    is_transform_noise_words_on bit
    two_digit_year_cutoff smallint
    containment tinyint = 0
    containment_desc nvarchar(60) = NONE
    target_recovery_time_in_seconds int = 0
    delayed_durability int = 0
    delayed_durability_desc nvarchar(60) = DISABLED
    is_memory_optimized_elevate_to_snapshot_on bit = 0
    is_federation_member bit = 0
    is_remote_data_archive_enabled bit = 0
    is_mixed_page_allocation_on bit = 0
    is_temporal_history_retention_enabled bit = 0
    catalog_collation_type int! = 0
    catalog_collation_type_desc nvarchar(60) = DATABASE_DEFAULT
    physical_database_name nvarchar(128)
    is_result_set_caching_on bit = 0
    is_accelerated_database_recovery_on bit = 0
    is_ledger_on bit = 0
    is_change_feed_enabled bit = 0";

macro_rules! type_shape {
    ($more:literal) => {
        concat!(
            "name sysname!\nsystem_type_id tinyint!\nuser_type_id int!\nschema_id int! = 4\nprincipal_id int\n",
            "max_length smallint!\nprecision tinyint!\nscale tinyint!\ncollation_name sysname\nis_nullable bit\n",
            "is_user_defined bit! = 0\nis_assembly_type bit!\ndefault_object_id int! = 0\n",
            "rule_object_id int! = 0\nis_table_type bit! = 0\n",
            $more
        )
    };
}

const TYPES: &str = type_shape!("");
const TABLE_TYPES: &str = type_shape!("type_table_object_id int!\nis_memory_optimized bit = 0");

const DATABASE_PRINCIPALS: &str = "
    name sysname!
    principal_id int!
    type char(1)!
    type_desc nvarchar(60)
    default_schema_name sysname
    create_date datetime!
    modify_date datetime!
    owning_principal_id int
    sid varbinary(85)
    is_fixed_role bit! = 0
    authentication_type int = 0
    authentication_type_desc nvarchar(60) = NONE
    default_language_name sysname
    default_language_lcid int
    allow_encrypted_value_modifications bit! = 0";

const SERVER_PRINCIPALS: &str = "
    name sysname!
    principal_id int!
    sid varbinary(85) = 0x01
    type char(1)!
    type_desc nvarchar(60)
    is_disabled bit = 0
    create_date datetime!
    modify_date datetime!
    default_database_name sysname = master
    default_language_name sysname = us_english
    credential_id int
    owning_principal_id int
    is_fixed_role bit! = 0";

const SESSIONS: &str = "
    session_id smallint!
    login_time datetime!
    host_name nvarchar(128)
    program_name nvarchar(128)
    host_process_id int
    client_version int
    client_interface_name nvarchar(32)
    security_id varbinary(85)! = 0x01
    login_name nvarchar(128)!
    nt_domain nvarchar(128)
    nt_user_name nvarchar(128)
    status nvarchar(30)! = running
    context_info varbinary(128)
    cpu_time int! = 0
    memory_usage int! = 0
    total_scheduled_time int! = 0
    total_elapsed_time int! = 0
    endpoint_id int! = 4
    last_request_start_time datetime!
    last_request_end_time datetime
    reads bigint! = 0
    writes bigint! = 0
    logical_reads bigint! = 0
    is_user_process bit! = 1
    text_size int! = 2147483647
    language nvarchar(128) = us_english
    date_format nvarchar(3) = mdy
    date_first smallint! = 7
    quoted_identifier bit! = 1
    arithabort bit! = 1
    ansi_null_dflt_on bit! = 1
    ansi_defaults bit! = 0
    ansi_warnings bit! = 1
    ansi_padding bit! = 1
    ansi_nulls bit! = 1
    concat_null_yields_null bit! = 1
    transaction_isolation_level smallint!
    lock_timeout int! = -1
    deadlock_priority int! = 0
    row_count bigint! = 0
    prev_error int! = 0
    original_security_id varbinary(85)! = 0x01
    original_login_name nvarchar(128)!
    database_id smallint! = 1
    authenticating_database_id int = 1
    open_transaction_count int! = 0";

const CONNECTIONS: &str = "
    session_id int
    most_recent_session_id int
    connect_time datetime!
    net_transport nvarchar(40)! = TCP
    protocol_type nvarchar(40) = TSQL
    protocol_version int = 1946157060
    endpoint_id int = 4
    encrypt_option nvarchar(40)!
    auth_scheme nvarchar(40)! = SQL
    node_affinity smallint! = 0
    num_reads int = 0
    num_writes int = 0
    last_read datetime
    last_write datetime
    net_packet_size int = 4096
    client_net_address varchar(48) = 127.0.0.1
    client_tcp_port int
    local_net_address varchar(48) = 127.0.0.1
    local_tcp_port int
    connection_id uniqueidentifier
    parent_connection_id uniqueidentifier";

const CONFIGURATIONS: &str = "
    configuration_id int!
    name nvarchar(35)!
    value int
    minimum int
    maximum int
    value_in_use int
    description nvarchar(255)!
    is_dynamic bit! = 1
    is_advanced bit! = 0";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("databases", DATABASES, databases),
    Entry::new("types", TYPES, |context, view| {
        types(context, view);
        user_types::types(context, view);
    }),
    Entry::new("table_types", TABLE_TYPES, user_types::table_types),
    Entry::empty("assembly_types", TYPES),
    Entry::empty(
        "assemblies",
        "name sysname!\nprincipal_id int\nassembly_id int!\nclr_name nvarchar(4000)\npermission_set tinyint\npermission_set_desc nvarchar(60)\nis_visible bit!\ncreate_date datetime!\nmodify_date datetime!\nis_user_defined bit",
    ),
    Entry::new("database_principals", DATABASE_PRINCIPALS, database_principals),
    Entry::new("server_principals", SERVER_PRINCIPALS, logins),
    Entry::new("sql_logins", SERVER_PRINCIPALS, logins),
    Entry::empty("database_role_members", "role_principal_id int!\nmember_principal_id int!"),
    Entry::empty("server_role_members", "role_principal_id int!\nmember_principal_id int!"),
    Entry::new(
        "database_permissions",
        "class tinyint!\nclass_desc nvarchar(60)\nmajor_id int!\nminor_id int!\ngrantee_principal_id int!\ngrantor_principal_id int!\ntype char(4)!\npermission_name nvarchar(128)\nstate char(1)!\nstate_desc nvarchar(60)",
        |_, view| {
            // The owner may connect; no other user is granted anything.
            view.add([
                ("class", int(0)),
                ("class_desc", text("DATABASE")),
                ("major_id", int(0)),
                ("minor_id", int(0)),
                ("grantee_principal_id", int(1)),
                ("grantor_principal_id", int(1)),
                ("type", text("CO  ")),
                ("permission_name", text("CONNECT")),
                ("state", text("G")),
                ("state_desc", text("GRANT")),
            ]);
        },
    ),
    Entry::new("configurations", CONFIGURATIONS, configurations),
    Entry::new("dm_exec_sessions", SESSIONS, sessions),
    Entry::new("dm_exec_connections", CONNECTIONS, connections),
    Entry::new(
        "servers",
        "server_id int!\nname sysname!\nproduct sysname! = bulkwire\nprovider sysname!\ndata_source nvarchar(4000)\nis_linked bit! = 0",
        |context, view| {
            view.add([
                ("server_id", int(0)),
                ("name", text(&context.facts.server)),
                ("provider", text("SQLNCLI")),
                ("data_source", text(&context.facts.server)),
            ]);
        },
    ),
    Entry::new(
        "syslanguages",
        "langid smallint!\ndateformat nchar(3)!\ndatefirst tinyint!\nname sysname!\nalias sysname\nlcid int!\nmsglangid smallint!",
        |_, view| {
            for language in query::language::all() {
                view.add([
                    ("langid", int(language.id)),
                    ("dateformat", text(language.date_format.name())),
                    ("datefirst", int(language.date_first)),
                    ("name", text(language.name)),
                    ("alias", text(language.alias)),
                    ("lcid", int(language.lcid)),
                    ("msglangid", int(1033)),
                ]);
            }
        },
    ),
    Entry::new(
        "messages",
        "message_id int!\nlanguage_id smallint! = 1033\nseverity tinyint\nis_event_logged bit!\ntext nvarchar(2048)!",
        |context, view| {
            for message in MESSAGES {
                view.add([
                    ("message_id", int(message.number)),
                    ("severity", int(message.severity)),
                    ("is_event_logged", bit(false)),
                    ("text", text(message.text)),
                ]);
            }
            for message in &context.facts.directory.messages {
                view.add([
                    ("message_id", int(message.number)),
                    ("severity", int(message.severity)),
                    ("is_event_logged", bit(message.logged)),
                    ("text", text(&message.text)),
                ]);
            }
        },
    ),
    Entry::empty(
        "change_tracking_tables",
        "object_id int!\nis_track_columns_updated_on bit!\nmin_valid_version bigint\nbegin_version bigint\ncleanup_version bigint",
    ),
    Entry::empty(
        "change_tracking_databases",
        "database_id int!\nis_auto_cleanup_on bit\nretention_period int\nretention_period_units tinyint",
    ),
    Entry::empty(
        "column_master_keys",
        "name sysname!\ncolumn_master_key_id int!\ncreate_date datetime!\nmodify_date datetime!\nkey_store_provider_name sysname\nkey_path nvarchar(4000)\nallow_enclave_computations bit!\nsignature varbinary(8000)",
    ),
    Entry::empty(
        "column_encryption_keys",
        "name sysname!\ncolumn_encryption_key_id int!\ncreate_date datetime!\nmodify_date datetime!",
    ),
    Entry::empty(
        "column_encryption_key_values",
        "column_encryption_key_id int!\ncolumn_master_key_id int!\nencrypted_value varbinary(8000)\nencryption_algorithm_name sysname",
    ),
    Entry::empty(
        "xml_schema_collections",
        "xml_collection_id int!\nschema_id int!\nprincipal_id int\nname sysname!\ncreate_date datetime!\nmodify_date datetime!",
    ),
    Entry::empty(
        "sql_expression_dependencies",
        "referencing_id int!\nreferencing_minor_id int!\nreferencing_class tinyint\nreferenced_class tinyint\nreferenced_server_name sysname\nreferenced_database_name sysname\nreferenced_schema_name sysname\nreferenced_entity_name sysname\nreferenced_id int\nreferenced_minor_id int!",
    ),
    Entry::empty("security_policies", "name sysname!\nobject_id int!\nschema_id int!\nis_enabled bit!"),
];

/// Returns the creation time of everything that has always been there.
fn beginning() -> Datum {
    moment(0)
}

fn databases(context: &Context<'_>, view: &mut View) {
    for database in &context.facts.directory.databases {
        view.add([
            ("name", text(&database.name)),
            ("database_id", int(database.id)),
            ("create_date", beginning()),
            ("collation_name", text(database.collation())),
            ("physical_database_name", text(&database.name)),
            ("is_read_committed_snapshot_on", bit(database.reads_committed_snapshot())),
        ]);
        // Only rows in pages have versions that a whole transaction can read.
        if database.allows_snapshot() && context.figures(&database.name).is_some() {
            view.set("snapshot_isolation_state", int(1));
            view.set("snapshot_isolation_state_desc", text("ON"));
        }
        if let Some(figures) = context.figures(&database.name) {
            let (model, description) = log::recovery_model(figures);
            let (wait, wait_description) = log::reuse_wait(figures);
            view.set("recovery_model", int(model));
            view.set("recovery_model_desc", text(description));
            view.set("log_reuse_wait", int(wait));
            view.set("log_reuse_wait_desc", text(wait_description));
        }
    }
}

fn types(_: &Context<'_>, view: &mut View) {
    for system in SYSTEM_TYPES {
        let character =
            matches!(system.name, "char" | "varchar" | "nchar" | "nvarchar" | "text" | "ntext" | "sysname");
        view.add([
            ("name", text(system.name)),
            ("system_type_id", int(system.system_type_id)),
            ("user_type_id", int(system.user_type_id)),
            ("max_length", int(system.max_length)),
            ("precision", int(system.precision)),
            ("scale", int(system.scale)),
            ("collation_name", optional(character.then_some(DEFAULT_COLLATION))),
            ("is_nullable", bit(system.name != "sysname" && system.name != "timestamp")),
            ("is_assembly_type", bit(system.system_type_id == 240)),
        ]);
    }
}

fn database_principals(_: &Context<'_>, view: &mut View) {
    let principals = [
        ("public", 0, "R", "DATABASE_ROLE", None),
        ("dbo", 1, "S", "SQL_USER", Some("dbo")),
        ("guest", 2, "S", "SQL_USER", Some("guest")),
        ("INFORMATION_SCHEMA", 3, "S", "SQL_USER", None),
        ("sys", 4, "S", "SQL_USER", None),
    ];
    let roles = FIXED_ROLES.map(|(id, name)| (name, id, "R", "DATABASE_ROLE", None));
    for (name, id, letter, description, schema) in principals.into_iter().chain(roles) {
        view.add([
            ("name", text(name)),
            ("principal_id", int(id)),
            ("type", text(letter)),
            ("type_desc", text(description)),
            ("default_schema_name", optional(schema)),
            ("create_date", beginning()),
            ("modify_date", beginning()),
            ("is_fixed_role", bit(id >= 16384)),
        ]);
    }
}

fn logins(context: &Context<'_>, view: &mut View) {
    view.add([
        ("name", text(&context.facts.login)),
        ("principal_id", int(1)),
        ("type", text("S")),
        ("type_desc", text("SQL_LOGIN")),
        ("create_date", beginning()),
        ("modify_date", beginning()),
    ]);
}

fn configurations(context: &Context<'_>, view: &mut View) {
    for option in context.facts.configuration.options() {
        view.add([
            ("configuration_id", int(option.id)),
            ("name", text(option.name)),
            ("value", int(option.value)),
            ("minimum", int(option.least)),
            ("maximum", int(option.greatest)),
            ("value_in_use", int(option.value)),
            ("description", text(option.name)),
            ("is_advanced", bit(option.is_advanced)),
        ]);
    }
}

/// An option of a session that its row shows.
type Shown = (&'static str, Datum);

fn shown_options(options: &SessionOptions) -> [Shown; 12] {
    [
        ("language", text(options.language)),
        ("text_size", int(options.text_size)),
        ("date_format", text(options.date_format)),
        ("date_first", int(options.date_first)),
        ("quoted_identifier", bit(options.quoted_identifier)),
        ("arithabort", bit(options.arithabort)),
        ("ansi_null_dflt_on", bit(options.ansi_null_dflt_on)),
        ("ansi_padding", bit(options.ansi_padding)),
        ("ansi_nulls", bit(options.ansi_nulls)),
        ("concat_null_yields_null", bit(options.concat_null_yields_null)),
        ("lock_timeout", int(options.lock_timeout_ms)),
        ("deadlock_priority", int(options.deadlock_priority)),
    ]
}

/// Returns the columns of the client's process and library; none for sessions that no client has opened.
fn shown_client(client: &ClientConnection) -> Vec<Shown> {
    let process = client.process_id.map(|id| ("host_process_id", Datum::Int(i64::from(id.cast_signed()))));
    let version = client.tds_major.map(|major| ("client_version", int(major)));
    let library = client.library.as_deref().map(|library| ("client_interface_name", text(library)));
    [process, version, library].into_iter().flatten().collect()
}

fn sessions(context: &Context<'_>, view: &mut View) {
    let facts = context.facts;
    let sessions = (facts.sessions)();
    let own = [
        ("session_id", int(facts.spid)),
        ("login_time", facts.login_moment()),
        ("host_name", text(&facts.host)),
        ("program_name", text(&facts.application)),
        ("login_name", text(&facts.login)),
        ("last_request_start_time", facts.now_moment()),
        ("transaction_isolation_level", int(facts.isolation_level)),
        ("row_count", int(facts.row_count)),
        ("original_login_name", text(&facts.login)),
        ("database_id", facts.current().map_or(Datum::Null, |database| int(database.id))),
        ("open_transaction_count", int(facts.transaction_count)),
    ];
    let client = sessions.iter().find(|session| session.spid == facts.spid);
    let client = client.map(|session| shown_client(&session.client)).unwrap_or_default();
    view.add(own.into_iter().chain(shown_options(&facts.session_options)).chain(client));
    // The rows of other sessions show the properties of their logins, and their current activity.
    for session in sessions.iter().filter(|session| session.spid != facts.spid) {
        let activity = &session.activity;
        let row = [
            ("session_id", int(session.spid)),
            ("login_time", Datum::Moment(session.since)),
            ("host_name", text(&session.host)),
            ("program_name", text(&session.application)),
            ("login_name", text(&session.login)),
            ("status", text(if activity.is_running.load(Relaxed) { "running" } else { "sleeping" })),
            ("last_request_start_time", Datum::Moment(activity.request_began.load(Relaxed))),
            ("last_request_end_time", Datum::Moment(activity.request_ended.load(Relaxed))),
            ("transaction_isolation_level", int(activity.isolation_level.load(Relaxed))),
            ("open_transaction_count", int(activity.transactions.load(Relaxed))),
            ("original_login_name", text(&session.login)),
        ];
        let options = shown_options(&activity.options.lock());
        view.add(row.into_iter().chain(options).chain(shown_client(&session.client)));
    }
}

fn connections(context: &Context<'_>, view: &mut View) {
    let mut seen = Vec::new();
    for session in (context.facts.sessions)() {
        // The body of a function that runs is a session of the same number.
        if seen.contains(&session.spid) {
            continue;
        }
        seen.push(session.spid);
        let client = &session.client;
        let row = [
            ("session_id", int(session.spid)),
            ("most_recent_session_id", int(session.spid)),
            ("connect_time", Datum::Moment(session.since)),
            ("encrypt_option", text(if session.is_encrypted { "TRUE" } else { "FALSE" })),
            ("auth_scheme", text(client.auth_scheme)),
            ("net_packet_size", Datum::Int(i64::from(client.packet_size_bytes))),
            ("protocol_version", Datum::Int(i64::from(client.protocol_version.cast_signed()))),
            ("last_read", Datum::Moment(session.activity.request_began.load(Relaxed))),
            ("last_write", Datum::Moment(session.activity.request_ended.load(Relaxed))),
        ];
        let ends = client.ends.map(|(client, local)| {
            [
                ("client_net_address", text(&client.ip().to_string())),
                ("client_tcp_port", int(client.port())),
                ("local_net_address", text(&local.ip().to_string())),
                ("local_tcp_port", int(local.port())),
            ]
        });
        view.add(row.into_iter().chain(ends.into_iter().flatten()));
    }
}
