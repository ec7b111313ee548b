package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// everyType is the table of every type; see cells.py for the canonical texts.
type everyType struct {
	Rows    int      `json:"rows"`
	Columns []column `json:"columns"`
}

type column struct {
	Name        string    `json:"name"`
	Declaration string    `json:"declaration"`
	Kind        string    `json:"kind"`
	Literals    []string  `json:"literals"`
	Texts       []*string `json:"texts"`
}

// names are the columns' names, the key's first.
func (table everyType) names() []string {
	names := []string{"id"}
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	return names
}

// create makes an empty table; with "NOT NULL" its columns take no NULL, and it has no row of NULLs.
func (table everyType) create(ctx context.Context, db *sql.DB, name, nullability string) error {
	columns := []string{"id int NOT NULL"}
	for _, column := range table.Columns {
		columns = append(columns, column.Name+" "+column.Declaration+" "+nullability)
	}
	return statements(ctx, db,
		"DROP TABLE IF EXISTS "+name,
		"CREATE TABLE "+name+" ("+strings.Join(columns, ", ")+")")
}

// compare reads rows 0 to rows-1 and compares every cell's canonical text.
func (table everyType) compare(ctx context.Context, db *sql.DB, name string, rows int) error {
	answer, err := db.QueryContext(ctx, "SELECT * FROM "+name+" ORDER BY id")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	row := 0
	for ; answer.Next(); row++ {
		cells := make([]any, len(table.Columns)+1)
		targets := make([]any, len(cells))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := answer.Scan(targets...); err != nil {
			return err
		}
		if err := expect("id", cells[0], any(int64(row))); err != nil {
			return err
		}
		for i, column := range table.Columns {
			if err := column.compare(row, cells[i+1]); err != nil {
				return err
			}
		}
	}
	if err := answer.Err(); err != nil {
		return err
	}
	return expect("rows", row, rows)
}

func (column column) compare(row int, cell any) error {
	wanted := column.Texts[row]
	if cell == nil || wanted == nil {
		if (cell == nil) != (wanted == nil) {
			return fmt.Errorf("%s of row %d: %v, expected %v", column.Name, row, cell, wanted)
		}
		return nil
	}
	text, err := column.text(cell)
	if err != nil {
		return fmt.Errorf("%s of row %d: %w", column.Name, row, err)
	}
	if text != *wanted {
		return fmt.Errorf("%s of row %d: %.100q, expected %.100q", column.Name, row, text, *wanted)
	}
	return nil
}

// text is the canonical text of a value as the driver gives it.
func (column column) text(cell any) (string, error) {
	switch value := cell.(type) {
	case bool:
		if value {
			return "1", nil
		}
		return "0", nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case float64:
		if column.Kind == "real" {
			return fmt.Sprintf("%08x", math.Float32bits(float32(value))), nil
		}
		return fmt.Sprintf("%016x", math.Float64bits(value)), nil
	case string:
		return value, nil
	case time.Time:
		return column.timeText(value), nil
	case []byte:
		switch column.Kind {
		case "decimal", "numeric", "money", "smallmoney":
			return string(value), nil
		case "uniqueidentifier":
			var id mssql.UniqueIdentifier
			err := id.Scan(value)
			return strings.ToLower(id.String()), err
		default:
			return hex.EncodeToString(value), nil
		}
	default:
		return "", fmt.Errorf("unexpected %T", cell)
	}
}

var timeLayouts = map[string]string{
	"date":           "2006-01-02",
	"time":           "15:04:05.0000000",
	"datetime":       "2006-01-02 15:04:05.000",
	"smalldatetime":  "2006-01-02 15:04:05.0000000",
	"datetime2":      "2006-01-02 15:04:05.0000000",
	"datetimeoffset": "2006-01-02 15:04:05.0000000 -07:00",
}

func (column column) timeText(value time.Time) string {
	if column.Kind == "datetime" {
		value = value.Round(time.Millisecond)
	}
	return value.Format(timeLayouts[column.Kind])
}

// time reads a canonical text.
func (column column) time(text string) (time.Time, error) {
	return time.Parse(timeLayouts[column.Kind], text)
}
