/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run that is served, kept for questions about single steps and about the time line. The main
 * thread replaces it, the server's thread asks; a lock is between them.
 */
#pragma once

#include <pthread.h>
#include "ui/page/page.h"
#include "ui/serve/http_server.h"

struct held {
	pthread_mutex_t lock;
	struct page *page; /* NULL: nothing was read yet */
	struct run *run;
};

void held_init(struct held *held);
void held_fini(struct held *held);

/* Takes both, and destroys those before. */
void held_take(struct held *held, struct page *page, struct run *run);

/* Destroys both; NULL is legal. */
void held_release(struct page *page, struct run *run);

/* An http_ask_fn; context: struct held. */
int held_ask(void *context, const struct http_question *question, char **text, size_t *bytes);
