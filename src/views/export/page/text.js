// SPDX-License-Identifier: Apache-2.0
// text.js - formats numbers as `report` does, and creates elements.

function bytesText(n) {
	let v = n, u = -1;
	if (n < 1024) return n + " B";
	while (v >= 1023.95 && u < 5) { v /= 1024; u++; }
	if (u < 0) { v /= 1024; u = 0; }
	return v.toFixed(1) + " " + "KMGTPE"[u] + "iB";
}
function countText(n) { return n.toLocaleString("en-US"); }
function unitText(n, unit) { return unit === "bytes" ? bytesText(n) : countText(n); }
function durationText(ns) {
	if (ns < 1e3) return ns + " ns";
	if (ns < 1e6) return (ns / 1e3).toFixed(1) + " us";
	if (ns < 1e9) return (ns / 1e6).toFixed(1) + " ms";
	return (ns / 1e9).toFixed(3) + " s";
}
function percentText(part, whole) { return (whole ? part * 100 / whole : 0).toFixed(1) + "%"; }
function plural(n, one, many) { return countText(n) + " " + (n === 1 ? one : many || one + "s"); }
function valueText(v) { return bytesText(v.bytes) + (v.margin ? " ± " + bytesText(v.margin) : "") + " in " + plural(v.blocks, "block"); }
function sentence(s) { return s[0].toUpperCase() + s.slice(1) + "."; }
function baseName(path) { return path.slice(path.lastIndexOf("/", path.length - 2) + 1); }

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes) {
	const e = document.createElementNS(SVG, tag);
	for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
	return e;
}
// All attributes are set as such, except text, class names and click handlers.
function el(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attributes || {})) {
		if (v === undefined || v === null || v === false) continue;
		if (k === "text") e.textContent = v;
		else if (k === "onclick") e.addEventListener("click", v);
		else e.setAttribute(k, v === true ? "" : v);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}
function byId(id) { return document.getElementById(id); }

// --- one tooltip for all ---
const tip = byId("tip");
function showTip(lines, x, y) {
	tip.replaceChildren(...lines.filter(l => l).map((l, i) => el(i ? "div" : "strong", {text: l})));
	tip.hidden = false;
	const r = tip.getBoundingClientRect(), w = document.documentElement.clientWidth, h = window.innerHeight;
	tip.style.left = Math.max(4, Math.min(x + 14, w - r.width - 6)) + "px";
	tip.style.top = (y + 18 + r.height > h ? Math.max(4, y - r.height - 10) : y + 18) + "px";
}
function hideTip() { tip.hidden = true; }
