package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	_ "github.com/microsoft/go-mssqldb"
)

// environment says where the server is and what the table of every type holds.
type environment struct {
	host, port, user, password, certificate string
	table                                   everyType
}

func readEnvironment() (*environment, error) {
	env := &environment{
		host:        os.Getenv("BULKWIRE_HOST"),
		port:        os.Getenv("BULKWIRE_PORT"),
		user:        os.Getenv("BULKWIRE_USER"),
		password:    os.Getenv("BULKWIRE_PASSWORD"),
		certificate: os.Getenv("BULKWIRE_CERTIFICATE"),
	}
	text, err := os.ReadFile(os.Getenv("BULKWIRE_CELLS"))
	if err != nil {
		return nil, fmt.Errorf("BULKWIRE_CELLS: %w", err)
	}
	if err := json.Unmarshal(text, &env.table); err != nil {
		return nil, fmt.Errorf("BULKWIRE_CELLS: %w", err)
	}
	return env, nil
}

// url is the connection URL with the given options, pairs of name and value.
func (env *environment) url(password string, options ...string) string {
	query := url.Values{"database": {"master"}, "dial timeout": {"10"}}
	for i := 0; i+1 < len(options); i += 2 {
		query.Set(options[i], options[i+1])
	}
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(env.user, password),
		Host:     env.host + ":" + env.port,
		RawQuery: query.Encode(),
	}
	return address.String()
}

// open makes a pool of connections without TLS.
func (env *environment) open() (*sql.DB, error) {
	return sql.Open("sqlserver", env.url(env.password, "encrypt", "disable"))
}

// with runs work on a pool that is closed afterwards.
func (env *environment) with(work func(db *sql.DB) error) error {
	db, err := env.open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return work(db)
}

// scalar is the first value that a query answers.
func scalar[T any](ctx context.Context, db queryer, query string, arguments ...any) (value T, err error) {
	err = db.QueryRowContext(ctx, query, arguments...).Scan(&value)
	return value, err
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, arguments ...any) *sql.Row
}

// statements executes texts one by one.
func statements(ctx context.Context, db executor, texts ...string) error {
	for _, text := range texts {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%.200s: %w", text, err)
		}
	}
	return nil
}

type executor interface {
	ExecContext(ctx context.Context, query string, arguments ...any) (sql.Result, error)
}

// expect compares what was read with what must be there.
func expect[T comparable](what string, actual, wanted T) error {
	if actual != wanted {
		return fmt.Errorf("%s: %v, expected %v", what, actual, wanted)
	}
	return nil
}
