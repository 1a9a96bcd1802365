// SPDX-License-Identifier: Apache-2.0
// timeline.js - a line that follows the pointer over the plots, and shows the values at that time.

function startTimeline() {
	const plots = byId("plots"), {end_ns: end, live, rss, marks} = data.timeline, n = Math.max(live.length, rss.length);
	const surface = plots.querySelectorAll(".plot");
	if (n === 0 || surface.length === 0) return;
	const lines = Array.from(surface, p => p.appendChild(el("span", {class: "cursor", hidden: true})));
	let at = n - 1;

	function rssAt(i) {
		for (let k = i; k >= 0; k--) if (rss[k]) return rss[k];
		return null;
	}
	function show(i, x, y) {
		const from = end * i / n, to = end * (i + 1) / n;
		at = i;
		for (const line of lines) { line.hidden = false; line.style.left = (i + .5) * 100 / n + "%"; }
		const r = rss.length ? rssAt(i) : null;
		const here = marks.filter(m => m[0] > from && m[0] <= to || i === 0 && m[0] === 0).slice(0, 3);
		const text = [durationText(Math.round((from + to) / 2)),
			live.length ? live[i] === null ? "this part of the trace is lost" : "live: " + bytesText(live[i]) : "",
			r !== null ? "resident: " + bytesText(r) : "", ...here.map(m => (m[1] === "snapshot" ? "snapshot " : "mark ") + m[2])];
		plots.setAttribute("aria-valuenow", i);
		plots.setAttribute("aria-valuetext", text.filter(t => t).join(", "));
		showTip(text, x, y);
	}
	function leave() {
		for (const line of lines) line.hidden = true;
		hideTip();
	}
	function keyed(i) {
		const r = surface[0].getBoundingClientRect();
		show(Math.min(n - 1, Math.max(0, i)), r.left + r.width * (i + .5) / n, r.top + r.height / 3);
	}
	for (const [k, v] of Object.entries({tabindex: 0, role: "slider", "aria-label": "Moment", "aria-valuemin": 0, "aria-valuemax": n - 1, "aria-valuenow": at}))
		plots.setAttribute(k, v);
	plots.addEventListener("pointermove", e => {
		const r = surface[0].getBoundingClientRect(), part = (e.clientX - r.left) / r.width;
		if (part < 0 || part > 1) return leave();
		show(Math.min(n - 1, Math.floor(part * n)), e.clientX, e.clientY);
	});
	plots.addEventListener("pointerleave", leave);
	plots.addEventListener("blur", leave);
	plots.addEventListener("keydown", e => {
		const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -n / 20, PageDown: n / 20, Home: -n, End: n}[e.key];
		if (step === undefined) return e.key === "Escape" ? leave() : undefined;
		e.preventDefault();
		keyed(Math.min(n - 1, Math.max(0, Math.round(at + step))));
	});
}
