/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run that is served, kept to answer questions about single steps and about the time line. The
 * main thread replaces it, the server's thread reads it, both under the lock.
 */
#pragma once

#include <pthread.h>
#include "ui/page/page.h"
#include "ui/serve/http_server.h"

struct held {
	pthread_mutex_t lock;
	struct page *page; /* of `run`; NULL: nothing was read yet */
	struct run *run;   /* NULL: as above */
};

void held_init(struct held *held);
void held_fini(struct held *held);

/* Takes ownership of both, and destroys the page and run that it held. */
void held_take(struct held *held, struct page *page, struct run *run);

/* Destroys a page and its run; NULL is legal. */
void held_release(struct page *page, struct run *run);

/* An http_order_fn; context: struct held. Asks the recorder of the run. */
int held_order(void *context, const char *path, const char *text);

/* An http_ask_fn; context: struct held. */
int held_ask(void *context, const struct http_question *question, char **text, size_t *bytes);
