/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk from the program down.
 * A process that is found once may be about to exec, and have neither its old environment nor its
 * new one: so a process counts when it is found for the second time.
 */
#include "record/unreached.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/file_mentions.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/process_start.h"
#include "base/process_tree.h"
#include "lib/session/refusals.h"
#include "record/inject/inject.h"
#include "record/process.h"

enum {
	EVERY_NS = 100000000, /* the shortest time between two looks */
	PART = 200,	      /* looking takes at most one part in so many of a CPU's time */
	MOST = 4096,	      /* processes of one look */
};

struct unreached {
	pid_t root;
	char directory[256];
	struct hashmap seen; /* hash of pid and start time -> how often it was found, 1 or 2 */
	uint64_t next_ns;    /* when the next look is due, by CLOCK_MONOTONIC */
};

int unreached_create(struct unreached **out, pid_t root, const char *directory)
{
	struct unreached *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->root = root;
	snprintf(u->directory, sizeof(u->directory), "%s", directory);
	*out = u;
	return 0;
}

static bool unreached_is_told(const struct brick_session_refusals *refusals, pid_t pid)
{
	for (size_t i = 0; i < BRICK_REFUSALS_TOLD; i++)
		if (refusals->told[i] == (uint32_t)pid)
			return true;
	return false;
}

/* Nothing of ours is ever loaded into a static program, such as ldconfig: only ggml may be in it.
 */
static bool has_no_engine(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return inject_examine(path) == INJECT_STATIC && !file_mentions(path, "ggml_");
}

static void unreached_look_at(
	struct unreached *u, struct brick_session_refusals *refusals, pid_t pid)
{
	unsigned long long start = process_start_time(pid);
	uint64_t key = hash_add(hash_u64((uint64_t)pid), start);
	uint64_t times = hashmap_get(&u->seen, key);

	if (!start || (times != HASHMAP_NONE && times > 1) || unreached_is_told(refusals, pid) ||
		process_is_under(pid, u->directory) != PROCESS_IS_NOT || has_no_engine(pid))
		return;
	if (times == HASHMAP_NONE)
		hashmap_set(&u->seen, key, 1);
	else if (!hashmap_set(&u->seen, key, 2)) {
		char path[64], name[BRICK_REFUSALS_NAME_BYTES];
		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
		file_begin(path, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		refusals_add(refusals, -ENODATA, (uint32_t)pid, name);
	}
}

void unreached_look(struct unreached *u, struct brick_session_refusals *refusals, uint64_t now_ns)
{
	struct process_tree tree = {0};

	if (now_ns < u->next_ns)
		return;
	uint64_t begin_ns = thread_cpu_ns();
	(void)process_tree_read(&tree, u->root, MOST);
	for (size_t i = 1; i < tree.of.count; i++)
		unreached_look_at(u, refusals, tree.of.items[i]);
	process_tree_fini(&tree);
	/* programs with thousands of threads take long to be gone through */
	uint64_t took_ns = thread_cpu_ns() - begin_ns;
	u->next_ns = now_ns + (took_ns * PART > EVERY_NS ? took_ns * PART : EVERY_NS);
}

void unreached_destroy(struct unreached *u)
{
	if (!u)
		return;
	hashmap_fini(&u->seen);
	free(u);
}
