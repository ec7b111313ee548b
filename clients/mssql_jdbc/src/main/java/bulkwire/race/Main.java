package bulkwire.race;

import com.google.gson.JsonObject;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/** mssql-jdbc's contestant of the client benchmark (docs/clients-benchmark.md, "A contestant"). */
final class Main {
    private static final int COLUMNS = 11;

    private Main() {
    }

    public static void main(String[] words) throws Exception {
        Arguments arguments = Arguments.parse(words);
        JsonObject report = switch (arguments.mode()) {
            case "load" -> load(arguments);
            case "read" -> read(arguments);
            default -> throw new IllegalArgumentException("load or read, not " + arguments.mode());
        };
        System.out.println(report);
    }

    private static JsonObject load(Arguments arguments) throws Exception {
        Source source = Source.read(arguments.source(), arguments.rows());
        try (Connection connection = arguments.connect();
                SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
            options.setTableLock(true);
            options.setKeepNulls(true);
            options.setBatchSize(arguments.batchRows());
            options.setBulkCopyTimeout(0);
            copy.setBulkCopyOptions(options);
            copy.setDestinationTableName(arguments.table());
            Meter meter = new Meter();
            copy.writeToServer(source);
            JsonObject report = meter.stop(client(connection), arguments.rows());
            report.addProperty("source", "values");
            return report;
        }
    }

    /** Reads with the driver's adaptive buffering (its default for forward-only results), each column by its typed getter. */
    private static JsonObject read(Arguments arguments) throws Exception {
        Checksum checksum = new Checksum(COLUMNS);
        try (Connection connection = arguments.connect();
                Statement statement =
                        connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            Meter meter = new Meter();
            long rows = 0;
            try (ResultSet result = statement.executeQuery("SELECT * FROM " + arguments.table())) {
                while (result.next()) {
                    rows++;
                    add(checksum, result);
                }
            }
            JsonObject report = meter.stop(client(connection), rows);
            report.addProperty("checksum", checksum.toString());
            return report;
        }
    }

    private static void add(Checksum checksum, ResultSet result) throws Exception {
        for (int column = 0; column < 3; column++) {
            long value = result.getLong(column + 1);
            if (!result.wasNull()) {
                checksum.add(column, value);
            }
        }
        double number = result.getDouble(4);
        if (!result.wasNull()) {
            checksum.add(3, Double.doubleToRawLongBits(number));
        }
        boolean bit = result.getBoolean(5);
        if (!result.wasNull()) {
            checksum.add(4, bit ? 1 : 0);
        }
        LocalDate date = result.getObject(6, LocalDate.class);
        if (date != null) {
            checksum.add(5, date.toEpochDay());
        }
        LocalDateTime moment = result.getObject(7, LocalDateTime.class);
        if (moment != null) {
            checksum.add(6, moment.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + moment.getNano() / 1_000);
        }
        var amount = result.getBigDecimal(8);
        if (amount != null) {
            checksum.add(7, amount.unscaledValue().longValue());
        }
        for (int column = 8; column < COLUMNS; column++) {
            String text = result.getString(column + 1);
            if (text != null) {
                checksum.add(column, text);
            }
        }
    }

    private static String client(Connection connection) throws Exception {
        return "mssql-jdbc " + connection.getMetaData().getDriverVersion();
    }
}
