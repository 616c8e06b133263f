// SPDX-License-Identifier: Apache-2.0
//
// Runs a model on the engine that engine.sh installed, the way a Node.js program would: one prompt
// of exactly N tokens, then M tokens chosen greedily. Prints the ids of the tokens it chose, each
// repetition on a line of its own, so that runs can be compared. M tokens take one evaluation of
// the prompt and M - 1 of a single token. brick-llama (llama_run.c) does the same work from C and
// prints the same ids; PROMPT is the same text there.

import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const PROMPT =
	"The people who build an engine want to know where the time of every token went. " +
	"They measure each layer and each part of it with a clock, and they show it as a line. " +
	"A good answer is one that you could make again on the same machine and then on another. ";

const USAGE = `usage: generate.mjs --model FILE [OPTIONS]
  --model FILE         model to run (GGUF)
  --prompt-tokens N    length of the prompt (256)
  --predict M          tokens to generate (64)
  --threads T          threads to compute with (1)
  --repeat R           do it all R times (1)
  --engine DIR         where engine.sh installed (build/demo/engine)
  --verbose            tokens per second on stderr
  --help               show this
`;

const OPTIONS = {
	"model": { type: "string" },
	"prompt-tokens": { type: "string", default: "256" },
	"predict": { type: "string", default: "64" },
	"threads": { type: "string", default: "1" },
	"repeat": { type: "string", default: "1" },
	"engine": { type: "string" },
	"verbose": { type: "boolean", default: false },
	"help": { type: "boolean", default: false },
};

function fail(message, code) {
	process.stderr.write(`generate.mjs: ${message}\n`);
	process.exit(code);
}

function parse() {
	try {
		return parseArgs({ options: OPTIONS }).values;
	} catch (error) {
		return fail(`${error.message.split("\n")[0]} (see --help)`, 2);
	}
}

function count(values, name) {
	if (!/^[1-9][0-9]{0,6}$/.test(values[name]))
		fail(`--${name} ${values[name]}: not a number from 1 up`, 2);
	return Number(values[name]);
}

async function importEngine(dir) {
	const path = resolve(dir, "node_modules/node-llama-cpp/dist/index.js");

	try {
		return await import(pathToFileURL(path).href);
	} catch (error) {
		return fail(`${dir}: no engine there, run examples/demo/engine.sh: ${error.message}`, 4);
	}
}

function promptTokens(model, n) {
	const once = model.tokenize(PROMPT);
	const text = PROMPT.repeat(Math.ceil(n / once.length) + 1);

	return [model.tokens.bos, ...model.tokenize(text)].slice(0, n);
}

async function generate(sequence, prompt, n) {
	const options = { temperature: 0, yieldEogToken: true };
	const tokens = [];

	await sequence.clearHistory();
	for await (const token of sequence.evaluate(prompt, options)) {
		tokens.push(token);
		if (tokens.length === n)
			break;
	}
	return tokens;
}

async function run(llama, values) {
	const n = count(values, "prompt-tokens");
	const predict = count(values, "predict");
	const threads = count(values, "threads");
	const model = await llama.loadModel({ modelPath: values.model });
	const context = await model.createContext({
		contextSize: n + predict,
		batchSize: Math.min(n, 512),
		threads: { ideal: threads, min: threads },
	});
	const sequence = context.getSequence();
	const prompt = promptTokens(model, n);

	for (let i = count(values, "repeat"); i > 0; i--) {
		const start = process.hrtime.bigint();
		const tokens = await generate(sequence, prompt, predict);
		const seconds = Number(process.hrtime.bigint() - start) / 1e9;

		console.log(tokens.join(" "));
		if (values.verbose)
			console.error(`${((n + predict) / seconds).toFixed(1)} tokens/s ` +
				`(${n} prompt, ${predict} generated, ${threads} threads)`);
	}
	await context.dispose();
	await model.dispose();
}

const values = parse();
const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

if (values.help) {
	process.stdout.write(USAGE);
	process.exit(0);
}
if (!values.model)
	fail("--model is missing (see --help)", 2);

const { getLlama, LlamaLogLevel } = await importEngine(
	values.engine ?? resolve(root, "build/demo/engine"));

try {
	const llama = await getLlama({
		gpu: false,
		build: "never",
		logLevel: LlamaLogLevel.error,
		maxThreads: count(values, "threads"),
	});

	await run(llama, values);
	await llama.dispose();
} catch (error) {
	fail(`${values.model}: ${error.message}`, 1);
}
