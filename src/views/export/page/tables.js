// SPDX-License-Identifier: Apache-2.0
// tables.js - the tables of sites, sizes, lifetimes, threads and tags.

const sites = {sort: {by: null, up: false}, all: false};
const SITES_SHOWN = 50;

const siteRows = data.sites.rows.map(s => ({
	frame: frames[s.frame], life: s.life === undefined ? null : s.life, live: s.live,
	values: data.questions.map((q, i) => ({bytes: s.values[2 * i], blocks: s.values[2 * i + 1]})),
}));
function spark(live) {
	const most = Math.max(1, ...live), picture = svg("svg", {viewBox: `0 0 ${live.length} 10`, preserveAspectRatio: "none", class: "spark", role: "img",
		"aria-label": "live over time, at most " + bytesText(Math.max(...live))});
	picture.append(svg("path", {d: "M0 10" + live.map((v, i) => v === null ? `M${i + 1} 10` : `V${(10 - v * 9.5 / most).toFixed(2)}H${i + 1}`).join("") + "V10Z"}));
	return picture;
}
function siteColumns() {
	const q = data.questions.indexOf(state.question), of = i => r => r.values[i];
	const columns = [{id: "share", title: "Share", cell: r => shareCell(r.values[q][state.unit], state.question[state.unit])}];
	data.questions.forEach((question, i) => columns.push({id: "q" + i, title: question.name, wide: i !== q, chosen: i === q, hint: question.what,
		value: r => of(i)(r).bytes, cell: r => question.unknown ? "–" : bytesCell(of(i)(r).bytes)}));
	columns.push({id: "blocks", title: "Blocks", wide: state.unit === "bytes", hint: state.question.what, value: r => r.values[q].blocks, cell: r => countCell(r.values[q].blocks)},
		{id: "average", title: "Average", wide: true, hint: state.question.what, value: r => r.values[q].bytes / (r.values[q].blocks || 1),
			cell: r => r.values[q].blocks ? bytesText(Math.floor(r.values[q].bytes / r.values[q].blocks)) : ""});
	if (!data.sites.unknown)
		columns.push({id: "life", title: "Median lifetime", wide: true, hint: "of the blocks that were freed", value: r => r.life, cell: r => r.life === null ? "" : durationText(r.life)},
			{id: "live", title: "Live over time", wide: true, text: true, hint: "at 24 moments of the run, each row in its own scale", cell: r => r.live ? spark(r.live) : ""});
	columns.push({id: "name", title: "Site", text: true, value: r => r.frame.name.toLowerCase()});
	return columns;
}
function siteRow(r, columns) {
	const row = el("tr", {class: isHit(r.frame) ? "hit" : null});
	for (const c of columns.slice(0, -1))
		row.append(el("td", {class: [c.text ? "" : "n", c.wide ? "wide" : "", c.chosen ? "chosen" : ""].join(" ").trim() || null}, c.cell(r)));
	row.append(el("td", {class: "what"}, ...r.other ? [el("span", {class: "name", text: r.other})] : nameCell(r.frame)));
	if (r.other) row.className = "other";
	return row;
}
// All sites without a row, as one row.
function otherSites(rows, what, count) {
	const values = data.questions.map((q, i) => {
		const v = {bytes: data.sites.other[2 * i], blocks: data.sites.other[2 * i + 1]};
		for (const r of rows) { v.bytes += r.values[i].bytes; v.blocks += r.values[i].blocks; }
		return v;
	});
	return {values, life: null, live: null, frame: null, other: `other: ${plural(count, "site")}${what}`};
}
function drawSites() {
	const columns = siteColumns(), place = byId("sites-table");
	const q = data.questions.indexOf(state.question);
	const by = sites.sort.by ? sites.sort : {by: state.unit === "blocks" ? "blocks" : "q" + q, up: false};
	const fitting = state.pattern ? siteRows.filter(r => isHit(r.frame)) : siteRows;
	const rows = sorted(fitting, columns, by), shown = sites.all ? rows : rows.slice(0, SITES_SHOWN);
	const hidden = new Set(siteRows);
	for (const r of shown) hidden.delete(r);
	const left = hidden.size + data.sites.other_sites;
	const body = shown.map(r => siteRow(r, columns));
	if (left) body.push(siteRow(otherSites(hidden, state.pattern ? " that do not match the search or are not shown" : "", left), columns));
	place.replaceChildren(el("table", {id: "site-rows", "aria-labelledby": "h-sites"},
		el("thead", {}, headRow(columns, by, c => { Object.assign(sites.sort, by); sortBy(sites.sort, c); drawSites(); })), el("tbody", {}, ...body)));
	const note = byId("sites-other");
	note.replaceChildren();
	if (rows.length > SITES_SHOWN)
		note.append(el("button", {type: "button", text: sites.all ? `Show the first ${SITES_SHOWN}` : `Show all ${countText(rows.length)}`,
			onclick: () => { sites.all = !sites.all; drawSites(); }}), " ");
	if (data.sites.other_sites)
		note.append(`To keep the page small, ${plural(data.sites.other_sites, "site")} ${data.sites.other_sites === 1 ? "is" : "are"} only in “other”. `);
	if (data.sites.unknown) note.append(sentence(data.sites.unknown));
}

const LISTS = {sizes: "Size", lives: "Lifetime", threads: "Thread", tags: "Tag"};

function drawList(id, list) {
	const place = byId(id);
	place.parentNode.hidden = list === undefined;
	if (list === undefined) return;
	if (typeof list === "string") return place.replaceChildren(el("p", {class: "unknown", text: sentence(list)}));
	if (list.rows.length === 0) return place.replaceChildren(el("p", {class: "unknown", text: NOTHING}));
	const rows = list.rows.map(([name, bytes, blocks]) => ({name, bytes, blocks}));
	if (list.other[0]) rows.push({name: `other: ${countText(list.other[0])} ${id}`, bytes: list.other[1], blocks: list.other[2], other: true});
	const most = Math.max(...rows.map(r => r[state.unit])), all = rows.reduce((n, r) => n + r[state.unit], 0);
	place.replaceChildren(el("table", {class: "list", "aria-labelledby": "h-" + id},
		el("thead", {}, el("tr", {}, ...[LISTS[id], "Bytes", "Blocks", "Share"].map((t, i) => el("th", {scope: "col", class: i ? "n" : null, text: t})))),
		el("tbody", {}, ...rows.map(r => {
			const bar = el("i", {});
			bar.style.width = (most ? r[state.unit] * 100 / most : 0) + "%";
			return el("tr", {class: r.other ? "other" : null}, el("th", {scope: "row", text: r.name}), el("td", {class: "n"}, bytesCell(r.bytes)),
				el("td", {class: "n"}, countCell(r.blocks)), el("td", {class: "bar"}, el("span", {}, bar), el("b", {text: percentText(r[state.unit], all)})));
		}))));
}
function drawLists() {
	for (const id of Object.keys(LISTS)) drawList(id, state.question[id]);
}
