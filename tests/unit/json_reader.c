/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of other tools' JSON takes the texts that jansson takes, and finds the same values in
 * them, in windows of any size. Refusals name line, byte and reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include "base/scope.h"
#include "import/json_reader.h"

enum { TEXTS = 20000, TEXT_BYTES = 2000 };

struct text {
	const char *at;
	size_t left, part;
};

static int read_text(void *from, char *to, size_t bytes)
{
	struct text *text = from;
	size_t part = text->part < bytes ? text->part : bytes;

	part = text->left < part ? text->left : part;
	memcpy(to, text->at, part);
	text->at += part;
	text->left -= part;
	return (int)part;
}

/* What a reader needs. */
struct fixture {
	struct text text;
	struct import_source source;
	struct import_error error;
	struct json_reader reader;
};

static void fixture_init(struct fixture *f, const char *text, size_t bytes, size_t window)
{
	f->text = (struct text){text, bytes, window ? window : bytes};
	f->source = (struct import_source){read_text, &f->text, window};
	f->error = (struct import_error){""};
	reader_init(&f->reader, &f->source, &f->error);
}

static void fixture_fini(struct fixture *f)
{
	reader_fini(&f->reader);
}

static bool is_same(const struct json_value *v, json_t *j)
{
	double real;
	size_t count = 0;

	if (v->kind == VALUE_TEXT)
		return json_is_string(j) && v->bytes == json_string_length(j) &&
		       !memcmp(v->text, json_string_value(j), v->bytes + 1);
	if (v->kind == VALUE_NUMBER)
		return json_is_real(j) && value_real(v, &real) && real == json_real_value(j);
	if (v->kind == VALUE_ARRAY) {
		VALUES_EACH (element, v)
			if (!is_same(element, json_array_get(j, count++)))
				return false;
		return json_is_array(j) && count == json_array_size(j);
	}
	if (v->kind != VALUE_OBJECT)
		return json_typeof(j) == (v->kind == VALUE_TRUE		  ? JSON_TRUE
						 : v->kind == VALUE_FALSE ? JSON_FALSE
									  : JSON_NULL);
	VALUES_EACH (member, v) {
		/* of two that are called alike, the last one holds */
		if (value_get(v, member->key) != member)
			continue;
		if (!is_same(member, json_object_get(j, member->key)))
			return false;
		count++;
	}
	return json_is_object(j) && count == json_object_size(j);
}

/* Whether both readers take the text or refuse it, and find the same in it. */
static bool is_alike(const char *text, size_t bytes, size_t window)
{
	const struct json_value *value;
	json_error_t why;
	json_t *other = json_loadb(
		text, bytes, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);
	bool same;

	/* a number beyond a double is no fault of the text, and is no number when it is asked */
	if (!other && strstr(why.text, "overflow"))
		return true;
	SCOPED_BY(fixture_fini) struct fixture f;
	fixture_init(&f, text, bytes, window);
	int error = reader_load(&f.reader, &value);
	/* `value` is not valid any longer when more was read */
	same = error || !other || is_same(value, other);
	if (!error)
		error = reader_end(&f.reader);
	same = error ? !other && *f.error.text : same && other;
	json_decref(other);
	SCOPED_BY(fixture_fini) struct fixture skipping;
	fixture_init(&skipping, text, bytes, window);
	int skipped = reader_skip(&skipping.reader);
	if (!skipped)
		skipped = reader_end(&skipping.reader);
	return same && error == skipped && !strcmp(f.error.text, skipping.error.text);
}

static uint32_t below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(*seed >> 4) * limit >> 28);
}

/* Appends a random value; returns the end of the text. */
static size_t make_value(char *text, size_t n, uint32_t *seed, int depth)
{
	static const char *const scalars[] = {"0", "-1.25e+3", "12345678.901", "-0", "1E-7",
		"9007199254740993", "true", "false", "null", "\"\"", "\"a\"", "\"\\u0041\\n\\\\\"",
		"\"\\ud83d\\ude00 and more than 8 bytes of text\"", "\"\xc3\xa4\xe2\x82\xac\"",
		"\"\\u0000x\"", "\"\\u20acuro\\/\"", "\"0123456789abcdef0123456789abcdef\""};
	static const char *const names[] = {
		"\"ts\"", "\"a\"", "\"a\"", "\"long name of a member\"", "\"n\\u0061me\"", "\"\""};
	static const char *const blanks[] = {"", "", "", " ", "\n", "\n    ", "\t\r\n"};
	const size_t many = sizeof(scalars) / sizeof(scalars[0]);
	uint32_t kind = depth > 4 ? 0 : below(seed, 4);

	if (n > TEXT_BYTES / 2 || kind < 2)
		return n + (size_t)sprintf(text + n, "%s%s%s", blanks[below(seed, 7)],
				   scalars[below(seed, (uint32_t)many)], blanks[below(seed, 7)]);
	uint32_t count = below(seed, 5);
	n += (size_t)sprintf(text + n, "%s%c%s", blanks[below(seed, 7)], kind == 2 ? '[' : '{',
		blanks[below(seed, 7)]);
	for (uint32_t i = 0; i < count; i++) {
		n += (size_t)sprintf(text + n, "%s%s", i ? "," : "", blanks[below(seed, 7)]);
		if (kind == 3)
			n += (size_t)sprintf(
				text + n, "%s%s:", names[below(seed, 6)], blanks[below(seed, 7)]);
		n = make_value(text, n, seed, depth + 1);
	}
	return n + (size_t)sprintf(text + n, "%c%s", kind == 2 ? ']' : '}', blanks[below(seed, 7)]);
}

static void as_jansson_reads(void **state)
{
	static const char spoilt[] = "\"\\{}[]:,0123456789.-+eEtrufalsn \n\t\x01\x80\xc3\xff";
	static const size_t windows[] = {0, 1, 2, 7, 16, 64};
	char text[2 * TEXT_BYTES];
	uint32_t seed = 44;

	for (int i = 0; i < TEXTS; i++) {
		size_t bytes = make_value(text, 0, &seed, 0);
		for (uint32_t k = i & 1 ? 1 + below(&seed, 3) : 0; k && bytes; k--) {
			uint32_t at = below(&seed, (uint32_t)bytes);
			if (below(&seed, 3))
				text[at] = spoilt[below(&seed, sizeof(spoilt) - 1)];
			else
				memmove(text + at, text + at + 1, --bytes - at);
		}
		for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++)
			if (!is_alike(text, bytes, windows[w]))
				fail_msg("text %d, window %zu: %.*s", i, windows[w], (int)bytes,
					text);
	}
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {{"[1,\n2", "line 2, byte 5: the file ends here"},
		{"[1,\n2}", "line 2, byte 5: there must be a comma"},
		{"\n\n{\"a\" 1}", "line 3, byte 7: there must be a colon"},
		{"{a:1}", "line 1, byte 1: there must be a name in quotes"},
		{"[1,]", "line 1, byte 3: there is no value"},
		{"[nul]", "line 1, byte 1: there is no value"},
		{"[01]", "line 1, byte 1: there is no value"},
		{"[\"a\\x\"]", "line 1, byte 3: there is no such escape"},
		{"[\"\\udc00\"]", "line 1, byte 2: there is no such escape"},
		{"[\"a\nb\"]", "line 1, byte 3: a text must not have control characters"},
		{"[\"\xed\xa0\x80\"]", "line 1, byte 2: a text must be UTF-8"},
		{"\"abc", "line 1, byte 4: the file ends here"},
		{"1 2", "line 1, byte 2: something follows"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		for (size_t window = 0; window < 20; window++) {
			const struct json_value *value;
			SCOPED_BY(fixture_fini) struct fixture f;
			fixture_init(&f, wrong[i].text, strlen(wrong[i].text), window);
			int error = reader_load(&f.reader, &value);
			if (!error)
				error = reader_end(&f.reader);
			if (!error || strncmp(f.error.text, wrong[i].why, strlen(wrong[i].why)))
				fail_msg("%s: %s, not %s", wrong[i].text, f.error.text,
					wrong[i].why);
		}
}

/* Values deep in one another end the reading, and not the stack. */
static void depth(void **state)
{
	char text[4096];
	const struct json_value *value;

	for (size_t levels = JSON_MOST_DEPTH; levels <= JSON_MOST_DEPTH + 1; levels++) {
		SCOPED_BY(fixture_fini) struct fixture f;
		memset(text, '[', levels);
		memset(text + levels, ']', levels);
		fixture_init(&f, text, 2 * levels, 16);
		int error = reader_load(&f.reader, &value);
		assert_int_equal(error != 0, levels > JSON_MOST_DEPTH);
		if (error)
			assert_string_equal(f.error.text,
				"line 1, byte 512: values lie too deep in one another");
	}
}

/* Of containers that are walked through, the window holds no more than the value that is loaded. */
static void walks(void **state)
{
	static const char text[] = "{\"skipped\": [{\"a\": [1, 2]}, \"text\"], \"sizes\": [10, 20, "
				   "30], \"0123456789012345678901234567890123456789012345678901234"
				   "567890123456789\": 1, \"last\": {}}";
	int64_t sum = 0, whole;
	char names[200] = "";

	for (size_t window = 1; window < 40; window++) {
		const struct json_value *value;
		struct json_walk members, sizes;
		SCOPED_BY(fixture_fini) struct fixture f;
		sum = 0;
		*names = '\0';
		fixture_init(&f, text, sizeof(text) - 1, window);
		int error = reader_enter(&f.reader, '{', &members);
		while (!error && (error = reader_next(&f.reader, &members)) > 0) {
			strcat(strcat(names, f.reader.name), " ");
			if (strcmp(f.reader.name, "sizes") != 0) {
				error = reader_skip(&f.reader);
				continue;
			}
			error = reader_enter(&f.reader, '[', &sizes);
			while (!error && (error = reader_next(&f.reader, &sizes)) > 0) {
				error = reader_load(&f.reader, &value);
				assert_true(!error && value_whole(value, &whole));
				sum += whole;
			}
		}
		assert_int_equal(error, 0);
		assert_int_equal(reader_end(&f.reader), 0);
		assert_int_equal(sum, 60);
		assert_string_equal(names, "skipped sizes  last ");
		assert_true(f.reader.capacity <= 256);
	}
}

/* A comma has a value behind it, but in an array of which the end may be missing. */
static void commas(void **state)
{
	static const struct {
		const char *text, *why;
		bool may_be_cut;
	} cases[] = {{"[1,]", "line 1, byte 3: there is no value", false},
		{"{\"a\":1,}", "line 1, byte 7: there must be a name in quotes", false},
		{"[1,]", "", true}, {"[1,", "", true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_walk walk;
		SCOPED_BY(fixture_fini) struct fixture f;
		fixture_init(&f, cases[i].text, strlen(cases[i].text), 0);
		int error = reader_enter(&f.reader, *cases[i].text, &walk);
		walk.may_be_cut = cases[i].may_be_cut;
		while (!error && (error = reader_next(&f.reader, &walk)) > 0)
			error = reader_skip(&f.reader);
		assert_int_equal(error != 0, *cases[i].why != '\0');
		assert_string_equal(f.error.text, cases[i].why);
	}
}

/* A value that is loaded has so many values at most; one that is skipped may have more. */
static void most_values(void **state)
{
	enum { COUNT = 1 << 22 };
	char *text = malloc(2 * (size_t)COUNT + 2);

	assert_non_null(text);
	*text = '[';
	for (size_t i = 0; i < COUNT; i++)
		memcpy(text + 1 + 2 * i, i + 1 < COUNT ? "1," : "1]", 2);
	for (int is_skipped = 0; is_skipped < 2; is_skipped++) {
		const struct json_value *value;
		SCOPED_BY(fixture_fini) struct fixture f;
		fixture_init(&f, text, 2 * (size_t)COUNT + 1, 0);
		int error = is_skipped ? reader_skip(&f.reader) : reader_load(&f.reader, &value);
		assert_int_equal(error != 0, !is_skipped);
		assert_string_equal(f.error.text, is_skipped ? ""
							     : "line 1, byte 8388607: more than "
							       "4194304 values lie in one value");
	}
	free(text);
}

static void whole_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_whole;
		int64_t number;
	} cases[] = {{"0", true, 0}, {"-12", true, -12},
		{"9223372036854775799", true, 9223372036854775799}, {"1.0", false, 0},
		{"1e3", false, 0}, {"99999999999999999999", false, 0}, {"\"5\"", false, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct json_value *value;
		int64_t number = 0;
		SCOPED_BY(fixture_fini) struct fixture f;
		fixture_init(&f, cases[i].text, strlen(cases[i].text), 0);
		assert_int_equal(reader_load(&f.reader, &value), 0);
		assert_int_equal(value_whole(value, &number), cases[i].is_whole);
		assert_true(number == cases[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_jansson_reads),
		cmocka_unit_test(refusals), cmocka_unit_test(depth), cmocka_unit_test(walks),
		cmocka_unit_test(whole_numbers), cmocka_unit_test(commas),
		cmocka_unit_test(most_values)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
