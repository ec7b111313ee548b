package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

var errorChecks = []check{
	{"error_details", errorDetails},
	{"error_from_try_catch", errorThrown},
	{"cancel_query", cancelQuery},
	{"cancel_streaming", cancelStreaming},
}

func errorDetails(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		_, err := db.ExecContext(ctx, "SELECT 1;\n\nSELECT * FROM no_such_table")
		missing := expectError(err, mssql.Error{Number: 208, State: 1, Class: 16, LineNo: 3, Message: "Invalid object name 'no_such_table'."})
		if err := statements(ctx, db, "DROP TABLE IF EXISTS go_error", "CREATE TABLE go_error (id int NOT NULL CONSTRAINT pk_go_error PRIMARY KEY)",
			"INSERT INTO go_error VALUES (1)"); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "INSERT INTO go_error VALUES (@p1)", 1)
		duplicate := expectError(err, mssql.Error{Number: 2627, State: 1, Class: 14, LineNo: 1,
			Message: "Violation of PRIMARY KEY constraint 'pk_go_error'. Cannot insert duplicate key in object 'dbo.go_error'. The duplicate key value is (1)."})
		answer, err := scalar[int](ctx, db, "SELECT COUNT(*) FROM go_error")
		return errors.Join(missing, duplicate, err, expect("rows", answer, 1))
	})
}

func errorThrown(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH\n;THROW 50001, N'größer', 7 END CATCH")
		return expectError(err, mssql.Error{Number: 50001, State: 7, Class: 16, LineNo: 2, Message: "größer"})
	})
}

func cancelQuery(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		connection, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = connection.Close() }()
		session, err := scalar[int](ctx, connection, "SELECT @@SPID")
		if err != nil {
			return err
		}
		// Cancelled, not timed out: a deadline's error makes the driver drop the connection.
		short, stop := context.WithCancel(ctx)
		defer time.AfterFunc(200*time.Millisecond, stop).Stop()
		_, err = connection.ExecContext(short, "WAITFOR DELAY '00:01:00'")
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("expected the context's error, not %w", err)
		}
		same, err := scalar[int](ctx, connection, "SELECT @@SPID")
		return errors.Join(err, expect("session", same, session))
	})
}

// cancelStreaming leaves a result that has far more rows than are read.
func cancelStreaming(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		connection, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = connection.Close() }()
		if err := statements(ctx, connection, "CREATE TABLE #n (n int)",
			"INSERT INTO #n SELECT 1 FROM (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) a(n), (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) b(n)"); err != nil {
			return err
		}
		short, stop := context.WithCancel(ctx)
		defer stop()
		rows, err := connection.QueryContext(short, "SELECT a.n FROM #n a, #n b, #n c, #n d")
		if err != nil {
			return err
		}
		for range 3 {
			if !rows.Next() {
				return fmt.Errorf("no row: %w", rows.Err())
			}
		}
		stop()
		if err := rows.Close(); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		answer, err := scalar[int](ctx, connection, "SELECT COUNT(*) FROM #n")
		return errors.Join(err, expect("rows", answer, 100))
	})
}
