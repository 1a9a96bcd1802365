// SPDX-License-Identifier: Apache-2.0
"use strict";
// The script of flame graphs, see svg.c: zoom by click, search by the word or Ctrl-F, Escape to leave.
(function () {
	const svg = document.documentElement, width = 1200, letter = 7.4;
	const total = Number(svg.dataset.total) || 1;
	const frames = Array.from(document.querySelectorAll(".f")).map(g => ({
		g, rect: g.querySelector("rect"), text: g.querySelector("text"),
		x: Number(g.dataset.x), w: Number(g.dataset.w), d: Number(g.dataset.d), name: g.dataset.n,
	}));
	const reset = document.getElementById("reset"), found = document.getElementById("found");
	const root = frames.find(f => f.d === 0);
	let zoomed = root, pattern = null;

	function label(f, px) {
		const room = px > 3 * letter ? Math.floor(px / letter) : 0;
		f.text.textContent = room === 0 ? "" : f.name.length <= room ? f.name : f.name.slice(0, room - 2) + "..";
	}
	function zoom(to) {
		const from = to.x, span = to === root ? total : to.w || 1, scale = width / span;
		zoomed = to;
		for (const f of frames) {
			const above = f.d < to.d && f.x <= from && f.x + f.w >= from + to.w;
			const below = f.d >= to.d && f.x >= from && f.x + f.w <= from + span;
			f.g.style.display = above || below ? "" : "none";
			f.g.classList.toggle("up", above);
			if (!above && !below) continue;
			const x = above ? 0 : (f.x - from) * scale, w = above ? width : f === root ? width : f.w * scale;
			f.rect.setAttribute("x", x);
			f.rect.setAttribute("width", w);
			f.text.setAttribute("x", x + 3);
			label(f, w);
		}
		reset.setAttribute("visibility", to === root ? "hidden" : "visible");
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
	document.getElementById("search").addEventListener("click", ask);
	window.addEventListener("keydown", e => {
		if (e.key === "F3" || (e.ctrlKey && e.key === "f")) { e.preventDefault(); ask(); }
		else if (e.key === "Escape") { search(""); zoom(root); }
	});
	window.heaplapse = {zoom: name => zoom(frames.find(f => f.name === name) || root), search};
})();
