// Records what a Node program asks of PostgreSQL or MariaDB through `pg` or `mysql2`, with libratel-trace.
//
//   const { wrap } = require('./ratel-trace-sql.js');
//   const client = await wrap(new pg.Client(dsn), 'shop.rtrace');       // before or after connect()
//   const conn = await wrap(await mysql.createConnection({...}), 'shop.rtrace');   // mysql2/promise
//
// The same object comes back: its query() (and execute() of mysql2, beginTransaction, commit, rollback) are
// recorded, with a callback or a promise, and give what they gave before. `ratel trace collect shop.rtrace -o
// shop.jsonl` makes a log for `ratel audit`. What is asked in other ways (streams, cursors, COPY, pg's
// submittables, several statements in one string) is forwarded and recorded as not understood. Both drivers send
// statements of one connection one after the other, so that one connection is one session; of a pool, wrap
// each client that it gives.
'use strict';
const { Trace, DONE, FAILED, UNKNOWN } = require('./ratel-trace.js');

const traces = new Map();
const LEVEL = /\b(SERIALIZABLE|REPEATABLE[ -]READ|READ[ -]COMMITTED|READ[ -]UNCOMMITTED)\b/i;
const WEAKEST = 'read committed'; // none is held to more than it asked for

const levelIn = (text) => (LEVEL.exec(text) || [''])[0].toLowerCase().replace(/-/g, ' ') || null;

class Unprintable extends Error {}

// A value as the log has it: as the database prints it.
function valueOf(v) {
  if (v === null || v === undefined) return null;
  if (typeof v === 'string' || typeof v === 'boolean') return v;
  if (typeof v === 'bigint') return v.toString();
  if (typeof v === 'number' && Number.isSafeInteger(v)) return v;
  if (Buffer.isBuffer(v)) return '\\x' + v.toString('hex');
  throw new Unprintable(typeof v === 'number' ? 'floating point' : (v.constructor && v.constructor.name) || typeof v);
}

// Words of a statement without comments and texts; parts: how many statements the string has.
function wordsOf(sql) {
  const bare = sql.replace(/\/\*[^]*?\*\/|--[^\n]*/g, ' ').replace(/'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$/g, "''");
  const parts = bare.split(';').filter((p) => p.trim()).length;
  return { words: bare.trim().replace(/;\s*$/, '').toUpperCase().split(/\s+/), parts };
}

// ? of mysql2 as $1, $2, ...; null: it cannot be told which ? is a place.
function numbered(sql) {
  if (/[\\"`#]|\/\*|--/.test(sql)) return null;
  let n = 0;
  return sql.replace(/'(?:[^']|'')*'|\?/g, (m) => (m === '?' ? `$${++n}` : m));
}

class Recorder {
  constructor(trace, name, dialect, isolation) {
    this.session = trace.session(name);
    Object.assign(this, { trace, dialect, usual: isolation, next: null, told: null, open: false, failed: false, by: false, tail: Promise.resolve() });
  }

  isolation() {
    const once = this.next;
    this.next = this.told = null;
    return once || this.usual || WEAKEST;
  }

  tellIsolation(level) {
    if (!level || level === (this.told || this.trace.isolation)) return;
    this.session.txnHint('isolation', level);
    this.told = level;
  }

  // pg tells after each answer whether a transaction is open ('I', 'T', 'E'), mysql2 after some: one may begin or end
  // in a way that no single statement shows.
  follow() {
    if (this.status === 'I' && this.open) {
      this.session.commit();
      this.session.ended(UNKNOWN);
      this.open = false;
    } else if ((this.status === 'T' || this.status === 'E') && !this.open) {
      this.told = null;
      this.begin(WEAKEST);
    }
    this.status = null;
  }

  // The program and the driver may have many statements under way; they are recorded in their order.
  inTurn(job) {
    const run = this.tail.then(job);
    this.tail = run.then(() => {}, () => {});
    return run;
  }

  begin(level) {
    this.session.begin();
    this.session.begun();
    this.open = true;
    this.failed = false;
    this.tellIsolation(level);
  }

  lost(e) {
    const code = String((e && e.code) || '');
    return !e || !code || /^(08|57P|EPIPE|ECONN|PROTOCOL_|ETIMEDOUT|ER_SERVER_SHUTDOWN)/.test(code) || e.fatal === true || code === '40003';
  }

  stateOf(e) {
    return this.dialect === 'mysql' ? String(e.errno || e.code) : String(e.code);
  }

  async control(words, call) {
    const first = words[0];
    this.follow();
    if (first === 'BEGIN' || first === 'START') {
      if (this.open && this.dialect === 'mysql') await this.end(true, async () => {}); // it commits what is open
      const level = levelIn(words.join(' ')) || (this.open ? null : this.isolation());
      if (this.open) {
        const got = await call();
        this.tellIsolation(level);
        return got;
      }
      this.session.begin();
      const got = await call();
      this.session.begun();
      this.open = true;
      this.failed = false;
      this.tellIsolation(level);
      return got;
    }
    const chains = words.includes('CHAIN') && !words.includes('NO');
    const level = this.told;
    const got = await this.end(first === 'COMMIT' || first === 'END', call);
    if (chains) this.begin(level || this.isolation());
    return got;
  }

  async end(commits, call) {
    const was = this.open, refused = commits && this.failed && this.dialect === 'postgres';
    if (was) this.session[commits ? 'commit' : 'rollback']();
    this.open = false;
    try {
      const got = await call();
      if (was) this.session.ended(refused ? FAILED : DONE);
      return got;
    } catch (e) {
      if (was) this.session.ended(this.lost(e) ? UNKNOWN : FAILED);
      throw e;
    }
  }

  noteIsolation(words, text) {
    const upper = words.join(' '), level = levelIn(text);
    if (/^(RESET|DISCARD) (ALL|.*ISOLATION)/.test(upper) || /^SET .*DEFAULT_TRANSACTION_ISOLATION.* DEFAULT$/.test(upper)) this.usual = WEAKEST;
    else if (!upper.includes('ISOLATION') || words[0] === 'SHOW') return;
    else if (/^SET TRANSACTION /.test(upper) && level) {
      if (this.dialect === 'mysql') this.next = level;
      else if (this.open) this.tellIsolation(level);
    } else if (level && words[0] === 'SET' && words[1] !== 'LOCAL' && words[1] !== 'GLOBAL' && !this.open) this.usual = level;
    else if (['SET', 'SELECT', 'DO', 'CALL'].includes(words[0])) {
      this.usual = WEAKEST; // in a way that is not understood, or that is undone with the transaction
      if (this.open) this.tellIsolation(WEAKEST);
    }
  }

  // MySQL: what commits the open transaction by itself.
  commitsBefore(words) {
    return this.dialect === 'mysql' && this.open && (['CREATE', 'ALTER', 'DROP', 'TRUNCATE', 'RENAME', 'GRANT', 'REVOKE', 'LOCK', 'ANALYZE'].includes(words[0]) && words[1] !== 'TEMPORARY');
  }

  // sql as text, values, rows(result) and count(result); opaque: why it cannot be told.
  async statement(sql, values, opaque, call, resultOf) {
    const { words, parts } = wordsOf(sql);
    if (parts > 1) opaque = 'several statements in one string';
    if (!opaque && (['BEGIN', 'COMMIT', 'END'].includes(words[0]) || (words[0] === 'START' && words[1] === 'TRANSACTION') ||
        (['ROLLBACK', 'ABORT'].includes(words[0]) && !words.includes('TO')))) return this.control(words, call);
    this.follow();
    if (this.commitsBefore(words)) await this.end(true, async () => {});
    const setsAuto = this.dialect === 'mysql' && /^SET .*AUTOCOMMIT/.test(words.join(' '));
    let alone = !this.open, level = null;
    if (alone && this.by && !setsAuto && words[0] !== 'SET') {
      this.begin(this.isolation());
      alone = false;
    } else if (alone) level = this.dialect === 'mysql' && words[0] === 'SET' ? this.usual : this.isolation();
    const told = { sql };
    try {
      if (values && values.length) told.params = values.map(valueOf);
    } catch (e) {
      if (!(e instanceof Unprintable)) throw e;
      opaque = `a parameter is of type ${e.message}`;
    }
    if (opaque) told.opaque = opaque;
    this.session.input(told);
    let got;
    try {
      got = await call();
    } catch (e) {
      if (this.lost(e)) this.session.output(UNKNOWN);
      else this.session.output(FAILED, { error: this.stateOf(e) });
      if (!alone) this.failed = this.dialect === 'postgres';
      // InnoDB rolls the whole transaction back, the program may not know it
      if (!alone && this.dialect === 'mysql' && e && e.errno === 1213) {
        this.session.rollback();
        this.session.ended(DONE);
        this.open = false;
      }
      throw e;
    }
    if (words[0] === 'ROLLBACK') this.failed = false; // to a savepoint
    this.session.output(DONE, opaque ? {} : resultOf(got));
    if (alone) this.tellIsolation(level);
    if (setsAuto) this.by = !/AUTOCOMMIT\s*:?=\s*(1|ON|TRUE|DEFAULT)/.test(sql.toUpperCase());
    if (setsAuto && !this.by && this.open) { // what was open has committed
      this.session.commit();
      this.session.ended(DONE);
      this.open = false;
    }
    this.noteIsolation(words, sql);
    return got;
  }
}

function resultOfRows(rows, count) {
  try {
    return { rows: rows.map((r) => (Array.isArray(r) ? r : Object.values(r)).map(valueOf)) };
  } catch (e) {
    if (!(e instanceof Unprintable)) throw e;
    return { count };
  }
}

// pg: a result has rows, fields and rowCount. Columns of one name are one member of a row: then only rowMode
// 'array' shows them all.
function pgResult(r) {
  if (!r || Array.isArray(r)) return {};
  if (!r.fields || !r.fields.length) return r.rowCount === null || r.rowCount === undefined ? {} : { count: r.rowCount };
  const shown = r.rows.every((x) => (Array.isArray(x) ? x.length : Object.keys(x).length) === r.fields.length);
  return shown ? resultOfRows(r.rows, r.rowCount) : { count: r.rows.length };
}

function myResult(got) {
  const rows = got && got[0];
  if (!Array.isArray(rows)) return rows && rows.affectedRows !== undefined ? { count: rows.affectedRows } : {};
  const fields = got[1] || [], shown = rows.every((x) => (Array.isArray(x) ? x.length : Object.keys(x).length) === fields.length);
  return shown ? resultOfRows(rows, rows.length) : { count: rows.length };
}

// The last argument may be a callback: then nothing is returned, as the drivers do it.
function later(promise, callback, spread) {
  if (!callback) return promise;
  promise.then((got) => process.nextTick(() => (spread ? callback(null, ...got) : callback(null, got))), (e) => process.nextTick(() => callback(e)));
  return undefined;
}

function wrapPg(client, recorder) {
  if (client.connection && typeof client.connection.on === 'function') client.connection.on('readyForQuery', (m) => { recorder.status = m && m.status; });
  const query = client.query.bind(client);
  client.query = (config, ...rest) => {
    const callback = typeof rest[rest.length - 1] === 'function' ? rest.pop() : undefined;
    const sql = typeof config === 'string' ? config : config && config.text;
    const values = rest[0] || (config && config.values);
    const submitted = config && typeof config.submit === 'function';
    if (submitted || typeof sql !== 'string') { // a cursor or a stream: it is the program's to read
      recorder.session.input({ sql: 'a submittable', opaque: 'a cursor, a stream or COPY is not recorded' });
      recorder.session.output(DONE, {});
      return callback ? query(config, ...rest, callback) : query(config, ...rest);
    }
    const named = config && config.name && !config.text ? 'a statement that was prepared before' : null;
    return later(recorder.inTurn(() => recorder.statement(sql, values, named, () => query(config, ...rest), pgResult)), callback, false);
  };
  return client;
}

function wrapMy(conn, recorder) {
  // mysql2/promise gives promises of [rows, fields]; mysql2 takes callbacks.
  const promised = typeof conn.promise !== 'function';
  const ask = (name) => (...args) => (promised ? conn[`ratel_${name}`](...args)
    : new Promise((good, bad) => { conn[`ratel_${name}`](...args, (e, ...got) => (e ? bad(e) : good(got))); }));
  for (const name of ['query', 'execute', 'beginTransaction', 'commit', 'rollback']) conn[`ratel_${name}`] = conn[name].bind(conn);
  for (const name of ['query', 'execute']) {
    conn[name] = (config, ...rest) => {
      const callback = typeof rest[rest.length - 1] === 'function' ? rest.pop() : undefined;
      const sql = typeof config === 'string' ? config : config && config.sql;
      const values = rest[0] || (config && config.values) || [];
      let opaque = null, text = String(sql);
      if (!Array.isArray(values) || values.some((v) => v !== null && typeof v === 'object' && !Buffer.isBuffer(v))) opaque = 'parameters of another kind than a list of values';
      if (values.length && !opaque) {
        text = numbered(text);
        if (text === null) opaque = 'it cannot be told which ? is a parameter';
      }
      const told = opaque ? [] : values;
      return later(recorder.inTurn(() => recorder.statement(opaque ? String(sql) : text, told, opaque, () => ask(name)(config, ...rest), myResult)), callback, true);
    };
  }
  const plain = { beginTransaction: ['START', 'TRANSACTION'], commit: ['COMMIT'], rollback: ['ROLLBACK'] };
  for (const [name, words] of Object.entries(plain)) {
    conn[name] = (...args) => {
      const callback = typeof args[args.length - 1] === 'function' ? args.pop() : undefined;
      return later(recorder.inTurn(() => recorder.control(words, () => ask(name)(...args))), callback, true);
    };
  }
  // A reset, or another user, rolls back what is open; then the session is as new.
  for (const name of ['reset', 'changeUser']) {
    if (typeof conn[name] !== 'function') continue;
    conn[`ratel_${name}`] = conn[name].bind(conn);
    conn[name] = (...args) => {
      const callback = typeof args[args.length - 1] === 'function' ? args.pop() : undefined;
      const job = () => recorder.control(['ROLLBACK'], () => ask(name)(...args));
      const done = recorder.inTurn(job).then((got) => { recorder.by = false; recorder.usual = recorder.next = null; return got; });
      return later(done, callback, true);
    };
  }
  // What is prepared here runs whenever the program says so.
  if (typeof conn.prepare === 'function') {
    conn.ratel_prepare = conn.prepare.bind(conn);
    conn.prepare = (config, ...rest) => {
      const callback = typeof rest[rest.length - 1] === 'function' ? rest.pop() : undefined;
      const sql = String(typeof config === 'string' ? config : config && config.sql);
      const prepared = ask('prepare')(config, ...rest).then((got) => {
        const statement = Array.isArray(got) ? got[0] : got, execute = statement.execute.bind(statement);
        statement.execute = (...args) => {
          const then = typeof args[args.length - 1] === 'function' ? args.pop() : undefined;
          const values = args[0] || [], text = Array.isArray(values) ? numbered(sql) : null;
          const opaque = text === null ? 'a prepared statement whose parameters are not understood' : null;
          const call = () => (promised ? execute(...args) : new Promise((good, bad) => { execute(...args, (e, ...x) => (e ? bad(e) : good(x))); }));
          return later(recorder.inTurn(() => recorder.statement(opaque ? sql : text, opaque ? [] : values, opaque, call, myResult)), then, true);
        };
        return promised ? statement : [statement];
      });
      return later(prepared, callback, true);
    };
  }
  return conn;
}

async function askIsolation(conn, dialect) {
  try {
    if (dialect === 'postgres') return levelIn((await conn.query('SHOW default_transaction_isolation')).rows[0].default_transaction_isolation);
    const ask = typeof conn.promise === 'function' ? conn.promise() : conn;
    for (const name of ['tx_isolation', 'transaction_isolation']) {
      try {
        const [rows] = await ask.query(`SELECT @@SESSION.${name} AS level`);
        return levelIn(rows[0].level);
      } catch (e) { /* the other name */ }
    }
  } catch (e) { /* not connected yet, or busy: nothing is assumed */ }
  return null;
}

// options: name of the session, setup (the statements that made the tables), header, isolation.
async function wrap(connection, path = process.env.RATEL_TRACE || `ratel.${process.pid}.rtrace`, options = {}) {
  const dialect = options.dialect || (typeof connection.execute === 'function' || typeof connection.beginTransaction === 'function' ? 'mysql' : 'postgres');
  const connected = dialect === 'mysql' || (connection.processID !== null && connection.processID !== undefined) || connection._connected;
  const isolation = options.isolation || (connected ? await askIsolation(connection, dialect) : null);
  if (!traces.has(path)) {
    const header = { ratel_sql: 1, setup: options.setup || [], dialect };
    if (isolation) header.isolation = isolation;
    const trace = new Trace(path, Object.assign(header, options.header));
    trace.isolation = header.isolation;
    traces.set(path, trace);
  }
  const recorder = new Recorder(traces.get(path), options.name || '', dialect, isolation);
  const wrapped = (dialect === 'mysql' ? wrapMy : wrapPg)(connection, recorder);
  if (dialect === 'postgres' && !connected) {
    const connect = connection.connect.bind(connection), query = connection.query;
    connection.connect = (callback) => {
      const done = (async () => {
        await connect();
        recorder.usual = await askIsolation({ query: (sql) => Object.getPrototypeOf(connection).query.call(connection, sql) }, dialect);
      })();
      connection.query = query;
      return later(done, callback, false);
    };
  }
  return wrapped;
}

module.exports = { wrap };
