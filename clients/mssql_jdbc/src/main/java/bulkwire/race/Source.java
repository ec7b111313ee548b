package bulkwire.race;

import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Date;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileReader;

/** The rows of a load, as a bulk copy takes them. */
final class Source implements ISQLServerBulkData {
    private static final long serialVersionUID = 1L;

    /**
     * A column of the benchmark's table as the driver declares it. Dates and times go as text of that precision, the driver's
     * default, which costs it less than its binary form.
     */
    private record Column(String name, int type, int precision, int scale) {
    }

    private static final List<Column> COLUMNS = List.of(
            new Column("id", Types.INTEGER, 0, 0),
            new Column("col_int", Types.INTEGER, 0, 0),
            new Column("col_bigint", Types.BIGINT, 0, 0),
            new Column("col_float", Types.DOUBLE, 0, 0),
            new Column("col_bit", Types.BIT, 0, 0),
            new Column("col_date", Types.DATE, 10, 0),
            new Column("col_datetime2", Types.TIMESTAMP, 26, 6),
            new Column("col_decimal", Types.DECIMAL, 18, 4),
            new Column("col_str1", Types.NVARCHAR, 100, 0),
            new Column("col_str2", Types.VARCHAR, 100, 0),
            new Column("col_str3", Types.NVARCHAR, 100, 0));

    private final transient List<Object[]> rows;
    private int row = -1;

    private Source(List<Object[]> rows) {
        this.rows = rows;
    }

    /** Makes the values of the first rows of an Arrow IPC file. */
    static Source read(Path path, int wanted) throws IOException {
        List<Object[]> rows = new ArrayList<>(wanted);
        try (BufferAllocator allocator = new RootAllocator();
                FileInputStream file = new FileInputStream(path.toFile());
                ArrowFileReader reader = new ArrowFileReader(file.getChannel(), allocator)) {
            while (rows.size() < wanted && reader.loadNextBatch()) {
                VectorSchemaRoot batch = reader.getVectorSchemaRoot();
                int take = Math.min(batch.getRowCount(), wanted - rows.size());
                for (int i = 0; i < take; i++) {
                    Object[] values = new Object[COLUMNS.size()];
                    for (int column = 0; column < values.length; column++) {
                        values[column] = value(batch.getVector(column), i);
                    }
                    rows.add(values);
                }
            }
        }
        if (rows.size() < wanted) {
            throw new IOException("the source lacks " + (wanted - rows.size()) + " of the rows");
        }
        return new Source(rows);
    }

    private static Object value(FieldVector vector, int row) {
        if (vector.isNull(row)) {
            return null;
        }
        if (vector instanceof DateDayVector days) {
            return Date.valueOf(LocalDate.ofEpochDay(days.get(row)));
        }
        Object value = vector.getObject(row);
        if (value instanceof LocalDateTime moment) {
            return Timestamp.valueOf(moment);
        }
        return value instanceof Number || value instanceof Boolean ? value : value.toString();
    }

    @Override
    public Set<Integer> getColumnOrdinals() {
        Set<Integer> ordinals = new TreeSet<>();
        for (int i = 1; i <= COLUMNS.size(); i++) {
            ordinals.add(i);
        }
        return ordinals;
    }

    @Override
    public String getColumnName(int column) {
        return COLUMNS.get(column - 1).name();
    }

    @Override
    public int getColumnType(int column) {
        return COLUMNS.get(column - 1).type();
    }

    @Override
    public int getPrecision(int column) {
        return COLUMNS.get(column - 1).precision();
    }

    @Override
    public int getScale(int column) {
        return COLUMNS.get(column - 1).scale();
    }

    @Override
    public Object[] getRowData() {
        return rows.get(row);
    }

    @Override
    public boolean next() {
        row++;
        return row < rows.size();
    }
}
