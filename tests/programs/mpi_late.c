/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of MPI that do the same, or of which one is slower in one brick: PROGRAM STEPS RANK PERCENT
 * MS [swap] [cpu]. Rank RANK (-1: none) takes PERCENT longer in Solve, which takes MS. Work is
 * sleep, so that there may be more ranks than CPUs, or, with `cpu`, CPU time. With `swap` each rank
 * swaps a part with both neighbours before. Built with an MPI's own compiler, and with libbrick.
 */
#include <brick/brick.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PART = 256 };

static int is_cpu;

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void work(int brick, double ns)
{
	struct timespec left = {(time_t)(ns / 1e9), (long)ns % 1000000000};

	brick_span span = brick_begin((uint32_t)brick);
	for (double until = is_cpu ? cpu_ns() + ns : 0; is_cpu && cpu_ns() < until;)
		;
	while (!is_cpu && nanosleep(&left, &left))
		;
	brick_end(span);
}

static void swap(int rank, int size)
{
	double out[2][PART] = {{rank}}, in[2][PART];
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Request requests[4];

	MPI_Irecv(in[0], PART, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(in[1], PART, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(out[0], PART, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(out[1], PART, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0, slow = argc > 2 ? atoi(argv[2]) : -1, rank, size;
	double longer = argc > 3 ? atof(argv[3]) / 100 : 0, sum = 0;
	double solve_ns = argc > 4 ? atof(argv[4]) * 1e6 : 0;
	int swaps = 0;

	for (int i = 5; i < argc; i++) {
		is_cpu |= !strcmp(argv[i], "cpu");
		swaps |= !strcmp(argv[i], "swap");
	}

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int assemble = brick_register("Assemble", BRICK_CATEGORY_OTHER);
	int solve = brick_register("Solve", BRICK_CATEGORY_SOLVER);
	int update = brick_register("Update", BRICK_CATEGORY_OTHER);
	for (int i = 0; i < steps; i++) {
		double own = rank;
		brick_span step = brick_step_begin(BRICK_PHASE_OTHER, 0);
		work(assemble, solve_ns / 4);
		if (swaps)
			swap(rank, size);
		work(solve, solve_ns * (1 + (rank == slow ? longer : 0)));
		work(update, solve_ns / 4);
		MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		brick_end(step);
	}
	MPI_Finalize();
	return sum != size * (size - 1) / 2.0;
}
