package bulkwire;

import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;

/** A column of the table of every type: how its cells are written and read. */
record Column(String name, String declaration, String kind, List<String> literals, List<String> texts) {
    private static final DateTimeFormatter TIME = format("HH:mm:ss.SSSSSSS");
    private static final DateTimeFormatter MOMENT = format("uuuu-MM-dd HH:mm:ss.SSSSSSS");
    private static final DateTimeFormatter MILLISECONDS = format("uuuu-MM-dd HH:mm:ss.SSS");
    private static final DateTimeFormatter WITH_OFFSET = new DateTimeFormatterBuilder()
            .append(MOMENT)
            .appendLiteral(' ')
            .appendOffset("+HH:MM", "+00:00")
            .parseDefaulting(ChronoField.ERA, 1)
            .toFormatter(Locale.ROOT);

    private static DateTimeFormatter format(String pattern) {
        return DateTimeFormatter.ofPattern(pattern, Locale.ROOT);
    }

    /** The canonical text of a cell of a result. */
    String read(ResultSet result, int index) throws SQLException {
        if (result.getObject(index) == null) {
            return null;
        }
        return switch (kind) {
            case "bit" -> result.getBoolean(index) ? "1" : "0";
            case "real" -> String.format("%08x", Float.floatToRawIntBits(result.getFloat(index)));
            case "float" -> String.format("%016x", Double.doubleToRawLongBits(result.getDouble(index)));
            case "decimal", "numeric", "money", "smallmoney" -> result.getBigDecimal(index).toPlainString();
            case "date" -> result.getObject(index, LocalDate.class).toString();
            case "time" -> result.getObject(index, LocalTime.class).format(TIME);
            case "datetime" -> result.getObject(index, LocalDateTime.class).format(MILLISECONDS);
            case "smalldatetime", "datetime2" -> result.getObject(index, LocalDateTime.class).format(MOMENT);
            case "datetimeoffset" -> result.getObject(index, OffsetDateTime.class).format(WITH_OFFSET);
            case "binary", "varbinary", "image" -> HexFormat.of().formatHex(result.getBytes(index));
            case "uniqueidentifier" -> result.getString(index).toLowerCase(Locale.ROOT);
            case "xml" -> result.getSQLXML(index).getString();
            default -> result.getString(index);
        };
    }

    /** Sets a parameter to a cell, by the driver's setter for its SQL type. */
    void set(SQLServerPreparedStatement statement, int index, int row) throws SQLException {
        String text = texts.get(row);
        if (text == null) {
            statement.setNull(index, jdbcType());
            return;
        }
        switch (kind) {
            case "bit" -> statement.setBoolean(index, text.equals("1"));
            case "tinyint", "smallint" -> statement.setShort(index, Short.parseShort(text));
            case "int" -> statement.setInt(index, Integer.parseInt(text));
            case "bigint" -> statement.setLong(index, Long.parseLong(text));
            case "real" -> statement.setFloat(index, (Float) value(row));
            case "float" -> statement.setDouble(index, (Double) value(row));
            case "decimal", "numeric" -> statement.setBigDecimal(index, new BigDecimal(text));
            case "money" -> statement.setMoney(index, new BigDecimal(text));
            case "smallmoney" -> statement.setSmallMoney(index, new BigDecimal(text));
            case "date" -> statement.setObject(index, LocalDate.parse(text));
            case "time" -> statement.setObject(index, LocalTime.parse(text));
            case "datetime" -> statement.setDateTime(index, Timestamp.valueOf(text));
            case "smalldatetime" -> statement.setSmallDateTime(index, Timestamp.valueOf(text));
            case "datetime2" -> statement.setObject(index, LocalDateTime.parse(text, MOMENT));
            case "datetimeoffset" -> {
                OffsetDateTime moment = OffsetDateTime.parse(text, WITH_OFFSET);
                if (moment.getYear() < 1583) {
                    // The driver would compute it in the Julian calendar.
                    statement.setString(index, text);
                } else {
                    statement.setObject(index, moment);
                }
            }
            case "binary", "varbinary", "image" -> statement.setBytes(index, HexFormat.of().parseHex(text));
            case "uniqueidentifier" -> statement.setUniqueIdentifier(index, text);
            case "xml" -> {
                var document = statement.getConnection().createSQLXML();
                document.setString(text);
                statement.setSQLXML(index, document);
            }
            case "nchar", "nvarchar", "ntext" -> statement.setNString(index, text);
            default -> statement.setString(index, text);
        }
    }

    /** The column's type for setNull and for bulk copies. */
    int jdbcType() {
        return switch (kind) {
            case "bit" -> Types.BIT;
            case "tinyint" -> Types.TINYINT;
            case "smallint" -> Types.SMALLINT;
            case "int" -> Types.INTEGER;
            case "bigint" -> Types.BIGINT;
            case "real" -> Types.REAL;
            case "float" -> Types.DOUBLE;
            case "decimal" -> Types.DECIMAL;
            case "numeric" -> Types.NUMERIC;
            case "money" -> microsoft.sql.Types.MONEY;
            case "smallmoney" -> microsoft.sql.Types.SMALLMONEY;
            case "date" -> Types.DATE;
            case "time" -> Types.TIME;
            case "datetime" -> microsoft.sql.Types.DATETIME;
            case "smalldatetime" -> microsoft.sql.Types.SMALLDATETIME;
            case "datetime2" -> Types.TIMESTAMP;
            case "datetimeoffset" -> microsoft.sql.Types.DATETIMEOFFSET;
            case "char" -> Types.CHAR;
            case "varchar" -> declaration.contains("max") ? Types.LONGVARCHAR : Types.VARCHAR;
            case "text" -> Types.LONGVARCHAR;
            case "nchar" -> Types.NCHAR;
            case "nvarchar" -> declaration.contains("max") ? Types.LONGNVARCHAR : Types.NVARCHAR;
            case "ntext" -> Types.LONGNVARCHAR;
            case "binary" -> Types.BINARY;
            case "varbinary" -> declaration.contains("max") ? Types.LONGVARBINARY : Types.VARBINARY;
            case "image" -> Types.LONGVARBINARY;
            case "uniqueidentifier" -> microsoft.sql.Types.GUID;
            case "xml" -> Types.SQLXML;
            default -> throw new IllegalStateException(kind);
        };
    }

    /** A cell as a bulk copy takes it: temporal values, for one, as text. */
    Object value(int row) {
        String text = texts.get(row);
        if (text == null) {
            return null;
        }
        return switch (kind) {
            case "bit" -> text.equals("1");
            case "tinyint", "smallint" -> Short.valueOf(text);
            case "int" -> Integer.valueOf(text);
            case "bigint" -> Long.valueOf(text);
            case "real" -> Float.intBitsToFloat(Integer.parseUnsignedInt(text, 16));
            case "float" -> Double.longBitsToDouble(Long.parseUnsignedLong(text, 16));
            case "decimal", "numeric", "money", "smallmoney" -> new BigDecimal(text);
            case "binary", "varbinary", "image" -> HexFormat.of().parseHex(text);
            // Text with more than three digits of a second is none of its values (295).
            case "smalldatetime" -> text.substring(0, 19);
            default -> text;
        };
    }

    /** Precision or length, and scale, as a bulk copy's source states them. */
    int precision() {
        return switch (kind) {
            case "decimal", "numeric" -> size(0);
            case "money" -> 19;
            case "smallmoney" -> 10;
            case "date" -> 10;
            case "time" -> 16;
            case "datetime", "smalldatetime", "datetime2" -> 27;
            case "datetimeoffset" -> 34;
            case "uniqueidentifier" -> 36;
            case "char", "varchar", "nchar", "nvarchar", "binary", "varbinary" ->
                    declaration.contains("max") ? 0 : size(0);
            default -> 0;
        };
    }

    int scale() {
        return switch (kind) {
            case "decimal", "numeric" -> size(1);
            case "money", "smallmoney" -> 4;
            case "time", "datetime2", "datetimeoffset" -> size(0);
            case "datetime" -> 3;
            default -> 0;
        };
    }

    private int size(int part) {
        String inner = declaration.substring(declaration.indexOf('(') + 1, declaration.indexOf(')'));
        return Integer.parseInt(inner.split(",")[part]);
    }
}
