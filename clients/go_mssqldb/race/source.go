package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// rowsOf makes the first rows of an Arrow IPC file as CopyIn takes them. Strings of decimals are its exact form of them, byte
// slices what it sends unchanged to varchar columns.
func rowsOf(path string, rows int) (values [][]any, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	reader, err := ipc.NewFileReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	values = make([][]any, 0, rows)
	for index := 0; index < reader.NumRecords() && len(values) < rows; index++ {
		batch, err := reader.RecordBatch(index)
		if err != nil {
			return nil, err
		}
		for row := 0; row < int(batch.NumRows()) && len(values) < rows; row++ {
			cells := make([]any, batch.NumCols())
			for column, values := range batch.Columns() {
				if cells[column], err = value(values, row, column); err != nil {
					return nil, err
				}
			}
			values = append(values, cells)
		}
	}
	if len(values) < rows {
		return nil, fmt.Errorf("the source lacks %d of the rows", rows-len(values))
	}
	return values, nil
}

// varcharColumn is the column whose target is varchar.
const varcharColumn = 9

func value(values arrow.Array, row, column int) (any, error) {
	if values.IsNull(row) {
		return nil, nil
	}
	switch values := values.(type) {
	case *array.Int32:
		return int64(values.Value(row)), nil
	case *array.Int64:
		return values.Value(row), nil
	case *array.Float64:
		return values.Value(row), nil
	case *array.Boolean:
		return values.Value(row), nil
	case *array.Date32:
		return values.Value(row).ToTime(), nil
	case *array.Timestamp:
		return values.Value(row).ToTime(arrow.Microsecond), nil
	case *array.Decimal128:
		return values.Value(row).ToString(4), nil
	case *array.String:
		text := strings.Clone(values.Value(row))
		if column == varcharColumn {
			return []byte(text), nil
		}
		return text, nil
	default:
		return nil, fmt.Errorf("column %d is %s", column, values.DataType())
	}
}
