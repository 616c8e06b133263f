// SPDX-License-Identifier: Apache-2.0
//
// Runs llama.cpp by node-llama-cpp's addon, version 3.x, without its JavaScript: ADDON MODEL TOKENS [flash].
// Prints the tokens that it chose.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const [addon, model, count, flash] = process.argv.slice(2);
const binding = require(path.resolve(addon));
const libraries = path.dirname(fs.realpathSync(addon));

async function run() {
	binding.setLoggerLogLevel?.(0);
	binding.loadBackends?.();
	binding.loadBackends?.(libraries);
	await binding.init();
	const weights = new binding.AddonModel(model, { gpuLayers: 0 });
	await weights.init();
	const context = new binding.AddonContext(weights, {
		contextSize: 512, batchSize: 64, sequences: 1, threads: 1, flashAttention: flash === "flash",
	});
	await context.init();
	const sampler = new binding.AddonSampler(weights);
	sampler.applyConfig({ temperature: 0 });
	let tokens = Uint32Array.from({ length: 40 }, (_, i) => 10 + 7 * i);
	const chosen = [];
	for (let position = 0; chosen.length < Number(count);) {
		const logits = await evaluate(context, position, tokens);
		position += tokens.length;
		chosen.push(await context.sampleToken(logits, sampler));
		tokens = Uint32Array.of(chosen.at(-1));
	}
	console.log(chosen.join(" "));
	await context.dispose();
	await weights.dispose();
}

// Where the logits of the last token stand. Until 3.5 the addon was told by true that they are wanted.
async function evaluate(context, position, tokens) {
	context.initBatch(64);
	let logits;
	try {
		[logits] = context.addToBatch(0, position, tokens, Uint32Array.of(tokens.length - 1));
	} catch {
		context.initBatch(64);
		logits = context.addToBatch(0, position, tokens, true);
	}
	await context.decodeBatch();
	return logits;
}

run().catch((error) => {
	console.error(error);
	process.exit(1);
});
