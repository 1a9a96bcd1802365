// SPDX-License-Identifier: Apache-2.0
// driver.js - a browser that a test operates like a user: one command as JSON on each line of the input, one answer on
// each line of the output. browser.py is its other end.
const { readFileSync } = require('fs');
const { createInterface } = require('readline');
const { chromium } = require('playwright-core');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const TIME_MS = 30000;

let context, page, problems = [], requests = [];

// Errors of the page, and what its security policy refused, fail every test.
function watch(one) {
  one.on('pageerror', e => problems.push(`error: ${e.message}`));
  one.on('console', m => {
    // a refused query is shown by the page; the browser logs it, too
    if (m.type() === 'error' && !/Failed to load resource: the server responded/.test(m.text())) problems.push(`console: ${m.text()}`);
  });
  one.on('request', r => requests.push(r.url()));
}

const commands = {
  async start({ profile, width, height, dark, scale }) {
    context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env.CHROMIUM, headless: true, args: FLAGS, viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light', deviceScaleFactor: scale || 1, permissions: ['clipboard-read', 'clipboard-write']});
    page = context.pages()[0] || await context.newPage();
    page.setDefaultTimeout(TIME_MS);
    watch(page);
  },
  open: ({ url }) => page.goto(url).then(() => null),
  // Waits until all answers that are shown are those that were asked for.
  async ready() {
    await page.waitForSelector('#view, .failure');
    await page.waitForFunction(() => {
      const boxes = document.querySelectorAll('[data-ready]');
      return document.querySelector('.failure h1') || (boxes.length && [...boxes].every(b => b.dataset.ready === 'true'));
    });
  },
  click: ({ where, options }) => page.click(where, options),
  press: ({ key, where }) => where ? page.press(where, key) : page.keyboard.press(key),
  fill: ({ where, text }) => page.fill(where, text),
  choose: ({ where, value }) => page.selectOption(where, value).then(() => null),
  // From one place of an element to another, as shares of its size.
  async drag({ where, from, to, hold }) {
    const r = await page.locator(where).boundingBox();
    const at = ([x, y]) => [r.x + x * r.width, r.y + y * r.height];
    await page.mouse.move(...at(from));
    await page.mouse.down();
    for (let i = 1; i <= 8; i++) await page.mouse.move(...at([from[0] + (to[0] - from[0]) * i / 8, from[1] + (to[1] - from[1]) * i / 8]));
    if (!hold) await page.mouse.up();
  },
  async clickAt({ where, at }) {
    const r = await page.locator(where).boundingBox();
    await page.mouse.click(r.x + at[0] * r.width, r.y + at[1] * r.height);
  },
  async move({ where, at }) {
    const r = await page.locator(where).first().boundingBox();
    await page.mouse.move(r.x + at[0] * r.width, r.y + at[1] * r.height);
  },
  async wheel({ where, at, by }) {
    const r = await page.locator(where).boundingBox();
    await page.mouse.move(r.x + at[0] * r.width, r.y + at[1] * r.height);
    await page.mouse.wheel(0, by);
  },
  back: () => page.goBack().then(() => null),
  forward: () => page.goForward().then(() => null),
  reload: () => page.reload().then(() => null),
  look: ({ script }) => page.evaluate(script),
  // Playwright's own waiting for an expression needs eval() in the page, which its policy refuses.
  async waitFor({ script }) {
    for (const end = Date.now() + TIME_MS; !await page.evaluate(script);) {
      if (Date.now() > end) throw new Error(`not true within ${TIME_MS} ms: ${script}`);
      await new Promise(done => setTimeout(done, 50));
    }
  },
  texts: ({ where }) => page.locator(where).allInnerTexts(),
  url: () => page.url(),
  clipboard: () => page.evaluate(() => navigator.clipboard.readText()),
  size: ({ width, height }) => page.setViewportSize({ width, height }),
  screenshot: ({ path, full }) => page.screenshot({ path, fullPage: full }).then(() => null),
  problems: () => problems.splice(0),
  requests: () => requests.splice(0),
  async axe() {
    await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')); // a script element is refused
    const found = await page.evaluate(() => window.axe.run());
    return found.violations.map(v => ({ id: v.id, impact: v.impact, nodes: v.nodes.map(n => n.html) }));
  },
  stop: () => context.close(),
};

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer;
    try {
      answer = { value: await commands[command.do](command) ?? null };
    } catch (e) {
      answer = { error: `${command.do}: ${e.message}` };
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
    if (command.do === 'stop') break;
  }
  process.exit(0);
}

main();
