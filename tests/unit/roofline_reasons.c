/* SPDX-License-Identifier: Apache-2.0 */
/* A brick without a roof has a reason, the true one, which `brick roofline` says of it by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/roofline_kit.h"
#include "ui/text/roofline_view.h"

/* One brick of 1000 FLOPs and 2000 bytes in 100 ns, four times; what a case changes of that. */
struct scene {
	struct run run;
	struct ceilings ceilings;
	struct ceilings_bandwidth bandwidth[6];
	struct run_off_cpu off[1];
	struct run_site *site;
};

static void nothing(struct scene *s)
{
	(void)s;
}

static void off_its_cpu(struct scene *s, bool preempted)
{
	s->off[0] = (struct run_off_cpu){
		.begin_ns = 10, .end_ns = 95, .before = {0, 0}, .preempted = preempted};
	s->run.off_cpu.source = OFF_CPU_SWITCHES;
	s->run.lanes[0].off_cpu = s->off;
	s->run.lanes[0].off_cpu_count = 1;
}

static void preempted(struct scene *s)
{
	off_its_cpu(s, true);
}

static void slept(struct scene *s)
{
	off_its_cpu(s, false);
}

static void queued(struct scene *s)
{
	s->run.off_cpu.queued_ns = 200;
	s->run.off_cpu.ran_ns = 800;
}

static void stolen(struct scene *s)
{
	s->run.machine.busy_ns = 500000000;
	s->run.machine.steal_ns = 200000000;
}

static void of_another_cpu(struct scene *s)
{
	s->run.cpu = strdup("this");
	strcpy(s->ceilings.cpu, "another");
}

static void measured_once(struct scene *s)
{
	s->bandwidth[2].rate.count = 1;
}

static void no_ceilings(struct scene *s)
{
	s->ceilings.compute_count = 0;
}

static void no_arithmetic_of_f32(struct scene *s)
{
	s->ceilings.compute_count = 0;
	s->ceilings.bandwidth_count = 0;
}

static void bytes_only(struct scene *s)
{
	s->site->flags = BRICK_SITE_HAS_BYTES;
}

static void did_nothing(struct scene *s)
{
	s->site->flops = s->site->bytes = 0;
}

static void at_most(struct scene *s)
{
	s->site->flags |= BRICK_SITE_AT_MOST;
}

static void too_many_bytes(struct scene *s)
{
	s->site->bytes = 34000;
}

static void too_many_flops(struct scene *s)
{
	s->site->flops = 60000;
}

/* Of ceilings that are another machine's nobody can be above. */
static void above_anothers(struct scene *s)
{
	of_another_cpu(s);
	too_many_bytes(s);
}

static void used_once(struct scene *s)
{
	s->run.lanes[0].sample_count = 1;
}

static const struct {
	void (*change)(struct scene *scene);
	enum roofline_flags why;
	const char *told; /* as a part of the answer; NULL: nothing */
} cases[] = {
	{nothing, 0, NULL},
	{preempted, ROOFLINE_OFF_CPU, "B in no step: threads were preempted, or slept"},
	{slept, ROOFLINE_OFF_CPU, "B in no step: threads were preempted, or slept"},
	{queued, ROOFLINE_CROWDED, "B in no step: other programs, or the host"},
	{stolen, ROOFLINE_CROWDED, "B in no step: other programs, or the host"},
	{of_another_cpu, ROOFLINE_DOUBTED, "another CPU than the recording: no brick has a roof"},
	{measured_once, ROOFLINE_DOUBTED, "B in no step: the ceilings are in doubt"},
	{no_ceilings, ROOFLINE_NO_CEILINGS, "B in no step: no ceiling was measured"},
	{no_arithmetic_of_f32, ROOFLINE_NO_CEILINGS, "B in no step: no ceiling was measured"},
	{bytes_only, ROOFLINE_NO_WORK, "B in no step: FLOPs, bytes or time are not known"},
	{did_nothing, ROOFLINE_NO_WORK, "B in no step: FLOPs, bytes or time are not known"},
	{at_most, ROOFLINE_AT_MOST, "B in no step: FLOPs and bytes are only upper bounds"},
	{too_many_bytes, ROOFLINE_ABOVE_BANDWIDTH, "Above"},
	{too_many_flops, ROOFLINE_ABOVE_COMPUTE, "Above"},
	{above_anothers, ROOFLINE_DOUBTED, "another CPU than the recording: no brick has a roof"},
	{used_once, ROOFLINE_NO_LEVEL, "B in no step: nobody knows from which cache"},
};

/* On one line, however wide the answer is. */
static void answer(const struct roofline *r, char *out, size_t bytes)
{
	const struct roofline_view view = {r, "ceilings.json", ROOFLINE_ALL_PHASES};
	FILE *file = fmemopen(out, bytes, "w");

	assert_non_null(file);
	roofline_text(&view, file);
	assert_int_equal(fclose(file), 0);
	size_t length = 0;
	for (const char *c = out; *c; c++)
		if (*c != '\n' && !(*c == ' ' && length && out[length - 1] == ' '))
			out[length++] = *c;
		else if (length && out[length - 1] != ' ')
			out[length++] = ' ';
	out[length] = '\0';
}

static void each_reason_is_true_and_told(void **state)
{
	static char text[1 << 14];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = {.ceilings = machine};
		uint32_t lane = start(&s.run);
		uint32_t site = work_site(&s.run, "B", NULL, 1000, 2000);
		for (uint64_t k = 0; k < 4; k++)
			builder_sample(&s.run, lane, site, k * 200, k * 200 + 100, 0);
		memcpy(s.bandwidth, bandwidth, sizeof(bandwidth));
		s.ceilings.bandwidth = s.bandwidth;
		s.site = &s.run.sites[site];
		cases[i].change(&s);
		struct roofline *r = make(&s.run, &s.ceilings);
		assert_int_equal(r->row_count, 1);
		assert_int_equal(roofline_why_none(&r->rows[0]), cases[i].why);
		assert_int_equal(r->rows[0].distance < 0, cases[i].why != 0);
		assert_int_equal(r->rows[0].bound == ROOFLINE_UNKNOWN, cases[i].why != 0);
		answer(r, text, sizeof(text));
		if (!cases[i].told && strstr(text, "No roof"))
			fail_msg("case %zu has a roof, and no reason for none: %s", i, text);
		if (cases[i].told && !strstr(text, cases[i].told))
			fail_msg("case %zu: no \"%s\" in %s", i, cases[i].told, text);
		s.run.lanes[0].off_cpu = NULL;
		s.run.lanes[0].off_cpu_count = 0;
		finish(r, &s.run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_is_true_and_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
