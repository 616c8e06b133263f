/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks that touch pages for the first time, with the kernel's own count of the thread's faults
 * around each: a file that is mapped (before the first step), memory of its own (in a step, and on
 * another thread beside it). Prints one JSON object: for each brick its faults, minor and major.
 *
 *   program-page_faults FILE PAGES
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "brick/brick.h"

enum { PAGE = 4096, FEW = 64 };

struct touched {
	const char *name;
	size_t pages;
	long minor, major;
};

static char *fresh(size_t pages)
{
	char *memory = mmap(
		NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(2);
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

static char touch(volatile char *memory, size_t pages, int writes)
{
	char sum = 0;

	for (size_t i = 0; i < pages; i++)
		if (writes)
			memory[i * PAGE] = 1;
		else
			sum += memory[i * PAGE];
	return sum;
}

static void count(struct touched *t, char *memory, int writes)
{
	struct rusage before, after;
	brick_span brick = brick_begin((uint32_t)brick_register(t->name, BRICK_CATEGORY_OTHER));

	getrusage(RUSAGE_THREAD, &before);
	touch(memory, t->pages, writes);
	getrusage(RUSAGE_THREAD, &after);
	brick_end(brick);
	t->minor = after.ru_minflt - before.ru_minflt;
	t->major = after.ru_majflt - before.ru_majflt;
}

static void *beside(void *argument)
{
	struct touched warm = {.name = "Warm", .pages = 1}, *t = argument;

	count(&warm, fresh(1), 1);
	count(t, fresh(t->pages), 1);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	size_t pages = (size_t)atol(argv[2]);
	int fd = open(argv[1], O_RDONLY);
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *file = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	struct touched warm = {.name = "Warm", .pages = 1},
		       all[] = {{.name = "TouchFile", .pages = (size_t)bytes / PAGE},
			       {.name = "TouchInStep", .pages = pages},
			       {.name = "TouchBeside", .pages = pages + FEW},
			       {.name = "TouchBetween", .pages = FEW}};
	pthread_t thread;

	if (file == MAP_FAILED)
		return 2;
	count(&warm, fresh(1), 1);
	count(&all[0], file, 0);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	count(&all[1], fresh(pages), 1);
	pthread_create(&thread, NULL, beside, &all[2]);
	pthread_join(thread, NULL);
	brick_end(step);
	count(&all[3], fresh(FEW), 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		printf("%s\"%s\": [%ld, %ld]", i ? ", " : "{", all[i].name, all[i].minor,
			all[i].major);
	puts("}");
	return 0;
}
