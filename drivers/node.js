#!/usr/bin/env node
/*
 * A driver for `ratel run --db exec:...`: engines that are modules of Node.
 *
 *   node node.js ENGINE [ADDRESS] [--index]      NODE_PATH or the current directory has the module
 *
 *   duckdb   @duckdb/node-api          ADDRESS: a file, or :memory: (default)
 *   turso    @tursodatabase/database   a file; transactions are BEGIN CONCURRENT (MVCC)
 *   libsql   libsql                    a file
 *   pglite   @electric-sql/pglite      a directory, or memory://; one session
 *   surrealdb  surrealdb, @surrealdb/node   mem:// or surrealkv://DIRECTORY
 *   firebird   node-firebird           host:port:database
 *
 * --index: a second, indexed column, which every other write sets, too.
 * The protocol is described in doc/drivers.md.  One process serves all sessions (libsql and firebird:
 * one each): requests of a session follow each other, those of several run at the same time.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');

const words = process.argv.slice(2).filter((w) => !w.startsWith('--'));
const indexed = process.argv.includes('--index');
const [engineName, address] = words;

/* Where a module is: NODE_PATH, the current directory, beside this file, npm's global directory; or
   within another module, which was installed with a copy of its own. */
function folder(name, user) {
  const own = user && path.join(folder(user), 'node_modules', name);
  if (own && fs.existsSync(path.join(own, 'package.json'))) return own;
  const all = [...(process.env.NODE_PATH || '').split(':'), path.join(process.cwd(), 'node_modules'),
    path.join(__dirname, 'node_modules'), '/usr/local/lib/node_modules'];
  const found = all.filter(Boolean).find((d) => fs.existsSync(path.join(d, name, 'package.json')));
  if (!found) throw new Failed(`no module ${name}; npm install it and set NODE_PATH`);
  return path.join(found, name);
}
function about(name, user) {
  return JSON.parse(fs.readFileSync(path.join(folder(name, user), 'package.json')));
}

/* The file that `import` would take.  All modules are imported, since a module that is both
   required and imported exists twice. */
function entry(x) {
  if (typeof x === 'string') return x;
  const key = x && Object.keys(x).find((k) => ['node', 'import', 'default'].includes(k) && entry(x[k]));
  return key && entry(x[key]);
}
async function load(name, user) {
  const { exports: all, main } = about(name, user);
  const file = entry(all && all['.'] ? all['.'] : all) || main || 'index.js';
  const m = await import(pathToFileURL(path.join(folder(name, user), file)));
  return m.default && typeof m.default === 'object' ? { ...m.default, ...m } : m;
}

class Refused extends Error {}
class Failed extends Error {}

/* Words that engines use for conflicts; what is none of them is a failure. */
const conflicts = /conflict|deadlock|locked|busy|could not serialize|retried|update conflicts|snapshot is stale/i;

/* --- SQL: what the engines have in common ---------------------------------------------------- */

/* Numbers arrive as text; a statement's parameters are wide integers. */
const wide = (values) => values.map((v) =>
  (typeof v === 'string' && /^-?\d+$/.test(v) ? BigInt(v) : v));

/* Numbers stay numbers, others are shown as texts. */
const plain = (v) => (v === null || typeof v === 'boolean' || typeof v === 'number' ? v :
  typeof v === 'bigint' && v <= Number.MAX_SAFE_INTEGER && v >= -Number.MAX_SAFE_INTEGER ? Number(v) :
    String(v));

/* The SQLSTATE of an error that the statements of a workload bring about. */
const stateOf = (text) => (/foreign/i.test(text) ? '23503' :
  /unique|duplicate|primary key/i.test(text) ? '23505' : /constraint/i.test(text) ? '23514' : '40001');

/* An engine gives: connect() to something with run(sql, values) -> {rows: [[...]]}, change(sql,
   values) -> how many rows, and close().  A statement that fails may have ended the transaction; abort must not mind. */
class SqlSession {
  constructor(engine, connection, request) {
    Object.assign(this, { engine, connection, request, table: request.place, lists: request.lists, puts: 0 });
  }
  run(sql, ...values) {
    return this.connection.run(sql, values);
  }
  async begin(r) {
    if (!this.engine.levels[r.isolation]) throw new Failed(`no isolation level ${r.isolation}`);
    for (const sql of [].concat(this.engine.levels[r.isolation])) await this.run(sql);
    this.open = true;
  }
  async commit() {
    try {
      await this.run('COMMIT');
    } catch (e) {
      /* Where a COMMIT that fails leaves the transaction open, its rollback tells the outcome. */
      if ((await this.abort()) && this.engine.keepsOpen) throw new Refused(e.message);
      throw e;
    }
    this.open = false;
  }
  /* Was there a transaction that is now rolled back? */
  async abort() {
    if (!this.open) return false;
    this.open = false;
    try {
      await this.run('ROLLBACK');
      return true;
    } catch (e) {
      if (!/no transaction|transaction is|not in a transaction|no active/i.test(e.message)) throw e;
      return false;
    }
  }
  async get(r) {
    const { rows } = await this.run(`SELECT ${this.engine.shown} FROM ${this.table} WHERE k = ?`, r.key);
    if (!rows.length || rows[0][0] === null) return { value: null, tomb: rows.length > 0 };
    return { value: this.lists ? String(rows[0][0]).split(',') : String(rows[0][0]) };
  }
  async write(key, change, value, first) {
    if (indexed && ++this.puts % 2) change += `, s = ${this.puts}`;
    /* (Not by RETURNING: for DuckDB such an update is another operation.) */
    const sql = `UPDATE ${this.table} SET ${change} WHERE k = ?`;
    if (!(await this.connection.change(sql, [value, key]))) await this.run(`INSERT INTO ${this.table}(k, v) VALUES(?, ?)`, key, first);
  }
  put(r) {
    return this.write(r.key, 'v = ?', r.value, r.value);
  }
  bury(r) {
    return this.write(r.key, 'v = ?', null, null);
  }
  append(r) {
    return this.write(r.key, 'v = v || ?', `,${r.value}`, r.value);
  }
  async delete(r) {
    const sql = `DELETE FROM ${this.table} WHERE k = ?`;
    return { found: (await this.connection.change(sql, [r.key])) > 0 };
  }
  async range(r) {
    const { rows } = await this.run(`SELECT k, ${this.engine.shown} FROM ${this.table} WHERE k >= ? AND k < ? ` +
      `AND v IS NOT NULL ORDER BY k${r.reverse ? ' DESC' : ''}${r.limit ? ` LIMIT ${r.limit}` : ''}`, r.from, r.to);
    return { rows: rows.map((row) => row.map(String)) };
  }
  /* One UPDATE adds; the sum is then what this transaction reads of its own row.  (Everything else that
     is asked for outside of a transaction is one statement that has written, at most.) */
  async add(r) {
    if (r.alone) {
      await this.begin(r);
      const sum = await this.add({ ...r, alone: false });
      await this.commit();
      return sum;
    }
    if (!(await this.connection.change(`UPDATE ${this.table} SET v = v + ? WHERE k = ?`, [r.value, r.key]))) {
      if (!r.upsert) return { value: null };
      await this.run(`INSERT INTO ${this.table}(k, v) VALUES(?, ?)`, r.key, r.value);
      return { value: r.value };
    }
    return { value: (await this.get(r)).value };
  }
  async savepoint(r) {
    if (r.what === 'set') return void (await this.run('SAVEPOINT ratel'));
    if (r.what === 'undo') await this.run('ROLLBACK TO SAVEPOINT ratel');
    await this.run('RELEASE SAVEPOINT ratel');
  }
  /* A statement of a SQL workload: rows where it returns some, else how many it changed. */
  async query(r) {
    const values = r.params || [];
    const sql = r.sql.replace(/\$\d+/g, '?');
    try {
      if (/^\s*(SELECT|WITH|PRAGMA|FETCH)\b|\bRETURNING\b/i.test(sql))
        return { rows: (await this.run(sql, ...values)).rows.map((row) => row.map(plain)) };
      return { count: Number((await this.connection.change(sql, values)) || 0) };
    } catch (e) {
      e.state = stateOf(e.message);
      throw e;
    }
  }
  disconnect() {
    return this.connection.close();
  }
}

class SqlEngine {
  shown = 'v';
  operations = ['get', 'put', 'append', 'delete', 'bury', 'range', 'reverse', 'sql', 'add'];
  Session = SqlSession;
  made = [];
  async setup(r) {
    await this.teardown(r);
    const kind = r.lists ? this.text || 'TEXT' : 'BIGINT';
    await this.keeper.run(`CREATE TABLE ${r.place}(k BIGINT ${this.notNull || ''} PRIMARY KEY, v ${kind}` +
      `${indexed ? ', s BIGINT' : ''})`, []);
    if (indexed) await this.keeper.run(`CREATE INDEX ${r.place}_s ON ${r.place}(s)`, []);
  }
  async load(r) {
    for (const [k, v] of r.rows)
      await this.keeper.run(`INSERT INTO ${r.place}(k, v) VALUES(?, ?)`, [k, v]);
  }
  async script(r) {
    for (const sql of r.sql.split(';').filter((x) => x.trim())) {
      await this.keeper.run(sql, []);
      const table = /^\s*CREATE TABLE (\w+)/i.exec(sql);
      if (table) this.made.unshift(table[1]);
    }
  }
  async teardown(r) {
    for (const table of [r.place, ...this.made.splice(0)])
      await this.keeper.run(`DROP TABLE IF EXISTS ${table}`, []);
  }
  async session(r) {
    return new this.Session(this, this.one ? this.keeper : await this.connect(r), r);
  }
}

/* --- the engines ------------------------------------------------------------------------------ */

class DuckDB extends SqlEngine {
  neverWaits = true; // conflicts are refused at once
  name = 'DuckDB';
  operations = [...new SqlEngine().operations, 'autocommit'];
  levels = { 'snapshot-isolation': 'BEGIN TRANSACTION' };
  /* Its documents promise conflicts between writers of a row, and isolation by versions. */
  contracts = { 'snapshot-isolation': { level: 'snapshot-isolation',
    source: 'https://duckdb.org/docs/1.5/connect/concurrency.html (optimistic, versions; edits of ' +
      'one row conflict)', read: 'https://motherduck.com/glossary/isolation-level/' } };
  snapshot = ['read', 'write'];
  async open() {
    const { DuckDBInstance } = await load('@duckdb/node-api');
    this.inside = !address || address === ':memory:';
    this.instance = await DuckDBInstance.create(address || ':memory:');
    this.keeper = await this.connect();
    this.version = (await this.keeper.run('SELECT version()', [])).rows[0][0];
  }
  async connect() {
    const c = await this.instance.connect();
    return {
      async run(sql, values) {
        return { rows: (await c.runAndReadAll(sql, wide(values))).getRows() };
      },
      change: async (sql, values) => (await c.run(sql, wide(values))).rowsChanged,
      close: () => c.closeSync(),
    };
  }
}

class Turso extends SqlEngine {
  neverWaits = true;
  name = 'Turso';
  levels = { 'snapshot-isolation': 'BEGIN CONCURRENT' };
  contracts = { 'snapshot-isolation': { level: 'snapshot-isolation',
    source: 'https://docs.turso.tech/tursodb/concurrent-writes (writers of one row conflict)',
    read: 'there; snapshots: the guide to MVCC in its repository' } };
  snapshot = ['read', 'write'];
  notNull = '';
  async open() {
    if (!address) throw new Failed('turso needs a file');
    // Its temporary directories would stay in /tmp when this program is killed: so they are beside the
    // file, and the next program on this file removes them.
    this.rubbish = `${address}-temp`;
    fs.rmSync(this.rubbish, { recursive: true, force: true });
    fs.mkdirSync(this.rubbish);
    process.env.TMPDIR = this.rubbish;
    this.module = await load('@tursodatabase/database');
    this.keeper = await this.connect();
    await this.keeper.run("PRAGMA journal_mode = 'mvcc'", []);
    this.version = about('@tursodatabase/database').version;
  }
  async setup(r) {
    await this.keeper.run(`DROP TABLE IF EXISTS ${r.place}`, []);
    await this.keeper.run(`CREATE TABLE ${r.place}(k INTEGER PRIMARY KEY, v ` +
      `${r.lists ? 'TEXT' : 'INTEGER'}${indexed ? ', s INTEGER' : ''})`, []);
    if (indexed) await this.keeper.run(`CREATE INDEX ${r.place}_s ON ${r.place}(s)`, []);
  }
  async connect() {
    const c = await this.module.connect(address);
    if (c.defaultSafeIntegers) c.defaultSafeIntegers(true);
    return {
      async run(sql, values) {
        const rows = await c.prepare(sql).all(...wide(values));
        return { rows: rows.map((row) => Object.values(row)) };
      },
      change: async (sql, values) => (await c.prepare(sql).run(...wide(values))).changes,
      close: () => c.close(),
    };
  }
}

/* The module leaves statements with RETURNING open, and such as were refused; then neither COMMIT nor
   SAVEPOINT works.  The former are not had, and after the latter the connection is made anew. */
class LibSQLSession extends SqlSession {
  async query(r) {
    if (/\bRETURNING\b/i.test(r.sql)) throw new Failed('no RETURNING here');
    try {
      return await super.query(r);
    } catch (e) {
      this.stuck = true;
      throw e;
    }
  }
  async abort() {
    const done = await super.abort();
    if (this.stuck) {
      this.stuck = false;
      await this.disconnect();
      this.engine.reopen();
      this.connection = await this.engine.connect(this.request);
    }
    return done;
  }
}

class LibSQL extends SqlEngine {
  neverWaits = true; // if it is told to be hasty
  name = 'libSQL';
  Session = LibSQLSession;
  operations = [...new SqlEngine().operations, 'autocommit'];
  keepsOpen = true;
  alone = true;
  levels = { serializable: 'BEGIN' };
  contracts = { serializable: { level: 'serializable',
    source: 'https://www.sqlite.org/isolation.html (libSQL is a fork of SQLite)' } };
  snapshot = ['read', 'write'];
  async open() {
    const Database = await load('libsql');
    if (!address) throw new Failed('libsql needs a file');
    this.reopen = () => {
      if (this.db) this.db.close();
      this.db = new (Database.default || Database)(address, { timeout: 500 });
      this.db.defaultSafeIntegers(true);
      this.db.prepare('PRAGMA busy_timeout = 500').all();
    };
    this.reopen();
    this.keeper = await this.connect();
    this.version = `${about('libsql').version} (SQLite ${
      this.db.prepare('SELECT sqlite_version() AS v').all()[0].v})`;
  }
  setup(r) {
    return Turso.prototype.setup.call(this, r);
  }
  async connect(r) {
    const db = this.db;
    if (r && r.hasty) db.prepare('PRAGMA busy_timeout = 0').all();
    return {
      async run(sql, values) {
        const s = db.prepare(sql);
        if (/^\s*(SELECT|PRAGMA)|RETURNING/.test(sql)) return { rows: s.all(...wide(values)).map((x) => Object.values(x)) };
        s.run(...wide(values));
        return { rows: [] };
      },
      change: async (sql, values) => db.prepare(sql).run(...wide(values)).changes,
      close: () => {},
    };
  }
}

class PGliteEngine extends SqlEngine {
  name = 'PGlite';
  operations = [...new SqlEngine().operations, 'savepoint'];
  one = true;
  levels = Object.fromEntries(['serializable', 'repeatable read', 'read committed'].map((n) =>
    [n.replace(' ', '-'), `BEGIN ISOLATION LEVEL ${n}`]));
  contracts = Object.fromEntries([['serializable', 'serializable'],
    ['repeatable-read', 'snapshot-isolation'], ['read-committed', 'read-committed']].map(([n, l]) =>
    [n, { level: l, source: 'https://www.postgresql.org/docs/18/transaction-iso.html' }]));
  snapshot = ['read', 'write'];
  async open() {
    const { PGlite } = await load('@electric-sql/pglite');
    this.inside = !address || address.startsWith('memory:');
    const db = await PGlite.create(address || 'memory://');
    const ask = (sql, values, n = 0) =>
      db.query(sql.replace(/\?/g, () => `$${++n}`), values, { rowMode: 'array' });
    this.keeper = {
      run: async (sql, values) => ({ rows: (await ask(sql, values)).rows }),
      change: async (sql, values) => (await ask(sql, values)).affectedRows,
      close: () => {},
    };
    this.version = /PostgreSQL [\d.]+ \(PGlite [\d.]+\)/.exec(
      (await this.keeper.run('SELECT version()', [])).rows[0][0])?.[0] || 'unknown';
  }
}

class Firebird extends SqlEngine {
  neverWaits = true; // if it is told to be hasty
  name = 'Firebird';
  alone = true;
  text = 'VARCHAR(8000)';
  shown = 'CAST(v AS VARCHAR(8000)) AS v'; /* the module's numbers have 53 bits */
  notNull = 'NOT NULL';
  operations = [...new SqlEngine().operations, 'savepoint'];
  /* (READ COMMITTED RECORD_VERSION has the module's name for what Firebird does not have; without the
     versions readers wait for writers.) */
  levels = { snapshot: 'ISOLATION_REPEATABLE_READ', 'snapshot-table-stability': 'ISOLATION_SERIALIZABLE',
    'read-committed': 'ISOLATION_READ_UNCOMMITTED' };
  /* (Table stability locks the tables that are used, but when they are first used, and reads from the
     snapshot of the beginning: nothing that is documented excludes write skew.) */
  contracts = Object.fromEntries([['snapshot', 'snapshot-isolation', 'concurrency'],
    ['snapshot-table-stability', 'snapshot-isolation', 'consistency'],
    ['read-committed', 'read-committed', 'read-committed']].map(([n, l, at]) =>
    [n, { level: l, source: 'https://firebirdsql.org/file/documentation/html/en/refdocs/fblangref30/' +
      `firebird-30-language-reference.html#fblangref30-transacs-${at}` }]));
  snapshot = ['begin'];
  outside = true; // a server keeps the data
  async open() {
    const firebird = await load('node-firebird');
    this.firebird = firebird.default || firebird;
    const [host, port, ...file] = (address || '').split(':');
    if (!file.length) throw new Failed('firebird needs host:port:database');
    const options = { host, port: Number(port), database: file.join(':'), wireCrypt: 0, pluginName: 'Srp',
      user: process.env.ISC_USER || 'SYSDBA', password: process.env.ISC_PASSWORD || 'masterkey' };
    this.db = await new Promise((done, no) => this.firebird.attachOrCreate(options, (e, db) =>
      (e ? no(e) : done(db))));
    this.keeper = { run: (sql, values) => this.statement(this.db, sql, values), close: () => {} };
    this.Session = FirebirdSession;
    this.version = (await this.keeper.run(
      "SELECT rdb$get_context('SYSTEM', 'ENGINE_VERSION') FROM rdb$database", [])).rows[0][0];
  }
  /* What the workloads say, in the words of Firebird: `value` is a keyword there. */
  dialect(sql) {
    return sql.replace(/ LIMIT (\d+)/, ' ROWS $1').replace(/ FOR UPDATE$/i, ' WITH LOCK')
      .replace(/\bint(eger)? PRIMARY KEY/gi, 'int NOT NULL PRIMARY KEY').replace(/\bvalue\b/g, '"VALUE"')
      .replace(/("?\w+"?) % (\d+)/g, 'MOD($1, $2)');
  }
  /* Rows are arrays, since two columns may have one name; RETURNING gives one row or none. */
  single(on, text, values) {
    return new Promise((done, no) => on.execute(text, values, (e, r) => {
      if (e) return no(e);
      const all = !Array.isArray(r.rows) ? [] : Array.isArray(r.rows[0]) ? r.rows : r.rows.length ? [r.rows] : [];
      const none = /RETURNING/i.test(text) && !r.affectedRows;
      done({ rows: none ? [] : all.map((row) => row.map((x) => (typeof x === 'string' ? x.trimEnd() : x))),
        count: r.affectedRows });
    }, { withMeta: true }));
  }
  /* (An INSERT has one row.) */
  async statement(on, sql, values) {
    const text = this.dialect(sql).trim();
    const many = /^(INSERT INTO [^(]*?\bVALUES\s*)(\([^()]*\)(?:\s*,\s*\([^()]*\))+)$/i.exec(text);
    if (!many) return this.single(on, text, values);
    let count = 0;
    for (const row of many[2].match(/\([^()]*\)/g))
      count += (await this.single(on, many[1] + row, [])).count;
    return { rows: [], count };
  }
  async teardown(r) {
    for (const table of [r.place, ...this.made.splice(0)]) {
      const { rows } = await this.keeper.run('SELECT 1 FROM rdb$relations WHERE rdb$relation_name = ?',
        [table.toUpperCase()]);
      if (rows.length) await this.keeper.run(`DROP TABLE ${table}`, []);
    }
  }
  async connect(r) {
    return { hasty: r && r.hasty };
  }
}

class FirebirdSession extends SqlSession {
  constructor(engine, connection, r) {
    super(engine, connection, r);
    this.connection = { close: () => {}, change: async (sql, values) => (await this.run(sql, ...values)).count };
    this.waiting = connection.hasty ? { wait: false } : { wait: true, waitTimeout: 2 };
  }
  async begin(r) {
    const { firebird: f, levels, db } = this.engine;
    if (!levels[r.isolation]) throw new Failed(`no isolation level ${r.isolation}`);
    this.transaction = await new Promise((done, no) => db.transaction(
      { isolation: f[levels[r.isolation]], ...this.waiting }, (e, t) => (e ? no(e) : done(t))));
  }
  run(sql, ...values) {
    return this.engine.statement(this.transaction, sql, values);
  }
  end(how) {
    const t = this.transaction;
    this.transaction = null;
    return t ? new Promise((done, no) => t[how]((e) => (e ? no(e) : done()))) : undefined;
  }
  commit() {
    return this.end('commit');
  }
  abort() {
    return this.end('rollback');
  }
}

/* --- SurrealDB: records instead of rows ------------------------------------------------------- */

class SurrealSession {
  constructor(engine, r) {
    Object.assign(this, { engine, table: r.place, puts: 0 });
  }
  async begin(r) {
    if (r.isolation !== 'snapshot-isolation') throw new Failed(`no isolation level ${r.isolation}`);
    this.txn = await this.engine.db.beginTransaction();
  }
  async query(text, values) {
    const [result] = await this.txn.query(text, values);
    return result;
  }
  async get(r) {
    const rows = await this.query(`SELECT v FROM ${this.table}:${r.key}`);
    if (!rows.length || rows[0].v === undefined) return { value: null, tomb: rows.length > 0 };
    return { value: Array.isArray(rows[0].v) ? rows[0].v.map(String) : String(rows[0].v) };
  }
  async put(r) {
    const more = indexed && ++this.puts % 2 ? `, s = ${this.puts}` : '';
    await this.query(`UPSERT ${this.table}:${r.key} SET v = ${r.value}${more} RETURN NONE`);
  }
  async append(r) {
    await this.query(`UPSERT ${this.table}:${r.key} SET v += [${r.value}] RETURN NONE`);
  }
  async delete(r) {
    return { found: (await this.query(`DELETE ${this.table}:${r.key} RETURN BEFORE`)).length > 0 };
  }
  async bury(r) {
    await this.query(`UPSERT ${this.table}:${r.key} SET v = NONE RETURN NONE`);
  }
  async range(r) {
    const rows = await this.query(`SELECT record::id(id) AS k, v FROM ${this.table}:${r.from}..${r.to}` +
      ' WHERE v != NONE' + (r.limit ? ` LIMIT ${r.limit}` : ''));
    return { rows: rows.map((row) => [String(row.k), String(row.v)]) };
  }
  commit() {
    const t = this.txn;
    this.txn = null;
    return t.commit();
  }
  async abort() {
    const t = this.txn;
    this.txn = null;
    if (t) await t.cancel();
  }
  disconnect() {}
}

class SurrealDB {
  neverWaits = true;
  name = 'SurrealDB';
  operations = ['get', 'put', 'append', 'delete', 'bury', 'range'];
  levels = { 'snapshot-isolation': 1 };
  contracts = { 'snapshot-isolation': { level: 'snapshot-isolation',
    source: 'https://surrealdb.com/docs/transactions-and-isolation', read: 'there' } };
  snapshot = ['begin'];
  async open() {
    /* its own copy: what an engine can do is told by objects that are compared by identity */
    const { Surreal } = await load('surrealdb', '@surrealdb/node');
    const { createNodeEngines } = await load('@surrealdb/node');
    this.inside = !address || address.startsWith('mem');
    this.db = new Surreal({ engines: createNodeEngines() });
    await this.db.connect(address || 'mem://');
    await this.db.use({ namespace: 'ratel', database: 'ratel' });
    this.version = (await this.db.version()).version.replace('surrealdb-', '') + ' ' +
      (address || 'mem://').split(':')[0];
  }
  async setup(r) {
    await this.db.query(`REMOVE TABLE IF EXISTS ${r.place}; DEFINE TABLE ${r.place} SCHEMALESS`);
    if (indexed) await this.db.query(`DEFINE INDEX s ON ${r.place} FIELDS s`);
  }
  async load(r) {
    await this.db.query(r.rows.map(([k, v]) => `CREATE ${r.place}:${k} SET v = ${v}`).join(';'));
  }
  async teardown(r) {
    await this.db.query(`REMOVE TABLE IF EXISTS ${r.place}`);
  }
  async session(r) {
    return new SurrealSession(this, r);
  }
}

/* --- the protocol ----------------------------------------------------------------------------- */

const engines = { duckdb: DuckDB, turso: Turso, libsql: LibSQL, pglite: PGliteEngine,
  surrealdb: SurrealDB, firebird: Firebird };
const sessions = new Map();
let engine;

function hello() {
  return { protocol: 1, driver: `node.js ${engineName}`, engine: engine.name,
    version: String(engine.version), isolations: Object.keys(engine.levels),
    operations: engine.operations, contracts: engine.contracts, snapshot: engine.snapshot,
    sessions: engine.alone ? 'one' : 'many', data: engine.inside ? 'child' : engine.outside ? 'outside' : 'files',
    numbers: 'text', waits: engine.neverWaits ? 'never' : 'maybe', ...(engine.one ? { max_sessions: 1 } : {}),
    settings: indexed ? { second_column: 'indexed' } : {} };
}

async function perform(r) {
  if (!engine) {
    engine = new engines[engineName]();
    await engine.open();
  }
  if (r.op === 'hello') return hello();
  if (['setup', 'load', 'teardown', 'script'].includes(r.op)) return engine[r.op](r);
  if (r.op === 'connect') return void sessions.set(r.session, await engine.session(r));
  const s = sessions.get(r.session);
  if (!s || !['begin', 'commit', 'abort', 'disconnect', 'query', ...engine.operations].includes(r.op) ||
    (r.op === 'query' && !engine.operations.includes('sql')))
    throw new Failed(`no operation ${r.op}`);
  const result = await s[r.op](r);
  if (r.op === 'disconnect') sessions.delete(r.session);
  return result;
}

async function answer(line) {
  const r = JSON.parse(line);
  let a;
  try {
    const result = await perform(r);
    a = { answer: 'done', ...(typeof result === 'object' ? result : {}) };
  } catch (e) {
    const how = e instanceof Failed ? 'failed' : conflicts.test(e.message) || e instanceof Refused ||
      (/unique|constraint|duplicate/i.test(e.message) && r.op !== 'setup') ? 'refused' :
      r.op === 'commit' ? 'unknown' : 'failed';
    a = { answer: how, error: String(e.message).slice(0, 300), ...(e.state ? { state: e.state } : {}) };
    if (how === 'refused' && r.op === 'begin') await sessions.get(r.session)?.abort?.();
  }
  process.stdout.write(JSON.stringify({ id: r.id, ...a }, (k, v) =>
    (typeof v === 'bigint' ? String(v) : v)) + '\n');
}

/* What modules print is not for Ratel. */
console.log = console.info = console.error;
if (!engines[engineName]) {
  process.stderr.write(`usage: node node.js ${Object.keys(engines).join('|')} [ADDRESS] [--index]\n`);
  process.exit(64);
}
/* Requests of one session in their order, of several at the same time. */
const queues = new Map();
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const who = (/"session":(\d+)/.exec(line) || [0, 'keeper'])[1];
  const next = (queues.get(who) || Promise.resolve()).then(() => answer(line));
  queues.set(who, next);
}).on('close', () => process.exit(0));
process.on('exit', () => engine?.rubbish && fs.rmSync(engine.rubbish, { recursive: true, force: true }));
