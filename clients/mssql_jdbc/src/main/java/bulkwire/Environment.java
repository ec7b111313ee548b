package bulkwire;

import com.google.gson.Gson;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Where the server is, and what checks share. */
record Environment(String host, int port, int plainPort, String user, String password,
        String plainPassword, Path certificate, EveryType table) {

    static Environment read() throws IOException {
        String cells = Files.readString(Path.of(System.getenv("BULKWIRE_CELLS")));
        return new Environment(
                System.getenv("BULKWIRE_HOST"),
                Integer.parseInt(System.getenv("BULKWIRE_PORT")),
                Integer.parseInt(System.getenv("BULKWIRE_PLAIN_PORT")),
                System.getenv("BULKWIRE_USER"),
                System.getenv("BULKWIRE_PASSWORD"),
                System.getenv("BULKWIRE_PLAIN_PASSWORD"),
                Path.of(System.getenv("BULKWIRE_CERTIFICATE")),
                new Gson().fromJson(cells, EveryType.class));
    }

    String url(int toPort, String options) {
        return "jdbc:sqlserver://" + host + ":" + toPort + ";databaseName=master;loginTimeout=60;" + options;
    }

    /** A connection with further properties, whose login alone is encrypted. */
    Connection connect(String options) throws SQLException {
        return DriverManager.getConnection(url(port, "encrypt=false;" + options), user, password);
    }

    Connection connect() throws SQLException {
        return connect("");
    }

    /** Executes statements one by one. */
    static void execute(Connection connection, String... texts) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : texts) {
                statement.execute(text);
            }
        }
    }

    /** All rows of a query, cells as the driver's objects. */
    static List<List<Object>> rows(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(text)) {
            return rows(result);
        }
    }

    static List<List<Object>> rows(ResultSet result) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        int width = result.getMetaData().getColumnCount();
        while (result.next()) {
            List<Object> row = new ArrayList<>();
            for (int column = 1; column <= width; column++) {
                row.add(result.getObject(column));
            }
            rows.add(row);
        }
        return rows;
    }

    /** The first cell of a query. */
    static Object scalar(Connection connection, String text) throws SQLException {
        return rows(connection, text).get(0).get(0);
    }

    /** Compares what was read with what must be there. */
    static void expect(String what, Object actual, Object wanted) {
        if (!Objects.equals(actual, wanted)) {
            throw new AssertionError(what + ": " + shortened(actual) + ", expected " + shortened(wanted));
        }
    }

    private static String shortened(Object value) {
        String text = String.valueOf(value);
        return text.length() > 300 ? text.substring(0, 300) + "…" : text;
    }

    /** Something that must fail. */
    interface Failing {
        void run() throws Exception;
    }

    /** The exception with which work must fail. */
    static SQLException refusal(Failing work) throws Exception {
        try {
            work.run();
        } catch (SQLException refusal) {
            return refusal;
        }
        throw new AssertionError("no error came");
    }

    /** Compares an error of the server: number, state, severity, line and message. */
    static void expectError(SQLException error, int number, int state, int severity, int line, String message) {
        if (!(error instanceof SQLServerException refusal) || refusal.getSQLServerError() == null) {
            throw new AssertionError("no error of the server: " + error);
        }
        var details = refusal.getSQLServerError();
        expect(
                "error",
                List.of(
                        details.getErrorNumber(),
                        details.getErrorState(),
                        details.getErrorSeverity(),
                        (int) details.getLineNumber(),
                        details.getErrorMessage()),
                List.of(number, state, severity, line, message));
        expect("error code", error.getErrorCode(), number);
    }
}
