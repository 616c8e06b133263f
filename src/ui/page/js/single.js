// SPDX-License-Identifier: Apache-2.0
// Single steps: the time of each brick in a step, and the tree of a step. A page from a file has some
// steps sample by sample and most steps by brick; a served page asks its server for the rest.
import { unpack } from "./unpack.js";

// Columns of a step behind those of its bricks.
const RESTS = ["other bricks", "preempted", "blocked"];

// Of all steps that are in the page by brick, in columns.
export class Steps {
	constructor(data) {
		const { each } = data;
		this.names = data.report.bricks.slice(0, each.bricks).map(row => row.name);
		this.of = each.of;
		this.number = unpack(each.number);
		this.phase = [...unpack(each.phase)].map(phase => (each.phases[phase] === "warm-up" ? "warm_up" : each.phases[phase]));
		this.tokens = unpack(each.tokens);
		this.begin = unpack(each.begin_ns);
		this.total = unpack(each.total_ns);
		this.unattributed = unpack(each.unattributed_ns);
		this.parts = unpack(each.brick_ns);
		this.columns = this.names.length + RESTS.length;
		this.at = new Map([...this.number].map((number, i) => [number, i]));
		this.data = data;
		this.asked = new Map();
		this.trees = new Map(data.trees.steps.map(step => [step.number, { step, names: data.trees.names, kinds: data.trees.kinds }]));
		this.others = new Map(data.trees.others.map(step => [step.number, step]));
	}

	// Of an earlier reading of the same recording: what the server has said.
	adopt(older) {
		for (const [number, tree] of older.trees) if (!this.trees.has(number)) this.trees.set(number, tree);
	}

	has(number) {
		return this.at.has(number) || this.trees.has(number) || this.others.has(number);
	}

	phaseOf(number) {
		const i = this.at.get(number);
		const phase = i === undefined ? (this.trees.get(number)?.step ?? this.others.get(number))?.phase : this.phase[i];
		return phase === "warm-up" ? "warm_up" : phase;
	}

	// Numbers of a phase, in the order in which they began.
	of_phase(phase) {
		return [...this.number].filter((_, i) => phase === "all" || this.phase[i] === phase);
	}

	brick(name, i) {
		const column = this.names.indexOf(name);
		return column < 0 ? null : this.parts[i * this.columns + column];
	}

	// [name, ns] of a step, what is in none of them at the end; they add up to it. null: not in the page.
	partsOf(number) {
		const i = this.at.get(number);
		if (i === undefined) return null;
		return [...[...this.names, ...RESTS].map((name, k) => [name, this.parts[i * this.columns + k]]),
			["unattributed", this.unattributed[i]]];
	}

	// A step whose times were packed, as those that were not.
	expand({ shape, time_ns, self_ns, ...step }) {
		const flat = unpack(this.data.trees.shapes[shape]);
		const nodes = { parent: [], name: [], kind: [], layer: [], count: [], bytes: [], flops: [], time_ns: [...unpack(time_ns)], self_ns: [...unpack(self_ns)] };
		for (let i = 0; i < flat.length; i += 5) {
			nodes.parent.push(flat[i] - 1);
			nodes.name.push(flat[i + 1]);
			nodes.kind.push(flat[i + 2]);
			nodes.layer.push(flat[i + 3] - 1);
			nodes.count.push(flat[i + 4]);
			nodes.bytes.push(null);
			nodes.flops.push(null);
		}
		return { step: { ...step, nodes, operations: false }, names: this.data.trees.names, kinds: this.data.trees.kinds };
	}

	// Only what each brick took of it.
	flat(number) {
		const i = this.at.get(number);
		const parts = this.partsOf(number).filter(([name, ns]) => ns > 0 && name !== "unattributed");
		const all = [[this.phase[i], this.total[i]], ...parts];
		return {
			names: all.map(([name]) => name), kinds: ["root", "brick"],
			step: {
				number, phase: this.phase[i], tokens: this.tokens[i], total_ns: this.total[i], unattributed_ns: this.unattributed[i],
				other_threads: 0, operations: false, layers: false,
				nodes: {
					parent: all.map((_, k) => (k ? 0 : -1)), name: all.map((_, k) => k), kind: all.map((_, k) => (k ? 1 : 0)),
					layer: all.map(() => -1), count: all.map(() => null), time_ns: all.map(([, ns]) => ns),
					self_ns: all.map(([, ns], k) => (k ? ns : this.unattributed[i])), bytes: all.map(() => null), flops: all.map(() => null),
				},
			},
		};
	}

	// What is known of a step now; `done` is called when the server has said more.
	tree(number, done) {
		const known = this.trees.get(number);
		if (known) return known;
		const other = this.others.get(number);
		if (other) return this.expand(other);
		if (this.data.served && done && !this.asked.has(number)) {
			this.asked.set(number, true);
			ask(`step.json?step=${number}`).then(answer => {
				if (!answer.step) return;
				this.trees.set(number, answer);
				done();
			}).catch(() => this.asked.delete(number));
		}
		return this.at.has(number) ? this.flat(number) : null;
	}
}

// Of the page's server; the token of the page's address goes along in a header.
export async function ask(path) {
	const token = new URLSearchParams(location.search).get("token");
	const answer = await fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: "no-store" });
	if (!answer.ok) throw new Error(`the server says ${answer.status}`);
	return answer.json();
}
