/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of posts: spans, each once, and the newest metrics, whose values include all older ones.
 * The first text is posted until the collector takes it or it is dropped; pauses double, or are as
 * long as the collector asks.
 */
#include "ui/serve/otlp_push.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "http/http_client.h"
#include "ui/page/page_json.h"
#include "ui/serve/otlp_target.h"
#include "ui/text/otlp_metrics.h"

enum {
	CONNECT_MS = 2000,
	TOTAL_MS = 5000,
	LAST_MS = 1000,
	TRIES = 6, /* with the pauses between them, half a minute */
	PAUSE_MAX_S = 60,
	REQUESTS_AT_ONCE = 100, /* each has at most some hundred kilobytes */
};
#define TURN_NS NS_PER_S

struct text {
	char *bytes;
	size_t count;
	uint32_t spans; /* 0: metrics */
};

struct otlp_push {
	struct http_client *client;
	struct otlp_target traces, metrics;
	struct hashmap seen; /* traces */
	ARRAY(struct text) waiting;
	unsigned tries;	 /* for the first text */
	unsigned in_row; /* failures since anything was taken */
	uint64_t next_ns;
	struct otlp_push_counts counts;
	char error[320];
};

int otlp_push_create(struct otlp_push **out, const char *collector, char **why)
{
	struct otlp_push *p = calloc(1, sizeof(*p));
	int rc = p ? otlp_target_init(&p->traces, collector, "traces", why) : -ENOMEM;

	if (rc == 0)
		rc = otlp_target_init(&p->metrics, collector, "metrics", why);
	if (rc == 0)
		rc = http_client_create(&p->client, NULL, NULL);
	if (rc < 0) {
		otlp_push_destroy(p);
		return rc;
	}
	http_client_patience(p->client, CONNECT_MS, TOTAL_MS);
	*out = p;
	return 0;
}

static void remove_at(struct otlp_push *p, size_t i)
{
	free(p->waiting.items[i].bytes);
	p->waiting.count--;
	memmove(&p->waiting.items[i], &p->waiting.items[i + 1],
		(p->waiting.count - i) * sizeof(*p->waiting.items));
	if (i == 0)
		p->tries = 0;
}

static int wait_with(struct otlp_push *p, const json_t *request, uint32_t spans)
{
	struct text text = {.spans = spans};
	int rc = page_text(&text.bytes, &text.count, request);

	if (rc == 0 && (rc = array_push(&p->waiting, text)) < 0)
		free(text.bytes);
	if (rc < 0)
		p->counts.dropped_spans += spans;
	return rc;
}

static int take_spans(void *context, const json_t *request, uint32_t spans)
{
	return wait_with(context, request, spans);
}

/* Requests that have ended and were not seen before; how many, or -ENOMEM. */
static int otlp_push_choose(
	struct otlp_push *p, const struct otlp *otlp, uint8_t *is_wanted, bool is_over)
{
	char text[OTLP_TRACE_TEXT];
	int chosen = 0;

	for (uint32_t i = 0; i < otlp->requests->count && chosen < REQUESTS_AT_ONCE; i++) {
		uint64_t trace = otlp_trace(otlp, i, text);
		if ((otlp->requests->list[i].end == REQUEST_OPEN && !is_over) ||
			hashmap_get(&p->seen, trace) != HASHMAP_NONE)
			continue;
		is_wanted[i] = 1;
		chosen++;
		if (hashmap_set(&p->seen, trace, 1) < 0)
			return -ENOMEM;
	}
	return chosen;
}

static bool has_spans(const struct otlp_push *p)
{
	for (size_t i = 0; i < p->waiting.count; i++)
		if (p->waiting.items[i].spans)
			return true;
	return false;
}

int otlp_push_requests(struct otlp_push *p, const struct otlp *otlp, bool is_over)
{
	if (!otlp->requests || !otlp->requests->count)
		return 0;
	if (has_spans(p))
		return 1;
	SCOPED uint8_t *is_wanted = calloc(otlp->requests->count, 1);
	int chosen = is_wanted ? otlp_push_choose(p, otlp, is_wanted, is_over) : -ENOMEM;
	if (chosen <= 0)
		return chosen;
	return otlp_spans(otlp, is_wanted, take_spans, p) ?: chosen == REQUESTS_AT_ONCE;
}

int otlp_push_metrics(struct otlp_push *p, const struct otlp *otlp,
	const struct latencies *latencies, const struct step_times *times)
{
	json_auto_t *metrics = otlp_metrics(otlp, latencies, times, real_ns());

	if (!metrics)
		return -ENOMEM;
	for (size_t i = p->waiting.count; i-- > 0;)
		if (!p->waiting.items[i].spans)
			remove_at(p, i);
	return wait_with(p, metrics, 0);
}

static void drop_first(struct otlp_push *p)
{
	p->counts.dropped_spans += p->waiting.items[0].spans;
	remove_at(p, 0);
}

/* True for a status after which the protocol lets a client try again. */
static bool is_passing(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static void otlp_push_fail(struct otlp_push *p, const struct http_reply *reply, int rc)
{
	uint64_t pause_s = p->in_row < 6 ? 1ull << p->in_row : PAUSE_MAX_S;

	p->in_row++;
	p->counts.failures++;
	if (rc < 0)
		snprintf(p->error, sizeof(p->error), "%s", reply->error);
	else
		snprintf(p->error, sizeof(p->error), "HTTP %ld: %.*s", reply->status,
			(int)strcspn(reply->body, "\r\n"), reply->body);
	if (rc == 0 && reply->retry_after_s > 0)
		pause_s = (uint64_t)reply->retry_after_s;
	p->next_ns = monotonic_ns() + (pause_s < PAUSE_MAX_S ? pause_s : PAUSE_MAX_S) * NS_PER_S;
	if ((rc == 0 && !is_passing(reply->status)) || ++p->tries == TRIES)
		drop_first(p);
}

/* Posts the first text. True: it was taken. */
static bool post_first(struct otlp_push *p)
{
	const struct text *text = &p->waiting.items[0];
	SCOPED_BY(http_reply_fini) struct http_reply reply = {0};
	const struct otlp_target *to = text->spans ? &p->traces : &p->metrics;
	int rc = http_post(p->client, to->url, to->headers, text->bytes, text->count, &reply);

	if (rc < 0 || reply.status < 200 || reply.status > 299) {
		otlp_push_fail(p, &reply, rc);
		return false;
	}
	if (text->spans) {
		json_auto_t *answer = json_loads(reply.body, 0, NULL);
		const json_t *rejected =
			json_object_get(json_object_get(answer, "partialSuccess"), "rejectedSpans");
		uint64_t count = json_is_string(rejected)
					 ? strtoull(json_string_value(rejected), NULL, 10)
					 : (uint64_t)json_integer_value(rejected);
		count = count < text->spans ? count : text->spans;
		p->counts.dropped_spans += count;
		p->counts.sent_spans += text->spans - count;
		if (count)
			snprintf(p->error, sizeof(p->error), "%llu of %u spans were rejected",
				(unsigned long long)count, text->spans);
	}
	remove_at(p, 0);
	p->in_row = 0;
	return true;
}

void otlp_push_turn(struct otlp_push *p, bool is_last)
{
	uint64_t begin_ns = monotonic_ns();
	bool is_well = true;

	if (!is_last && begin_ns < p->next_ns)
		return;
	if (is_last)
		http_client_patience(p->client, LAST_MS, LAST_MS);
	while (p->waiting.count && is_well && monotonic_ns() - begin_ns < TURN_NS)
		is_well = post_first(p);
	while (is_last && p->waiting.count)
		drop_first(p);
}

struct otlp_push_counts otlp_push_counts(const struct otlp_push *p)
{
	return p->counts;
}

const char *otlp_push_error(const struct otlp_push *p)
{
	return p->error[0] ? p->error : NULL;
}

void otlp_push_destroy(struct otlp_push *p)
{
	if (!p)
		return;
	while (p->waiting.count)
		remove_at(p, p->waiting.count - 1);
	array_fini(&p->waiting);
	hashmap_fini(&p->seen);
	http_client_destroy(p->client);
	otlp_target_fini(&p->traces);
	otlp_target_fini(&p->metrics);
	free(p);
}
