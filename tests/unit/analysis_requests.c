/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a run made by hand: where one begins and ends, what it counts, why a gap is long, why
 * tokens were evaluated again, what steps would have taken without prompts, and what drafts gave.
 */
#include "analysis/requests/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/statistics/unknown.h"
#include "analysis/requests/interference.h"
#include "analysis/requests/speculation.h"
#include "analysis/requests/users_wait.h"
#include "brick/error.h"
#include "tests/unit/run_builder.h"

static struct run run;
static uint64_t now;

static int set_up(void **state)
{
	(void)state;
	memset(&run, 0, sizeof run);
	now = 1000;
	builder_lane(&run, builder_process(&run, 7), 7);
	builder_known(&run, BRICK_DECODE);
	builder_site(&run, 0, -1, NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run_fini(&run);
	return 0;
}

static struct run_sequence_event *event(enum brick_sequence_event kind, int32_t sequence)
{
	return builder_sequence_event(&run, now, kind, sequence);
}

static void step(uint64_t ns, enum brick_phase phase)
{
	BUILDER_GROW(run.steps, run.step_count);
	run.steps[run.step_count] = (struct run_step){.sample = (uint32_t)run.step_count,
		.phase = phase,
		.begin_ns = now,
		.end_ns = now + ns};
	struct run_lane *lane = &run.lanes[0];
	BUILDER_GROW(lane->samples, lane->sample_count);
	lane->samples[lane->sample_count++] =
		(struct run_sample){.begin_ns = now, .end_ns = now + ns};
	run.step_count++;
	now += ns;
}

static void part(
	int32_t sequence, uint32_t tokens, uint32_t prompt, int32_t position, int32_t results)
{
	struct run_sequence_event *e = event(BRICK_SEQUENCE_TOKENS, sequence);

	e->step = (uint32_t)run.step_count - 1;
	e->tokens = tokens;
	e->prompt = prompt;
	e->position = position;
	e->end = results;
	run.steps[e->step].tokens += tokens;
}

static void prompt(int32_t sequence, uint32_t tokens, int32_t position)
{
	step(100 * tokens, BRICK_PHASE_PREFILL);
	part(sequence, tokens, tokens, position, 1);
	now += 10;
}

static void decode(int32_t sequence, int32_t position)
{
	step(1000, BRICK_PHASE_DECODE);
	part(sequence, 1, 0, position, 1);
	now += 10;
}

static void removed(int32_t sequence, int32_t from)
{
	event(BRICK_SEQUENCE_REMOVED, sequence)->position = from;
}

static struct requests *requests(size_t count)
{
	struct requests *q;

	run.end_ns = now;
	assert_int_equal(requests_create(&q, &run), 0);
	assert_int_equal(q->count, count);
	return q;
}

static void a_request_is_a_life(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	decode(0, 8);
	decode(0, 9);
	struct requests *q = requests(1);
	const struct request *r = q->list;
	assert_int_equal(r->prompt_tokens, 8);
	assert_int_equal(r->output_tokens, 3);
	assert_int_equal(request_ttft_ns(r), 800);
	assert_int_equal(r->gap_count, 2);
	assert_int_equal(request_token_ns(q, r), 1010);
	assert_int_equal(request_between_ns(q, r), 20);
	assert_int_equal(r->end, REQUEST_OPEN);
	assert_int_equal(request_queue_ns(r), ANALYSIS_UNKNOWN);
	requests_destroy(q);
}

/* Two sequences in turns: a step takes 1010 ns, and each user waits for two; alone it is a step. */
static void users_wait_for_each_other(void **state)
{
	struct users_wait users;
	(void)state;

	prompt(0, 4, 0);
	decode(0, 4);
	assert_int_equal(users_wait_of(&users, &run), 0);
	prompt(1, 4, 0);
	for (int i = 0; i < 4; i++) {
		decode(0, 5 + i);
		decode(1, 4 + i);
	}
	assert_int_equal(users_wait_of(&users, &run), 1);
	assert_int_equal(users.requests, 2);
	assert_int_equal(users.at_once, 2);
	assert_int_equal(users.tokens, 5 + 4);
	/* of the first: a step alone, the other's prompt, and eight steps, less the last one */
	assert_int_equal(users.token_ns, (1010 + 410 + 7 * 1010 + 8 * 1010) / 9);
	struct requests *q = requests(2);
	assert_int_equal(users.token_ns,
		(5 * request_token_ns(q, q->list) + 4 * request_token_ns(q, q->list + 1)) / 9);
	requests_destroy(q);
}

/* A request that comes after another has ended waits for nobody. */
static void users_in_a_row_are_alone(void **state)
{
	struct users_wait users;
	(void)state;

	for (int i = 0; i < 2; i++) {
		prompt(i, 4, 0);
		decode(i, 4);
		decode(i, 5);
	}
	assert_int_equal(users_wait_of(&users, &run), 0);
}

static void every_end_is_told_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		prompt(i, 4, 0);
	removed(0, 0);
	removed(1, 2);
	prompt(1, 4, 2);
	decode(2, 4);
	prompt(2, 4, 5); /* behind what it made */
	prompt(3, 4, 0);
	event(BRICK_SEQUENCE_LOADED, 4);
	event(BRICK_SEQUENCE_END, 5);
	event(BRICK_SEQUENCE_COPIED, 7)->other = 6;
	prompt(6, 4, 4);
	event(BRICK_SEQUENCE_FREED, -1);
	struct requests *q = requests(12);
	const enum request_end ends[] = {REQUEST_REMOVED, REQUEST_CUT, REQUEST_FOLLOWED,
		REQUEST_RESTARTED, REQUEST_REPLACED, REQUEST_TOLD, REQUEST_REPLACED, REQUEST_FREED};
	for (int i = 0; i < 8; i++)
		assert_int_equal(q->list[i].end, ends[i]);
	for (int i = 8; i < 12; i++)
		assert_int_equal(q->list[i].end, REQUEST_FREED);
	assert_int_equal(q->list[1].cut_at, 2);
	assert_int_equal(q->list[8].reused, 2);
	assert_int_equal(q->list[8].reuse, REQUEST_REUSE_OWN);
	assert_int_equal(q->list[11].reuse, REQUEST_REUSE_COPIED);
	requests_destroy(q);
}

/* The core of an engine is a process without steps; its worker runs ahead by a step. */
static void processes_tell_of_one_request(void **state)
{
	(void)state;
	uint32_t core = builder_lane(&run, builder_process(&run, 8), 8);
	enum { MODEL = BRICK_SEQUENCE_SHARED };
	struct run_sequence_event *e = event(BRICK_SEQUENCE_BEGIN, 5);
	e->lane = core;
	e->model = MODEL;
	prompt(5, 4, 3);
	decode(5, 7);
	decode(5, 8);
	now += 1;
	e = event(BRICK_SEQUENCE_END, 5);
	e->lane = core;
	e->model = MODEL;
	e->position = 2;
	decode(5, 9); /* it was on its way */
	for (size_t i = 0; i < run.sequence_event_count; i++)
		run.sequence_events[i].model = MODEL;
	struct requests *q = requests(1);
	const struct request *r = q->list;
	assert_int_equal(r->process, 0);
	assert_int_equal(r->reused, 3);
	assert_int_equal(r->reuse, REQUEST_REUSE_PREFIX);
	assert_int_equal(r->prompt_tokens, 4);
	assert_int_equal(r->output_tokens, 2);
	assert_int_equal(r->refuted, 2);
	assert_int_equal(r->gap_count, 1);
	assert_int_equal(r->end, REQUEST_TOLD);
	requests_destroy(q);
}

/* The request began before the recording, so that no token here is its first. */
static void a_request_goes_on_from_before(void **state)
{
	(void)state;
	decode(5, 7);
	decode(5, 8);
	for (size_t i = 0; i < run.sequence_event_count; i++)
		run.sequence_events[i].model = BRICK_SEQUENCE_SHARED;
	struct requests *q = requests(1);
	const struct request *r = q->list;
	assert_int_equal(r->reuse, REQUEST_REUSE_BEFORE);
	assert_int_equal(r->prompt_tokens, 0);
	assert_int_equal(r->output_tokens, 2);
	assert_true(request_ttft_ns(r) == ANALYSIS_UNKNOWN);
	requests_destroy(q);
}

static void a_full_cache_takes_tokens_out(void **state)
{
	(void)state;
	event(BRICK_SEQUENCE_BEGIN, 0);
	prompt(0, 8, 0);
	for (int32_t i = 8; i < 12; i++)
		decode(0, i);
	event(BRICK_SEQUENCE_PREEMPTED, 0);
	prompt(1, 50, 0);
	step(1300, BRICK_PHASE_PREFILL);
	part(0, 7, 7, 0, 0);
	step(700, BRICK_PHASE_MIXED);
	part(0, 6, 5, 7, 1);
	struct requests *q = requests(2);
	const struct request *r = q->list;
	assert_int_equal(r->output_tokens, 6);
	assert_int_equal(r->prompt_tokens, 8 + 12);
	assert_int_equal(r->again, 12);
	assert_int_equal(r->lost, REQUEST_LOST_EVICTED);
	assert_int_equal(r->gap_count, 5);
	assert_int_equal(q->gaps[r->gap_first + 3].cause, GAP_USUAL);
	assert_int_equal(q->gaps[r->gap_first + 4].cause, GAP_EVICTED);
	requests_destroy(q);
}

/* Its begin was not seen: the token behind its prompt is one that it would have made, and no draft.
 */
static void a_request_comes_back_from_before(void **state)
{
	(void)state;
	event(BRICK_SEQUENCE_PREEMPTED, 0);
	step(700, BRICK_PHASE_PREFILL);
	part(0, 7, 7, 0, 0);
	step(600, BRICK_PHASE_MIXED);
	part(0, 6, 5, 7, 1);
	decode(0, 13);
	struct requests *q = requests(1);
	const struct request *r = q->list;
	assert_int_equal(r->prompt_tokens, 12);
	assert_int_equal(r->output_tokens, 2);
	assert_true(request_ttft_ns(r) == ANALYSIS_UNKNOWN);
	struct speculations *all;
	assert_int_equal(speculations_create(&all, q), 0);
	assert_int_equal(all->count, 0);
	speculations_destroy(all);
	requests_destroy(q);
}

static void a_token_is_there_when_it_was_chosen(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	now += 40;
	event(BRICK_SEQUENCE_SAMPLED, 0);
	now += 60;
	decode(0, 8);
	now += 70;
	event(BRICK_SEQUENCE_SAMPLED, 0);
	decode(0, 9); /* nobody says when, but for nonsense */
	event(BRICK_SEQUENCE_SAMPLED, 0)->ns = now - 500;
	struct requests *q = requests(1);
	const struct request_gap *gap = &q->gaps[q->list[0].gap_first];
	assert_int_equal(request_ttft_ns(&q->list[0]), 850);
	assert_int_equal(gap_ns(&gap[0]), 60 + 1000 + 80);
	assert_int_equal(gap->parts_ns[GAP_PART_STEP], 1000);
	assert_int_equal(gap->parts_ns[GAP_PART_SAMPLING], 80);
	assert_int_equal(gap->parts_ns[GAP_PART_HOST], 60);
	assert_int_equal(gap_ns(&gap[1]), 1000);
	requests_destroy(q);
}

/* All of a prompt but its last token was in the cache. */
static void a_prompt_of_one_token(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	decode(0, 8);
	removed(0, 7);
	decode(0, 7);
	decode(0, 8);
	struct requests *q = requests(2);
	assert_int_equal(q->list[1].prompt_tokens, 1);
	assert_int_equal(q->list[1].reused, 7);
	assert_int_equal(q->list[1].output_tokens, 2);
	assert_int_equal(request_ttft_ns(&q->list[1]), 1000);
	requests_destroy(q);
}

/* In a child after fork(), or where recording began late. */
static void what_was_there_before(void **state)
{
	(void)state;
	decode(0, 30);
	decode(0, 31);
	struct requests *q = requests(1);
	assert_int_equal(q->list[0].reused, 30);
	assert_int_equal(q->list[0].reuse, REQUEST_REUSE_BEFORE);
	assert_int_equal(q->list[0].prompt_tokens, 0);
	assert_int_equal(q->list[0].output_tokens, 2);
	requests_destroy(q);
}

static void refuted_drafts_end_nothing(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	step(1000, BRICK_PHASE_DECODE);
	part(0, 4, 0, 8, 4); /* a token and three drafts */
	removed(0, 10);	     /* of which two did not hold */
	decode(0, 10);
	removed(0, 9); /* more than drafts */
	prompt(0, 3, 9);
	struct requests *q = requests(2);
	assert_int_equal(q->list[0].refuted, 2);
	assert_int_equal(q->list[0].output_tokens, 1 + 2 + 1);
	assert_int_equal(q->list[0].end, REQUEST_CUT);
	requests_destroy(q);
}

static void drafts_behind_a_prompt(void **state)
{
	(void)state;
	step(1000, BRICK_PHASE_PREFILL);
	part(0, 7, 7, 0, 0);
	step(1000, BRICK_PHASE_MIXED);
	part(0, 5, 1, 7, 5); /* the prompt's last token and four drafts */
	removed(0, 10);	     /* of which two hold */
	decode(0, 10);
	struct requests *q = requests(1);
	assert_int_equal(q->list[0].prompt_tokens, 8);
	assert_int_equal(q->list[0].refuted, 2);
	assert_int_equal(q->list[0].output_tokens, 3 + 1);
	requests_destroy(q);
}

/* Four drafts of which one holds: a state is loaded, and what held comes again. */
static void check_and_go_back(int32_t position)
{
	step(1000, BRICK_PHASE_DECODE);
	part(0, 5, 0, position, 5);
	event(BRICK_SEQUENCE_SAMPLED, 0);
	now += 10;
	event(BRICK_SEQUENCE_LOADED, 0);
	removed(0, position);
}

static void a_model_goes_back_to_a_state(void **state)
{
	struct speculations *all;

	(void)state;
	prompt(0, 8, 0);
	check_and_go_back(8);
	step(500, BRICK_PHASE_DECODE);
	part(0, 3, 0, 8, 3);
	event(BRICK_SEQUENCE_SAMPLED, 0);
	check_and_go_back(11); /* the client is gone */
	event(BRICK_SEQUENCE_LOADED, 0);
	removed(0, 4);
	prompt(0, 6, 4);
	struct requests *q = requests(2);
	const struct request *r = q->list;
	assert_int_equal(r->output_tokens, 1 + 3);
	assert_int_equal(r->refuted, 3 + 4);
	assert_int_equal(r->end, REQUEST_REPLACED);
	assert_int_equal(r->gap_count, 1);
	assert_int_equal(q->gaps[0].tokens, 3);
	assert_int_equal(q->gaps[0].parts_ns[GAP_PART_DRAFTING], 1000);
	assert_int_equal(q->gaps[0].parts_ns[GAP_PART_STEP], 500);
	assert_int_equal(speculations_create(&all, q), 0);
	assert_int_equal(all->list[0].proposed, 8);
	assert_int_equal(all->list[0].accepted, 1);
	assert_int_equal(all->list[0].verifications, 2);
	assert_int_equal(all->list[0].verify_ns, 1000);
	assert_int_equal(all->list[0].rollback_ns, 500);
	assert_int_equal(all->list[0].best, RUN_NONE);
	speculations_destroy(all);
	requests_destroy(q);
}

/* A state that comes in place of drafts that had held is another request's. */
static void a_state_for_another_request(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	step(1000, BRICK_PHASE_DECODE);
	part(0, 3, 0, 8, 3);
	now += 10;
	event(BRICK_SEQUENCE_LOADED, 0);
	removed(0, 6);
	prompt(0, 4, 6);
	struct requests *q = requests(2);
	assert_int_equal(q->list[0].output_tokens, 1 + 3);
	assert_int_equal(q->list[0].end, REQUEST_REPLACED);
	assert_int_equal(q->list[1].reuse, REQUEST_REUSE_LOADED);
	requests_destroy(q);
}

/* A token was chosen late, as the thread was off its CPU: that is no sampling. */
static void preempted_while_sampling(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	for (int i = 0; i < 8; i++) {
		decode(0, 8 + i);
		if (i != 5)
			continue;
		struct run_lane *lane = &run.lanes[0];
		BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
		lane->off_cpu[lane->off_cpu_count++] =
			(struct run_off_cpu){.begin_ns = now, .end_ns = now + 9000, .preempted = 1};
		now += 9100;
		event(BRICK_SEQUENCE_SAMPLED, 0);
	}
	run.off_cpu.source = OFF_CPU_SWITCHES;
	struct requests *q = requests(1);
	const struct request_gap *late = &q->gaps[5];
	assert_int_equal(gap_ns(late), 1010 + 9100 + 10);
	assert_int_equal(late->parts_ns[GAP_PART_PREEMPTED], 9000);
	assert_int_equal(late->parts_ns[GAP_PART_SAMPLING], 110);
	assert_int_equal(late->cause, GAP_PREEMPTED);
	requests_destroy(q);
}

static void off_its_cpu(uint32_t number, uint64_t begin, uint64_t ns)
{
	struct run_lane *lane = &run.lanes[number];

	const struct run_off_cpu *last =
		lane->off_cpu_count ? &lane->off_cpu[lane->off_cpu_count - 1] : NULL;
	uint64_t before = last ? last->before.preempted_ns + last->end_ns - last->begin_ns : 0;

	BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
	lane->off_cpu[lane->off_cpu_count++] = (struct run_off_cpu){.begin_ns = begin,
		.end_ns = begin + ns,
		.before.preempted_ns = before,
		.preempted = 1};
}

/*
 * Steps of a team: another thread takes part in each. Of step 4, either it is preempted, or nobody
 * is more than in all steps. 20 steps, each 1 us; the long one takes 10.
 */
static enum gap_cause cause_of_long_step(uint64_t usual_ns, uint64_t team_ns, uint64_t own_ns)
{
	uint32_t other = builder_lane(&run, 0, 8);

	prompt(0, 8, 0);
	for (int i = 0; i < 20; i++) {
		uint64_t begin = now, ns = i == 4 ? 10000 : 1000;
		step(ns, BRICK_PHASE_DECODE);
		part(0, 1, 0, 8 + i, 1);
		struct run_lane *lane = &run.lanes[other];
		BUILDER_GROW(lane->samples, lane->sample_count);
		lane->samples[lane->sample_count++] =
			(struct run_sample){.begin_ns = begin + 1, .end_ns = begin + 2};
		off_its_cpu(other, begin + 10, i == 4 ? team_ns : usual_ns);
		off_its_cpu(0, begin + 10, i == 4 ? own_ns : usual_ns);
		now += 10;
	}
	run.off_cpu.source = OFF_CPU_SWITCHES;
	struct requests *q = requests(1);
	enum gap_cause cause = q->gaps[4].cause;
	requests_destroy(q);
	return cause;
}

static void another_thread_is_preempted(void **state)
{
	(void)state;
	assert_int_equal(cause_of_long_step(1, 9000, 1), GAP_PREEMPTED);
}

/* Half of all time, of the long step, too: it is long for another reason. */
static void preempted_in_proportion(void **state)
{
	(void)state;
	assert_int_equal(cause_of_long_step(500, 5000, 5000), GAP_STEP);
}

/* Long gaps are what preemption makes of them, in a thread that is preempted in few others. */
static void preempted_for_most_of_all_time(void **state)
{
	(void)state;
	assert_int_equal(cause_of_long_step(1, 1, 7000), GAP_PREEMPTED);
}

static void kept_sequences_and_refused_steps(void **state)
{
	(void)state;
	prompt(0, 4, 0);
	prompt(1, 4, 0);
	event(BRICK_SEQUENCE_KEPT, 1);
	decode(1, 4);
	decode(1, 5);
	run.steps[run.step_count - 1].outcome = RUN_REFUSED;
	struct requests *q = requests(2);
	assert_int_equal(q->list[0].end, REQUEST_REMOVED);
	assert_int_equal(q->list[1].end, REQUEST_OPEN);
	assert_int_equal(q->list[1].output_tokens, 2);
	requests_destroy(q);
}

static void nothing_is_said(void **state)
{
	struct requests *q;

	(void)state;
	step(1000, BRICK_PHASE_DECODE);
	assert_int_equal(requests_create(&q, &run), BRICK_ENOTRECORDED);
}

static void who_made_it_wait(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	for (int i = 8; i < 20; i++)
		decode(0, i);
	step(9000, BRICK_PHASE_MIXED);
	part(0, 1, 0, 20, 1);
	part(1, 60, 60, 0, 1);
	now += 10;
	prompt(2, 70, 0);
	decode(0, 21);
	now += 5000;
	decode(0, 22);
	struct requests *q = requests(3);
	const struct request_gap *gaps = &q->gaps[q->list[0].gap_first + 12];
	assert_int_equal(gaps[-1].cause, GAP_USUAL);
	assert_int_equal(gaps[0].cause, GAP_PREFILL_BESIDE);
	assert_int_equal(gaps[0].other, 1);
	assert_int_equal(gaps[0].other_prompt, 60);
	assert_int_equal(gaps[1].cause, GAP_PREFILL_BEFORE);
	assert_int_equal(gaps[1].other, 2);
	assert_int_equal(gaps[1].other_prompt, 70);
	assert_int_equal(gaps[2].cause, GAP_HOST);
	for (uint32_t i = 0; i < q->gap_count; i++) {
		uint64_t sum = 0;
		for (int k = 0; k < GAP_PARTS; k++)
			sum += q->gaps[i].parts_ns[k];
		assert_int_equal(sum, gap_ns(&q->gaps[i]));
	}
	requests_destroy(q);
}

/* Its older half goes, and what stays is moved: the request goes on. */
static void a_full_context_is_shifted(void **state)
{
	(void)state;
	prompt(0, 8, 0);
	for (int i = 8; i < 20; i++)
		decode(0, i);
	event(BRICK_SEQUENCE_REMOVED, 0)->position = 2;
	run.sequence_events[run.sequence_event_count - 1].end = 12;
	event(BRICK_SEQUENCE_MOVED, 0)->position = 12;
	run.sequence_events[run.sequence_event_count - 1].other = -10;
	step(9000, BRICK_PHASE_DECODE);
	part(0, 1, 0, 10, 1);
	struct requests *q = requests(1);
	assert_int_equal(q->list[0].shifts, 1);
	assert_int_equal(q->list[0].shifted, 10);
	assert_int_equal(q->gaps[q->list[0].gap_count - 1].cause, GAP_SHIFT);
	requests_destroy(q);
}

static void block(int32_t sequence, int32_t end, uint64_t hash)
{
	struct run_sequence_event *e = event(BRICK_SEQUENCE_BLOCK, sequence);

	e->other = end;
	e->number = hash;
}

static void again(int32_t sequence, uint64_t text)
{
	block(sequence, 16, text);
	block(sequence, 32, text + 1);
	prompt(sequence, 32, 0);
}

static void why_it_was_evaluated_again(void **state)
{
	(void)state;
	again(0, 100);
	again(1, 100); /* 1: elsewhere, with request 0 */
	again(0, 200); /* 2: takes sequence 0 */
	removed(1, 0);
	decode(0, 32);
	again(2, 100); /* 3: removed, the last that had it */
	removed(2, 20);
	block(2, 32, 101);
	prompt(2, 12, 20); /* 4: the second block was cut at 20 */
	again(0, 300);	   /* 5: takes it from 2 */
	again(3, 200);	   /* 6: taken */
	struct requests *q = requests(7);
	const enum request_lost reasons[] = {REQUEST_LOST_NOT, REQUEST_LOST_ELSEWHERE,
		REQUEST_LOST_NOT, REQUEST_LOST_REMOVED, REQUEST_LOST_CUT, REQUEST_LOST_NOT,
		REQUEST_LOST_TAKEN};
	const uint32_t tokens[] = {0, 32, 0, 32, 12, 0, 32};
	for (int i = 0; i < 7; i++) {
		assert_int_equal(q->list[i].lost, reasons[i]);
		assert_int_equal(q->list[i].again, tokens[i]);
	}
	assert_int_equal(q->list[1].lost_by, 0);
	assert_int_equal(q->list[4].lost_at, 20);
	assert_int_equal(q->list[6].lost_by, 5);
	assert_true(q->prompt_token_ns == 100);
	requests_destroy(q);
}

static void what_prompts_cost_others(void **state)
{
	struct interference *x;

	(void)state;
	prompt(0, 8, 0);
	prompt(1, 8, 0);
	for (int i = 0; i < 40; i++) {
		bool is_mixed = i >= 20;
		step(1000 + (is_mixed ? 500 + 100 * (uint64_t)i : (uint64_t)i % 5),
			is_mixed ? BRICK_PHASE_MIXED : BRICK_PHASE_DECODE);
		part(0, 1, 0, 8 + i, 1);
		if (is_mixed)
			part(1, (uint32_t)i, (uint32_t)i, 8 + i * i, 0);
	}
	step(3000, BRICK_PHASE_MIXED); /* with three times as many outputs: nothing is like it */
	part(0, 3, 0, 50, 3);
	part(1, 20, 20, 2000, 1);
	struct requests *q = requests(3);
	assert_int_equal(interference_create(&x, q), 0);
	assert_int_equal(x->mixed_steps, 21);
	assert_int_equal(x->known_steps, 20);
	assert_true(x->expected_ns == 20 * 1002);
	assert_true(x->low_ns <= x->expected_ns && x->expected_ns <= x->high_ns);
	assert_int_equal(x->of_step[run.step_count - 1].like, 0);
	assert_true(x->has_slope && x->slope_ns > 99 && x->slope_ns < 101);
	assert_true(x->fixed_ns > 490 && x->fixed_ns < 510);
	assert_int_equal(x->plans[0].tokens, 19);
	assert_true(x->plans[0].is_known && x->plans[0].p99_ns < (double)x->p99_ns);
	interference_destroy(x);
	requests_destroy(q);
}

/* Another model drafts, one by one; what is checked takes 200 ns for each draft more. */
static void cycle(int32_t position, uint32_t drafts, uint32_t hold)
{
	for (uint32_t i = 0; i < drafts; i++) {
		step(100, BRICK_PHASE_DECODE);
		run.steps[run.step_count - 1].is_draft = run.steps[run.step_count - 1].model = 1;
		run.steps[run.step_count - 1].drafts = 1;
		part(0, 1, 0, position + (int32_t)i, 1);
		run.sequence_events[run.sequence_event_count - 1].model = 1;
	}
	step(1000 + 200 * drafts, BRICK_PHASE_DECODE);
	part(0, drafts + 1, 0, position, (int32_t)drafts + 1);
	removed(0, position + 1 + (int32_t)hold);
	now += 10;
}

static void drafts_of_several_lengths(bool has_plain)
{
	int32_t position = 8;

	prompt(0, 8, 0);
	for (int i = 0; has_plain && i < 4; i++)
		decode(0, position++);
	for (int i = 0; i < 4; i++) {
		cycle(position, 1, 1);
		cycle(position + 2, 2, 2);
		cycle(position + 5, 4, 3);
		position += 9;
	}
}

static void what_drafts_gave(void **state)
{
	const uint64_t proposed[] = {12, 8, 4, 4}, held[] = {12, 8, 4, 0};
	const double token_ns[] = {1010, 12 * 1310. / 24, 18120. / 32, 19320. / 36, 20520. / 36};
	struct speculations *all;

	(void)state;
	drafts_of_several_lengths(true);
	struct requests *q = requests(1); /* none of the model that drafts */
	assert_int_equal(speculations_create(&all, q), 0);
	assert_int_equal(all->count, 1);
	const struct speculation *s = all->list;
	assert_int_equal(s->verifications, 12);
	assert_int_equal(s->position_count, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(s->of[i + 1].proposed, proposed[i]);
		assert_int_equal(s->of[i + 1].accepted, held[i]);
	}
	for (int i = 0; i <= 4; i++)
		assert_true(s->of[i].modelled_token_ns > token_ns[i] - 1e-6 &&
			    s->of[i].modelled_token_ns < token_ns[i] + 1e-6);
	assert_int_equal(s->best, 3);
	assert_int_equal(s->tokens, 36);
	assert_int_equal(s->cycle_ns, 20520);
	assert_int_equal(s->draft_ns, 2800);
	assert_int_equal(s->verify_ns, 20520 - 2800 - 12 * 10);
	assert_int_equal(s->rollback_ns, ANALYSIS_UNKNOWN);
	assert_int_equal(s->plain_tokens, 4);
	assert_int_equal(s->plain_ns, 4 * 1010);
	assert_true(s->break_even > (1710. / 1010 - 1) / (28. / 12) - 1e-9);
	assert_true(s->break_even < (1710. / 1010 - 1) / (28. / 12) + 1e-9);
	assert_int_equal(q->gaps[q->gap_count - 1].parts_ns[GAP_PART_DRAFTING], 400);
	speculations_destroy(all);
	requests_destroy(q);
}

static void what_drafts_gave_is_not_known(void **state)
{
	struct speculations *all;

	(void)state;
	prompt(0, 8, 0);
	prompt(1, 8, 0);
	cycle(8, 3, 2);
	step(3000, BRICK_PHASE_DECODE); /* with tokens of another one */
	part(1, 2, 0, 8, 2);
	part(0, 2, 0, 11, 2);
	removed(0, 12);
	for (int i = 0; i < 5; i++)
		cycle(12 + 3 * i, 3, 2);
	struct requests *q = requests(2);
	assert_int_equal(speculations_create(&all, q), 0);
	const struct speculation *s = all->list;
	assert_int_equal(s->verifications, 8);
	assert_int_equal(s->shared, 3); /* and the first, which the other prompt kept waiting */
	assert_int_equal(s->proposed, 6 * 3 + 2);
	assert_int_equal(s->accepted, 6 * 2 + 1);
	assert_int_equal(s->plain_tokens, 0);
	assert_true(s->break_even < 0);
	assert_int_equal(s->best, RUN_NONE);
	assert_int_equal(s->of[0].verify_ns, ANALYSIS_UNKNOWN);
	assert_true(s->of[2].modelled_token_ns < 0 && s->of[3].modelled_token_ns > 0);
	speculations_destroy(all);
	requests_destroy(q);
}

static void note(uint32_t process, const char *key, const char *value)
{
	builder_note(&run, key, value);
	run.notes[run.note_count - 1].process = process;
}

/* Another process decodes without drafts; its model has the same name, and perhaps other weights.
 */
static void decoded_elsewhere(const char *weights, uint64_t tokens)
{
	size_t events, steps;
	struct speculations *all;

	note(0, "llama.model", "bytes 1");
	note(0, "model.0", "name");
	note(builder_process(&run, 8), "llama.model", weights);
	note(1, "model.0", "name");
	drafts_of_several_lengths(false);
	events = run.sequence_event_count;
	steps = run.step_count;
	prompt(0, 8, 0);
	for (int i = 8; i < 12; i++)
		decode(0, i);
	uint32_t lane = builder_lane(&run, 1, 8);
	for (; events < run.sequence_event_count; events++)
		run.sequence_events[events].lane = lane;
	for (; steps < run.step_count; steps++)
		run.steps[steps].lane = lane;
	struct requests *q = requests(2);
	assert_int_equal(speculations_create(&all, q), 0);
	assert_int_equal(all->count, 1);
	assert_int_equal(all->list->plain_tokens, tokens);
	assert_int_equal(all->list->break_even < 0, !tokens);
	speculations_destroy(all);
	requests_destroy(q);
}

static void the_same_weights_without_drafts(void **state)
{
	(void)state;
	decoded_elsewhere("bytes 1", 4);
}

static void other_weights_without_drafts(void **state)
{
	(void)state;
	decoded_elsewhere("bytes 2", 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_a_life),
		TEST(users_wait_for_each_other),
		TEST(users_in_a_row_are_alone),
		TEST(every_end_is_told_apart),
		TEST(a_prompt_of_one_token),
		TEST(processes_tell_of_one_request),
		TEST(a_request_goes_on_from_before),
		TEST(a_full_cache_takes_tokens_out),
		TEST(a_request_comes_back_from_before),
		TEST(a_token_is_there_when_it_was_chosen),
		TEST(what_was_there_before),
		TEST(refuted_drafts_end_nothing),
		TEST(drafts_behind_a_prompt),
		TEST(a_model_goes_back_to_a_state),
		TEST(a_state_for_another_request),
		TEST(preempted_while_sampling),
		TEST(another_thread_is_preempted),
		TEST(preempted_in_proportion),
		TEST(preempted_for_most_of_all_time),
		TEST(kept_sequences_and_refused_steps),
		TEST(nothing_is_said),
		TEST(who_made_it_wait),
		TEST(a_full_context_is_shifted),
		TEST(why_it_was_evaluated_again),
		TEST(what_prompts_cost_others),
		TEST(what_drafts_gave),
		TEST(what_drafts_gave_is_not_known),
		TEST(the_same_weights_without_drafts),
		TEST(other_weights_without_drafts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
