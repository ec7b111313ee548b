import { ISOLATION_LEVEL, TYPES } from 'tedious';
import { batch, expect, query, scalar, withConnection } from './environment.js';

export const transactionChecks = {
  transaction_rollback: () =>
    withConnection(async (connection) => {
      await makeTable(connection, 'tedious_rollback');
      const endings = ['rollbackTransaction', 'commitTransaction', 'rollbackTransaction'];
      for (const [n, ending] of endings.entries()) {
        await call(connection, 'beginTransaction');
        await query(connection, 'INSERT INTO tedious_rollback VALUES (@n)', { n: [TYPES.Int, n] });
        expect('rows inside', await scalar(connection, `SELECT COUNT(*) FROM tedious_rollback WHERE n = ${n}`), 1);
        await call(connection, ending);
      }
      expect('rows left', (await query(connection, 'SELECT n FROM tedious_rollback')).rows, [[1]]);
    }),

  isolation_levels: () =>
    withConnection(async (connection) => {
      for (const level of ['READ_UNCOMMITTED', 'READ_COMMITTED', 'REPEATABLE_READ', 'SERIALIZABLE', 'SNAPSHOT']) {
        await call(connection, 'beginTransaction', '', ISOLATION_LEVEL[level]);
        expect(`@@TRANCOUNT under ${level}`, await scalar(connection, 'SELECT @@TRANCOUNT'), 1);
        await call(connection, 'commitTransaction');
      }
    }),

  savepoint: () =>
    withConnection(async (connection) => {
      await makeTable(connection, 'tedious_savepoint');
      await call(connection, 'beginTransaction');
      await batch(connection, 'INSERT INTO tedious_savepoint VALUES (1)');
      await call(connection, 'saveTransaction', 'here');
      await batch(connection, 'INSERT INTO tedious_savepoint VALUES (2)');
      await call(connection, 'rollbackTransaction', 'here');
      await batch(connection, 'INSERT INTO tedious_savepoint VALUES (4)');
      await call(connection, 'commitTransaction');
      expect('rows left', (await query(connection, 'SELECT n FROM tedious_savepoint ORDER BY n')).rows, [[1], [4]]);
    }),

  nested_transaction: () =>
    withConnection(async (connection) => {
      await makeTable(connection, 'tedious_nested');
      await new Promise((resolve, reject) => {
        connection.transaction((error, done) => {
          if (error) {
            return reject(error);
          }
          return connection.transaction((inner, innerDone) => {
            batch(connection, 'INSERT INTO tedious_nested VALUES (1)').then(
              () => innerDone(inner, () => done(null, (failed) => (failed ? reject(failed) : resolve()))),
              reject,
            );
          });
        });
      });
      expect('rows left', await scalar(connection, 'SELECT COUNT(*) FROM tedious_nested'), 1);
    }),
};

function makeTable(connection, name) {
  return batch(connection, `DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (n int NOT NULL)`);
}

/** Calls one of the transaction methods, which take their callback first. */
function call(connection, method, ...rest) {
  return new Promise((resolve, reject) => {
    connection[method]((error) => (error ? reject(error) : resolve()), ...rest);
  });
}
