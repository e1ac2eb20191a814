// The checkout of a small web shop, with a race in it: shop.py in Node.
//
// usage: node shop.js setup URL
//        node shop.js sell [--lock] [--trace FILE] URL
//
// URL is postgres://user@host:port/db (package pg) or mariadb://user@host:port/db (package mysql2); a socket
// is told by ?socket=PATH or, of PostgreSQL, ?host=DIRECTORY. Four customers buy two kettles each, all at the
// same time. With --lock a checkout reads FOR UPDATE. With --trace its connections are wrapped by
// client/ratel-trace-sql.js, which records them.
'use strict';
const path = require('path');

const KETTLE = 1;
const url = process.argv[process.argv.length - 1];
const maria = /^(mariadb|mysql):/.test(url);
const place = (i) => (maria ? '?' : `$${i}`);

async function connect(trace) {
  let c;
  if (maria) {
    const u = new URL(url);
    const socket = u.searchParams.get('socket');
    const where = socket ? { socketPath: socket } : { host: u.hostname, port: Number(u.port || 3306) };
    c = await require('mysql2/promise').createConnection({ ...where, user: u.username || 'root', password: u.password, database: u.pathname.slice(1) });
  } else {
    const { Client } = require('pg');
    c = new Client(url);
    await c.connect();
  }
  if (!trace) return c;
  return require(path.join(__dirname, '..', '..', 'client', 'ratel-trace-sql.js')).wrap(c, trace, { setup: maria ? TABLES : [] });
}

const TABLES = ['CREATE TABLE products (id int PRIMARY KEY, name varchar(20) NOT NULL, stock int NOT NULL)',
  'CREATE TABLE orders (customer int, product int, number int, PRIMARY KEY (customer, number))',
  `INSERT INTO products VALUES (${KETTLE}, 'kettle', 20)`];

async function setup() {
  const c = await connect();
  for (const sql of ['DROP TABLE IF EXISTS orders', 'DROP TABLE IF EXISTS products', ...TABLES]) await c.query(sql);
  await c.end();
}

const rowsOf = (got) => (maria ? got[0] : got.rows);

async function checkout(c, customer, number, lock) {
  await c.query('BEGIN');
  const found = rowsOf(await c.query(`SELECT stock FROM products WHERE id = ${place(1)}${lock ? ' FOR UPDATE' : ''}`, [KETTLE]));
  if (found[0].stock < 1) return c.query('ROLLBACK');
  await new Promise((done) => setTimeout(done, 20)); // the payment
  await c.query(`UPDATE products SET stock = ${place(1)} WHERE id = ${place(2)}`, [found[0].stock - 1, KETTLE]);
  await c.query(`INSERT INTO orders VALUES (${place(1)}, ${place(2)}, ${place(3)})`, [customer, KETTLE, number]);
  return c.query('COMMIT');
}

async function sell() {
  const at = process.argv.indexOf('--trace');
  const clients = await Promise.all([1, 2, 3, 4].map(() => connect(at > 0 && process.argv[at + 1])));
  await Promise.all(clients.map(async (c, i) => {
    for (let n = 0; n < 2; n++) await checkout(c, i + 1, n, process.argv.includes('--lock'));
    await c.end();
  }));
}

(process.argv[2] === 'setup' ? setup() : sell()).catch((e) => { console.error(e.message); process.exit(1); });
