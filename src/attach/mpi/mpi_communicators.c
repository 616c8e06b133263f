/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Found by handle under one lock; the last one who drops a communicator frees it. Who holds one
 * may hold it once more without the lock.
 */
#include "attach/mpi/mpi_communicators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/fnv.h"
#include "base/hashmap.h"
#include "base/lock.h"
#include "base/process_start.h"
#include "base/scope.h"

static struct hashmap communicators; /* by handle */
static struct hashmap namesakes; /* how many there were of the same parent with the same members */
static pthread_mutex_t communicators_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(communicators_lock)

/* Hydra's proxy, an ancestor of its ranks, has the port of mpiexec as argument: 0 without one. */
static uint64_t communicators_hydra(void)
{
	enum { ANCESTORS = 64 };
	static const char option[] = "--control-port";
	char path[64], text[4096];
	long pid = getppid();

	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
		size_t bytes = file_begin(path, text, sizeof(text));
		bool is_proxy = strstr(text, "hydra_") != NULL;
		for (size_t at = 0; at < bytes && is_proxy; at += strlen(text + at) + 1)
			if (!strcmp(text + at, option) && at + sizeof(option) < bytes)
				return fnv1a_text(text + at + sizeof(option));
		snprintf(path, sizeof(path), "/proc/%ld/status", pid);
		strcpy(text, "0");
		file_field(path, "PPid", text, sizeof(text));
		pid = strtol(text, NULL, 10);
	}
	return 0;
}

/*
 * The launcher's name of a job tells it from other jobs of the recording; the process tells a rank
 * that is alone. Any rank of a job finds the same, on whatever host.
 */
static uint64_t communicators_job(void)
{
	static const char *const names[] = {
		"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID", "PALS_APID"};
	static uint64_t known;
	const struct mpi_library *m = mpi_library_get();
	uint64_t hash = __atomic_load_n(&known, __ATOMIC_RELAXED);
	int ranks = 0;
	KEEP_ERRNO();

	if (hash)
		return hash;
	hash = communicators_hydra();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);
		hash = hash_add(hash, value ? fnv1a_text(value) : 0);
	}
	if (m && !m->comm_size(m->world, &ranks) && ranks == 1)
		hash = hash_add(hash, process_start_time(getpid()) ^ (uint64_t)getpid() << 48);
	__atomic_store_n(&known, hash, __ATOMIC_RELAXED);
	return hash;
}

/* The ranks in MPI_COMM_WORLD of a group's members; frees the group. NULL: not known. */
static int *communicators_ranks(const struct mpi_library *m, mpi_handle group, int size)
{
	mpi_handle world;
	int *ranks = NULL;

	if (!m->comm_group(m->world, &world)) {
		size_t room = (size_t)(size > 0 ? size : 1);
		int *own = malloc(room * sizeof(*own));
		ranks = malloc(room * sizeof(*ranks));
		for (int i = 0; own && i < size; i++)
			own[i] = i;
		if (!own || !ranks || m->group_translate_ranks(group, size, own, world, ranks)) {
			free(ranks);
			ranks = NULL;
		}
		for (int i = 0; ranks && i < size; i++)
			ranks[i] = ranks[i] < 0 ? -1 : ranks[i]; /* a process of another job */
		free(own);
		m->group_free(&world);
	}
	m->group_free(&group);
	return ranks;
}

static uint64_t communicators_hash(const int *ranks, int size)
{
	uint64_t hash = (uint64_t)size;

	for (int i = 0; ranks && i < size; i++)
		hash = hash_add(hash, (uint32_t)ranks[i]);
	return hash;
}

/* Programs may make communicators without end; only the first have a name and sites of their own.
 */
static void communicators_name(const struct mpi_library *m, struct mpi_communicator *c)
{
	enum { NAMED = 200 };
	static uint32_t named, sites_of_others[MPI_CALL_ROOM];
	char name[512] = "";
	int length = 0;

	c->sites = c->own_sites;
	if (__atomic_add_fetch(&named, 1, __ATOMIC_RELAXED) > NAMED) {
		c->sites = sites_of_others;
		snprintf(c->label, sizeof(c->label), "other communicators");
		return;
	}
	if (c->handle == m->world)
		snprintf(name, sizeof(name), "MPI_COMM_WORLD");
	else if (c->handle == m->self)
		snprintf(name, sizeof(name), "MPI_COMM_SELF");
	else if (m->comm_get_name(c->handle, name, &length) || !*name ||
		 !strncmp(name, "MPI COMMUNICATOR", 16))
		snprintf(name, sizeof(name), "communicator %08x", c->number);
	snprintf(c->label, sizeof(c->label), "%d ranks of %.60s", c->size, name);
}

/* Makes the number, of the members and of `parent`, which names what they were made of. */
static void communicators_number(struct mpi_communicator *c, uint64_t parent)
{
	uint64_t key = hash_add(hash_add(communicators_job(), parent), c->members);

	lock_take_briefly(&communicators_lock);
	uint64_t before = hashmap_get(&namesakes, key);
	before = before == HASHMAP_NONE ? 0 : before;
	hashmap_set(&namesakes, key, before + 1);
	lock_give_brief(&communicators_lock);
	uint64_t number = hash_add(key, before);
	c->number = (uint32_t)(number ^ number >> 32) ?: 1;
}

/* Members may meet communicators whose making is not seen in different orders. */
static void communicators_distrust(struct mpi_communicator *c)
{
	mpi_messages_lose(&c->numbers, false);
	mpi_messages_lose(&c->numbers, true);
}

static struct mpi_communicator *communicators_make(
	const struct mpi_library *m, mpi_handle handle, uint64_t parent)
{
	struct mpi_communicator *c = calloc(1, sizeof(*c));
	int others = 0, is_inter = 0;
	mpi_handle group;

	if (!c || m->comm_size(handle, &c->own_size) || m->comm_rank(handle, &c->rank) ||
		m->comm_test_inter(handle, &is_inter) ||
		(is_inter && m->comm_remote_size(handle, &others))) {
		free(c);
		return NULL;
	}
	c->handle = handle;
	c->references = 1;
	c->is_inter = is_inter;
	c->size = is_inter ? others : c->own_size;
	if (handle == m->world) {
		c->members = communicators_hash(NULL, c->own_size);
	} else {
		int *ranks = m->comm_group(handle, &group)
				     ? NULL
				     : communicators_ranks(m, group, c->own_size);
		c->members = communicators_hash(ranks, c->own_size);
		if (is_inter && !m->comm_remote_group(handle, &group)) {
			c->peers = communicators_ranks(m, group, others);
			/* the same from both sides */
			c->members += communicators_hash(c->peers, others);
			free(ranks);
		} else {
			c->peers = ranks;
		}
	}
	communicators_number(c, parent);
	communicators_name(m, c);
	return c;
}

/* Puts a new one in the place of its handle, held for the caller. */
static struct mpi_communicator *communicators_add(struct mpi_communicator *c)
{
	lock_take_briefly(&communicators_lock);
	struct mpi_communicator *former = hashmap_pointer(hashmap_get(&communicators, c->handle));
	bool is_kept = !hashmap_set_pointer(&communicators, c->handle, c);
	if (is_kept)
		mpi_communicator_keep(c);
	lock_give_brief(&communicators_lock);
	if (is_kept && former)
		mpi_communicator_drop(former);
	return c;
}

struct mpi_communicator *mpi_communicator_get(const struct mpi_library *m, mpi_handle handle)
{
	mpi_handle value = mpi_handle_value(m, handle);

	lock_take_briefly(&communicators_lock);
	struct mpi_communicator *c = hashmap_pointer(hashmap_get(&communicators, value));
	if (c)
		mpi_communicator_keep(c);
	lock_give_brief(&communicators_lock);
	if (c)
		return c;
	c = communicators_make(m, value, 0);
	if (!c)
		return NULL;
	if (value != m->world && value != m->self)
		communicators_distrust(c);
	return communicators_add(c);
}

void mpi_communicator_keep(struct mpi_communicator *c)
{
	__atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
}

void mpi_communicator_drop(struct mpi_communicator *c)
{
	if (!c || __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL))
		return;
	mpi_numbers_fini(&c->numbers);
	mpi_numbers_fini(&c->partitioned);
	free(c->topology);
	free(c->peers);
	free(c);
}

/* `parent`: a communicator that is held, or NULL. */
static void communicators_made(const struct mpi_library *m, struct mpi_communicator *parent,
	uint64_t name, mpi_handle made)
{
	struct mpi_communicator *c = communicators_make(m, made, parent ? parent->number : name);

	if (!c)
		return;
	if (parent && parent->numbers.has_none[true])
		communicators_distrust(c);
	mpi_communicator_drop(communicators_add(c));
}

void mpi_communicator_made(const struct mpi_library *m, mpi_handle parent, mpi_handle made)
{
	mpi_handle value = mpi_handle_value(m, made);

	if (!value || value == m->comm_null)
		return;
	struct mpi_communicator *of = parent ? mpi_communicator_get(m, parent) : NULL;
	communicators_made(m, of, 0, value);
	mpi_communicator_drop(of);
}

void mpi_communicator_made_by_name(const struct mpi_library *m, const char *name, mpi_handle made)
{
	mpi_handle value = mpi_handle_value(m, made);

	if (value && value != m->comm_null)
		communicators_made(m, NULL, fnv1a_text(name), value);
}

struct mpi_communicator *mpi_communicator_copy(const struct mpi_communicator *parent)
{
	struct mpi_communicator *c = calloc(1, sizeof(*c));
	size_t bytes = (size_t)parent->size * sizeof(*c->peers);

	if (!c || (parent->peers && !(c->peers = malloc(bytes ? bytes : 1)))) {
		free(c);
		return NULL;
	}
	c->references = 1;
	c->is_inter = parent->is_inter;
	c->rank = parent->rank;
	c->own_size = parent->own_size;
	c->size = parent->size;
	if (parent->peers)
		memcpy(c->peers, parent->peers, bytes);
	c->members = parent->members;
	if (parent->numbers.has_none[true])
		communicators_distrust(c);
	communicators_number(c, parent->number);
	return c;
}

void mpi_communicator_copied(
	const struct mpi_library *m, struct mpi_communicator *copy, mpi_handle made)
{
	copy->handle = mpi_handle_value(m, made);
	communicators_name(m, copy);
	mpi_communicator_keep(copy);
	mpi_communicator_drop(communicators_add(copy));
}

void mpi_communicator_freed(const struct mpi_library *m, mpi_handle handle)
{
	lock_take_briefly(&communicators_lock);
	struct mpi_communicator *c =
		hashmap_pointer(hashmap_take(&communicators, mpi_handle_value(m, handle)));
	lock_give_brief(&communicators_lock);
	mpi_communicator_drop(c);
}
