/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that take longer than a budget (`brick record --slow request=2s`), from the events of
 * their sequences, as they are emitted. A request begins where the program says so, and arrived
 * when it says; else with a prompt behind tokens that were made, or with the first tokens of a
 * sequence that is new, was loaded, or lost its begin. It is past its budget at the first tokens
 * that are evaluated after that time, once. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/lane.h"

enum {
	BUDGET_SEQUENCES = 1024
}; /* known at a time: of more, the one that was used longest ago goes */

struct budget_sequence {
	const void *session;
	uint16_t model;
	int32_t sequence;
	uint64_t began_ns, used_ns;
	bool is_new;  /* the next tokens are another request's */
	bool is_said; /* the program said when it begins */
	bool makes;   /* it has made tokens */
	bool is_told;
};

struct request_budget {
	uint64_t ns;			   /* 0: none */
	struct budget_sequence *sequences; /* [BUDGET_SEQUENCES] */
	unsigned count;
};

/* 0 or -ENOMEM. */
int request_budget_init(struct request_budget *budget, uint64_t ns);
void request_budget_fini(struct request_budget *budget);

/*
 * An event of a session, at `ns`; arrived_ns: of BRICK_SEQUENCE_ARRIVED. Returns when the request
 * began that is past its budget now; 0: none is.
 */
uint64_t request_budget_event(struct request_budget *budget, const void *session,
	const struct brick_sequence_record *event, uint64_t ns, uint64_t arrived_ns);

/* A session has ended. */
void request_budget_forget(struct request_budget *budget, const void *session);
