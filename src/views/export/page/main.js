// SPDX-License-Identifier: Apache-2.0
// main.js - the switches, the search, the keys and the address; all views are drawn from here.

function makeSwitch(id, choices, chosen, choose) {
	const box = byId(id);
	const buttons = choices.map(c => el("button", {type: "button", role: "radio", "data-value": c.value, title: c.hint, onclick: () => pick(c.value)},
		el("span", {text: c.title}), c.more ? el("small", {text: c.more}) : null));
	function show(value) {
		for (const b of buttons) {
			b.setAttribute("aria-checked", String(b.dataset.value === value));
			b.tabIndex = b.dataset.value === value ? 0 : -1;
		}
	}
	function pick(value) { show(value); choose(value); }
	box.replaceChildren(...buttons);
	box.addEventListener("keydown", e => {
		const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
		if (!step) return;
		e.preventDefault();
		const to = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
		to.focus();
		pick(to.dataset.value);
	});
	show(chosen);
	return show;
}

function drawAsked() {
	const q = state.question, when = q.moment ? `at ${durationText(q.to_ns)}` : `from ${durationText(q.from_ns)} to ${durationText(q.to_ns)}`;
	byId("asked").textContent = q.unknown ? `${q.what}: not known of this trace. ${sentence(q.unknown)}` :
		`${q.what}, ${when}${q.asked_ns === undefined ? "" : ` (the last moment that is known before ${durationText(q.asked_ns)}, which was asked for)`}: ` +
		valueText(q);
}
// Each stack with a match counts once.
function drawFound() {
	const t = treeOf(state.question, "down"), out = byId("found");
	out.textContent = "";
	delete out.dataset.bytes;
	if (!state.pattern || !t) return;
	let bytes = 0, blocks = 0, hits = 0;
	const pending = [t.root];
	while (pending.length) {
		const n = pending.pop();
		if (isHit(n.frame)) { bytes += n.bytes; blocks += n.blocks; } else pending.push(...n.children);
	}
	for (const n of t.nodes) hits += isHit(n.frame);
	const found = {bytes, blocks};
	out.dataset.bytes = bytes;
	out.dataset.blocks = blocks;
	out.textContent = hits ? `${plural(hits, "frame")}, ${percentText(found[state.unit], t.root[state.unit])}` : "nothing found";
	if (state.plain) out.textContent += " (not a valid regular expression: searched for literally)";
}
function draw() {
	drawAsked();
	drawFound();
	drawFlame();
	drawTree();
	drawSites();
	drawLists();
	const h = new URLSearchParams({q: state.question.id, u: state.unit, d: state.direction, f: state.flame});
	if (state.pattern) h.set("s", byId("find").value);
	try { history.replaceState(null, "", "#" + h); } catch { /* some viewers of mail do not let a page have an address */ }
}
function search(text) {
	state.pattern = null;
	state.plain = false;
	if (text) {
		try { state.pattern = new RegExp(text, "i"); }
		catch { state.plain = true; state.pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
	}
	tree.shown = null; // opens the matches
	draw();
}

function readAddress() {
	const h = new URLSearchParams(location.hash.slice(1));
	state.question = data.questions.find(q => q.id === h.get("q")) || state.question;
	if (["bytes", "blocks"].includes(h.get("u"))) state.unit = h.get("u");
	if (["down", "up"].includes(h.get("d"))) state.direction = h.get("d");
	if (["down", "up"].includes(h.get("f"))) state.flame = h.get("f");
	if (h.get("s")) {
		byId("find").value = h.get("s");
		return h.get("s");
	}
	return "";
}
function startKeys() {
	const find = byId("find");
	let timer = 0;
	find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => search(find.value), 120); });
	find.addEventListener("keydown", e => {
		if (e.key === "Enter") { clearTimeout(timer); search(find.value); }
		if (e.key === "Escape") { clearTimeout(timer); find.value = ""; search(""); find.blur(); }
	});
	document.addEventListener("keydown", e => {
		if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(input|textarea|select)$/i.test(document.activeElement.tagName)) return;
		e.preventDefault();
		find.focus();
		find.select();
	});
	byId("full").addEventListener("change", e => { state.full = e.target.checked; draw(); });
}
function start() {
	const text = readAddress();
	for (const e of document.querySelectorAll(".needs-script")) e.hidden = false;
	makeSwitch("questions", data.questions.map(q => ({value: q.id, title: q.name, hint: q.what, more: q.unknown ? "not known" : bytesText(q.bytes)})),
		state.question.id, id => { state.question = data.questions.find(q => q.id === id); draw(); });
	makeSwitch("units", [{value: "bytes", title: "bytes"}, {value: "blocks", title: "blocks"}], state.unit, u => { state.unit = u; draw(); });
	const ways = [{value: "down", title: "top-down", hint: "the outermost function first"}, {value: "up", title: "bottom-up", hint: "the allocating function first"}];
	makeSwitch("directions", ways, state.direction, d => { state.direction = d; draw(); });
	makeSwitch("flame-directions", ways, state.flame, d => { state.flame = d; draw(); });
	startTimeline();
	startFlame();
	startTree();
	startKeys();
	search(text);
}
start();
})();
