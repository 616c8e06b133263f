/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a grid the part for the neighbour above arrives as the part from the neighbour below, also if
 * both are the same rank. In graphs the n-th part for a rank arrives as its n-th part from there.
 */
#include "attach/mpi/mpi_topology.h"

#include <stdlib.h>
#include "base/hashmap.h"
#include "base/scope.h"

/* No message of a program's own has a tag below 0. */
static int32_t topology_tag(int place)
{
	return -2 - place;
}

static struct mpi_topology *topology_create(int out, int in)
{
	struct mpi_topology *t =
		out < 0 || in < 0
			? NULL
			: malloc(sizeof(*t) + ((size_t)out + (size_t)in) * sizeof(*t->list));

	if (t)
		*t = (struct mpi_topology){.out = out, .in = in};
	return t;
}

static struct mpi_topology *topology_of_grid(
	const struct mpi_library *m, const struct mpi_communicator *c)
{
	int dimensions = 0, at[2];
	struct mpi_topology *t = m->cartdim_get(c->handle, &dimensions)
					 ? NULL
					 : topology_create(2 * dimensions, 2 * dimensions);

	for (int d = 0; t && d < dimensions; d++) {
		if (m->cart_shift(c->handle, d, 1, &at[0], &at[1])) {
			free(t);
			return NULL;
		}
		for (int i = 0; i < 2; i++) {
			struct mpi_neighbour *out = &t->list[2 * d + i], *in = out + t->out;
			out->is_there = in->is_there = at[i] >= 0;
			out->peer = in->peer = mpi_communicator_peer(c, at[i]);
			in->tag = topology_tag(2 * d + i);
			out->tag = topology_tag(2 * d + 1 - i);
		}
	}
	return t;
}

static int topology_take(
	struct mpi_neighbour *list, const struct mpi_communicator *c, const int *ranks, int count)
{
	SCOPED_BY(hashmap_fini) struct hashmap places = {0};

	for (int i = 0; i < count; i++) {
		uint64_t before = hashmap_get(&places, (uint32_t)ranks[i]);
		int place = before == HASHMAP_NONE ? 0 : (int)before;
		list[i] = (struct mpi_neighbour){
			mpi_communicator_peer(c, ranks[i]), topology_tag(place), ranks[i] >= 0};
		if (hashmap_set(&places, (uint32_t)ranks[i], (uint64_t)place + 1))
			return -1;
	}
	return 0;
}

static struct mpi_topology *topology_of_graph(
	const struct mpi_library *m, const struct mpi_communicator *c, bool is_directed)
{
	int in = 0, out = 0, is_weighted;

	if (is_directed ? m->dist_graph_neighbors_count(c->handle, &in, &out, &is_weighted)
			: m->graph_neighbors_count(c->handle, c->rank, &in))
		return NULL;
	out = is_directed ? out : in;
	struct mpi_topology *t = topology_create(out, in);
	SCOPED int *ranks = t ? calloc(2 * ((size_t)in + (size_t)out) + 1, sizeof(*ranks)) : NULL;
	int *targets = ranks ? ranks + in : NULL, *weights = ranks ? targets + out : NULL;
	int failed = !ranks || (is_directed ? m->dist_graph_neighbors(c->handle, in, ranks, weights,
						      out, targets, weights + in)
					    : m->graph_neighbors(c->handle, c->rank, in, ranks));
	if (failed || topology_take(t->list, c, is_directed ? targets : ranks, out) ||
		topology_take(t->list + out, c, ranks, in)) {
		free(t);
		return NULL;
	}
	return t;
}

const struct mpi_topology *mpi_topology_get(const struct mpi_library *m, struct mpi_communicator *c)
{
	struct mpi_topology *known = __atomic_load_n(&c->topology, __ATOMIC_ACQUIRE), *t = NULL;
	int kind = 0;

	if (known || !m->has_topologies || m->topo_test(c->handle, &kind))
		return known;
	if (kind == m->grid)
		t = topology_of_grid(m, c);
	else if (kind == m->graph || kind == m->directed_graph)
		t = topology_of_graph(m, c, kind == m->directed_graph);
	if (t && !__atomic_compare_exchange_n(
			 &c->topology, &known, t, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		free(t);
		t = known;
	}
	return t;
}
