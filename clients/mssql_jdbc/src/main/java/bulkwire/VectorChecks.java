package bulkwire;

import static bulkwire.Environment.execute;
import static bulkwire.Environment.expect;
import static bulkwire.Environment.expectError;
import static bulkwire.Environment.refusal;
import static bulkwire.Environment.rows;
import static bulkwire.Environment.scalar;

import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import microsoft.sql.Vector;
import microsoft.sql.Vector.VectorDimensionType;

/** Vectors, with each version of the driver's support. */
final class VectorChecks {
    private static final Float[] SINGLES = {0.1f, -2.5f, Float.MAX_VALUE};
    private static final Float[] HALVES = {0.5f, -1f, 65504f};

    private VectorChecks() {}

    static List<Check> list() {
        return List.of(
                new Check("vectors", at -> roundTrip(at, "v1", "vector(3)", VectorDimensionType.FLOAT32, SINGLES)),
                new Check(
                        "vectors_of_half_precision",
                        at -> roundTrip(at, "v2", "vector(3, float16)", VectorDimensionType.FLOAT16, HALVES)),
                new Check("vectors_as_text", VectorChecks::asText),
                new Check("vectors_refused", VectorChecks::refused));
    }

    /** By a parameter into one table, by bulk copy of its rows into another, and back. */
    private static void roundTrip(
            Environment at, String version, String type, VectorDimensionType elements, Float[] values)
            throws SQLException {
        try (Connection connection = at.connect("vectorTypeSupport=" + version)) {
            for (String table : List.of("jdbc_vectors", "jdbc_vectors_copied")) {
                execute(
                        connection,
                        "DROP TABLE IF EXISTS " + table,
                        "CREATE TABLE " + table + " (id int NOT NULL, v " + type + " NULL)");
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT jdbc_vectors VALUES (?, ?)")) {
                insert.setInt(1, 1);
                insert.setObject(2, new Vector(values.length, elements, values), microsoft.sql.Types.VECTOR);
                insert.executeUpdate();
                insert.setInt(1, 2);
                insert.setObject(2, new Vector(values.length, elements, null), microsoft.sql.Types.VECTOR);
                insert.executeUpdate();
            }
            try (Statement statement = connection.createStatement();
                    ResultSet source = statement.executeQuery("SELECT * FROM jdbc_vectors ORDER BY id");
                    Connection other = at.connect("vectorTypeSupport=" + version);
                    SQLServerBulkCopy copy = new SQLServerBulkCopy(other)) {
                copy.setDestinationTableName("jdbc_vectors_copied");
                copy.writeToServer(source);
            }
            try (Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("SELECT v FROM jdbc_vectors_copied ORDER BY id")) {
                result.next();
                Vector back = result.getObject(1, Vector.class);
                expect("type", back.getVectorDimensionType(), elements);
                expect("elements", Arrays.asList(back.getData()), Arrays.asList((Object[]) values));
                result.next();
                result.getObject(1, Vector.class);
                expect("null", result.wasNull(), true);
            }
        }
    }

    private static void asText(Environment at) throws SQLException {
        String text = "SELECT CAST('[1, 2]' AS vector(2)) AS v";
        try (Connection connection = at.connect("vectorTypeSupport=off")) {
            expect("text", scalar(connection, text), "[1.0000000e+000,2.0000000e+000]");
        }
        // Version 1 has no half precision.
        try (Connection connection = at.connect("vectorTypeSupport=v1")) {
            String half = "SELECT CAST('[1, 2]' AS vector(2, float16)) AS v";
            expect("text", rows(connection, half).get(0).get(0), "[1.0000000e+000,2.0000000e+000]");
        }
    }

    private static void refused(Environment at) throws Exception {
        try (Connection connection = at.connect("")) {
            SQLException error = refusal(() -> scalar(connection, "SELECT CAST('[1]' AS vector(2)) AS v"));
            expectError(error, 42204, 1, 16, 1, "The vector dimensions 1 and 2 do not match.");
        }
    }
}
