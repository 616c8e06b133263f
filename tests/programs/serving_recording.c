/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of a server in miniature, for tests of what is said of requests: two models,
 * slots, prompts in chunks and beside other requests' tokens, requests that queue, one that nobody
 * ends. NESTED: with steps within steps, which have no numbers of their own.
 *
 *   program-serving_recording OUTPUT [LAYERS [NESTED]]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "brick/brick.h"

enum { LAYERS_MAX = 400, REQUESTS = 24, SLOTS = 3, OUTPUTS = 8 };

static uint32_t sites[LAYERS_MAX][2];
static int layers = 3;
static bool is_nested;

static void spin(uint64_t ns)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t begin = brick_ticks();
	while (brick_clock_duration_ns(clock, brick_ticks() - begin) < ns)
		;
}

static void register_sites(void)
{
	static const int bricks[] = {BRICK_FLASH_ATTENTION, BRICK_DOWN_PROJECTION};
	for (int layer = 0; layer < layers; layer++)
		for (int k = 0; k < 2; k++) {
			struct brick_site site = {.size = sizeof(struct brick_site),
				.brick = (uint16_t)bricks[k],
				.layer = (int16_t)layer};
			int index = brick_site_register(&site);
			if (index < 0)
				exit(1);
			sites[layer][k] = (uint32_t)index;
		}
}

static void node(uint32_t site, uint64_t ns)
{
	uint64_t begin = brick_ticks();
	spin(ns);
	struct brick_sample sample = {
		.begin = begin, .end = brick_ticks(), .site = site, .source = BRICK_SOURCE_TSC};
	brick_record_sample(&sample);
}

static void say(uint32_t model, uint32_t slot, uint32_t prompt, uint32_t output, int32_t position,
	uint32_t results)
{
	struct brick_step_sequence sequence = BRICK_STEP_SEQUENCE_INIT;
	sequence.model = model;
	sequence.sequence = slot;
	sequence.prompt_tokens = prompt;
	sequence.output_tokens = output;
	sequence.results = results;
	sequence.position = position;
	if (brick_step_sequence(&sequence) < 0)
		exit(1);
}

static void work(uint64_t ns)
{
	for (int layer = 0; layer < layers; layer++)
		for (int k = 0; k < 2; k++)
			node(sites[layer][k], ns);
}

static void sample_token(void)
{
	brick_span sampling = brick_begin(BRICK_SAMPLING);
	spin(1000);
	brick_end(sampling);
}

/* A prompt of 24 tokens in two chunks; the last one gives a token. */
static void prefill(uint32_t model, uint32_t slot)
{
	for (int chunk = 0; chunk < 2; chunk++) {
		brick_span span = brick_step_begin(BRICK_PHASE_PREFILL, 12);
		say(model, slot, 12, 0, 12 * chunk, chunk ? 1 : 0);
		if (is_nested)
			brick_end(brick_step_begin(BRICK_PHASE_PREFILL, 12));
		work(60000 / (uint64_t)layers);
		brick_end(span);
	}
	sample_token();
}

/* Returns its ns: what a brick costs beside its work is the CPU's affair. */
static uint64_t decode(uint32_t model, uint32_t slot, int token)
{
	const uint64_t begin = brick_ticks();
	brick_span span = brick_step_begin(BRICK_PHASE_DECODE, 1);
	say(model, slot, 0, 1, 24 + token, 1);
	work(15000 / (uint64_t)layers);
	brick_end(span);
	sample_token();
	return brick_clock_duration_ns(brick_clock_get(), brick_ticks() - begin);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	options.output = argv[1];
	if (argc > 2)
		layers = atoi(argv[2]);
	is_nested = argc > 3;
	if (layers < 1 || layers > LAYERS_MAX)
		return 2;
	register_sites();
	if (brick_session_start(&options) < 0)
		return 1;
	brick_note("engine", "%s", "miniature");
	brick_note("model.0", "%s", "small");
	brick_note("model.1", "%s", "od\"d\\one # {x}");
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct brick_request request = BRICK_REQUEST_INIT;
		uint32_t model = i % 4 == 3, slot = i % SLOTS;
		request.model = model;
		request.sequence = slot;
		request.number = 100 + i;
		request.arrived = i % 2 ? brick_ticks() : 0;
		spin(i % 2 ? 50000 : 0);
		if (brick_request_begin(&request) < 0)
			return 1;
		prefill(model, slot);
		uint64_t usual = 20000;
		for (int token = 0; token < OUTPUTS; token++) {
			if (token == 5)
				spin(10 * usual); /* the host keeps it waiting */
			usual = decode(model, slot, token);
		}
		if (i + 1 < REQUESTS && brick_request_end(model, slot) < 0)
			return 1;
	}
	return brick_session_stop() < 0;
}
