/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what `brick serve` answers and publishes, with every allocation failing in turn: an
 * answer is whole, or an error, which the client sees as status 500; nothing leaks, and the server
 * lives on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/failing_memory.h"

#include "tests/unit/path_nonsense.h"
#include "ui/page/page_json.h"
#include "ui/serve/held.h"
#include "ui/serve/http_server.h"
#include "ui/serve/metrics.h"

static struct held held;

/* The answer, which must be what is wanted if that is not NULL; the caller frees. */
static int ask(const struct http_question *question, char **text, const char *wanted)
{
	size_t bytes = 0;
	int rc = held_ask(&held, question, text, &bytes);

	if (rc == 0) {
		assert_int_equal(strlen(*text), bytes);
		if (wanted)
			assert_string_equal(*text, wanted);
	}
	return rc;
}

static void fail_each(const struct http_question *question)
{
	char *wanted = NULL, *text;
	int want = ask(question, &wanted, NULL);

	for (long n = 0;; n++) {
		text = NULL;
		memory_fail_at(n);
		int rc = ask(question, &text, wanted);
		free(text);
		int failed = memory_stop_failing();
		memory_count_end();
		assert_int_equal(memory_blocks, 0);
		if (rc != -ENOMEM)
			assert_int_equal(rc, want);
		if (!failed)
			break;
		assert_true(n < 100000);
	}
	free(wanted);
}

static void every_allocation_of_an_answer(void **state)
{
	uint64_t seed = 7;

	(void)state;
	if (!MEMORY_CAN_FAIL)
		skip();
	for (uint32_t round = 0; round < 10; round++) {
		struct run *run = calloc(1, sizeof(*run));
		struct page *page = calloc(1, sizeof(*page));
		nonsense_run(run, &seed, 6);
		assert_int_equal(page_measure(page, run), 0);
		held_init(&held);
		held_take(&held, page, run);
		for (uint64_t step = 0; step <= run->step_count; step++)
			fail_each(&(struct http_question){HTTP_STEP, step, 0, 0});
		fail_each(&(struct http_question){HTTP_TIMELINE, 0, 0, UINT64_MAX});
		held_fini(&held);
	}
}

/* All that is published of a run: 0, or -ENOMEM. */
static int make_all(const struct run *run, size_t *bytes)
{
	struct page page;
	json_t *data = NULL;
	char *text = NULL, *metrics = NULL;
	struct otlp otlp = {0};
	struct latencies *latencies = NULL;
	int rc = page_measure(&page, run);

	if (rc == 0)
		rc = page_json(&data, &page, PAGE_SERVED);
	if (rc == 0)
		rc = page_text(&text, bytes, data);
	if (rc == 0)
		rc = otlp_init(&otlp, run, page.requests, &page.index);
	if (rc == 0)
		rc = latencies_create(
			&latencies, run, page.requests, &page.index, page.times, true);
	const struct metrics_view view = {.page = &page, .latencies = latencies, .otlp = &otlp};
	if (rc == 0 && !(metrics = metrics_of_page(&view)))
		rc = -ENOMEM;
	if (rc == 0)
		*bytes += strlen(metrics);
	json_decref(data);
	free(text);
	free(metrics);
	latencies_destroy(latencies);
	otlp_fini(&otlp);
	page_fini(&page);
	return rc;
}

static void every_allocation_of_a_page(void **state)
{
	uint64_t seed = 11;
	struct run run;
	size_t bytes;

	(void)state;
	if (!MEMORY_CAN_FAIL)
		skip();
	setenv("XDG_CACHE_HOME", "/nowhere", 1);
	nonsense_run(&run, &seed, 4);
	assert_int_equal(make_all(&run, &bytes), 0);
	for (long n = 0;; n++) {
		memory_fail_at(n);
		int rc = make_all(&run, &bytes);
		int failed = memory_stop_failing();
		memory_count_end();
		assert_int_equal(memory_blocks, 0);
		if (rc < 0)
			assert_int_equal(rc, -ENOMEM);
		else
			assert_true(bytes > 0);
		if (!failed)
			break;
		assert_true(n < 100000);
	}
	run_fini(&run);
}

static int ask_without_memory(
	void *context, const struct http_question *question, char **text, size_t *bytes)
{
	return -ENOMEM;
}

/* The status of the answer to a GET. */
static int get(uint16_t port, const char *path)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char text[256] = "";
	int status = 0, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(s, (const struct sockaddr *)&to, sizeof(to)), 0);
	dprintf(s, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	assert_true(read(s, text, sizeof(text) - 1) > 0);
	assert_int_equal(sscanf(text, "HTTP/1.1 %d", &status), 1);
	close(s);
	return status;
}

static void the_client_sees_an_error(void **state)
{
	struct http *http;
	const struct http_options options = {.address = "127.0.0.1", .ask = ask_without_memory};

	(void)state;
	if (http_missing())
		skip();
	assert_int_equal(http_start(&http, &options), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(get(http_port(http), "/step.json?step=1"), 500);
		assert_int_equal(get(http_port(http), "/timeline.json"), 500);
	}
	http_stop(http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_of_an_answer),
		cmocka_unit_test(every_allocation_of_a_page),
		cmocka_unit_test(the_client_sees_an_error),
	};
	return cmocka_run_group_tests_name("serve_memory", tests, NULL, NULL);
}
