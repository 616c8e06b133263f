/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick serve`. */
#include "ui/serve/held.h"

#include <stdlib.h>
#include <string.h>

#include "trace/run.h"

static void release(struct page *page, struct run *run)
{
	if (page)
		page_fini(page);
	free(page);
	run_destroy(run);
}

void held_init(struct held *held)
{
	pthread_mutex_init(&held->lock, NULL);
	held->page = NULL;
	held->run = NULL;
}

void held_fini(struct held *held)
{
	release(held->page, held->run);
	pthread_mutex_destroy(&held->lock);
}

void held_take(struct held *held, struct page *page, struct run *run)
{
	pthread_mutex_lock(&held->lock);
	struct page *old_page = held->page;
	struct run *old_run = held->run;
	held->page = page;
	held->run = run;
	pthread_mutex_unlock(&held->lock);
	release(old_page, old_run);
}

char *held_ask(void *context, const struct http_question *question, size_t *bytes)
{
	struct held *held = context;
	json_auto_t *answer = NULL;
	char *text = NULL;

	pthread_mutex_lock(&held->lock);
	if (held->page)
		answer = strcmp(question->path, HTTP_STEP)
				 ? page_range_json(
					   held->page, question->since_ns, question->until_ns)
				 : page_step_json(held->page, question->step);
	pthread_mutex_unlock(&held->lock);
	if (answer)
		text = page_text(answer, bytes);
	return text;
}
