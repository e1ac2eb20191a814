// Records what a Node program asks of its database, with libratel-trace (needs the package koffi).
//
//   const { Trace, DONE } = require('./ratel-trace.js');
//   const session = new Trace('run.rtrace').session('worker 1');
//   session.begin(); await db.begin(); session.begun();
//   session.input(['r', 'x']); const v = await db.get('x'); session.output(DONE, v);
//   session.commit(); await db.commit(); session.ended(DONE);
//
// `ratel trace collect run.rtrace -o run.jsonl` makes a history of the file. A session is for one
// transaction at a time: give each connection of a pool its own. The library is found as
// RATEL_TRACE_LIBRARY says, or where the system keeps libraries.
'use strict';
const koffi = require('koffi');

const library = koffi.load(process.env.RATEL_TRACE_LIBRARY || 'libratel-trace.so.0');
const f = {};
for (const [name, result, args] of [
  ['open', 'int', '_Out_ void **t, const char *path, const char *header, uint64_t limit'],
  ['close', 'void', 'void *t'],
  ['lost', 'uint64_t', 'void *t'],
  ['session_open', 'int', '_Out_ void **s, void *t, const char *name'],
  ['session_close', 'void', 'void *s'],
  ['begin', 'void', 'void *s'],
  ['begun', 'void', 'void *s'],
  ['commit', 'void', 'void *s'],
  ['rollback', 'void', 'void *s'],
  ['ended', 'void', 'void *s, int outcome'],
  ['input', 'void', 'void *s, const char *json, size_t n'],
  ['output', 'void', 'void *s, int outcome, const char *json, size_t n'],
  ['op_hint', 'void', 'void *s, const char *name, const char *json'],
  ['txn_hint', 'void', 'void *s, const char *name, const char *json'],
]) f[name] = library.func(`${result} ratel_trace_${name}(${args})`);

const DONE = 0, FAILED = 1, UNKNOWN = 2;

function handleOf(call, what) {
  const out = [null];
  const error = call(out);
  if (error) throw new Error(`${what}: errno ${error}`);
  return out[0];
}

class Session {
  constructor(trace, name) {
    this.handle = handleOf((out) => f.session_open(out, trace.handle, name), 'session');
  }
  begin() { f.begin(this.handle); }
  begun() { f.begun(this.handle); }
  commit() { f.commit(this.handle); }
  rollback() { f.rollback(this.handle); }
  ended(outcome = DONE) { f.ended(this.handle, outcome); }
  input(call) {
    const text = JSON.stringify(call);
    f.input(this.handle, text, Buffer.byteLength(text));
  }
  // Without a second argument there is no result; null is the result of a read of an absent key.
  output(outcome = DONE, ...result) {
    const text = result.length ? JSON.stringify(result[0]) : null;
    f.output(this.handle, outcome, text, text === null ? 0 : Buffer.byteLength(text));
  }
  opHint(name, value) { f.op_hint(this.handle, name, JSON.stringify(value)); }
  txnHint(name, value) { f.txn_hint(this.handle, name, JSON.stringify(value)); }
  close() {
    f.session_close(this.handle);
    this.handle = null;
  }
}

class Trace {
  constructor(path, header, limit = 0) {
    const text = header ? JSON.stringify(header) : null;
    this.handle = handleOf((out) => f.open(out, path, text, limit), path);
  }
  session(name = '') { return new Session(this, name); }
  lost() { return Number(f.lost(this.handle)); }
  close() {
    f.close(this.handle);
    this.handle = null;
  }
}

module.exports = { Trace, Session, DONE, FAILED, UNKNOWN };
