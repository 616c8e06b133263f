/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings as files: what is written is read again; damaged, foreign and hostile files give an
 * error that names the place; writing is whole or not at all; staleness; where the cache lies.
 * Figures, look-ups, and the kernels themselves: whatever this CPU has runs and gives a rate.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "brick/error.h"
#include "analysis/machine/ceilings_file.h"
#include "analysis/machine/sweep_kernels.h"
#include "analysis/machine/sweep_team.h"
#include "tests/unit/put_file.h"

static const char good[] =
	"{\"schema\":\"brick/ceilings/1\",\"measured_unix_ns\":5,\"took_ns\":6,\"host\":\"h\","
	"\"cpu\":\"c\",\"microcode\":\"m\",\"cpus\":2,\"most_threads\":2,\"quick\":false,"
	"\"levels\":[{\"name\":\"L1\",\"bytes\":32768,\"cpus\":1},"
	"{\"name\":\"memory\",\"bytes\":null,\"cpus\":2}],"
	"\"compute_gops\":[{\"isa\":\"A\",\"type\":\"f32\",\"threads\":1,\"best\":10,\"median\":9,"
	"\"worst\":8.5,\"repetitions\":3}],"
	"\"bandwidth_gb_per_s\":[{\"level\":\"L1\",\"kernel\":\"read\",\"isa\":\"A\",\"threads\":1,"
	"\"working_set_bytes\":9,\"best\":7,\"median\":7,\"worst\":7,\"repetitions\":3}],"
	"\"latency_ns\":[{\"backend\":\"threads\",\"what\":\"barrier\",\"threads\":2,\"best\":70,"
	"\"median\":80,\"worst\":99,\"repetitions\":3}],"
	"\"usable\":[{\"level\":\"L1\",\"threads\":1,\"bytes\":24576}],"
	"\"reached\":[{\"level\":\"memory\",\"brick\":\"LmHead\",\"recording\":\"a.pftrace\","
	"\"threads\":1,\"working_set_bytes\":46000000,\"unix_ns\":7,\"best\":16,\"median\":16,"
	"\"worst\":16,\"repetitions\":1}],"
	"\"missing\":[{\"what\":\"x\",\"reason\":\"y\"}]}";

static struct ceilings *parse(const char *text)
{
	struct ceilings_error error;
	struct ceilings *c = NULL;
	int rc = ceilings_parse(&c, text, strlen(text), &error);
	if (rc)
		fail_msg("%s", error.text);
	return c;
}

static void comes_back(void **state)
{
	struct ceilings *c = parse(good);
	char *text = ceilings_text(c);
	struct ceilings *again = parse(text);
	char *text_again = ceilings_text(again);
	assert_string_equal(text, text_again);
	assert_string_equal(again->host, "h");
	assert_int_equal(again->level_count, 2);
	assert_int_equal(again->levels[1].bytes, 0);
	assert_true(again->compute[0].rate.best == 10 && again->compute[0].rate.worst == 8.5);
	assert_int_equal(again->bandwidth[0].bytes, 9);
	assert_true(again->latency[0].ns.best == 70);
	assert_string_equal(again->missing[0].reason, "y");
	assert_int_equal(again->usable[0].bytes, 24576);
	assert_string_equal(again->reached[0].recording, "a.pftrace");
	assert_true(again->reached[0].rate.best == 16);
	free(text);
	free(text_again);
	ceilings_destroy(c);
	ceilings_destroy(again);
}

/* A copy of the good file with the first `from` replaced. */
static char *with(const char *from, const char *to)
{
	const char *at = strstr(good, from);
	char *out = NULL;
	assert_non_null(at);
	assert_true(asprintf(&out, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from)) > 0);
	return out;
}

static void refused(const char *from, const char *to, int code, const char *place)
{
	char *text = with(from, to);
	struct ceilings_error error;
	struct ceilings *c = NULL;
	assert_int_equal(ceilings_parse(&c, text, strlen(text), &error), code);
	assert_null(c);
	if (!strstr(error.text, place))
		fail_msg("'%s' does not name '%s'", error.text, place);
	free(text);
}

static void damage_is_named(void **state)
{
	refused("ceilings/1", "ceilings/2", BRICK_EVERSION, "version");
	refused("ceilings/1", "report/1", BRICK_EFORMAT, "schema");
	refused("\"cpus\":2,", "", BRICK_EFORMAT, "\"cpus\"");
	refused("\"cpus\":2", "\"cpus\":-2", BRICK_EFORMAT, "\"cpus\"");
	refused("\"cpus\":2", "\"cpus\":99999999999", BRICK_EFORMAT, "out of range");
	refused("\"host\":\"h\"", "\"host\":7", BRICK_EFORMAT, "\"host\"");
	refused("\"best\":10", "\"best\":0", BRICK_EFORMAT, "compute_gops[0]: \"best\"");
	refused("\"best\":10", "\"best\":1e300", BRICK_EFORMAT, "compute_gops[0]");
	refused("\"best\":10", "\"best\":1e999", BRICK_EFORMAT, "no JSON");
	refused("\"best\":10", "\"best\":8", BRICK_EFORMAT, "no worse");
	refused("\"best\":70", "\"best\":81", BRICK_EFORMAT, "latency_ns[0]");
	refused("\"isa\":\"A\"", "\"isa\":\"0123456789012345678901234567890123456789\"",
		BRICK_EFORMAT, "too long");
	refused("\"isa\":\"A\"", "\"isa\":\"A\\u0000B\"", BRICK_EFORMAT, "no JSON");
	refused("[{\"isa\"", "[5,{\"isa\"", BRICK_EFORMAT, "compute_gops[0] must be an object");
	refused("\"levels\":[", "\"levels\":7,\"x\":[", BRICK_EFORMAT, "\"levels\" must be a list");
	refused("\"threads\":1", "\"threads\":0", BRICK_EFORMAT, "\"threads\"");
	refused("{\"schema\"", "[{\"schema\"", BRICK_EFORMAT, "no JSON");
	refused("\"took_ns\":6", "\"took_ns\":6,\"took_ns\":6", BRICK_EFORMAT, "no JSON");
}

static void cut_anywhere(void **state)
{
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		struct ceilings_error error;
		struct ceilings *c = NULL;
		assert_int_equal(ceilings_parse(&c, good, n, &error), BRICK_EFORMAT);
		assert_null(c);
		assert_true(error.text[0]);
	}
}

static void too_many_rows(void **state)
{
	char *rows = malloc(40 * (CEILINGS_ROWS + 2)), *at = rows;
	for (int i = 0; i <= CEILINGS_ROWS; i++)
		at += sprintf(at, "{\"what\":\"x\",\"reason\":\"y\"},");
	*at = '\0';
	char *list = NULL;
	assert_true(asprintf(&list, "\"missing\":[%s", rows) > 0);
	refused("\"missing\":[", list, BRICK_EFORMAT, "too many rows");
	free(list);
	free(rows);
}

static char directory[] = "/tmp/brick-ceilings-XXXXXX";

static void kept_in_a_file(void **state)
{
	char *path = NULL;
	struct ceilings *c = parse(good), *again = NULL;
	struct ceilings_error error;
	assert_non_null(mkdtemp(directory));
	setenv("XDG_CACHE_HOME", directory, 1);
	path = ceilings_cache_path("my/../host", "Some CPU @ 3 GHz");
	assert_non_null(path);
	assert_non_null(strstr(path, "/brick/ceilings-my-..-host-Some-CPU-3-GHz.json"));
	assert_int_equal(ceilings_read(&again, path, &error), -ENOENT);
	assert_int_equal(ceilings_write(c, path), 0);
	assert_int_equal(ceilings_write(c, path), 0); /* over the old one */
	assert_int_equal(ceilings_read(&again, path, &error), 0);
	assert_string_equal(again->cpu, "c");
	ceilings_destroy(again);
	assert_int_equal(ceilings_read(&again, directory, &error), -EISDIR);
	assert_int_equal(ceilings_write(c, "/proc/no/such/place"), -ENOENT);
	unlink(path);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(rmdir(path), 0); /* nothing else was left behind */
	rmdir(directory);
	free(path);
	ceilings_destroy(c);
	setenv("XDG_CACHE_HOME", "not/absolute", 1);
	setenv("HOME", "/home/me", 1);
	path = ceilings_cache_path(NULL, "///");
	assert_string_equal(path, "/home/me/.cache/brick/ceilings-unknown-unknown.json");
	free(path);
	unsetenv("HOME");
	assert_null(ceilings_cache_path("h", "c"));
}

static void staleness(void **state)
{
	struct ceilings *c = parse(good);
	static struct cpu_info info;
	strcpy(info.host, "h");
	strcpy(info.model, "c");
	strcpy(info.microcode, "m");
	info.online = 2;
	assert_null(ceilings_stale(c, &info));
	info.online = 3;
	assert_non_null(strstr(ceilings_stale(c, &info), "number of CPUs"));
	info.online = 2;
	strcpy(info.microcode, "n");
	assert_non_null(strstr(ceilings_stale(c, &info), "microcode"));
	strcpy(info.model, "d");
	assert_non_null(strstr(ceilings_stale(c, &info), "CPU is another"));
	ceilings_destroy(c);
}

static void figures(void **state)
{
	double rates[] = {3, 9, 5, 7}, times[] = {3, 9, 5};
	struct ceilings_figure f = ceilings_figure_of(rates, 4, 0);
	assert_true(f.best == 9 && f.median == 6 && f.worst == 3 && f.count == 4);
	assert_true(ceilings_spread(&f) > 0.333 && ceilings_spread(&f) < 0.334);
	f = ceilings_figure_of(times, 3, 1);
	assert_true(f.best == 3 && f.median == 5 && f.worst == 9);
	struct ceilings *c = parse(good);
	assert_false(ceilings_noisy(c));
	c->compute[0].rate.median = 8; /* a fifth below the best: one figure of two */
	assert_true(ceilings_noisy(c));
	ceilings_destroy(c);
	f = ceilings_figure_of(times, 0, 1);
	assert_int_equal(f.count, 0);
	assert_true(ceilings_spread(&f) == 0);
}

static void machine_from_files(void **state)
{
	char root[] = "/tmp/brick-cpu-XXXXXX", name[128], command[64];
	static struct cpu_info info;
	assert_non_null(mkdtemp(root));
	cpu_info_read_from(&info, root, root); /* nothing is told: nothing is known */
	assert_string_equal(info.model, "");
	assert_int_equal(info.data[0].bytes, 0);
	assert_true(info.usable > 0);
	static const char *const caches[][4] = {{"Data", "1", "48K", "0"},
		{"Instruction", "1", "64K", "0"}, {"Unified", "2", "2048K", "0-1"},
		{"Unified", "3", "300M", "0-15,32-47"}, {"Unified", "9", "1K", "x"}};
	static const char *const files[] = {"type", "level", "size", "shared_cpu_list"};
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 4; k++) {
			snprintf(name, sizeof(name), "devices/system/cpu/cpu%d/cache/index%d/%s",
				info.cpus[0], i, files[k]);
			put_file(root, name, caches[i][k]);
		}
	put_file(root, "cpuinfo",
		"processor\t: 0\nmodel name\t: A CPU: of ours\nmicrocode\t: 0x1\n");
	cpu_info_read_from(&info, root, root);
	assert_string_equal(info.model, "A CPU: of ours");
	assert_string_equal(info.microcode, "0x1");
	assert_int_equal(info.data[0].bytes, 48 << 10);
	assert_int_equal(info.data[1].shared, 2);
	assert_int_equal(info.data[2].bytes, 300 << 20);
	assert_int_equal(info.data[2].shared, 32);
	assert_int_equal(info.data[3].bytes, 0);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

/* F141: as many CPUs as the kernel lists. */
static void machine_is_the_kernels(void **state)
{
	static struct cpu_info info;

	cpu_info_read(&info);
	assert_int_equal(info.online, sysconf(_SC_NPROCESSORS_ONLN));
	assert_in_range(info.usable, 1, info.online);
}

/* F142: for each instruction set that there is. */
static void kernels_run(void **state)
{
	size_t found = 0;
	for (const struct machine_compute *k = machine_computes; k->run; k++)
		if (k->available()) {
			double value = k->run(1000);
			assert_true(value == value &&
				    value - value == 0); /* neither NaN nor infinite */
			found++;
		}
	assert_true(found > 0);
}

/* What is said to be copied is copied, and only that. */
static void streams_move_what_they_say(void **state)
{
	enum { FLOATS = 3 * STREAM_STEP / sizeof(float), GUARD = 16 };
	float *memory = aligned_alloc(64, 3 * (FLOATS + GUARD) * sizeof(float));
	assert_non_null(memory);
	for (const struct machine_stream *k = machine_streams; k->run; k++) {
		if (!k->available())
			continue;
		float *arrays[3];
		for (int i = 0; i < 3; i++)
			arrays[i] = memory + i * (FLOATS + GUARD);
		for (int i = 0; i < 3 * (FLOATS + GUARD); i++)
			memory[i] = (float)i;
		k->run(arrays, FLOATS * sizeof(float), 2);
		for (int i = 0; i < FLOATS + GUARD; i++) {
			float a = (float)i, b = (float)(i + FLOATS + GUARD);
			float c = (float)(i + 2 * (FLOATS + GUARD));
			if (i < FLOATS && k->kind == STREAM_COPY)
				a = b;
			if (i < FLOATS && k->kind == STREAM_TRIAD)
				a = b + 0.5f * c;
			assert_true(arrays[0][i] == a && arrays[1][i] == b && arrays[2][i] == c);
		}
	}
	free(memory);
}

static void add_one(void *context, unsigned member)
{
	unsigned *counts = context;
	__atomic_add_fetch(&counts[member], 1, __ATOMIC_RELAXED);
}

static void team_runs_all(void **state)
{
	struct team *team;
	unsigned counts[5] = {0};
	assert_int_equal(team_create(&team, 5, NULL), 0); /* more than there are CPUs, perhaps */
	for (int i = 0; i < 20; i++)
		team_run(team, 1 + (unsigned)i % 5, add_one, counts);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(counts[i], 20 - 4 * i);
	assert_true(team_barrier_ns(team, 2, 10) > 0);
	team_destroy(team);
	team_destroy(NULL);
	assert_int_equal(team_create(&team, 0, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(damage_is_named),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(too_many_rows),
		cmocka_unit_test(kept_in_a_file),
		cmocka_unit_test(staleness),
		cmocka_unit_test(figures),
		cmocka_unit_test(machine_from_files),
		cmocka_unit_test(machine_is_the_kernels),
		cmocka_unit_test(kernels_run),
		cmocka_unit_test(streams_move_what_they_say),
		cmocka_unit_test(team_runs_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
