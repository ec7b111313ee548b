import { Request, TYPES } from 'tedious';
import { batch, Cannot, expect, query, scalar, send, table, withConnection } from './environment.js';
import { compareTable, createTable, sizeOf, typeOf, written, writtenText } from './every-type.js';

export const queryChecks = {
  query_every_type: () =>
    withConnection(async (connection) => {
      await createTable(connection, 'tedious_query', 'NULL');
      for (let row = 0; row < table.rows; row++) {
        const literals = table.columns.map((column) => column.literals[row]);
        await batch(connection, `INSERT INTO tedious_query VALUES (${row}, ${literals.join(', ')})`);
      }
      await compareTable(connection, 'tedious_query', table.rows, (column, row) => column.texts[row]);
    }),

  parameters_every_type: () =>
    withConnection(async (connection) => {
      await createTable(connection, 'tedious_parameters', 'NULL');
      const marks = table.columns.map((column) => `@${column.name}`).join(', ');
      for (let row = 0; row < table.rows; row++) {
        const parameters = { id: [TYPES.Int, row] };
        for (const column of table.columns) {
          parameters[column.name] = [typeOf(column), written(column, row), sizeOf(column)];
        }
        await query(connection, `INSERT INTO tedious_parameters VALUES (@id, ${marks})`, parameters);
      }
      await compareTable(connection, 'tedious_parameters', table.rows, writtenText);
    }),

  parameters_of_all_digits: async () => {
    throw new Cannot('tedious carries decimal, numeric and money as JavaScript numbers: more than 15 digits are rounded');
  },

  datetimeoffset_keeps_its_offset: async () => {
    throw new Cannot("tedious carries datetimeoffset as a Date: it drops the offset on reading and sends the process's own");
  },

  parameters_named: () =>
    withConnection(async (connection) => {
      const answer = await scalar(connection, "SELECT @name + N' is ' + CAST(@age AS nvarchar(10)) + @name", {
        age: [TYPES.Int, 42],
        name: [TYPES.NVarChar, "O'Brien"],
      });
      expect('answer', answer, "O'Brien is 42O'Brien");
    }),

  parameters_output: () =>
    withConnection(async (connection) => {
      const request = new Request("SET @sum = @sum + @more; SET @text = N'größer'", () => {});
      request.addParameter('more', TYPES.Int, 41);
      request.addOutputParameter('sum', TYPES.Int, 1);
      request.addOutputParameter('text', TYPES.NVarChar, '', { length: 20 });
      const { outputs } = await send(connection, 'execSql', request);
      expect('outputs', outputs, { sum: 42, text: 'größer' });
    }),

  prepared_repeatedly: () =>
    withConnection(async (connection) => {
      await batch(connection, 'DROP TABLE IF EXISTS tedious_prepared; CREATE TABLE tedious_prepared (id int NOT NULL, name nvarchar(20) NULL)');
      const insert = new Request('INSERT INTO tedious_prepared VALUES (@id, @name)', () => {});
      insert.addParameter('id', TYPES.Int);
      insert.addParameter('name', TYPES.NVarChar, undefined, { length: 20 });
      await send(connection, 'prepare', insert);
      for (let id = 0; id < 50; id++) {
        const { count } = await send(connection, 'execute', insert, { id, name: id % 10 ? `name ${id}` : null });
        expect('rows affected', count, 1);
      }
      await send(connection, 'unprepare', insert);
      const { rows } = await query(connection, 'SELECT id, name FROM tedious_prepared ORDER BY id');
      expect('rows', rows, Array.from({ length: 50 }, (_, id) => [id, id % 10 ? `name ${id}` : null]));
    }),

  called_procedure: () =>
    withConnection(async (connection) => {
      const request = new Request('sp_executesql', () => {});
      request.addParameter('statement', TYPES.NVarChar, 'SELECT @a + @b AS sum');
      request.addParameter('params', TYPES.NVarChar, '@a int, @b int');
      request.addParameter('a', TYPES.Int, 40);
      request.addParameter('b', TYPES.Int, 2);
      expect('rows', (await send(connection, 'callProcedure', request)).rows, [[42]]);
    }),

  several_results: () =>
    withConnection(async (connection) => {
      const { results } = await batch(connection, "SELECT 1 AS a; PRINT 'between'; SELECT 'x' AS b, 2 AS c WHERE 1 = 0; SELECT 3 AS d");
      const shape = results.map(({ columns, rows }) => [columns.map((column) => column.colName).join(), rows]);
      expect('results', shape, [['a', [[1]]], ['b,c', []], ['d', [[3]]]]);
    }),

  large_values: () =>
    withConnection(async (connection) => {
      const text = '0123456789äöü€🚀'.repeat(200_000);
      const data = Buffer.alloc(7_000_000, Buffer.from([0, 1, 2, 253, 254, 255, 10]));
      const { rows } = await query(connection, 'SELECT @text, @data', {
        text: [TYPES.NVarChar, text],
        data: [TYPES.VarBinary, data],
      });
      expect('text', rows[0][0] === text, true);
      expect('data', rows[0][1].equals(data), true);
    }),

  connection_reset: () =>
    withConnection(async (connection) => {
      const state = "SELECT @@SPID, @@LOCK_TIMEOUT, @@DATEFIRST, @@TRANCOUNT, OBJECT_ID('tempdb..#left')";
      const session = await scalar(connection, 'SELECT @@SPID');
      await batch(connection, 'CREATE TABLE #left (n int); SET LOCK_TIMEOUT 1234; SET DATEFIRST 3; BEGIN TRANSACTION');
      const { rows: before } = await query(connection, state.replace(/, OBJECT_ID.*/, ''));
      expect('before', before, [[session, 1234, 3, 1]]);
      await new Promise((resolve, reject) => connection.reset((error) => (error ? reject(error) : resolve())));
      const { rows: after } = await query(connection, state);
      expect('after', after, [[session, -1, 7, 0, null]]);
    }),
};
