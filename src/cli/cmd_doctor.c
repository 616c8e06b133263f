/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick doctor`: has everything looked at, and tells what will work on this machine, what will
 * not, why, and what to do about it. What is looked at is in doctor_*.c.
 */
#include "cli/cmd_doctor.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brick/version.h"
#include "cli/command.h"
#include "cli/die.h"
#include "ui/text/json_out.h"
#include "cli/options.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

void doctor_add(struct doctor *doctor, const char *group, const char *name,
	enum doctor_status status, const char *advice, const char *format, ...)
{
	char *finding = NULL;
	va_list arguments;
	va_start(arguments, format);
	int n = vasprintf(&finding, format, arguments);
	va_end(arguments);
	if (n < 0)
		die(CLI_SYSTEM, "out of memory");
	xpush(&doctor->checks, (struct doctor_check){group, name, status, finding,
				       advice ? xstrdup(advice) : NULL});
}

static const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = {
		[DOCTOR_OK] = "ok",
		[DOCTOR_LIMITED] = "limited",
		[DOCTOR_NO] = "no",
		[DOCTOR_ABSENT] = "no",
	};
	return names[status];
}

static enum terminal_style style_of(enum doctor_status status)
{
	static const enum terminal_style styles[] = {
		[DOCTOR_OK] = STYLE_GOOD,
		[DOCTOR_LIMITED] = STYLE_WARN,
		[DOCTOR_NO] = STYLE_BAD,
		[DOCTOR_ABSENT] = STYLE_DIM,
	};
	return styles[status];
}

enum { STATUS_COLUMNS = 11, INDENT = 26 };

static void print_entry(const struct terminal *terminal, enum doctor_status status,
	const char *name, const char *finding, const char *advice)
{
	size_t width = terminal->width ? terminal->width : 100;
	SCOPED char *safe = text_safe(finding), *safe_name = text_safe(name);
	printf("  %s%-*s%s%s", terminal_style_begin(terminal, style_of(status)), STATUS_COLUMNS - 2,
		doctor_status_name(status), terminal_style_end(terminal, style_of(status)),
		safe_name);
	text_flow(stdout, width, INDENT, STATUS_COLUMNS + text_width(safe_name), safe);
	if (advice && status != DOCTOR_OK) {
		printf("%*s", INDENT, "");
		fputs(terminal->utf8 ? "\xe2\x86\x92" : ">", stdout);
		text_flow(stdout, width, INDENT + 2, INDENT + 1, advice);
	}
}

static void print_group(const struct terminal *terminal, const char *group, bool first)
{
	if (!first)
		putchar('\n');
	terminal_print(terminal, STYLE_STRONG, group);
	putchar('\n');
}

static void print_engine(const struct terminal *terminal, const struct doctor_engine *engine)
{
	print_entry(terminal, engine->status, "engine", engine->path, NULL);
	size_t width = terminal->width ? terminal->width : 100;
	SCOPED char *files = text_safe(engine->files), *method = text_safe(engine->method);
	text_wrap(stdout, width, INDENT, "", method);
	text_wrap(stdout, width, INDENT, "", files);
	for (size_t i = 0; i < engine->hook_count; i++) {
		const struct doctor_hook *hook = &engine->hooks[i];
		bool works = hook->defined && hook->reached;
		enum doctor_status status = works ? DOCTOR_OK : DOCTOR_ABSENT;
		SCOPED char *text = xasprintf("%s (%s)%s", hook->symbol, hook->gives,
			works		? ""
			: hook->defined ? ": exported, but not called through the dynamic linker"
					: ": not exported");
		printf("%*s%s%-3s%s", INDENT, "", terminal_style_begin(terminal, style_of(status)),
			works ? "ok" : "no", terminal_style_end(terminal, style_of(status)));
		text_flow(stdout, width, INDENT + 4, INDENT + 3, text);
	}
}

static void print_text(const struct doctor *doctor)
{
	struct terminal terminal;
	terminal_init(&terminal, stdout);
	const char *group = "";
	for (size_t i = 0; i < doctor->checks.count; i++) {
		const struct doctor_check *check = &doctor->checks.items[i];
		if (strcmp(group, check->group))
			print_group(&terminal, check->group, i == 0);
		group = check->group;
		print_entry(&terminal, check->status, check->name, check->finding, check->advice);
	}
	for (size_t i = 0; i < doctor->engines.count; i++)
		print_engine(&terminal, &doctor->engines.items[i]);
	if (doctor->is_of_program)
		return;
	printf("\n%s\n", doctor->cannot_record
				 ? "Nothing can be recorded on this machine; see above."
				 : "Programs can be recorded on this machine.");
}

static json_t *engine_json(const struct doctor_engine *engine)
{
	json_t *object = json_object(), *hooks = json_array();
	for (size_t i = 0; i < engine->hook_count; i++) {
		json_t *hook = json_object();
		json_put(hook, "symbol", json_text(engine->hooks[i].symbol));
		json_put(hook, "gives", json_text(engine->hooks[i].gives));
		json_put(hook, "exported", json_boolean(engine->hooks[i].defined));
		json_put(hook, "reached", json_boolean(engine->hooks[i].reached));
		json_add(hooks, hook);
	}
	json_put_texts(object, engine, path, files);
	json_put(object, "status", json_text(doctor_status_name(engine->status)));
	json_put(object, "method", json_text(engine->method));
	json_put(object, "hooks", hooks);
	return object;
}

static void print_json(const struct doctor *doctor)
{
	json_t *root = json_object(), *checks = json_array(), *engines = json_array();
	for (size_t i = 0; i < doctor->checks.count; i++) {
		const struct doctor_check *check = &doctor->checks.items[i];
		json_t *object = json_object();
		json_put_texts(object, check, group, name);
		json_put(object, "status", json_text(doctor_status_name(check->status)));
		json_put(object, "finding", json_text(check->finding));
		json_put(object, "advice",
			json_text(check->status == DOCTOR_OK ? NULL : check->advice));
		json_add(checks, object);
	}
	for (size_t i = 0; i < doctor->engines.count; i++)
		json_add(engines, engine_json(&doctor->engines.items[i]));
	json_put(root, "schema", json_text("brick/doctor/1"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "can_record", json_boolean(!doctor->cannot_record));
	json_put(root, "checks", checks);
	json_put(root, "engines", engines);
	json_print(root, stdout);
}

static void release(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->checks.count; i++) {
		free(doctor->checks.items[i].finding);
		free(doctor->checks.items[i].advice);
	}
	for (size_t i = 0; i < doctor->engines.count; i++) {
		free(doctor->engines.items[i].path);
		free(doctor->engines.items[i].files);
		free(doctor->engines.items[i].method);
	}
	array_fini(&doctor->checks);
	array_fini(&doctor->engines);
}

struct options {
	const char **engines; /* ends with NULL */
	bool json;
};

static void add_engine(const struct option_use *use, const char *text)
{
	const char **engine = *(const char ***)use->to;
	while (*engine)
		engine++;
	*engine = text;
}

static const struct cli_option option_table[] = {
	{"engine", "PATH",
		"also look at ggml libraries in this directory, or at this file; may be given more "
		"than once",
		add_engine, AT(engines)},
	{"json", NULL, "as JSON (schema brick/doctor/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static void look_at_machine(struct doctor *doctor, const struct options *options)
{
	doctor_clock(doctor);
	doctor_machine(doctor);
	doctor_attach(doctor);
	doctor_devices(doctor);
	doctor_surroundings(doctor);
	doctor_ggml(doctor, options->engines);
}

/* -- CMD..., or PID. */
static void look_at_program(struct doctor *doctor, int argc, char **argv)
{
	char *end;
	long pid = strtol(argv[optind], &end, 10);

	if (optind > 1 && !strcmp(argv[optind - 1], "--"))
		doctor_command(doctor, argv + optind);
	else if (!*end && pid > 0 && optind + 1 == argc)
		doctor_process(doctor, pid);
	else
		die_usage("doctor",
			"%s: neither a process's number nor a command behind '--'; did you mean "
			"'--engine %s'?",
			argv[optind], argv[optind]);
}

static int run_doctor(int argc, char **argv)
{
	struct options options = {.engines = xcalloc((size_t)argc + 1, sizeof(char *))};
	options_parse(&command_doctor, &options, argc, argv);
	struct doctor doctor = {.is_of_program = optind < argc};
	if (optind < argc)
		look_at_program(&doctor, argc, argv);
	else
		look_at_machine(&doctor, &options);
	if (options.json)
		print_json(&doctor);
	else
		print_text(&doctor);
	int code = doctor.cannot_record ? CLI_SYSTEM : CLI_DONE;
	release(&doctor);
	free(options.engines);
	return code;
}

const struct cli_command command_doctor = {
	.name = "doctor",
	.summary = "say what will work on this machine, and what will not",
	.run = run_doctor,
	.flags = CLI_ANSWERS,
	.usage = "[OPTIONS] [PID | -- CMD...]",
	.about = "Say what will work on this machine, what will not, why, and what to do about it; "
		 "or, of a program, which ways to attach will work for it, without running it.",
	.notes = "Without --engine, ggml is looked for in LD_LIBRARY_PATH, the usual library "
		 "directories, ./node_modules and ./build/demo/engine. Exit code 4: nothing can be "
		 "recorded here, or nothing of that program.",
	.options = option_table,
};
