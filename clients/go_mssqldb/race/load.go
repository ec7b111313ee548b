package main

import (
	"context"
	"database/sql"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"
)

var columns = []string{
	"id", "col_int", "col_bigint", "col_float", "col_bit", "col_date", "col_datetime2", "col_decimal",
	"col_str1", "col_str2", "col_str3",
}

// load copies with the driver's own bulk copy, reached by Raw: CopyIn through database/sql does the same after checking and
// copying each row's values once more.
func load(ctx context.Context, args *arguments) (*report, error) {
	rows, err := rowsOf(args.source, args.rows)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlserver", args.url())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	connection, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()

	meter, err := startMeter()
	if err != nil {
		return nil, err
	}
	batchRows := args.batchRows
	if batchRows == 0 {
		batchRows = max(len(rows), 1)
	}
	sent := 0
	for first := 0; first < len(rows); first += batchRows {
		batch := rows[first:min(first+batchRows, len(rows))]
		count, err := copyIn(ctx, connection, args.table, batch)
		if err != nil {
			return nil, fmt.Errorf("rows from %d on: %w", first, err)
		}
		sent += count
	}
	report, err := meter.stop(sent)
	if err == nil {
		report.Source = "values"
	}
	return report, err
}

func copyIn(ctx context.Context, connection *sql.Conn, table string, rows [][]any) (count int, err error) {
	err = connection.Raw(func(driver any) error {
		bulk := driver.(*mssql.Conn).CreateBulkContext(ctx, table, columns)
		bulk.Options = mssql.BulkOptions{Tablock: true, KeepNulls: true, RowsPerBatch: len(rows)}
		for _, row := range rows {
			if err := bulk.AddRow(row); err != nil {
				return err
			}
		}
		done, err := bulk.Done()
		count = int(done)
		return err
	})
	return count, err
}
