/* SPDX-License-Identifier: Apache-2.0 */
/* A separate thread shows the progress every half second. */
#include "cli/progress.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/scope.h"
#include "cli/die.h"
#include "ui/text/text.h"

enum { PATIENCE_MS = 2000, EVERY_MS = 500 };

struct progress {
	char *what;
	uint64_t (*done)(void);
	uint64_t total, begin_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool is_over, is_shown;
};

void progress_text(char *text, size_t bytes, const char *what, uint64_t done, uint64_t total,
	uint64_t elapsed_ns)
{
	char size[UNITS_BYTES];
	if (!done) {
		snprintf(text, bytes, "%s: waiting for %.0f s", what, (double)elapsed_ns / 1e9);
		return;
	}
	if (!total || done > total) {
		snprintf(text, bytes, "%s: %s so far", what, units_bytes(size, done));
		return;
	}
	double part = (double)done / (double)total;
	double left_s = (double)elapsed_ns / 1e9 * (1 - part) / part;
	snprintf(text, bytes, "%s: %.0f%%, %.0f s left", what, 100 * part, left_s);
}

static void progress_show(struct progress *p)
{
	char text[256];
	uint64_t done = p->done ? p->done() : 0;
	progress_text(text, sizeof(text), p->what, done, p->total, monotonic_ns() - p->begin_ns);
	fprintf(stderr, "\r%s\033[K", text);
	p->is_shown = true;
	warn_line_set(true);
}

static void *progress_watch(void *context)
{
	struct progress *p = context;
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	HOLD(&p->lock);
	for (int ms = PATIENCE_MS; !p->is_over; ms = EVERY_MS) {
		at.tv_nsec += ms % 1000 * 1000000l;
		at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		int rc = 0;
		while (!p->is_over && rc == 0)
			rc = pthread_cond_timedwait(&p->over, &p->lock, &at);
		if (!p->is_over)
			progress_show(p);
	}
	return NULL;
}

struct progress *progress_start(const char *what, uint64_t (*done)(void), uint64_t total)
{
	pthread_condattr_t monotonic;
	struct progress *p = isatty(2) ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	*p = (struct progress){
		.what = text_safe(what), .done = done, .total = total, .begin_ns = monotonic_ns()};
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->over, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&p->thread, NULL, progress_watch, p)) {
		p->is_over = true;
		progress_end(p);
		return NULL;
	}
	return p;
}

void progress_end(struct progress *p)
{
	if (!p)
		return;
	bool has_thread = !p->is_over;
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_signal(&p->over);
	pthread_mutex_unlock(&p->lock);
	if (has_thread)
		pthread_join(p->thread, NULL);
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	warn_line_set(false);
	pthread_cond_destroy(&p->over);
	pthread_mutex_destroy(&p->lock);
	free(p->what);
	free(p);
}
