/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls each function of MPI that Brick records, and each that tells it of communicators and
 * requests: PROGRAM FILE [TURNS]. Each rank prints its messages as a line of JSON, and writes to
 * FILE.RANK how often a call of each function was of use, with how many bytes. Built by the test
 * with an MPI's own compiler; LARGE_NAMES is a header that gives functions their names with counts
 * of 64 bits.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#ifdef LARGE_NAMES
#include LARGE_NAMES
typedef MPI_Count every_count;
typedef MPI_Aint every_place;
#else
typedef int every_count, every_place;
#endif

enum { LIMIT = 256, MOST = 64, PART = 3, TAG = 5 };

static int rank, size, to, from, turns = 2;
static long sent, sent_bytes, received, received_bytes, wrong;
static struct {
	const char *name;
	long count, bytes;
} calls[LIMIT];

static void check(int is_right, int line)
{
	if (!is_right)
		fprintf(stderr, "rank %d: line %d is wrong\n", rank, line);
	wrong += !is_right;
}
#define CHECK(is_right) check(is_right, __LINE__)

static void called(const char *name, long count, long bytes)
{
	int i = 0;

	while (i < LIMIT - 1 && calls[i].name && strcmp(calls[i].name, name) != 0)
		i++;
	calls[i].name = name;
	calls[i].count += count;
	calls[i].bytes += bytes;
}

/* A call that is recorded, with the bytes of its messages, and one that is not. */
#define CALL(name, bytes, ...) (called("MPI_" #name, 1, bytes), MPI_##name(__VA_ARGS__))
#define QUIET(name, ...) (called("MPI_" #name, 0, 0), MPI_##name(__VA_ARGS__))
/* A test is recorded when it finds something. */
#define POLL(name, bytes, flag, ...)             \
	do {                                     \
		called("MPI_" #name, 1, bytes);  \
		for ((flag) = 0; !(flag);)       \
			MPI_##name(__VA_ARGS__); \
	} while (0)

static long out(long bytes)
{
	sent++;
	sent_bytes += bytes;
	return bytes;
}

static long in(long bytes)
{
	received++;
	received_bytes += bytes;
	return bytes;
}

static int value, got;

static void expect(MPI_Request *request)
{
	got = -1;
	value = rank;
	CALL(Irecv, 0, &got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, request);
}

static void came(MPI_Request *request)
{
	MPI_Status status;

	CALL(Wait, in(4), request, &status);
	CHECK(got == from && status.MPI_SOURCE == from && status.MPI_TAG == TAG);
}

#define SEND(name)                                                               \
	do {                                                                     \
		MPI_Request r;                                                   \
		expect(&r);                                                      \
		CALL(Barrier, 0, MPI_COMM_WORLD);                                \
		CALL(name, out(4), &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD); \
		came(&r);                                                        \
	} while (0)
#define ISEND(name)                                                                  \
	do {                                                                         \
		MPI_Request r, s;                                                    \
		expect(&r);                                                          \
		CALL(Barrier, 0, MPI_COMM_WORLD);                                    \
		CALL(name, out(4), &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &s); \
		came(&r);                                                            \
		CALL(Wait, 0, &s, MPI_STATUS_IGNORE);                                \
	} while (0)
#define SEND_INIT(name)                                                       \
	do {                                                                  \
		MPI_Request r, s;                                             \
		QUIET(name, &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &s); \
		for (int k = 0; k < 2; k++) {                                 \
			expect(&r);                                           \
			CALL(Barrier, 0, MPI_COMM_WORLD);                     \
			CALL(Start, out(4), &s);                              \
			came(&r);                                             \
			CALL(Wait, 0, &s, MPI_STATUS_IGNORE);                 \
		}                                                             \
		QUIET(Request_free, &s);                                      \
	} while (0)

static void sends(void)
{
	static char room[1 << 16];
	void *back;
	int bytes;

	MPI_Buffer_attach(room, sizeof(room));
	SEND(Send);
	SEND(Bsend);
	SEND(Ssend);
	SEND(Rsend);
	ISEND(Isend);
	ISEND(Ibsend);
	ISEND(Issend);
	ISEND(Irsend);
	SEND_INIT(Send_init);
	SEND_INIT(Bsend_init);
	SEND_INIT(Ssend_init);
	SEND_INIT(Rsend_init);
	MPI_Buffer_detach(&back, &bytes);
}

static void receives(void)
{
	MPI_Request r, s[2];
	MPI_Message message;
	MPI_Status status;
	int flag;

#define SENT CALL(Isend, out(4), &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &s[0])
#define DONE CALL(Wait, 0, &s[0], MPI_STATUS_IGNORE)
	value = rank;
	SENT;
	CALL(Probe, 0, from, TAG, MPI_COMM_WORLD, &status);
	CALL(Recv, in(4), &got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(got == from);
	DONE;
	SENT;
	POLL(Iprobe, 0, flag, from, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CALL(Recv, in(4), &got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	DONE;
	SENT;
	CALL(Mprobe, 0, from, TAG, MPI_COMM_WORLD, &message, &status);
	CALL(Mrecv, in(4), &got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	DONE;
	SENT;
	POLL(Improbe, 0, flag, from, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	CALL(Imrecv, 0, &got, 1, MPI_INT, &message, &r);
	came(&r);
	DONE;
	QUIET(Recv_init, &got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &r);
	CALL(Start, 0, &r);
	SENT;
	came(&r);
	DONE;
	QUIET(Send_init, &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &s[0]);
	s[1] = r;
	CALL(Startall, out(4), 2, s);
	CALL(Waitall, in(4), 2, s, MPI_STATUSES_IGNORE);
	QUIET(Request_free, &s[0]);
	QUIET(Request_free, &s[1]);
	CALL(Sendrecv, out(4) + in(4), &value, 1, MPI_INT, to, TAG, &got, 1, MPI_INT, from, TAG,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(got == from);
	CALL(Sendrecv_replace, out(4) + in(4), &got, 1, MPI_INT, from, TAG, to, TAG, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	CHECK(got == rank);
	CALL(Irecv, 0, &got, 1, MPI_INT, from, TAG + 1, MPI_COMM_WORLD, &r);
	QUIET(Cancel, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
	CALL(Isendrecv, out(4), &value, 1, MPI_INT, to, TAG, &got, 1, MPI_INT, from, TAG,
		MPI_COMM_WORLD, &r);
	CALL(Wait, in(4), &r, MPI_STATUS_IGNORE);
	CHECK(got == from);
	CALL(Isendrecv_replace, out(4), &got, 1, MPI_INT, from, TAG, to, TAG, MPI_COMM_WORLD, &r);
	CALL(Wait, in(4), &r, MPI_STATUS_IGNORE);
	CHECK(got == rank);
#endif
}

static void completions(void)
{
	MPI_Request r[2];
	int flag, index, indices[2];

#define BOTH                                                                             \
	do {                                                                             \
		expect(&r[0]);                                                           \
		CALL(Isend, out(4), &value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &r[1]); \
	} while (0)
#define LAST CALL(Wait, 0, &r[1], MPI_STATUS_IGNORE)
	BOTH;
	CALL(Waitany, in(4), 1, r, &index, MPI_STATUS_IGNORE);
	LAST;
	BOTH;
	CALL(Waitsome, in(4), 1, r, &index, indices, MPI_STATUSES_IGNORE);
	LAST;
	BOTH;
	POLL(Test, in(4), flag, &r[0], &flag, MPI_STATUS_IGNORE);
	LAST;
	BOTH;
	POLL(Testall, in(4), flag, 2, r, &flag, MPI_STATUSES_IGNORE);
	BOTH;
	POLL(Testany, in(4), flag, 1, r, &index, &flag, MPI_STATUS_IGNORE);
	LAST;
	BOTH;
	POLL(Testsome, in(4), flag, 1, r, &flag, indices, MPI_STATUSES_IGNORE);
	LAST;
	CHECK(got == from);
}

#if MPI_VERSION >= 4
/* Twice of each of two requests with the same ends, which begin in another order in each rank. */
static void partitions(void)
{
	int give[2][4], take[2][4], list[1] = {3}, flag;
	MPI_Request s[2], r[2];

	for (int i = 0; i < 2; i++) {
		QUIET(Psend_init, give[i], 4, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
			&s[i]);
		QUIET(Precv_init, take[i], 4, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
			&r[i]);
	}
	for (int k = 0; k < 2; k++) {
		for (int j = 0; j < 2; j++) {
			int i = (j + rank) % 2;
			CALL(Start, 0, &r[i]);
			CALL(Start, 0, &s[i]);
			for (int p = 0; p < 4; p++)
				give[i][p] = rank * 100 + i * 10 + p;
			CALL(Pready_range, 0, 1, 2, s[i]);
			CALL(Pready, 0, 0, s[i]);
			CALL(Pready_list, out(16), 1, list, s[i]);
		}
		for (int i = 0; i < 2; i++) {
			POLL(Parrived, 0, flag, r[i], 0, &flag);
			CALL(Wait, in(16), &r[i], MPI_STATUS_IGNORE);
			CALL(Wait, 0, &s[i], MPI_STATUS_IGNORE);
			CHECK(take[i][3] == from * 100 + i * 10 + 3);
		}
	}
	for (int i = 0; i < 2; i++) {
		QUIET(Request_free, &s[i]);
		QUIET(Request_free, &r[i]);
	}
}
#endif

/* The blocking form, the one with a request, and the persistent one, started `turns` times. */
#if MPI_VERSION >= 4
#define MAKE(name) MPI_##name##_init
#define HAS_PERSISTENT 1
#elif defined(OPEN_MPI)
#define MAKE(name) MPIX_##name##_init
#define HAS_PERSISTENT 1
#else
#define MAKE(name) (void)
#define HAS_PERSISTENT 0
#endif
/* MPICH 4.0.2 may wait for ever for neighbours if ranks run ahead. */
#define TOGETHER CALL(Barrier, 0, MPI_COMM_WORLD)
#define FORMS(name, iname, given, taken, ...)                               \
	do {                                                                \
		MPI_Request r;                                              \
		TOGETHER;                                                   \
		CALL(name, (given) + (taken), __VA_ARGS__);                 \
		TOGETHER;                                                   \
		CALL(iname, given, __VA_ARGS__, &r);                        \
		CALL(Wait, taken, &r, MPI_STATUS_IGNORE);                   \
		for (int k = 0; k < turns * HAS_PERSISTENT; k++) {          \
			TOGETHER;                                           \
			if (!k)                                             \
				MAKE(name)(__VA_ARGS__, MPI_INFO_NULL, &r); \
			called("MPI_" #name "_init", 1, given);             \
			QUIET(Start, &r);                                   \
			CALL(Wait, taken, &r, MPI_STATUS_IGNORE);           \
			if (k == turns - 1)                                 \
				QUIET(Request_free, &r);                    \
		}                                                           \
	} while (0)

static void collectives(MPI_Comm communicator)
{
	int own, ranks, *a = calloc(MOST, sizeof(*a)), *b = calloc(MOST, sizeof(*b)), sum = 0;
	every_count counts[MOST], ones[MOST];
	every_place places[MOST];
	MPI_Datatype types[MOST];
	long part = PART * 4;

	MPI_Comm_rank(communicator, &own);
	MPI_Comm_size(communicator, &ranks);
	every_place bytes[MOST];
	for (int i = 0; i < ranks; i++) {
		counts[i] = 1 + i;
		ones[i] = 1;
		places[i] = sum;
		bytes[i] = 4 * i;
		types[i] = MPI_INT;
		sum += 1 + i;
	}
	for (int i = 0; i < PART; i++)
		a[i] = own + 1;
	FORMS(Barrier, Ibarrier, 0, 0, communicator);
	FORMS(Gather, Igather, part, 0, a, PART, MPI_INT, b, PART, MPI_INT, 0, communicator);
	FORMS(Gatherv, Igatherv, (own + 1) * 4, 0, a, own + 1, MPI_INT, b, counts, places, MPI_INT,
		0, communicator);
	FORMS(Scatter, Iscatter, own ? part : part * ranks, 0, a, PART, MPI_INT, b, PART, MPI_INT,
		0, communicator);
	FORMS(Scatterv, Iscatterv, own ? (own + 1) * 4 : sum * 4, 0, a, counts, places, MPI_INT, b,
		own + 1, MPI_INT, 0, communicator);
	FORMS(Allgather, Iallgather, part, 0, a, PART, MPI_INT, b, PART, MPI_INT, communicator);
	FORMS(Allgatherv, Iallgatherv, (own + 1) * 4, 0, a, own + 1, MPI_INT, b, counts, places,
		MPI_INT, communicator);
	FORMS(Alltoall, Ialltoall, part * ranks, 0, a, PART, MPI_INT, b, PART, MPI_INT,
		communicator);
	for (int i = 0; i < ranks; i++)
		places[i] = i;
	FORMS(Alltoallv, Ialltoallv, 4 * ranks, 0, a, ones, places, MPI_INT, b, ones, places,
		MPI_INT, communicator);
	FORMS(Alltoallw, Ialltoallw, 4 * ranks, 0, a, ones, bytes, types, b, ones, bytes, types,
		communicator);
	for (int i = 0; i < PART; i++)
		a[i] = own + 1;
	FORMS(Reduce, Ireduce, part, 0, a, b, PART, MPI_INT, MPI_SUM, 0, communicator);
	FORMS(Allreduce, Iallreduce, part, 0, a, b, PART, MPI_INT, MPI_SUM, communicator);
	CHECK(b[0] == ranks * (ranks + 1) / 2);
	FORMS(Reduce_scatter, Ireduce_scatter, 4 * ranks, 0, a, b, ones, MPI_INT, MPI_SUM,
		communicator);
	FORMS(Reduce_scatter_block, Ireduce_scatter_block, 4 * ranks, 0, a, b, 1, MPI_INT, MPI_SUM,
		communicator);
	FORMS(Scan, Iscan, part, 0, a, b, PART, MPI_INT, MPI_SUM, communicator);
	CHECK(b[0] == (own + 1) * (own + 2) / 2);
	FORMS(Exscan, Iexscan, part, 0, a, b, PART, MPI_INT, MPI_SUM, communicator);
	FORMS(Bcast, Ibcast, part, 0, a, PART, MPI_INT, ranks - 1, communicator);
	free(a);
	free(b);
}

/* In `communicator` the rank gives parts to `outs` and takes some from `ins` ranks that are there.
 */
static long outs, ins;

static long gives(long bytes)
{
	sent += outs;
	sent_bytes += bytes;
	return bytes;
}

static long takes(long bytes)
{
	received += ins;
	received_bytes += bytes;
	return bytes;
}

/* `out_room`, `in_room`: places for parts, also those of ranks that are not there. */
static void neighbours(MPI_Comm communicator, int out_room, int in_room)
{
	int a[MOST] = {0}, b[MOST] = {0};
	every_count ones[MOST], twos[MOST];
	every_place places[MOST];
	MPI_Aint bytes[MOST];
	MPI_Datatype types[MOST];

	for (int i = 0; i < MOST; i++) {
		ones[i] = 1;
		twos[i] = 2;
		places[i] = 2 * i;
		bytes[i] = 8 * i;
		types[i] = MPI_INT;
		a[i] = rank;
	}
	CHECK(out_room * 3 <= MOST && in_room * 3 <= MOST);
	FORMS(Neighbor_allgather, Ineighbor_allgather, gives(outs * 12), takes(ins * 12), a, 3,
		MPI_INT, b, 3, MPI_INT, communicator);
	FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, gives(outs * 4), takes(ins * 4), a, 1,
		MPI_INT, b, ones, places, MPI_INT, communicator);
	FORMS(Neighbor_alltoall, Ineighbor_alltoall, gives(outs * 12), takes(ins * 12), a, 3,
		MPI_INT, b, 3, MPI_INT, communicator);
	FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, gives(outs * 8), takes(ins * 8), a, twos,
		places, MPI_INT, b, twos, places, MPI_INT, communicator);
	FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, gives(outs * 8), takes(ins * 8), a, twos,
		bytes, types, b, twos, bytes, types, communicator);
}

/* MPICH 4.0.2 loses some messages of more than two neighbours, also where nothing is recorded. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define NEIGHBOURS_COME(ranks) ((ranks) <= 2)
#else
#define NEIGHBOURS_COME(ranks) 1
#endif

static void topologies(void)
{
	int sizes[2] = {0, 0}, periods[2] = {0, 1}, keep[2] = {1, 0}, at[2], index[MOST],
	    edges[2 * MOST], targets[3], one[1] = {0}, degree[1];
	MPI_Comm grid, line, ring, graph;

	MPI_Dims_create(size, 2, sizes);
	QUIET(Cart_create, MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
	outs = 0;
	for (int d = 0; d < 2; d++) {
		MPI_Cart_shift(grid, d, 1, &at[0], &at[1]);
		outs += (at[0] != MPI_PROC_NULL) + (at[1] != MPI_PROC_NULL);
	}
	ins = outs;
	neighbours(grid, 4, 4);
	QUIET(Cart_sub, grid, keep, &line);
	MPI_Cart_shift(line, 0, 1, &at[0], &at[1]);
	ins = outs = (at[0] != MPI_PROC_NULL) + (at[1] != MPI_PROC_NULL);
	neighbours(line, 2, 2);
	for (int i = 0; i < size; i++) {
		edges[2 * i] = (i + size - 1) % size;
		edges[2 * i + 1] = (i + 1) % size;
		index[i] = 2 * i + 2;
	}
	QUIET(Graph_create, MPI_COMM_WORLD, size, index, edges, 0, &ring);
	ins = outs = 2;
	neighbours(ring, 2, 2);
	/* each gives twice to the next one, and all give to rank 0 */
	targets[0] = targets[2] = to;
	targets[1] = 0;
	degree[0] = 3;
	one[0] = rank;
	QUIET(Dist_graph_create, MPI_COMM_WORLD, 1, one, degree, targets, MPI_UNWEIGHTED,
		MPI_INFO_NULL, 0, &graph);
	outs = 3;
	ins = rank ? 2 : 2 + size;
	neighbours(graph, 3, (int)ins);
	QUIET(Comm_free, &graph);
	/* in a chain, the ends of which have no neighbour at one side; and weighted */
	int has_next = rank + 1 < size, has_former = rank > 0, former = rank - 1, next = rank + 1;
	int weight = 7;
	QUIET(Dist_graph_create_adjacent, MPI_COMM_WORLD, has_former, &former, &weight, has_next,
		&next, &weight, MPI_INFO_NULL, 0, &graph);
	outs = has_next;
	ins = has_former;
	neighbours(graph, 1, 1);
	QUIET(Comm_free, &graph);
	QUIET(Comm_free, &ring);
	QUIET(Comm_disconnect, &line);
	QUIET(Comm_free, &grid);
}

/* A message to and fro in a new communicator, by which both ends agree on its number. */
static void within(MPI_Comm communicator)
{
	int own, ranks;

	MPI_Comm_rank(communicator, &own);
	MPI_Comm_size(communicator, &ranks);
	CALL(Sendrecv, out(4) + in(4), &value, 1, MPI_INT, (own + 1) % ranks, TAG, &got, 1, MPI_INT,
		(own + ranks - 1) % ranks, TAG, communicator, MPI_STATUS_IGNORE);
	QUIET(Comm_free, &communicator);
}

static void communicators(void)
{
	MPI_Comm made, half, inter;
	MPI_Group group;
	MPI_Request r;

	QUIET(Comm_dup, MPI_COMM_WORLD, &made);
	within(made);
	QUIET(Comm_dup_with_info, MPI_COMM_WORLD, MPI_INFO_NULL, &made);
	within(made);
	QUIET(Comm_idup, MPI_COMM_WORLD, &made, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	within(made);
	MPI_Comm_group(MPI_COMM_WORLD, &group);
	QUIET(Comm_create, MPI_COMM_WORLD, group, &made);
	within(made);
	QUIET(Comm_create_group, MPI_COMM_WORLD, group, 3, &made);
	within(made);
	QUIET(Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
	within(made);
	QUIET(Comm_split, MPI_COMM_WORLD, rank > 0, rank, &half);
	QUIET(Intercomm_create, half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 9, &inter);
	QUIET(Intercomm_merge, inter, rank > 0, &made);
	within(made);
	QUIET(Comm_free, &inter);
	QUIET(Comm_free, &half);
#if MPI_VERSION >= 4
	QUIET(Comm_idup_with_info, MPI_COMM_WORLD, MPI_INFO_NULL, &made, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	within(made);
	QUIET(Comm_create_from_group, group, "brick", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
	within(made);
	int own = 0;
	MPI_Group first, others;
	MPI_Group_incl(group, 1, &own, &first);
	MPI_Group_excl(group, 1, &own, &others);
	QUIET(Intercomm_create_from_groups, rank ? others : first, 0, rank ? first : others, 0,
		"brick.inter", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter);
	CALL(Sendrecv, (rank < 2 ? out(4) + in(4) : 0), &value, 1, MPI_INT,
		rank < 2 ? 0 : MPI_PROC_NULL, TAG, &got, 1, MPI_INT, rank < 2 ? 0 : MPI_PROC_NULL,
		TAG, inter, MPI_STATUS_IGNORE);
	QUIET(Comm_free, &inter);
	MPI_Group_free(&first);
	MPI_Group_free(&others);
#endif
	MPI_Group_free(&group);
}

static void windows(void)
{
	int *own, give[MOST] = {1, 2, 3}, take[MOST], neighbour = to, flag;
	MPI_Group group, world;
	MPI_Request r;
	MPI_Win w;

	MPI_Win_allocate(MOST * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &w);
	memset(own, 0, MOST * 4);
	CALL(Win_fence, 0, 0, w);
	CALL(Put, 12, give, 3, MPI_INT, to, 0, 3, MPI_INT, w);
	CALL(Accumulate, 8, give, 2, MPI_INT, to, 4, 2, MPI_INT, MPI_SUM, w);
	CALL(Win_fence, 0, 0, w);
	CHECK(own[2] == 3 && own[5] == 2);
	CALL(Get, 8, take, 2, MPI_INT, to, 0, 2, MPI_INT, w);
	CALL(Win_fence, 0, MPI_MODE_NOSUCCEED, w);
	CHECK(take[1] == 2);
	CALL(Win_lock_all, 0, 0, w);
	CALL(Rput, 4, give, 1, MPI_INT, to, 8, 1, MPI_INT, w, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	CALL(Raccumulate, 4, give, 1, MPI_INT, to, 9, 1, MPI_INT, MPI_SUM, w, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	CALL(Win_flush_local, 0, to, w);
	CALL(Win_flush_local_all, 0, w);
	CALL(Win_flush, 0, to, w);
	CALL(Win_flush_all, 0, w);
	CALL(Rget, 4, take, 1, MPI_INT, to, 8, 1, MPI_INT, w, &r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	CHECK(take[0] == 1);
	CALL(Get_accumulate, 4, give, 1, MPI_INT, take, 1, MPI_INT, to, 9, 1, MPI_INT, MPI_SUM, w);
	CALL(Rget_accumulate, 4, give, 1, MPI_INT, take, 1, MPI_INT, to, 9, 1, MPI_INT, MPI_SUM, w,
		&r);
	CALL(Wait, 0, &r, MPI_STATUS_IGNORE);
	CALL(Fetch_and_op, 4, give, take, MPI_INT, to, 9, MPI_SUM, w);
	CALL(Compare_and_swap, 4, give, give, take, MPI_INT, to, 10, w);
	CALL(Win_unlock_all, 0, w);
	CALL(Win_lock, 0, MPI_LOCK_EXCLUSIVE, to, 0, w);
	CALL(Win_unlock, 0, to, w);
	CALL(Barrier, 0, MPI_COMM_WORLD);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &neighbour, &group);
	MPI_Group writer;
	MPI_Group_incl(world, 1, &from, &writer);
	for (int i = 0; i < 2; i++) {
		CALL(Win_post, 0, writer, 0, w);
		CALL(Win_start, 0, group, 0, w);
		CALL(Put, 4, give, 1, MPI_INT, to, 11, 1, MPI_INT, w);
		CALL(Win_complete, 0, w);
		if (i)
			POLL(Win_test, 0, flag, w, &flag);
		else
			CALL(Win_wait, 0, w);
	}
	CHECK(own[11] == 1);
	MPI_Group_free(&writer);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
	MPI_Win_free(&w);
}

int main(int argc, char **argv)
{
	int provided;
	char path[4096];

	if (argc < 2)
		return 2;
	if (argc > 2) /* MPICH 4.0.2 fails when it starts a scatter of 4 ranks twice */
		turns = atoi(argv[2]);
	if (argc > 2)
		CALL(Init_thread, 0, &argc, &argv, MPI_THREAD_SINGLE, &provided);
	else
		CALL(Init, 0, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	to = (rank + 1) % size;
	from = (rank + size - 1) % size;
	sends();
	receives();
	completions();
#if MPI_VERSION >= 4
	partitions();
#endif
	collectives(MPI_COMM_WORLD);
	if (NEIGHBOURS_COME(size))
		topologies();
	communicators();
	windows();
	called("MPI_Finalize", 1, 0);
	printf("{\"rank\": %d, \"sent\": %ld, \"sent_bytes\": %ld, \"received\": %ld, "
	       "\"received_bytes\": %ld, \"wrong\": %ld}\n",
		rank, sent, sent_bytes, received, received_bytes, wrong);
	fflush(stdout);
	snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
	FILE *file = fopen(path, "w");
	fputs("{", file);
	for (int i = 0; i < LIMIT && calls[i].name; i++)
		fprintf(file, "%s\"%s\": [%ld, %ld]", i ? ", " : "", calls[i].name, calls[i].count,
			calls[i].bytes);
	fputs("}\n", file);
	fclose(file);
	MPI_Finalize();
	return wrong != 0;
}
