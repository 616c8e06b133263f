/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open MPI's predefined handles are addresses of objects that it exports. MPICH's are numbers, the
 * same in all libraries of its interface.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "attach/mpi/mpi_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "base/scope.h"
#include "lib/sys/functions.h"

static struct mpi_library library;
static bool mpi_library_is_known;

/* `where`: RTLD_NEXT, or RTLD_DEFAULT for objects: the program may have copies of these. */
static void *mpi_library_symbol(void *where, const char *name, const void *ours)
{
	void *found = dlsym(where, name);

	if (!found || found == ours) /* a library that was opened for somebody else */
		found = object_symbol(name, ours);
	dlerror();
	return found;
}

void *mpi_next(void **kept, const char *name, const void *ours)
{
	void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);

	if (!found) {
		found = mpi_library_symbol(RTLD_NEXT, name, ours);
		__atomic_store_n(kept, found, __ATOMIC_RELAXED);
	}
	return found;
}

static bool mpi_library_function(const char *name, void *function)
{
	void *found = mpi_library_symbol(RTLD_NEXT, name, NULL);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static bool mpi_library_functions(struct mpi_library *m)
{
	return mpi_library_function("PMPI_Comm_size", &m->comm_size) &&
	       mpi_library_function("PMPI_Comm_rank", &m->comm_rank) &&
	       mpi_library_function("PMPI_Comm_test_inter", &m->comm_test_inter) &&
	       mpi_library_function("PMPI_Comm_remote_size", &m->comm_remote_size) &&
	       mpi_library_function("PMPI_Comm_group", &m->comm_group) &&
	       mpi_library_function("PMPI_Comm_remote_group", &m->comm_remote_group) &&
	       mpi_library_function("PMPI_Comm_get_name", &m->comm_get_name) &&
	       mpi_library_function("PMPI_Group_translate_ranks", &m->group_translate_ranks) &&
	       mpi_library_function("PMPI_Group_free", &m->group_free) &&
	       mpi_library_function("PMPI_Type_size", &m->type_size) &&
	       mpi_library_function("PMPI_Error_class", &m->error_class);
}

static bool mpi_library_topologies(struct mpi_library *m)
{
	return mpi_library_function("PMPI_Topo_test", &m->topo_test) &&
	       mpi_library_function("PMPI_Cartdim_get", &m->cartdim_get) &&
	       mpi_library_function("PMPI_Cart_shift", &m->cart_shift) &&
	       mpi_library_function("PMPI_Graph_neighbors_count", &m->graph_neighbors_count) &&
	       mpi_library_function("PMPI_Graph_neighbors", &m->graph_neighbors) &&
	       mpi_library_function(
		       "PMPI_Dist_graph_neighbors_count", &m->dist_graph_neighbors_count) &&
	       mpi_library_function("PMPI_Dist_graph_neighbors", &m->dist_graph_neighbors);
}

static mpi_handle mpi_library_object(const char *name)
{
	return (mpi_handle)mpi_library_symbol(RTLD_DEFAULT, name, NULL);
}

static bool mpi_library_handles(struct mpi_library *m)
{
	m->directed_graph = 3;
	m->has_topologies = mpi_library_topologies(m);
	m->world = mpi_library_object("ompi_mpi_comm_world");
	if (m->world) {
		m->self = mpi_library_object("ompi_mpi_comm_self");
		m->comm_null = mpi_library_object("ompi_mpi_comm_null");
		m->request_null = mpi_library_object("ompi_request_null");
		m->any_source = -1;
		m->proc_null = -2;
		m->root = -4;
		m->grid = 1;
		m->graph = 2;
		m->truncated = 15;
		m->in_status = 18;
		m->pending = 19;
		m->in_place = (const void *)1;
		return m->self && m->comm_null && m->request_null;
	}
	m->is_mpich = true;
	m->world = 0x44000000;
	m->self = 0x44000001;
	m->comm_null = 0x04000000;
	m->request_null = 0x2c000000;
	m->proc_null = -1;
	m->any_source = -2;
	m->root = -3;
	m->grid = 2;
	m->graph = 1;
	m->truncated = 14;
	m->in_status = 17;
	m->pending = 18;
	m->in_place = (const void *)-1;
	m->status_ignore = (const void *)1;
	return true;
}

/* Its name in the text that it says of itself; NULL: it is none that Brick knows. */
static const char *mpi_library_name(const char *text)
{
	static const char *const names[] = {"Open MPI", "MPICH", "Intel(R) MPI", "MVAPICH"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(text, names[i]))
			return names[i];
	return NULL;
}

static void mpi_library_find(void)
{
	int (*get_version)(char *, int *);
	char text[8192] = ""; /* the longest that MPICH has */
	int length = 0;

	if (!mpi_library_function("PMPI_Get_library_version", &get_version) ||
		get_version(text, &length))
		return;
	text[sizeof(text) - 1] = '\0';
	const char *name = mpi_library_name(text);
	mpi_library_is_known =
		name && mpi_library_functions(&library) && mpi_library_handles(&library);
	text[strcspn(text, ",\n")] = '\0'; /* who built it, and how */
	const char *number = strpbrk(text, "0123456789");
	if (!mpi_library_is_known)
		note_once("mpi.refused", "%s is no library that Brick knows", text);
	else
		note_once("mpi.version", "%.*s (%s)",
			number ? (int)strspn(number, "0123456789.abcr") : 0, number ? number : "",
			name);
}

const struct mpi_library *mpi_library_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, mpi_library_find);
	return mpi_library_is_known ? &library : NULL;
}

struct mpi_status mpi_status_read(const struct mpi_library *m, const void *status)
{
	const int32_t *word = status;
	struct mpi_status read;

	if (m->is_mpich) {
		read = (struct mpi_status){.source = word[2], .tag = word[3], .error = word[4]};
		read.is_cancelled = word[1] & 1;
		read.bytes = (uint64_t)(uint32_t)(word[1] >> 1) << 32 | (uint32_t)word[0];
	} else {
		read = (struct mpi_status){.source = word[0], .tag = word[1], .error = word[2]};
		read.is_cancelled = word[3] != 0;
		memcpy(&read.bytes, word + 4, sizeof(read.bytes));
	}
	return read;
}

int mpi_error_class(const struct mpi_library *m, int error)
{
	int class = error;

	return error && !m->error_class(error, &class) ? class : error;
}

uint64_t mpi_bytes_of(const struct mpi_library *m, int64_t count, mpi_handle type)
{
	int bytes = 0;

	return count > 0 && !m->type_size(type, &bytes) && bytes > 0
		       ? (uint64_t)count * (uint64_t)bytes
		       : 0;
}
