// SPDX-License-Identifier: Apache-2.0
// html.js FILE WHAT - opens a page of `export -f html` in chromium, operates it by clicks and keys
// like a user, and reads the document afterwards. WHAT is JSON: questions (ids, or all), open (open
// all rows of the trees), pattern (to search for), zoom (a function to click on), sort, keys,
// narrow, width, bad (an invalid pattern), script (false: without). Prints JSON.
const {chromium} = require('playwright-core');
const [file, text] = process.argv.slice(2);
const what = JSON.parse(text || '{}');

const inPage = {
  figures: () => Object.fromEntries(Array.from(document.querySelectorAll('.figure'), f => [f.id.replace('figure-', ''),
    {value: Number(f.querySelector('data').value), label: f.querySelector('dt').textContent, text: f.querySelector('data').textContent}])),
  // Rows of a table: each cell's exact number, or its text.
  table: id => Array.from(document.querySelectorAll(`#${id} tbody tr`), r => ({
    level: Number(r.getAttribute('aria-level')), open: r.getAttribute('aria-expanded'), other: r.classList.contains('other'), hit: r.classList.contains('hit'),
    name: (r.querySelector('.name') || r.querySelector('th') || r).title || (r.querySelector('.name') || r.querySelector('th') || r).textContent,
    cells: Array.from(r.children, c => c.querySelector('data') ? Number(c.querySelector('data').value) : c.textContent)})),
  heads: id => Array.from(document.querySelectorAll(`#${id} thead th`), h => ({name: h.textContent, sort: h.getAttribute('aria-sort')})),
  allOpen: () => document.querySelectorAll('#tree-table tr[aria-expanded=false]').length === 0,
  flame: () => {
    const all = document.getElementById('flame-graph').getBoundingClientRect().width;
    return Array.from(document.querySelectorAll('#flame-graph .frame'), f => {
      const r = f.getBoundingClientRect();
      return {name: f.node ? f.node.frame ? f.node.frame.name : 'all' : 'other', depth: Number(f.dataset.depth), bytes: Number(f.dataset.bytes), blocks: Number(f.dataset.blocks),
        left: r.left, width: r.width, part: r.width / all, top: r.top, hit: f.classList.contains('hit'), up: f.classList.contains('up')};
    });
  },
  text: id => document.getElementById(id).textContent,
};

async function question(page, id) {
  const out = {};
  await page.click(`#questions [data-value=${id}]`);
  out.asked = await page.evaluate(inPage.text, 'asked');
  out.checked = await page.evaluate(() => Array.from(document.querySelectorAll('#questions [aria-checked=true]'), b => b.dataset.value));
  out.flame = await page.evaluate(inPage.flame);
  await page.click('#flame-directions [data-value=up]');
  out.flame_up = await page.evaluate(inPage.flame);
  out.hint_up = await page.evaluate(inPage.text, 'flame-hint');
  await page.click('#flame-directions [data-value=down]');
  for (const way of ['down', 'up']) {
    await page.click(`#directions [data-value=${way}]`);
    if (what.open) {
      await page.click('#open-all');
      out['whole_' + way] = await page.evaluate(inPage.allOpen);
    }
    out[way] = await page.evaluate(inPage.table, 'tree-table');
  }
  const more = page.locator('#sites-other button', {hasText: 'Show all'});
  if (await more.count()) await more.click();
  out.site_heads = (await page.evaluate(inPage.heads, 'site-rows')).map(h => h.name);
  out.sites = await page.evaluate(inPage.table, 'site-rows');
  for (const list of ['sizes', 'lives', 'threads', 'tags'])
    out[list] = await page.evaluate(inPage.table, list);
  out.cut = await page.evaluate(() => Array.from(document.querySelectorAll('#lists .scroll'), s => s.scrollWidth - s.clientWidth));
  for (const note of ['flame-other', 'tree-other', 'sites-other'])
    out[note] = await page.evaluate(inPage.text, note);
  out.sizes_text = await page.evaluate(inPage.text, 'sizes');
  await page.click('#directions [data-value=down]');
  return out;
}

async function search(page, out) {
  await page.keyboard.press('/');
  await page.keyboard.type(what.pattern);
  await page.keyboard.press('Enter');
  out.found = await page.evaluate(() => ({text: document.getElementById('found').textContent, ...document.getElementById('found').dataset}));
  out.found_flame = await page.evaluate(inPage.flame);
  out.found_tree = await page.evaluate(inPage.table, 'tree-table');
  out.found_sites = await page.evaluate(inPage.table, 'site-rows');
  out.address = page.url();
  await page.keyboard.press('Escape');
  out.left = await page.evaluate(() => document.querySelectorAll('.hit:not(.key)').length);
}

// Types an invalid regular expression.
async function bad(page, out) {
  await page.keyboard.press('/');
  await page.keyboard.type(what.bad);
  await page.keyboard.press('Enter');
  out.bad = await page.evaluate(inPage.text, 'found');
  await page.keyboard.press('Escape');
  out.good = await page.evaluate(inPage.text, 'found');
}

async function zoom(page, out) {
  const boxes = await page.evaluate(inPage.flame), place = boxes.find(f => f.name === what.zoom);
  out.before = boxes;
  if (!place) return;
  await page.locator('#flame-graph .frame', {hasText: what.zoom}).first().click();
  out.zoomed = await page.evaluate(inPage.flame);
  await page.click('#flame-reset');
  out.back = await page.evaluate(inPage.flame);
}

async function sort(page, out) {
  out.sorted = [];
  for (const id of ['self', 'self', 'name', 'blocks']) {
    await page.click(`#tree-table [data-sort=${id}]`);
    out.sorted.push({id, heads: await page.evaluate(inPage.heads, 'tree-table'), rows: await page.evaluate(inPage.table, 'tree-table')});
  }
}

// Walks through the page without a mouse.
async function keys(page, out) {
  const here = () => page.evaluate(() => { const e = document.activeElement; return (e.dataset && e.dataset.value) || e.getAttribute('aria-label') || e.textContent; });
  await page.focus('#questions [aria-checked=true]');
  await page.keyboard.press('ArrowRight');
  out.next_question = {focused: await here(), checked: await page.evaluate(() => document.querySelector('#questions [aria-checked=true]').dataset.value)};
  await page.keyboard.press('ArrowLeft');
  await page.focus('#flame-graph .frame[tabindex="0"]');
  await page.keyboard.press('ArrowDown');
  out.flame_down = await here();
  await page.keyboard.press('Enter');
  out.flame_zoomed = await page.evaluate(() => !!document.getElementById('flame-reset'));
  await page.keyboard.press('Escape');
  out.flame_left = await page.evaluate(() => !document.getElementById('flame-reset'));
  await page.focus('#tree-table tbody tr[tabindex="0"]');
  const opened = () => page.evaluate(() => document.activeElement.getAttribute('aria-expanded'));
  if (await opened() === 'false') await page.keyboard.press('ArrowRight');
  out.tree = [await opened()];
  await page.keyboard.press('ArrowLeft');
  out.tree.push(await opened());
  await page.keyboard.press('ArrowRight');
  out.tree.push(await opened());
  await page.focus('#plots');
  await page.keyboard.press('Home');
  await page.keyboard.press('End');
  out.plot = await page.evaluate(() => document.getElementById('plots').getAttribute('aria-valuetext'));
  out.tip = await page.evaluate(() => !document.getElementById('tip').hidden);
}

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--no-sandbox']});
  const context = await browser.newContext({viewport: {width: what.width || (what.narrow ? 360 : 1280), height: 900}, javaScriptEnabled: what.script !== false});
  const page = await context.newPage();
  const errors = [], requests = [];
  page.on('pageerror', e => errors.push(String(e)));
  page.on('console', m => errors.push(m.text()));
  page.on('request', r => requests.push(r.url()));
  await page.goto('file://' + file);
  const out = {title: await page.title()};
  if (what.script === false) {
    out.shown = {};
    for (const id of ['figures', 'timeline', 'sites', 'flame', 'tree', 'bar']) out.shown[id] = await page.locator('#' + id).isVisible();
    out.heading = await page.locator('h1').innerText();
    out.figures = await page.locator('.figure data').allInnerTexts();
    out.sites = await page.locator('#sites-table tbody tr').allInnerTexts();
    out.plots = await page.locator('#plots svg path.live').count();
  } else {
    out.figures = await page.evaluate(inPage.figures);
    out.heading = await page.evaluate(() => document.querySelector('header').textContent);
    out.notes = await page.evaluate(() => Array.from(document.querySelectorAll('.notes li'), n => n.textContent));
    out.first = await page.evaluate(() => document.querySelector('#questions [aria-checked=true]').dataset.value);
    out.unit = await page.evaluate(() => document.querySelector('#units [aria-checked=true]').dataset.value);
    out.ids = await page.evaluate(() => Array.from(document.querySelectorAll('#questions button'), b => b.dataset.value));
    out.questions = {};
    for (const id of what.questions || out.ids) out.questions[id] = await question(page, id);
    await page.click(`#questions [data-value=${out.first}]`);
    await page.click('#units [data-value=blocks]');
    out.by_blocks = await page.evaluate(inPage.flame);
    await page.click('#units [data-value=bytes]');
    if (what.pattern) await search(page, out);
    if (what.bad) await bad(page, out);
    if (what.zoom) await zoom(page, out);
    if (what.sort) await sort(page, out);
    if (what.keys) await keys(page, out);
    // the data of the page, and whether it would load anything
    out.data = what.data && await page.evaluate(() => JSON.parse(document.getElementById('data').textContent));
    out.overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    out.pwned = await page.evaluate(() => window.pwned);
    out.elements = await page.evaluate(() => document.querySelectorAll('img, iframe, object, embed, link, script:not(#data)').length);
    out.errors = errors.slice();
    out.refused = await page.evaluate(() => new Promise(done => {
      document.addEventListener('securitypolicyviolation', e => done(e.violatedDirective));
      fetch('http://127.0.0.1:9/').catch(() => setTimeout(() => done('nothing'), 500));
    }));
  }
  out.requests = requests;
  await browser.close();
  console.log(JSON.stringify(out));
})();
