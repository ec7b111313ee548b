import { TYPES } from 'tedious';
import { batch, expect, expectError, query, refusal, scalar, table, withConnection } from './environment.js';
import { compareTable, createTable, sizeOf, typeOf, written, writtenText } from './every-type.js';

export const bulkChecks = {
  bulk_every_type: () =>
    withConnection(async (connection) => {
      await createTable(connection, 'tedious_bulk', 'NULL');
      await loadEveryType(connection, 'tedious_bulk', table.rows, true);
      await compareTable(connection, 'tedious_bulk', table.rows, writtenText);
    }),

  bulk_not_null: () =>
    withConnection(async (connection) => {
      await createTable(connection, 'tedious_bulk_not_null', 'NOT NULL');
      await loadEveryType(connection, 'tedious_bulk_not_null', table.rows - 1, false);
      await compareTable(connection, 'tedious_bulk_not_null', table.rows - 1, writtenText);
    }),

  bulk_creates_its_table: () =>
    withConnection(async (connection) => {
      await batch(connection, 'DROP TABLE IF EXISTS tedious_bulk_made');
      const { load, bulk } = bulkLoad(connection, 'tedious_bulk_made', {}, keyed);
      await batch(connection, bulk.getTableCreationSql());
      expect('rows', await load([[1, 10], [2, null]]), 2);
      expect('cells', (await query(connection, 'SELECT * FROM tedious_bulk_made ORDER BY id')).rows, [[1, 10], [2, null]]);
    }),

  bulk_large_values: () =>
    withConnection(async (connection) => {
      const text = '0123456789äöü€🚀'.repeat(200_000);
      await batch(connection, 'DROP TABLE IF EXISTS tedious_large; CREATE TABLE tedious_large (t nvarchar(max) NULL)');
      const { load } = bulkLoad(connection, 'tedious_large', {}, (bulk) => bulk.addColumn('t', TYPES.NVarChar, { length: Infinity }));
      expect('rows', await load([[text]]), 1);
      expect('text', (await scalar(connection, 'SELECT t FROM tedious_large')) === text, true);
    }),

  bulk_refused: () =>
    withConnection(async (connection) => {
      await makeKeyed(connection, 'tedious_refused');
      const { load } = bulkLoad(connection, 'tedious_refused', {}, keyed);
      expectError(await refusal(load([[1, 1], [2, 2], [1, 3]])), {
        number: 2627, state: 1, class: 14, lineNumber: 1,
        message: "Violation of PRIMARY KEY constraint 'pk_tedious_refused'. Cannot insert duplicate key in object 'dbo.tedious_refused'. The duplicate key value is (1).",
      });
      expect('rows left', await scalar(connection, 'SELECT COUNT(*) FROM tedious_refused'), 0);
    }),

  bulk_rolled_back: () =>
    withConnection(async (connection) => {
      await makeKeyed(connection, 'tedious_taken_back');
      await new Promise((resolve, reject) => connection.beginTransaction((error) => (error ? reject(error) : resolve())));
      const { load } = bulkLoad(connection, 'tedious_taken_back', {}, keyed);
      expect('rows', await load([[1, 1]]), 1);
      expect('rows inside', await scalar(connection, 'SELECT COUNT(*) FROM tedious_taken_back'), 1);
      await new Promise((resolve, reject) => connection.rollbackTransaction((error) => (error ? reject(error) : resolve())));
      expect('rows left', await scalar(connection, 'SELECT COUNT(*) FROM tedious_taken_back'), 0);
    }),

  cancel_bulk: () =>
    withConnection(async (connection) => {
      await makeKeyed(connection, 'tedious_cancelled');
      const { bulk, load } = bulkLoad(connection, 'tedious_cancelled', {}, keyed);
      async function* endless() {
        for (let id = 0; ; id++) {
          if (id === 20_000) {
            bulk.cancel();
          }
          yield [id, id];
        }
      }
      expect('code', (await refusal(load(endless()))).code, 'ECANCEL');
      expect('rows left', await scalar(connection, 'SELECT COUNT(*) FROM tedious_cancelled'), 0);
    }),
};

/** A bulk load whose `load(rows)` promises the number of rows loaded. */
function bulkLoad(connection, name, options, addColumns) {
  let settle;
  const loaded = new Promise((resolve, reject) => {
    settle = (error, count) => (error ? reject(error) : resolve(count));
  });
  const bulk = connection.newBulkLoad(name, options, (error, count) => settle(error, count));
  addColumns(bulk);
  return {
    bulk,
    load: (rows) => {
      connection.execBulkLoad(bulk, rows);
      return loaded;
    },
  };
}

async function loadEveryType(connection, name, rowCount, nullable) {
  const { load } = bulkLoad(connection, name, { keepNulls: true, lockTable: true }, (bulk) => {
    bulk.addColumn('id', TYPES.Int, { nullable: false });
    for (const column of table.columns) {
      bulk.addColumn(column.name, typeOf(column), { nullable, ...sizeOf(column) });
    }
  });
  const rows = [];
  for (let row = 0; row < rowCount; row++) {
    rows.push([row, ...table.columns.map((column) => written(column, row))]);
  }
  expect('rows loaded', await load(rows), rowCount);
}

function keyed(bulk) {
  bulk.addColumn('id', TYPES.Int, { nullable: false });
  bulk.addColumn('v', TYPES.Int, { nullable: true });
}

function makeKeyed(connection, name) {
  return batch(connection, `DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (id int NOT NULL CONSTRAINT pk_${name} PRIMARY KEY, v int NULL)`);
}
