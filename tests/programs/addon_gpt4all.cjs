// SPDX-License-Identifier: Apache-2.0
// gpt4all's addon answers a prompt: addon_gpt4all.cjs ADDON LIBRARIES MODEL THREADS [TOKENS]
const path = require("node:path");
const [addon, libraries, model, threads, count = 8] = process.argv.slice(2);
const { LLModel } = require(path.resolve(addon));
const engine = new LLModel({
	model_name: path.basename(model), model_path: path.dirname(model), library_path: libraries,
	device: "cpu", nCtx: 256, ngl: 0,
});
const tokens = [];
engine.setThreadCount(Number(threads));
engine.infer("The people who build an engine want to know.", {
	promptTemplate: "%1", nPast: 0, nPredict: Number(count), topK: 1, temp: 0, nBatch: 32,
	onResponseToken: (token) => tokens.push(token) > 0,
}).then(() => console.log(tokens.join(" ")));
