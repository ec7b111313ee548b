package bulkwire;

import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Rows for a bulk copy, made one by one. */
final class RowSource implements ISQLServerBulkData {
    private static final long serialVersionUID = 1L;

    static final List<String> KEYED = List.of("id", "v");
    static final List<Integer> KEYED_TYPES = List.of(Types.INTEGER, Types.INTEGER);

    /** Makes the cells of a row; rows count from 0. */
    interface Maker {
        Object[] row(int row) throws SQLException;
    }

    private final transient List<String> names;
    private final transient List<Integer> types;
    private final transient List<Column> columns;
    private final transient Maker maker;
    private final int rows;
    private int row = -1;

    RowSource(List<String> names, List<Integer> types, Maker maker, int rows) {
        this(names, types, List.of(), maker, rows);
    }

    private RowSource(List<String> names, List<Integer> types, List<Column> columns, Maker maker, int rows) {
        this.names = names;
        this.types = types;
        this.columns = columns;
        this.maker = maker;
        this.rows = rows;
    }

    /** The table of every type. */
    static RowSource of(EveryType table, int rows) {
        List<String> names = new ArrayList<>(List.of("id"));
        List<Integer> types = new ArrayList<>(List.of(Types.INTEGER));
        for (Column column : table.columns()) {
            names.add(column.name());
            // A bulk copy knows unique identifiers and XML as text only.
            types.add(switch (column.kind()) {
                case "uniqueidentifier" -> Types.CHAR;
                case "xml" -> Types.LONGNVARCHAR;
                default -> column.jdbcType();
            });
        }
        return new RowSource(names, types, table.columns(), row -> {
            List<Object> cells = new ArrayList<>();
            cells.add(row);
            table.columns().forEach(column -> cells.add(column.value(row)));
            return cells.toArray();
        }, rows);
    }

    /** Two columns of numbers; a pause before each row makes the load slow. */
    static RowSource numbers(int rows, int pauseMilliseconds) {
        return new RowSource(KEYED, KEYED_TYPES, row -> {
            if (pauseMilliseconds > 0) {
                try {
                    Thread.sleep(pauseMilliseconds);
                } catch (InterruptedException interrupted) {
                    throw new SQLException(interrupted);
                }
            }
            return new Object[] {row, row * 2};
        }, rows);
    }

    @Override
    public Set<Integer> getColumnOrdinals() {
        Set<Integer> ordinals = new LinkedHashSet<>();
        for (int i = 1; i <= names.size(); i++) {
            ordinals.add(i);
        }
        return ordinals;
    }

    @Override
    public String getColumnName(int column) {
        return names.get(column - 1);
    }

    @Override
    public int getColumnType(int column) {
        return types.get(column - 1);
    }

    @Override
    public int getPrecision(int column) {
        return column == 1 || columns.isEmpty() ? 0 : columns.get(column - 2).precision();
    }

    @Override
    public int getScale(int column) {
        return column == 1 || columns.isEmpty() ? 0 : columns.get(column - 2).scale();
    }

    @Override
    public Object[] getRowData() throws SQLException {
        return maker.row(row);
    }

    @Override
    public boolean next() {
        row++;
        return row < rows;
    }
}
