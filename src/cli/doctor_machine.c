/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that times are taken with, and the CPUs that a program may have. Called by `brick
 * doctor`.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scope.h"
#include "brick/clock.h"
#include "cli/cmd_doctor.h"
#include "ui/text/text.h"

/* Whether the first CPU's flags in /proc/cpuinfo hold a word; -1 when there are no flags. */
static int has_cpu_flag(const char *flag)
{
	char flags[4096] = "";
	file_field("/proc/cpuinfo", "flags", flags, sizeof(flags));
	if (!*flags)
		return -1;
	for (char *word = strtok(flags, " "); word; word = strtok(NULL, " "))
		if (!strcmp(word, flag))
			return 1;
	return 0;
}

/*
 * The smallest difference between two readings that is no rarity: some CPUs let two readings within
 * one step of their counter differ by 1, so that the smallest of all says nothing.
 */
static uint32_t usual_step(void)
{
	enum { READINGS = 20000, LONGEST = 4096 };
	uint32_t counts[LONGEST] = {0};
	uint64_t last = brick_ticks();
	for (int i = 0; i < READINGS; i++) {
		uint64_t now = brick_ticks();
		counts[now - last < LONGEST ? now - last : LONGEST - 1]++;
		last = now;
	}
	for (uint32_t step = 1; step < LONGEST - 1; step++)
		if (counts[step] > READINGS / 100)
			return step;
	return brick_clock_get()->step_ticks;
}

void doctor_clock(struct doctor *doctor)
{
	const struct brick_clock *clock = brick_clock_get();
	const char *reason = brick_clock_reason();
	char residual[UNITS_BYTES], source[64];
	double step_ns = clock->frequency ? 1e9 * usual_step() / (double)clock->frequency : 0;
	units_time(residual, clock->residual_ns);
	doctor_add(doctor, "Clock", "clock", *reason ? DOCTOR_LIMITED : DOCTOR_OK,
		"times are right, but each costs more to take",
		"%s at %.3f GHz, within %s of CLOCK_MONOTONIC, in steps of %.0f ns (what is "
		"shorter is resolved on average only)%s%s",
		brick_clock_source_name(clock->source), (double)clock->frequency / 1e9, residual,
		step_ns, *reason ? "; nothing better because " : "", reason);
	int constant = has_cpu_flag("constant_tsc"), nonstop = has_cpu_flag("nonstop_tsc");
	if (constant >= 0)
		doctor_add(doctor, "Clock", "tsc",
			constant && nonstop > 0 ? DOCTOR_OK : DOCTOR_LIMITED, NULL,
			"the CPU says that its TSC %s at a constant rate and %s in sleep",
			constant ? "runs" : "does not run", nonstop ? "goes on" : "stops");
	if (file_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		    sizeof(source)))
		doctor_add(doctor, "Clock", "kernel", DOCTOR_OK, NULL,
			"the kernel itself keeps time by %s", source);
}

/* CPUs' worth of time that the control group may use; negative: no limit. */
static double cgroup_limit(void)
{
	char line[128], path[512] = "/sys/fs/cgroup/cpu.max";
	double least = -1;
	/* A group's own limit and those above it; within a container the root is its own. */
	FILE *file = fopen("/proc/self/cgroup", "re");
	char entry[400];
	while (file && fgets(entry, sizeof(entry), file))
		if (!strncmp(entry, "0::", 3)) {
			entry[strcspn(entry, "\n")] = '\0';
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", entry + 3);
		}
	if (file)
		fclose(file);
	const char *const places[] = {path, "/sys/fs/cgroup/cpu.max"};
	for (size_t i = 0; i < 2; i++) {
		double quota, period;
		if (file_line(places[i], line, sizeof(line)) &&
			sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0 &&
			(least < 0 || quota / period < least))
			least = quota / period;
	}
	return least;
}

static void add_cpus(struct doctor *doctor)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	int allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
	double limit = cgroup_limit();
	bool less = allowed && allowed < online;
	doctor_add(doctor, "Machine", "cpus", less || online < 2 ? DOCTOR_LIMITED : DOCTOR_OK,
		less ? "a program recorded from here has no more either"
		     : "the recorder takes turns with the program: expect more distortion",
		"%ld online, %d of them for this process", online, allowed);
	if (limit >= 0)
		doctor_add(doctor, "Machine", "quota",
			limit < (double)(allowed ? allowed : online) ? DOCTOR_LIMITED : DOCTOR_OK,
			"a control group (container) takes the CPU away when it is used up: times "
			"then hold pauses that are no work",
			"%.2f CPUs' worth of time", limit);
}

static void add_governor(struct doctor *doctor)
{
	char governor[64];
	if (!file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
		    sizeof(governor)))
		return;
	bool steady = !strcmp(governor, "performance");
	doctor_add(doctor, "Machine", "governor", steady ? DOCTOR_OK : DOCTOR_LIMITED,
		"for comparable numbers: cpupower frequency-set -g performance",
		"CPU frequency is governed by '%s'", governor);
}

void doctor_machine(struct doctor *doctor)
{
	add_cpus(doctor);
	add_governor(doctor);
	doctor_counters(doctor);
}
