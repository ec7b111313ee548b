package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.expectError;
import static bulkwire.Environment.refusal;
import static bulkwire.Environment.scalar;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Errors and cancellation of queries. */
final class ErrorChecks {
    private ErrorChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("error_details", ErrorChecks::details),
                new Check("error_from_try_catch", ErrorChecks::thrown),
                new Check("error_after_a_result", ErrorChecks::afterAResult),
                new Check("cancel_query", ErrorChecks::cancelQuery),
                new Check("cancel_streaming", ErrorChecks::cancelStreaming),
                new Check("query_timeout", ErrorChecks::timeout));
    }

    private static void details(Environment at) throws Exception {
        try (Connection connection = at.connect()) {
            expectError(refusal(() -> execute(connection, "SET NOCOUNT ON;\n\nSELECT * FROM no_such_table")),
                    208, 1, 16, 3, "Invalid object name 'no_such_table'.");
            execute(connection, "DROP TABLE IF EXISTS jdbc_error",
                    "CREATE TABLE jdbc_error (id int NOT NULL CONSTRAINT pk_jdbc_error PRIMARY KEY)");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_error VALUES (?)")) {
                insert.setInt(1, 1);
                insert.executeUpdate();
                SQLException error = refusal(insert::executeUpdate);
                expectError(error, 2627, 1, 14, 1, "Violation of PRIMARY KEY constraint 'pk_jdbc_error'. Cannot insert"
                        + " duplicate key in object 'dbo.jdbc_error'. The duplicate key value is (1).");
                expect("SQLSTATE", error.getSQLState(), "23000");
            }
            expect("rows", scalar(connection, "SELECT COUNT(*) FROM jdbc_error"), 1);
        }
    }

    private static void thrown(Environment at) throws Exception {
        String text = "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH\n;THROW 50001, N'größer', 7 END CATCH";
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            // The division's result comes first, empty and without an error: TRY caught it.
            SQLException error = refusal(() -> {
                boolean isResult = statement.execute(text);
                while (isResult || statement.getUpdateCount() != -1) {
                    isResult = statement.getMoreResults();
                }
            });
            expectError(error, 50001, 7, 16, 2, "größer");
        }
    }

    private static void afterAResult(Environment at) throws Exception {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT 42; RAISERROR('late', 16, 9)")) {
            result.next();
            expect("answer", result.getInt(1), 42);
            expectError(refusal(statement::getMoreResults), 50000, 9, 16, 1, "late");
        }
    }

    private static void cancelQuery(Environment at) throws Exception {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            var later = CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS);
            CompletableFuture.runAsync(() -> cancel(statement), later);
            SQLException error = refusal(() -> statement.execute("WAITFOR DELAY '00:01:00'"));
            expect("message", error.getMessage(), "The query was canceled.");
            expect("answer", scalar(connection, "SELECT 42"), 42);
        }
    }

    private static void cancel(Statement statement) {
        try {
            statement.cancel();
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void cancelStreaming(Environment at) throws Exception {
        String ten = "(VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10))";
        try (Connection connection = at.connect("responseBuffering=adaptive")) {
            execute(connection, "CREATE TABLE #n (n int)",
                    "INSERT INTO #n SELECT a.n FROM " + ten + " a(n), " + ten + " b(n)");
            try (Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("SELECT a.n FROM #n a, #n b, #n c, #n d")) {
                result.next();
                statement.cancel();
                SQLException error = refusal(() -> {
                    while (result.next()) {
                        result.getInt(1);
                    }
                });
                expect("message", error.getMessage(), "The query was canceled.");
            }
            expect("rows", scalar(connection, "SELECT COUNT(*) FROM #n"), 100);
        }
    }

    private static void timeout(Environment at) throws Exception {
        try (Connection connection = at.connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            SQLException error = refusal(() -> statement.execute("WAITFOR DELAY '00:01:00'"));
            expect("timed out", error instanceof SQLTimeoutException, true);
            expect("answer", scalar(connection, "SELECT 42"), 42);
        }
    }
}
