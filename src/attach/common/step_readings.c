/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings and counters (step_readings.h). Page faults tell little of bytes from disks, as the
 * kernel reads a model's pages ahead by the megabyte.
 */
#include "attach/common/step_readings.h"

#include <sys/resource.h>
#include "brick/abi/step_counters.h"
#include "brick/brick.h"
#include "lib/sys/confined.h"

void step_counter_set(uint32_t *counter, const char *name, double value)
{
	uint32_t id = __atomic_load_n(counter, __ATOMIC_RELAXED);

	if (!id) {
		int brick = brick_register(name, BRICK_CATEGORY_ENGINE);
		if (brick < 0)
			return;
		id = (uint32_t)brick + 1;
		__atomic_store_n(counter, id, __ATOMIC_RELAXED);
	}
	brick_counter(id - 1, value);
}

enum { BLOCK_BYTES = 512 }; /* of ru_inblock */

struct step_reading step_reading_now(void)
{
	struct rusage r = {0};

	if (brick__sys_is_confined())
		return (struct step_reading){0};
	getrusage(RUSAGE_SELF, &r);
	return (struct step_reading){.is_valid = true,
		.bytes = (uint64_t)r.ru_inblock * BLOCK_BYTES,
		.faults = (uint32_t)r.ru_minflt + (uint32_t)r.ru_majflt,
		.kernel_ns = (uint64_t)r.ru_stime.tv_sec * 1000000000u +
			     (uint64_t)r.ru_stime.tv_usec * 1000u};
}

bool step_reading_tell(const struct step_reading *before, const struct step_reading *now)
{
	enum { MANY_FAULTS = 32 };
	static uint32_t counters[3];
	bool reads = now->bytes != before->bytes;
	bool faults = now->faults - before->faults >= MANY_FAULTS;

	if (!before->is_valid || !now->is_valid || !(reads || faults))
		return false;
	if (reads)
		step_counter_set(
			&counters[0], BRICK_DISK_NAME, (double)(now->bytes - before->bytes));
	if (faults)
		step_counter_set(
			&counters[1], BRICK_FAULTS_NAME, (double)(now->faults - before->faults));
	step_counter_set(
		&counters[2], BRICK_KERNEL_TIME_NAME, (double)(now->kernel_ns - before->kernel_ns));
	return true;
}

struct load_reading load_reading_now(void)
{
	struct rusage r = {0};

	if (brick__sys_is_confined() || getrusage(RUSAGE_THREAD, &r))
		return (struct load_reading){0};
	return (struct load_reading){.is_valid = true,
		.bytes = (uint64_t)r.ru_inblock * BLOCK_BYTES,
		.minor = (uint64_t)r.ru_minflt,
		.major = (uint64_t)r.ru_majflt};
}

void load_reading_tell(const struct load_reading *before, const struct load_reading *now)
{
	static uint32_t counters[3];

	if (!before->is_valid || !now->is_valid)
		return;
	if (now->minor != before->minor)
		step_counter_set(
			&counters[0], BRICK_LOAD_MINOR_NAME, (double)(now->minor - before->minor));
	if (now->major != before->major)
		step_counter_set(
			&counters[1], BRICK_LOAD_MAJOR_NAME, (double)(now->major - before->major));
	if (now->bytes != before->bytes)
		step_counter_set(
			&counters[2], BRICK_LOAD_DISK_NAME, (double)(now->bytes - before->bytes));
}
