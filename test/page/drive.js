/*
 * drive.js - opens pages in a headless Chromium and says what it found, a JSON line a check:
 * [what, true or false, detail].  test/page/run starts it.
 *
 * usage: node drive.js JOBS       a file: [{"file": "/x.html", "name": "x", "checks": ["opens", ...]}]
 */
'use strict';
const { chromium } = require('/usr/local/lib/node_modules/playwright-core');
let job = null;

function say(what, ok, detail) {
  process.stdout.write(JSON.stringify([job.name + ': ' + what, Boolean(ok), detail === undefined ? '' : String(JSON.stringify(detail)).slice(0, 2000)]) + '\n');
}

async function open(browser, options) {
  const page = await browser.newPage(Object.assign({ viewport: { width: 1400, height: 900 } }, options || {}));
  page.trouble = [];
  page.on('console', (m) => page.trouble.push('console ' + m.type() + ' ' + m.text()));
  page.on('pageerror', (e) => page.trouble.push('error ' + e.message));
  page.on('request', (r) => { if (r.url() !== 'file://' + job.file) page.trouble.push('request ' + r.url()); });
  await page.goto('file://' + job.file);
  return page;
}

const detail = (page) => page.evaluate(() => document.querySelector('.detail').textContent);

const checks = {
  async opens(browser) {
    const page = await open(browser);
    const seen = await page.evaluate(() => ({ h1: document.querySelector('h1').textContent, svg: document.querySelectorAll('svg').length,
      policy: document.querySelector('meta[http-equiv]').content, scripts: document.scripts.length }));
    say('no console message, no error, no request', !page.trouble.length, page.trouble);
    say('a verdict in a sentence', seen.h1.length > 20 && seen.h1.endsWith('.'), seen);
    say('a policy without inline scripts', seen.policy.includes("default-src 'none'") && !seen.policy.includes('unsafe'), seen);
    say('two scripts, of which one is data', seen.scripts === 2, seen);
    /* the policy is in force: what somebody adds does not run */
    await page.evaluate(() => { const s = document.createElement('script'); s.textContent = 'window.added = 1'; document.body.append(s); });
    say('a script that is added does not run', (await page.evaluate(() => window.added)) === undefined);
    await page.close();
  },

  /* Every edge tells why it is there; an inferred one expands into cases. */
  async edges(browser) {
    const page = await open(browser), edges = page.locator('g.edge'), n = await edges.count();
    say('there are edges', n > 0, n);
    let silent = 0, inferred = 0, empty = 0;
    for (let i = 0; i < n; i++) {
      await edges.nth(i).locator('.label').click();
      const text = await detail(page);
      if (!/Edge: .*must come before.*Because ./.test(text)) silent++;
      if (!await edges.nth(i).evaluate((g) => g.classList.contains('chosen'))) silent++;
      if (!await edges.nth(i).evaluate((g) => g.classList.contains('inferred'))) continue;
      inferred++;
      const cases = page.locator('.detail details.premise');
      for (let k = 0; k < await cases.count(); k++) {
        await cases.nth(k).locator('> summary').click();
        const shown = await cases.nth(k).evaluate((d) => d.open && d.textContent);
        if (!/Otherwise .*(contradict|But then)|Because |In the other case/s.test(shown || '')) empty++;
      }
      if (!await cases.count()) empty++;
    }
    say('each edge shows its reason', n > 0 && silent === 0, { n, silent });
    say('each inferred edge expands into its cases', empty === 0, { inferred, empty });
    await page.close();
  },

  async steps(browser) {
    const page = await open(browser), steps = page.locator('.step'), n = await steps.count();
    let lost = 0;
    for (let i = 0; i < n; i++) {
      await steps.nth(i).click();
      const marked = await page.evaluate(() => document.querySelectorAll('svg .chosen').length);
      if (!marked || !(await detail(page)).startsWith('Step ' + (i + 1))) lost++;
    }
    say('each step of the argument is marked in the picture', n > 0 && !lost, { n, lost });
    await page.close();
  },

  /* Tab alone reaches everything that a mouse can press, and Enter presses it. */
  async keyboard(browser) {
    const page = await open(browser);
    await page.evaluate(() => {
      window.reached = new Set();
      window.wanted = () => [...document.querySelectorAll('button, input, summary, a[href], g[tabindex], .edge, .box')].filter((e) => e.getClientRects().length);
      document.addEventListener('focusin', (e) => window.reached.add(e.target));
    });
    const want = await page.evaluate(() => window.wanted().length);
    for (let i = 0; i < want + 20; i++) await page.keyboard.press('Tab');
    const missed = await page.evaluate(() => window.wanted().filter((e) => !window.reached.has(e)).map((e) => e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 30)));
    say('Tab reaches all of ' + want, want > 5 && missed.length === 0, missed);
    if (await page.locator('g.edge').count()) {
      await page.locator('g.edge').first().focus();
      await page.keyboard.press('Enter');
      say('Enter selects an edge', (await detail(page)).startsWith('Edge:'));
    }
    await page.locator('g.box').first().focus();
    await page.keyboard.press('Space');
    say('Space selects a transaction', (await detail(page)).startsWith('Transaction'));
    await page.keyboard.press('Escape');
    say('Escape clears', (await detail(page)).startsWith('Detail'));
    if (await page.locator('.step').count()) {
      await page.keyboard.press('n');
      say('n goes to the first step', (await detail(page)).startsWith('Step 1 '));
    }
    await page.keyboard.press('/');
    await page.keyboard.type('zzz-none');
    say('/ searches', await page.evaluate(() => [...document.querySelectorAll('.rows tbody tr')].every((r) => r.hidden || r.closest('nav'))));
    await page.close();
  },

  async widths(browser) {
    for (const width of [320, 375, 768, 1100, 1920]) {
      const page = await open(browser, { viewport: { width, height: 800 } });
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      say(width + ' pixels: nothing overflows', over <= 0, over);
      const hidden = await page.evaluate(() => {
        const asked = document.querySelector('.level.asked rect');
        if (!asked) return false;
        const a = asked.getBoundingClientRect(), room = asked.closest('.scroll').getBoundingClientRect();
        return a.right > room.right + 1 || a.left < room.left - 1;
      });
      say(width + ' pixels: the level that was asked about is in sight', !hidden);
      await page.close();
    }
  },

  /* Text is readable on what lies behind it, in both schemes. */
  async contrast(browser) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await open(browser, { colorScheme });
      const poor = await page.evaluate(() => {
        const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
        const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
          .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = (e) => {
          for (let x = e; x; x = x.parentElement) {
            const c = parse(getComputedStyle(x).backgroundColor);
            if (c.length === 3 || c[3] > 0.5) return c;
          }
          return [255, 255, 255];
        };
        const out = [];
        for (const e of document.querySelectorAll('h1, h2, h3, p, dt, dd, td, th, button, summary, li, small, .word, .tag')) {
          if (!e.textContent.trim() || !e.getClientRects().length) continue;
          const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < 4.5) out.push(e.className + ' ' + e.textContent.slice(0, 20) + ' ' + ratio.toFixed(2));
        }
        return out;
      });
      const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      say(colorScheme + ': text is readable', !poor.length, poor);
      say(colorScheme + ': the paper is ' + colorScheme, (dark === 'rgb(255, 255, 255)') === (colorScheme === 'light'), dark);
      await page.close();
    }
  },

  async print(browser) {
    const page = await open(browser, { colorScheme: 'dark' });
    const closed = await page.evaluate(() => document.querySelectorAll('details').length);
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    const seen = await page.evaluate(() => ({ tools: [...document.querySelectorAll('.tools')].filter((e) => e.getClientRects().length).length,
      paper: getComputedStyle(document.body).backgroundColor, closed: document.querySelectorAll('details:not([open])').length }));
    say('printed: white, without controls, everything open (' + closed + ')', seen.tools === 0 && seen.paper === 'rgb(255, 255, 255)' && seen.closed === 0, seen);
    const pdf = await page.pdf({ format: 'A4' });
    say('printed: a document', pdf.length > 5000, pdf.length);
    await page.close();
  },

  /* Whatever a history holds is text. */
  async inert(browser) {
    const page = await open(browser), steps = page.locator('.step');
    for (let i = 0; i < await steps.count(); i++) await steps.nth(i).click();
    for (const kind of ['g.edge', 'g.box'])
      for (let i = 0; i < await page.locator(kind).count(); i++) {
        await page.locator(kind).nth(i).focus();
        await page.keyboard.press('Enter');
      }
    const seen = await page.evaluate(() => ({ hit: window.hit, scripts: document.scripts.length,
      strange: [...document.querySelectorAll('img, iframe, object, embed, link, form, audio, video, foreignObject')].length,
      handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on|javascript:/i.test(a.name + a.value.trim()))).length,
      raw: (document.body.innerText.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g) || []).length,
      text: document.body.innerText }));
    say('nothing ran', seen.hit === undefined && seen.scripts === 2 && !seen.strange && !seen.handlers && !page.trouble.length,
      [seen.hit, seen.scripts, seen.strange, seen.handlers, page.trouble]);
    say('markup is shown as text', seen.text.includes('<script>') && seen.text.includes(']]>') && seen.text.includes('&amp;'), seen.text.slice(0, 1500));
    say('no character turns the text around', seen.raw === 0, seen.raw);
    await page.close();
  },

  async entries(browser) {
    const page = await open(browser), rows = page.locator('nav button');
    const n = await rows.count();
    let wrong = 0;
    for (let i = 0; i < n; i++) {
      await rows.nth(i).click();
      const word = (await rows.nth(i).textContent()).slice(2);
      if (!(await page.evaluate(() => document.querySelector('.verdict').className)).includes(word)) wrong++;
    }
    say('each answer of the index is shown', n > 1 && !wrong && !page.trouble.length, { n, wrong, trouble: page.trouble });
    await page.close();
  },

  /* What "holds" was worth: every number of the data stands on the page. */
  async coverage(browser) {
    const page = await open(browser);
    const rows = page.locator('nav button');
    if (await rows.count()) {
      const at = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).entries.findIndex((e) => e.coverage));
      await rows.nth(at).click();
    }
    const seen = await page.evaluate(() => {
      const e = JSON.parse(document.getElementById('data').textContent).entries.find((x) => x.coverage).coverage;
      const card = [...document.querySelectorAll('section')].find((c) => /holds.* was worth/.test(c.getAttribute('aria-label')));
      const text = card ? card.textContent : '';
      return { text, missing: [...Object.keys(e.places), ...e.unseen.map((u) => u.why), ...e.apart.key_names].filter((x) => !text.includes(x)),
        bars: card ? card.querySelectorAll('.bars tbody tr').length : 0, kinds: Object.keys(e.places).length };
    });
    say('what it was worth is shown', seen.text && !seen.missing.length && seen.bars === seen.kinds && !page.trouble.length, seen);
    await page.close();
  },

  /* From the start of loading until the picture stands, as the browser counts it. */
  async fast(browser) {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const page = await open(browser);
      times.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))));
      await page.close();
    }
    say('drawn in less than a second: ' + Math.min(...times).toFixed(0) + ' ms', Math.min(...times) < 1000, times);
  }
};

(async () => {
  const text = require('fs').readFileSync(process.argv[2], 'utf8');
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  try {
    for (job of JSON.parse(text))
      for (const c of job.checks) {
        try {
          await checks[c](browser);
        } catch (e) {
          say(c + ' ended', false, e.message);
        }
      }
  } finally {
    await browser.close();
  }
})();
