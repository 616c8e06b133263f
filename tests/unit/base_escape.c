/* SPDX-License-Identifier: Apache-2.0 */
/* Texts from anywhere in JSON, CSV and XML: marks, controls, what turns text around, broken UTF-8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "base/escape.h"

static void writes(void (*write)(FILE *, const char *), const char *text, const char *wanted)
{
	char *got = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&got, &bytes);

	assert_non_null(out);
	write(out, text);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, wanted);
	free(got);
}

static void json_text(FILE *out, const char *text)
{
	struct escaped piece;

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = escape_json_character(&piece, text, left);
		fwrite(piece.text, 1, piece.bytes, out);
	}
}

static void json(void **state)
{
	writes(json_text, "a\"b\\c/d", "a\\\"b\\\\c/d");
	writes(json_text, "\n\x1b\x7f", "\\u000a\\u001b\\u007f");
	writes(json_text, "\xc3\xa4\xf0\x9f\x98\x80", "\\u00e4\\ud83d\\ude00");
	writes(json_text, "\xe2\x80\xae\xf3\xa0\x80\x81", "\\u202e\\udb40\\udc01");
	writes(json_text, "\xff\xc3", "\\ufffd\\ufffd");
}

static void json_in_ascii(void **state)
{
	struct escaped piece;

	assert_int_equal(escape_json_character(&piece, "\xc3\xa4!", 3), 2);
	assert_string_equal(piece.text, "\\u00e4");
	assert_int_equal(escape_json_character(&piece, "\xf0\x9f\x98\x80", 4), 4);
	assert_string_equal(piece.text, "\\ud83d\\ude00");
	assert_int_equal(piece.bytes, 12);
	assert_int_equal(escape_json_character(&piece, "\xc3\xa4", 1), 1);
	assert_string_equal(piece.text, "\\ufffd");
	assert_int_equal(escape_json_character(&piece, "a", 1), 1);
	assert_string_equal(piece.text, "a");
}

static void spelled(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"\n", "\\n"},
		{"\t", "\\t"},
		{"\r", "\\r"},
		{"\x1b", "\\x1b"},
		{"\xff", "\\xff"},
		{"\xe2\x80\xae", "\\u202e"},
		{"\xf3\xa0\x80\x81", "\\U000e0001"},
	};
	struct escaped piece;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t n = strlen(cases[i].text);
		assert_int_equal(escape_spell(&piece, cases[i].text, n), n);
		assert_string_equal(piece.text, cases[i].wanted);
	}
}

static void csv(void **state)
{
	writes(escape_csv, NULL, "");
	writes(escape_csv, "plain", "plain");
	writes(escape_csv, "a,b", "\"a,b\"");
	writes(escape_csv, "a\"b", "\"a\"\"b\"");
	writes(escape_csv, "=1+1", "\"'=1+1\"");
	writes(escape_csv, "-x", "\"'-x\"");
	writes(escape_csv, "+\"", "\"'+\"\"\"");
	writes(escape_csv, "@x", "\"'@x\"");
	writes(escape_csv, "a=1", "a=1");
	writes(escape_csv, "x\ny\xff\xe2\x80\xae", "x\\x0ay\\xff\\u202e");
}

static void xml(void **state)
{
	writes(escape_xml, NULL, "");
	writes(escape_xml, "<a href='b'>\"&\"", "&lt;a href=&#39;b&#39;&gt;&quot;&amp;&quot;");
	writes(escape_xml, "\x01\xff\xe2\x80\xae", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	writes(escape_xml, "\xef\xbf\xbf\xc3\xa4", "\xef\xbf\xbd\xc3\xa4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json),
		cmocka_unit_test(json_in_ascii),
		cmocka_unit_test(spelled),
		cmocka_unit_test(csv),
		cmocka_unit_test(xml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
