/* SPDX-License-Identifier: Apache-2.0 */
/* The files are those of proc(5) and the kernel's sysfs documentation. */
#include "record/runner/machine_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/disturbed.h"
#include "base/file.h"
#include "base/scope.h"

enum { CPUS_MAX = 1024, ZONES_MAX = 64, DOUBTS = 4 };

static const double load_max = 0.3; /* processes per CPU */

static double machine_state_read_number(const char *path)
{
	char text[64];

	return file_begin(path, text, sizeof(text)) ? atof(text) : -1;
}

static void read_ticks(struct machine_state *s)
{
	unsigned long long v[8] = {0};
	SCOPED_TO(fclose) FILE *in = fopen("/proc/stat", "re");

	if (!in)
		return;
	if (fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		    &v[4], &v[5], &v[6], &v[7]) >= 4) {
		s->busy = v[0] + v[1] + v[2] + v[5] + v[6];
		s->idle = v[3] + v[4];
		s->steal = v[7];
	}
}

static void read_swap(struct machine_state *s)
{
	char line[128];
	long long value;
	SCOPED_TO(fclose) FILE *in = fopen("/proc/vmstat", "re");

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "pswpin %lld", &value) == 1 ||
			sscanf(line, "pswpout %lld", &value) == 1)
			s->swapped = (s->swapped < 0 ? 0 : s->swapped) + value;
}

static void read_frequency(struct machine_state *s)
{
	char path[96];
	double sum = 0;
	unsigned known = 0;

	for (unsigned i = 0; i < s->cpus && i < CPUS_MAX; i++) {
		snprintf(path, sizeof(path),
			"/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", i);
		double khz = machine_state_read_number(path);
		if (khz <= 0)
			break;
		sum += khz / 1000;
		known++;
	}
	s->frequency_mhz = known ? sum / known : -1;
	if (file_begin("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", s->governor,
		    sizeof(s->governor)))
		s->governor[strcspn(s->governor, "\n")] = '\0';
}

static void read_temperature(struct machine_state *s)
{
	char path[64];

	for (unsigned i = 0; i < ZONES_MAX; i++) {
		snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/temp", i);
		double degrees = machine_state_read_number(path);
		if (degrees < 0) /* this zone is missing, or cannot be read */
			continue;
		s->temperature = fmax(s->temperature, degrees / 1000);
	}
}

void machine_state_read(struct machine_state *s)
{
	char text[64];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*s = (struct machine_state){.swapped = -1,
		.load = -1,
		.frequency_mhz = -1,
		.temperature = -1,
		.cpus = cpus > 0 ? (unsigned)cpus : 1};
	if (file_begin("/proc/loadavg", text, sizeof(text)))
		s->load = atof(text);
	read_ticks(s);
	read_swap(s);
	read_frequency(s);
	read_temperature(s);
}

void machine_state_between(struct machine_change *change, const struct machine_state *before,
	const struct machine_state *after, uint64_t own_ns)
{
	double per_second = (double)sysconf(_SC_CLK_TCK);
	double busy = (double)(after->busy - before->busy);
	double steal = (double)(after->steal - before->steal);
	double all = busy + steal + (double)(after->idle - before->idle);
	double own = (double)own_ns / 1e9 * per_second;

	/* One or two ticks are within the resolution of these counters: runs may be that short. */
	*change = (struct machine_change){.steal = all > 0 && steal > 2 ? steal / all : 0,
		.others = all > 0 && busy - own > 2 ? (busy - own) / all : 0,
		.swapped = before->swapped < 0 || after->swapped < 0
				   ? 0
				   : after->swapped - before->swapped};
}

int machine_change_disturbs(const struct machine_change *change)
{
	return disturbed_by(change->others, change->steal) || change->swapped > 0;
}

int machine_state_doubt(const struct machine_state *s, unsigned i, char *out, unsigned bytes)
{
	static const double hot = 90;

	for (out[0] = '\0'; i < DOUBTS && !out[0]; i++) {
		if (i == 0 && s->load > load_max * s->cpus)
			snprintf(out, bytes,
				"a load of %.1f on %u CPUs: other processes use the CPUs", s->load,
				s->cpus);
		if (i == 1 && s->governor[0] && strcmp(s->governor, "performance"))
			snprintf(out, bytes, "the CPUs' frequency changes with load (governor %s)",
				s->governor);
		if (i == 2 && s->temperature > hot)
			snprintf(out, bytes, "%.0f degrees C: the CPUs may be slowed down",
				s->temperature);
	}
	return out[0] ? (int)i : 0;
}
