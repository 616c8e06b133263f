// SPDX-License-Identifier: Apache-2.0
//
// Runs whisper.cpp inside an addon, as a program in JavaScript would: ADDON MODEL SOUND [FLASH] [CANDIDATES]
// [TIMES]. Prints what it heard.
"use strict";

const [addon, model, sound, flash, candidates, times = 1] = process.argv.slice(2);
const { WhisperContext } = require(addon);
const context = new WhisperContext({ filePath: model, useGpu: false, useFlashAttn: flash === "flash" });
const chosen = candidates ? { temperature: 0.8, bestOf: Number(candidates) } : {};
const options = { maxThreads: 1, temperatureInc: 0, ...chosen };

async function hear() {
	for (let i = 0; i < Number(times); i++)
		console.log(JSON.stringify((await context.transcribeFile(sound, options).promise).segments));
	await context.release();
}

hear();
