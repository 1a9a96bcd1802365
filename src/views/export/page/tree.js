// SPDX-License-Identifier: Apache-2.0
// tree.js - the call tree as a table with rows that open, and the sortable columns of all tables.

// A column: id, title, value(row) to sort by, cell(row) to show; `wide` is not for narrow screens.
function headRow(columns, sort, onsort) {
	return el("tr", {role: "row"}, ...columns.map(c => el("th",
		{scope: "col", role: "columnheader", class: [c.text ? "" : "n", c.wide ? "wide" : "", c.chosen ? "chosen" : ""].join(" ").trim() || null,
			"aria-sort": c.value ? sort.by === c.id ? sort.up ? "ascending" : "descending" : "none" : null, title: c.hint},
		c.value ? el("button", {type: "button", "data-sort": c.id, text: c.title, onclick: () => onsort(c)}) : document.createTextNode(c.title))));
}
function sortBy(sort, column) {
	if (sort.by === column.id) sort.up = !sort.up;
	else { sort.by = column.id; sort.up = !!column.text; }
}
function sorted(rows, columns, sort) {
	const c = columns.find(k => k.id === sort.by), sign = sort.up ? 1 : -1;
	if (!c) return rows.slice();
	return rows.map(r => [c.value(r), r]).sort(([a], [b]) => a === b ? 0 : a === null ? 1 : b === null ? -1 : sign * (a < b ? -1 : 1)).map(([, r]) => r);
}
function shareCell(part, whole) {
	const share = whole ? part * 100 / whole : 0, bar = el("i", {});
	bar.style.width = Math.min(100, share) + "%";
	return el("span", {class: "share"}, bar, el("b", {text: share.toFixed(1) + "%"}));
}
function nameCell(frame) {
	return [el("span", {class: "name" + (isHit(frame) ? " hit" : ""), title: frame.name, text: nameOf(frame)}),
		frame.place ? el("small", {text: frame.place, title: frame.where || frame.module}) : null];
}
function bytesCell(n) { return el("data", {value: n, class: n ? null : "zero", title: countText(n) + " B", text: bytesText(n)}); }
function countCell(n) { return el("data", {value: n, class: n ? null : "zero", text: countText(n)}); }

const tree = {table: byId("tree-table"), sort: {by: null, up: false}, open: new Set(), focused: null, shown: null, ways: null, inside: null};
const ROWS_MAX = 2000, CHAIN_MAX = 40;

function treeColumns(root) {
	const down = state.direction === "down";
	const hint = down ? "allocated by the function itself" : "of stacks that start at this function, or whose callers are not shown separately";
	const self = (n, unit) => n.isOther || down && n.frame.kind === CALLED ? null : n[(down ? "own" : "self") + unit];
	return [
		{id: "share", title: "Share", cell: n => shareCell(n[state.unit], root[state.unit])},
		{id: "bytes", title: "Total", value: n => n.bytes, cell: n => bytesCell(n.bytes), hint: "of this function and all below it"},
		{id: "blocks", title: "Blocks", value: n => n.blocks, cell: n => countCell(n.blocks)},
		{id: "self", title: down ? "Self" : "Starts here", value: n => self(n, "Bytes"), cell: n => self(n, "Bytes") === null ? "" : bytesCell(self(n, "Bytes")), hint},
		{id: "selfBlocks", title: down ? "Self blocks" : "Blocks", wide: true, value: n => self(n, "Blocks"),
			cell: n => self(n, "Blocks") === null ? "" : countCell(self(n, "Blocks")), hint},
		{id: "average", title: "Average", wide: true, value: n => n.bytes / (n.blocks || 1), cell: n => bytesText(Math.floor(n.bytes / (n.blocks || 1)))},
		{id: "name", title: down ? "Function and its callees" : "Function and its callers", text: true, value: n => n.frame.name.toLowerCase()},
	];
}
// During a search: the matches, the frames above and below them; all others are one row.
function shownChildren(node) {
	return tree.ways === null || tree.inside.has(node) ? node.children : node.children.filter(c => tree.ways.has(c));
}
function restOf(node) {
	const shown = shownChildren(node), rest = node.other ? {...node.other} : {nodes: 0, bytes: 0, blocks: 0};
	const left = node.children.length - shown.length;
	if (left) for (const c of node.children) if (!tree.ways.has(c)) { rest.bytes += c.bytes; rest.blocks += c.blocks; }
	rest.text = [left ? `${plural(left, "function")} without a match` : "", rest.nodes ? `${plural(rest.nodes, "frame")} not in this page` : ""]
		.filter(t => t).join(", ");
	return rest.text ? {...rest, parent: node, depth: node.depth + 1, isOther: true, children: []} : null;
}
function childrenOf(node, columns) { return sorted(sortedBySize(shownChildren(node)), columns, tree.sort); }
// A chain of single children is opened together with its first node.
function openNode(node) {
	for (let n = node, i = 0; i < CHAIN_MAX; i++) {
		tree.open.add(n);
		if (n.children.length !== 1 || n.other) break;
		n = n.children[0];
	}
}
function openHot(root) {
	let n = root;
	for (let i = 0; i < CHAIN_MAX && n.children.length; i++) {
		const most = sortedBySize(n.children)[0];
		if (sizeOf(most) * 2 < sizeOf(root) && i > 0) break;
		tree.open.add(most);
		n = most;
	}
}
function rowsOf(root, columns) {
	const rows = [], pending = [];
	const push = node => {
		const rest = restOf(node);
		if (rest) pending.push(rest);
		pending.push(...childrenOf(node, columns).reverse());
	};
	push(root);
	while (pending.length && rows.length < ROWS_MAX) {
		const n = pending.pop();
		rows.push(n);
		if (tree.open.has(n)) push(n);
	}
	return {rows, more: pending.length};
}
function canOpen(node) { return node.children.length > 0 || !!node.other && !node.isOther; }
function treeRow(node, columns) {
	const opens = canOpen(node), open = tree.open.has(node);
	const row = el("tr", {role: "row", "aria-level": node.depth, "aria-expanded": opens ? String(open) : null, tabindex: -1,
		class: node.isOther ? "other" : isHit(node.frame) ? "hit" : null});
	for (const c of columns.slice(0, -1))
		row.append(el("td", {role: "gridcell", class: c.wide ? "n wide" : "n"}, c.cell(node)));
	const indent = el("span", {class: "indent"});
	indent.style.width = Math.min(node.depth - 1, 60) * .9 + "em";
	row.append(el("td", {role: "gridcell", class: "what"}, indent, el("span", {class: "twist", "aria-hidden": "true", text: opens ? open ? "▾" : "▸" : ""}),
		...node.isOther ? [el("span", {class: "name", text: "other: " + node.text})] : nameCell(node.frame)));
	row.node = node;
	return row;
}
function drawTree() {
	const t = treeOf(state.question, state.direction), [head, body] = tree.table.children;
	if (!t || t.root.blocks === 0) {
		head.replaceChildren();
		body.replaceChildren(el("tr", {}, el("td", {class: "unknown", text: nothingText()})));
		byId("tree-other").textContent = "";
		return;
	}
	if (tree.shown !== t) { tree.shown = t; tree.open = new Set(); tree.focused = null; findHits(t); if (!tree.ways) openHot(t.root); }
	const columns = treeColumns(t.root), {rows, more} = rowsOf(t.root, columns);
	head.replaceChildren(headRow(columns, tree.sort, c => { sortBy(tree.sort, c); drawTree(); }));
	body.replaceChildren(...rows.map(n => treeRow(n, columns)));
	const first = Array.from(body.children).find(r => r.node === tree.focused) || body.firstChild;
	if (first) first.tabIndex = 0;
	byId("tree-other").textContent = (more ? `Only the first ${countText(ROWS_MAX)} rows are shown: close some. ` : "") + leftText(t.left, "frame");
}
// Nodes come after their parents.
function findHits(t) {
	tree.ways = null;
	if (!state.pattern) return;
	tree.ways = new Set();
	tree.inside = new Set();
	const hits = [];
	for (const n of t.nodes) {
		if (tree.inside.has(n.parent)) tree.inside.add(n);
		else if (isHit(n.frame)) { tree.inside.add(n); hits.push(n); }
	}
	for (const h of hits) for (let n = h; n.frame && !tree.ways.has(n); n = n.parent) tree.ways.add(n);
	for (const h of hits.sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, 100))
		for (let n = h.parent; n.frame; n = n.parent) tree.open.add(n);
}
function toggleNode(node) {
	if (tree.open.has(node)) tree.open.delete(node);
	else openNode(node);
	focusRow(node);
}
function focusRow(node, redraw = true) {
	tree.focused = node;
	if (redraw) drawTree();
	for (const r of tree.table.tBodies[0].children) {
		r.tabIndex = r.node === node ? 0 : -1;
		if (r.node === node) r.focus();
	}
}
function walkTree(e, row) {
	const node = row.node, opens = row.hasAttribute("aria-expanded"), open = tree.open.has(node);
	const to = {ArrowDown: row.nextSibling, ArrowUp: row.previousSibling, Home: row.parentNode.firstChild, End: row.parentNode.lastChild}[e.key];
	if (to) focusRow(to.node, false);
	else if (e.key === "Enter" || e.key === " ") { if (opens) toggleNode(node); }
	else if (e.key === "ArrowRight") { if (opens && !open) toggleNode(node); else if (open && row.nextSibling) focusRow(row.nextSibling.node, false); }
	else if (e.key === "ArrowLeft") { if (open) toggleNode(node); else if (node.parent && node.parent.frame) focusRow(node.parent, false); }
	else return;
	e.preventDefault();
}
// Opens as many nodes as can be shown, those nearest to the root first. Returns the number of nodes that stay closed.
function openAll(root) {
	const pending = [root];
	let i = 0;
	for (let rows = 0; i < pending.length && rows < ROWS_MAX; i++) {
		tree.open.add(pending[i]);
		rows += pending[i].children.length + 1;
		pending.push(...shownChildren(pending[i]));
	}
	return pending.slice(i).filter(n => canOpen(n) && !tree.open.has(n)).length;
}
function showAll() {
	const closed = openAll(tree.shown.root);
	drawTree();
	if (closed) byId("tree-other").prepend(`${plural(closed, "row")} stayed closed, as there is room for ${countText(ROWS_MAX)}. `);
}
function startTree() {
	const body = tree.table.tBodies[0];
	byId("open-all").addEventListener("click", () => { if (tree.shown) showAll(); });
	byId("close-all").addEventListener("click", () => { tree.open.clear(); drawTree(); });
	body.addEventListener("click", e => {
		const row = e.target.closest("tr");
		if (row && row.hasAttribute("aria-expanded") && !String(window.getSelection())) toggleNode(row.node);
	});
	body.addEventListener("keydown", e => { const row = e.target.closest("tr"); if (row && row.node) walkTree(e, row); });
}
