/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick completion`: scripts with which shells complete commands and options, made of the tables
 * that make the help.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "view/die.h"

static const struct cli_option option_table[] = {OPTION_HELP};

/* ---- bash ---- */

static void bash_command(const struct cli_command *command)
{
	printf("\t%s) options='", command->name);
	for (const struct cli_option *o = command->options; o->name; o++)
		printf("%s--%s", o == command->options ? "" : " ", o->name);
	puts("' ;;");
}

static void print_bash(void)
{
	puts("# Completion for bash; made by `brick completion bash`.\n"
	     "_brick()\n"
	     "{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	printf("\t\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
	puts("' -- \"$word\"))\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tcase ${COMP_WORDS[1]} in");
	for (size_t i = 0; commands[i]; i++)
		bash_command(commands[i]);
	puts("\tesac\n"
	     "\tcase $before:$word in\n"
	     "\t--:*) COMPREPLY=($(compgen -c -- \"$word\")) ;;\n"
	     "\t*:-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	     "\t*) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -o filenames -F _brick brick");
}

/* ---- zsh ---- */

/* Within single quotes; what _arguments would take for its own is escaped. */
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

static void zsh_option(const struct cli_option *o)
{
	bool optional = option_value_is_optional(o);
	printf(" \\\n\t\t\t'--%s%s[", o->name, !o->value ? "" : optional ? "=-" : "=");
	zsh_text(o->help, "[]:\\");
	putchar(']');
	if (o->value)
		printf("%s%s:_files", optional ? "::" : ":", optional ? "value" : o->value);
	putchar('\'');
}

static void print_zsh(void)
{
	puts("#compdef brick\n"
	     "# Completion for zsh; made by `brick completion zsh`.\n"
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
	     "\tlocal command=$words[2]\n"
	     "\tshift words\n"
	     "\t(( CURRENT-- ))\n"
	     "\tcase $command in");
	for (size_t i = 0; commands[i]; i++) {
		bool runs = commands[i]->flags & CLI_RUNS;
		printf("\t%s)\n\t\t_arguments -s", commands[i]->name);
		for (const struct cli_option *o = commands[i]->options; o->name; o++)
			zsh_option(o);
		printf(" \\\n\t\t\t'*::%s'\n\t\t;;\n", runs ? "program:_normal" : "file:_files");
	}
	puts("\tesac\n"
	     "}\n"
	     "_brick \"$@\"");
}

/* ---- fish ---- */

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
	puts("# Completion for fish; made by `brick completion fish`.");
	for (size_t i = 0; commands[i]; i++) {
		printf("complete -c brick -n __fish_use_subcommand -f -a %s -d '",
			commands[i]->name);
		fish_text(commands[i]->summary);
		puts("'");
		for (const struct cli_option *o = commands[i]->options; o->name; o++) {
			printf("complete -c brick -n '__fish_seen_subcommand_from %s' -l %s",
				commands[i]->name, o->name);
			if (o->letter)
				printf(" -s %c", o->letter);
			printf("%s -d '", o->value && !option_value_is_optional(o) ? " -r" : "");
			fish_text(o->help);
			puts("'");
		}
	}
}

static int run_completion(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	options_parse(&command_completion, NULL, argc, argv);
	for (size_t i = 0; optind + 1 == argc && i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(argv[optind], shells[i].name)) {
			shells[i].print();
			return CLI_DONE;
		}
	die_usage("completion", "completion: for which shell? bash, zsh or fish");
}

const struct cli_command command_completion = {
	.name = "completion",
	.summary = "print a script that lets a shell complete all this",
	.run = run_completion,
	.flags = CLI_ANSWERS,
	.usage = "bash|zsh|fish",
	.about = "Print a script with which a shell completes commands and options of brick. For "
		 "bash: brick completion bash >~/.local/share/bash-completion/completions/brick; "
		 "for fish: brick completion fish >~/.config/fish/completions/brick.fish; for zsh: "
		 "to a file _brick in a directory of $fpath.",
	.options = option_table,
};
