// Transactions that begin and end in ways that no single statement shows; the numbers are those of unasked_client.py.
//
// usage: unasked_client.js postgres|mysql WHERE TRACE
'use strict';
const path = require('path');
const { wrap } = require(path.join(__dirname, '..', '..', 'client', 'ratel-trace-sql.js'));
const update = (number) => `UPDATE a SET v = ${number} WHERE id = 1`;
const [kind, where, trace] = process.argv.slice(2);

async function onPostgres() {
  const { Client } = require('pg');
  const c = await wrap(new Client({ host: where, user: 'postgres', database: 'postgres' }), trace);
  await c.connect();
  for (const s of ['BEGIN; SELECT 1', update(1), 'ROLLBACK', 'BEGIN', update(100), 'SELECT 1; COMMIT', update(101), 'BEGIN', update(102),
    'COMMIT AND CHAIN', update(2), 'ROLLBACK', update(103)]) await c.query(s);
  await c.end();
}

async function onMysql() {
  const c = await wrap(await require('mysql2/promise').createConnection({ socketPath: where, user: 'root', database: 'shop', multipleStatements: true }), trace);
  await c.beginTransaction();
  await c.query(update(1));
  if (c.reset) await c.reset();
  else await c.rollback();
  await c.query(update(100));
  await c.beginTransaction();
  await c.query(update(2));
  await c.changeUser({ user: 'root', database: 'shop' });
  await c.query(update(101));
  const s = await c.prepare('UPDATE a SET w = ? WHERE id = 1');
  await c.beginTransaction();
  await s.execute([7]);
  await c.rollback();
  await s.execute([8]);
  await s.close();
  await c.end();
}

(kind === 'postgres' ? onPostgres() : onMysql()).catch((e) => {
  console.error(e);
  process.exitCode = 1;
});
