// Where the server is, and promises around tedious's callbacks.

import { readFileSync } from 'node:fs';
import { Connection, Request } from 'tedious';

const { env } = process;

/** The table of every type; see cells.py for the canonical texts. */
export const table = JSON.parse(readFileSync(env.BULKWIRE_CELLS, 'utf8'));
export const user = env.BULKWIRE_USER;
export const certificate = readFileSync(env.BULKWIRE_CERTIFICATE, 'utf8');

/** The outcome of what this client does not offer. */
export class Cannot extends Error {}

/** A connection, without TLS unless the options say otherwise. */
export function connect(options = {}, password = env.BULKWIRE_PASSWORD) {
  const connection = new Connection({
    server: env.BULKWIRE_HOST,
    authentication: { type: 'default', options: { userName: user, password } },
    options: {
      port: Number(env.BULKWIRE_PORT),
      database: 'master',
      encrypt: false,
      requestTimeout: 30_000,
      useColumnNames: false,
      ...options,
    },
  });
  return new Promise((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

/** Runs work on a connection that is closed afterwards. */
export async function withConnection(work, options) {
  const connection = await connect(options);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/**
 * Sends a request by one of the connection's methods (`execSql`, `execSqlBatch`, `prepare` ...) and collects its results:
 * `{rows, results, count, outputs}`, with `results` a list of `{columns, rows}`.
 */
export function send(connection, method, request, ...rest) {
  const answer = { rows: [], results: [], outputs: {} };
  // A prepared request is sent many times over.
  request.removeAllListeners();
  request.on('columnMetadata', (columns) => answer.results.push({ columns, rows: [] }));
  request.on('row', (cells) => {
    const row = cells.map((cell) => cell.value);
    answer.rows.push(row);
    answer.results.at(-1).rows.push(row);
  });
  request.on('returnValue', (name, value) => {
    answer.outputs[name] = value;
  });
  return new Promise((resolve, reject) => {
    request.userCallback = (error, count) => (error ? reject(error) : resolve({ ...answer, count }));
    // `prepare` ends with an event instead of the callback.
    request.on('prepared', () => resolve(answer));
    request.on('error', reject);
    connection[method](request, ...rest);
  });
}

/** Runs a text with parameters, given as `{name: [type, value, options]}`. */
export function query(connection, text, parameters = {}) {
  const request = new Request(text, () => {});
  for (const [name, [type, value, options]] of Object.entries(parameters)) {
    request.addParameter(name, type, value, options);
  }
  return send(connection, 'execSql', request);
}

/** Runs a text as a plain batch. */
export function batch(connection, text) {
  return send(connection, 'execSqlBatch', new Request(text, () => {}));
}

/** The first cell that a query answers. */
export async function scalar(connection, text, parameters) {
  return (await query(connection, text, parameters)).rows[0]?.[0];
}

/** Compares what was read with what must be there. */
export function expect(what, actual, wanted) {
  const [read, must] = [actual, wanted].map((value) => JSON.stringify(value) ?? String(value));
  if (read !== must) {
    throw new Error(`${what}: ${read.slice(0, 200)}, expected ${must.slice(0, 200)}`);
  }
}

/** The error with which work must fail. */
export async function refusal(work) {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('no error came');
}

/** Compares an error of the server. */
export function expectError(error, { number, state, class: severity, lineNumber, message }) {
  expect('error', [error.number, error.state, error.class, error.lineNumber, error.message],
    [number, state, severity, lineNumber, message]);
}
