// SPDX-License-Identifier: Apache-2.0
// A program as users of @huggingface/transformers write it: onnx_transformers.mjs NODE_MODULES MODELS computes the features
// of a sentence ten times, by the model `tiny` in a folder that integration/onnxruntime.py has made.
import { createRequire } from "node:module";

const [, , modules, models] = process.argv;
const { pipeline, env } = createRequire(`${modules}/`)("@huggingface/transformers");
env.allowRemoteModels = false;
env.localModelPath = models;

const extract = await pipeline("feature-extraction", "tiny", { dtype: "fp32", device: "cpu" });
let out;
for (let i = 0; i < 10; i++) out = await extract("a quick fox runs over a lazy dog", { pooling: "mean", normalize: true });
console.log(Array.from(out.data).slice(0, 8).join(" "));
