// SPDX-License-Identifier: Apache-2.0
// svg.js FILE NAME PATTERN - opens a flame graph in chromium. Prints as JSON what the page shows at
// first, after a click on NAME (zoom), and after a search for PATTERN.
const {chromium} = require('playwright-core');
const [file, name, pattern] = process.argv.slice(2);

function frames(all) {
  return Array.from(document.querySelectorAll('.f')).filter(g => all || g.getAttribute('display') !== 'none').map(g => {
    const r = g.querySelector('rect').getBoundingClientRect();
    return {name: g.dataset.n, depth: Number(g.dataset.d), w: Number(g.dataset.w), x: Number(g.dataset.x), left: r.left, width: r.width,
            top: r.top, hit: g.classList.contains('hit')};
  });
}

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--no-sandbox']});
  const page = await browser.newPage({viewport: {width: 1220, height: 800}});
  const errors = [], asked = [];
  page.on('pageerror', e => errors.push(String(e)));
  page.on('request', r => asked.push(r.url()));
  page.on('dialog', d => d.accept(pattern));
  await page.goto('file://' + file);
  const out = {total: await page.evaluate(() => Number(document.documentElement.dataset.total)), first: await page.evaluate(frames),
               all: await page.evaluate(frames, true), width: await page.evaluate(() => document.documentElement.getBoundingClientRect().width)};
  out.title = await page.evaluate(() => document.getElementById('title').textContent);
  const place = out.first.find(f => f.name === name);
  if (place) {
    await page.mouse.click(place.left + place.width / 2, place.top + 5);
    out.zoomed = await page.evaluate(frames);
    out.resettable = await page.locator('#reset').isVisible();
    await page.click('#reset');
    out.back = await page.evaluate(frames);
  }
  await page.click('#search');
  out.found = await page.evaluate(() => ({text: document.getElementById('found').textContent, cost: Number(document.documentElement.dataset.found)}));
  out.searched = await page.evaluate(frames);
  await page.keyboard.press('Escape');
  out.left = (await page.evaluate(frames)).filter(f => f.hit).length;
  out.errors = errors;
  out.asked = asked.length;
  await browser.close();
  console.log(JSON.stringify(out));
})();
