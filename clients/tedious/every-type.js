// The table of every type in tedious's types: what its values are written as, and what they must read as.

import { TYPES } from 'tedious';
import { batch, expect, query, table } from './environment.js';

const TYPE_OF = {
  bit: TYPES.Bit,
  tinyint: TYPES.TinyInt,
  smallint: TYPES.SmallInt,
  int: TYPES.Int,
  bigint: TYPES.BigInt,
  real: TYPES.Real,
  float: TYPES.Float,
  decimal: TYPES.Decimal,
  numeric: TYPES.Numeric,
  money: TYPES.Money,
  smallmoney: TYPES.SmallMoney,
  date: TYPES.Date,
  time: TYPES.Time,
  datetime: TYPES.DateTime,
  smalldatetime: TYPES.SmallDateTime,
  datetime2: TYPES.DateTime2,
  datetimeoffset: TYPES.DateTimeOffset,
  char: TYPES.Char,
  varchar: TYPES.VarChar,
  text: TYPES.Text,
  nchar: TYPES.NChar,
  nvarchar: TYPES.NVarChar,
  ntext: TYPES.NText,
  binary: TYPES.Binary,
  varbinary: TYPES.VarBinary,
  image: TYPES.Image,
  uniqueidentifier: TYPES.UniqueIdentifier,
  // xml is written as text.
  xml: TYPES.NVarChar,
};

/** Kinds that tedious turns into JavaScript numbers, exact up to 15 digits. */
const AS_NUMBER = new Set(['decimal', 'numeric', 'money', 'smallmoney']);
const MILLISECOND_AS_TICKS = 10_000;

/** A column's type for `addParameter` and `addColumn`. */
export function typeOf(column) {
  return TYPE_OF[column.kind];
}

/** Length, precision and scale of a column, as `addColumn` and `addParameter` want them. */
export function sizeOf({ kind, declaration }) {
  const sizes = /\(([^)]+)\)/.exec(declaration)?.[1].split(',');
  if (kind === 'xml') {
    return { length: Infinity };
  }
  if (!sizes) {
    return {};
  }
  if (kind === 'decimal' || kind === 'numeric') {
    return { precision: Number(sizes[0]), scale: Number(sizes[1]) };
  }
  if (/^(time|datetime2|datetimeoffset)$/.test(kind)) {
    return { scale: Number(sizes[0]) };
  }
  return { length: sizes[0] === 'max' ? Infinity : Number(sizes[0]) };
}

/**
 * The canonical text of the cell that is written: the table's, but for amounts of more digits than a JavaScript number
 * carries the column's ordinary one.
 */
export function writtenText(column, row) {
  const text = column.texts[row];
  if (text === null || !AS_NUMBER.has(column.kind)) {
    return text;
  }
  const scale = text.split('.')[1]?.length ?? 0;
  const digits = text.replace(/^-?0*\.?0*/, '').replace('.', '').length;
  return digits <= 15 && Number(text).toFixed(scale) === text ? text : column.texts[3];
}

/** A cell as the value that tedious writes. */
export function written(column, row) {
  const text = writtenText(column, row);
  if (text === null) {
    return null;
  }
  switch (column.kind) {
    case 'bit':
      return text === '1';
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'decimal':
    case 'numeric':
    case 'money':
    case 'smallmoney':
      return Number(text);
    case 'bigint':
      return BigInt(text);
    case 'real':
      return Buffer.from(text, 'hex').readFloatBE();
    case 'float':
      return Buffer.from(text, 'hex').readDoubleBE();
    case 'binary':
    case 'varbinary':
    case 'image':
      return Buffer.from(text, 'hex');
    case 'date':
    case 'time':
    case 'datetime':
    case 'smalldatetime':
    case 'datetime2':
    case 'datetimeoffset': {
      const { milliseconds, ticks } = instant(column, text);
      // What is below a millisecond travels beside the Date, in seconds.
      return Object.assign(new Date(milliseconds), { nanosecondDelta: ticks / 1e7 });
    }
    default:
      return text;
  }
}

/** Milliseconds since 1970 and the 100 ns ticks beyond them; an offset is taken off, for a Date keeps none. */
function instant(column, text) {
  const [, day = '1970-01-01', time = '00:00:00', fraction = '', sign, hours = 0, minutes = 0] =
    /^(\d{4}-\d\d-\d\d)? ?(?:(\d\d:\d\d:\d\d)(?:\.(\d+))?)?(?: ([+-])(\d\d):(\d\d))?$/.exec(text);
  const ticks = Number(fraction.padEnd(7, '0'));
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  return {
    milliseconds: Date.parse(`${day}T${time}Z`) - offset + Math.floor(ticks / MILLISECOND_AS_TICKS),
    ticks: ticks % MILLISECOND_AS_TICKS,
  };
}

/** Compares a cell that was read with its canonical text. */
export function compareCell(column, row, value, text) {
  const what = `${column.name} of row ${row}`;
  if (text === null || value === null) {
    return expect(what, value, text);
  }
  switch (column.kind) {
    case 'bit':
      return expect(what, value, text === '1');
    case 'tinyint':
    case 'smallint':
    case 'int':
    case 'decimal':
    case 'numeric':
    case 'money':
    case 'smallmoney':
      return expect(what, value, Number(text));
    case 'real': {
      const bits = Buffer.alloc(4);
      bits.writeFloatBE(value);
      return expect(what, bits.toString('hex'), text);
    }
    case 'float': {
      const bits = Buffer.alloc(8);
      bits.writeDoubleBE(value);
      return expect(what, bits.toString('hex'), text);
    }
    case 'binary':
    case 'varbinary':
    case 'image':
      return expect(what, value.toString('hex'), text);
    case 'uniqueidentifier':
      return expect(what, value.toLowerCase(), text);
    case 'date':
    case 'time':
    case 'datetime':
    case 'smalldatetime':
    case 'datetime2':
    case 'datetimeoffset': {
      const { milliseconds, ticks } = instant(column, text);
      const read = Math.round((value.nanosecondsDelta ?? 0) * 1e7);
      return expect(what, [value.getTime(), read], [milliseconds, ticks]);
    }
    default:
      return expect(what, value, text);
  }
}

/** Makes an empty table; with "NOT NULL" its columns take no NULL, and it has no row of NULLs. */
export async function createTable(connection, name, nullability) {
  const columns = table.columns.map((column) => `${column.name} ${column.declaration} ${nullability}`);
  await batch(connection, `DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (id int NOT NULL, ${columns.join(', ')})`);
}

/** Reads a table and compares every cell; `textOf` gives the canonical text that must be there. */
export async function compareTable(connection, name, rows, textOf) {
  const answer = await query(connection, `SELECT * FROM ${name} ORDER BY id`);
  expect('rows', answer.rows.length, rows);
  answer.rows.forEach(([id, ...cells], row) => {
    expect('id', id, row);
    table.columns.forEach((column, i) => compareCell(column, row, cells[i], textOf(column, row)));
  });
}
