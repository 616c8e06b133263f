/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls MPI in many ways and prints, as lines of JSON, the messages that each rank has sent and
 * received and the collectives it took part in, as the program itself counts them. Run as: PROGRAM
 * messages | odd | freed | jumps | polls | many | collectives | between | threads |
 * late RANK STEPS FILE | init LEVEL | windows. Built by the test with an MPI's own compiler; with
 * LARGE_COUNTS, by MPI-4's functions with counts of 64 bits.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef LARGE_COUNTS
typedef MPI_Count work_count;
typedef MPI_Aint work_place;
#define MPI_Accumulate MPI_Accumulate_c
#define MPI_Allgather MPI_Allgather_c
#define MPI_Allgatherv MPI_Allgatherv_c
#define MPI_Allreduce MPI_Allreduce_c
#define MPI_Alltoall MPI_Alltoall_c
#define MPI_Alltoallv MPI_Alltoallv_c
#define MPI_Bcast MPI_Bcast_c
#define MPI_Exscan MPI_Exscan_c
#define MPI_Gather MPI_Gather_c
#define MPI_Gatherv MPI_Gatherv_c
#define MPI_Get MPI_Get_c
#define MPI_Iallreduce MPI_Iallreduce_c
#define MPI_Ibcast MPI_Ibcast_c
#define MPI_Irecv MPI_Irecv_c
#define MPI_Isend MPI_Isend_c
#define MPI_Mrecv MPI_Mrecv_c
#define MPI_Put MPI_Put_c
#define MPI_Recv MPI_Recv_c
#define MPI_Recv_init MPI_Recv_init_c
#define MPI_Reduce MPI_Reduce_c
#define MPI_Reduce_scatter MPI_Reduce_scatter_c
#define MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c
#define MPI_Rput MPI_Rput_c
#define MPI_Scan MPI_Scan_c
#define MPI_Scatter MPI_Scatter_c
#define MPI_Scatterv MPI_Scatterv_c
#define MPI_Send MPI_Send_c
#define MPI_Send_init MPI_Send_init_c
#define MPI_Sendrecv MPI_Sendrecv_c
#define MPI_Sendrecv_replace MPI_Sendrecv_replace_c
#define MPI_Ssend MPI_Ssend_c
#else
typedef int work_count, work_place;
#endif

static int rank, size;
static long long sent, sent_bytes, received, received_bytes, collectives, collective_bytes, wrong;

static void check(int is_right)
{
	wrong += !is_right;
}

static void out(long long bytes)
{
	sent++;
	sent_bytes += bytes;
}

static void in(long long bytes)
{
	received++;
	received_bytes += bytes;
}

static void came(long long bytes)
{
	collectives++;
	collective_bytes += bytes;
}

/* To the next rank and from the one before, in each kind of call. */
static void ring(MPI_Comm communicator, int rounds)
{
	int own, ranks, values[64], got[64];
	MPI_Comm_rank(communicator, &own);
	MPI_Comm_size(communicator, &ranks);
	int next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;

	for (int i = 0; i < rounds; i++) {
		MPI_Request requests[3];
		MPI_Status status;
		int tag = i % 3, count = 1 + i % 64, value = own * 1000 + i, flag = 0, index;
		for (int k = 0; k < count; k++)
			values[k] = value;
		switch (i % 8) {
		case 0: /* known by name, states ignored */
			MPI_Irecv(got, count, MPI_INT, before, tag, communicator, &requests[0]);
			MPI_Isend(values, count, MPI_INT, next, tag, communicator, &requests[1]);
			requests[2] = MPI_REQUEST_NULL;
			MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
			break;
		case 1: /* from anybody, fewer than there is room for */
			MPI_Irecv(got, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, communicator,
				&requests[0]);
			MPI_Send(values, count, MPI_INT, next, tag, communicator);
			while (!flag)
				MPI_Test(&requests[0], &flag, &status);
			check(status.MPI_SOURCE == before && status.MPI_TAG == tag);
			MPI_Get_count(&status, MPI_INT, &index);
			check(index == count);
			break;
		case 2:
			MPI_Sendrecv(values, count, MPI_INT, next, tag, got, count, MPI_INT, before,
				tag, communicator, MPI_STATUS_IGNORE);
			break;
		case 3:
			memcpy(got, values, sizeof(got));
			MPI_Sendrecv_replace(
				got, count, MPI_INT, next, tag, before, tag, communicator, &status);
			break;
		case 4: { /* a matched probe */
			MPI_Message message;
			MPI_Isend(values, count, MPI_INT, next, tag, communicator, &requests[0]);
			MPI_Mprobe(MPI_ANY_SOURCE, tag, communicator, &message, &status);
			MPI_Get_count(&status, MPI_INT, &index);
			check(index == count);
			MPI_Mrecv(got, count, MPI_INT, &message, MPI_STATUS_IGNORE);
			MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
			break;
		}
		case 5: /* persistent, twice */
			MPI_Recv_init(got, count, MPI_INT, before, tag, communicator, &requests[0]);
			MPI_Send_init(
				values, count, MPI_INT, next, tag, communicator, &requests[1]);
			MPI_Startall(2, requests);
			MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
			out(count * 4ll);
			in(count * 4ll);
			MPI_Start(&requests[0]);
			MPI_Start(&requests[1]);
			MPI_Waitany(2, requests, &index, &status);
			MPI_Waitany(2, requests, &index, &status);
			MPI_Request_free(&requests[0]);
			MPI_Request_free(&requests[1]);
			break;
		case 6: /* to nobody, and in a type of the program's own */
			MPI_Send(values, count, MPI_INT, MPI_PROC_NULL, tag, communicator);
			MPI_Recv(got, count, MPI_INT, MPI_PROC_NULL, tag, communicator,
				MPI_STATUS_IGNORE);
			{
				MPI_Datatype type;
				MPI_Type_vector(count, 1, 1, MPI_INT, &type);
				MPI_Type_commit(&type);
				MPI_Irecv(got, 1, type, before, tag, communicator, &requests[0]);
				MPI_Ssend(values, 1, type, next, tag, communicator);
				MPI_Type_free(&type);
			}
			MPI_Wait(&requests[0], &status);
			break;
		default: /* two on the way at once, in the order of their sending */
			MPI_Irecv(got, count, MPI_INT, before, tag, communicator, &requests[0]);
			MPI_Irecv(got + 1, 1, MPI_INT, before, tag, communicator, &requests[1]);
			MPI_Send(values, 1, MPI_INT, next, tag, communicator);
			MPI_Send(values, 1, MPI_INT, next, tag, communicator);
			{
				MPI_Status states[2];
				int indices[2], done = 0;
				while (done < 2) {
					MPI_Waitsome(2, requests, &index, indices, states);
					done += index;
				}
			}
			count = 1;
			out(4);
			in(4);
			break;
		}
		out(count * 4ll);
		in(count * 4ll);
		check(got[0] == before * 1000 + i);
	}
}

static void messages(void)
{
	MPI_Comm half, again;

	ring(MPI_COMM_WORLD, 80);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_dup(MPI_COMM_WORLD, &again);
	ring(half, 24);
	ring(again, 24);
	MPI_Comm_free(&half);
	MPI_Comm_split(again, 0, size - rank, &half); /* backwards, maybe by the same handle */
	ring(half, 24);
	MPI_Comm_free(&half);
	MPI_Comm_free(&again);
}

static void all_collectives(MPI_Comm communicator)
{
	enum { COUNT = 12 };
	int own, ranks;
	MPI_Comm_rank(communicator, &own);
	MPI_Comm_size(communicator, &ranks);
	int *a = calloc((size_t)ranks * COUNT, sizeof(*a)),
	    *b = calloc((size_t)ranks * COUNT, sizeof(*b));
	work_count *counts = calloc((size_t)ranks, sizeof(*counts));
	work_place *places = calloc((size_t)ranks, sizeof(*places));
	int sum = 0;
	long long bytes = COUNT * 4ll;
	MPI_Request requests[4];

	for (int i = 0; i < ranks; i++) {
		counts[i] = 1 + i;
		places[i] = sum;
		sum += counts[i];
	}
	MPI_Barrier(communicator);
	came(0);
	for (int i = 0; i < COUNT; i++)
		a[i] = own == ranks - 1 ? i : 0;
	MPI_Bcast(a, COUNT, MPI_INT, ranks - 1, communicator);
	came(bytes);
	check(a[COUNT - 1] == COUNT - 1);
	MPI_Gather(a, COUNT, MPI_INT, b, COUNT, MPI_INT, 0, communicator);
	came(bytes);
	MPI_Gather(
		own ? (void *)a : MPI_IN_PLACE, COUNT, MPI_INT, b, COUNT, MPI_INT, 0, communicator);
	came(bytes);
	MPI_Gatherv(a, counts[own], MPI_INT, b, counts, places, MPI_INT, 0, communicator);
	came(counts[own] * 4ll);
	MPI_Scatter(a, COUNT, MPI_INT, b, COUNT, MPI_INT, 0, communicator);
	came(own ? bytes : bytes * ranks);
	MPI_Scatterv(a, counts, places, MPI_INT, b, counts[own], MPI_INT, 0, communicator);
	came(own ? counts[own] * 4ll : sum * 4ll);
	MPI_Allgather(a, COUNT, MPI_INT, b, COUNT, MPI_INT, communicator);
	came(bytes);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, COUNT, MPI_INT, communicator);
	came(bytes);
	MPI_Allgatherv(a, counts[own], MPI_INT, b, counts, places, MPI_INT, communicator);
	came(counts[own] * 4ll);
	MPI_Alltoall(a, COUNT, MPI_INT, b, COUNT, MPI_INT, communicator);
	came(bytes * ranks);
	for (int i = 0; i < ranks; i++) {
		counts[i] = 1;
		places[i] = i;
	}
	MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, communicator);
	came(4ll * ranks);
	MPI_Reduce(a, b, COUNT, MPI_INT, MPI_SUM, 0, communicator);
	came(bytes);
	for (int i = 0; i < COUNT; i++)
		a[i] = own + 1;
	MPI_Allreduce(a, b, COUNT, MPI_INT, MPI_SUM, communicator);
	came(bytes);
	check(b[0] == ranks * (ranks + 1) / 2);
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, communicator);
	came(4ll * ranks);
	MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, communicator);
	came(4ll * ranks);
	MPI_Scan(a, b, COUNT, MPI_INT, MPI_SUM, communicator);
	came(bytes);
	check(b[0] == (own + 1) * (own + 2) / 2);
	MPI_Exscan(a, b, COUNT, MPI_INT, MPI_SUM, communicator);
	came(bytes);
	MPI_Ibarrier(communicator, &requests[0]);
	came(0);
	MPI_Iallreduce(a, b, COUNT, MPI_INT, MPI_MAX, communicator, &requests[1]);
	came(bytes);
	MPI_Ibcast(a, COUNT, MPI_INT, 0, communicator, &requests[2]);
	came(bytes);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	check(b[0] == ranks);
	free(a);
	free(b);
	free(counts);
	free(places);
}

/* Receives that take no message, or fail and take a part of it, leave later messages in step. */
static void odd(void)
{
	enum { TAG = 7 };
	int next = (rank + 1) % size, before = (rank + size - 1) % size, values[2] = {rank, 1},
	    got[2], index, flag;
	MPI_Request requests[2];
	MPI_Status states[2];
	MPI_Comm copies[2];
	char large[512] = "";

	MPI_Irecv(got, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
	MPI_Cancel(&requests[0]);
	MPI_Wait(&requests[0], &states[0]);
	MPI_Test_cancelled(&states[0], &flag);
	check(flag);
	MPI_Irecv(got, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(values, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD); /* Open MPI knows of a message once it has looked */
	MPI_Iprobe(MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
	if (flag) {
		MPI_Cancel(&requests[0]); /* too late */
		MPI_Wait(&requests[0], &states[0]);
		MPI_Test_cancelled(&states[0], &flag);
		check(!flag);
	} else {
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	}
	out(4);
	in(4);

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 4; i++) { /* two are sent where there is room for one */
		int from = i % 2 ? MPI_ANY_SOURCE : before;
		MPI_Irecv(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &requests[0]);
		MPI_Send(values, 2, MPI_INT, next, TAG, MPI_COMM_WORLD);
		if (i < 2) {
			check(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) != MPI_SUCCESS);
		} else {
			requests[1] = MPI_REQUEST_NULL;
			index = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
			check(index == MPI_ERR_IN_STATUS);
		}
		MPI_Isend(values, 2, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[0]);
		check(MPI_Recv(got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
			MPI_SUCCESS);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		MPI_Sendrecv(values, 1, MPI_INT, next, TAG, got, 1, MPI_INT, before, TAG,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(got[0] == before);
		out(8);
		out(8);
		out(4);
		in(8);
		in(8);
		in(4);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);

	/* who meets these first is not the same in each rank */
	MPI_Comm_idup(MPI_COMM_WORLD, &copies[0], &requests[0]);
	MPI_Comm_idup(MPI_COMM_WORLD, &copies[1], &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++) {
		int which = (i + rank) % 2;
		MPI_Irecv(large, sizeof(large), MPI_CHAR, before, TAG, copies[1 - which],
			&requests[0]);
		MPI_Send(values, 1 + which, MPI_INT, next, TAG, copies[which]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		out(4 + which * 4);
		in(8 - which * 4);
	}
	MPI_Comm_free(&copies[0]);
	MPI_Comm_free(&copies[1]);
}

/* From anybody, and forgotten: nobody knows which message that was. */
static void freed(void)
{
	static int lost;
	int next = (rank + 1) % size, before = (rank + size - 1) % size, got = 0;
	MPI_Request request;

	MPI_Irecv(&lost, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	MPI_Send(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
	out(4);
	for (int i = 0; i < 10; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(got == before);
		out(4);
		in(4);
	}
}

static jmp_buf after_error;

static void jump(MPI_Comm *communicator, int *error, ...)
{
	longjmp(after_error, 1);
}

static void __attribute__((noinline)) deeper(int depth)
{
	volatile char room[2048];
	double value = 1, all = 0;

	room[0] = (char)depth;
	if (depth)
		deeper(depth - 1);
	else
		for (int i = 0; i < 5; i++) {
			MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
			came(8);
		}
	room[1] = room[0];
}

/* Out of a call, by its error handler. */
static void jumps(void)
{
	MPI_Errhandler handler;
	int value = 0;

	MPI_Comm_create_errhandler(jump, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	if (!setjmp(after_error)) {
		MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
		check(0);
	}
	deeper(3);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Of each kind of request, completed by a test; the last two by one test, and by one wait. */
static void polls(void)
{
	int value = 1, got, next = (rank + 1) % size, before = (rank + size - 1) % size, flag = 0;
	int results[2];
	MPI_Request requests[2];

	MPI_Iallreduce(&value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	while (!flag)
		MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
	check(got == size);
	MPI_Irecv(&got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
	for (int i = 1; i >= 0; i--)
		for (flag = 0; !flag;)
			MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
	MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); /* nothing to come */
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 2; i++)
			MPI_Iallreduce(&value, &results[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				&requests[i]);
		for (flag = 0; k && !flag;)
			MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
		if (!k)
			MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	MPI_Recv_init(&got, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Start(&requests[0]);
	MPI_Send(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Request_free(&requests[0]);
	collectives = 5;
	collective_bytes = 20;
	sent = received = 2;
	sent_bytes = received_bytes = 8;
}

/* More communicators than have names in the recording. */
static void many(void)
{
	int value = 1, got;

	for (int i = 0; i < 300; i++) {
		MPI_Comm copy;
		MPI_Comm_dup(MPI_COMM_WORLD, &copy);
		MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, copy);
		came(4);
		MPI_Comm_free(&copy);
	}
}

/* Between a group of one and the others. Arguments that are not used are no types. */
static void between(void)
{
	int own, others, value = rank, got[64];
	long page = 65536;
	MPI_Comm half, inter;
	char *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 9, &inter);
	MPI_Comm_size(inter, &own);
	MPI_Comm_remote_size(inter, &others);
	mprotect(room + page, page, PROT_NONE);
	work_count *counts = (work_count *)(room + page) - own; /* nothing lies behind */
	int values[64] = {0};
	for (int i = 0; i < own; i++)
		counts[i] = (size - 1) / own;
	MPI_Reduce_scatter(values, got, counts, MPI_INT, MPI_SUM, inter);
	came((size - 1) * 4ll);
	MPI_Reduce_scatter_block(values, got, (size - 1) / own, MPI_INT, MPI_SUM, inter);
	came((size - 1) * 4ll);
	/* to and from rank 1, the first of the others; those beside it take no part */
	int part = rank == 1 ? MPI_ROOT : rank ? MPI_PROC_NULL : 0;
	MPI_Datatype given = rank ? MPI_DATATYPE_NULL : MPI_INT,
		     taken = rank == 1 ? MPI_INT : MPI_DATATYPE_NULL;
	MPI_Bcast(&value, 1, MPI_INT, part, inter);
	came(rank < 2 ? 4 : 0);
	MPI_Gather(&rank, 1, given, got, 1, taken, part, inter);
	came(rank < 2 ? 4 : 0);
	check(rank != 1 || got[0] == 0);
	MPI_Scatter(&rank, 1, taken, got, 1, given, part, inter);
	came(rank < 2 ? 4 : 0);
	check(rank || got[0] == 1);
	MPI_Reduce(&rank, got, 1, MPI_INT, MPI_SUM, part, inter);
	came(rank < 2 ? 4 : 0);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	munmap(room, 2 * page);
}

enum { THREADS = 3, ROUNDS = 30 };

/* A thread has a tag of its own; requests of all threads come and go at the same time. */
static void *exchange(void *tag)
{
	int number = (int)(long)tag, next = (rank + 1) % size, before = (rank + size - 1) % size;
	long bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request requests[3];
		int values[2] = {number, i}, got[2][2] = {{0}}, index, done = 0;
		MPI_Irecv(got[0], 2, MPI_INT, before, number, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(got[1], 2, MPI_INT, MPI_ANY_SOURCE, number + 100, MPI_COMM_WORLD,
			&requests[1]);
		MPI_Isend(values, 2, MPI_INT, next, number, MPI_COMM_WORLD, &requests[2]);
		MPI_Send(values, 2, MPI_INT, next, number + 100, MPI_COMM_WORLD);
		while (done < 3 && !MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE))
			done++;
		bad += got[0][0] != number || got[0][1] != i || got[1][0] != number ||
		       got[1][1] != i;
	}
	return (void *)bad;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	void *bad;

	for (long i = 0; i < THREADS; i++)
		check(!pthread_create(&thread[i], NULL, exchange, (void *)i));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &bad);
		check(!bad);
	}
	sent = received = THREADS * ROUNDS * 2ll;
	sent_bytes = received_bytes = THREADS * ROUNDS * 2ll * 8;
}

/*
 * One rank comes 2 ms after all others, however busy the CPUs are: each of these counts itself in
 * the file before it comes.
 */
static void late(int who, int steps, const char *path)
{
	double sum = rank, all = 0;
	int file = open(path, O_RDWR | O_CREAT, 0600);

	if (file < 0 || ftruncate(file, sizeof(int)))
		exit(2);
	int *come = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (come == MAP_FAILED)
		exit(2);
	for (int i = 1; i <= steps; i++) {
		if (rank != who) {
			__atomic_fetch_add(come, 1, __ATOMIC_SEQ_CST);
		} else {
			while (__atomic_load_n(come, __ATOMIC_SEQ_CST) < i * (size - 1))
				nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		}
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		came(8);
		check(all == size * (size - 1) / 2.0);
	}
}

/* Rank 0 has receives from anybody and from rank 1 open, and the first takes the first message. */
static void any(int rounds)
{
	MPI_Request requests[2];
	int values[2] = {0};

	for (int i = 0; i < rounds && rank == 0; i++) {
		MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&values[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		MPI_Send(values, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
		MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
		check(values[0] == i && values[1] == i + 1);
	}
	for (int i = 0; i < rounds && rank == 1; i++) {
		values[1] = i + 1;
		values[0] = i;
		MPI_Send(&values[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		MPI_Recv(&values[0], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		MPI_Send(&values[1], 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
}

/* Each rank has a window of 8 numbers, and the one before writes to it. */
static void windows(void)
{
	int *own, values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0}, next = (rank + 1) % size;
	MPI_Request request;
	MPI_Win window;

	MPI_Win_allocate(sizeof(values), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
	memset(own, 0, sizeof(values));
	MPI_Win_fence(0, window);
	MPI_Put(values, 3, MPI_INT, next, 0, 3, MPI_INT, window);
	MPI_Accumulate(values, 2, MPI_INT, next, 4, 2, MPI_INT, MPI_SUM, window);
	MPI_Win_fence(0, window);
	check(own[2] == 3 && own[5] == 2);
	MPI_Get(got, 5, MPI_INT, next, 0, 5, MPI_INT, window);
	MPI_Win_fence(0, window);
	check(got[0] == 1 && got[4] == 1);
	MPI_Win_lock_all(0, window);
	MPI_Rput(values, 1, MPI_INT, next, 7, 1, MPI_INT, window, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_flush(next, window);
	MPI_Fetch_and_op(values, got, MPI_INT, next, 6, MPI_SUM, window);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	came(0);
	check(own[6] == 1 && own[7] == 1 && got[0] == 0);
	MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int level = argc > 2 && !strcmp(what, "init") ? atoi(argv[2]) : -1, provided = -1;

	if (!strcmp(what, "threads"))
		level = MPI_THREAD_MULTIPLE;

	if (level >= 0)
		MPI_Init_thread(&argc, &argv, level, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(what, "messages"))
		messages();
	if (!strcmp(what, "odd"))
		odd();
	if (!strcmp(what, "freed"))
		freed();
	if (!strcmp(what, "jumps"))
		jumps();
	if (!strcmp(what, "polls"))
		polls();
	if (!strcmp(what, "many"))
		many();
	if (!strcmp(what, "between"))
		between();
	if (!strcmp(what, "collectives")) {
		MPI_Comm half;
		all_collectives(MPI_COMM_WORLD);
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
		all_collectives(half);
		MPI_Comm_free(&half);
	}
	if (!strcmp(what, "threads") && provided == MPI_THREAD_MULTIPLE)
		threads();
	if (!strcmp(what, "late") && argc > 4)
		late(atoi(argv[2]), atoi(argv[3]), argv[4]);
	if (!strcmp(what, "windows"))
		windows();
	if (!strcmp(what, "any"))
		any(20);
	if (!strcmp(what, "error")) { /* its own handler, and calls that fail */
		int value = 0;
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		check(MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
		check(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
		check(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
	}
	printf("{\"rank\": %d, \"world\": %d, \"provided\": %d, \"sent\": %lld, \"sent_bytes\": "
	       "%lld, "
	       "\"received\": %lld, \"received_bytes\": %lld, \"collectives\": %lld, "
	       "\"collective_bytes\": %lld, \"wrong\": %lld}\n",
		rank, size, provided, sent, sent_bytes, received, received_bytes, collectives,
		collective_bytes, wrong);
	fflush(stdout);
	MPI_Finalize();
	return wrong != 0;
}
