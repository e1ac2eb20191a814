
/*
 * page_script.js - draws a page of Ratel from the JSON object that the page holds
 * (doc/schema/page.json).
 *
 * Nothing here makes markup from data: elements are made by name, and data only ever becomes text
 * or the value of an attribute that this file names.  There is no network, no storage, no library.
 *
 * An entry is shown at a time.  One thing of it may be selected (a step of the argument, an edge, a
 * transaction); selecting it marks it everywhere and tells about it in the detail card.  Whatever a
 * mouse can do, a key can: everything that can be selected is a tab stop that Enter and Space press.
 */
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.getElementById('page');
  const KINDS = {
    so: ['session order', 'The first stands before the second in the same session.'],
    rt: ['real time', 'The first ended before the second began.'],
    wr: ['reads from', 'The second read what the first wrote.'],
    ww: ['version order', 'The first wrote a version that comes before the version of the second.'],
    rw: ['anti-dependency', 'The first read a version that the second replaced.']
  };

  /* --- making elements ----------------------------------------------------------------------- */

  const SVG = 'http://www.w3.org/2000/svg';
  const ALLOWED = /^(class|id|type|role|tabindex|title|placeholder|scope|lang|dir|for|value|href|data-[a-z]+|aria-[a-z]+)$/;

  /* Characters that are invisible, or turn the text around, show as their numbers. */
  const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

  function plain(text) {
    return String(text).replace(HIDDEN, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  }

  function add(to, children) {
    for (const c of children) {
      if (c === null || c === undefined || c === false) continue;
      if (Array.isArray(c)) add(to, c);
      else to.append(c instanceof Node ? c : document.createTextNode(plain(c)));
    }
    return to;
  }

  function make(name, attributes, ...children) {
    const e = document.createElement(name);
    for (const a in attributes || {}) {
      if (a === 'press') e.addEventListener('click', attributes[a]);
      else if (attributes[a] !== null && attributes[a] !== undefined && ALLOWED.test(a)) e.setAttribute(a, plain(attributes[a]));
    }
    return add(e, children);
  }

  function shape(name, attributes, ...children) {
    const e = document.createElementNS(SVG, name);
    for (const a in attributes || {}) e.setAttribute(a, attributes[a]);
    return add(e, children);
  }

  function card(title, ...children) {
    return make('section', {class: 'card', 'aria-label': title}, make('h2', null, title), children);
  }

  function count(n, one, many) {
    return n.toLocaleString('en') + ' ' + (n === 1 ? one : many || one + 's');
  }

  /* --- what is shown and selected ------------------------------------------------------------ */

  let entry = null;       /* the entry that is shown */
  let view = null;        /* its parts: {picture, around, cycle, hidden, host, detail, ...} */

  function pictureNow() {
    return view.around ? entry.around : entry.picture || entry.around;
  }

  function transaction(name) {
    return (entry.transactions || []).find((t) => t.name === name);
  }

  /* Which edges and transactions belong to what is selected. */
  function members(what) {
    const p = pictureNow(), edges = new Set(), names = new Set();
    if (!what || !p) return {edges, names};
    if (what.step !== undefined) {
      const s = entry.steps[what.step];
      (s.txns || []).forEach((n) => names.add(n));
      /* a case is the cycle that it leads to */
      const end = s.kind === 'case' ? entry.steps.slice(what.step).find((x) => x.cycle !== undefined) : s.kind === 'contradiction' ? s : null;
      p.edges.forEach((d, i) => {
        const because = p.reasons && p.reasons[i];
        if (because && because.step === what.step) edges.add(i);
        if (end && d.cycle === end.cycle) edges.add(i);
      });
    }
    if (what.edge !== undefined) {
      const d = p.edges[what.edge];
      edges.add(what.edge);
      names.add(p.boxes[d.from].name).add(p.boxes[d.to].name);
    }
    if (what.txn !== undefined) {
      names.add(what.txn);
      p.edges.forEach((d, i) => {
        if (p.boxes[d.from].name === what.txn || p.boxes[d.to].name === what.txn) edges.add(i);
      });
    }
    return {edges, names};
  }

  function select(what) {
    view.selected = what;
    /* a case is looked at by itself */
    if (what && what.step !== undefined && view.cycle !== null) {
      const c = entry.steps[what.step].cycle;
      if (c !== undefined && c !== view.cycle) chooseCycle(null);
    }
    mark();
    tellDetail();
  }

  function mark() {
    const m = members(view.selected), p = pictureNow();
    if (p && view.drawn) {
      view.drawn.boxes.forEach((g, i) => g.classList.toggle('chosen', m.names.has(p.boxes[i].name)));
      view.drawn.edges.forEach((g, i) => {
        const d = p.edges[i];
        g.classList.toggle('chosen', m.edges.has(i));
        g.classList.toggle('dim', view.hidden.has(d.kind) || (view.cycle !== null && d.cycle !== view.cycle));
      });
    }
    (view.steps || []).forEach((b, i) => {
      const now = Boolean(view.selected) && view.selected.step === i;
      b.classList.toggle('now', now);
      if (now) b.setAttribute('aria-current', 'step');
      else b.removeAttribute('aria-current');
    });
    (view.rows || []).forEach((r) => r.row.classList.toggle('now', Boolean(view.selected) && view.selected.txn === r.name));
  }

  /* --- the picture --------------------------------------------------------------------------- */

  function pathOf(points) {
    let d = 'M' + points[0] + ' ' + points[1];
    for (let i = 2; i + 3 < points.length; i += 2) {
      const [x, y] = [points[i], points[i + 1]];
      const [bx, by] = [points[i - 2] - x, points[i - 1] - y], [ax, ay] = [points[i + 2] - x, points[i + 3] - y];
      const before = Math.abs(bx) + Math.abs(by), after = Math.abs(ax) + Math.abs(ay);
      const r = Math.min(6, before / 2, after / 2);
      d += 'L' + (x + bx / before * r) + ' ' + (y + by / before * r) +
        'Q' + x + ' ' + y + ' ' + (x + ax / after * r) + ' ' + (y + ay / after * r);
    }
    return d + 'L' + points[points.length - 2] + ' ' + points[points.length - 1];
  }

  function pressable(g, label, press) {
    g.setAttribute('tabindex', '0');
    g.setAttribute('role', 'button');
    g.setAttribute('aria-label', plain(label));
    g.addEventListener('click', press);
    g.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' && e.key !== ' ') return;
      e.preventDefault();
      press();
    });
    return g;
  }

  function drawBox(b) {
    const [x, y, w, h] = b.at;
    const g = shape('g', {class: 'box ' + b.status + (b.core ? '' : ' near')},
      shape('rect', {x, y, width: w, height: h, rx: 5}),
      shape('text', {x: x + 8, y: y + 15, class: 'name'}, b.name));
    if (b.node) g.append(shape('text', {x: x + 16 + b.name.length * 7.6, y: y + 15, class: 'node'}, b.node));
    if (b.status !== 'committed') g.append(shape('text', {x: x + w - 8, y: y + 15, class: 'status'}, b.status));
    b.lines.forEach((l, i) =>
      g.append(shape('text', {x: x + 8, y: y + 15 + 16 * (i + 1), class: l[1] ? 'note' : 'op'}, l[0])));
    if (b.hidden)
      g.append(shape('text', {x: x + 8, y: y + 15 + 16 * (b.lines.length + 1), class: 'more'},
        (b.lines.length ? '... ' : '') + b.hidden + ' more'));
    return pressable(g, 'transaction ' + b.name, () => select({txn: b.name}));
  }

  function drawEdge(p, d, i, arrows) {
    const path = pathOf(d.points), [x, y, w, h] = d.at;
    const g = shape('g', {class: 'edge ' + d.kind + (d.inferred ? ' inferred' : '')},
      shape('path', {class: 'hit', d: path}),
      shape('path', {class: 'shown', d: path, 'marker-end': 'url(#' + arrows + d.kind + ')'}),
      shape('g', {class: 'label'}, shape('rect', {x, y, width: w, height: h, rx: 4}),
        shape('text', {x: x + 6, y: y + 12.5}, d.label)));
    const from = p.boxes[d.from].name, to = p.boxes[d.to].name, why = p.reasons && p.reasons[i] && p.reasons[i].because;
    return pressable(g, from + ' before ' + to + ', ' + d.label + (why ? ', because ' + why : ''),
      () => select({edge: i}));
  }

  function drawAxis(p) {
    const g = shape('g', null, shape('path', {class: 'axis', d: 'M' + p.gutter + ' ' + (p.height + 4) + 'H' + p.width}),
      shape('text', {class: 'axis-text', x: 8, y: p.height + 18}, p.timed ? 'time' : 'order'));
    if (!p.timed)
      g.append(shape('text', {class: 'axis-text', x: p.gutter, y: p.height + 18},
        'no times: ordered from left to right as far as sessions and reads show'));
    let free = -1e9;
    for (const [x, at] of p.ticks) {
      const w = at.length * 6.1;
      g.append(shape('path', {class: 'axis', d: 'M' + x + ' ' + (p.height + 4) + 'v4'}));
      if (x - w / 2 < free || x - w / 2 < p.gutter - 8) continue;
      free = x + w / 2 + 8;
      g.append(shape('text', {class: 'axis-text', x, y: p.height + 19, 'text-anchor': 'middle'}, at));
    }
    return g;
  }

  function drawPicture(p) {
    const arrows = 'arrow-', w = Math.max(p.width, p.timed ? 0 : p.gutter + 350) + 12, h = p.height + 34;
    const defs = shape('defs');
    for (const k in KINDS)
      defs.append(shape('marker', {id: arrows + k, viewBox: '0 0 10 10', refX: 9.2, refY: 5, markerWidth: 11, markerHeight: 11,
        markerUnits: 'userSpaceOnUse', orient: 'auto', class: k}, shape('path', {d: 'M0 .6L10 5L0 9.4z', fill: 'currentColor'})));
    const svg = shape('svg', {viewBox: '-6 -8 ' + w + ' ' + h, width: w * view.zoom, height: h * view.zoom, role: 'group',
      'aria-label': 'Transactions in lanes, one lane a session'}, defs);
    const names = shape('g', {class: 'names'});
    for (const l of p.lanes) {
      svg.append(shape('rect', {class: 'lane', x: 0, y: l.y - 5, width: p.width, height: l.h + 10, rx: 6}));
      names.append(shape('rect', {class: 'lane', x: -6, y: l.y - 5, width: p.gutter + 2, height: l.h + 10, rx: 6}),
        shape('text', {class: 'lane-name', x: 8, y: l.y + 15}, l.name));
    }
    for (const [x, text, at] of p.marks)
      svg.append(shape('path', {class: 'fault-line', d: 'M' + x + ' -4V' + p.height}),
        shape('text', {class: 'fault-text', x: x + 4, y: 4}, text, shape('title', null, 'at ' + at)));
    const edges = p.edges.map((d, i) => drawEdge(p, d, i, arrows)), boxes = p.boxes.map(drawBox);
    /* keys go from the transactions to the edges, and labels lie above everything */
    svg.append(...boxes, ...edges, drawAxis(p), names);
    /* the names of the lanes stay in sight */
    view.host.onscroll = () => names.setAttribute('transform', 'translate(' + Math.max(0, view.host.scrollLeft / view.zoom - 4) + ' 0)');
    view.drawn = {boxes, edges, svg};
    view.host.replaceChildren(svg);
    /* among many neighbours the argument is what one looks for */
    const core = p.boxes.filter((b) => b.core).map((b) => b.at[0]);
    if (view.around && core.length) view.host.scrollLeft = (Math.min(...core) - p.gutter - 120) * view.zoom;
    view.host.onscroll();
    mark();
  }

  function toggle(text, on, press, more) {
    return make('button', Object.assign({type: 'button', 'aria-pressed': String(on), press}, more || {}), text);
  }

  function chooseCycle(c) {
    view.cycle = c;
    (view.cycleButtons || []).forEach((b, i) => b.setAttribute('aria-pressed', String(c === null ? i === 0 : i === c + 1)));
    mark();
  }

  function pictureTools() {
    const tools = make('div', {class: 'tools', role: 'group', 'aria-label': 'What the picture shows'});
    if (entry.cycles > 1) {
      view.cycleButtons = [toggle('all cases', true, () => chooseCycle(null))];
      for (let c = 0; c < entry.cycles && c < 12; c++)
        view.cycleButtons.push(toggle('case ' + (c + 1), false, () => chooseCycle(c)));
      add(tools, [view.cycleButtons, make('span', {class: 'gap'})]);
    }
    if (entry.picture && entry.around) {
      const b = toggle('neighbours', false, () => {
        view.around = !view.around;
        b.setAttribute('aria-pressed', String(view.around));
        if (view.selected && view.selected.edge !== undefined) view.selected = null;
        drawPicture(pictureNow());
        tellDetail();
      }, {title: 'Also show the transactions around those of the argument'});
      tools.append(b, make('span', {class: 'gap'}));
    }
    const kinds = new Set((entry.picture || entry.around).edges.map((d) => d.kind));
    for (const k of Object.keys(KINDS).filter((x) => kinds.has(x))) {
      const b = toggle([make('span', {class: 'swatch ' + k}), k + ' ' + KINDS[k][0]], true, () => {
        if (!view.hidden.delete(k)) view.hidden.add(k);
        b.setAttribute('aria-pressed', String(!view.hidden.has(k)));
        mark();
      }, {class: 'kind', title: KINDS[k][1]});
      tools.append(b);
    }
    const zoom = (f) => () => {
      view.zoom = f === 0 ? Math.min(1.6, view.host.clientWidth / (pictureNow().width + 14)) : Math.min(3, Math.max(0.3, view.zoom * f));
      drawPicture(pictureNow());
    };
    tools.append(make('span', {class: 'gap'}), make('button', {type: 'button', press: zoom(0.8), 'aria-label': 'smaller'}, '\u2212'),
      make('button', {type: 'button', press: zoom(1.25), 'aria-label': 'larger'}, '+'),
      make('button', {type: 'button', press: zoom(0)}, 'fit'));
    return tools;
  }

  function pictureCard() {
    view.host = make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Picture, scrolls sideways'});
    const p = pictureNow(), dashed = p.edges.some((d) => d.inferred);
    const c = card('What happened', pictureTools(), view.host,
      make('p', {class: 'soft hint'}, p.edges.length ? 'Select an arrow to see why it is there. ' : '',
        dashed ? 'A dashed arrow follows from an inference or an assumption; its detail shows why the other choice fails. ' : '',
        p.timed ? 'Time runs to the right and is not to scale. ' : '',
        p.left_out ? count(p.left_out, 'more transaction') + ' of the violation are not drawn.' : ''));
    return c;
  }

  /* Small pictures are enlarged to their room; large ones scroll. */
  function fitPicture() {
    const room = view.host.clientWidth / (Math.max(pictureNow().width, 360) + 14);
    view.zoom = room >= 1 ? Math.min(1.3, room) : 1;
    drawPicture(pictureNow());
  }

  /* --- the argument -------------------------------------------------------------------------- */

  function alternative(o) {
    if (o.fault) return make('div', null, make('p', {class: 'because'}, 'Otherwise ' + o.if + '. But then ' + o.fault + '.'));
    return make('div', null,
      make('p', {class: 'because'}, 'Otherwise ' + o.if + '. Then these contradict each other:'),
      make('ol', null, o.links.map((l) => make('li', null, make('span', {class: 'tag ' + l.kind}, l.kind), ' ', l.from + ' before ' + l.to +
        ', because ' + l.because + '.'))));
  }

  function whyNot(step, open) {
    const d = make('details', {class: 'otherwise'}, make('summary', null, 'Why the other choice fails'), step.otherwise.map(alternative));
    d.open = Boolean(open);
    return d;
  }

  function argumentCard() {
    view.steps = [];
    const list = make('ol', {class: 'steps'}, (entry.steps || []).map((s, i) => {
      const b = make('button', {type: 'button', class: 'step', press: () => select({step: i})}, s.text);
      view.steps.push(b);
      return make('li', {class: 's-' + s.kind + ' i' + Math.min(5, s.indent)}, b, s.otherwise ? whyNot(s) : null);
    }));
    const x = entry.explanation || {};
    const before = view.steps.length ? make('p', {class: 'soft hint'}, 'A < B: A must come before B. Select a step to see it in the picture.') : null;
    const c = card(view.steps.length ? 'Why: the argument' : 'Why', before, list);
    if (!view.steps.length && x.reason && !entry.sentence.includes(x.reason)) c.append(make('p', null, x.reason[0].toUpperCase() + x.reason.slice(1) + '.'));
    if (x.not_shown) c.append(make('p', {class: 'soft'}, 'This is the violation as it was found. It cannot be shown step by step: ' + x.not_shown + '.'));
    for (const r of x.rests_on || []) c.append(make('p', {class: 'soft'}, 'The violation depends on ' + r.replace('-', ' ') + ': without it, the level would hold.'));
    for (const p of entry.paragraphs || [])
      add(c, [make('h3', null, p.title), p.code ? make('pre', {class: 'line'}, p.code) : null, p.text ? make('p', null, p.text) : null,
        p.list ? make('ul', null, p.list.map((t) => make('li', null, t))) : null]);
    return c;
  }

  /* --- the detail ---------------------------------------------------------------------------- */

  /* The steps that a step rests on, each with what it rules out. */
  function premises(step, seen) {
    const used = [];
    for (const ref of step.uses || []) {
      const at = entry.steps.findIndex((s) => s.ref === ref);
      if (at < 0 || seen.has(at)) continue;
      seen.add(at);
      const s = entry.steps[at];
      const d = make('details', {class: 'premise'}, make('summary', null, s.text), s.otherwise ? s.otherwise.map(alternative) : otherCases(at),
        premises(s, seen), make('button', {type: 'button', class: 'link', press: () => select({step: at})}, 'show this step'));
      used.push(d);
    }
    return used;
  }

  /* Where the other cases of an assumption end. */
  function otherCases(at) {
    const indent = entry.steps[at].indent, out = [];
    let from = at, to = at + 1;
    while (from > 0 && entry.steps[from].kind !== 'either' || entry.steps[from].indent > indent) from--;
    while (to < entry.steps.length && (entry.steps[to].indent > indent || entry.steps[to].kind === 'case')) to++;
    let other = null;
    for (let i = from + 1; i < to; i++) {
      const s = entry.steps[i];
      if (s.kind === 'case' && s.indent === indent) other = i === at ? null : s;
      if (other && (s.kind === 'contradiction' || s.kind === 'fault'))
        out.push(make('li', null, 'In the other case, ' + other.text + ' ' + s.text));
    }
    return [make('p', {class: 'because'}, 'This is assumed here. No case is possible:'), make('ul', null, out)];
  }

  function edgeDetail(i) {
    const p = pictureNow(), d = p.edges[i], why = (p.reasons && p.reasons[i]) || {};
    const step = why.step === undefined ? null : entry.steps[why.step];
    const out = [make('p', null, make('span', {class: 'tag ' + d.kind}, d.kind), ' ',
      txnLink(p.boxes[d.from].name), ' must come before ', txnLink(p.boxes[d.to].name)),
    make('p', {class: 'soft'}, KINDS[d.kind][1])];
    if (why.because) out.push(make('p', {class: 'because'}, 'Because ' + why.because + '.'));
    if (step && step.uses) {
      out.push(make('h3', null, 'It uses'), premises(step, new Set([why.step])));
    }
    if (step) out.push(make('button', {type: 'button', class: 'link', press: () => select({step: why.step})}, 'show the step of the argument'));
    return ['Edge: ' + d.label, out];
  }

  function txnLink(name) {
    return make('button', {type: 'button', class: 'link mono', press: () => select({txn: name})}, name);
  }

  function fieldRows(t) {
    const rows = [];
    const put = (name, value) => { if (value !== undefined) rows.push(make('dt', null, name), make('dd', null, value)); };
    put('session', t.session);
    put('outcome', t.status);
    if (t.begin !== undefined || t.end !== undefined) put('time', (t.begin || '?') + ' to ' + (t.end || '?'));
    put('start_ts', t.start_ts);
    put('commit_ts', t.commit_ts);
    if (t.place) put('place', count(t.place, '').trim() + '. in the input');
    for (const f in t.fields || {}) put(f, make('span', {class: f === 'sql' ? 'mono' : null}, t.fields[f]));
    return rows;
  }

  function opList(t) {
    return make('div', {class: 'ops mono'}, t.ops.map((o) => make('span', {class: o[1] ? 'on' : null}, o[0])),
      t.more ? make('span', {class: 'soft'}, '... ' + count(t.more, 'more operation')) : null);
  }

  function txnDetail(name) {
    const t = transaction(name);
    if (!t) return ['Transaction ' + name, [make('p', null, 'The page holds nothing more about it.')]];
    return ['Transaction ' + name, [make('dl', null, fieldRows(t)), make('h3', null, 'Operations'), opList(t)]];
  }

  function stepDetail(i) {
    const s = entry.steps[i];
    return ['Step ' + (i + 1) + ' of ' + entry.steps.length, [make('p', null, s.text),
      s.otherwise ? whyNot(s, true) : null, s.uses ? [make('h3', null, 'It uses'), premises(s, new Set([i]))] : null]];
  }

  function tellDetail() {
    const w = view.selected;
    if (!view.detail) return;
    const [title, body] = !w ? ['Detail', [make('p', {class: 'soft'}, 'Nothing is selected. Select an arrow, a box or a step; ',
      make('kbd', null, 'n'), ' and ', make('kbd', null, 'p'), ' walk through the argument, ', make('kbd', null, 'Esc'), ' clears.')]]
      : w.step !== undefined ? stepDetail(w.step) : w.edge !== undefined ? edgeDetail(w.edge) : txnDetail(w.txn);
    view.detail.replaceChildren(make('h2', null, title), ...add(make('div'), body).childNodes);
  }

  /* --- versions ------------------------------------------------------------------------------ */

  function readers(list) {
    return list.length ? make('small', null, 'read by ' + list.join(', ')) : null;
  }

  /* The versions in layers: what is known to come later stands in a later layer. */
  function layersOf(versions) {
    const at = new Map(versions.map((v) => [v.txn, v])), rank = new Map();
    const find = (v, path) => {
      if (rank.has(v.txn)) return rank.get(v.txn);
      if (path.has(v.txn)) return 0;
      path.add(v.txn);
      const r = Math.max(0, ...v.after.filter((a) => at.has(a)).map((a) => find(at.get(a), path) + 1));
      rank.set(v.txn, r);
      return r;
    };
    const layers = [];
    for (const v of versions) (layers[find(v, new Set())] = layers[find(v, new Set())] || []).push(v);
    return layers.filter((l) => l);
  }

  function versionChip(v) {
    return make('button', {type: 'button', class: 'version', press: () => select({txn: v.txn})},
      make('span', {class: 'mono'}, v.value), make('small', null, 'by ' + v.txn), readers(v.readers));
  }

  function versionsCard() {
    return card('Versions of the keys, in order', entry.versions.map((k) => {
      const chain = make('div', {class: 'chain'}, make('span', {class: 'version initial'}, make('span', {class: 'mono'}, k.initial.value),
        make('small', null, 'initially'), readers(k.initial.readers)));
      for (const layer of layersOf(k.versions)) {
        chain.append(make('span', {class: 'arrow', 'aria-hidden': 'true'}, '\u2192'));
        if (layer.length === 1) chain.append(versionChip(layer[0]));
        else chain.append(make('span', {class: 'either'}, make('small', {class: 'soft'}, 'order open'), layer.map(versionChip)));
      }
      return [make('h3', {class: 'mono'}, k.key), chain];
    }));
  }

  /* --- transactions -------------------------------------------------------------------------- */

  function transactionsCard() {
    view.rows = [];
    const notes = (t) => Object.keys(t.fields || {}).map((f) => [make('div', null, make('span', {class: 'soft'}, f + ': '),
      f === 'sql' ? make('code', null, t.fields[f]) : t.fields[f])]);
    const body = make('tbody', null, entry.transactions.map((t) => {
      const row = make('tr', {class: t.core ? 'core' : null},
        make('td', {'data-label': 'transaction', class: 'bare'}, txnLink(t.name)),
        make('td', {'data-label': 'session'}, t.session), make('td', {'data-label': 'outcome'}, t.status),
        make('td', {'data-label': 'time'}, t.begin === undefined && t.end === undefined ? '' : (t.begin || '?') + ' to ' + (t.end || '?')),
        make('td', {'data-label': 'operations'}, opList(t)), make('td', {'data-label': 'notes'}, notes(t)));
      view.rows.push({row, name: t.name, text: row.textContent.toLowerCase()});
      return row;
    }));
    const shown = make('p', {class: 'soft', 'aria-live': 'polite'});
    const input = make('input', {type: 'search', id: 'search', placeholder: 'search id, key, value, note, SQL', 'aria-label': 'Search the transactions of this page'});
    const filter = () => {
      const want = input.value.toLowerCase().trim();
      let n = 0;
      for (const r of view.rows) {
        r.row.hidden = want !== '' && !r.text.includes(want);
        n += r.row.hidden ? 0 : 1;
      }
      const all = entry.counts ? entry.counts.transactions : view.rows.length;
      shown.textContent = want ? n + ' of ' + count(view.rows.length, 'transaction') + ' of this page'
        : view.rows.length < all ? 'The page holds ' + count(view.rows.length, 'transaction') + ' of ' + all.toLocaleString('en') +
          ': those of the argument and their neighbourhood.' : '';
    };
    input.addEventListener('input', filter);
    filter();
    const c = card('Transactions', make('div', {class: 'tools'}, input), shown, make('div', {class: 'scroll'}, make('table', {class: 'rows'},
      make('thead', null, make('tr', null, ['transaction', 'session', 'outcome', 'time', 'operations', 'notes'].map((h) => make('th', {scope: 'col'}, h)))), body)));
    c.classList.add('long');
    return c;
  }

  /* --- the run ------------------------------------------------------------------------------- */

  function stripCard() {
    const s = entry.strip, n = s.committed.length, H = 84, base = 70;
    const high = Math.max(1, ...s.committed.map((c, i) => c + s.aborted[i] + s.unknown[i]));
    const svg = shape('svg', {class: 'strip', viewBox: '0 0 ' + n + ' ' + H, preserveAspectRatio: 'none', role: 'img',
      'aria-label': 'Transactions over the whole run'});
    for (let i = 0; i < n; i++) {
      let y = base;
      for (const [k, of] of [['c', s.committed], ['a', s.aborted], ['u', s.unknown]]) {
        const h = of[i] / high * (base - 4);
        if (!of[i]) continue;
        y -= h;
        svg.append(shape('rect', {class: k, x: i, y, width: 1, height: Math.max(h, .8)}));
      }
    }
    svg.append(shape('path', {class: 'base', d: 'M0 ' + base + 'H' + n}));
    for (const i of s.core) svg.append(shape('rect', {class: 'core', x: i - Math.max(0, n / 400), y: base + 3, width: 1 + 2 * Math.max(0, n / 400), height: 11}));
    for (const [i] of s.faults) svg.append(shape('path', {class: 'fault', d: 'M' + (i + .5) + ' 0V' + base}));
    const sum = (a) => a.reduce((x, y) => x + y, 0), legend = [count(sum(s.committed), 'committed', 'committed') + ' (blue)'];
    if (sum(s.aborted)) legend.push(count(sum(s.aborted), 'aborted', 'aborted') + ' (orange, on top)');
    if (sum(s.unknown)) legend.push(count(sum(s.unknown), 'of unknown outcome', 'of unknown outcome') + ' (yellow, on top)');
    if (s.core.length) legend.push('the transactions of the argument are marked below the line');
    if (s.faults.length) legend.push(count(s.faults.length, 'fault') + ' (dashed lines)');
    return card('The whole run', svg, make('div', {class: 'ends'}, make('span', null, (s.by === 'time' ? 'time ' : 'transaction ') + s.from),
      make('span', null, 'most in a column: ' + count(high, 'transaction')), make('span', null, s.to)),
    make('p', {class: 'soft'}, legend.join('; ') + '.'),
    s.faults.length ? make('details', null, make('summary', null, 'Faults'), make('ul', null, s.faults.map((f) => make('li', null, f[1])))) : null);
  }

  /* --- levels -------------------------------------------------------------------------------- */

  /* What is known of each level: by this entry, and by others about the same source. */
  function outcomes() {
    const known = new Map();
    for (const e of data.entries) {
      if (e.source !== entry.source) continue;
      for (const [name, outcome] of e.levels || []) if (!known.has(name)) known.set(name, outcome);
      if (e.level) known.set(e.level, e.verdict);
    }
    return known;
  }

  function latticeCard() {
    const l = data.lattice, known = outcomes();
    const SIGN = {holds: ['yes', '\u2713 '], violated: ['no', '\u2717 '], undecided: ['open', '? ']};
    const svg = shape('svg', {viewBox: '0 0 ' + l.width + ' ' + l.height, width: l.width, height: l.height, role: 'img',
      'aria-label': 'Levels, stronger above weaker'});
    for (const [x1, y1, x2, y2] of l.edges) svg.append(shape('line', {class: 'order', x1, y1, x2, y2}));
    const lists = {holds: [], violated: [], undecided: []};
    l.names.forEach((names, i) => {
      const found = names.map((n) => known.get(n)).find((x) => x) || '', [x, y, w, h, label] = l.boxes[i];
      const sign = SIGN[found] || ['', ''];
      if (lists[found]) lists[found].push(names.join(' = '));
      svg.append(shape('g', {class: 'level ' + sign[0] + (names.includes(entry.level) ? ' asked' : '')},
        shape('rect', {x, y, width: w, height: h, rx: 5}), shape('text', {x: x + w / 2, y: y + h / 2 + 4}, sign[1] + label),
        shape('title', null, names.join(' = ') + (found ? ': ' + found : ''))));
    });
    return card('Levels', make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Order of the levels, scrolls sideways'}, svg),
      make('dl', null, [['\u2713 holds', lists.holds], ['\u2717 violated', lists.violated], ['? undecided', lists.undecided]].filter((r) => r[1].length)
        .map((r) => [make('dt', null, r[0]), make('dd', null, r[1].join(', '))])),
      make('p', {class: 'soft'}, 'A level stands above those that it implies. Short names are used; levels without a mark were not asked.'));
  }

  /* --- what "holds" was worth ---------------------------------------------------------------- */

  function apartText(n, all, what, names) {
    return n + ' of ' + count(all, what) + (n ? ': ' + names.join(', ') + (n > names.length ? ', ...' : '') : '');
  }

  function coverageCard() {
    const c = entry.coverage, rows = [], put = (k, v) => rows.push(make('dt', null, k), make('dd', null, v));
    const share = c.tried ? Math.floor(100 * c.seen / c.tried) : 0;
    const sentence = !c.changes ? 'There is no read that could have returned another value.'
      : (c.exact ? 'Reads can be changed in ' + count(c.changes, 'way') + ', one at a time: '
        : 'Of ' + count(c.changes, 'way') + ' to change one read, ' + c.tried.toLocaleString('en') + ' were tried at random: ') +
        c.seen.toLocaleString('en') + ' (' + share + '%) would have been seen as a violation.';
    const places = Object.entries(c.places).sort((a, b) => b[1] - a[1]), most = places.length ? places[0][1] : 1;
    if (c.undecided) put('not decided', c.undecided.toLocaleString('en'));
    put('reads', c.reads.known.toLocaleString('en') + ' with one possible writer, ' + c.reads.open.toLocaleString('en') + ' with several');
    if (c.versions.known + c.versions.inferred + c.versions.open)
      put('version order', count(c.versions.known, 'step') + ' shown, ' + c.versions.inferred.toLocaleString('en') + ' inferred, ' + c.versions.open.toLocaleString('en') + ' open');
    put('keys without a conflict', apartText(c.apart.keys, c.apart.of_keys, 'key', c.apart.key_names));
    put('sessions without a conflict', apartText(c.apart.sessions, c.apart.of_sessions, 'session', c.apart.session_names));
    return card('What this \u201cholds\u201d was worth',
      c.unseen.length ? make('ul', {class: 'warn'}, c.unseen.map((u) => make('li', null, make('strong', null, u.anomaly), ' could not have been seen: ' + u.why + '.'))) : null,
      make('p', null, sentence),
      places.length ? make('table', {class: 'bars'}, make('caption', {class: 'soft'}, 'Places where an anomaly would have shown'),
        make('thead', null, make('tr', null, make('th', {scope: 'col'}, 'anomaly'), make('th', {scope: 'col'}, 'places'), make('td'))),
        make('tbody', null, places.map(([name, n]) => make('tr', null, make('th', {scope: 'row'}, name), make('td', {class: 'number'}, n.toLocaleString('en')),
          make('td', {'aria-hidden': 'true'}, shape('svg', {class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none'},
            shape('rect', {x: 0, y: 0, width: Math.max(.5, 100 * n / most), height: 8}))))))) : null,
      make('dl', null, rows));
  }

  /* --- the rest ------------------------------------------------------------------------------ */

  function numbersCard() {
    const rows = [], put = (k, v) => rows.push(make('dt', null, k), make('dd', null, v));
    const x = entry.explanation || {};
    for (const k in entry.counts || {}) put(k, entry.counts[k].toLocaleString('en'));
    if (x.format) put('format', x.format);
    if (entry.solver && entry.solver.vars) put('solver', count(entry.solver.vars, 'variable') + ', ' + count(entry.solver.clauses, 'clause') + ', ' +
      count(entry.solver.conflicts, 'conflict'));
    for (const [name, seconds] of entry.stages || []) put('stage ' + name, seconds.toFixed(3) + ' s');
    return card('Statistics', make('dl', null, rows));
  }

  function warningsCard() {
    return card('Warnings', make('ul', {class: 'warn'}, entry.warnings.map(([id, text]) => make('li', null, text + ' ', make('span', {class: 'soft mono'}, '[' + id + ']')))));
  }

  function reproduceCard() {
    return card('How to reproduce', entry.reproduce.map((c) => make('pre', {class: 'line', tabindex: '0'}, c)));
  }

  function signOf(verdict) {
    return {violated: '\u2717 ', holds: '\u2713 ', found: '\u2713 '}[verdict] || '? ';
  }

  function verdictPart() {
    const x = entry.explanation || {}, chips = [];
    if (entry.source) chips.push(entry.source);
    if (x.level) chips.push(x.level + ', session order ' + (x.session_order ? 'on' : 'off'));
    const names = x.names || {};
    for (const [who, k] of [['Adya', 'adya'], ['Elle', 'elle'], ['Berenson et al.', 'berenson']]) if (names[k]) chips.push(who + ': ' + names[k]);
    if (x.through) chips.push('through ' + x.through);
    return make('header', {class: 'verdict ' + entry.verdict}, make('span', {class: 'word'}, signOf(entry.verdict) + entry.verdict),
      make('h1', null, entry.sentence), chips.length ? make('ul', {class: 'chips'}, chips.map((c) => make('li', null, c))) : null);
  }

  function indexPart() {
    if (data.entries.length < 2) return null;
    return make('nav', {class: 'card nav long', 'aria-label': 'Answers'}, make('h2', null, data.title + ': ' + count(data.entries.length, 'answer')), make('div', {class: 'list'}, make('table', {class: 'rows'},
      make('thead', null, make('tr', null, ['verdict', 'source', 'level', 'anomaly'].map((h) => make('th', {scope: 'col'}, h)))),
      make('tbody', null, data.entries.map((e, i) => make('tr', {class: e === entry ? 'now' : null},
        make('td', {class: 'bare'}, make('button', {type: 'button', 'aria-pressed': String(e === entry), press: () => show(i, true)}, signOf(e.verdict) + e.verdict)),
        make('td', {'data-label': 'source'}, e.source || ''), make('td', {'data-label': 'level'}, e.level || ''),
        make('td', {'data-label': 'anomaly'}, (e.explanation || {}).anomaly || '')))))));
  }

  function show(i, focus) {
    entry = data.entries[i];
    view = {around: false, cycle: null, hidden: new Set(), zoom: 1, selected: null, steps: [], rows: []};
    const drawn = Boolean(entry.picture || entry.around);
    if (!entry.picture && entry.around) view.around = true;
    view.detail = make('section', {class: 'card detail', 'aria-live': 'polite', 'aria-label': 'Detail'});
    const cards = [];
    const has = (list) => list && list.length;
    const main = make('main', {id: 'main'}, verdictPart());
    const left = drawn ? pictureCard() : null;
    const reason = (entry.explanation || {}).reason || '';
    const why = has(entry.steps) || (reason && !entry.sentence.includes(reason)) || has(entry.paragraphs) ? argumentCard() : null;
    const versions = has(entry.versions) ? versionsCard() : null;
    if (left && !why && !versions) main.append(make('div', {class: 'columns'}, left, view.detail));
    else if (left) main.append(make('div', {class: 'columns'}, make('div', {class: 'stack'}, left, view.detail), make('div', {class: 'stack'}, why, versions)));
    else if (why) main.append(has(entry.steps) ? make('div', {class: 'columns'}, why, view.detail) : why);
    if (entry.strip && (!entry.counts || entry.counts.transactions > 20)) main.append(stripCard());
    if (entry.coverage) main.append(coverageCard());
    if (has(entry.transactions)) main.append(transactionsCard());
    const levels = outcomes().size > 1 ? latticeCard() : null;
    if (entry.counts) cards.push(numbersCard());
    if (has(entry.warnings)) cards.push(warningsCard());
    if (has(entry.reproduce)) cards.push(reproduceCard());
    main.append(make('div', {class: 'pair'}, levels, make('div', {class: 'stack'}, cards)));
    add(root, []).replaceChildren(...[make('a', {class: 'skip', href: '#main'}, 'Skip to the answer'), indexPart(), main,
      make('footer', null, make('p', {class: 'keys'}, make('kbd', null, 'n'), ' / ', make('kbd', null, 'p'), ' next and previous step, ',
        make('kbd', null, '/'), ' search, ', make('kbd', null, 'Esc'), ' clear, ', make('kbd', null, 'Tab'), ' and ', make('kbd', null, 'Enter'), ' select.'),
      make('p', null, 'Made by Ratel' + (data.version ? ' ' + data.version : '') + '. This page needs no network.'))].filter((x) => x));
    if (drawn) fitPicture();
    tellDetail();
    /* where the order of levels is wider than the page, the level that was asked about is in sight */
    const asked = root.querySelector('.level.asked rect');
    if (asked) {
      const room = asked.closest('.scroll');
      room.scrollLeft = asked.x.baseVal.value + asked.width.baseVal.value / 2 - room.clientWidth / 2;
    }
    const b = root.querySelector('nav button[aria-pressed="true"]');
    if (b) b.closest('.list').scrollTop = b.closest('tr').offsetTop - 60;
    if (b && focus) b.focus({preventScroll: true});
  }

  function walk(by) {
    if (!entry.steps || !entry.steps.length) return;
    const now = view.selected && view.selected.step !== undefined ? view.selected.step : by > 0 ? -1 : entry.steps.length;
    const next = Math.min(entry.steps.length - 1, Math.max(0, now + by));
    select({step: next});
    view.steps[next].focus();
  }

  document.addEventListener('keydown', (e) => {
    const typing = e.target instanceof HTMLInputElement;
    if (e.ctrlKey || e.metaKey || e.altKey || (typing && e.key !== 'Escape')) return;
    if (e.key === 'n') walk(1);
    else if (e.key === 'p') walk(-1);
    else if (e.key === 'Escape') select(null);
    else if (e.key === '/') {
      const s = document.getElementById('search');
      if (s) {
        s.focus();
        e.preventDefault();
      }
    }
  });

  /* On paper nothing can be opened: everything is. */
  let closed = [];
  window.addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    closed.forEach((d) => { d.open = true; });
  });
  window.addEventListener('afterprint', () => closed.forEach((d) => { d.open = false; }));

  const worst = data.entries.findIndex((e) => e.verdict === 'violated');
  if (data.entries.length) show(worst < 0 ? 0 : worst, false);
  else root.append(make('p', null, data.title + ': no answers.'));
})();
