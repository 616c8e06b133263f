/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of energy that the system lets this user read: RAPL, sensors of hwmon, GPUs. Each source
 * is a sum of its own, and sums of several may count the same energy twice. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "lib/writer/sink.h"

struct energy_source {
	char name[SINK_ENERGY_NAME]; /* "rapl package-0", "hwmon amdgpu PPT power" */
	int fd;			     /* -1: `read` is called in place of reading a file */
	bool (*read)(void *device, uint64_t *uj);
	void *device;
	bool is_power;	   /* the file tells uW, which are summed up; else it counts uJ */
	uint64_t range_uj; /* the highest value, behind which a counter begins anew; 0: none */
	uint64_t value;	   /* as read last */
	uint64_t ns;	   /* when, by CLOCK_MONOTONIC */
	double uj;	   /* since energy_sources_open() */
};

struct energy_sources {
	ARRAY(struct energy_source) list;
	char refused[SINK_ENERGY_REFUSED]; /* "rapl package-0, rapl package-1": by the system */
};

/*
 * Opens all counters below root ("": the system's own), and reads each. 0; -ENOENT: the system has
 * none; -EACCES: this user may read none; or -errno.
 */
int energy_sources_open(struct energy_sources *sources, const char *root);

/* Reads one source. False: it cannot be read any more, or has begun anew. */
bool energy_source_read(struct energy_source *source);

void energy_source_close(struct energy_source *source);
void energy_sources_close(struct energy_sources *sources);
