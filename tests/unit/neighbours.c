/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else used the CPUs: a process of our own tree is never the neighbour, one that is not ours
 * is found, and the accounts hold together.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock_ns.h"
#include "lib/drain/allowance.h"
#include "lib/drain/neighbours.h"
#include "tests/unit/put_file.h"
#include "ui/text/report_presence.h"
#include "ui/text/terminal.h"

#define SPIN_NS 400000000ull

static void __attribute__((noreturn)) spin(const char *name)
{
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

static void spin_until(struct machine_use *use, const struct neighbours *n, uint32_t tree)
{
	uint64_t begin = monotonic_ns();

	while (monotonic_ns() - begin < SPIN_NS)
		;
	assert_int_equal(neighbours_use(n, tree, use, NULL), 0);
}

static void our_own_are_no_neighbours(void **state)
{
	struct neighbours *n;
	struct machine_use use;
	pid_t child = fork();

	if (!child)
		spin("ours) 1 2 3");
	assert_int_equal(neighbours_create(&n), 0);
	spin_until(&use, n, (uint32_t)child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_null(strstr(use.neighbour, "ours"));
	assert_null(strstr(use.neighbour, "neighbours"));
	assert_true(use.busy_ns >= SPIN_NS / 2); /* accounts go by ticks */
	assert_true(use.neighbour_ns <= use.busy_ns + SPIN_NS / 10);
	assert_true(use.interrupt_cpu_ns <= use.interrupt_ns + SPIN_NS / 10); /* read by turns */
	assert_true(use.interrupt_cpu_ns <= use.interrupt_cpu_all_ns);
	neighbours_destroy(n);
}

/* What is under another process is judged by its tree, not by who asks. */
static void a_stranger_is_found(void **state)
{
	struct neighbours *n;
	struct machine_use use;
	int line[2];
	pid_t child = 0;

	assert_int_equal(pipe(line), 0);
	pid_t middle = fork();
	if (!middle) {
		child = fork();
		if (!child) {
			prctl(PR_SET_NAME, "stranger");
			for (uint64_t begin = monotonic_ns();
				monotonic_ns() - begin < 10 * NS_PER_S;)
				;
			_exit(0);
		}
		_exit(write(line[1], &child, sizeof child) != sizeof child);
	}
	assert_int_equal(read(line[0], &child, sizeof child), sizeof child);
	waitpid(middle, NULL, 0); /* the child is nobody's now, or init's */
	assert_int_equal(neighbours_create(&n), 0);
	spin_until(&use, n, (uint32_t)getpid());
	kill(child, SIGKILL);
	assert_true(use.neighbour_ns > 0);
	assert_true(*use.neighbour);
	neighbours_destroy(n);
}

static char *line_of(const struct run *run)
{
	struct presence presence;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	struct terminal terminal = {.out = out};
	struct step_index index;
	assert_int_equal(step_index_init(&index, run), 0);
	presence_of_run(&presence, run, &index);
	step_index_fini(&index);
	report_presence_text(run, &presence, &terminal, 0);
	fclose(out);
	return text;
}

/* A device whose interrupts all go to one CPU takes little of the machine, and more of that one. */
static void interrupts_are_of_one_cpu(void **state)
{
	struct run run = {.machine = {.busy_ns = 5000,
				  .idle_ns = 5000,
				  .interrupt_ns = 40,
				  .interrupt_cpu = 1,
				  .interrupt_cpu_ns = 36,
				  .interrupt_cpu_all_ns = 1000}};

	char *text = line_of(&run);
	assert_non_null(strstr(text, "interrupts 0.4% (3.6% of CPU 1);"));
	free(text);
	run.machine.interrupt_cpu_ns = 4; /* not worth a word */
	text = line_of(&run);
	assert_null(strstr(text, "interrupts"));
	free(text);
	run.machine.interrupt_cpu_ns = run.machine.interrupt_cpu_all_ns =
		0; /* an older recording */
	run.machine.interrupt_ns = 60;
	text = line_of(&run);
	assert_non_null(strstr(text, "interrupts 0.6%;"));
	free(text);
}

static uint64_t throttled(const char *groups, const char *root)
{
	struct allowance a = {0};

	allowance_of_groups(&a, groups, root);
	return a.throttled_ns;
}

/* By both versions of control groups; the group itself may have no limit, or not be there. */
static void a_limit_is_seen(void **state)
{
	char root[] = "/tmp/brick-throttled-XXXXXX", groups[64];

	assert_non_null(mkdtemp(root));
	snprintf(groups, sizeof groups, "%s/own", root);
	put_file(root, "own", "5:cpuacct:/x\n3:cpu,cpuacct:/a/gone\n0::/two/b\n");
	assert_int_equal(throttled(groups, root), 0);
	put_file(root, "cpu/cpu.stat", "nr_throttled 0\nthrottled_time 0\n");
	put_file(root, "cpu/a/cpu.stat", "nr_throttled 2\nthrottled_time 7000\n");
	assert_int_equal(throttled(groups, root), 7000);
	put_file(root, "two/b/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 3\n");
	put_file(root, "two/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 8\n");
	assert_int_equal(throttled(groups, root), 8000);
	put_file(root, "own", "3:cpu:/");
	assert_int_equal(throttled(groups, root), 0);

	/* the least of a group and those above it; "max" and 2^63 are no limits */
	put_file(root, "own", "3:cpu,cpuacct:/a\n4:memory:/m\n0::/two/b\n");
	put_file(root, "cpu/a/cpu.cfs_quota_us", "50000\n");
	put_file(root, "cpu/a/cpu.cfs_period_us", "100000\n");
	put_file(root, "cpu/cpu.cfs_quota_us", "-1\n");
	put_file(root, "memory/m/memory.limit_in_bytes", "9223372036854771712\n");
	put_file(root, "two/b/cpu.max", "max 100000\n");
	struct allowance a = {0};
	allowance_of_groups(&a, groups, root);
	assert_int_equal(a.quota_permille, 500);
	assert_int_equal(a.memory_bytes, 0);
	put_file(root, "two/cpu.max", "20000 100000\n");
	put_file(root, "two/b/memory.max", "max\n");
	put_file(root, "two/memory.max", "4096\n");
	a = (struct allowance){0};
	allowance_of_groups(&a, groups, root);
	assert_int_equal(a.quota_permille, 200);
	assert_int_equal(a.memory_bytes, 4096);

	struct run run = {.machine = {.busy_ns = 1, .throttled_ns = 2500000}};
	char *text = line_of(&run);
	assert_non_null(strstr(text, "held it back for 2.50ms"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_are_no_neighbours),
		cmocka_unit_test(a_stranger_is_found),
		cmocka_unit_test(interrupts_are_of_one_cpu),
		cmocka_unit_test(a_limit_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
