package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.expectError;
import static bulkwire.Environment.refusal;
import static bulkwire.Environment.scalar;

import com.microsoft.sqlserver.jdbc.SQLServerBulkCSVFileRecord;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.List;

/** SQLServerBulkCopy. */
final class BulkChecks {
    private static final String DUPLICATE = "Violation of PRIMARY KEY constraint 'pk_%1$s'. Cannot insert duplicate key in"
            + " object 'dbo.%1$s'. The duplicate key value is (1).";

    private BulkChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("bulk_every_type", at -> everyType(at.table(), at, "", "jdbc_bulk")),
                new Check("bulk_temporal_types_as_themselves", BulkChecks::nativeTemporal),
                new Check("bulk_time_as_itself", at -> {
                    throw new Cannot("with sendTemporalDataTypesAsStringForBulkCopy=false mssql-jdbc sends time values rounded"
                            + " to hundredths of a second");
                }),
                new Check("bulk_not_null", BulkChecks::notNull),
                new Check("bulk_from_a_result", BulkChecks::fromAResult),
                new Check("bulk_from_csv", BulkChecks::fromCsv),
                new Check("bulk_in_batches", BulkChecks::inBatches),
                new Check("bulk_large_values", BulkChecks::largeValues),
                new Check("bulk_refused", BulkChecks::refused),
                new Check("bulk_rolled_back", BulkChecks::rolledBack),
                new Check("bulk_source_fails", BulkChecks::sourceFails),
                new Check("cancel_bulk", BulkChecks::cancel));
    }

    private static void nativeTemporal(Environment at) throws SQLException {
        everyType(at.table().without("c_time"), at, "sendTemporalDataTypesAsStringForBulkCopy=false", "jdbc_bulk_native");
    }

    private static void everyType(EveryType table, Environment at, String options, String name) throws SQLException {
        try (Connection connection = at.connect(options); SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            table.create(connection, name, "NULL");
            SQLServerBulkCopyOptions hints = new SQLServerBulkCopyOptions();
            hints.setKeepNulls(true);
            hints.setTableLock(true);
            copy.setBulkCopyOptions(hints);
            copy.setDestinationTableName(name);
            copy.writeToServer(RowSource.of(table, table.rows()));
            table.compare(connection, name, table.rows());
        }
    }

    private static void notNull(Environment at) throws SQLException {
        EveryType table = at.table();
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            table.create(connection, "jdbc_bulk_not_null", "NOT NULL");
            copy.setDestinationTableName("jdbc_bulk_not_null");
            copy.writeToServer(RowSource.of(table, table.rows() - 1));
            table.compare(connection, "jdbc_bulk_not_null", table.rows() - 1);
        }
    }

    /** From table to table, through the driver: the stream carries the source's types. */
    private static void fromAResult(Environment at) throws SQLException {
        EveryType table = at.table();
        try (Connection source = at.connect(); Connection target = at.connect()) {
            table.create(source, "jdbc_bulk_source", "NULL");
            table.insertLiterals(source, "jdbc_bulk_source", table.rows());
            table.create(target, "jdbc_bulk_copy", "NULL");
            try (Statement statement = source.createStatement();
                    ResultSet result = statement.executeQuery("SELECT * FROM jdbc_bulk_source");
                    SQLServerBulkCopy copy = new SQLServerBulkCopy(target)) {
                copy.setDestinationTableName("jdbc_bulk_copy");
                copy.writeToServer(result);
            }
            table.compare(target, "jdbc_bulk_copy", table.rows());
        }
    }

    private static void fromCsv(Environment at) throws SQLException {
        String file = "id;name;amount;day;moment\n1;Åsa;12.5000;2024-02-29;2024-02-29 12:34:56.789\n2;;;;\n";
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_csv", "CREATE TABLE jdbc_csv (id int NOT NULL,"
                    + " name nvarchar(20) NULL, amount decimal(18,4) NULL, day date NULL, moment datetime2(3) NULL)");
            var bytes = new ByteArrayInputStream(file.getBytes(StandardCharsets.UTF_8));
            try (var csv = new SQLServerBulkCSVFileRecord(bytes, "UTF-8", ";", true)) {
                csv.addColumnMetadata(1, "id", Types.INTEGER, 0, 0);
                csv.addColumnMetadata(2, "name", Types.NVARCHAR, 20, 0);
                csv.addColumnMetadata(3, "amount", Types.DECIMAL, 18, 4);
                csv.addColumnMetadata(4, "day", Types.DATE, 10, 0);
                csv.addColumnMetadata(5, "moment", Types.TIMESTAMP, 23, 3);
                copy.setDestinationTableName("jdbc_csv");
                copy.writeToServer(csv);
            }
            expect("first", scalar(connection, "SELECT CONCAT(name, '|', amount, '|', CONVERT(varchar(10), day, 23), '|',"
                    + " CONVERT(varchar(23), moment, 121)) FROM jdbc_csv WHERE id = 1"),
                    "Åsa|12.5000|2024-02-29|2024-02-29 12:34:56.789");
            expect("second", scalar(connection, "SELECT COUNT(*) FROM jdbc_csv WHERE id = 2 AND amount IS NULL AND day IS NULL"
                    + " AND moment IS NULL"), 1);
        }
    }

    private static void makeKeyed(Connection connection, String name) throws SQLException {
        execute(connection, "DROP TABLE IF EXISTS " + name, "CREATE TABLE " + name
                + " (id int NOT NULL CONSTRAINT pk_" + name + " PRIMARY KEY, v int NULL)");
    }

    private static SQLServerBulkCopy copyInto(Connection connection, String name) throws SQLException {
        makeKeyed(connection, name);
        SQLServerBulkCopy copy = new SQLServerBulkCopy(connection);
        copy.setDestinationTableName(name);
        return copy;
    }

    private static void inBatches(Environment at) throws SQLException {
        String url = at.url(at.port(), "encrypt=false;user=" + at.user() + ";password={" + at.password() + "}");
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = new SQLServerBulkCopy(url)) {
            makeKeyed(connection, "jdbc_batches");
            copy.setDestinationTableName("jdbc_batches");
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setBatchSize(300);
            options.setUseInternalTransaction(true);
            copy.setBulkCopyOptions(options);
            copy.writeToServer(RowSource.numbers(1000, 0));
            expect("rows", scalar(connection, "SELECT COUNT(*) FROM jdbc_batches WHERE v = id * 2"), 1000);
        }
    }

    private static void largeValues(Environment at) throws SQLException {
        String text = "0123456789äöü€🚀".repeat(200_000);
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_large", "CREATE TABLE jdbc_large (t nvarchar(max) NULL)");
            copy.setDestinationTableName("jdbc_large");
            copy.writeToServer(new RowSource(List.of("t"), List.of(Types.LONGNVARCHAR), row -> new Object[] {text}, 1));
            expect("text", text.equals(scalar(connection, "SELECT t FROM jdbc_large")), true);
        }
    }

    private static void refused(Environment at) throws Exception {
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = copyInto(connection, "jdbc_refused")) {
            SQLException error = refusal(() -> copy.writeToServer(new RowSource(RowSource.KEYED, RowSource.KEYED_TYPES,
                    row -> new Object[] {row == 2 ? 1 : row + 1, row}, 3)));
            expectError(error, 2627, 1, 14, 1, DUPLICATE.formatted("jdbc_refused"));
            expect("rows left", scalar(connection, "SELECT COUNT(*) FROM jdbc_refused"), 0);
        }
    }

    private static void rolledBack(Environment at) throws SQLException {
        try (Connection connection = at.connect(); SQLServerBulkCopy copy = copyInto(connection, "jdbc_taken_back")) {
            connection.setAutoCommit(false);
            copy.writeToServer(RowSource.numbers(10, 0));
            expect("rows inside", scalar(connection, "SELECT COUNT(*) FROM jdbc_taken_back"), 10);
            connection.rollback();
            expect("rows left", scalar(connection, "SELECT COUNT(*) FROM jdbc_taken_back"), 0);
        }
    }

    /** The source throws in the middle: the driver takes the load back. */
    private static void sourceFails(Environment at) throws Exception {
        try (Connection connection = at.connect(); Connection other = at.connect();
                SQLServerBulkCopy copy = copyInto(connection, "jdbc_source_fails")) {
            SQLException error = refusal(() -> copy.writeToServer(new RowSource(RowSource.KEYED, RowSource.KEYED_TYPES, row -> {
                if (row == 5000) {
                    throw new SQLException("the source is broken");
                }
                return new Object[] {row, row};
            }, 10_000)));
            expect("message", error.getMessage(), "Unable to retrieve data from the source.");
            expect("rows left", scalar(other, "SELECT COUNT(*) FROM jdbc_source_fails WITH (TABLOCKX)"), 0);
        }
    }

    /** The time-out of a slow load sends an attention. */
    private static void cancel(Environment at) throws Exception {
        try (Connection connection = at.connect(); Connection other = at.connect();
                SQLServerBulkCopy copy = copyInto(connection, "jdbc_cancelled")) {
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setBulkCopyTimeout(1);
            copy.setBulkCopyOptions(options);
            SQLException error = refusal(() -> copy.writeToServer(RowSource.numbers(100_000, 1)));
            expect("message", error.getMessage().contains("timed out"), true);
            expect("rows left", scalar(other, "SELECT COUNT(*) FROM jdbc_cancelled WITH (TABLOCKX)"), 0);
        }
    }
}
