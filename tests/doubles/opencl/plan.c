/* SPDX-License-Identifier: Apache-2.0 */
/* When commands begin and end (double.h). */
#include "tests/doubles/opencl/double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock_ns.h"

pthread_mutex_t double_lock = PTHREAD_MUTEX_INITIALIZER;
struct double_counts double_alive;

uint64_t double_now_ns(void)
{
	return monotonic_ns();
}

uint64_t double_device_ns(uint64_t host_ns)
{
	static uint64_t base;
	static int64_t ppm;

	if (!base) {
		const char *text = getenv("DOUBLE_DRIFT_PPM");
		ppm = text ? atoi(text) : 0;
		base = host_ns - 1000000000;
	}
	int64_t since = (int64_t)(host_ns - base);
	return 5000000000ull + (uint64_t)(since + since / 1000000 * ppm);
}

int double_has_fault(const char *name)
{
	const char *list = getenv("DOUBLE_FAULTS");
	size_t n = strlen(name);

	for (const char *at = list; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
		if (!strncmp(at, name, n) && (at[n] == ',' || !at[n]))
			return 1;
	return 0;
}

/* Can its begin be told? Then when. */
static int is_ready(const struct _cl_event *e, uint64_t *begin_ns)
{
	*begin_ns = e->queued_ns + 1000;
	if (e->queue->in_order && e->queue->free_ns > *begin_ns)
		*begin_ns = e->queue->free_ns + 100;
	for (int i = 0; i < e->after_count; i++) {
		cl_event d = e->after[i];
		if (!d->begin_ns && d->queue)
			double_plan(d->queue);
		if (!d->begin_ns)
			return 0;
		*begin_ns = d->end_ns > *begin_ns ? d->end_ns : *begin_ns;
	}
	return 1;
}

static void plan_one(struct _cl_event *e, uint64_t begin_ns)
{
	cl_command_queue q = e->queue;

	e->begin_ns = begin_ns;
	e->end_ns = begin_ns + e->cost_ns;
	q->free_ns = e->end_ns > q->free_ns ? e->end_ns : q->free_ns;
	for (int i = 0; i < e->after_count; i++)
		double_release_event(e->after[i]);
	e->after_count = 0;
}

void double_plan(cl_command_queue q)
{
	uint64_t begin_ns;

	for (cl_event *at = &q->first; *at;) {
		cl_event e = *at;
		if (!is_ready(e, &begin_ns)) {
			if (q->in_order)
				break;
			at = &e->next;
			continue;
		}
		plan_one(e, begin_ns);
		*at = e->next;
		if (!*at)
			q->last = at;
		double_release_event(e);
	}
}

cl_int double_status(cl_event e)
{
	uint64_t now = double_now_ns();

	if (e->queue && !e->begin_ns)
		double_plan(e->queue);
	if (!e->begin_ns)
		return e->queue ? CL_QUEUED : CL_SUBMITTED;
	if (now < e->begin_ns)
		return CL_SUBMITTED;
	if (now < e->end_ns)
		return CL_RUNNING;
	return e->failure ? e->failure : CL_COMPLETE;
}

void double_release_event(cl_event e)
{
	if (--e->references)
		return;
	for (int i = 0; i < e->after_count; i++)
		double_release_event(e->after[i]);
	double_alive.events--;
	if (e->queue)
		e->queue->event_count--;
	free(e);
}

static void fail_some(struct _cl_event *e)
{
	static int count;

	if (double_has_fault("execution") && ++count % 4 == 0)
		e->failure = -9999;
}

/* A thread that is off the CPU at a bad time: the first call returns late; two more begin late. */
static void stall(int is_stamped)
{
	static int calls;
	const char *text = getenv("DOUBLE_STALL_US");
	useconds_t us = text ? (useconds_t)atoi(text) : 0;

	calls += is_stamped;
	if (is_stamped && calls == 1)
		usleep(us);
	else if (!is_stamped && calls == 1)
		usleep(80 * us);
	else if (!is_stamped && calls == 2)
		usleep(20 * us);
}

cl_int double_enqueue(
	cl_command_queue q, uint64_t cost_ns, cl_uint count, const cl_event *list, cl_event *event)
{
	static int calls;

	if ((count && !list) || (!count && list) || count > DEPENDENCIES)
		return CL_INVALID_EVENT_WAIT_LIST;
	if (double_has_fault("third") && ++calls % 3 == 0)
		return CL_MEM_OBJECT_ALLOCATION_FAILURE;
	if (event && double_has_fault("event"))
		return CL_OUT_OF_RESOURCES;
	struct _cl_event *e = calloc(1, sizeof *e);
	stall(0);
	pthread_mutex_lock(&double_lock);
	double_alive.events++;
	e->references = event ? 2 : 1; /* the queue's, until it is planned */
	e->queue = q;
	q->event_count++;
	e->cost_ns = cost_ns;
	e->queued_ns = double_now_ns();
	fail_some(e);
	for (cl_uint i = 0; i < count; i++) {
		e->after[e->after_count++] = list[i];
		list[i]->references++;
	}
	*q->last = e;
	q->last = &e->next;
	double_plan(q);
	pthread_mutex_unlock(&double_lock);
	stall(1);
	if (event)
		*event = e;
	return CL_SUCCESS;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("DOUBLE_REPORT");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file,
		"{\"events\": %ld, \"queues\": %ld, \"contexts\": %ld, \"buffers\": %ld, "
		"\"kernels\": %ld, \"programs\": %ld, \"event_queries\": %ld}\n",
		double_alive.events, double_alive.queues, double_alive.contexts,
		double_alive.buffers, double_alive.kernels, double_alive.programs,
		double_alive.event_queries);
	fclose(file);
}
