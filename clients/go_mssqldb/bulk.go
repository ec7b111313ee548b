package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
)

var bulkChecks = []check{
	{"bulk_every_type", bulkEveryType},
	{"bulk_not_null", bulkNotNull},
	{"bulk_large_values", bulkLargeValues},
	{"bulk_refused", bulkRefused},
	{"bulk_rolled_back", bulkRolledBack},
	{"cancel_bulk", cancelBulk},
	{"bulk_strict", bulkStrict},
}

func bulkEveryType(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := env.table.create(ctx, db, "go_bulk", "NULL"); err != nil {
			return err
		}
		if err := bulkRows(ctx, db, env.table, "go_bulk", env.table.Rows); err != nil {
			return err
		}
		return env.table.compare(ctx, db, "go_bulk", env.table.Rows)
	})
}

func bulkNotNull(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := env.table.create(ctx, db, "go_bulk_not_null", "NOT NULL"); err != nil {
			return err
		}
		if err := bulkRows(ctx, db, env.table, "go_bulk_not_null", env.table.Rows-1); err != nil {
			return err
		}
		return env.table.compare(ctx, db, "go_bulk_not_null", env.table.Rows-1)
	})
}

func bulkRows(ctx context.Context, db *sql.DB, table everyType, name string, rows int) error {
	copyIn, err := db.PrepareContext(ctx, mssql.CopyIn(name, mssql.BulkOptions{Tablock: true, KeepNulls: true}, table.names()...))
	if err != nil {
		return err
	}
	defer func() { _ = copyIn.Close() }()
	for row := range rows {
		values := []any{row}
		for _, column := range table.Columns {
			value, err := column.bulkValue(row)
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		if _, err := copyIn.ExecContext(ctx, values...); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
	}
	result, err := copyIn.ExecContext(ctx)
	if err != nil {
		return err
	}
	count, err := result.RowsAffected()
	return errors.Join(err, expect("rows copied", count, int64(rows)))
}

// bulkValue is a cell in a type that CopyIn takes for its column.
func (column column) bulkValue(row int) (any, error) {
	if column.Texts[row] == nil {
		return nil, nil
	}
	text := *column.Texts[row]
	switch column.Kind {
	case "bit":
		return text == "1", nil
	case "tinyint", "smallint", "int", "bigint":
		return strconv.ParseInt(text, 10, 64)
	case "real":
		bits, err := strconv.ParseUint(text, 16, 32)
		return float64(math.Float32frombits(uint32(bits))), err
	case "float":
		bits, err := strconv.ParseUint(text, 16, 64)
		return math.Float64frombits(bits), err
	case "binary", "varbinary", "image":
		return hex.DecodeString(text)
	case "uniqueidentifier":
		var id mssql.UniqueIdentifier
		if err := id.Scan(text); err != nil {
			return nil, err
		}
		return id.Value()
	case "date", "time", "datetime", "smalldatetime", "datetime2", "datetimeoffset":
		return column.time(text)
	case "char", "varchar", "text":
		return windows1252(text), nil
	default:
		return text, nil
	}
}

// windows1252 encodes text for a column of that code page: CopyIn sends strings for char and varchar columns as UTF-8
// whatever the column's collation is, and byte slices as they are.
func windows1252(text string) []byte {
	encoded := make([]byte, 0, len(text))
	for _, character := range text {
		if character == '€' {
			encoded = append(encoded, 0x80)
		} else {
			encoded = append(encoded, byte(character))
		}
	}
	return encoded
}

func bulkLargeValues(ctx context.Context, env *environment) error {
	text := strings.Repeat("0123456789äöü€🚀", 200_000)
	return env.with(func(db *sql.DB) error {
		if err := statements(ctx, db, "DROP TABLE IF EXISTS go_bulk_large", "CREATE TABLE go_bulk_large (id int NOT NULL, t nvarchar(max) NULL)"); err != nil {
			return err
		}
		copyIn, err := db.PrepareContext(ctx, mssql.CopyIn("go_bulk_large", mssql.BulkOptions{}, "id", "t"))
		if err != nil {
			return err
		}
		defer func() { _ = copyIn.Close() }()
		if _, err := copyIn.ExecContext(ctx, 1, text); err != nil {
			return err
		}
		if _, err := copyIn.ExecContext(ctx); err != nil {
			return err
		}
		back, err := scalar[string](ctx, db, "SELECT t FROM go_bulk_large")
		if err == nil && back != text {
			err = fmt.Errorf("%d bytes came back, not the %d that were sent", len(back), len(text))
		}
		return err
	})
}

func makeKeyed(ctx context.Context, db *sql.DB, name string) error {
	return statements(ctx, db, "DROP TABLE IF EXISTS "+name,
		"CREATE TABLE "+name+" (id int NOT NULL CONSTRAINT pk_"+name+" PRIMARY KEY, v int NULL)")
}

// bulkRefused loads a key twice: nothing stays, and the connection goes on.
func bulkRefused(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		if err := makeKeyed(ctx, db, "go_bulk_refused"); err != nil {
			return err
		}
		copyIn, err := db.PrepareContext(ctx, mssql.CopyIn("go_bulk_refused", mssql.BulkOptions{}, "id", "v"))
		if err != nil {
			return err
		}
		for _, id := range []int{1, 2, 1} {
			if _, err := copyIn.ExecContext(ctx, id, nil); err != nil {
				return err
			}
		}
		_, err = copyIn.ExecContext(ctx)
		refusal := expectError(err, mssql.Error{Number: 2627, State: 1, Class: 14, LineNo: 1,
			Message: "Violation of PRIMARY KEY constraint 'pk_go_bulk_refused'. Cannot insert duplicate key in object 'dbo.go_bulk_refused'. The duplicate key value is (1)."})
		_ = copyIn.Close()
		left, err := scalar[int](ctx, db, "SELECT COUNT(*) FROM go_bulk_refused")
		return errors.Join(refusal, err, expect("rows left", left, 0))
	})
}

func bulkRolledBack(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := makeKeyed(ctx, db, "go_bulk_rollback"); err != nil {
			return err
		}
		transaction, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		copyIn, err := transaction.PrepareContext(ctx, mssql.CopyIn("go_bulk_rollback", mssql.BulkOptions{}, "id", "v"))
		if err != nil {
			return err
		}
		if _, err := copyIn.ExecContext(ctx, 1, 1); err != nil {
			return err
		}
		if _, err := copyIn.ExecContext(ctx); err != nil {
			return err
		}
		inside, err := scalar[int](ctx, transaction, "SELECT COUNT(*) FROM go_bulk_rollback")
		if err := errors.Join(err, expect("rows inside", inside, 1), transaction.Rollback()); err != nil {
			return err
		}
		left, err := scalar[int](ctx, db, "SELECT COUNT(*) FROM go_bulk_rollback")
		return errors.Join(err, expect("rows left", left, 0))
	})
}

// cancelBulk gives up in the middle of a load: the driver drops the connection, and nothing of the load stays.
func cancelBulk(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := makeKeyed(ctx, db, "go_bulk_cancelled"); err != nil {
			return err
		}
		connection, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		copyIn, err := connection.PrepareContext(ctx, mssql.CopyIn("go_bulk_cancelled", mssql.BulkOptions{}, "id", "v"))
		if err != nil {
			return err
		}
		for id := range 20_000 {
			if _, err := copyIn.ExecContext(ctx, id, id); err != nil {
				return err
			}
		}
		ended, end := context.WithCancel(ctx)
		end()
		if _, err := copyIn.ExecContext(ended); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("expected the context's error, not %w", err)
		}
		_ = connection.Raw(func(driverConnection any) error { return driverConnection.(*mssql.Conn).Close() })
		_ = connection.Close()
		left, err := scalar[int](ctx, db, "SELECT COUNT(*) FROM go_bulk_cancelled WITH (TABLOCKX)")
		return errors.Join(err, expect("rows left", left, 0))
	})
}

func bulkStrict(context.Context, *environment) error {
	return cannot("go-mssqldb takes the version of TDS 8.0 for one before 7.2 and writes the column list of a load in the old form")
}
