/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy is counted exactly over a counter's wraps, by all counters that a doubled /sys has and by
 * no part of one that is counted; and a run's energy is spread over its steps by time, with bounds
 * where two phases share it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/accounts/energy_accounts.h"
#include "record/energy_sources.h"
#include "ui/text/energy_view.h"
#include "tests/unit/run_builder.h"

static char root[64];

static void system_do(const char *format, const char *name)
{
	char command[512];

	snprintf(command, sizeof(command), format, root, name);
	assert_int_equal(system(command), 0);
}

static void system_set(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/class/%s", root, file);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void system_zone(const char *zone, const char *name, const char *range, const char *uj)
{
	char file[128];

	system_do("mkdir -p %s/sys/class/powercap/%s", zone);
	snprintf(file, sizeof(file), "powercap/%s/name", zone);
	system_set(file, name);
	snprintf(file, sizeof(file), "powercap/%s/max_energy_range_uj", zone);
	system_set(file, range);
	snprintf(file, sizeof(file), "powercap/%s/energy_uj", zone);
	system_set(file, uj);
}

/* A sensor that tells a power of 25 W. */
static void system_sensor(const char *device, const char *name, const char *label)
{
	char file[64];

	system_do("mkdir -p %s/sys/class/hwmon/%s", device);
	snprintf(file, sizeof(file), "hwmon/%s/name", device);
	system_set(file, name);
	snprintf(file, sizeof(file), "hwmon/%s/power1_label", device);
	system_set(file, label);
	snprintf(file, sizeof(file), "hwmon/%s/power1_average", device);
	system_set(file, "25000000\n");
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/brick-unit-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	system_do("rm -rf %s%s", "");
	return 0;
}

static void test_absent(void **state)
{
	struct energy_sources sources;

	(void)state;
	assert_int_equal(energy_sources_open(&sources, root), -ENOENT);
	energy_sources_close(&sources);
	system_zone("intel-rapl:0", "package-0\n", "1000\n", "no number\n");
	assert_int_equal(energy_sources_open(&sources, root), -ENOENT);
	energy_sources_close(&sources);
}

/* Counters that this user may not read are no absent ones: the report says which it is. */
static void test_forbidden(void **state)
{
	struct energy_sources sources;
	uid_t self = geteuid();

	(void)state;
	system_zone("intel-rapl:0", "package-0\n", "1000\n", "1\n");
	system_zone("intel-rapl:0:0", "dram\n", "1000\n", "1\n");
	system_do("chmod 755 %s%s", "");
	system_do("chmod 000 %s/sys/class/powercap/%s/energy_uj", "intel-rapl:0");
	system_do("chmod 000 %s/sys/class/powercap/%s/energy_uj", "intel-rapl:0:0");
	assert_true(self || !seteuid(65534)); /* root may read all files */
	int error = energy_sources_open(&sources, root);
	assert_true(self || !seteuid(self));
	assert_int_equal(error, -EACCES);
	energy_sources_close(&sources);
	assert_string_equal(sources.refused, "rapl package-0, rapl package-0 dram");
	struct run run = {.energy_error = error};
	char *text = energy_absent_text(&run);
	assert_non_null(strstr(text, "not known: this user may not read the system's counters"));
	free(text);
	strcpy(run.energy_refused, sources.refused);
	text = energy_absent_text(&run);
	assert_non_null(strstr(text, "not known: this user may not read rapl package-0, rapl "
				     "package-0 dram; until the next boot all users may after "
				     "'chmod a+r /sys/class/powercap/*/energy_uj'"));
	free(text);
	strcat(run.energy_refused, ", hwmon board 1");
	text = energy_absent_text(&run);
	assert_non_null(strstr(text, "'chmod a+r /sys/class/hwmon/hwmon*/*_input "
				     "/sys/class/powercap/*/energy_uj'"));
	free(text);
	/* one that may be read is enough */
	system_zone("intel-rapl:1", "package-1\n", "1000\n", "1\n");
	assert_true(self || !seteuid(65534));
	error = energy_sources_open(&sources, root);
	assert_true(self || !seteuid(self));
	assert_int_equal(error, 0);
	assert_int_equal(sources.list.count, 1);
	assert_string_equal(sources.refused, "rapl package-0, rapl package-0 dram");
	energy_sources_close(&sources);
}

/* The range is of the kernel: 2^32 - 1 units of 61.035 uJ, in whole uJ. */
static void test_wraps(void **state)
{
	struct energy_sources sources;
	static const uint64_t unit_nj = 61035, start = 4294967000;

	(void)state;
	system_zone("intel-rapl:0", "package-0\n", "262143328850\n", "0\n");
	uint64_t raw = start;
	char text[32];
	snprintf(text, sizeof(text), "%llu\n",
		(unsigned long long)((raw & UINT32_MAX) * unit_nj / 1000));
	system_set("powercap/intel-rapl:0/energy_uj", text);
	assert_int_equal(energy_sources_open(&sources, root), 0);
	assert_int_equal(sources.list.count, 1);
	struct energy_source *s = &sources.list.items[0];
	assert_string_equal(s->name, "rapl package-0");
	for (int i = 0; i < 7; i++) { /* three wraps */
		raw += 2000000000;
		snprintf(text, sizeof(text), "%llu\n",
			(unsigned long long)((raw & UINT32_MAX) * unit_nj / 1000));
		system_set("powercap/intel-rapl:0/energy_uj", text);
		s->ns -= 100000000000; /* 122 kJ in 100 s */
		assert_true(energy_source_read(s));
	}
	double want = (double)((raw - start) * unit_nj) / 1000;
	assert_true(s->uj - want < 5 && want - s->uj < 5); /* one rounding for each reading */

	/* 50 kJ, and 0 after a second: the counter was reset, and did not take 212 kJ meanwhile */
	s->value = 50000000000;
	s->ns -= 1000000000;
	system_set("powercap/intel-rapl:0/energy_uj", "0\n");
	want = s->uj;
	assert_false(energy_source_read(s));
	assert_true(s->uj == want);
	energy_sources_close(&sources);
}

static void test_sources(void **state)
{
	struct energy_sources sources;
	static const char *const names[] = {"hwmon amdgpu PPT power", "hwmon amdgpu PPT power 2",
		"hwmon counter 1", "rapl package-0", "rapl package-0 dram", "rapl package-1"};

	(void)state;
	system_zone("intel-rapl:0", "package-0\n", "1000\n", "1\n");
	system_zone("intel-rapl:0:0", "core\n", "1000\n", "1\n");
	system_zone("intel-rapl:0:1", "dram\n", "1000\n", "1\n");
	system_zone("intel-rapl:1", "package-1\n", "1000\n", "1\n");
	system_zone("intel-rapl-mmio:0", "package-0\n", "1000\n", "1\n");
	system_sensor("hwmon1", "amdgpu", "PPT");
	system_sensor("hwmon3", "amdgpu", "PPT");
	system_do("mkdir -p %s/sys/class/hwmon/%s", "hwmon2");
	system_set("hwmon/hwmon2/name", "counter\n");
	system_set("hwmon/hwmon2/energy1_input", "100\n");
	system_set("hwmon/hwmon2/power1_input", "100\n");
	system_set("hwmon/hwmon2/energy2_label", "Ecore000\n");
	system_set("hwmon/hwmon2/energy2_input", "100\n");
	assert_int_equal(energy_sources_open(&sources, root), 0);
	assert_int_equal(sources.list.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(sources.list.items[i].name, names[i]);

	/* a power is summed up over the time between the readings */
	struct energy_source *power = &sources.list.items[0];
	uint64_t before_ns = power->ns;
	assert_true(energy_source_read(power));
	double want = 25e6 * (double)(power->ns - before_ns) / 1e9;
	assert_true(power->uj > 0.999 * want && power->uj < 1.001 * want);

	/* a counter without a range that begins anew tells nothing any more */
	system_set("hwmon/hwmon2/energy1_input", "99\n");
	assert_false(energy_source_read(&sources.list.items[2]));
	energy_sources_close(&sources);
}

/* Each of many equal sensors has a name of its own, also where a sensor is labelled like it. */
static void test_equal_names(void **state)
{
	static const char *const names[] = {"hwmon soc CPU power", "hwmon soc CPU power 2",
		"hwmon soc CPU power 3", "hwmon soc CPU power 4"};

	(void)state;
	for (size_t count = 1; count <= 4; count++) {
		struct energy_sources sources;
		char device[8];
		snprintf(device, sizeof(device), "hwmon%zu", count);
		system_sensor(device, "soc", "CPU");
		assert_int_equal(energy_sources_open(&sources, root), 0);
		assert_int_equal(sources.list.count, count);
		for (size_t i = 0; i < count; i++)
			assert_string_equal(sources.list.items[i].name, names[i]);
		energy_sources_close(&sources);
	}
	struct energy_sources sources;
	system_do("mkdir -p %s/sys/class/hwmon/%s", "hwmon9");
	system_set("hwmon/hwmon9/name", "soc\n");
	system_set("hwmon/hwmon9/energy1_label", "CPU power 2\n");
	system_set("hwmon/hwmon9/energy1_input", "1\n");
	assert_int_equal(energy_sources_open(&sources, root), 0);
	assert_int_equal(sources.list.count, 5);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(
				sources.list.items[i].name, sources.list.items[k].name);
	energy_sources_close(&sources);
}

/* ---- spread over steps ---- */

static void energy_reading(struct run *run, uint64_t ns, uint64_t uj)
{
	BUILDER_GROW(run->energies, run->energy_count);
	run->energies[run->energy_count++] = (struct run_energy){.ns = ns, .uj = uj};
}

static void one_step(struct run *run, uint32_t site, uint64_t begin, uint64_t end, uint64_t tokens)
{
	builder_sample(run, 0, site, begin, end, 0);
	builder_step(run, 0, tokens);
}

/* A prompt and three steps of a token each; nothing runs from 4000 to 4500. */
static void energy_run(struct run *run)
{
	builder_process(run, 1);
	builder_lane(run, 0, 1);
	uint32_t prefill = builder_site(run, builder_known(run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	BUILDER_GROW(run->energy_sources, run->energy_source_count);
	run->energy_sources[run->energy_source_count++].name = strdup("rapl package-0");
	one_step(run, prefill, 1000, 3500, 10);
	one_step(run, decode, 3500, 4000, 1);
	one_step(run, decode, 4500, 5000, 1);
	one_step(run, decode, 6500, 7500, 1);
	run->lanes[0].end_ns = run->end_ns = 8000;
}

static void energy_measure(struct energy_rows *rows, const struct run *run)
{
	struct step_index index;
	struct step_times times;

	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(step_times_measure(&times, run, &index), 0);
	assert_int_equal(energy_rows_measure(rows, run, &times), 0);
	step_times_fini(&times);
	step_index_fini(&index);
}

/* Packages are read at times of their own, and each has a row of its own. */
static void test_packages(void **state)
{
	struct run run = {0};
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};

	(void)state;
	energy_run(&run);
	BUILDER_GROW(run.energy_sources, run.energy_source_count);
	run.energy_sources[run.energy_source_count++].name = strdup("rapl package-1");
	for (uint64_t i = 0; i < 9; i++) {
		energy_reading(&run, i * 1000, i * 1000000);
		energy_reading(&run, i * 1000 + 250, i * 3000000);
		run.energies[run.energy_count - 1].source = 1;
	}
	energy_measure(&rows, &run);
	assert_int_equal(rows.list.count, 2);
	assert_true(rows.list.items[0].joules == 8 && rows.list.items[1].joules == 24);
	assert_true(rows.list.items[0].phases[STEP_PREFILL].joules == 2.5);
	/* from 1000 to 3500: 3/4 of 3 J, 2 x 3 J less what is behind 3500 */
	const struct energy_of_phase *p = &rows.list.items[1].phases[STEP_PREFILL];
	assert_true(p->low <= 7.5 && p->high >= 7.5 && p->joules > 6 && p->joules < 9);
	run_fini(&run);
}

static void test_spread(void **state)
{
	struct run run = {0};
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};

	(void)state;
	energy_run(&run);
	for (uint64_t i = 0; i < 9; i++) /* 1 J in each 1000 ns */
		energy_reading(&run, i * 1000, i * 1000000);
	energy_measure(&rows, &run);
	assert_int_equal(rows.list.count, 1);
	const struct energy_row *row = &rows.list.items[0];
	assert_int_equal(row->readings, 9);
	assert_int_equal(row->period_ns, 1000);
	assert_true(row->joules == 8);
	const struct energy_of_phase *p = &row->phases[STEP_PREFILL];
	/* the phases share 1 J from 3000 to 4000 */
	assert_true(p->joules == 2.5 && p->low == 2 && p->high == 3);
	assert_true(p->per_step == 2.5 && p->per_token == 0.25);
	const struct energy_of_phase *d = &row->phases[STEP_DECODE];
	assert_true(d->joules == 2 && d->low == 1.5 && d->high == 2.5);
	assert_true(d->per_token == d->joules / 3);
	assert_true(row->phases[STEP_MIXED].joules < 0);
	run_fini(&run);
}

/* A GPU's counter is found late: a step and a token cost what the steps in the readings did. */
static void test_late_readings(void **state)
{
	struct run run = {0};
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};

	(void)state;
	energy_run(&run);
	for (uint64_t i = 0; i < 4; i++)
		energy_reading(&run, 4000 + i * 1000, i * 1000000);
	energy_measure(&rows, &run);
	assert_int_equal(rows.list.count, 1);
	assert_true(rows.list.items[0].phases[STEP_PREFILL].joules < 0);
	const struct energy_of_phase *d = &rows.list.items[0].phases[STEP_DECODE];
	assert_true(d->joules == 1); /* of the second step, and half of the third */
	assert_true(d->per_step == 1 / 1.5 && d->per_token == 1 / 1.5);
	run_fini(&run);
}

/*
 * Readings are of all the time, so a selection of steps has no total. A recording has its own where
 * steps without bricks are left out.
 */
static void test_selected(void **state)
{
	struct run run = {0};
	SCOPED_BY(energy_rows_fini) struct energy_rows rows = {0};
	SCOPED_BY(energy_rows_fini) struct energy_rows none = {0};

	(void)state;
	energy_run(&run);
	run.selected = strdup("decode");
	energy_reading(&run, 0, 0);
	energy_reading(&run, 8000, 8000000);
	energy_measure(&rows, &run);
	assert_true(rows.list.items[0].joules == 8);
	energy_rows_fini(&rows);
	rows = (struct energy_rows){0};
	run.is_narrowed = true;
	energy_measure(&rows, &run);
	assert_int_equal(rows.list.count, 1);
	assert_true(rows.list.items[0].joules < 0);
	assert_true(rows.list.items[0].phases[STEP_DECODE].joules == 2);
	run.energies[0].ns = 7000; /* no step lies between the readings */
	energy_measure(&none, &run);
	assert_int_equal(none.list.count, 0);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_absent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forbidden, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wraps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sources, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_equal_names, set_up, tear_down),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_packages),
		cmocka_unit_test(test_late_readings),
		cmocka_unit_test(test_selected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
