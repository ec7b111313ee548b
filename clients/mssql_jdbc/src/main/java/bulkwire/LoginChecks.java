package bulkwire;

import static bulkwire.Environment.expect;
import static bulkwire.Environment.refusal;

import com.microsoft.sqlserver.jdbc.SQLServerConnectionPoolDataSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import javax.sql.PooledConnection;

/** Ways to log in, and what a pool hands out. */
final class LoginChecks {
    /** Needs a Kerberos realm too, and runs only when it is named. */
    static final Check TICKET = new Check("login_ticket", LoginChecks::ticket);

    private LoginChecks() {}

    static List<Check> list() {
        return List.of(
                // With encrypt=false the driver encrypts the login if the server can; only one without TLS gets it plain.
                new Check("login_plain", LoginChecks::plain),
                new Check("login_only_tls", at -> logIn(at, at.url(at.port(), "encrypt=false"))),
                new Check("login_full_tls", at -> logIn(at, at.url(at.port(), "encrypt=true;" + trusting(at)))),
                new Check("login_strict", at -> logIn(at, at.url(at.port(), "encrypt=strict;" + pinning(at)))),
                new Check("untrusted_certificate", LoginChecks::untrustedCertificate),
                new Check("wrong_password", LoginChecks::wrongPassword),
                new Check("missing_database", LoginChecks::missingDatabase),
                new Check("pool_reset", LoginChecks::poolReset));
    }

    /** Signs in with the ticket of KRB5CCNAME, as the principal BULKWIRE_PRINCIPAL. */
    private static void ticket(Environment at) throws SQLException {
        System.setProperty("java.security.krb5.conf", System.getenv("KRB5_CONFIG"));
        String url = at.url(
                at.port(),
                "encrypt=true;trustServerCertificate=true;integratedSecurity=true;authenticationScheme=JavaKerberos;useDefaultJaasConfig=true;"
                        + "serverSpn="
                        + System.getenv("BULKWIRE_SPN"));
        try (Connection connection = DriverManager.getConnection(url)) {
            expect(
                    "login name",
                    Environment.scalar(connection, "SELECT SUSER_SNAME()"),
                    System.getenv("BULKWIRE_PRINCIPAL"));
        }
    }

    private static void plain(Environment at) throws SQLException {
        String url = at.url(at.plainPort(), "encrypt=false");
        try (Connection connection = DriverManager.getConnection(url, at.user(), at.plainPassword())) {
            expect("answer", Environment.scalar(connection, "SELECT 42"), 42);
        }
    }

    /** A trust store that holds the server's certificate alone. */
    private static String trusting(Environment at) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream pem = Files.newInputStream(at.certificate())) {
            store.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        Path file = Files.createTempFile("trust", ".p12");
        file.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, "changeit".toCharArray());
        }
        return "trustStoreType=PKCS12;trustStore=" + file + ";trustStorePassword=changeit";
    }

    /** Under TDS 8.0 the certificate itself can be named. */
    private static String pinning(Environment at) {
        return "serverCertificate=" + at.certificate();
    }

    private static void logIn(Environment at, String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, at.user(), at.password())) {
            expect("answer", Environment.scalar(connection, "SELECT DB_NAME() + N' zwölf'"), "master zwölf");
        }
    }

    private static void untrustedCertificate(Environment at) throws Exception {
        SQLException error = refusal(() -> logIn(at, at.url(at.port(), "encrypt=true")));
        expect("refused for the certificate", error.getMessage().contains("certification path"), true);
    }

    private static void wrongPassword(Environment at) throws Exception {
        SQLException error = refusal(
                () -> DriverManager.getConnection(at.url(at.port(), "encrypt=false"), at.user(), "wrong").close());
        Environment.expectError(error, 18456, 1, 14, 1, "Login failed for user '" + at.user() + "'.");
    }

    private static void missingDatabase(Environment at) throws Exception {
        String url = at.url(at.port(), "encrypt=false").replace("databaseName=master", "databaseName=no_such_database");
        SQLException error = refusal(() -> DriverManager.getConnection(url, at.user(), at.password()).close());
        expect("error code", error.getErrorCode(), 4060);
    }

    private static void poolReset(Environment at) throws SQLException {
        var source = new SQLServerConnectionPoolDataSource();
        source.setURL(at.url(at.port(), "encrypt=false"));
        source.setUser(at.user());
        source.setPassword(at.password());
        PooledConnection pooled = source.getPooledConnection();
        try {
            Object session;
            try (Connection first = pooled.getConnection()) {
                session = Environment.scalar(first, "SELECT @@SPID");
                first.setAutoCommit(false);
                Environment.execute(first, "CREATE TABLE #left (n int)", "SET LOCK_TIMEOUT 1234", "SET DATEFIRST 3");
            }
            try (Connection second = pooled.getConnection()) {
                List<List<Object>> state = Environment.rows(
                        second,
                        "SELECT @@SPID, @@LOCK_TIMEOUT, CAST(@@DATEFIRST AS int), @@TRANCOUNT,"
                                + " ISNULL(OBJECT_ID('tempdb..#left'), 0)");
                expect("state", state, List.of(List.of(session, -1, 7, 0, 0)));
            }
        } finally {
            pooled.close();
        }
    }
}
