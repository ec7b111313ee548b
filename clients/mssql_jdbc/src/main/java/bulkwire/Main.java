package bulkwire;

import com.google.gson.Gson;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Drives mssql-jdbc against the embedded server and prints one JSON line per check.
 *
 * <p>The endpoint comes from BULKWIRE_HOST, BULKWIRE_PORT, BULKWIRE_USER, BULKWIRE_PASSWORD and BULKWIRE_CERTIFICATE (a PEM
 * file), a server without TLS from BULKWIRE_PLAIN_PORT and BULKWIRE_PLAIN_PASSWORD, the table of every type from BULKWIRE_CELLS (JSON, printed by
 * cells.py). Arguments name the checks to run; without one all of them run.
 */
public final class Main {
    private static final int CHECK_TIMEOUT_SECONDS = 60;

    private Main() {}

    public static void main(String[] wanted) throws Exception {
        Environment environment = Environment.read();
        List<Check> checks = new ArrayList<>();
        checks.addAll(LoginChecks.list());
        checks.addAll(QueryChecks.list());
        checks.addAll(StatementChecks.list());
        checks.addAll(CursorChecks.list());
        checks.addAll(MetadataChecks.list());
        checks.addAll(ErrorChecks.list());
        checks.addAll(TransactionChecks.list());
        checks.addAll(BulkChecks.list());
        checks.addAll(VectorChecks.list());
        if (wanted.length > 0) {
            checks.add(LoginChecks.TICKET);
        }
        Gson json = new Gson();
        ExecutorService thread = Executors.newCachedThreadPool(runnable -> {
            Thread daemon = new Thread(runnable);
            daemon.setDaemon(true);
            return daemon;
        });
        for (Check check : checks) {
            if (wanted.length == 0 || Set.of(wanted).contains(check.name())) {
                System.out.println(json.toJson(outcome(check, environment, thread)));
            }
        }
    }

    private static Map<String, String> outcome(Check check, Environment environment, ExecutorService thread)
            throws InterruptedException {
        Map<String, String> line = new LinkedHashMap<>();
        line.put("check", check.name());
        Future<?> run = thread.submit(() -> {
            check.work().run(environment);
            return null;
        });
        try {
            run.get(CHECK_TIMEOUT_SECONDS, TimeUnit.SECONDS);
            line.put("outcome", "passed");
            line.put("detail", "");
        } catch (TimeoutException late) {
            line.put("outcome", "failed");
            line.put("detail", "no answer in time");
        } catch (ExecutionException failure) {
            Throwable cause = failure.getCause();
            line.put("outcome", cause instanceof Cannot ? "cannot" : "failed");
            line.put("detail", cause.toString());
        }
        return line;
    }
}
