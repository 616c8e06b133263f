/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run that is served, kept for questions to it: single steps, and what ran when. Replaced by
 * the main thread, asked by the server's; a lock is between them.
 */
#pragma once

#include <pthread.h>
#include "ui/page/page.h"
#include "ui/serve/question.h"

struct held {
	pthread_mutex_t lock;
	struct page *page; /* NULL: nothing was read yet */
	struct run *run;
};

void held_init(struct held *held);
void held_fini(struct held *held);

/* Takes both; those before are destroyed when nobody asks any more. */
void held_take(struct held *held, struct page *page, struct run *run);

/* A http_ask_fn; context: struct held. */
char *held_ask(void *context, const struct http_question *question, size_t *bytes);
