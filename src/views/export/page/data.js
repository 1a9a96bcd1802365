// SPDX-License-Identifier: Apache-2.0
// data.js - the page's data as trees. The total of a node includes its own value, its children and `other`, the nodes that are not in the page.

const data = JSON.parse(byId("data").textContent);
const CALLED = 2; // kinds of frames: 0 the program's, 1 a library's, 2 an allocation function, 3 unknown, 4 a group, 5 a runtime library's
const NOTHING = "There is nothing to show: no block matches.";

const frames = data.frames.map(([name, shown, file, line, module, kind]) => {
	const s = i => i < 0 ? "" : data.strings[i];
	const f = {name: s(name), shown: s(shown < 0 ? name : shown), file: s(file), line, module: s(module), kind};
	f.place = f.file ? baseName(f.file) + (line ? ":" + line : "") : f.module ? baseName(f.module) : "";
	f.where = f.file ? f.file + (line ? ":" + line : "") : "";
	if (f.name.endsWith(`[${f.place}]`)) f.place = "";
	f.hue = hash(f.name);
	return f;
});
function hash(s) {
	let h = 7;
	for (let i = 0; i < s.length; i++) h = (h * 31 + s.charCodeAt(i)) | 0;
	return (h >>> 0) % 1000 / 1000;
}

function makeTree(question, lists) {
	const root = {depth: 0, frame: null, bytes: question.bytes, blocks: question.blocks, children: [], other: null, parent: null};
	const nodes = [], path = [root];
	for (let i = 0; i < lists.depth.length; i++) {
		const depth = lists.depth[i], parent = path[depth - 1];
		const node = {depth, frame: frames[lists.frame[i]], bytes: lists.bytes[i], blocks: lists.blocks[i], children: [], other: null, parent};
		parent.children.push(node);
		nodes.push(node);
		path[depth] = node;
	}
	const left = {nodes: 0, bytes: 0, blocks: 0};
	for (const [at, n, bytes, blocks] of lists.other) {
		(at < 0 ? root : nodes[at]).other = {nodes: n, bytes, blocks};
		left.nodes += n; left.bytes += bytes; left.blocks += blocks;
	}
	for (const node of [root, ...nodes]) {
		node.selfBytes = node.bytes - (node.other ? node.other.bytes : 0);
		node.selfBlocks = node.blocks - (node.other ? node.other.blocks : 0);
		for (const c of node.children) { node.selfBytes -= c.bytes; node.selfBlocks -= c.blocks; }
	}
	// Allocation functions are frames of their own, so the bytes that a function allocated itself are in its children.
	for (const node of nodes) {
		const calls = node.children.filter(c => c.frame.kind === CALLED);
		node.ownBytes = calls.reduce((n, c) => n + c.selfBytes, node.selfBytes);
		node.ownBlocks = calls.reduce((n, c) => n + c.selfBlocks, node.selfBlocks);
	}
	return {root, nodes, left};
}

const trees = new Map();
function treeOf(question, direction) {
	const key = question.id + " " + direction;
	if (!trees.has(key)) trees.set(key, question[direction] ? makeTree(question, question[direction]) : null);
	return trees.get(key);
}

// --- what the user has chosen; views draw from it ---
const state = {question: data.questions[data.first], unit: data.by_blocks ? "blocks" : "bytes", direction: "down", flame: "down", full: false, pattern: null};

function nameOf(frame) { return state.full ? frame.name : frame.shown; }
function isHit(frame) {
	return state.pattern !== null && frame !== null &&
		(state.pattern.test(frame.name) || state.pattern.test(frame.place) || state.pattern.test(frame.module));
}
function nothingText() {
	return state.question.unknown ? sentence(state.question.unknown) : NOTHING;
}
function leftText(left, what) {
	return left.nodes ? `To keep the page small, ${plural(left.nodes, what)} of the tree ${left.nodes === 1 ? "is" : "are"} left out: ` +
		`${valueText(left)}, shown as “other” where they were.` : "";
}
