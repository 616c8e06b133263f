/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a few stacks: of a thread with a lane, of one without, and in no known code. */
#pragma once

#include "record/stacks/stack_packets.h"
#include "tests/unit/trace_fake.h"

/* The caller frees what is in it. */
static inline struct pb_buffer stack_fixture(void)
{
	struct stack_packets packets = {.hz = 99};
	struct address_spaces spaces = {0};
	const uint64_t list[] = {0x1010, 0x1020, 0x1030};
	const struct stack_symbol symbols[] = {{0x10, "work"}, {0x1f, "main"}};
	struct stack_event events[] = {
		{.kind = STACK_NAMED, .pid = 42, .tid = 43, .text = "engine", .is_exec = true},
		{.kind = STACK_MAPPED,
			.pid = 42,
			.tid = 43,
			.text = "/e",
			.start = 0x1000,
			.bytes = 0x1000,
			.build_id_bytes = 20},
		{.kind = STACK_TAKEN, .pid = 42, .tid = 43, .addresses = list, .count = 3},
		{.kind = STACK_TAKEN, .pid = 42, .tid = 44, .addresses = list, .count = 1},
		{.kind = STACK_TAKEN, .pid = 9, .tid = 9, .addresses = list, .count = 1},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		events[i].time_ns = fake_ns(10 * i);
		spaces_event(&spaces, &events[i]);
		if (events[i].kind == STACK_TAKEN)
			packets_stack(&packets, &spaces, &events[i]);
		if (events[i].kind == STACK_NAMED)
			packets_thread(&packets, &events[i]);
	}
	packets_symbols(&packets, &spaces.objects.items[0], fake_ns(90), symbols, 2);
	struct pb_buffer out = packets.out;
	packets.out = (struct pb_buffer){0};
	spaces_fini(&spaces);
	packets_stacks_fini(&packets);
	return out;
}
