package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;

/** java.sql.DatabaseMetaData. */
final class MetadataChecks {
    private MetadataChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("metadata_of_the_server", MetadataChecks::server),
                new Check("metadata_tables", MetadataChecks::tables),
                new Check("metadata_columns", MetadataChecks::columns),
                new Check("metadata_primary_keys", MetadataChecks::primaryKeys),
                new Check("metadata_imported_keys", MetadataChecks::importedKeys),
                new Check("metadata_procedures_and_functions", MetadataChecks::procedures),
                new Check("metadata_views", MetadataChecks::views),
                new Check("metadata_indexes", MetadataChecks::indexes),
                new Check("metadata_types", MetadataChecks::types),
                new Check("metadata_schemas_and_catalogs", MetadataChecks::schemas));
    }

    private static Connection prepared(Environment at) throws SQLException {
        Connection connection = at.connect();
        execute(connection,
                "DROP TABLE IF EXISTS jdbc_order",
                "DROP TABLE IF EXISTS jdbc_customer",
                "CREATE TABLE jdbc_customer (id int IDENTITY NOT NULL CONSTRAINT pk_jdbc_customer PRIMARY KEY,"
                        + " name nvarchar(50) NOT NULL CONSTRAINT uq_jdbc_customer UNIQUE, balance decimal(18,4) NULL)",
                "CREATE TABLE jdbc_order (customer int NOT NULL CONSTRAINT fk_jdbc_order REFERENCES jdbc_customer (id),"
                        + " number int NOT NULL, placed datetime2(3) NULL, note varchar(max) NULL,"
                        + " CONSTRAINT pk_jdbc_order PRIMARY KEY (customer, number))",
                "CREATE INDEX ix_jdbc_order ON jdbc_order (placed)");
        return connection;
    }

    /** The named columns of a result, a row a line. */
    private static List<String> cells(ResultSet result, String... names) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (result) {
            while (result.next()) {
                StringJoiner line = new StringJoiner(" ");
                for (String name : names) {
                    line.add(String.valueOf(result.getObject(name)));
                }
                lines.add(line.toString());
            }
        }
        return lines;
    }

    private static void server(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            DatabaseMetaData metadata = connection.getMetaData();
            expect("product", metadata.getDatabaseProductName(), "Microsoft SQL Server");
            expect("major version", metadata.getDatabaseMajorVersion(), 16);
            expect("user", metadata.getUserName(), at.user());
            expect("catalog", connection.getCatalog(), "master");
            expect("schema", connection.getSchema(), "dbo");
            expect("valid", connection.isValid(5), true);
        }
    }

    private static void tables(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            ResultSet tables = connection.getMetaData().getTables("master", "dbo", "jdbc_%r", new String[] {"TABLE"});
            List<String> found = cells(tables, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
            expect("tables", found.containsAll(
                    List.of("master dbo jdbc_customer TABLE", "master dbo jdbc_order TABLE")), true);
            ResultSet kinds = connection.getMetaData().getTableTypes();
            expect("table types", new TreeSet<>(cells(kinds, "TABLE_TYPE")), new TreeSet<>(Set.of("SYSTEM TABLE", "TABLE", "VIEW")));
        }
    }

    private static void columns(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            ResultSet columns = connection.getMetaData().getColumns("master", "dbo", "jdbc_customer", null);
            expect("columns", cells(columns, "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS",
                            "NULLABLE", "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTOINCREMENT"),
                    List.of("id 4 int identity 10 0 0 1 NO YES", "name -9 nvarchar 50 null 0 2 NO NO",
                            "balance 3 decimal 18 4 1 3 YES NO"));
            columns = connection.getMetaData().getColumns(null, null, "jdbc_order", "%e%");
            expect("columns", cells(columns, "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS"),
                    List.of("customer int 10 0", "number int 10 0", "placed datetime2 23 3",
                            "note varchar 2147483647 null"));
        }
    }

    private static void primaryKeys(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            ResultSet keys = connection.getMetaData().getPrimaryKeys(null, "dbo", "jdbc_order");
            expect("keys", cells(keys, "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME"),
                    List.of("jdbc_order customer 1 pk_jdbc_order", "jdbc_order number 2 pk_jdbc_order"));
        }
    }

    private static void importedKeys(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            DatabaseMetaData metadata = connection.getMetaData();
            String[] names = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "FK_NAME", "PK_NAME"};
            List<String> wanted = List.of("jdbc_customer id jdbc_order customer 1 fk_jdbc_order pk_jdbc_customer");
            expect("imported", cells(metadata.getImportedKeys(null, "dbo", "jdbc_order"), names), wanted);
            expect("exported", cells(metadata.getExportedKeys(null, "dbo", "jdbc_customer"), names), wanted);
        }
    }

    private static void procedures(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            execute(connection, "DROP PROCEDURE IF EXISTS jdbc_pay", "DROP FUNCTION IF EXISTS jdbc_twice",
                    "CREATE PROCEDURE jdbc_pay @to int, @sum decimal(9,2) OUTPUT AS SET @sum = @to",
                    "CREATE FUNCTION jdbc_twice (@n int) RETURNS bigint AS BEGIN RETURN 2 * @n END");
            DatabaseMetaData metadata = connection.getMetaData();
            List<String> found = cells(metadata.getProcedures(null, "dbo", "jdbc_pay%"), "PROCEDURE_SCHEM", "PROCEDURE_NAME");
            expect("procedures", found, List.of("dbo jdbc_pay;1"));
            String[] names = {"COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME", "ORDINAL_POSITION"};
            expect("parameters", cells(metadata.getProcedureColumns(null, "dbo", "jdbc_pay", null), names),
                    List.of("@RETURN_VALUE 5 int 0", "@to 1 int 1", "@sum 2 decimal 2"));
            found = cells(metadata.getFunctions(null, "dbo", "jdbc_twice"), "FUNCTION_SCHEM", "FUNCTION_NAME");
            expect("functions", found, List.of("dbo jdbc_twice;0"));
        }
    }

    private static void views(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            execute(connection, "DROP VIEW IF EXISTS jdbc_names", "CREATE VIEW jdbc_names AS SELECT id, name FROM jdbc_customer");
            DatabaseMetaData metadata = connection.getMetaData();
            expect("views", cells(metadata.getTables(null, "dbo", "jdbc_names", new String[] {"VIEW"}), "TABLE_NAME"),
                    List.of("jdbc_names"));
            expect("columns", cells(metadata.getColumns(null, "dbo", "jdbc_names", null), "COLUMN_NAME", "TYPE_NAME"),
                    List.of("id int", "name nvarchar"));
        }
    }

    private static void indexes(Environment at) throws SQLException {
        try (Connection connection = prepared(at)) {
            DatabaseMetaData metadata = connection.getMetaData();
            List<String> all = cells(metadata.getIndexInfo(null, "dbo", "jdbc_order", false, false),
                    "NON_UNIQUE", "INDEX_NAME", "ORDINAL_POSITION", "COLUMN_NAME");
            all.removeIf(line -> line.startsWith("null"));
            expect("indexes", all, List.of("0 pk_jdbc_order 1 customer", "0 pk_jdbc_order 2 number",
                    "1 ix_jdbc_order 1 placed"));
            List<String> unique = cells(metadata.getIndexInfo(null, "dbo", "jdbc_customer", true, false), "INDEX_NAME");
            unique.removeIf("null"::equals);
            expect("unique indexes", unique, List.of("pk_jdbc_customer", "uq_jdbc_customer"));
        }
    }

    private static void types(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            List<String> found = cells(connection.getMetaData().getTypeInfo(), "TYPE_NAME", "DATA_TYPE", "PRECISION");
            expect("types", found.containsAll(List.of("int 4 10", "bigint -5 19", "nvarchar -9 4000", "bit -7 1",
                    "datetime2 93 27", "date 91 10", "uniqueidentifier 1 36", "varbinary -3 8000")), true);
        }
    }

    private static void schemas(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            DatabaseMetaData metadata = connection.getMetaData();
            expect("catalogs", cells(metadata.getCatalogs(), "TABLE_CAT").contains("master"), true);
            expect("schemas", cells(metadata.getSchemas(), "TABLE_SCHEM").contains("dbo"), true);
        }
    }
}
