/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Prometheus' own libraries say of the process that is asked, by the same names. What /proc
 * does not tell is left out. Called by metrics.c.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ui/serve/metrics_text.h"
#include "ui/serve/serve.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"

static void put(FILE *out, const char *name, const char *unit, const char *help, double value)
{
	metrics_family(out, name, "gauge", unit, help);
	fprintf(out, "%s %.9g\n", name, value);
}

static void put_memory(FILE *out)
{
	unsigned long long all, resident;
	SCOPED_TO(fclose) FILE *file = fopen("/proc/self/statm", "re");
	double page = (double)sysconf(_SC_PAGESIZE);
	if (file && fscanf(file, "%llu %llu", &all, &resident) == 2) {
		put(out, "process_virtual_memory_bytes", "bytes", "Virtual memory of this server.",
			(double)all * page);
		put(out, "process_resident_memory_bytes", "bytes",
			"Resident memory of this server.", (double)resident * page);
	}
}

static void put_descriptors(FILE *out)
{
	struct rlimit limit;
	DIR *directory = opendir("/proc/self/fd");
	int count = -3; /* ".", "..", and the one that reads them */
	for (; directory && readdir(directory); count++)
		;
	if (directory) {
		closedir(directory);
		put(out, "process_open_fds", NULL, "File descriptors that this server has open.",
			count);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		put(out, "process_max_fds", NULL,
			"File descriptors that this server may have open.", (double)limit.rlim_cur);
}

/* Unix time; 0: not known. Its 22nd field is when it started, in ticks since the machine did. */
static double start_seconds(void)
{
	struct timespec now, up;
	unsigned long long ticks = 0;
	FILE *file = fopen("/proc/self/stat", "re");
	int found = file ? fscanf(file,
				   "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
				   "%*u %*u %*d %*d %*d %*d %*d %*d %llu",
				   &ticks)
			 : 0;
	if (file)
		fclose(file);
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	double boot = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
	return found == 1 ? boot + (double)ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

static void put_process(FILE *out)
{
	struct rusage used;
	double start = start_seconds();
	if (!getrusage(RUSAGE_SELF, &used)) {
		metrics_family(out, "process_cpu_seconds", "counter", "seconds",
			"CPU time of this server, user and system.");
		fprintf(out, "process_cpu_seconds_total %.6f\n",
			(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	}
	put_memory(out);
	put_descriptors(out);
	if (start > 0) {
		metrics_family(out, "process_start_time_seconds", "gauge", "seconds",
			"Unix time at which this server started.");
		fprintf(out, "process_start_time_seconds %.2f\n", start);
	}
}

char *serve_metrics_end(const char *metrics, uint64_t reads, uint64_t failures, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	if (!out)
		die(CLI_SYSTEM, "out of memory");
	fputs(metrics, out);
	metrics_family(out, "brick_serve_reads", "counter", NULL,
		"How often this server has read the recording.");
	fprintf(out, "brick_serve_reads_total %llu\n", (unsigned long long)reads);
	metrics_family(out, "brick_serve_read_failures", "counter", NULL,
		"How often reading the recording failed, so that older numbers were kept.");
	fprintf(out, "brick_serve_read_failures_total %llu\n", (unsigned long long)failures);
	put_process(out);
	fputs("# EOF\n", out);
	if (fclose(out) != 0)
		die(CLI_SYSTEM, "out of memory");
	return text;
}
