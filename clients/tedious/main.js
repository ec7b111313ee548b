// Drives tedious against the embedded server and prints one JSON line per check.
//
// The endpoint comes from BULKWIRE_HOST, BULKWIRE_PORT, BULKWIRE_USER, BULKWIRE_PASSWORD and BULKWIRE_CERTIFICATE (a PEM
// file), the table of every type from BULKWIRE_CELLS (JSON, printed by cells.py). Arguments name the checks to run; without
// one all of them run.

import { Cannot } from './environment.js';
import { bulkChecks } from './bulk.js';
import { errorChecks } from './errors.js';
import { loginChecks } from './logins.js';
import { queryChecks } from './queries.js';
import { transactionChecks } from './transactions.js';

const CHECK_TIMEOUT_MS = 60_000;

const checks = { ...loginChecks, ...queryChecks, ...errorChecks, ...transactionChecks, ...bulkChecks };
const wanted = process.argv.slice(2);

for (const [check, run] of Object.entries(checks)) {
  if (wanted.length === 0 || wanted.includes(check)) {
    console.log(JSON.stringify({ check, ...(await outcomeOf(run)) }));
  }
}
// A check that timed out may have left a connection behind, which would keep the process alive.
process.exit(0);

async function outcomeOf(run) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([run(), timeout]);
    return { outcome: 'passed', detail: '' };
  } catch (error) {
    return { outcome: error instanceof Cannot ? 'cannot' : 'failed', detail: String(error.message) };
  } finally {
    clearTimeout(timer);
  }
}
