/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks of commands that were launched outside of every brick: one named after the kernel, of
 * category Device, and after so many of these the brick "Kernel" for all others. Called by the
 * recording of queues. Needs no lock of its own: registering a name twice gives the same id.
 */
#include "lib/device/kernel_brick.h"
#include "lib/device/kernel_table.h"

enum { MAX_KERNEL_BRICKS = 700 };

static uint16_t known[BRICK_MAX_KERNELS]; /* brick of a kernel + 1; 0: not asked for yet */
static int shared_brick = -1;
static uint32_t category, count;

/* First of all, so that there is an entry left for the one that takes the rest. */
static void prepare(void)
{
	if (__atomic_load_n(&shared_brick, __ATOMIC_ACQUIRE) >= 0)
		return;
	int device = brick_category_register("Device");
	uint32_t own = device < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)device;
	__atomic_store_n(&category, own, __ATOMIC_RELAXED);
	__atomic_store_n(&shared_brick, brick_register("Kernel", own), __ATOMIC_RELEASE);
}

static int register_brick(uint32_t kernel)
{
	char name[sizeof((struct brick_session_brick *)0)->name];
	int before = (int)brick_count();

	if (!brick__kernel_name(kernel, name, sizeof name) || !*name)
		return -1;
	int id = brick_lookup(name);
	if (id >= 0 || __atomic_load_n(&count, __ATOMIC_RELAXED) >= MAX_KERNEL_BRICKS)
		return id;
	id = brick_register(name, __atomic_load_n(&category, __ATOMIC_RELAXED));
	if (id >= before)
		__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	return id;
}

uint32_t brick__kernel_brick(uint32_t kernel)
{
	uint16_t *entry = &known[kernel < BRICK_MAX_KERNELS ? kernel : 0];
	uint16_t id = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (id)
		return id - 1u;
	prepare();
	int found = register_brick(kernel);
	if (found < 0)
		found = __atomic_load_n(&shared_brick, __ATOMIC_RELAXED);
	if (found < 0)
		return BRICK_NONE;
	__atomic_store_n(entry, (uint16_t)(found + 1), __ATOMIC_RELAXED);
	return (uint32_t)found;
}
