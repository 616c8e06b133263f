/* SPDX-License-Identifier: Apache-2.0 */
/* A setting's number has a digit for each parameter, the index of its value (mixed radix). */
#include "cli/matrix.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/die.h"
#include "ui/text/text.h"

static void matrix_add_values(struct matrix_param *param, const char *list)
{
	for (;; list++) {
		size_t n = strcspn(list, ",");
		matrix_value(param, "%.*s", (int)n, list);
		list += n;
		if (!*list)
			return;
	}
}

void option_param(const struct option_use *use, const char *text)
{
	struct matrix *matrix = use->to;
	size_t n = strcspn(text, "=");

	if (!n || !text[n] || memchr(text, '{', n) || memchr(text, '}', n))
		die_usage(use->command->name, "--param %s: must be NAME=VALUE,VALUE,...", text);
	struct matrix_param param = {.name = xasprintf("%.*s", (int)n, text)};
	for (size_t i = 0; i < matrix->params.count; i++)
		if (!strcmp(matrix->params.items[i].name, param.name))
			die_usage(use->command->name, "--param %s: given twice", param.name);
	matrix_add_values(&param, text + n + 1);
	xpush(&matrix->params, param);
}

void matrix_value(struct matrix_param *param, const char *format, ...)
{
	char *value;
	va_list arguments;

	va_start(arguments, format);
	int n = vasprintf(&value, format, arguments);
	va_end(arguments);
	xcheck(n < 0 ? -ENOMEM : 0);
	for (size_t i = 0; i < param->values.count; i++)
		if (!strcmp(param->values.items[i], value)) {
			free(value);
			return;
		}
	xpush(&param->values, value);
}

size_t matrix_size(const struct matrix *matrix)
{
	size_t size = 1;

	for (size_t i = 0; i < matrix->params.count; i++)
		size *= matrix->params.items[i].values.count;
	return size;
}

size_t matrix_index(const struct matrix *matrix, size_t setting, size_t param)
{
	for (size_t i = matrix->params.count; i-- > param + 1;)
		setting /= matrix->params.items[i].values.count;
	return setting % matrix->params.items[param].values.count;
}

/* The parameter that stands in braces at the beginning of a text; NULL: none. */
static const struct matrix_param *param_at(const struct matrix *matrix, const char *text)
{
	for (size_t i = 0; *text == '{' && i < matrix->params.count; i++) {
		size_t n = strlen(matrix->params.items[i].name);
		if (!strncmp(text + 1, matrix->params.items[i].name, n) && text[n + 1] == '}')
			return &matrix->params.items[i];
	}
	return NULL;
}

char *matrix_fill(const struct matrix *matrix, size_t setting, const char *text)
{
	char *filled = xstrdup("");

	while (*text) {
		const struct matrix_param *param = param_at(matrix, text);
		if (param) {
			size_t i = (size_t)(param - matrix->params.items);
			xappend(&filled, "", "%s",
				param->values.items[matrix_index(matrix, setting, i)]);
			text += strlen(param->name) + 2;
		} else {
			size_t n = 1 + strcspn(text + 1, "{");
			xappend(&filled, "", "%.*s", (int)n, text);
			text += n;
		}
	}
	return filled;
}

char *matrix_text(const struct matrix *matrix, size_t setting)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < matrix->params.count; i++)
		xappend(&text, " ", "%s=%s", matrix->params.items[i].name,
			matrix->params.items[i].values.items[matrix_index(matrix, setting, i)]);
	return text;
}

char **matrix_command(const struct matrix *matrix, size_t setting, char *const *command)
{
	size_t words = 0;

	while (command[words])
		words++;
	char **filled = xcalloc(words + 1, sizeof(*filled));
	for (size_t i = 0; i < words; i++)
		filled[i] = matrix_fill(matrix, setting, command[i]);
	return filled;
}

static bool matrix_is_named(
	const struct matrix *matrix, const struct matrix_param *param, const char *text)
{
	for (const char *at = text; (at = strchr(at, '{')); at++)
		if (param_at(matrix, at) == param)
			return true;
	return false;
}

const char *matrix_unused(const struct matrix *matrix, char *const *command)
{
	for (size_t i = 0; i < matrix->params.count; i++) {
		bool is_used = false;
		for (size_t w = 0; command[w] && !is_used; w++)
			is_used = matrix_is_named(matrix, &matrix->params.items[i], command[w]);
		if (!is_used)
			return matrix->params.items[i].name;
	}
	return NULL;
}

void matrix_fini(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->params.count; i++) {
		for (size_t v = 0; v < matrix->params.items[i].values.count; v++)
			free(matrix->params.items[i].values.items[v]);
		array_fini(&matrix->params.items[i].values);
		free(matrix->params.items[i].name);
	}
	array_fini(&matrix->params);
}
