// SPDX-License-Identifier: Apache-2.0
// What integration/onnxruntime.py records: onnx_work.cjs ONNXRUNTIME WORK STEPS DECODER NETWORK [PROFILE]. It knows nothing
// of Brick, and prints what it computed. PROFILE: a prefix of files for ONNX Runtime's own profiler.
const [, , place, work, count, decoderFile, networkFile, profile] = process.argv;
const ort = require(place);
const { createHash } = require("node:crypto");
const steps = Number(count);

const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
if (profile) Object.assign(options, { enableProfiling: true, profileFilePrefix: profile });

function digest(results) {
	const hash = createHash("sha256");
	for (const name of Object.keys(results).sort()) {
		const { data } = results[name];
		hash.update(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
	}
	return hash.digest("hex").slice(0, 16);
}

function words(rows, length, first) {
	const data = BigInt64Array.from({ length: rows * length }, (_, i) => BigInt((first + i) % 300));
	return { input_ids: new ort.Tensor("int64", data, [rows, length]) };
}

function image(seed) {
	return { image: new ort.Tensor("float32", Float32Array.from({ length: 3072 }, (_, i) => Math.sin(i + seed)), [1, 3, 32, 32]) };
}

const works = {
	// one prompt, then words one by one
	async decode() {
		const session = await ort.InferenceSession.create(decoderFile, options);
		let out = await session.run(words(1, 24, 1));
		for (let i = 0; i < steps; i++) out = await session.run(words(2, 1, i));
		if (profile) session.endProfiling();
		await session.release?.();
		return digest(out);
	},
	// two sessions and concurrent runs of both; neither is closed
	async together() {
		const decoder = await ort.InferenceSession.create(decoderFile, options);
		const network = await ort.InferenceSession.create(networkFile, options);
		const outs = [];
		for (let i = 0; i < steps; i++)
			outs.push(...(await Promise.all([decoder.run(words(1, 8, i)), network.run(image(i)), decoder.run(words(1, 1, i))])));
		return outs.map(digest).join(" ");
	},
	// sessions that come and go, with kernels at the addresses of others
	async sessions() {
		const outs = [];
		for (let i = 0; i < steps; i++) {
			const isDecoder = i % 2 === 0;
			const session = await ort.InferenceSession.create(isDecoder ? decoderFile : networkFile, options);
			outs.push(digest(await session.run(isDecoder ? words(1, 4, i) : image(i))));
			await session.release?.();
		}
		return outs.join(" ");
	},
	// words without end, and a digest of each round of them
	async endless() {
		const session = await ort.InferenceSession.create(decoderFile, options);
		for (;;) {
			const outs = [];
			for (let i = 0; i < steps; i++) outs.push(digest(await session.run(words(1, 1, i))));
			console.log(outs.join(" "));
		}
	},
	// a run that fails in a kernel: a word that is not there
	async fail() {
		const session = await ort.InferenceSession.create(decoderFile, options);
		let failures = 0;
		for (let i = 0; i < steps; i++) {
			try {
				await session.run({ input_ids: new ort.Tensor("int64", BigInt64Array.of(i % 2 ? 5n : 5000n), [1, 1]) });
			} catch {
				failures++;
			}
		}
		return String(failures);
	},
};

works[work]().then((text) => console.log(text));
