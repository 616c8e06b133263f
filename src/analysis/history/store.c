/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the engine by the prefix of the place, and hands calls on to it. */
#include "analysis/history/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/user_path.h"
#include "analysis/history/history_engine.h"

static const struct history_engine *const store_engines[] = {&history_clickhouse, &history_sqlite};

int history_store_open(
	struct history_store **out, const char *where, const struct history_open *how)
{
	struct history_store *store = calloc(1, sizeof(*store));
	size_t i = 0;

	if (!store || !(store->where = strdup(where))) {
		free(store);
		return -ENOMEM;
	}
	while (store_engines[i]->prefix &&
		strncmp(where, store_engines[i]->prefix, strlen(store_engines[i]->prefix)))
		i++;
	store->engine = store_engines[i];
	*out = store;
	const char *scheme = strstr(where, "://"); /* places of unknown engines, too */
	if (scheme && strchr(scheme, '@'))
		return history_fail(store, -EINVAL,
			"a password in an address is seen by everybody: use BRICK_DB_USER and "
			"BRICK_DB_PASSWORD_FILE");
	return store->engine->open(store, how);
}

void history_store_close(struct history_store *store)
{
	if (!store)
		return;
	store->engine->close(store);
	free(store->where);
	free(store);
}

const char *history_store_error(const struct history_store *store)
{
	return store->error;
}

int history_store_add(struct history_store *store, const struct history_run *run)
{
	return store->engine->add(store, run);
}

int history_store_flush(struct history_store *store)
{
	return store->engine->flush ? store->engine->flush(store) : 0;
}

struct receiver {
	history_run_fn each;
	void *context;
};

/* Every engine hands over runs in the same form. */
static int store_hand_over(void *context, struct history_run *run)
{
	const struct receiver *to = context;

	history_run_order(run);
	return to->each(to->context, run);
}

int history_store_list(struct history_store *store, const struct history_filter *filter,
	history_run_fn each, void *context)
{
	struct receiver to = {each, context};

	return store->engine->list(store, filter, store_hand_over, &to);
}

int history_store_points(struct history_store *store, const struct history_filter *filter,
	const struct history_part *part, history_point_fn each, void *context)
{
	return store->engine->points(store, filter, part, each, context);
}

int history_store_workloads(struct history_store *store, const struct history_filter *filter,
	history_workload_fn each, void *context)
{
	return store->engine->workloads(store, filter, each, context);
}

int history_store_groups(struct history_store *store, const struct history_filter *filter,
	enum history_by by, const char *phase, history_group_fn each, void *context)
{
	return store->engine->groups(store, filter, by, phase, each, context);
}

int history_store_label(struct history_store *store, const char *id, const char *label, bool remove)
{
	return store->engine->label(store, id, label, remove);
}

int history_store_remove(struct history_store *store, const char *id)
{
	return store->engine->remove(store, id);
}

int history_store_expire(struct history_store *store, uint64_t before_ns, uint64_t *count)
{
	*count = 0;
	return store->engine->expire(store, before_ns, count);
}

char *history_default(void)
{
	const char *said = getenv("BRICK_DB");

	if (said && *said)
		return strcmp(said, "none") ? strdup(said) : NULL;
	return user_path(USER_DATA, "history.db");
}
