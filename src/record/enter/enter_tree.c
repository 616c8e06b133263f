/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of processes (enter_tree.h). */
#include "record/enter/enter_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/process_tree.h"

/* Processes that say the same. */
struct tree_refusal {
	pid_t pid; /* of the first */
	size_t count;
	bool is_left; /* they were entered, and keep something of ours */
	char why[REFUSAL_BYTES];
};

struct enter_tree {
	ARRAY(struct enter *) entries;
	ARRAY(struct tree_refusal) refusals;
	size_t told; /* of these */
	char sentence[REFUSAL_BYTES + 96];
	bool was_in; /* one was entered: it may end as programs do */
};

/* -ENODATA: it has no engine, as a shell or a launcher; -ESRCH: it has ended meanwhile. */
static bool is_refusal(int error)
{
	return error != -ENODATA && error != -ESRCH;
}

static void keep_refusal(struct enter_tree *t, pid_t pid, const char *why, bool is_left)
{
	struct tree_refusal new = {.pid = pid, .count = 1, .is_left = is_left};

	for (size_t i = t->told; i < t->refusals.count; i++)
		if (t->refusals.items[i].is_left == is_left &&
			!strcmp(t->refusals.items[i].why, why)) {
			t->refusals.items[i].count++;
			return;
		}
	snprintf(new.why, sizeof(new.why), "%s", why);
	(void)array_push(&t->refusals, new);
}

int enter_tree_open(struct enter_tree **out, pid_t root, const struct enter_recorder *recorder)
{
	struct enter_tree *t = calloc(1, sizeof(*t));
	struct process_tree family = {0};
	char why[REFUSAL_BYTES], roots[REFUSAL_BYTES];
	int error = t ? process_tree_read(&family, root, ENTER_TREE_MOST) : -ENOMEM, first = 0;

	*out = t;
	if (error && t)
		keep_refusal(t, root, strerror(-error), false);
	for (size_t i = 0; i < family.of.count && !error; i++) {
		struct enter *e;
		int refused = enter_open(&e, family.of.items[i], recorder, why);
		if (!refused)
			error = array_push(&t->entries, e);
		else if (is_refusal(refused))
			keep_refusal(t, family.of.items[i], why, false);
		if (refused && !i)
			snprintf(roots, sizeof(roots), "%s", why);
		first = first ? first : refused;
	}
	process_tree_fini(&family);
	if (error || t->entries.count)
		return error;
	if (!t->refusals.count)
		keep_refusal(t, root, roots, false);
	return first;
}

size_t enter_tree_descriptors(const struct enter_tree *t, int fds[ENTER_TREE_MOST])
{
	for (size_t i = 0; i < t->entries.count; i++)
		fds[i] = enter_descriptor(t->entries.items[i]);
	return t->entries.count;
}

int enter_tree_begin(struct enter_tree *t)
{
	char why[REFUSAL_BYTES];
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < t->entries.count; i++) {
		struct enter *e = t->entries.items[i];
		pid_t pid = enter_pid(e);
		int here = enter_begin(e, why);
		if (here)
			keep_refusal(t, pid, why, false);
		else
			t->entries.items[kept++] = e;
		error = here ? here : error;
	}
	t->entries.count = kept;
	return kept ? 0 : error;
}

static void tree_leave(struct enter_tree *t, struct enter *e)
{
	char why[REFUSAL_BYTES];
	pid_t pid = enter_pid(e);

	if (!enter_end(e, why))
		keep_refusal(t, pid, why, true);
}

enum enter_progress enter_tree_turn(struct enter_tree *t)
{
	enum enter_progress best = ENTER_ENDED;
	char why[REFUSAL_BYTES];
	size_t kept = 0;

	for (size_t i = 0; i < t->entries.count; i++) {
		struct enter *e = t->entries.items[i];
		enum enter_progress here = enter_turn(e, why);
		t->was_in |= here == ENTER_IS_IN;
		if (here <= ENTER_IS_IN && (here > best || best > ENTER_IS_IN))
			best = here;
		if (here == ENTER_FAILED)
			keep_refusal(t, enter_pid(e), why, false);
		if (here == ENTER_FAILED || here == ENTER_ENDED)
			tree_leave(t, e);
		else
			t->entries.items[kept++] = e;
	}
	t->entries.count = kept;
	return !kept && t->refusals.count > t->told && !t->was_in ? ENTER_FAILED : best;
}

const char *enter_tree_refusal(struct enter_tree *t)
{
	if (t->told == t->refusals.count)
		return NULL;
	const struct tree_refusal *r = &t->refusals.items[t->told++];
	char others[32] = "";
	if (r->count > 1)
		snprintf(others, sizeof(others), " and %zu more", r->count - 1);
	snprintf(t->sentence, sizeof(t->sentence), "process %d%s%s: %s", (int)r->pid, others,
		r->is_left ? "" : " cannot be entered", r->why);
	return t->sentence;
}

bool enter_tree_end(struct enter_tree *t)
{
	size_t refused = t->refusals.count;

	for (size_t i = 0; i < t->entries.count; i++)
		tree_leave(t, t->entries.items[i]);
	t->entries.count = 0;
	return t->refusals.count == refused;
}

void enter_tree_free(struct enter_tree *t)
{
	if (!t)
		return;
	array_fini(&t->entries);
	array_fini(&t->refusals);
	free(t);
}

void enter_tree_abandoned(struct enter_tree *t)
{
	for (size_t i = 0; i < t->entries.count; i++)
		enter_abandoned(t->entries.items[i]);
}
