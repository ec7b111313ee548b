import { Cannot, certificate, connect, expect, expectError, refusal, scalar, user, withConnection } from './environment.js';

const pinned = { cryptoCredentialsDetails: { ca: certificate }, serverName: 'localhost' };

export const loginChecks = {
  login_plain: login({ encrypt: false }),
  login_only_tls: async () => {
    throw new Cannot('tedious encrypts all of a connection or nothing of it: it offers ENCRYPT_ON or ENCRYPT_NOT_SUP, never ENCRYPT_OFF');
  },
  login_full_tls: login({ encrypt: true, ...pinned }),
  login_strict: login({ encrypt: 'strict', ...pinned }),
  untrusted_certificate: async () => {
    const error = await refusal(connect({ encrypt: true, serverName: 'localhost' }));
    expect('refusal', /certificate/.test(error.message), true);
  },
  wrong_password: async () => {
    const error = await refusal(connect({}, 'wrong'));
    const { number, state, class: severity, message } = error.cause ?? error;
    expect('code', error.code, 'ELOGIN');
    expect('message', error.message, `Login failed for user '${user}'.`);
    if (number !== undefined) {
      expectError({ number, state, class: severity, message }, { number: 18456, state: 1, class: 14, message });
    }
  },
};

function login(options) {
  return () =>
    withConnection(async (connection) => {
      expect('answer', await scalar(connection, "SELECT DB_NAME() + N' zwölf'"), 'master zwölf');
    }, options);
}
