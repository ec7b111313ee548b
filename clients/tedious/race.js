// tedious's contestant of the client benchmark (docs/clients-benchmark.md, "A contestant").

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Connection, Request } from 'tedious';
import { COLUMNS, readRows } from './race-source.js';

const client = `tedious ${JSON.parse(readFileSync(new URL('node_modules/tedious/package.json', import.meta.url))).version}`;

const text = { type: 'string' };
const { values: options, positionals: [mode] } = parseArgs({
  allowPositionals: true,
  options: {
    host: text, port: text, user: text, database: text, encrypt: text, table: text, source: text, rows: text, 'batch-rows': text,
  },
});
const batchRows = Number(options['batch-rows']) || Infinity;

const report = await { load, read }[mode]();
console.log(JSON.stringify(report));

/** A connection with the largest packets that it carries: TLS keeps to records of 16 KiB. */
function connect() {
  const encrypt = options.encrypt === 'on';
  const connection = new Connection({
    server: options.host,
    authentication: { type: 'default', options: { userName: options.user, password: process.env.RACE_PASSWORD } },
    options: {
      port: Number(options.port),
      database: options.database,
      encrypt,
      trustServerCertificate: true,
      packetSize: encrypt ? 16_383 : 32_767,
      requestTimeout: 0,
      useColumnNames: false,
    },
  });
  return new Promise((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

async function load() {
  const commits = readRows(options.source, Number(options.rows), batchRows);
  const connection = await connect();
  const meter = startMeter();
  let sent = 0;
  for (const rows of commits) {
    sent += await new Promise((resolve, reject) => {
      const bulk = connection.newBulkLoad(options.table, { keepNulls: true, lockTable: true },
        (error, count) => (error ? reject(error) : resolve(count)));
      for (const { name, type, ...size } of COLUMNS) {
        bulk.addColumn(name, type, { nullable: true, ...size });
      }
      connection.execBulkLoad(bulk, rows);
    });
  }
  const costs = stopMeter(meter, sent);
  connection.close();
  return { ...costs, source: 'values' };
}

/** Reads into a list of rows; its checksum is made afterwards, for sums of 64 bits are slow in JavaScript. */
async function read() {
  const connection = await connect();
  const meter = startMeter();
  const rows = [];
  await new Promise((resolve, reject) => {
    const request = new Request(`SELECT * FROM ${options.table}`, (error) => (error ? reject(error) : resolve()));
    request.on('row', (cells) => rows.push(cells.map((cell) => cell.value)));
    connection.execSqlBatch(request);
  });
  const costs = stopMeter(meter, rows.length);
  connection.close();
  return { ...costs, checksum: checksum(rows) };
}

function checksum(rows) {
  const counts = COLUMNS.map(() => 0);
  const sums = COLUMNS.map(() => 0n);
  for (const row of rows) {
    row.forEach((value, column) => {
      if (value !== null) {
        counts[column] += 1;
        sums[column] += COLUMNS[column].weigh(value);
      }
    });
  }
  return counts.map((count, column) => `${count}:${BigInt.asUintN(64, sums[column])}`).join(' ');
}

function startMeter() {
  return { start_bytes: peakBytes(), cpu: process.cpuUsage(), started: process.hrtime.bigint() };
}

function stopMeter({ start_bytes, cpu, started }, rows) {
  const elapsed = process.hrtime.bigint() - started;
  const { user, system } = process.cpuUsage(cpu);
  return {
    rows,
    seconds: Number(elapsed) / 1e9,
    cpu_seconds: (user + system) / 1e6,
    peak_bytes: peakBytes(),
    start_bytes,
    client,
  };
}

function peakBytes() {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
}
