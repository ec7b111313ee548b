// The rows of the benchmark's table as tedious takes and gives them.

import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
import { TYPES } from 'tedious';

const DAY_MS = 86_400_000;
const DECIMAL_UNIT = 10_000;
const bits = new DataView(new ArrayBuffer(8));

const integer = {
  // Made from an Arrow column's values at a row.
  make: (values, row) => values[row],
  // What a value that was read adds to the checksum.
  weigh: (value) => BigInt(value),
};

const string = {
  make: (values, row, vector) => vector.get(row),
  weigh: (value) => BigInt(Buffer.from(value).reduce((sum, byte, place) => sum + byte * (place + 1), 0)),
};

/** What `addColumn` wants to know of each column, and how its values are made and weighed. */
export const COLUMNS = [
  { name: 'id', type: TYPES.Int, nullable: false, ...integer },
  { name: 'col_int', type: TYPES.Int, ...integer },
  // 64 bits come as text.
  { name: 'col_bigint', type: TYPES.BigInt, ...integer },
  {
    name: 'col_float',
    type: TYPES.Float,
    make: (values, row) => values[row],
    weigh: (value) => {
      bits.setFloat64(0, value);
      return bits.getBigUint64(0);
    },
  },
  { name: 'col_bit', type: TYPES.Bit, make: (values, row, vector) => vector.get(row), weigh: (value) => BigInt(value) },
  {
    name: 'col_date',
    type: TYPES.Date,
    make: (days, row) => new Date(days[row] * DAY_MS),
    weigh: (value) => BigInt(value.getTime() / DAY_MS),
  },
  {
    name: 'col_datetime2',
    type: TYPES.DateTime2,
    scale: 6,
    // What is below a millisecond travels beside the Date, in seconds.
    make: (microseconds, row) => {
      const remainder = Number(((microseconds[row] % 1000n) + 1000n) % 1000n);
      const date = new Date(Number(microseconds[row] - BigInt(remainder)) / 1000);
      date.nanosecondDelta = remainder / 1e6;
      return date;
    },
    weigh: (value) => BigInt(value.getTime()) * 1000n + BigInt(Math.round((value.nanosecondsDelta ?? 0) * 1e6)),
  },
  {
    name: 'col_decimal',
    type: TYPES.Decimal,
    precision: 18,
    scale: 4,
    // Numbers are what tedious takes for decimals; 14 digits fit.
    make: (words, row) => {
      const low = BigInt(words[4 * row]) | (BigInt(words[4 * row + 1]) << 32n);
      return Number(BigInt.asIntN(64, low)) / DECIMAL_UNIT;
    },
    weigh: (value) => BigInt(Math.round(value * DECIMAL_UNIT)),
  },
  { name: 'col_str1', type: TYPES.NVarChar, length: 100, ...string },
  { name: 'col_str2', type: TYPES.VarChar, length: 100, ...string },
  { name: 'col_str3', type: TYPES.NVarChar, length: 100, ...string },
];

/** The first rows of an Arrow IPC file: a list of lists of rows, `batchRows` in each. */
export function readRows(path, wanted, batchRows) {
  const lists = [];
  let count = 0;
  for (const batch of tableFromIPC(readFileSync(path)).batches) {
    const vectors = COLUMNS.map((_, column) => batch.getChildAt(column));
    const values = vectors.map((vector) => vector.data[0].values);
    for (let row = 0; row < batch.numRows && count < wanted; row++, count++) {
      if (count % batchRows === 0) {
        lists.push([]);
      }
      lists.at(-1).push(COLUMNS.map(({ make }, column) => (
        vectors[column].isValid(row) ? make(values[column], row, vectors[column]) : null)));
    }
  }
  if (count < wanted) {
    throw new Error(`the source lacks ${wanted - count} of the rows`);
  }
  return lists;
}
