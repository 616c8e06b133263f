// SPDX-License-Identifier: Apache-2.0
// The data of the time line, unpacked: the whole run in columns, some ranges of time sample by sample.
// A served page asks its server for other ranges.
import { ask } from "./single.js";
import { unpack } from "./unpack.js";

const WAITING = "waiting";

// Rows of slices that hold one another, or overlap: each in the first row that is free.
function place(slices) {
	const ends = [];
	for (const slice of slices) {
		let row = ends.findIndex(end => end <= slice.begin);
		if (row < 0) row = ends.length;
		ends[row] = slice.begin + Math.max(slice.length, 1);
		slice.row = row;
	}
	return ends.length;
}

function laneSlices({ lane, slices: text }, { names, sites }) {
	const flat = unpack(text), slices = [];
	const name = i => (i < 0 ? null : names[i]);
	let begin = 0;
	for (let i = 0; i < flat.length; i += 5) {
		begin += flat[i];
		const site = flat[i + 2];
		slices.push({
			begin, length: flat[i + 1], brick: name(sites.brick[site]), layer: sites.layer[site], operation: name(sites.operation[site]),
			label: name(sites.label[site]), wait: flat[i + 3], kernel: flat[i + 4] ? names[flat[i + 4] - 1] : null,
		});
	}
	return { lane, rows: place(slices), slices };
}

// A range of time of which each sample is known.
const windowOf = (window, texts) => ({ begin: window.begin_ns, end: window.end_ns, lanes: window.lanes.map(each => laneSlices(each, texts)) });

function columnsOf({ begin_ns: begin, column_ns: wide, count, bricks, lanes }) {
	return {
		begin, wide, end: begin + wide * count, lanes: lanes.map(lane => ({ brick: unpack(lane.brick), percent: unpack(lane.percent) })),
		name: brick => (brick ? bricks[brick - 1] ?? WAITING : null),
	};
}

export class Slices {
	constructor(data) {
		const { timeline } = data;
		this.served = data.served;
		this.wall = Math.max(1, timeline.wall_ns);
		this.lanes = timeline.lanes;
		this.texts = timeline;
		this.packed = timeline.windows; // unpacked when they are looked at
		this.windows = [];
		this.whole = columnsOf(timeline.columns);
		this.columns = this.whole;
		this.rows = this.lanes.map(() => 1);
		this.answered = null;
	}

	// Of an earlier reading of the same recording: a range that lies in the past, if lanes are as they were.
	adopt(older) {
		if (!older.answered || older.answered.to >= older.wall || JSON.stringify(older.lanes) !== JSON.stringify(this.lanes)) return;
		({ windows: this.windows, rows: this.rows, answered: this.answered } = older);
		this.columns = older.columns === older.whole ? this.whole : older.columns;
	}

	know(window) {
		this.windows.push(window);
		for (const { lane, rows } of window.lanes) this.rows[lane] = Math.max(this.rows[lane], Math.min(rows, 12));
	}

	// Ranges known sample by sample in a range, those that are wide enough to be drawn.
	in(from, to, least) {
		const wanted = w => w.end_ns > from && w.begin_ns < to && w.end_ns - w.begin_ns >= least;
		for (const each of this.packed.filter(wanted)) this.know(windowOf(each, this.texts));
		this.packed = this.packed.filter(each => !wanted(each));
		return this.windows.filter(w => w.end > from && w.begin < to && w.end - w.begin >= least);
	}

	// Whether the server could say more of a range than is known.
	lacks(from, to) {
		if (!this.served) return false;
		const a = this.answered;
		return !a || from < a.from || to > a.to || (!a.exact && to - from < (a.to - a.from) / 3);
	}

	async load(from, to) {
		const margin = (to - from) / 2;
		const asked = { from: Math.max(0, Math.floor(from - margin)), to: Math.min(this.wall, Math.ceil(to + margin)) };
		const answer = await ask(`timeline.json?since=${asked.from}&until=${asked.to}`);
		this.windows = [];
		answer.windows.forEach(window => this.know(windowOf(window, answer)));
		this.columns = answer.columns ? columnsOf(answer.columns) : this.whole;
		this.answered = { ...asked, exact: answer.windows.length > 0 };
	}
}
