package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	_ "github.com/microsoft/go-mssqldb/integratedauth/krb5"
)

var loginChecks = []check{
	{"login_plain", login("encrypt", "disable")},
	{"login_only_tls", login("encrypt", "false", "trustservercertificate", "true")},
	{"login_full_tls", loginPinned("true")},
	{"login_strict", loginPinned("strict")},
	{"untrusted_certificate", refusesUntrustedCertificate},
	{"wrong_password", wrongPassword},
	{"missing_database", missingDatabase},
}

// namedChecks need more than a server, and run only when they are named.
var namedChecks = []check{{"login_ticket", loginTicket}}

func login(options ...string) func(context.Context, *environment) error {
	return func(ctx context.Context, env *environment) error {
		db, err := sql.Open("sqlserver", env.url(env.password, options...))
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		answer, err := scalar[string](ctx, db, "SELECT DB_NAME() + N' zwölf'")
		if err != nil {
			return err
		}
		return expect("answer", answer, "master zwölf")
	}
}

func loginPinned(encrypt string) func(context.Context, *environment) error {
	return func(ctx context.Context, env *environment) error {
		return login("encrypt", encrypt, "certificate", env.certificate, "hostnameincertificate", "localhost")(ctx, env)
	}
}

func refusesUntrustedCertificate(ctx context.Context, env *environment) error {
	err := login("encrypt", "true")(ctx, env)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		return fmt.Errorf("expected a refusal of the certificate, not %w", err)
	}
	return nil
}

func wrongPassword(ctx context.Context, env *environment) error {
	err := refusedLogin(ctx, env.url("wrong", "encrypt", "disable"))
	return expectError(err, mssql.Error{Number: 18456, State: 1, Class: 14, LineNo: 1,
		Message: "login error: Login failed for user '" + env.user + "'."})
}

func missingDatabase(ctx context.Context, env *environment) error {
	err := refusedLogin(ctx, env.url(env.password, "encrypt", "disable", "database", "no_such_database"))
	var refusal mssql.Error
	if !errors.As(err, &refusal) || len(refusal.All) != 2 {
		return fmt.Errorf("expected errors 4060 and 18456, not %w", err)
	}
	return errors.Join(
		expect("first error", refusal.All[0].Number, 4060),
		expect("second error", refusal.All[1].Number, 18456))
}

func refusedLogin(ctx context.Context, url string) error {
	db, err := sql.Open("sqlserver", url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// expectError compares the number, state, class, line and message of an error of the server.
func expectError(err error, wanted mssql.Error) error {
	var actual mssql.Error
	if !errors.As(err, &actual) {
		return fmt.Errorf("expected error %d, not %w", wanted.Number, err)
	}
	return errors.Join(
		expect("number", actual.Number, wanted.Number),
		expect("state", actual.State, wanted.State),
		expect("class", actual.Class, wanted.Class),
		expect("line", actual.LineNo, wanted.LineNo),
		expect("message", actual.Message, wanted.Message))
}

// loginTicket signs in with the ticket of KRB5CCNAME, as the principal BULKWIRE_PRINCIPAL.
func loginTicket(ctx context.Context, env *environment) error {
	query := url.Values{
		"database":               {"master"},
		"encrypt":                {"true"},
		"trustservercertificate": {"true"},
		"authenticator":          {"krb5"},
		"krb5-configfile":        {os.Getenv("KRB5_CONFIG")},
		"krb5-credcachefile":     {strings.TrimPrefix(os.Getenv("KRB5CCNAME"), "FILE:")},
		"ServerSPN":              {os.Getenv("BULKWIRE_SPN")},
	}
	address := url.URL{Scheme: "sqlserver", Host: env.host + ":" + env.port, RawQuery: query.Encode()}
	db, err := sql.Open("sqlserver", address.String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	name, err := scalar[string](ctx, db, "SELECT SUSER_SNAME()")
	if err != nil {
		return err
	}
	return expect("login name", name, os.Getenv("BULKWIRE_PRINCIPAL"))
}
