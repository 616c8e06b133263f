/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: answers are printed with every allocation failing in turn: nothing crashes or ends
 * the program, nothing leaks, and text_error() says so wherever something is missing. Needs an
 * allocator that can be replaced: skipped with sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/failing_memory.h"

#include "analysis/accounts/call_tree.h"
#include "analysis/walk/walk.h"
#include "analysis/path/path.h"
#include "tests/unit/path_nonsense.h"
#include "ui/text/diff.h"
#include "ui/text/json_out.h"
#include "ui/text/path_view.h"
#include "ui/text/report_json.h"
#include "ui/text/report_text.h"
#include "ui/text/report_trust.h"
#include "ui/text/text.h"
#include "ui/text/tree_view.h"

enum { BYTES = 1 << 20 };

/* What is printed goes here, without an allocation. */
struct sheet {
	char bytes[BYTES];
	size_t used;
};

static ssize_t sheet_write(void *cookie, const char *data, size_t n)
{
	struct sheet *sheet = cookie;

	if (n > BYTES - sheet->used)
		n = BYTES - sheet->used;
	memcpy(sheet->bytes + sheet->used, data, n);
	sheet->used += n;
	return (ssize_t)n;
}

typedef void (*print_fn)(const struct report *report, FILE *out);

static void print_json(const struct report *report, FILE *out)
{
	json_print(report_to_json(report), out);
}

static void print_trust(const struct report *report, FILE *out)
{
	report_trust_text(report, 60, out);
}

static void print_fields(const struct report *report, FILE *out)
{
	json_print(report_fields_to_json(), out);
}

static void print_origins(const struct report *report, FILE *out)
{
	struct diff_origins origins;
	struct diff_origin *list = text_room(2, sizeof(*list));

	if (!list)
		return;
	diff_origin_init(&list[0], report->run);
	diff_origin_init(&list[1], report->run);
	list[1].start_unix_ns++;
	diff_origins_init(&origins, list, 1, 1);
	for (size_t i = 0; i < origins.differences.count; i++)
		fprintf(out, "%s\n", origins.differences.items[i].a);
	diff_origins_fini(&origins);
}

static void fail_each(const struct report *report, print_fn print)
{
	static struct sheet want, got;
	static char buffer[4096];
	cookie_io_functions_t calls = {.write = sheet_write};

	for (long n = -1;; n++) {
		struct sheet *sheet = n < 0 ? &want : &got;
		sheet->used = 0;
		FILE *out = fopencookie(sheet, "w", calls);
		assert_non_null(out);
		setvbuf(out, buffer, _IOFBF, sizeof(buffer));
		memory_fail_at(n);
		print(report, out);
		int failed = memory_stop_failing();
		memory_count_end();
		fclose(out);
		int rc = text_error();
		assert_int_equal(memory_blocks, 0);
		if (rc == 0) {
			assert_int_equal(sheet->used, want.used);
			assert_memory_equal(sheet->bytes, want.bytes, want.used);
		}
		if (n >= 0 && !failed)
			break;
		assert_true(n < 20000);
	}
}

static void every_allocation(void **state)
{
	uint64_t seed = 7;

	(void)state;
	if (!MEMORY_CAN_FAIL)
		skip();
	static const enum summary_by by[] = {SUMMARY_BY_BRICK, SUMMARY_BY_STEP, SUMMARY_BY_QUEUE};

	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
		struct report_apart apart;
		struct run run;
		nonsense_run(&run, &seed, 3);
		assert_int_equal(report_apart_measure(&apart, &run, by[i], REPORT_PHASES_APART), 0);
		text_error();
		fail_each(&apart.all, report_text);
		fail_each(&apart.all, report_whole_text);
		fail_each(&apart.all, report_whole_trust_text);
		fail_each(&apart.all, print_json);
		fail_each(&apart.all, report_csv);
		if (by[i] == SUMMARY_BY_BRICK) {
			fail_each(&apart.all, print_trust);
			fail_each(&apart.all, print_fields);
			fail_each(&apart.all, print_origins);
		}
		report_apart_fini(&apart);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation),
	};
	return cmocka_run_group_tests_name("text_memory", tests, NULL, NULL);
}
