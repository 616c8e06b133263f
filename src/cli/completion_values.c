/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the words that can follow on a command line: by the table of the option before, for bricks,
 * layers and threads from the recording that is named there, or run.pftrace. Called for each press
 * of Tab: it must be quick, so large recordings are not read, and it complains of nothing.
 */
#include "cli/cmd_completion.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "trace/load.h"

enum { MAX_BYTES = 32 << 20 }; /* of a recording; 2.5 million samples, a third of a second */

static bool is_small_file(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_BYTES;
}

/* Of the words, the one that is a recording; or run.pftrace. NULL: there is none. */
static struct run *load(char *const *words, size_t count)
{
	const char *path = "run.pftrace";
	struct load_error error;
	struct run *run = NULL;
	for (size_t i = 0; i < count; i++)
		if (strstr(words[i], ".pftrace") && !access(words[i], R_OK))
			path = words[i];
	return is_small_file(path) && run_load(&run, path, &error) >= 0 ? run : NULL;
}

static const struct cli_option *find(const struct cli_command *command, const char *name)
{
	for (const struct cli_option *o = command->options; o->name; o++)
		if ((!strncmp(name, "--", 2) && !strcmp(name + 2, o->name)) ||
			(name[0] == '-' && name[1] && name[1] == o->letter && !name[2]))
			return o;
	return NULL;
}

/* Those that begin as the word does; behind a comma as its last part does. */
static void print(const struct option_words *words, const char *word, bool is_list)
{
	const char *comma = is_list ? strrchr(word, ',') : NULL;
	const char *begin = comma ? comma + 1 : word;
	for (size_t i = 0; i < words->list.count; i++)
		if (!strncasecmp(words->list.items[i], begin, strlen(begin)))
			printf("%.*s%s\n", (int)(begin - word), word, words->list.items[i]);
}

int completion_values(char **arguments, size_t count)
{
	const struct cli_command *command = command_find(arguments[0]);
	const struct cli_option *option = command ? find(command, arguments[1]) : NULL;
	option_words_fn add = option ? option->words : command ? command->operands : NULL;
	if (!add || (arguments[1][0] && !option))
		return CLI_DONE;
	SCOPED_BY(words_fini) struct option_words words = {.run = load(arguments + 2, count - 3)};
	add(&words);
	print(&words, arguments[count - 1], option && option_value_is_list(option));
	run_destroy((struct run *)words.run);
	return CLI_DONE;
}
