package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.rows;
import static bulkwire.Environment.scalar;

import com.microsoft.sqlserver.jdbc.SQLServerConnection;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Prepared statements, batches, generated keys. */
final class StatementChecks {
    private StatementChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("prepared_repeatedly", at -> prepared(at, "")),
                new Check("prepared_at_first_use", at -> prepared(at, "enablePrepareOnFirstPreparedStatementCall=true")),
                new Check("prepared_by_sp_prepare", at -> prepared(at, "prepareMethod=prepare")),
                new Check("prepared_never", at -> prepared(at, "prepareMethod=none")),
                new Check("statement_pooling", StatementChecks::statementPooling),
                new Check("batch_of_statements", StatementChecks::batchOfStatements),
                new Check("batch_of_parameters", StatementChecks::batchOfParameters),
                new Check("batch_with_an_error", StatementChecks::batchWithAnError),
                new Check("batch_by_bulk_copy", StatementChecks::batchByBulkCopy),
                new Check("generated_keys", StatementChecks::generatedKeys),
                new Check("parameter_metadata", StatementChecks::parameterMetadata),
                new Check("result_metadata", StatementChecks::resultMetadata));
    }

    private static void makeTable(Connection connection, String name) throws SQLException {
        execute(connection, "DROP TABLE IF EXISTS " + name, "CREATE TABLE " + name
                + " (id int NOT NULL CONSTRAINT pk_" + name + " PRIMARY KEY, name nvarchar(20) NULL)");
    }

    /** The first execution is sp_executesql, the second sp_prepexec, the rest sp_execute, unless options say otherwise. */
    private static void prepared(Environment at, String options) throws SQLException {
        try (Connection connection = at.connect(options)) {
            makeTable(connection, "jdbc_prepared");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_prepared VALUES (?, ?)")) {
                for (int id = 0; id < 50; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, id % 10 == 0 ? null : "name " + id);
                    expect("rows affected", insert.executeUpdate(), 1);
                }
            }
            try (PreparedStatement find = connection.prepareStatement("SELECT name FROM jdbc_prepared WHERE id = ?")) {
                for (int id = 0; id < 50; id++) {
                    find.setInt(1, id);
                    try (ResultSet result = find.executeQuery()) {
                        result.next();
                        expect("name", result.getString(1), id % 10 == 0 ? null : "name " + id);
                    }
                }
            }
        }
    }

    private static void statementPooling(Environment at) throws SQLException {
        try (Connection connection = at.connect("disableStatementPooling=false;statementPoolingCacheSize=10")) {
            for (int n = 0; n < 20; n++) {
                try (PreparedStatement statement = connection.prepareStatement("SELECT ? + " + n % 3)) {
                    statement.setInt(1, n);
                    try (ResultSet result = statement.executeQuery()) {
                        result.next();
                        expect("sum", result.getInt(1), n + n % 3);
                    }
                }
            }
            var pool = (SQLServerConnection) connection;
            expect("handles kept", pool.getStatementHandleCacheEntryCount(), 3);
            pool.setStatementPoolingCacheSize(0);
            expect("answer", scalar(connection, "SELECT 42"), 42);
        }
    }

    private static void batchOfStatements(Environment at) throws SQLException {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            makeTable(connection, "jdbc_batch");
            statement.addBatch("INSERT INTO jdbc_batch VALUES (1, 'a'), (2, 'b')");
            statement.addBatch("UPDATE jdbc_batch SET name = 'c' WHERE id = 2");
            statement.addBatch("DELETE FROM jdbc_batch WHERE id = 3");
            expect("counts", list(statement.executeBatch()), List.of(2, 1, 0));
            expect("rows", rows(connection, "SELECT id, name FROM jdbc_batch ORDER BY id"),
                    List.of(List.of(1, "a"), List.of(2, "c")));
        }
    }

    private static void batchOfParameters(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            makeTable(connection, "jdbc_batch");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_batch VALUES (?, ?)")) {
                for (int id = 0; id < 1000; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, "name " + id);
                    insert.addBatch();
                }
                expect("count", IntStream.of(insert.executeBatch()).sum(), 1000);
            }
            connection.commit();
            expect("rows", scalar(connection, "SELECT COUNT(*) FROM jdbc_batch WHERE name = CONCAT('name ', id)"), 1000);
        }
    }

    private static void batchWithAnError(Environment at) throws Exception {
        try (Connection connection = at.connect()) {
            makeTable(connection, "jdbc_batch");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_batch VALUES (?, 'x')")) {
                for (int id : new int[] {1, 2, 1, 3}) {
                    insert.setInt(1, id);
                    insert.addBatch();
                }
                SQLException error = Environment.refusal(insert::executeBatch);
                expect("error code", error.getErrorCode(), 2627);
                expect("counts", list(((BatchUpdateException) error).getUpdateCounts()),
                        List.of(1, 1, Statement.EXECUTE_FAILED, 1));
            }
            expect("rows", scalar(connection, "SELECT COUNT(*) FROM jdbc_batch"), 3);
        }
    }

    private static void batchByBulkCopy(Environment at) throws SQLException {
        try (Connection connection = at.connect("useBulkCopyForBatchInsert=true")) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_bulk_batch", "CREATE TABLE jdbc_bulk_batch (id int NOT NULL,"
                    + " name nvarchar(20) NULL, amount decimal(18,4) NULL, day date NULL, moment datetime2(3) NULL)");
            String text = "INSERT INTO jdbc_bulk_batch (id, name, amount, day, moment) VALUES (?, ?, ?, ?, ?)";
            try (PreparedStatement insert = connection.prepareStatement(text)) {
                for (int id = 0; id < 100; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, id % 2 == 0 ? null : "näme " + id);
                    insert.setBigDecimal(3, new java.math.BigDecimal("12.5000").add(new java.math.BigDecimal(id)));
                    insert.setDate(4, java.sql.Date.valueOf("2024-02-29"));
                    insert.setTimestamp(5, java.sql.Timestamp.valueOf("2024-02-29 12:34:56.789"));
                    insert.addBatch();
                }
                expect("count", insert.executeBatch().length, 100);
            }
            expect("rows", rows(connection, "SELECT COUNT(*), SUM(CASE WHEN name = CONCAT(N'näme ', id) THEN 1 ELSE 0 END),"
                    + " CONVERT(varchar(30), MAX(amount)), CONVERT(varchar(10), MIN(day), 23),"
                    + " CONVERT(varchar(30), MIN(moment), 121) FROM jdbc_bulk_batch"),
                    List.of(List.of(100, 50, "111.5000", "2024-02-29", "2024-02-29 12:34:56.789")));
        }
    }

    private static void generatedKeys(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_keys",
                    "CREATE TABLE jdbc_keys (id int IDENTITY(100, 10) PRIMARY KEY, name nvarchar(20) NULL)");
            String text = "INSERT INTO jdbc_keys (name) VALUES (?)";
            try (PreparedStatement insert = connection.prepareStatement(text, Statement.RETURN_GENERATED_KEYS)) {
                for (int key = 100; key <= 130; key += 10) {
                    insert.setString(1, "name " + key);
                    expect("rows affected", insert.executeUpdate(), 1);
                    try (ResultSet keys = insert.getGeneratedKeys()) {
                        keys.next();
                        expect("key", keys.getInt(1), key);
                    }
                }
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO jdbc_keys (name) VALUES ('x')", Statement.RETURN_GENERATED_KEYS);
                try (ResultSet keys = statement.getGeneratedKeys()) {
                    keys.next();
                    expect("key", keys.getInt(1), 140);
                }
            }
        }
    }

    private static void parameterMetadata(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_metadata", "CREATE TABLE jdbc_metadata"
                    + " (id int NOT NULL, name nvarchar(20) NULL, amount decimal(18,4) NULL)");
            String text = "INSERT INTO jdbc_metadata (id, name, amount) VALUES (?, ?, ?)";
            try (var statement = (SQLServerPreparedStatement) connection.prepareStatement(text)) {
                ParameterMetaData metadata = statement.getParameterMetaData();
                List<String> types = new ArrayList<>();
                for (int i = 1; i <= metadata.getParameterCount(); i++) {
                    types.add(metadata.getParameterTypeName(i) + " " + metadata.getPrecision(i) + " " + metadata.getScale(i));
                }
                expect("parameters", types, List.of("int 10 0", "nvarchar 20 0", "decimal 18 4"));
            }
        }
    }

    private static void resultMetadata(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_result", "CREATE TABLE jdbc_result"
                    + " (id int IDENTITY NOT NULL, name nvarchar(20) NULL, amount decimal(18,4) NOT NULL)");
            try (PreparedStatement statement = connection.prepareStatement("SELECT id, name, amount FROM jdbc_result")) {
                // Without executing it: the driver asks the server to describe the statement.
                var metadata = statement.getMetaData();
                List<String> columns = new ArrayList<>();
                for (int i = 1; i <= metadata.getColumnCount(); i++) {
                    columns.add(String.join(" ", metadata.getColumnName(i), metadata.getColumnTypeName(i),
                            "" + metadata.getPrecision(i), "" + metadata.getScale(i), "" + metadata.isNullable(i),
                            "" + metadata.isAutoIncrement(i)));
                }
                expect("columns", columns, List.of("id int 10 0 0 true", "name nvarchar 20 0 1 false",
                        "amount decimal 18 4 0 false"));
            }
        }
    }

    private static List<Integer> list(int[] numbers) {
        return IntStream.of(numbers).boxed().toList();
    }
}
