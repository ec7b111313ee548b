package bulkwire.race;

import com.google.gson.JsonObject;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a transfer costs: wall time, CPU time of the process (compiler and collector included), memory. */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private final long startBytes = peakBytes();
    private final long cpu = SYSTEM.getProcessCpuTime();
    private final long started = System.nanoTime();

    /** Starts right before the first call of the transfer. */
    Meter() throws IOException {
    }

    /** Stops; the line that a contestant prints, without what belongs to one mode. */
    JsonObject stop(String client, long rows) throws IOException {
        long elapsed = System.nanoTime() - started;
        long used = SYSTEM.getProcessCpuTime() - cpu;
        JsonObject report = new JsonObject();
        report.addProperty("rows", rows);
        report.addProperty("seconds", elapsed / 1e9);
        report.addProperty("cpu_seconds", used / 1e9);
        report.addProperty("peak_bytes", peakBytes());
        report.addProperty("start_bytes", startBytes);
        report.addProperty("client", client);
        return report;
    }

    private static long peakBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.substring(6).replace("kB", "").trim()) * 1024;
            }
        }
        throw new IOException("no VmHWM in /proc/self/status");
    }
}
