/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are made under the lock, and written as text behind it. */
#include "ui/serve/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brick/error.h"
#include "record/control.h"
#include "trace/run.h"
#include "ui/page/page_json.h"

enum { ORDER_PROCESSES = 16 }; /* of a recording that are asked for their recorder */

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

/* The recorder is asked outside of the lock: it may take a while. */
int held_order(void *context, const char *path, const char *text)
{
	struct held *held = context;
	struct control_answer answer;
	enum control_kind kind = !strcmp(path, HTTP_ON)	   ? CONTROL_ON
				 : !strcmp(path, HTTP_OFF) ? CONTROL_OFF
							   : CONTROL_MARK;
	pid_t pids[ORDER_PROCESSES];
	size_t count = 0;
	int error = -ESRCH;

	pthread_mutex_lock(&held->lock);
	if (held->run && !held->run->complete && held->run->recorder)
		pids[count++] = (pid_t)held->run->recorder;
	for (size_t i = 0; held->run && !held->run->complete && i < held->run->process_count; i++)
		if (count < ORDER_PROCESSES)
			pids[count++] = (pid_t)held->run->processes[i].pid;
	pthread_mutex_unlock(&held->lock);
	for (size_t i = 0; i < count && error; i++) {
		error = control_ask(pids[i], kind, text, &answer);
		if (error == -ENOENT || error == BRICK_ENOTRECORDED || error == -ECONNREFUSED)
			error = -ESRCH;
		else
			return error;
	}
	return error;
}
