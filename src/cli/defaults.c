/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lines of words: a word that begins with '#' begins a comment, quotes hold blanks together;
 * in BRICK_OPTIONS a ';' ends a line, too. Called by options.c.
 */
#include "cli/defaults.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/user_path.h"
#include "base/array.h"
#include "cli/command.h"
#include "cli/die.h"

enum { MAX_BYTES = 1 << 16 };

static ARRAY(struct defaults_line) lines;

/* The next word of a line, taken out of its quotes in place; *at goes behind it. NULL: no more. */
static char *next_word(char **at, const char *where)
{
	char *in = *at + strspn(*at, " \t\r"), *word = in, *out = in, quote = 0;
	if (!*in || *in == '#')
		return NULL;
	for (; *in && (quote || !strchr(" \t\r", *in)); in++) {
		if (quote ? *in == quote : *in == '"' || *in == '\'')
			quote = quote ? 0 : *in;
		else
			*out++ = *in;
	}
	if (quote)
		die_usage(NULL, "%s: a quote (%c) has no end", where, quote);
	*at = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

static void read_line(char *text, const char *command, const char *where)
{
	ARRAY(char *) words = {0};
	char *word = next_word(&text, where);
	if (word && !command_find(word))
		die_usage(NULL, "%s: %s: no such command", where, word);
	if (!word || strcmp(word, command) != 0)
		return;
	for (; word; word = next_word(&text, where))
		xpush(&words, word);
	xpush(&words, NULL);
	xpush(&lines, (struct defaults_line){xstrdup(where), (int)words.count - 1, words.items});
}

/* text: words will point into it. */
static void read_lines(char *text, const char *ends, const char *command, const char *from)
{
	for (unsigned number = 1; *text; number++) {
		size_t length = strcspn(text, ends);
		bool last = !text[length];
		text[length] = '\0';
		SCOPED char *where =
			number > 1 || !last ? xasprintf("%s:%u", from, number) : xstrdup(from);
		read_line(text, command, where);
		text += length + !last;
	}
}

/* NULL: there is none, and nowhere to look for it. */
static char *config_path(void)
{
	const char *own = getenv("BRICK_CONFIG");
	if (own)
		return *own ? xstrdup(own) : NULL;
	return user_path(USER_CONFIG, "config");
}

static char *read_file(const char *path)
{
	char *text = NULL;
	size_t bytes;
	int rc = file_read(&text, &bytes, path, MAX_BYTES - 1);
	if (rc == -EFBIG)
		die(CLI_INPUT, "%s: has more than %d bytes", path, MAX_BYTES - 1);
	if (rc < 0 && rc != -ENOENT)
		die(CLI_INPUT, "%s: %s", path, strerror(-rc));
	return text;
}

const struct defaults_line *defaults_of(const char *command, int *count)
{
	static char *text, *own; /* words point into them */
	SCOPED char *path = config_path();
	const char *options = getenv("BRICK_OPTIONS");
	text = path ? read_file(path) : NULL;
	own = options ? xstrdup(options) : NULL;
	if (text)
		read_lines(text, "\n", command, path);
	if (own)
		read_lines(own, "\n;", command, "BRICK_OPTIONS");
	*count = (int)lines.count;
	return lines.items;
}
