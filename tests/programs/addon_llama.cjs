// SPDX-License-Identifier: Apache-2.0
//
// Runs llama.cpp inside an addon, as a program in JavaScript would: ADDON MODEL [TOKENS] [LAYERS on a device]
// [ENCODER MEDIUM: an image or a sound, in the middle of the prompt]. Prints what was chosen.
"use strict";

const [addon, model, tokens = 12, layers = 0, encoder, medium] = process.argv.slice(2);
const { LlamaContext } = require(addon);
const context = new LlamaContext({ model, n_ctx: 256, n_batch: 128, n_gpu_layers: Number(layers), n_threads: 1 });
const options = { prompt: "The people who build an engine", n_predict: Number(tokens), temperature: 0, seed: 1, ignore_eos: true };
if (encoder) {
	context.initMultimodal({ path: encoder, use_gpu: Number(layers) > 0 });
	options.prompt = "The people <__media__> who build an engine";
	options.media_paths = [medium];
}

context.completion(options, () => {}).then(async (answer) => {
	console.log(JSON.stringify(answer.text), answer.tokens_predicted);
	await context.release();
});
