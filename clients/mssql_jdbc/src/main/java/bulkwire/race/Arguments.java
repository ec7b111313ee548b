package bulkwire.race;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;

/** What to move, from where, where to. */
record Arguments(String mode, Map<String, String> options, String password) {

    /** Reads {@code load|read --name value ...}, pairs in any order. */
    static Arguments parse(String[] words) {
        if (words.length % 2 != 1) {
            throw new IllegalArgumentException("wanted: load|read --table ...");
        }
        Map<String, String> options = new HashMap<>();
        for (int i = 1; i < words.length; i += 2) {
            options.put(words[i], words[i + 1]);
        }
        return new Arguments(words[0], options, System.getenv("RACE_PASSWORD"));
    }

    String table() {
        return options.get("--table");
    }

    int rows() {
        return Integer.parseInt(options.get("--rows"));
    }

    /** Rows of a commit; 0 means all. */
    int batchRows() {
        return Integer.parseInt(options.getOrDefault("--batch-rows", "0"));
    }

    Path source() {
        return Path.of(options.get("--source"));
    }

    /** A connection with the largest packets that it carries: TLS keeps to records of 16 KiB. */
    Connection connect() throws SQLException {
        boolean encrypt = options.getOrDefault("--encrypt", "off").equals("on");
        String url = "jdbc:sqlserver://" + options.get("--host") + ":" + options.get("--port")
                + ";databaseName=" + options.get("--database")
                + ";encrypt=" + encrypt
                + ";trustServerCertificate=true;packetSize=" + (encrypt ? 16_383 : 32_767);
        return DriverManager.getConnection(url, options.get("--user"), password);
    }
}
