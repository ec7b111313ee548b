//! Views of what this server does not have: they have their columns, and no rows. Tools ask for all of them at once, and an
//! unknown name would cost them the whole answer.

use query::Datum;

use crate::system_views::entry::Entry;
use crate::view::{int, text};

pub(super) const ENTRIES: &[Entry] = &[
    Entry::empty(
        "plan_guides",
        "plan_guide_id int!\nname sysname!\ncreate_date datetime!\nmodify_date datetime!\nis_disabled bit!\nquery_text nvarchar(max)\nscope_type tinyint!\nscope_type_desc nvarchar(60)\nscope_object_id int\nscope_batch nvarchar(max)\nparameters nvarchar(max)\nhints nvarchar(max)",
    ),
    Entry::empty(
        "column_store_row_groups",
        "object_id int!\nindex_id int!\npartition_number int!\nrow_group_id int!\ndelta_store_hobt_id bigint\nstate tinyint!\nstate_description nvarchar(60)!\ntotal_rows bigint\ndeleted_rows bigint\nsize_in_bytes bigint",
    ),
    Entry::empty(
        "column_store_segments",
        "partition_id bigint\nhobt_id bigint\ncolumn_id int\nsegment_id int\nversion int\nencoding_type int\nrow_count int\nhas_nulls int\nbase_id bigint\nmagnitude float\nprimary_dictionary_id int\nsecondary_dictionary_id int\nmin_data_id bigint\nmax_data_id bigint\nnull_value bigint\non_disk_size bigint",
    ),
    Entry::empty(
        "certificates",
        "name sysname!\ncertificate_id int!\nprincipal_id int\npvt_key_encryption_type char(2)!\npvt_key_encryption_type_desc nvarchar(60)\nis_active_for_begin_dialog bit\nissuer_name nvarchar(442)\ncert_serial_number nvarchar(64)\nsid varbinary(85)\nstring_sid nvarchar(128)\nsubject nvarchar(4000)\nexpiry_date datetime\nstart_date datetime\nthumbprint varbinary(32)!\nattested_by nvarchar(260)\npvt_key_last_backup_date datetime\nkey_length int",
    ),
    Entry::empty(
        "asymmetric_keys",
        "name sysname!\nprincipal_id int\nasymmetric_key_id int!\npvt_key_encryption_type char(2)!\npvt_key_encryption_type_desc nvarchar(60)\nthumbprint varbinary(32)!\nalgorithm char(2)!\nalgorithm_desc nvarchar(60)\nkey_length int!\nsid varbinary(85)\nstring_sid nvarchar(128)\npublic_key varbinary(max)!\nattested_by nvarchar(260)\nprovider_type nvarchar(120)\ncryptographic_provider_guid uniqueidentifier\ncryptographic_provider_algid sql_variant",
    ),
    Entry::empty(
        "symmetric_keys",
        "name sysname!\nprincipal_id int\nsymmetric_key_id int!\nkey_length int!\nkey_algorithm char(2)!\nalgorithm_desc nvarchar(60)\ncreate_date datetime!\nmodify_date datetime!\nkey_guid uniqueidentifier\nkey_thumbprint sql_variant\nprovider_type nvarchar(120)\ncryptographic_provider_guid uniqueidentifier\ncryptographic_provider_algid sql_variant",
    ),
    Entry::empty(
        "key_encryptions",
        "key_id int!\nthumbprint varbinary(32)\ncrypt_type char(4)!\ncrypt_type_desc nvarchar(60)\ncrypt_property varbinary(max)",
    ),
    Entry::empty(
        "crypt_properties",
        "class tinyint!\nclass_desc nvarchar(60)\nmajor_id int!\nthumbprint varbinary(32)!\ncrypt_type char(4)!\ncrypt_type_desc nvarchar(60)\ncrypt_property varbinary(max)!",
    ),
    Entry::empty(
        "cryptographic_providers",
        "provider_id int!\nname sysname!\nguid uniqueidentifier\nversion nvarchar(24)\ndll_path nvarchar(520)\nis_enabled bit",
    ),
    Entry::empty(
        "credentials",
        "credential_id int!\nname sysname!\ncredential_identity nvarchar(4000)\ncreate_date datetime!\nmodify_date datetime!\ntarget_type nvarchar(100)\ntarget_id int",
    ),
    Entry::empty(
        "database_scoped_credentials",
        "credential_id int!\nname sysname!\ncredential_identity nvarchar(4000)\ncreate_date datetime!\nmodify_date datetime!\ntarget_type nvarchar(100)\ntarget_id int",
    ),
    Entry::empty(
        "dm_database_encryption_keys",
        "database_id int\nencryption_state int\nencryption_state_desc nvarchar(32)\ncreate_date datetime\nregenerate_date datetime\nmodify_date datetime\nset_date datetime\nopened_date datetime\nkey_algorithm nvarchar(32)\nkey_length int\nencryptor_thumbprint varbinary(20)\nencryptor_type nvarchar(32)\npercent_complete real",
    ),
    Entry::empty(
        "assembly_files",
        "assembly_id int!\nname nvarchar(260)\nfile_id int!\ncontent varbinary(max)",
    ),
    Entry::empty(
        "assembly_modules",
        "object_id int!\nassembly_id int!\nassembly_class sysname\nassembly_method sysname\nnull_on_null_input bit\nexecute_as_principal_id int",
    ),
    Entry::empty(
        "numbered_procedures",
        "object_id int!\nprocedure_number smallint\ndefinition nvarchar(max)",
    ),
    Entry::empty(
        "numbered_procedure_parameters",
        "object_id int!\nprocedure_number smallint\nname sysname\nparameter_id int!\nsystem_type_id tinyint!\nuser_type_id int!\nmax_length smallint!\nprecision tinyint!\nscale tinyint!\nis_output bit!\nis_cursor_ref bit!",
    ),
    Entry::empty(
        "filetables",
        "object_id int!\nis_enabled bit\ndirectory_name nvarchar(255)\nfilename_collation_id int\nfilename_collation_name sysname",
    ),
    Entry::empty("filetable_system_defined_objects", "object_id int!\nparent_object_id int!"),
    Entry::empty(
        "fulltext_catalogs",
        "fulltext_catalog_id int!\nname sysname!\npath nvarchar(260)\nis_default bit!\nis_accent_sensitivity_on bit!\ndata_space_id int\nfile_id int\nprincipal_id int\nis_importing bit!",
    ),
    Entry::empty(
        "fulltext_stoplists",
        "stoplist_id int!\nname sysname!\ncreate_date datetime!\nmodify_date datetime!\nprincipal_id int",
    ),
    Entry::empty(
        "registered_search_property_lists",
        "property_list_id int!\nname sysname!\ncreate_date datetime!\nmodify_date datetime!\nprincipal_id int",
    ),
    Entry::empty(
        "event_notifications",
        "name sysname!\nobject_id int!\nparent_class tinyint!\nparent_class_desc nvarchar(60)\nparent_id int!\ncreate_date datetime!\nmodify_date datetime!\nis_ms_shipped bit!\nservice_name nvarchar(512)\nbroker_instance nvarchar(128)\ncreator_sid varbinary(85)\nprincipal_id int",
    ),
    Entry::empty(
        "service_message_types",
        "name sysname!\nmessage_type_id int!\nprincipal_id int\nvalidation char(2)!\nvalidation_desc nvarchar(60)\nxml_collection_id int",
    ),
    Entry::empty("service_contracts", "name sysname!\nservice_contract_id int!\nprincipal_id int"),
    Entry::empty("services", "name sysname!\nservice_id int!\nprincipal_id int\nservice_queue_id int!"),
    Entry::empty(
        "routes",
        "name sysname!\nroute_id int!\nprincipal_id int\nremote_service_name nvarchar(256)\nbroker_instance nvarchar(128)\nlifetime datetime\naddress nvarchar(256)\nmirror_address nvarchar(256)",
    ),
    Entry::empty(
        "security_predicates",
        "object_id int!\nsecurity_predicate_id int!\ntarget_object_id int!\npredicate_definition nvarchar(max)\npredicate_type int\npredicate_type_desc nvarchar(60)\noperation int\noperation_desc nvarchar(60)",
    ),
    Entry::empty(
        "sensitivity_classifications",
        "class tinyint!\nclass_desc varchar(16)!\nmajor_id int!\nminor_id int!\nlabel sql_variant\nlabel_id sql_variant\ninformation_type sql_variant\ninformation_type_id sql_variant\nrank int\nrank_desc varchar(8)",
    ),
    Entry::empty(
        "server_permissions",
        "class tinyint!\nclass_desc nvarchar(60)\nmajor_id int!\nminor_id int!\ngrantee_principal_id int!\ngrantor_principal_id int!\ntype char(4)!\npermission_name nvarchar(128)\nstate char(1)!\nstate_desc nvarchar(60)",
    ),
    Entry::empty(
        "server_triggers",
        "name sysname!\nobject_id int!\nparent_class tinyint!\nparent_class_desc nvarchar(60)\nparent_id int!\ntype char(2)!\ntype_desc nvarchar(60)\ncreate_date datetime!\nmodify_date datetime!\nis_ms_shipped bit!\nis_disabled bit!",
    ),
    Entry::empty(
        "linked_logins",
        "server_id int!\nlocal_principal_id int!\nuses_self_credential bit!\nremote_name sysname\nmodify_date datetime!",
    ),
    Entry::empty("dm_db_persisted_sku_features", "feature_name sysname!\nfeature_id int!"),
    Entry::new(
        "database_query_store_options",
        "desired_state smallint!\ndesired_state_desc nvarchar(60)\nactual_state smallint!\nactual_state_desc nvarchar(60)\nreadonly_reason int\ncurrent_storage_size_mb bigint\nflush_interval_seconds bigint\ninterval_length_minutes bigint\nmax_storage_size_mb bigint\nstale_query_threshold_days bigint\nmax_plans_per_query bigint\nquery_capture_mode smallint!\nquery_capture_mode_desc nvarchar(60)\nsize_based_cleanup_mode smallint!\nsize_based_cleanup_mode_desc nvarchar(60)\nwait_stats_capture_mode smallint!\nwait_stats_capture_mode_desc nvarchar(60)\nactual_state_additional_info nvarchar(4000)",
        |_, view| {
            // The settings of a store that is off.
            view.add([
                ("desired_state", int(0)),
                ("desired_state_desc", text("OFF")),
                ("actual_state", int(0)),
                ("actual_state_desc", text("OFF")),
                ("readonly_reason", int(0)),
                ("current_storage_size_mb", Datum::Int(0)),
                ("flush_interval_seconds", Datum::Int(900)),
                ("interval_length_minutes", Datum::Int(60)),
                ("max_storage_size_mb", Datum::Int(1000)),
                ("stale_query_threshold_days", Datum::Int(30)),
                ("max_plans_per_query", Datum::Int(200)),
                ("query_capture_mode", int(2)),
                ("query_capture_mode_desc", text("AUTO")),
                ("size_based_cleanup_mode", int(1)),
                ("size_based_cleanup_mode_desc", text("AUTO")),
                ("wait_stats_capture_mode", int(1)),
                ("wait_stats_capture_mode_desc", text("ON")),
            ]);
        },
    ),
];
