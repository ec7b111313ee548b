package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/shopspring/decimal"
)

var queryChecks = []check{
	{"query_every_type", queryEveryType},
	{"parameters_every_type", parametersEveryType},
	{"parameters_named", parametersNamed},
	{"parameters_output", parametersOutput},
	{"prepared_repeatedly", preparedRepeatedly},
	{"several_results", severalResults},
	{"column_types", columnTypes},
	{"large_values", largeValues},
	{"pool_reset", poolReset},
}

func queryEveryType(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := env.table.create(ctx, db, "go_query", "NULL"); err != nil {
			return err
		}
		for row := range env.table.Rows {
			literals := []string{strconv.Itoa(row)}
			for _, column := range env.table.Columns {
				literals = append(literals, column.Literals[row])
			}
			if err := statements(ctx, db, "INSERT INTO go_query VALUES ("+strings.Join(literals, ", ")+")"); err != nil {
				return err
			}
		}
		return env.table.compare(ctx, db, "go_query", env.table.Rows)
	})
}

func parametersEveryType(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		if err := env.table.create(ctx, db, "go_parameters", "NULL"); err != nil {
			return err
		}
		for row := range env.table.Rows {
			values := []any{row}
			marks := []string{"@p1"}
			for i, column := range env.table.Columns {
				value, err := column.parameter(row)
				if err != nil {
					return err
				}
				values = append(values, value)
				marks = append(marks, fmt.Sprintf("@p%d", i+2))
			}
			insert := "INSERT INTO go_parameters VALUES (" + strings.Join(marks, ", ") + ")"
			if _, err := db.ExecContext(ctx, insert, values...); err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
		}
		return env.table.compare(ctx, db, "go_parameters", env.table.Rows)
	})
}

// parameter is a cell in the driver's type for its SQL type, NULL included.
func (column column) parameter(row int) (any, error) {
	text := ""
	if column.Texts[row] == nil {
		return column.nullParameter(), nil
	}
	text = *column.Texts[row]
	switch column.Kind {
	case "bit":
		return text == "1", nil
	case "tinyint", "smallint", "int", "bigint":
		return strconv.ParseInt(text, 10, 64)
	case "real":
		bits, err := strconv.ParseUint(text, 16, 32)
		return math.Float32frombits(uint32(bits)), err
	case "float":
		bits, err := strconv.ParseUint(text, 16, 64)
		return math.Float64frombits(bits), err
	case "decimal", "numeric":
		return decimal.NewFromString(text)
	case "money", "smallmoney":
		amount, err := decimal.NewFromString(text)
		return mssql.Money[decimal.Decimal]{Decimal: amount}, err
	case "binary", "varbinary", "image":
		return hex.DecodeString(text)
	case "uniqueidentifier":
		var id mssql.UniqueIdentifier
		err := id.Scan(text)
		return id, err
	case "text", "ntext":
		return mssql.NVarCharMax(text), nil
	case "date", "time", "datetime", "smalldatetime", "datetime2", "datetimeoffset":
		return column.timeParameter(text)
	default:
		return text, nil
	}
}

func (column column) timeParameter(text string) (any, error) {
	value, err := column.time(text)
	if err != nil {
		return nil, err
	}
	switch column.Kind {
	case "date":
		return civil.DateOf(value), nil
	case "time":
		return civil.TimeOf(value), nil
	case "datetime2":
		return civil.DateTimeOf(value), nil
	case "datetimeoffset":
		return mssql.DateTimeOffset(value), nil
	default:
		return mssql.DateTime1(value), nil
	}
}

// nullParameter is the driver's typed NULL; where it has none, or a broken one (NullUniqueIdentifier puts 16 bytes behind
// the length 0), an untyped one.
func (column column) nullParameter() any {
	switch column.Kind {
	case "bit":
		return sql.NullBool{}
	case "tinyint":
		return sql.NullByte{}
	case "smallint":
		return sql.NullInt16{}
	case "int":
		return sql.NullInt32{}
	case "bigint":
		return sql.NullInt64{}
	case "float":
		return sql.NullFloat64{}
	case "decimal", "numeric":
		return decimal.NullDecimal{}
	case "date":
		return mssql.NullDate{}
	case "time":
		return mssql.NullTime{}
	case "datetime2":
		return mssql.NullDateTime{}
	case "binary", "varbinary", "image":
		return []byte(nil)
	case "char", "varchar", "nchar", "nvarchar":
		return sql.NullString{}
	default:
		return nil
	}
}

func parametersNamed(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		answer, err := scalar[string](ctx, db, "SELECT @name + N' is ' + CAST(@age AS nvarchar(10)) + @name",
			sql.Named("age", 42), sql.Named("name", "O'Brien"))
		if err != nil {
			return err
		}
		return expect("answer", answer, "O'Brien is 42O'Brien")
	})
}

func parametersOutput(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		sum, text := int64(1), ""
		_, err := db.ExecContext(ctx, "SET @sum = @sum + @more; SET @text = N'größer'",
			sql.Named("sum", sql.Out{Dest: &sum, In: true}), sql.Named("more", 41),
			sql.Named("text", sql.Out{Dest: &text}))
		if err != nil {
			return err
		}
		return errors.Join(expect("sum", sum, 42), expect("text", text, "größer"))
	})
}

func preparedRepeatedly(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		err := statements(ctx, db,
			"DROP TABLE IF EXISTS go_prepared", "CREATE TABLE go_prepared (id int NOT NULL, name nvarchar(20) NULL)")
		if err != nil {
			return err
		}
		insert, err := db.PrepareContext(ctx, "INSERT INTO go_prepared VALUES (@p1, @p2)")
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }()
		for id := range 50 {
			result, err := insert.ExecContext(ctx, id, fmt.Sprintf("name %d", id))
			if err != nil {
				return err
			}
			if affected, err := result.RowsAffected(); err != nil || affected != 1 {
				return fmt.Errorf("rows affected: %d, %w", affected, err)
			}
		}
		find, err := db.PrepareContext(ctx, "SELECT name FROM go_prepared WHERE id = @p1")
		if err != nil {
			return err
		}
		defer func() { _ = find.Close() }()
		for id := range 50 {
			var name string
			if err := find.QueryRowContext(ctx, id).Scan(&name); err != nil {
				return err
			}
			if err := expect("name", name, fmt.Sprintf("name %d", id)); err != nil {
				return err
			}
		}
		return nil
	})
}

func severalResults(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SELECT 1 AS a; PRINT 'between'; SELECT 'x' AS b, 2 AS c WHERE 1 = 0; SELECT 3 AS d")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		var shape []string
		for more := true; more; more = rows.NextResultSet() {
			names, err := rows.Columns()
			if err != nil {
				return err
			}
			count := 0
			for rows.Next() {
				count++
			}
			shape = append(shape, fmt.Sprintf("%s: %d", strings.Join(names, ","), count))
		}
		return errors.Join(rows.Err(), expect("results", strings.Join(shape, "; "), "a: 1; b,c: 0; d: 1"))
	})
}

func columnTypes(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SELECT CAST(1 AS decimal(18,4)) AS d, CAST(N'x' AS nvarchar(7)) AS n, CAST(NULL AS datetime2(3)) AS t")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		types, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		precision, scale, _ := types[0].DecimalSize()
		length, _ := types[1].Length()
		return errors.Join(
			expect("type", types[0].DatabaseTypeName(), "DECIMAL"), expect("precision", precision, 18), expect("scale", scale, 4),
			expect("type", types[1].DatabaseTypeName(), "NVARCHAR"), expect("length", length, 7),
			expect("type", types[2].DatabaseTypeName(), "DATETIME2"))
	})
}

func largeValues(ctx context.Context, env *environment) error {
	text := strings.Repeat("0123456789äöü€🚀", 200_000)
	data := bytes.Repeat([]byte{0, 1, 2, 253, 254, 255, 10}, 1_000_000)
	return env.with(func(db *sql.DB) error {
		var answer string
		var bytesBack []byte
		err := db.QueryRowContext(ctx, "SELECT @p1, @p2", text, data).Scan(&answer, &bytesBack)
		if err != nil {
			return err
		}
		if answer != text || !bytes.Equal(bytesBack, data) {
			return fmt.Errorf("%d and %d bytes came back, not the %d and %d that were sent", len(answer), len(bytesBack), len(text), len(data))
		}
		return nil
	})
}

// poolReset proves that database/sql hands out a connection whose session was reset.
func poolReset(ctx context.Context, env *environment) error {
	return env.with(func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		session, err := scalar[int](ctx, db, "SELECT @@SPID")
		if err != nil {
			return err
		}
		err = statements(ctx, db, "CREATE TABLE #left (n int); SET LOCK_TIMEOUT 1234; SET DATEFIRST 3; BEGIN TRANSACTION")
		if err != nil {
			return err
		}
		var same, timeout, first, open int
		var table sql.NullInt64
		err = db.QueryRowContext(ctx, "SELECT @@SPID, @@LOCK_TIMEOUT, @@DATEFIRST, @@TRANCOUNT, OBJECT_ID('tempdb..#left')").
			Scan(&same, &timeout, &first, &open, &table)
		if err != nil {
			return err
		}
		return errors.Join(expect("session", same, session), expect("@@LOCK_TIMEOUT", timeout, -1),
			expect("@@DATEFIRST", first, 7), expect("@@TRANCOUNT", open, 0), expect("#left", table.Valid, false))
	})
}
