/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files: parsing, patterns, and looking a node up. The parsed form keeps one copy of the text,
 * cut into words in place, and arrays that point into it. One alternative of a pattern is matched
 * in O(pattern x text): only the last '*' is ever tried again, and a '#' takes the whole run of
 * digits or nothing. The interposers use this inside of profiled programs; the command line checks
 * a user's file with it before anything runs.
 */
#include "attach/rules/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "brick/error.h"
#include "brick/registry.h"

enum { MAX_DIGITS = 9, MAX_NUMBERS = 8 };

/* The numbers that the '#'s of a pattern stand for, in turn. */
struct numbers {
	uint32_t most; /* a greater one is none */
	uint32_t count;
	uint32_t value[MAX_NUMBERS]; /* those beyond are not kept */
};

static bool rules_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Length of the number that begins here, 0 if none begins or it is too great. */
static size_t rules_number_at(const char *text, const char *start, struct numbers *numbers)
{
	size_t n = 0;
	uint32_t value = 0;

	if (text > start && rules_is_digit(text[-1]))
		return 0;
	while (rules_is_digit(text[n]) && n <= MAX_DIGITS)
		value = value * 10 + (uint32_t)(text[n++] - '0');
	if (!n || n > MAX_DIGITS || value > numbers->most)
		return 0;
	if (numbers->count < MAX_NUMBERS)
		numbers->value[numbers->count++] = value;
	return n;
}

static bool alternative_matches(
	const char *pattern, const char *end, const char *text, struct numbers *numbers)
{
	const char *start = text, *star = NULL, *retry = NULL;
	uint32_t at_star = 0;

	for (;;) {
		size_t taken = 0;

		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			retry = text;
			at_star = numbers->count;
			continue;
		}
		if (pattern == end && !*text)
			return true;
		if (pattern < end && *pattern == '#')
			taken = rules_number_at(text, start, numbers);
		else if (pattern < end && *text && (*pattern == '?' || *pattern == *text))
			taken = 1;
		if (taken) {
			pattern++;
			text += taken;
		} else if (star && *retry) {
			pattern = star;
			text = ++retry;
			numbers->count = at_star;
		} else {
			return false;
		}
	}
}

static bool matches(const char *pattern, const char *text, struct numbers *numbers)
{
	for (;;) {
		const char *end = strchrnul(pattern, '|');

		numbers->count = 0;
		if (alternative_matches(pattern, end, text, numbers))
			return true;
		if (!*end)
			return false;
		pattern = end + 1;
	}
}

bool rules_pattern_matches(const char *pattern, const char *text, int *number)
{
	struct numbers numbers = {.most = INT16_MAX}; /* a layer */

	if (!matches(pattern, text, &numbers))
		return false;
	if (numbers.count)
		*number = (int)numbers.value[numbers.count - 1];
	return true;
}

enum { MAX_WORDS = 8, MAX_RULES = 4096, MAX_LAYERS = 64, NAME_BYTES = 48, MAX_BYTES = 1 << 20 };

struct rule {
	const char *operation, *name, *source;
	const char *brick, *category;
	uint8_t by_operation;	      /* source names operations, too */
	uint8_t any_name, any_source; /* the pattern is "*" */
	char first; /* letter that every alternative of operation begins with, 0 if there is none */
};

/* The texts before and after an annotation's name; NULL: no limit there. */
struct name_rule {
	const char *before, *after;
};

/* Nodes of these names, if they read what `source` matches; NULL: whatever they read. */
struct outside_rule {
	const char *name, *source;
};

enum step_count { COUNT_NOTHING, COUNT_PROMPT, COUNT_OUTPUT, COUNT_PROMPTS };

struct step_rule {
	const char *pattern;
	enum brick_phase phase; /* where nothing is counted */
	uint32_t count;
	uint8_t counts[MAX_NUMBERS]; /* enum step_count */
};

struct rules {
	char *text;
	ARRAY(struct rule) rules;
	const char *layers[MAX_LAYERS];
	uint32_t layer_count;
	struct outside_rule outside[MAX_LAYERS];
	uint32_t outside_count;
	struct name_rule names[MAX_LAYERS];
	uint32_t name_count;
	struct step_rule steps[MAX_LAYERS];
	uint32_t step_count;
	int defaults_off;
	int versioned;
};

static const struct {
	const char *name;
	int category;
} known_bricks[] = {
#define BRICK_X(id, identifier, name, category, aliases) {name, BRICK_CATEGORY_##category},
	BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
};

static const char *const known_categories[] = {"Norm", "Attention", "FFN", "Other", "Sparse", "FFT",
	"Solver", "Engine", "Wait", "Step", "Tile"};

__attribute__((format(printf, 2, 3))) static int rules_fault(
	struct rules_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return BRICK_EFORMAT;
}

/* The brick's category when it is new, checked against the category that it has already. */
static int resolve_category(
	const struct rules *rules, struct rule *rule, const char *given, struct rules_error *error)
{
	const char *known = NULL, *before;

	for (size_t i = 0; i < sizeof(known_bricks) / sizeof(*known_bricks) && !known; i++)
		if (!strcmp(known_bricks[i].name, rule->brick))
			known = known_categories[known_bricks[i].category];
	before = known;
	for (uint32_t i = 0; i < rules->rules.count && !before; i++)
		if (!strcmp(rules->rules.items[i].brick, rule->brick))
			before = rules->rules.items[i].category;
	if (given && before && strcmp(given, before))
		return rules_fault(
			error, "%s is of category %s, not %s", rule->brick, before, given);
	if (!given && !before)
		return rules_fault(error, "%s is not a well-known brick: its category is missing",
			rule->brick);
	rule->category = known ? NULL : before ? before : given;
	return 0;
}

/* The letter that all alternatives of a pattern begin with; most rules are ruled out by it. */
static char common_first(const char *pattern)
{
	char first = pattern[0];

	for (const char *p = pattern; (p = strchr(p, '|')); p++)
		if (p[1] != first)
			return '\0';
	return strchr("*?#", first) ? '\0' : first;
}

static int rules_add_node(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	struct rule rule;

	if (words != 5 && words != 6)
		return rules_fault(error, "node needs OPERATION NAME SOURCE BRICK [CATEGORY]");
	if (strlen(word[4]) >= NAME_BYTES || (words == 6 && strlen(word[5]) >= NAME_BYTES))
		return rules_fault(error, "a name is longer than %d bytes", NAME_BYTES - 1);
	if (rules->rules.count == MAX_RULES)
		return rules_fault(error, "more than %d rules", MAX_RULES);
	rule = (struct rule){
		.operation = word[1],
		.name = word[2],
		.source = word[3],
		.brick = word[4],
		.by_operation = strchr(word[3], '@') != NULL,
		.any_name = !strcmp(word[2], "*"),
		.any_source = !strcmp(word[3], "*"),
		.first = common_first(word[1]),
	};
	int status = resolve_category(rules, &rule, words == 6 ? word[5] : NULL, error);
	if (status)
		return status;
	return array_push(&rules->rules, rule);
}

static int add_layer(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	if (words != 2 || !strchr(word[1], '#'))
		return rules_fault(error, "layer needs one PATTERN with a '#' in it");
	if (rules->layer_count == MAX_LAYERS)
		return rules_fault(error, "more than %d layer patterns", MAX_LAYERS);
	rules->layers[rules->layer_count++] = word[1];
	return 0;
}

static int add_outside(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	if (words != 2 && words != 3)
		return rules_fault(error, "outside needs NAME [SOURCE]");
	if (rules->outside_count == MAX_LAYERS)
		return rules_fault(error, "more than %d patterns of what is outside", MAX_LAYERS);
	rules->outside[rules->outside_count++] =
		(struct outside_rule){word[1], words == 3 ? word[2] : NULL};
	return 0;
}

static int rules_add_name(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	bool is_cut = !strcmp(word[0], "cut");

	if (words != (is_cut ? 2 : 3))
		return rules_fault(
			error, is_cut ? "cut needs one TEXT" : "inside needs BEFORE AFTER");
	if (rules->name_count == MAX_LAYERS)
		return rules_fault(error, "more than %d lines of inside and cut", MAX_LAYERS);
	rules->names[rules->name_count++] =
		is_cut ? (struct name_rule){NULL, word[1]} : (struct name_rule){word[1], word[2]};
	return 0;
}

static int word_among(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

static int rules_add_step(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	static const char *const phases[] = {
		"prefill", "decode", "mixed", "warm-up", "other", NULL};
	static const char *const counts[] = {"-", "prompt", "output", "prompts", NULL};
	struct step_rule *step = &rules->steps[rules->step_count];

	if (rules->step_count == MAX_LAYERS)
		return rules_fault(error, "more than %d steps", MAX_LAYERS);
	if (words < 3)
		return rules_fault(error, "step needs PATTERN and a phase or counts");
	*step = (struct step_rule){.pattern = word[1]};
	int phase = word_among(word[2], phases);
	if (phase >= 0 && words == 3) {
		step->phase = (enum brick_phase)phase;
		rules->step_count++;
		return 0;
	}
	for (size_t i = 2; i < words; i++) {
		int count = word_among(word[i], counts);
		if (count < 0)
			return rules_fault(error,
				"\"%.40s\" is not one of prefill, decode, mixed, warm-up, other "
				"alone, or of prompt, output, prompts, -",
				word[i]);
		step->counts[step->count++] = (uint8_t)count;
	}
	rules->step_count++;
	return 0;
}

static int rules_add_line(struct rules *rules, char **word, size_t words, struct rules_error *error)
{
	if (!rules->versioned) {
		if (words != 2 || strcmp(word[0], "brick-rules") || strcmp(word[1], "1"))
			return rules_fault(error, "the first line must be \"brick-rules 1\"");
		rules->versioned = 1;
		return 0;
	}
	if (!strcmp(word[0], "node"))
		return rules_add_node(rules, word, words, error);
	if (!strcmp(word[0], "layer"))
		return add_layer(rules, word, words, error);
	if (!strcmp(word[0], "outside"))
		return add_outside(rules, word, words, error);
	if (!strcmp(word[0], "inside") || !strcmp(word[0], "cut"))
		return rules_add_name(rules, word, words, error);
	if (!strcmp(word[0], "step"))
		return rules_add_step(rules, word, words, error);
	if (!strcmp(word[0], "defaults-off") && words == 1) {
		rules->defaults_off = 1;
		return 0;
	}
	return rules_fault(error,
		"\"%.40s\" is not one of node, layer, outside, inside, cut, step, defaults-off",
		word[0]);
}

static int parse_lines(struct rules *rules, struct rules_error *error)
{
	char *word[MAX_WORDS], *next;

	for (char *line = rules->text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		error->line++;
		line += strspn(line, " \t\r");
		if (!*line || *line == '#')
			continue;
		size_t words = 0;
		char *rest = NULL;
		for (char *w = strtok_r(line, " \t\r", &rest); w && words < MAX_WORDS;
			w = strtok_r(NULL, " \t\r", &rest))
			word[words++] = w;
		int status = rules_add_line(rules, word, words, error);
		if (status)
			return status;
	}
	if (!rules->versioned)
		return rules_fault(error, "the line \"brick-rules 1\" is missing");
	return 0;
}

int rules_parse(struct rules **out, const char *text, size_t bytes, struct rules_error *error)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	int status = -ENOMEM;

	*error = (struct rules_error){0, ""};
	if (!rules)
		return status;
	rules->text = malloc(bytes + 1);
	if (!rules->text)
		goto failed;
	memcpy(rules->text, text, bytes);
	rules->text[bytes] = '\0';
	if (memchr(text, '\0', bytes)) {
		error->line = 1;
		status = rules_fault(error, "this is no text: it has a NUL byte in it");
		goto failed;
	}
	status = parse_lines(rules, error);
	if (status)
		goto failed;
	*out = rules;
	return 0;
failed:
	rules_destroy(rules);
	return status;
}

void rules_destroy(struct rules *rules)
{
	if (!rules)
		return;
	array_fini(&rules->rules);
	free(rules->text);
	free(rules);
}

/* All of a file, at most MAX_BYTES. NULL with *status set. */
static char *rules_read_file(int fd, size_t *bytes, int *status)
{
	char *text = malloc(MAX_BYTES + 1);

	*bytes = 0;
	*status = text ? 0 : -ENOMEM;
	while (!*status) {
		ssize_t n = read(fd, text + *bytes, MAX_BYTES + 1 - *bytes);
		if (n == 0)
			return text;
		if (n < 0 && errno != EINTR)
			*status = -errno;
		else if (n > 0)
			*bytes += (size_t)n;
		if (*bytes > MAX_BYTES)
			*status = -EFBIG;
	}
	free(text);
	return NULL;
}

int rules_load(struct rules **out, const char *path, struct rules_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status = fd < 0 ? -errno : 0;
	size_t bytes;
	char *text = fd < 0 ? NULL : rules_read_file(fd, &bytes, &status);

	*error = (struct rules_error){0, ""};
	if (fd >= 0)
		close(fd);
	if (!text) {
		snprintf(error->text, sizeof(error->text), "%s", brick_strerror(status));
		return status;
	}
	status = rules_parse(out, text, bytes, error);
	free(text);
	return status;
}

static bool rules_reads(const struct rules_node *node, const char *pattern, bool by_operation)
{
	int number = 0;

	for (uint32_t i = 0; i < node->source_count; i++) {
		if (rules_pattern_matches(pattern, node->sources[i].name, &number))
			return true;
		char operation[48] = "@";
		if (!by_operation)
			continue;
		snprintf(operation + 1, sizeof(operation) - 1, "%s", node->sources[i].operation);
		if (rules_pattern_matches(pattern, operation, &number))
			return true;
	}
	return false;
}

static bool rule_matches(const struct rule *rule, const struct rules_node *node)
{
	int number = 0;

	if (rule->first && rule->first != node->operation[0])
		return false;
	return rules_pattern_matches(rule->operation, node->operation, &number) &&
	       (rule->any_name || rules_pattern_matches(rule->name, node->name, &number)) &&
	       (rule->any_source || rules_reads(node, rule->source, rule->by_operation));
}

static bool is_outside(const struct rules *rules, const struct rules_node *node)
{
	int number = 0;

	for (uint32_t i = 0; i < rules->outside_count; i++) {
		const struct outside_rule *rule = &rules->outside[i];
		if (rules_pattern_matches(rule->name, node->name, &number) &&
			(!rule->source || rules_reads(node, rule->source, false)))
			return true;
	}
	return false;
}

static int find_layer(const struct rules *rules, const struct rules_node *node)
{
	int layer = -1;

	if (is_outside(rules, node))
		return -1;
	for (uint32_t i = 0; i < rules->layer_count; i++) {
		if (rules_pattern_matches(rules->layers[i], node->name, &layer))
			return layer;
		for (uint32_t k = 0; k < node->source_count; k++)
			if (rules_pattern_matches(rules->layers[i], node->sources[k].name, &layer))
				return layer;
	}
	return -1;
}

void rules_apply(
	const struct rules *rules, const struct rules_node *node, struct rules_verdict *verdict)
{
	*verdict = (struct rules_verdict){NULL, NULL, find_layer(rules, node)};
	for (uint32_t i = 0; i < rules->rules.count; i++) {
		if (!rule_matches(&rules->rules.items[i], node))
			continue;
		verdict->brick = rules->rules.items[i].brick;
		verdict->category = rules->rules.items[i].category;
		return;
	}
}

/* The place of `part` in the text; '?' in it is any character. NULL: nowhere. */
static const char *find_part(const char *part, const char *text, size_t bytes)
{
	size_t length = strlen(part);

	for (size_t at = 0; at + length <= bytes; at++) {
		size_t i = 0;
		while (i < length && (part[i] == '?' || part[i] == text[at + i]))
			i++;
		if (i == length)
			return text + at;
	}
	return NULL;
}

size_t rules_name(const struct rules *rules, const char *text, size_t bytes, const char **name)
{
	*name = text;
	for (uint32_t i = 0; i < rules->name_count; i++) {
		const struct name_rule *rule = &rules->names[i];
		size_t before = rule->before ? strlen(rule->before) : 0;
		if (before > bytes || (before && find_part(rule->before, *name, before) != *name))
			continue;
		const char *end = find_part(rule->after, *name + before, bytes - before);
		if (!end || end == *name + before)
			continue;
		*name += before;
		bytes = (size_t)(end - *name);
	}
	return bytes;
}

bool rules_step(const struct rules *rules, const char *name, struct rules_step *step)
{
	for (uint32_t i = 0; i < rules->step_count; i++) {
		const struct step_rule *rule = &rules->steps[i];
		struct numbers numbers = {.most = UINT32_MAX};
		uint32_t prompts = 0;
		if (!matches(rule->pattern, name, &numbers))
			continue;
		*step = (struct rules_step){.phase = rule->phase};
		for (uint32_t k = 0; k < rule->count && k < numbers.count; k++) {
			if (rule->counts[k] == COUNT_PROMPT)
				step->prompt += numbers.value[k];
			else if (rule->counts[k] == COUNT_OUTPUT)
				step->output += numbers.value[k];
			else if (rule->counts[k] == COUNT_PROMPTS)
				prompts += numbers.value[k];
		}
		if (rule->count)
			step->phase = !step->prompt && !prompts ? BRICK_PHASE_DECODE
				      : step->output		? BRICK_PHASE_MIXED
								: BRICK_PHASE_PREFILL;
		return true;
	}
	return false;
}

bool rules_defaults_off(const struct rules *rules)
{
	return rules->defaults_off;
}
