// SPDX-License-Identifier: Apache-2.0
// flame.js - the flame graph: a box for each frame that is wide enough to be visible, below its caller; if bottom-up, above it.

const flame = {box: byId("flame-graph"), zoomed: null, tree: null, focused: null};
const ROW = 21, NARROWEST = .8;

function sizeOf(node) { return node[state.unit]; }
function sortedBySize(nodes) {
	return state.unit === "bytes" ? nodes : nodes.slice().sort((a, b) => b.blocks - a.blocks || b.bytes - a.bytes);
}
function describe(node) {
	const whole = flame.tree.root, f = node.frame;
	return [f ? f.name : state.question.what, `${valueText(node)}, ${percentText(sizeOf(node), sizeOf(whole))} of all`,
		node.selfBlocks ? `${state.flame === "up" ? "of stacks that start here" : "itself"} ${bytesText(node.selfBytes)} in ${plural(node.selfBlocks, "block")}` : "", f ? f.where : "", f ? f.module : ""];
}
function frameBox(node, left, width, row, kind) {
	const f = node.frame, box = document.createElement("div");
	const name = f ? nameOf(f) : "all";
	box.className = "frame " + kind + (f ? ["", " library", " called", " whole", " whole", " runtime"][f.kind] : " whole") + (isHit(f) ? " hit" : "");
	box.style.cssText = `left:${left}%;width:${width}%;top:${row * ROW}px;--v:${f ? f.hue : 0}`;
	box.textContent = width > .6 ? name : "";
	box.tabIndex = -1;
	box.setAttribute("role", "treeitem");
	box.setAttribute("aria-level", node.depth + 1);
	box.setAttribute("aria-label", `${name}, ${unitText(sizeOf(node), state.unit)}${state.unit === "blocks" ? " blocks" : ""}, ` +
		percentText(sizeOf(node), sizeOf(flame.tree.root)));
	box.dataset.bytes = node.bytes;
	box.dataset.blocks = node.blocks;
	box.dataset.depth = node.depth;
	box.node = node;
	return box;
}
function otherBox(node, left, width, row) {
	const box = document.createElement("div");
	box.className = "frame left-out";
	box.style.cssText = `left:${left}%;width:${width}%;top:${row * ROW}px`;
	box.textContent = "other";
	box.dataset.bytes = node.other.bytes;
	box.dataset.blocks = node.other.blocks;
	box.other = node.other;
	return box;
}
// Adds the boxes below a node that begins at `left`, in percent of the whole width.
function addBelow(boxes, node, left, width, row, narrowest) {
	const pending = [[node, left, width, row]];
	let rows = row + 1;
	while (pending.length) {
		const [n, x, w, r] = pending.pop();
		const scale = w / (sizeOf(n) || 1);
		let at = x;
		for (const c of sortedBySize(n.children)) {
			const cw = sizeOf(c) * scale;
			if (cw >= narrowest) {
				boxes.push(frameBox(c, at, cw, r + 1, ""));
				pending.push([c, at, cw, r + 1]);
				rows = Math.max(rows, r + 2);
			}
			at += cw;
		}
		if (n.other && n.other[state.unit] * scale >= narrowest) {
			boxes.push(otherBox(n, at, n.other[state.unit] * scale, r + 1));
			rows = Math.max(rows, r + 2);
		}
	}
	return rows;
}
function drawFlame() {
	const tree = treeOf(state.question, state.flame), boxes = [];
	byId("flame-hint").textContent = state.flame === "up" ? "Allocation functions above, their callers below." : "Callers above, callees below.";
	if (flame.tree !== tree) { flame.tree = tree; flame.zoomed = tree && tree.root; flame.focused = null; }
	byId("flame-path").replaceChildren();
	if (!tree || tree.root.blocks === 0) {
		flame.box.replaceChildren(el("p", {class: "unknown", text: nothingText()}));
		flame.box.style.height = "auto";
		byId("flame-other").textContent = "";
		return;
	}
	const up = [];
	for (let n = flame.zoomed; n; n = n.parent) up.unshift(n);
	up.forEach((n, row) => boxes.push(frameBox(n, 0, 100, row, n === flame.zoomed ? "" : "up")));
	const rows = addBelow(boxes, flame.zoomed, 0, 100, up.length - 1, NARROWEST * 100 / (flame.box.clientWidth || 1000));
	flame.box.style.height = rows * ROW + "px";
	flame.box.replaceChildren(...boxes);
	(boxes.find(b => b.node === flame.focused) || boxes[0]).tabIndex = 0;
	if (flame.zoomed !== tree.root)
		byId("flame-path").append(el("button", {type: "button", id: "flame-reset", text: "Show all", onclick: () => zoomFlame(tree.root)}),
			el("span", {text: `${nameOf(flame.zoomed.frame)}: ${valueText(flame.zoomed)}, ${percentText(sizeOf(flame.zoomed), sizeOf(tree.root))} of all`}));
	byId("flame-other").textContent = leftText(tree.left, "frame");
}
function zoomFlame(node) {
	const focus = flame.box.contains(document.activeElement);
	flame.zoomed = node;
	flame.focused = node;
	hideTip();
	drawFlame();
	if (focus) focusFlame(node);
}
function focusFlame(node) {
	const boxes = Array.from(flame.box.children), to = boxes.find(b => b.node === node);
	if (!to) return;
	for (const b of boxes) b.tabIndex = b === to ? 0 : -1;
	flame.focused = node;
	to.focus({preventScroll: false});
	const r = to.getBoundingClientRect();
	showTip(describe(node), r.left, r.bottom - 10);
}
function walkFlame(key, node) {
	const shown = new Set(Array.from(flame.box.children, b => b.node));
	const beside = node.parent ? sortedBySize(node.parent.children).filter(n => shown.has(n)) : [];
	const next = {
		ArrowUp: node.parent, ArrowDown: sortedBySize(node.children).find(n => shown.has(n)),
		ArrowLeft: beside[beside.indexOf(node) - 1], ArrowRight: beside[beside.indexOf(node) + 1],
	}[key];
	if (next) focusFlame(next);
}
function startFlame() {
	const boxOf = e => e.target.closest && e.target.closest(".frame");
	flame.box.addEventListener("click", e => { const b = boxOf(e); if (b && b.node) zoomFlame(b.node); });
	flame.box.addEventListener("pointermove", e => {
		const b = boxOf(e);
		if (!b) return hideTip();
		showTip(b.node ? describe(b.node) : [`other: ${plural(b.other.nodes, "frame")} that this page leaves out`, valueText(b.other)], e.clientX, e.clientY);
	});
	flame.box.addEventListener("pointerleave", hideTip);
	flame.box.addEventListener("focusout", hideTip);
	flame.box.addEventListener("keydown", e => {
		const node = document.activeElement && document.activeElement.node;
		if (!node) return;
		if (e.key === "Enter" || e.key === " ") zoomFlame(node);
		else if (e.key === "Escape" && flame.zoomed !== flame.tree.root) { e.stopPropagation(); zoomFlame(flame.zoomed.parent); }
		else if (e.key.startsWith("Arrow")) walkFlame(e.key, node);
		else return;
		e.preventDefault();
	});
	let width = 0;
	new ResizeObserver(() => {
		if (flame.box.clientWidth === width) return;
		width = flame.box.clientWidth;
		drawFlame();
	}).observe(flame.box);
}
