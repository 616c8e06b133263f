/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI library that the program uses, and the part of its binary interface that Brick reads:
 * handles, constants and states differ between Open MPI and the libraries of MPICH's interface
 * (MPICH, Intel MPI, MVAPICH). Nothing here includes a header of MPI. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A handle, passed on as it came: a pointer for Open MPI, an int for MPICH, whose upper half is
 * undefined. Compare by mpi_handle_value().
 */
typedef uintptr_t mpi_handle;

struct mpi_library {
	bool is_mpich;
	mpi_handle world, self, comm_null, request_null;
	int any_source, proc_null, root;
	int grid, graph, directed_graph;   /* kinds of topologies */
	bool has_topologies;		   /* the calls on them are there */
	int truncated, in_status, pending; /* classes of errors */
	const void *in_place, *status_ignore;

	/* Local calls that never wait. */
	int (*comm_size)(mpi_handle, int *);
	int (*comm_rank)(mpi_handle, int *);
	int (*comm_test_inter)(mpi_handle, int *);
	int (*comm_remote_size)(mpi_handle, int *);
	int (*comm_group)(mpi_handle, mpi_handle *);
	int (*comm_remote_group)(mpi_handle, mpi_handle *);
	int (*comm_get_name)(mpi_handle, char *, int *);
	int (*group_translate_ranks)(mpi_handle, int, const int *, mpi_handle, int *);
	int (*group_free)(mpi_handle *);
	int (*type_size)(mpi_handle, int *);
	int (*error_class)(int, int *);
	int (*topo_test)(mpi_handle, int *);
	int (*cartdim_get)(mpi_handle, int *);
	int (*cart_shift)(mpi_handle, int, int, int *, int *);
	int (*graph_neighbors_count)(mpi_handle, int, int *);
	int (*graph_neighbors)(mpi_handle, int, int, int *);
	int (*dist_graph_neighbors_count)(mpi_handle, int *, int *, int *);
	int (*dist_graph_neighbors)(mpi_handle, int, int *, int *, int, int *, int *);
};

enum { MPI_ANY_TAG = -1 }; /* in all libraries */
enum { MPI_ROOM_OF_STATUS = 24 };

/* The library, once a call into it has succeeded; NULL: there is none that Brick knows. */
const struct mpi_library *mpi_library_get(void);

/*
 * The function that a hook stands in front of, looked up once; NULL: the program has none. `ours`
 * is the hook.
 */
void *mpi_next(void **kept, const char *name, const void *ours);

static inline mpi_handle mpi_handle_value(const struct mpi_library *m, mpi_handle handle)
{
	return m->is_mpich ? (uint32_t)handle : handle;
}

/* The i-th handle of an array of the program's. */
static inline mpi_handle mpi_handle_at(const struct mpi_library *m, const void *handles, int i)
{
	return m->is_mpich ? (mpi_handle)((const uint32_t *)handles)[i]
			   : ((const mpi_handle *)handles)[i];
}

/* What a receive said of its message. */
struct mpi_status {
	int source, tag, error;
	bool is_cancelled;
	uint64_t bytes;
};

/* Bytes of a state in an array of the program's. */
static inline size_t mpi_status_bytes(const struct mpi_library *m)
{
	return m->is_mpich ? 20 : 24;
}

struct mpi_status mpi_status_read(const struct mpi_library *m, const void *status);

int mpi_error_class(const struct mpi_library *m, int error);

/* Bytes of `count` elements; 0: not known. */
uint64_t mpi_bytes_of(const struct mpi_library *m, int64_t count, mpi_handle type);
