// SPDX-License-Identifier: Apache-2.0
// svg_look.js FILE - opens a flame graph in chromium in windows of several widths, light and dark.
// Prints as JSON what can be seen in each.
const {chromium} = require('playwright-core');
const [file] = process.argv.slice(2);

function look() {
  const fill = e => getComputedStyle(e).fill;
  const seen = Array.from(document.querySelectorAll('.f')).filter(g => g.getAttribute('display') !== 'none').map(g => {
    const rect = g.querySelector('rect'), text = g.querySelector('text'), r = rect.getBoundingClientRect();
    return {name: g.dataset.n, depth: Number(g.dataset.d), w: Number(g.dataset.w), left: r.left, right: r.right, top: r.top, text: text.textContent,
            fits: text.textContent === '' || text.getBBox().x + text.getComputedTextLength() <= r.right + .5, fill: fill(rect), ink: fill(text),
            tip: g.querySelector('title').textContent};
  });
  const legend = {}, title = document.getElementById('title');
  for (const g of document.querySelectorAll('#legend > g')) legend[g.querySelector('text').textContent] = fill(g.querySelector('rect'));
  return {seen, legend, frames: document.querySelectorAll('.f').length, card: fill(document.getElementById('card')), ink: fill(title),
          width: document.documentElement.getBoundingClientRect().width, height: Number(document.documentElement.getAttribute('height')),
          title: title.getBoundingClientRect().right, scrolled: scrollY, wide: document.documentElement.scrollWidth > innerWidth};
}

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--no-sandbox']});
  const out = {looks: [], errors: [], asked: 0};
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({viewport: {width: 1200, height: 700}, colorScheme});
    page.on('pageerror', e => out.errors.push(String(e)));
    page.on('request', () => out.asked++);
    await page.goto('file://' + file);
    for (const width of [1200, 600, 2400]) {
      await page.setViewportSize({width, height: 700});
      await page.waitForFunction(w => Math.abs(document.documentElement.getBoundingClientRect().width - w) < 20 &&
        Math.abs(document.querySelector('.f rect').getBoundingClientRect().width - document.documentElement.getBoundingClientRect().width) < 1, width);
      out.looks.push({window: width, colorScheme, ...await page.evaluate(look)});
    }
    await page.close();
  }
  await browser.close();
  console.log(JSON.stringify(out));
})();
