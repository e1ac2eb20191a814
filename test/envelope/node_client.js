// A program of pg or mysql2 that asks in every way; prints what it got. usage: node_client.js postgres|mysql WHERE [TRACE]
'use strict';
const path = require('path');
const [, , kind, where, trace] = process.argv;
const out = [];
const show = (what, got) => out.push([what, got]);
const failed = async (what, job) => {
  try {
    show(what, await job());
  } catch (e) {
    show(what, [e.code, e.errno || null]);
  }
};
const wrapped = (c) => (trace ? require(path.join(__dirname, '..', '..', 'client', 'ratel-trace-sql.js')).wrap(c, trace) : c);
const plain = (got) => JSON.parse(JSON.stringify(kind === 'postgres' ? [got.rows, got.rowCount] : Array.isArray(got[0]) ? got[0] : got[0].affectedRows));

async function onPostgres() {
  const { Client } = require('pg');
  const c = await wrapped(new Client({ host: where, user: 'postgres', database: 'postgres' }));
  await c.connect();
  const ask = async (...args) => plain(await c.query(...args));
  show('text', await ask('SELECT id, v FROM t ORDER BY id'));
  show('object', await ask({ text: 'SELECT v FROM t WHERE id = $1', values: [1], rowMode: 'array' }));
  show('named', await ask({ name: 'n', text: 'UPDATE t SET v = $1 WHERE id = $2', values: ['7', 1] }));
  show('callback', await new Promise((done) => { c.query('SELECT 5 AS x', (e, r) => done([e, r.rows])); }));
  show('callback, values', await new Promise((done) => { c.query('SELECT $1::int AS x', [6], (e, r) => done([e, r.rows])); }));
  show('callback, error', await new Promise((done) => { c.query('SELECT 1/0', (e) => done(e.code)); }));
  await c.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
  await ask('UPDATE t SET v = 70 WHERE id = 1');
  await c.query('SAVEPOINT s');
  await failed('error', () => ask('SELECT nothing'));
  await c.query('ROLLBACK TO s');
  await c.query('COMMIT');
  await c.query('BEGIN');
  await failed('duplicate', () => ask('INSERT INTO t VALUES (1, 1)'));
  show('refused commit', (await c.query('COMMIT')).command);
  show('all at once', await Promise.all([1, 2, 3].map((i) => ask('SELECT $1::int AS x', [i]))));
  show('several', (await c.query('SELECT 1 AS a; SELECT 2 AS b')).length);
  show('float', await ask('SELECT 1.5::float8 AS f, 2 AS a, 3 AS a'));
  await c.end();
}

async function onMaria() {
  const c = await wrapped(await require('mysql2/promise').createConnection({ socketPath: where, user: 'root', database: 'shop' }));
  const ask = async (...args) => plain(await c.query(...args));
  show('text', await ask('SELECT id, v FROM t ORDER BY id'));
  show('places', await ask('SELECT v FROM t WHERE id = ?', [1]));
  show('executed', plain(await c.execute('UPDATE t SET v = ? WHERE id = ?', [7, 1])));
  show('object', await ask({ sql: 'SELECT v FROM t WHERE id = ?', values: [1], rowsAsArray: true }));
  await c.beginTransaction();
  await ask('UPDATE t SET v = 70 WHERE id = 1');
  await failed('duplicate', () => ask('INSERT INTO t VALUES (1, 1)'));
  await c.commit();
  await c.query('START TRANSACTION');
  await ask('UPDATE t SET v = 71 WHERE id = 1');
  await c.rollback();
  await c.query('SET autocommit = 0');
  await ask('UPDATE t SET v = 72 WHERE id = 1');
  await c.query('COMMIT');
  await c.query('SET autocommit = 1');
  show('in a text', await ask("SELECT 'a?b' AS x, ? AS y", ['it\'s']));
  await c.end();
  const old = await wrapped(require('mysql2').createConnection({ socketPath: where, user: 'root', database: 'shop' }));
  show('callback', await new Promise((done) => { old.query('SELECT v FROM t WHERE id = 1', (e, rows) => done([e, plain([rows])])); }));
  show('callback, error', await new Promise((done) => { old.query('SELEC', (e) => done(e.errno)); }));
  old.end();
}

(kind === 'postgres' ? onPostgres() : onMaria()).then(() => console.log(JSON.stringify(out)), (e) => { console.error(e); process.exit(1); });
