/* SPDX-License-Identifier: Apache-2.0 */
/* A table without collisions resolved: a place holds whoever came last (semaphores.h). */
#include "attach/vulkan/semaphores.h"

#include "base/hash.h"
#include "base/scope.h"

enum { PLACES = 1 << 12 };

struct signal {
	uint64_t semaphore, value, number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct signal signals[PLACES];

static struct signal *place(uint64_t semaphore, uint64_t value)
{
	return &signals[hash_add(hash_u64(semaphore), value) & (PLACES - 1)];
}

void semaphores_set(VkSemaphore semaphore, uint64_t value, uint64_t number)
{
	uint64_t key = VULKAN_KEY(semaphore);

	HOLD(&lock);
	*place(key, value) = (struct signal){key, value, number};
}

uint64_t semaphores_wait(VkSemaphore semaphore, uint64_t value)
{
	uint64_t key = VULKAN_KEY(semaphore), number = 0;

	HOLD(&lock);
	struct signal *signal = place(key, value);
	if (signal->semaphore == key && signal->value == value) {
		number = signal->number;
		if (!value)
			signal->semaphore = 0;
	}
	return number;
}

void semaphores_forget(VkSemaphore semaphore)
{
	uint64_t key = VULKAN_KEY(semaphore);

	HOLD(&lock);
	for (uint32_t i = 0; i < PLACES; i++)
		if (signals[i].semaphore == key)
			signals[i].semaphore = 0;
}
