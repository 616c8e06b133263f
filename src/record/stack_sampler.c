/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes packets of the kernel's records in batches, and hands packets on in pieces that a chunk of
 * the recording can hold. Records without memory are counted as lost.
 */
#include "record/stack_sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "brick/counters.h"
#include "lib/drain/off_cpu.h"
#include "lib/sys/perf.h"
#include "record/stacks/address_spaces.h"
#include "record/stacks/stack_events.h"
#include "record/stacks/stack_names.h"
#include "record/stacks/stack_packets.h"

enum {
	PIECE_BYTES = 64 << 10, /* packets larger than this are handed on */
	MOST_MS = 500,		/* the longest interval between two readings */
};

/* What a process had when it was entered. */
struct learned {
	struct stack_event event;
	char *text;
};

struct stack_sampler {
	unsigned hz;
	struct stack_events *events;
	struct address_spaces spaces;
	struct stack_packets packets;
	ARRAY(struct learned) learned; /* not looked at yet */
	uint64_t lost;	  /* failures of ours, as for lack of memory; the kernel's come on top */
	uint64_t read_ns; /* when the events were read last, by CLOCK_MONOTONIC */
	uint32_t interval_ms; /* between two readings */
	bool has_passed;      /* see stack_sampler_has_passed() */
	/* Where packets go: one of the two is set during a reading. */
	struct encoder *encoder;
	struct trace_writer *writer;
};

/* Half the time in which a ring can fill up. */
static void set_interval(struct stack_sampler *s)
{
	s->interval_ms = stack_events_last_ms(s->events) / 2;
	if (s->interval_ms > MOST_MS || !s->interval_ms)
		s->interval_ms = s->interval_ms ? MOST_MS : 1;
}

/* program 0: none yet. */
static int sampler_create(struct stack_sampler **out, pid_t program, unsigned hz)
{
	struct stack_sampler *s = calloc(1, sizeof(*s));
	int error = !s	      ? -ENOMEM
		    : program ? stack_events_follow(&s->events, program, hz)
			      : stack_events_create(&s->events, hz);

	if (error) {
		free(s);
		return error;
	}
	s->hz = s->packets.hz = hz;
	set_interval(s);
	*out = s;
	return 0;
}

int stack_sampler_create(struct stack_sampler **out, pid_t program, unsigned hz)
{
	return sampler_create(out, program, hz);
}

int stack_sampler_create_running(struct stack_sampler **out, unsigned hz)
{
	return sampler_create(out, 0, hz);
}

/* The process is stopped: its files, which may be far away, are opened later. */
static void sampler_keep(void *context, const struct stack_event *event)
{
	struct stack_sampler *s = context;
	struct learned one = {*event, strdup(event->text)};

	if (one.text && !array_push(&s->learned, one))
		return;
	free(one.text);
	s->lost++;
}

static void sampler_learn(struct stack_sampler *s)
{
	for (size_t i = 0; i < s->learned.count; i++) {
		struct stack_event *event = &s->learned.items[i].event;
		event->text = s->learned.items[i].text;
		s->lost += spaces_event(&s->spaces, event) != 0;
		if (event->kind == STACK_NAMED)
			packets_thread(&s->packets, event);
		free(s->learned.items[i].text);
	}
	s->learned.count = 0;
}

int stack_sampler_enter(struct stack_sampler *s, pid_t pid)
{
	int error = stack_events_add(s->events, pid, sampler_keep, s);

	s->lost += error != 0;
	set_interval(s);
	return error;
}

bool stack_sampler_any(const struct stack_sampler *s)
{
	return stack_events_any(s->events);
}

void stack_sampler_reason(int error, char *text, size_t size)
{
	brick__perf_reason(BRICK_COUNTER_TASK_CLOCK, error, text, size);
}

/* Hand the packets on. After an error they are lost, and the sequence begins anew. */
static int sampler_pass(void *context)
{
	struct stack_sampler *s = context;
	struct pb_buffer *out = &s->packets.out;
	int error = out->failed ? -ENOMEM : 0;

	s->has_passed |= out->size != 0;
	if (!error && out->size && s->writer)
		error = trace_writer_packets(s->writer, out->data, out->size);
	if (!error && out->size && s->encoder) {
		error = encoder_packets(s->encoder, out->data, out->size);
		*out = (struct pb_buffer){0};
	}
	out->size = 0;
	out->failed = false;
	if (error)
		packets_forget(&s->packets);
	return error;
}

static void sampler_take(void *context, const struct stack_event *event)
{
	struct stack_sampler *s = context;
	int error = spaces_event(&s->spaces, event);

	if (event->kind == STACK_TAKEN)
		packets_stack(&s->packets, &s->spaces, event);
	else if (event->kind == STACK_NAMED)
		packets_thread(&s->packets, event);
	if (!error && s->packets.out.size > PIECE_BYTES)
		error = sampler_pass(s);
	s->lost += error != 0;
}

uint32_t stack_sampler_turn(struct stack_sampler *s, struct encoder *e, uint64_t now_ns)
{
	uint64_t passed_ms = (now_ns - s->read_ns) / 1000000;

	if (passed_ms < s->interval_ms)
		return s->interval_ms - (uint32_t)passed_ms;
	s->read_ns = now_ns;
	s->encoder = e;
	sampler_learn(s);
	/* its result is ignored: stack_events_lost() has its own losses */
	stack_events_read(s->events, now_ns - OFF_CPU_VISIBLE_NS, sampler_take, s);
	s->lost += sampler_pass(s) != 0;
	s->encoder = NULL;
	return s->interval_ms;
}

bool stack_sampler_has_passed(struct stack_sampler *s)
{
	bool passed = s->has_passed;

	s->has_passed = false;
	return passed;
}

void stack_sampler_finish(struct stack_sampler *s, struct trace_writer *w, uint64_t end_ns)
{
	s->writer = w;
	sampler_learn(s);
	stack_events_read(s->events, UINT64_MAX, sampler_take, s);
	int error = sampler_pass(s);
	if (!error)
		error = stack_names_tell(&s->packets, &s->spaces, end_ns, sampler_pass, s);
	s->lost += error == -ENOMEM;
	s->writer = NULL;
}

void stack_sampler_account(const struct stack_sampler *s, struct stack_account *account)
{
	account->hz = s->hz;
	account->taken = s->packets.samples;
	account->unknown = s->packets.unknown;
	account->nameless = s->packets.nameless;
	account->lost = s->lost + stack_events_lost(s->events);
	account->throttled = stack_events_throttled(s->events);
}

void stack_sampler_destroy(struct stack_sampler *s)
{
	if (!s)
		return;
	stack_events_close(s->events);
	for (size_t i = 0; i < s->learned.count; i++)
		free(s->learned.items[i].text);
	array_fini(&s->learned);
	spaces_fini(&s->spaces);
	packets_stacks_fini(&s->packets);
	free(s);
}
