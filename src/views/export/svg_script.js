// SPDX-License-Identifier: Apache-2.0
"use strict";
// The script of flame graphs, see svg.c: zoom by click, search by the word, / or Ctrl-F, Escape to leave.
(function () {
	const svg = document.documentElement, top = 70, row = 17, bottom = 10, letter = 7.4, margin = 3;
	const total = Number(svg.dataset.total) || 1;
	const frames = Array.from(document.querySelectorAll(".f")).map(g => ({
		g, rect: g.querySelector("rect"), text: g.querySelector("text"),
		x: Number(g.dataset.x), w: Number(g.dataset.w), d: Number(g.dataset.d), name: g.dataset.n,
		forms: [g.dataset.n].concat(g.dataset.s ? g.dataset.s.split("\n") : []).map(s => Array.from(s)),
	}));
	const byId = id => document.getElementById(id);
	const reset = byId("reset"), found = byId("found"), title = byId("title"), heading = Array.from(title.textContent);
	const root = frames.find(f => f.d === 0);
	let zoomed = root, pattern = null, width = 0;

	// The longest form of the name that fits, or the last one without its middle.
	function label(f, px) {
		const room = Math.floor((px - 2 * margin) / letter);
		if (room < 3) return "";
		const form = f.forms.find(s => s.length <= room);
		if (form) return form.join("");
		const last = f.forms[f.forms.length - 1], tail = Math.floor((room - 1) / 3);
		return last.slice(0, room - 1 - tail).join("") + "…" + (tail ? last.slice(-tail).join("") : "");
	}
	// Frames narrower than a pixel are not drawn.
	function draw() {
		const from = zoomed.x, span = zoomed === root ? total : zoomed.w || 1, scale = width / span;
		let rows = 1;
		for (const f of frames) {
			const above = f.d < zoomed.d && f.x <= from && f.x + f.w >= from + zoomed.w;
			const below = f.d >= zoomed.d && f.x >= from && f.x + f.w <= from + span;
			const x = above ? 0 : (f.x - from) * scale, w = above || f === root ? width : f.w * scale;
			f.g.classList.toggle("up", above);
			if (!(above || below) || (w < 1 && f !== zoomed)) {
				f.g.setAttribute("display", "none");
				continue;
			}
			f.g.removeAttribute("display");
			f.rect.setAttribute("x", x);
			f.rect.setAttribute("width", w);
			f.text.setAttribute("x", x + margin);
			f.text.textContent = label(f, w);
			rows = Math.max(rows, f.d + 1);
		}
		svg.setAttribute("height", top + rows * row + bottom);
		reset.setAttribute("visibility", zoomed === root ? "hidden" : "visible");
	}
	function zoom(to) { zoomed = to; draw(); resize(); }
	function cutHeading() {
		title.textContent = heading.join("");
		const full = title.getComputedTextLength(), room = width - 2 * margin;
		if (full > room) title.textContent = heading.slice(0, Math.max(1, Math.floor(heading.length * room / full) - 2)).join("") + "…";
	}
	// The picture has the width of the window. Its height may bring a scroll bar, which makes it narrower again.
	function resize() {
		for (let turn = 0; turn < 2; turn++) {
			const now = svg.getBoundingClientRect().width;
			if (!now || now === width) return;
			width = now;
			byId("search").setAttribute("x", width - margin);
			found.setAttribute("x", width - 60);
			cutHeading();
			draw();
		}
	}
	// A stack counts once, however many of its frames match.
	function search(text) {
		let hit = 0, end = -1;
		pattern = null;
		if (text) {
			try { pattern = new RegExp(text, "i"); }
			catch { pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
		}
		const hits = frames.filter(f => f !== root && pattern && pattern.test(f.name));
		for (const f of frames) f.g.classList.remove("hit");
		for (const f of hits) f.g.classList.add("hit");
		for (const f of hits.sort((a, b) => a.x - b.x || b.w - a.w)) {
			if (f.x >= end) { hit += f.w; end = f.x + f.w; }
		}
		found.textContent = pattern ? "found: " + (hit * 100 / total).toFixed(2) + "%" : "";
		svg.dataset.found = pattern ? hit : "";
	}
	svg.addEventListener("click", e => {
		const g = e.target.closest && e.target.closest(".f");
		if (g) zoom(frames.find(f => f.g === g));
	});
	reset.addEventListener("click", () => zoom(root));
	function ask() {
		const text = prompt("part of a name, or a regular expression; empty: no search", pattern ? pattern.source : "");
		if (text !== null) search(text);
	}
	byId("search").addEventListener("click", ask);
	window.addEventListener("keydown", e => {
		if (e.key === "F3" || e.key === "/" || (e.ctrlKey && e.key === "f")) { e.preventDefault(); ask(); }
		else if (e.key === "Escape") { search(""); zoom(root); }
	});
	window.addEventListener("resize", resize);
	byId("search").setAttribute("visibility", "visible");
	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	resize();
	window.heaplapse = {zoom: name => zoom(frames.find(f => f.name === name) || root), search};
})();
