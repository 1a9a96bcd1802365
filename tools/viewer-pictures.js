// SPDX-License-Identifier: Apache-2.0
// viewer-pictures.js NAME DIRECTORY - opens DIRECTORY's file in a viewer that is a web page, and
// writes DIRECTORY/NAME.png. For tools/viewer-pictures.
const {chromium} = require('playwright-core');
const fs = require('fs');
const http = require('http');
const path = require('path');
const [name, folder] = process.argv.slice(2);
const file = f => path.join(folder, f);

// Serves the pages of a package over HTTP: from file: URLs they may not load the files next to
// them.
function serve(root) {
  return new Promise(done => {
    const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm'};
    const server = http.createServer((asked, answer) => {
      const at = path.join(root, decodeURIComponent(asked.url.split(/[?#]/)[0]));
      if (!fs.existsSync(at))
        return answer.writeHead(404).end();
      answer.writeHead(200, {'Content-Type': types[path.extname(at)] || 'application/octet-stream'});
      answer.end(fs.readFileSync(at));
    }).listen(0, 'localhost', () => done([`http://localhost:${server.address().port}`, server]));
  });
}

const viewers = {
  async pprof(page) {
    await page.setViewportSize({width: 1100, height: 270});
    await page.goto(process.env.PPROF + '/ui/flamegraph?si=inuse_space');
  },
  async svg(page) {
    await page.setViewportSize({width: 1200, height: 300});
    await page.goto('file://' + file('app.svg'));
    const svg = page.locator('svg').first();
    const box = await svg.boundingBox();
    return {x: 0, y: 0, width: box.width, height: Math.min(700, box.height)};
  },
  async html(page) {
    await page.setViewportSize({width: 1200, height: 1290});
    await page.goto('file://' + file('app.html'));
  },
  async dhat(page) {
    await page.setViewportSize({width: 1100, height: 560});
    await page.goto('file:///usr/libexec/valgrind/dh_view.html');
    await page.locator('input[type=file]').setInputFiles(file('app.dhat.json'));
    await page.locator('select').selectOption({label: 'At t-gmax (bytes)'});
  },
  async speedscope(page) {
    const [url, server] = await serve(path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release'));
    await page.setViewportSize({width: 1100, height: 330});
    await page.goto(url + '/index.html');
    await page.locator('input[type=file]').setInputFiles(file('app.speedscope.json'));
    await page.waitForTimeout(2000);
    await page.keyboard.press('2'); // "left heavy"
    server.closeAllConnections();
    server.close();
  },
};

(async () => {
  // With a window: headless mode has no WebGL.
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', headless: false,
                                         args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']});
  try {
    const page = await browser.newPage();
    const clip = await viewers[name](page);
    await page.waitForTimeout(1500);
    await page.screenshot({path: file(name + '.png'), ...(clip ? {clip} : {})});
  } finally {
    await browser.close();
  }
})().catch(e => {
  console.error(`viewer-pictures: ${name}: ${e.message}`);
  process.exit(1);
});
