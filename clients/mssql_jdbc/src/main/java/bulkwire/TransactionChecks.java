package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.rows;
import static bulkwire.Environment.scalar;

import com.microsoft.sqlserver.jdbc.SQLServerConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.List;

/** Transactions, which this driver sends as text. */
final class TransactionChecks {
    private TransactionChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("transaction_rollback", TransactionChecks::rollback),
                new Check("isolation_levels", TransactionChecks::isolationLevels),
                new Check("savepoint", TransactionChecks::savepoint));
    }

    private static void rollback(Environment at) throws SQLException {
        try (Connection connection = at.connect(); Connection other = at.connect()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_rollback", "CREATE TABLE jdbc_rollback (n int NOT NULL)");
            connection.setAutoCommit(false);
            execute(connection, "INSERT INTO jdbc_rollback VALUES (1)");
            expect("rows inside", scalar(connection, "SELECT COUNT(*) FROM jdbc_rollback"), 1);
            connection.rollback();
            execute(connection, "INSERT INTO jdbc_rollback VALUES (2)");
            connection.commit();
            execute(connection, "INSERT INTO jdbc_rollback VALUES (3)");
            connection.rollback();
            expect("rows left", rows(other, "SELECT n FROM jdbc_rollback"), List.of(List.of(2)));
            connection.setAutoCommit(true);
            expect("@@TRANCOUNT", scalar(connection, "SELECT @@TRANCOUNT"), 0);
        }
    }

    private static void isolationLevels(Environment at) throws SQLException {
        int[] levels = {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED,
            Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE,
            SQLServerConnection.TRANSACTION_SNAPSHOT};
        try (Connection connection = at.connect()) {
            connection.setAutoCommit(false);
            for (int level : levels) {
                connection.setTransactionIsolation(level);
                expect("level", connection.getTransactionIsolation(), level);
                expect("answer", scalar(connection, "SELECT 42"), 42);
                connection.commit();
            }
        }
    }

    private static void savepoint(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            execute(connection, "DROP TABLE IF EXISTS jdbc_savepoint", "CREATE TABLE jdbc_savepoint (n int NOT NULL)");
            connection.setAutoCommit(false);
            execute(connection, "INSERT INTO jdbc_savepoint VALUES (1)");
            Savepoint here = connection.setSavepoint("here");
            execute(connection, "INSERT INTO jdbc_savepoint VALUES (2)");
            connection.rollback(here);
            Savepoint unnamed = connection.setSavepoint();
            execute(connection, "INSERT INTO jdbc_savepoint VALUES (3)");
            connection.rollback(unnamed);
            execute(connection, "INSERT INTO jdbc_savepoint VALUES (4)");
            connection.commit();
            expect("rows left", rows(connection, "SELECT n FROM jdbc_savepoint ORDER BY n"), List.of(List.of(1), List.of(4)));
        }
    }
}
