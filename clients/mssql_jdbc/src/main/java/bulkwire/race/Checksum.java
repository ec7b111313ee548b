package bulkwire.race;

import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;

/** The checksum of a read: for each column, how many values are not NULL and their sum modulo 2^64. */
final class Checksum {
    private final long[] counts;
    private final long[] sums;

    Checksum(int columns) {
        counts = new long[columns];
        sums = new long[columns];
    }

    /** Adds a value that counts as a number. */
    void add(int column, long value) {
        counts[column]++;
        sums[column] += value;
    }

    /** Adds a string: its UTF-8 bytes, each multiplied by its position. */
    void add(int column, String text) {
        long sum = 0;
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int place = 0; place < bytes.length; place++) {
            sum += (place + 1L) * (bytes[place] & 0xff);
        }
        add(column, sum);
    }

    @Override
    public String toString() {
        StringJoiner pairs = new StringJoiner(" ");
        for (int column = 0; column < counts.length; column++) {
            pairs.add(counts[column] + ":" + Long.toUnsignedString(sums[column]));
        }
        return pairs.toString();
    }
}
