/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One verdict: of 500 random pairs of sides, `bench` (text, Markdown, JSON, JUnit, annotation),
 * `diff` (text, JSON, and by its JSON the page) and runs that went through the history say the same
 * sentence and have the same exit code; nothing says "not enough data" beside an interval that
 * excludes zero. Bench's early stop is wrong as rarely as it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/statistics/unknown.h"
#include "analysis/compare/history_parts.h"
#include "record/runner/turns.h"
#include "ui/text/bench_view.h"
#include "ui/text/difference_text.h"
#include "ui/text/verdict_text.h"

enum { SIDE = 10, PAIRS = 500 };

static uint64_t random_state;

static double uniform(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static size_t below(size_t n)
{
	return (size_t)(uniform() * (double)n);
}

/* By how much B takes longer in each part, and what both sides have. */
struct truth {
	double decode, prefill, wall, noise;
	bool has_decode, has_prefill, has_plain, has_recorded, prints, is_rate;
	size_t runs;
};

static void add_phase(struct history_run *run, const char *phase, double token_ns, double spread)
{
	struct history_part *step = history_run_part(run, phase, "step", "");
	struct history_part *brick = history_run_part(run, phase, "brick", "UpProjection");

	step = &run->parts.items[run->parts.count - 2]; /* adding moves them */
	step->count = step->tokens = 100;
	step->total_ns = (uint64_t)(100 * token_ns * exp(spread * fabs(normal())));
	step->typical_tokens = brick->typical_tokens = 25;
	step->typical_ns = brick->typical_ns = (uint64_t)(25 * token_ns);
	step->united = brick->united = 1;
	brick->count = brick->tokens = 100;
	brick->total_ns = step->total_ns;
}

static void make_run(struct history_run *run, const struct truth *t, bool is_b, bool is_plain)
{
	double decode = is_b ? t->decode : 1, prefill = is_b ? t->prefill : 1;
	double wall = is_b ? t->wall : 1;

	assert_int_equal(history_run_init(run), 0);
	assert_int_equal(history_text_set(&run->kind, is_plain ? "plain" : "recorded"), 0);
	assert_int_equal(history_text_set(&run->command, is_b ? "engine b" : "engine a"), 0);
	history_run_identify(run, random_state);
	run->wall_ns = (uint64_t)(1e9 * wall * exp(t->noise * normal()));
	if (is_plain && t->prints) {
		run->value = 100 * (t->is_rate ? 1 / wall : wall) * exp(t->noise * normal());
		assert_int_equal(
			history_run_fact(run, HISTORY_PRINTS, t->is_rate ? "rate" : "time"), 0);
	}
	if (is_plain)
		return;
	if (t->has_decode)
		add_phase(run, "decode", 1e6 * decode * exp(t->noise * normal()), t->noise);
	if (t->has_prefill)
		add_phase(run, "prefill", 1e5 * prefill * exp(t->noise * normal()), t->noise);
	run->ttft_ns = (uint64_t)(1e7 * prefill * exp(t->noise * normal()));
}

/* A comparison of runs, made as `bench` makes it. */
struct pair {
	struct history_run runs[4 * SIDE];
	size_t in_a, in_b;
	struct compare_series series[4 * SIDE];
	struct compare_names names;
	struct diff_origins origins;
	struct compare *compare;
};

static void make_runs(struct pair *p, const struct truth *t)
{
	*p = (struct pair){0};
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < t->runs; i++)
			for (int plain = 0; plain < 2; plain++) {
				if (plain ? !t->has_plain : !t->has_recorded)
					continue;
				make_run(&p->runs[p->in_a + p->in_b], t, side, plain);
				*(side ? &p->in_b : &p->in_a) += 1;
			}
}

static void compare_runs(struct pair *p, const struct compare_rule *rule)
{
	struct diff_origin *origins = calloc(p->in_a + p->in_b, sizeof(*origins));

	for (size_t i = 0; i < p->in_a + p->in_b; i++) {
		assert_int_equal(history_parts_series(
					 &p->series[i], &p->names, &p->runs[i], SUMMARY_BY_BRICK),
			0);
		diff_origin_of_history(&origins[i], &p->runs[i]);
	}
	diff_origins_init(&p->origins, origins, p->in_a, p->in_b);
	assert_int_equal(
		compare_create(&p->compare, p->series, p->in_a, p->in_b, &p->names, rule), 0);
}

static void drop_comparison(struct pair *p)
{
	compare_destroy(p->compare);
	diff_origins_fini(&p->origins);
	for (size_t i = 0; i < p->in_a + p->in_b; i++)
		compare_series_fini(&p->series[i]);
	compare_names_fini(&p->names);
	memset(&p->names, 0, sizeof(p->names));
}

static void drop_runs(struct pair *p)
{
	for (size_t i = 0; i < p->in_a + p->in_b; i++)
		history_run_fini(&p->runs[i]);
}

/* Through the text that histories and journals keep, and back. */
static void keep_and_read(struct pair *p)
{
	for (size_t i = 0; i < p->in_a + p->in_b; i++) {
		char *line = history_run_line(&p->runs[i]);
		history_run_fini(&p->runs[i]);
		assert_int_equal(history_run_parse(&p->runs[i], line, strlen(line)), 0);
		free(line);
	}
}

/* Lines as one, as a terminal breaks them between words. */
static char *flat(void (*write)(const void *view, FILE *out), const void *view)
{
	char *text = NULL, *to;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	write(view, out);
	fclose(out);
	to = text;
	for (const char *at = text; *at; at++)
		if ((*at != ' ' && *at != '\n') || (to > text && to[-1] != ' '))
			*to++ = *at == '\n' ? ' ' : *at;
	*to = '\0';
	return text;
}

#define WRITER(name, type)                                    \
	static void write_##name(const void *view, FILE *out) \
	{                                                     \
		name((const type *)view, out);                \
	}
WRITER(diff_text, struct diff_view)
WRITER(diff_json, struct diff_view)
WRITER(bench_text, struct bench_view)
WRITER(bench_json, struct bench_view)
WRITER(bench_markdown, struct bench_view)
WRITER(bench_junit, struct bench_view)
WRITER(bench_annotation, struct bench_view)

static void assert_says(
	void (*write)(const void *view, FILE *out), const void *view, const char *said)
{
	char *text = flat(write, view);

	if (!strstr(text, said))
		print_error("no \"%s\" in:\n%s\n", said, text);
	assert_non_null(strstr(text, said));
	free(text);
}

/* What GitHub and XML readers get has another spelling of some characters. */
static char *spelled(const char *said, const char *from, const char *to)
{
	char *text = calloc(strlen(said) + 1, 8), *at = text;

	for (; *said; said++)
		if (*said == *from)
			at = stpcpy(at, to);
		else
			*at++ = *said;
	return text;
}

static void assert_no_lie(const struct compare *c)
{
	for (size_t i = 0; i < c->row_count; i++) {
		const struct difference *d = &c->rows[i].difference;
		if (isfinite(d->low) && (d->low > 0 || d->high < 0))
			assert_int_not_equal(d->verdict, COMPARE_UNSURE);
		if (d->verdict == COMPARE_UNSURE && isfinite(d->effect)) {
			char *text = difference_text(d);
			assert_int_equal(*text, '~');
			assert_true(strlen(text) > 2); /* what was observed */
			free(text);
		}
	}
}

static json_t *json_of(void (*write)(const void *view, FILE *out), const void *view)
{
	char *text = flat(write, view);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

/* All views of this comparison; returns the sentence. */
static char *assert_one_sentence(const struct pair *p)
{
	const struct compare *c = p->compare;
	const struct bench_side sides[2] = {{.name = "A", .command = "a", .peak_bytes = NAN},
		{.name = "B", .command = "b", .peak_bytes = NAN}};
	const struct diff_view diff = {c, &p->origins, SUMMARY_BY_BRICK, 15, false, 0, NULL};
	const struct bench_view bench = {.sides = sides,
		.side_count = 2,
		.best = 2,
		.is_pair = true,
		.reason = "runs",
		.batch = "x",
		.measure = "wall time",
		.half_width = -1,
		.diff = &diff};
	char *said = verdict_text(c), *github = spelled(said, "%", "%25");

	assert_says(write_diff_text, &diff, said);
	assert_says(write_bench_text, &bench, said);
	assert_says(write_bench_markdown, &bench, said);
	assert_says(write_bench_annotation, &bench, github);
	if (c->verdict != COMPARE_FASTER && c->verdict != COMPARE_SAME)
		assert_says(write_bench_junit, &bench, said);
	json_t *of_diff = json_of(write_diff_json, &diff);
	json_t *of_bench = json_of(write_bench_json, &bench);
	static const char *const keys[] = {"verdict", "metric", "mixed", "said"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_true(json_equal(
			json_object_get(of_diff, keys[i]), json_object_get(of_bench, keys[i])));
	assert_string_equal(json_string_value(json_object_get(of_diff, "said")), said);
	assert_string_equal(json_string_value(json_object_get(of_diff, "verdict")),
		compare_verdict_name(c->verdict));
	json_decref(of_diff);
	json_decref(of_bench);
	free(github);
	return said;
}

/* The sentence and what a gate does with it go together. */
static void assert_sentence(const struct compare *c, const char *said)
{
	bool fails = difference_fails(c->verdict, false);

	assert_int_equal(fails, strstr(said, "B is slower than A") != NULL);
	assert_int_equal(c->verdict == COMPARE_FASTER, strstr(said, "B is faster than A") != NULL);
	assert_int_equal(c->is_mixed, !strncmp(said, "mixed: ", 7));
	if (c->by) {
		char *name = verdict_row_name(c->by);
		assert_non_null(strstr(said, name)); /* the metric has a name */
		free(name);
	}
}

static double effect_of(void)
{
	static const double effects[] = {1, 1.003, 1.008, 1.02, 1.3, 2, 3};
	double effect = effects[below(7)];

	return below(2) ? effect : 1 / effect;
}

static void one_verdict(void **state)
{
	unsigned seen[COMPARE_SLOWER + 1] = {0}, mixed = 0;
	(void)state;

	for (int i = 0; i < PAIRS; i++) {
		random_state = (uint64_t)i * 7919;
		struct truth t = {effect_of(), effect_of(), effect_of(), exp(-4 - 4 * uniform()),
			below(4) > 0, below(4) > 0, below(3) > 0, true, below(4) == 0, below(2),
			2 + below(SIDE - 1)};
		const struct compare_rule rule = {
			.threshold = -1, .metric = (enum compare_metric)(below(2) ? below(7) : 0)};
		struct pair p;
		t.has_recorded = !t.has_plain || below(3) > 0;
		make_runs(&p, &t);
		compare_runs(&p, &rule);
		char *said = assert_one_sentence(&p);
		assert_sentence(p.compare, said);
		assert_no_lie(p.compare);
		seen[p.compare->verdict]++;
		mixed += p.compare->is_mixed;
		drop_comparison(&p);
		keep_and_read(&p);
		compare_runs(&p, &rule);
		char *again = assert_one_sentence(&p);
		assert_string_equal(said, again);
		drop_comparison(&p);
		drop_runs(&p);
		free(said);
		free(again);
	}
	print_message("%u faster, %u slower, %u same, %u beyond zero, %u unsure, %u mixed\n",
		seen[COMPARE_FASTER], seen[COMPARE_SLOWER], seen[COMPARE_SAME],
		seen[COMPARE_BEYOND], seen[COMPARE_UNSURE], mixed);
	assert_true(seen[COMPARE_FASTER] > 50 && seen[COMPARE_SLOWER] > 50 && mixed > 50);
	assert_true(seen[COMPARE_UNSURE] > 20 && seen[COMPARE_BEYOND] && seen[COMPARE_SAME]);
}

static void assert_said(const struct truth *t, enum compare_metric metric, const char *begin)
{
	const struct compare_rule rule = {.threshold = -1, .metric = metric};
	struct pair p;

	random_state = 11;
	make_runs(&p, t);
	compare_runs(&p, &rule);
	char *said = verdict_text(p.compare);
	if (strncmp(said, begin, strlen(begin)))
		print_error("%s\n", said);
	assert_int_equal(strncmp(said, begin, strlen(begin)), 0);
	free(said);
	drop_comparison(&p);
	drop_runs(&p);
}

static void sentences(void **state)
{
	struct truth t = {1 / 3.2, 1 / 0.65, 0.62, 0.001, true, true, true, true, false, false, 10};
	(void)state;

	assert_said(&t, COMPARE_BY_DEFAULT, "mixed: decode 3.2x faster, wall -38 %, prefill 0.65x");
	assert_said(&t, COMPARE_BY_PREFILL,
		"mixed: prefill 0.65x slower, decode 3.2x, wall -38 %; "
		"by prefill tokens/s B is slower than A");
	t.has_decode = false;
	assert_said(
		&t, COMPARE_BY_DEFAULT, "mixed: wall -38 % faster, prefill 0.65x; by wall time");
	assert_said(&t, COMPARE_BY_DECODE, "not enough data: what is asked for is not known");
	t.has_prefill = t.has_recorded = false;
	assert_said(&t, COMPARE_BY_DEFAULT, "B is faster than A by wall time: -38 % (");
	t.prints = t.is_rate = true;
	assert_said(&t, COMPARE_BY_DEFAULT, "B is faster than A by what it printed: 1.61x (");
	t.wall = 1;
	assert_said(
		&t, COMPARE_BY_DEFAULT, "B is the same as A by what it printed: same within 1 %");
	t = (struct truth){1, 1, 1.3, 0.001, true, true, true, true, false, false, 10};
	assert_said(&t, COMPARE_BY_DEFAULT, "B is slower than A by wall time: +30 % (");
	t = (struct truth){1.009, 1, 1, 0.001, true, false, false, true, false, false, 10};
	assert_said(&t, COMPARE_BY_DECODE, "B is not judged by decode tokens/s: ~ 0.99");
}

/* A bench that stops as soon as its verdict is settled: how it ends, and after how many runs. */
static enum compare_verdict bench(const struct truth *t, size_t *runs)
{
	const struct compare_rule look = {
		.threshold = -1, .alpha = 2 * stop_early_alpha / STOP_LOOKS};
	const struct compare_rule last = {.threshold = -1};
	struct pair all, p;
	enum compare_verdict verdict;
	bool is_settled = false;

	make_runs(&all, t);
	for (*runs = STOP_SETTLED_FROM; !is_settled && *runs <= t->runs; *runs += 2) {
		p = all;
		for (size_t i = 0; i < *runs; i++)
			p.runs[*runs + i] = all.runs[t->runs + i];
		p.in_a = p.in_b = *runs;
		compare_runs(&p, &look);
		is_settled =
			compare_is_settled(p.compare, COMPARE_BY_DEFAULT, *runs < STOP_SETTLED_ALL);
		drop_comparison(&p);
	}
	*runs -= 2;
	compare_runs(&p, &last);
	verdict = p.compare->verdict;
	drop_comparison(&p);
	drop_runs(&all);
	return verdict;
}

static void early_stops(void **state)
{
	enum { TRIALS = 400 };
	struct truth t = {1, 1, 1, 0.03, true, true, false, true, false, false, 2 * SIDE};
	unsigned wrong = 0, early = 0, found = 0;
	size_t runs;
	(void)state;

	for (int i = 0; i < TRIALS; i++) {
		random_state = (uint64_t)i * 104729;
		enum compare_verdict verdict = bench(&t, &runs);
		wrong += verdict == COMPARE_SLOWER || verdict == COMPARE_FASTER;
	}
	t.decode = t.prefill = t.wall = 0.62;
	for (int i = 0; i < TRIALS / 4; i++) {
		random_state = (uint64_t)i * 104729;
		found += bench(&t, &runs) == COMPARE_FASTER;
		early += runs <= STOP_SETTLED_ALL;
	}
	print_message("%u of %d wrong; of -38 %%, %u of %d found, %u with %d runs\n", wrong, TRIALS,
		found, TRIALS / 4, early, STOP_SETTLED_ALL);
	assert_in_range(wrong, 0, TRIALS * 4 / 100);
	assert_int_equal(found, TRIALS / 4);
	assert_true(early > TRIALS / 4 * 9 / 10);
}

/* The verdict on ten runs a side, B 50 % slower, of which others disturbed some. */
static enum compare_verdict with_disturbed(
	size_t in_a, size_t in_b, bool even_disturbed, char **said, bool *is_disturbed)
{
	const struct truth t = {1.5, 1, 1.5, 0.01, true, false, false, true, false, false, 10};
	const struct compare_rule rule = {.threshold = -1, .even_disturbed = even_disturbed};
	struct pair p;

	random_state = 5;
	make_runs(&p, &t);
	for (size_t i = 0; i < in_a + in_b; i++)
		assert_int_equal(history_run_fact(&p.runs[i < in_a ? i : p.in_a + i - in_a],
					 HISTORY_DISTURBED, "yes"),
			0);
	keep_and_read(&p);
	compare_runs(&p, &rule);
	enum compare_verdict verdict = p.compare->verdict;
	*is_disturbed = p.compare->is_disturbed;
	*said = verdict_text(p.compare);
	drop_comparison(&p);
	drop_runs(&p);
	return verdict;
}

/* Where others disturbed most runs of a side there is no verdict, however far apart sides are. */
static void disturbed(void **state)
{
	static const struct {
		size_t in_a, in_b;
		bool even_disturbed, is_judged;
	} cases[] = {{0, 0, false, true}, {5, 5, false, true}, {10, 10, false, false},
		{6, 0, false, false}, {0, 6, false, false}, {10, 10, true, true}};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool is_disturbed;
		char *said;
		enum compare_verdict verdict = with_disturbed(cases[i].in_a, cases[i].in_b,
			cases[i].even_disturbed, &said, &is_disturbed);
		assert_int_equal(verdict, cases[i].is_judged ? COMPARE_SLOWER : COMPARE_UNSURE);
		assert_int_equal(is_disturbed, !cases[i].is_judged);
		assert_int_equal(strstr(said, "no verdict") == NULL, cases[i].is_judged);
		assert_true(cases[i].is_judged || strstr(said, "run again"));
		free(said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disturbed),
		cmocka_unit_test(sentences),
		cmocka_unit_test(one_verdict),
		cmocka_unit_test(early_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
