package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

var transactionChecks = []check{
	{"transaction_rollback", transactionRollback},
	{"isolation_levels", isolationLevels},
	{"savepoint", savepoint},
}

func transactionRollback(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := statements(ctx, db, "DROP TABLE IF EXISTS go_rollback", "CREATE TABLE go_rollback (n int NOT NULL)"); err != nil {
			return err
		}
		for n, finish := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit, (*sql.Tx).Rollback} {
			transaction, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := transaction.ExecContext(ctx, "INSERT INTO go_rollback VALUES (@p1)", n); err != nil {
				return err
			}
			inside, err := scalar[int](ctx, transaction, "SELECT COUNT(*) FROM go_rollback WHERE n = @p1", n)
			if err := errors.Join(err, expect("rows inside", inside, 1)); err != nil {
				return err
			}
			if err := finish(transaction); err != nil {
				return err
			}
		}
		left, err := scalar[int](ctx, db, "SELECT SUM(n) * 100 + COUNT(*) FROM go_rollback")
		return errors.Join(err, expect("what is left", left, 101))
	})
}

func isolationLevels(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadUncommitted, sql.LevelReadCommitted,
			sql.LevelRepeatableRead, sql.LevelSnapshot, sql.LevelSerializable} {
			transaction, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
			if err != nil {
				return fmt.Errorf("%v: %w", level, err)
			}
			open, err := scalar[int](ctx, transaction, "SELECT @@TRANCOUNT")
			if err := errors.Join(err, expect("@@TRANCOUNT", open, 1), transaction.Commit()); err != nil {
				return fmt.Errorf("%v: %w", level, err)
			}
		}
		return nil
	})
}

func savepoint(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := statements(ctx, db, "DROP TABLE IF EXISTS go_savepoint", "CREATE TABLE go_savepoint (n int NOT NULL)"); err != nil {
			return err
		}
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := statements(ctx, transaction, "INSERT INTO go_savepoint VALUES (1)", "SAVE TRANSACTION here",
			"INSERT INTO go_savepoint VALUES (2)", "ROLLBACK TRANSACTION here", "INSERT INTO go_savepoint VALUES (4)"); err != nil {
			return err
		}
		if err := transaction.Commit(); err != nil {
			return err
		}
		left, err := scalar[int](ctx, db, "SELECT SUM(n) FROM go_savepoint")
		return errors.Join(err, expect("sum", left, 5))
	})
}
