package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// read scans each row into values of the driver's own choice, which spares database/sql the conversion.
func read(ctx context.Context, args *arguments) (*report, error) {
	db, err := sql.Open("sqlserver", args.url())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := db.PingContext(ctx); err != nil {
		return nil, err
	}

	meter, err := startMeter()
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+args.table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	cells := make([]any, len(columns))
	targets := make([]any, len(columns))
	for column := range cells {
		targets[column] = &cells[column]
	}
	var sums checksum
	received := 0
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		received++
		for column, cell := range cells {
			if err := sums.add(column, cell); err != nil {
				return nil, err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	report, err := meter.stop(received)
	if err == nil {
		report.Checksum = sums.text()
	}
	return report, err
}

const (
	dateColumn    = 5
	decimalColumn = 7
	daySeconds    = 86400
)

// checksum counts and adds up the values of each column.
type checksum struct {
	counts, sums [11]uint64
}

func (sums *checksum) add(column int, cell any) error {
	var value uint64
	switch cell := cell.(type) {
	case nil:
		return nil
	case int64:
		value = uint64(cell)
	case float64:
		value = math.Float64bits(cell)
	case bool:
		if cell {
			value = 1
		}
	case time.Time:
		value = uint64(cell.UnixMicro())
		if column == dateColumn {
			value = uint64(cell.Unix() / daySeconds)
		}
	case []byte:
		if column != decimalColumn {
			return fmt.Errorf("column %d is bytes", column)
		}
		// Its text has all four digits behind the point.
		unscaled, err := strconv.ParseInt(strings.Replace(string(cell), ".", "", 1), 10, 64)
		if err != nil {
			return err
		}
		value = uint64(unscaled)
	case string:
		for place := range len(cell) {
			value += uint64(place+1) * uint64(cell[place])
		}
	default:
		return fmt.Errorf("column %d is %T", column, cell)
	}
	sums.counts[column]++
	sums.sums[column] += value
	return nil
}

func (sums *checksum) text() string {
	pairs := make([]string, len(sums.counts))
	for column := range pairs {
		pairs[column] = fmt.Sprintf("%d:%d", sums.counts[column], sums.sums[column])
	}
	return strings.Join(pairs, " ")
}
