package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.rows;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Server cursors: sp_cursoropen, sp_cursorprepexec, sp_cursorfetch, sp_cursor. */
final class CursorChecks {
    private static final int ROWS = 25;

    private CursorChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("cursor_select_method", CursorChecks::selectMethod),
                new Check("cursor_prepared", CursorChecks::prepared),
                new Check("cursor_scrollable", CursorChecks::scrollable),
                new Check("cursor_updatable", CursorChecks::updatable));
    }

    private static void makeTable(Connection connection, String name) throws SQLException {
        execute(connection, "DROP TABLE IF EXISTS " + name,
                "CREATE TABLE " + name + " (id int NOT NULL PRIMARY KEY, name nvarchar(20) NULL)");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + name + " VALUES (?, ?)")) {
            for (int id = 1; id <= ROWS; id++) {
                insert.setInt(1, id);
                insert.setString(2, "name " + id);
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private static List<Integer> ids(ResultSet result) throws SQLException {
        List<Integer> ids = new ArrayList<>();
        while (result.next()) {
            expect("name", result.getString(2), "name " + result.getInt(1));
            ids.add(result.getInt(1));
        }
        return ids;
    }

    private static List<Integer> numbers(int first, int last) {
        return IntStream.rangeClosed(first, last).boxed().toList();
    }

    private static void selectMethod(Environment at) throws SQLException {
        try (Connection connection = at.connect("selectMethod=cursor"); Statement statement = connection.createStatement()) {
            makeTable(connection, "jdbc_cursor");
            statement.setFetchSize(4);
            try (ResultSet result = statement.executeQuery("SELECT id, name FROM jdbc_cursor ORDER BY id")) {
                // The rest of the rows is on the server: the connection is free for other statements meanwhile.
                result.next();
                expect("id", result.getInt(1), 1);
                expect("other", rows(connection, "SELECT COUNT(*) FROM jdbc_cursor").size(), 1);
                expect("ids", ids(result), numbers(2, ROWS));
            }
        }
    }

    private static void prepared(Environment at) throws SQLException {
        try (Connection connection = at.connect("selectMethod=cursor")) {
            makeTable(connection, "jdbc_cursor");
            String text = "SELECT id, name FROM jdbc_cursor WHERE id > ? ORDER BY id";
            try (PreparedStatement find = connection.prepareStatement(text)) {
                find.setFetchSize(4);
                for (int above = 0; above < 5; above++) {
                    find.setInt(1, above);
                    try (ResultSet result = find.executeQuery()) {
                        expect("ids", ids(result), numbers(above + 1, ROWS));
                    }
                }
            }
        }
    }

    private static void scrollable(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            makeTable(connection, "jdbc_cursor");
            try (Statement statement = connection.createStatement(
                            ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                    ResultSet result = statement.executeQuery("SELECT id, name FROM jdbc_cursor ORDER BY id")) {
                List<Integer> seen = new ArrayList<>();
                result.last();
                seen.add(result.getInt(1));
                seen.add(result.getRow());
                result.previous();
                seen.add(result.getInt(1));
                result.absolute(3);
                seen.add(result.getInt(1));
                result.relative(4);
                seen.add(result.getInt(1));
                result.absolute(-2);
                seen.add(result.getInt(1));
                result.first();
                seen.add(result.getInt(1));
                expect("seen", seen, List.of(ROWS, ROWS, ROWS - 1, 3, 7, ROWS - 1, 1));
                result.beforeFirst();
                expect("ids", ids(result), numbers(1, ROWS));
            }
        }
    }

    private static void updatable(Environment at) throws SQLException {
        try (Connection connection = at.connect()) {
            makeTable(connection, "jdbc_updatable");
            try (Statement statement = connection.createStatement(
                            ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE);
                    ResultSet result = statement.executeQuery("SELECT id, name FROM jdbc_updatable")) {
                result.absolute(2);
                result.updateNString(2, "geändert");
                result.updateRow();
                result.absolute(3);
                result.deleteRow();
                result.moveToInsertRow();
                result.updateInt(1, 100);
                result.updateNString(2, "neu");
                result.insertRow();
            }
            expect("rows", rows(connection, "SELECT id, name FROM jdbc_updatable WHERE id IN (1, 2, 3, 4, 100) ORDER BY id"),
                    List.of(List.of(1, "name 1"), List.of(2, "geändert"), List.of(4, "name 4"), List.of(100, "neu")));
        }
    }
}
