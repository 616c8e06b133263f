/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on its way to the user: UTF-8 decoding, escapes, widths, cutting; units; slips of the pen;
 * tables that are wider than their terminal.
 * The commands' sources are no library: those under test are compiled in here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/statistics/unknown.h"
#include "cli/progress.c"
#include "cli/suggest.c"
#include "ui/text/csv_out.c"
#include "ui/text/terminal.c"
#include "ui/text/text.c"
#include "ui/text/text_table.c"

static void decodes_what_is_valid(void **state)
{
	static const struct {
		const char *bytes;
		size_t length; /* 0: not valid */
		uint32_t code;
	} cases[] = {
		{"a", 1, 'a'},
		{"\xc3\xa9", 2, 0xe9},
		{"\xe2\x82\xac", 3, 0x20ac},
		{"\xf0\x9f\x98\x80", 4, 0x1f600},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\xc0\x80", 0, 0},	    /* overlong NUL */
		{"\xc1\xbf", 0, 0},	    /* overlong */
		{"\xe0\x9f\xbf", 0, 0},	    /* overlong */
		{"\xed\xa0\x80", 0, 0},	    /* surrogate */
		{"\xf4\x90\x80\x80", 0, 0}, /* beyond the last */
		{"\xf8\x88\x80\x80\x80", 0, 0},
		{"\x80", 0, 0},
		{"\xff", 0, 0},
		{"\xc3", 0, 0},
		{"\xe2\x82", 0, 0},
		{"\xe2(\xa1", 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t code = 0;
		size_t length = utf8_decode(cases[i].bytes, strlen(cases[i].bytes), &code);
		assert_int_equal(length, cases[i].length);
		assert_int_equal(code, cases[i].code);
	}
	uint32_t code;
	assert_int_equal(utf8_decode("", 0, &code), 0);
}

static void check_safe(const char *from, const char *to)
{
	char *safe = text_safe(from);
	assert_string_equal(safe, to);
	free(safe);
}

static void escapes_what_acts(void **state)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	check_safe("plain \xc3\xa9\xe2\x82\xac", "plain \xc3\xa9\xe2\x82\xac");
	check_safe("a\nb\tc\rd", "a\\nb\\tc\\rd");
	check_safe("\x1b[2J\x07\x7f", "\\x1b[2J\\x07\\x7f");
	check_safe("\xc2\x9b", "\\u009b");     /* CSI in one character */
	check_safe("\xe2\x80\xae", "\\u202e"); /* right to left from here */
	check_safe("\xf3\xa0\x80\x81", "\\U000e0001");
	check_safe("\xff\xc3", "\\xff\\xc3");
	check_safe(NULL, "");
	assert_non_null(setlocale(LC_CTYPE, "C"));
	check_safe("\xc3\xa9", "\\u00e9");
	char *csv;
	size_t bytes;
	FILE *out = open_memstream(&csv, &bytes);
	csv_text(out, "\xc3\xa9\x1b");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(csv, "\xc3\xa9\\x1b"); /* data is the same in all locales */
	free(csv);

	char small[8]; /* cut between escapes, never within one */
	text_escape(small, sizeof(small), "ab\x1b\x1b\x1b");
	assert_string_equal(small, "ab\\x1b");
}

static void valid_for_json(void **state)
{
	char *valid = text_valid("a\xff\xc3\xa9\xe2\x82");
	assert_string_equal(valid, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
	free(valid);
}

static void check_cut(const char *from, size_t width, const char *to)
{
	char *cut = text_cut(from, width);
	assert_string_equal(cut, to);
	assert_true(text_width(cut) <= width);
	free(cut);
}

static void widths(void **state)
{
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc2\xb5s"), 2);
	assert_int_equal(text_width("e\xcc\x81"), 1);		     /* with a combining accent */
	assert_int_equal(text_width("\xe4\xb8\xad\xe6\x96\x87"), 4); /* wide characters */
	check_cut("abcdef", 6, "abcdef");
	check_cut("abcdef", 4, "abc\xe2\x80\xa6");
	check_cut("\xe4\xb8\xad\xe6\x96\x87", 3, "\xe4\xb8\xad\xe2\x80\xa6");
	check_cut("\xe4\xb8\xad\xe6\x96\x87", 2, "\xe2\x80\xa6");
	assert_non_null(setlocale(LC_CTYPE, "C"));
	check_cut("abcdef", 5, "ab...");
}

static void check_time(uint64_t ns, const char *text)
{
	char out[UNITS_BYTES];
	assert_string_equal(units_time(out, ns), text);
}

static void units(void **state)
{
	char out[UNITS_BYTES];
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	check_time(0, "0");
	check_time(999, "999ns");
	check_time(1000, "1.00\xc2\xb5s");
	check_time(9994, "9.99\xc2\xb5s");
	check_time(9996, "10.0\xc2\xb5s");
	check_time(99949, "99.9\xc2\xb5s");
	check_time(99951, "100\xc2\xb5s");
	check_time(999499, "999\xc2\xb5s");
	check_time(999500, "1.00ms");
	check_time(12345678900, "12.3s");
	check_time(123456789000000, "123457s");
	check_time(ANALYSIS_UNKNOWN, "-");
	assert_string_equal(units_count(out, 99999), "99999");
	assert_string_equal(units_count(out, 100000), "100k");
	assert_string_equal(units_count(out, 1234567), "1.23M");
	assert_string_equal(units_count(out, UINT64_MAX - 1), "18447P");
	assert_string_equal(units_bytes(out, 999), "999B");
	assert_string_equal(units_bytes(out, 4200000000), "4.20GB");
	assert_string_equal(units_percent(out, 0), "0.0%");
	assert_string_equal(units_percent(out, 0.0001), "<0.1%");
	assert_string_equal(units_percent(out, 0.97654), "97.7%");
	assert_string_equal(units_percent(out, 0.9996), ">99.9%");
	assert_string_equal(units_percent(out, 1), "100.0%");
	assert_string_equal(units_percent(out, -1), "-");
	assert_string_equal(units_number(out, NAN), "-");
	assert_string_equal(units_number(out, INFINITY), "-");
	assert_string_equal(units_percent(out, INFINITY), "-");
	assert_string_equal(units_number(out, 55462.3), "55462");
	assert_non_null(setlocale(LC_CTYPE, "C"));
	check_time(1500, "1.50us");
}

static void slips(void **state)
{
	static const char *const names[] = {"record", "report", "tree", "export", "doctor"};
	assert_int_equal(suggest_distance("report", "report"), 0);
	assert_int_equal(suggest_distance("reprot", "report"), 1);
	assert_int_equal(suggest_distance("", "tree"), 4);
	assert_int_equal(suggest_distance("kitten", "sitting"), 3);
	assert_string_equal(suggest("reprot", names, 5), "report");
	assert_string_equal(suggest("recrod", names, 5), "record");
	assert_string_equal(suggest("trees", names, 5), "tree");
	assert_null(suggest("xyzzy", names, 5));
	assert_null(suggest("foo", (const char *const[]){"top", "flow"}, 2));
	static const char *const bricks[] = {"RmsNorm", "FlashAttention", "Softmax"};
	assert_string_equal(suggest("rmsnorm", bricks, 3), "RmsNorm");
	assert_string_equal(suggest("attention", bricks, 3), "FlashAttention");
	assert_string_equal(suggest("softmx", bricks, 3), "Softmax");
	assert_null(suggest("Nothing", bricks, 3));
	assert_null(suggest("", names, 5));
}

static void remaining_time(void **state)
{
	char text[64];
	(void)state;
	progress_text(text, sizeof(text), "x", 25, 100, 5000000000u);
	assert_string_equal(text, "x: 25%, 15 s left");
	progress_text(text, sizeof(text), "x", 5000, 0, 5000000000u);
	assert_string_equal(text, "x: 5.00kB so far");
	progress_text(text, sizeof(text), "x", 0, 0, 5000000000u);
	assert_string_equal(text, "x: waiting for 5 s");
	progress_text(text, sizeof(text), "x", 200, 100, 5000000000u); /* it grew meanwhile */
	assert_string_equal(text, "x: 200B so far");
}

static char *print_table_in(size_t width, struct table *table)
{
	char *text = NULL;
	size_t size;
	struct terminal terminal = {.out = open_memstream(&text, &size), .width = width};

	assert_non_null(terminal.out);
	table_print(table, &terminal);
	fclose(terminal.out);
	return text;
}

static void gives_the_name_the_room_of_dropped_columns(void **state)
{
	static const struct table_column columns[] = {
		{"NAME", TABLE_LEFT, 0}, {"TIME", TABLE_RIGHT, 0}, {"FILE", TABLE_LEFT, 1}};
	struct table *table = table_create(columns, 3);

	table_row(table, STYLE_PLAIN);
	table_cell(table, "ggml_compute_forward_flash_attn");
	table_cell(table, "12us");
	table_cell(table, "a_library_whose_name_never_fits.so");
	SCOPED char *narrow = print_table_in(42, table);
	SCOPED char *wide = print_table_in(100, table);
	table_destroy(table);
	assert_string_equal(narrow, "NAME                             TIME\n"
				    "ggml_compute_forward_flash_attn  12us\n");
	assert_non_null(strstr(wide, "never_fits.so\n"));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_what_is_valid),
		cmocka_unit_test(escapes_what_acts),
		cmocka_unit_test(valid_for_json),
		cmocka_unit_test(widths),
		cmocka_unit_test(units),
		cmocka_unit_test(slips),
		cmocka_unit_test(remaining_time),
		cmocka_unit_test(gives_the_name_the_room_of_dropped_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
