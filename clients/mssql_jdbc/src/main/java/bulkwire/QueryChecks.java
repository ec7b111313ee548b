package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.rows;
import static bulkwire.Environment.scalar;

import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.io.StringReader;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Values in both directions. */
final class QueryChecks {
    private QueryChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("query_every_type", QueryChecks::queryEveryType),
                new Check("parameters_every_type", QueryChecks::parametersEveryType),
                new Check("parameters_datetimeoffset_before_1582", at -> {
                    throw new Cannot("mssql-jdbc computes a datetimeoffset parameter in the Julian calendar before 1582-10-15:"
                            + " it arrives days off");
                }),
                new Check("parameters_output", QueryChecks::parametersOutput),
                new Check("several_results", QueryChecks::severalResults),
                new Check("large_values", QueryChecks::largeValues),
                new Check("streamed_values", QueryChecks::streamedValues),
                new Check("warnings", QueryChecks::warnings));
    }

    private static void queryEveryType(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            at.table().create(connection, "jdbc_query", "NULL");
            at.table().insertLiterals(connection, "jdbc_query", at.table().rows());
            at.table().compare(connection, "jdbc_query", at.table().rows());
        }
    }

    private static void parametersEveryType(Environment at) throws SQLException {
        try (Connection connection = at.connect("sendTimeAsDatetime=false")) {
            at.table().create(connection, "jdbc_parameters", "NULL");
            String text = "INSERT INTO jdbc_parameters VALUES (?" + ", ?".repeat(at.table().columns().size()) + ")";
            try (PreparedStatement statement = connection.prepareStatement(text)) {
                for (int row = 0; row < at.table().rows(); row++) {
                    statement.setInt(1, row);
                    int index = 2;
                    for (Column column : at.table().columns()) {
                        column.set((SQLServerPreparedStatement) statement, index++, row);
                    }
                    expect("rows affected", statement.executeUpdate(), 1);
                }
            }
            at.table().compare(connection, "jdbc_parameters", at.table().rows());
        }
    }

    private static void parametersOutput(Environment at) throws SQLException {
        String text = "EXEC sp_executesql N'SET @sum = @sum + @more; SET @text = N''größer''',"
                + " N'@sum int OUTPUT, @more int, @text nvarchar(20) OUTPUT', ?, ?, ?";
        try (Connection connection = at.connect(); CallableStatement call = connection.prepareCall(text)) {
            call.setInt(1, 1);
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 41);
            call.registerOutParameter(3, Types.NVARCHAR);
            call.execute();
            expect("sum", call.getInt(1), 42);
            expect("text", call.getNString(3), "größer");
        }
    }

    private static void severalResults(Environment at) throws SQLException {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_several", "CREATE TABLE jdbc_several (n int)");
            boolean isResult = statement.execute("SELECT 1 AS a; INSERT INTO jdbc_several VALUES (1), (2); PRINT 'between';"
                    + " SELECT 'x' AS b WHERE 1 = 0; UPDATE jdbc_several SET n = 5; SELECT 3 AS d");
            List<String> shape = new ArrayList<>();
            while (isResult || statement.getUpdateCount() != -1) {
                if (isResult) {
                    try (ResultSet result = statement.getResultSet()) {
                        shape.add(result.getMetaData().getColumnLabel(1) + "=" + rows(result).size());
                    }
                } else {
                    shape.add("updated " + statement.getUpdateCount());
                }
                isResult = statement.getMoreResults();
            }
            expect("results", shape, List.of("a=1", "updated 2", "b=0", "updated 2", "d=1"));
        }
    }

    private static void largeValues(Environment at) throws SQLException {
        String text = "0123456789äöü€🚀".repeat(200_000);
        byte[] data = new byte[7_000_000];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * 31);
        }
        try (Connection connection = at.connect();
                PreparedStatement statement = connection.prepareStatement("SELECT ?, ?")) {
            statement.setNString(1, text);
            statement.setBytes(2, data);
            try (ResultSet result = statement.executeQuery()) {
                result.next();
                expect("text", result.getNString(1).equals(text), true);
                expect("data", Arrays.equals(result.getBytes(2), data), true);
            }
        }
    }

    private static void streamedValues(Environment at) throws Exception {
        String text = "wörter ".repeat(500_000);
        try (Connection connection = at.connect("responseBuffering=adaptive")) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_streamed", "CREATE TABLE jdbc_streamed (t nvarchar(max))");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_streamed VALUES (?)")) {
                insert.setNCharacterStream(1, new StringReader(text), -1L);
                expect("rows affected", insert.executeUpdate(), 1);
            }
            try (Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("SELECT t FROM jdbc_streamed")) {
                result.next();
                StringBuilder read = new StringBuilder();
                try (var reader = result.getNCharacterStream(1)) {
                    char[] buffer = new char[65536];
                    for (int count = reader.read(buffer); count > 0; count = reader.read(buffer)) {
                        read.append(buffer, 0, count);
                    }
                }
                expect("text", read.toString().equals(text), true);
            }
        }
    }

    private static void warnings(Environment at) throws SQLException {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            statement.execute("PRINT N'größer'; RAISERROR('careful %d', 5, 3, 7)");
            List<String> texts = new ArrayList<>();
            for (var warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
                texts.add(warning.getMessage());
            }
            expect("warnings", texts, List.of("größer", "careful 7"));
            expect("answer", scalar(connection, "SELECT 42"), 42);
        }
    }
}
