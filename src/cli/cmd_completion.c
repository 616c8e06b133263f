/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick completion`: completions for shells, made of the tables of options, and the words that can
 * stand for a value, which the shells' functions ask for while somebody types.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/die.h"
#include "cli/options.h"
#include "trace/load.h"

enum { MAX_BYTES = 32 << 20 }; /* of a recording; 2.5 million samples, a third of a second */

static bool is_small_file(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_BYTES;
}

/* Loads the recording that the words name, else run.pftrace. NULL: there is none. */
static struct run *cmd_completion_load(char *const *words, size_t count)
{
	const char *path = "run.pftrace";
	struct load_error error;
	struct run *run = NULL;
	for (size_t i = 0; i < count; i++)
		if (strstr(words[i], ".pftrace") && !access(words[i], R_OK))
			path = words[i];
	return is_small_file(path) && run_load(&run, path, &error) >= 0 ? run : NULL;
}

static const struct cli_option *cmd_completion_find(
	const struct cli_command *command, const char *name)
{
	for (const struct cli_option *o = command->options; o->name; o++)
		if ((!strncmp(name, "--", 2) && !strcmp(name + 2, o->name)) ||
			(name[0] == '-' && name[1] && name[1] == o->letter && !name[2]))
			return o;
	return NULL;
}

struct options {
	bool values;
};

static const struct cli_option cmd_completion_option_table[] = {
	{"values", NULL,
		"for these scripts: print the words that can follow; operands are a command, the "
		"option before or '', and the words after the command",
		option_flag, AT(values)},
	OPTION_HELP,
};

/* Kinds of options, by their value. */

static bool any(const struct cli_option *option)
{
	return option->name != NULL;
}

static bool takes_words(const struct cli_option *option)
{
	return option->words != NULL;
}

static bool takes_file(const struct cli_option *option)
{
	return !option->words && option_value_is_file(option);
}

static bool takes_other(const struct cli_option *option)
{
	return option->value && !option->words && !option_value_is_file(option);
}

/* True if a program follows, after "--" at least. */
static bool runs_a_program(const struct cli_command *command)
{
	return strstr(command->usage, "CMD") != NULL;
}

static const char *operands_of(const struct cli_command *command)
{
	return command->flags & CLI_RUNS    ? "program"
	       : command->flags & CLI_READS ? "recordings"
					    : "words";
}

/* Bash. */

/* Prints the names, as "--output -o ", of the options for which the predicate is true. */
static void bash_options(const char *name, const struct cli_command *command,
	bool (*is)(const struct cli_option *option))
{
	printf(" %s=' ", name);
	for (const struct cli_option *o = command->options; o->name; o++) {
		if (!is(o))
			continue;
		bool apart = is == any || !option_value_is_optional(o);
		printf("--%s%s ", o->name, apart ? "" : "=");
		if (o->letter && is != any)
			printf("-%c ", o->letter);
	}
	putchar('\'');
}

/* Completes the text after the previous word. */
static const char bash_rest[] =
	"\tesac\n"
	"\tif [ \"$word\" = = ]; then\n"
	"\t\tword= equals==\n"
	"\telif [ \"$before\" = = ]; then\n"
	"\t\tbefore=${COMP_WORDS[COMP_CWORD-2]} equals==\n"
	"\tfi\n"
	"\tcase $words: in *\" $before \"* | *\" $before$equals \"*)\n"
	"\t\t_brick_lines \"${COMP_WORDS[0]}\" completion --values -- \"$command\" "
	"\"$before\" "
	"\"${COMP_WORDS[@]:2:COMP_CWORD-2}\" \"$word\"\n"
	"\t\treturn ;;\n"
	"\tesac\n"
	"\tcase $files: in *\" $before \"*)\n"
	"\t\t_brick_lines compgen -f -- \"$word\"\n"
	"\t\treturn ;;\n"
	"\tesac\n"
	"\tcase $others: in *\" $before \"*) return ;; esac\n"
	"\tcase $word in -*)\n"
	"\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	"\t\treturn ;;\n"
	"\tesac\n"
	"\t[ \"$before\" = @ ] && word=@$word\n"
	"\tcase $before:$operands in\n"
	"\t$runs:*) _brick_lines compgen -c -- \"$word\" ;;\n"
	"\t*:program) _brick_lines compgen -f -- \"$word\" ;;\n"
	"\t*)\n"
	"\t\t_brick_lines \"${COMP_WORDS[0]}\" completion --values -- \"$command\" '' "
	"\"${COMP_WORDS[@]:2:COMP_CWORD-2}\" \"$word\"\n"
	"\t\t[ \"$before\" = @ ] && COMPREPLY=(\"${COMPREPLY[@]#@}\")\n"
	"\t\tif [ \"$operands\" = recordings ]; then\n"
	"\t\t\t_brick_lines compgen -f -X '!*.pftrace*' -- \"$word\"\n"
	"\t\t\t_brick_lines compgen -d -- \"$word\"\n"
	"\t\tfi ;;\n"
	"\tesac\n"
	"}\n"
	"complete -o filenames -F _brick brick";

static void print_bash(void)
{
	puts("# Completion for bash; made by `brick completion bash`.\n"
	     "_brick_lines()\n"
	     "{\n"
	     "\tlocal IFS=$'\\n'\n"
	     "\tCOMPREPLY+=($(\"$@\" 2>/dev/null))\n"
	     "}\n"
	     "_brick()\n"
	     "{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	     "\tlocal command=${COMP_WORDS[1]} equals options words files others operands runs\n"
	     "\tCOMPREPLY=()\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	printf("\t\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
	puts("' -- \"$word\"))\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tcase $command in");
	for (size_t i = 0; commands[i]; i++) {
		printf("\t%s)", commands[i]->name);
		bash_options("options", commands[i], any);
		bash_options("words", commands[i], takes_words);
		bash_options("files", commands[i], takes_file);
		bash_options("others", commands[i], takes_other);
		printf(" operands=%s%s ;;\n", operands_of(commands[i]),
			runs_a_program(commands[i]) ? " runs=--" : "");
	}
	puts(bash_rest);
}

/* Zsh. */

/* Quotes a text in single quotes, and escapes characters that _arguments would take for its own. */
static void zsh_text(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_zsh(void)
{
	puts("#compdef brick\n"
	     "# Completion for zsh; made by `brick completion zsh`.\n"
	     "_brick_values()\n"
	     "{\n"
	     "\tlocal -a values=(${(f)\"$($program completion --values -- $command \"$1\" "
	     "${words[2,CURRENT-1]} \"$PREFIX\" 2>/dev/null)\"})\n"
	     "\tcompadd -M 'm:{[:lower:]}={[:upper:]}' -a values\n"
	     "}\n"
	     "_brick_recordings()\n"
	     "{\n"
	     "\t_brick_values ''\n"
	     "\t_files -g '*.pftrace*'\n"
	     "}\n"
	     "_brick()\n"
	     "{\n"
	     "\tif (( CURRENT == 2 )); then\n"
	     "\t\tlocal -a commands=(");
	for (size_t i = 0; commands[i]; i++) {
		printf("\t\t\t'%s:", commands[i]->name);
		zsh_text(commands[i]->summary, ":\\");
		puts("'");
	}
	puts("\t\t)\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tlocal program=$words[1] command=$words[2]\n"
	     "\tshift words\n"
	     "\t(( CURRENT-- ))\n"
	     "\tcase $command in");
	for (size_t i = 0; commands[i]; i++) {
		bool runs = commands[i]->flags & CLI_RUNS, reads = commands[i]->flags & CLI_READS;
		printf("\t%s)\n\t\t_arguments -s", commands[i]->name);
		for (const struct cli_option *o = commands[i]->options; o->name; o++) {
			bool optional = option_value_is_optional(o);
			printf(" \\\n\t\t\t'--%s%s[", o->name,
				!o->value  ? ""
				: optional ? "=-"
					   : "=");
			zsh_text(o->help, "[]:\\");
			putchar(']');
			if (o->value)
				printf("%s%s:", optional ? "::" : ":",
					optional ? "value" : o->value);
			if (takes_words(o))
				printf("{_brick_values --%s}", o->name);
			else if (takes_file(o))
				fputs("_files", stdout);
			else if (o->value)
				putchar(' ');
			putchar('\'');
		}
		printf(" \\\n\t\t\t'*:%s'\n\t\t;;\n", runs    ? ":program:_normal"
						      : reads ? "recording:_brick_recordings"
							      : "word:{_brick_values \"\"}");
	}
	puts("\tesac\n"
	     "}\n"
	     "_brick \"$@\"");
}

/* Fish. */

static void fish_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void print_fish(void)
{
	puts("# Completion for fish; made by `brick completion fish`.\n"
	     "function __brick_values\n"
	     "\tset -l line (commandline -opc)\n"
	     "\tset -l word (commandline -ct | string replace -r '^--[^=]*=' '')\n"
	     "\t$line[1] completion --values -- $argv $line[3..-1] \"$word\" 2>/dev/null\n"
	     "end\n"
	     "function __brick_recordings\n"
	     "\tset -l found (commandline -ct)*.pftrace*\n"
	     "\tstring join \\n -- $found\n"
	     "\t__fish_complete_directories (commandline -ct)\n"
	     "end");
	for (size_t i = 0; commands[i]; i++) {
		printf("complete -c brick -n __fish_use_subcommand -f -a %s -d '",
			commands[i]->name);
		fish_text(commands[i]->summary);
		puts("'");
		for (const struct cli_option *o = commands[i]->options; o->name; o++) {
			/* Its words are a line of their own: they do not have the option's
			 * description. */
			const struct cli_command *command = commands[i];
			bool apart = o->value && !option_value_is_optional(o);
			printf("complete -c brick -n '__fish_seen_subcommand_from %s' -l %s",
				command->name, o->name);
			if (o->letter)
				printf(" -s %c", o->letter);
			printf("%s -d '", !apart ? "" : takes_file(o) ? " -r -F" : " -x");
			fish_text(o->help);
			puts("'");
			if (takes_words(o))
				printf("complete -c brick -n '__fish_seen_subcommand_from %s' -l "
				       "%s%s "
				       "-a '(__brick_values %s --%s)'\n",
					command->name, o->name, apart ? " -x" : " -f",
					command->name, o->name);
		}
		const struct cli_command *command = commands[i];
		if (!(command->flags & CLI_RUNS)) {
			printf("complete -c brick -n '__fish_seen_subcommand_from %s' -f -a "
			       "'(__brick_values %s "
			       "\"\")%s'\n",
				command->name, command->name,
				command->flags & CLI_READS ? " (__brick_recordings)" : "");
		}
	}
}
static WORDS(words_shells, "bash", "zsh", "fish");

static int run_completion(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	struct options options = {0};
	options_parse(&command_completion, &options, argc, argv);
	if (options.values && optind + 3 <= argc) {
		char **arguments = argv + optind;
		size_t count = (size_t)(argc - optind);
		const struct cli_command *command = command_find(arguments[0]);
		const struct cli_option *option =
			command ? cmd_completion_find(command, arguments[1]) : NULL;
		option_words_fn add = option ? option->words : command ? command->operands : NULL;
		if (!add || (arguments[1][0] && !option))
			return CLI_DONE;
		SCOPED_BY(words_fini)
		struct option_words words = {.run = cmd_completion_load(arguments + 2, count - 3)};
		add(&words);
		const char *word = arguments[count - 1];
		bool is_list = option && option_value_is_list(option);
		const char *comma = is_list ? strrchr(word, ',') : NULL;
		const char *begin = comma ? comma + 1 : word;
		for (size_t i = 0; i < words.list.count; i++)
			if (!strncasecmp(words.list.items[i], begin, strlen(begin)))
				printf("%.*s%s\n", (int)(begin - word), word, words.list.items[i]);
		run_destroy((struct run *)words.run);
		return CLI_DONE;
	}
	for (size_t i = 0; optind + 1 == argc && i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!options.values && !strcmp(argv[optind], shells[i].name)) {
			shells[i].print();
			return CLI_DONE;
		}
	die_usage("completion", "completion: for which shell? bash, zsh or fish");
}

const struct cli_command command_completion = {
	.name = "completion",
	.summary = "print a script that lets a shell complete commands and values",
	.run = run_completion,
	.flags = CLI_ANSWERS,
	.usage = "bash|zsh|fish",
	.operands = words_shells,
	.about = "Print a script with which a shell completes commands, options and values: also "
		 "the bricks, layers and threads of the recording at hand, and labels of the "
		 "history. For bash: brick completion bash "
		 ">~/.local/share/bash-completion/completions/brick; "
		 "for fish: brick completion fish >~/.config/fish/completions/brick.fish; for zsh: "
		 "to a file _brick in a directory of $fpath.",
	.options = cmd_completion_option_table,
};
