import { Request, TYPES } from 'tedious';
import { batch, expect, expectError, query, refusal, scalar, send, withConnection } from './environment.js';

export const errorChecks = {
  error_details: () =>
    withConnection(async (connection) => {
      expectError(await refusal(query(connection, 'SELECT 1;\n\nSELECT * FROM no_such_table')), {
        number: 208, state: 1, class: 16, lineNumber: 3, message: "Invalid object name 'no_such_table'.",
      });
      await batch(connection, 'DROP TABLE IF EXISTS tedious_error; CREATE TABLE tedious_error (id int NOT NULL CONSTRAINT pk_tedious_error PRIMARY KEY)');
      const insert = () => query(connection, 'INSERT INTO tedious_error VALUES (@id)', { id: [TYPES.Int, 1] });
      await insert();
      expectError(await refusal(insert()), {
        number: 2627, state: 1, class: 14, lineNumber: 1,
        message: "Violation of PRIMARY KEY constraint 'pk_tedious_error'. Cannot insert duplicate key in object 'dbo.tedious_error'. The duplicate key value is (1).",
      });
      expect('rows', await scalar(connection, 'SELECT COUNT(*) FROM tedious_error'), 1);
    }),

  error_from_try_catch: () =>
    withConnection(async (connection) => {
      const text = "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH\n;THROW 50001, N'größer', 7 END CATCH";
      expectError(await refusal(batch(connection, text)), {
        number: 50001, state: 7, class: 16, lineNumber: 2, message: 'größer',
      });
    }),

  cancel_query: () =>
    withConnection(async (connection) => {
      const waiting = send(connection, 'execSqlBatch', new Request("WAITFOR DELAY '00:01:00'", () => {}));
      setTimeout(() => connection.cancel(), 200);
      expect('code', (await refusal(waiting)).code, 'ECANCEL');
      expect('answer', await scalar(connection, 'SELECT 42'), 42);
    }),

  cancel_streaming: () =>
    withConnection(async (connection) => {
      const ten = '(VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10))';
      await batch(connection, `CREATE TABLE #n (n int); INSERT INTO #n SELECT a.n FROM ${ten} a(n), ${ten} b(n)`);
      const request = new Request('SELECT a.n FROM #n a, #n b, #n c, #n d', () => {});
      const sent = send(connection, 'execSqlBatch', request);
      request.once('row', () => connection.cancel());
      expect('code', (await refusal(sent)).code, 'ECANCEL');
      expect('rows', await scalar(connection, 'SELECT COUNT(*) FROM #n'), 100);
    }),

  query_timeout: () =>
    withConnection(
      async (connection) => {
        expect('code', (await refusal(batch(connection, "WAITFOR DELAY '00:01:00'"))).code, 'ETIMEOUT');
        expect('answer', await scalar(connection, 'SELECT 42'), 42);
      },
      { requestTimeout: 300 },
    ),
};
