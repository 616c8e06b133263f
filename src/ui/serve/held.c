/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are made under the lock, and written as text behind it. */
#include "ui/serve/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/run.h"
#include "ui/page/page_json.h"

void held_release(struct page *page, struct run *run)
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
	held_release(held->page, held->run);
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
	held_release(old_page, old_run);
}

static int held_make_answer(
	struct held *held, const struct http_question *question, json_t **answer)
{
	HOLD(&held->lock);
	if (!held->page)
		return -ENOENT;
	if (!strcmp(question->path, HTTP_STEP))
		return page_step_json(answer, held->page, question->step);
	return page_range_json(answer, held->page, question->since_ns, question->until_ns);
}

int held_ask(void *context, const struct http_question *question, char **text, size_t *bytes)
{
	json_auto_t *answer = NULL;
	int rc = held_make_answer(context, question, &answer);

	return rc < 0 ? rc : page_text(text, bytes, answer);
}
