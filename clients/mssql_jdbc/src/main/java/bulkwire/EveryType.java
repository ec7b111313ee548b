package bulkwire;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.StringJoiner;

/** The table of every type; see cells.py for the canonical texts. */
record EveryType(int rows, List<Column> columns) {

    /** The table less one column. */
    EveryType without(String name) {
        return new EveryType(rows, columns.stream().filter(column -> !column.name().equals(name)).toList());
    }

    /** Makes an empty table; with "NOT NULL" its columns take no NULL, and it has no row of NULLs. */
    void create(Connection connection, String name, String nullability) throws SQLException {
        StringJoiner text = new StringJoiner(", ", "CREATE TABLE " + name + " (id int NOT NULL, ", ")");
        for (Column column : columns) {
            text.add(column.name() + " " + column.declaration() + " " + nullability);
        }
        Environment.execute(connection, "DROP TABLE IF EXISTS " + name, text.toString());
    }

    /** Fills a table by literals. */
    void insertLiterals(Connection connection, String name, int rowCount) throws SQLException {
        for (int row = 0; row < rowCount; row++) {
            StringJoiner text = new StringJoiner(", ", "INSERT INTO " + name + " VALUES (" + row + ", ", ")");
            for (Column column : columns) {
                text.add(column.literals().get(row));
            }
            Environment.execute(connection, text.toString());
        }
    }

    /** Reads a table and compares every cell. */
    void compare(Connection connection, String name, int rowCount) throws SQLException {
        try (var statement = connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT * FROM " + name + " ORDER BY id")) {
            int row = 0;
            for (; result.next(); row++) {
                Environment.expect("id", result.getInt(1), row);
                for (int i = 0; i < columns.size(); i++) {
                    Column column = columns.get(i);
                    String what = column.name() + " of row " + row;
                    Environment.expect(what, column.read(result, i + 2), column.texts().get(row));
                }
            }
            Environment.expect("rows", row, rowCount);
        }
    }
}
