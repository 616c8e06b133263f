/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes follow a switch where their next step begins. So `brick on` and `brick off` look for a
 * second whether one has, and say so.
 */
#include "cli/control_command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "brick/error.h"
#include "cli/die.h"

enum { LOOKS = 20, LOOK_MS = 50 };

static pid_t control_command_process(const char *command, const char *operand)
{
	char *end;
	errno = 0;
	long pid = strtol(operand, &end, 10);

	if (errno || end == operand || *end || pid <= 0 || pid > INT32_MAX)
		die_usage(command, "%s: %s: must be the number of a process", command, operand);
	return (pid_t)pid;
}

static void __attribute__((noreturn)) control_command_fail(const char *operand, int error)
{
	if (error == -ENOENT || error == -ESRCH)
		die(CLI_INPUT, "%s: there is no such process", operand);
	if (error == -EACCES)
		die(CLI_SYSTEM,
			"%s: it is another user's process; only that user (or root) can switch it",
			operand);
	if (error == BRICK_ENOTRECORDED)
		die(CLI_INPUT,
			"%s: 'brick record' does not record this process; start it with 'brick "
			"record --idle -- CMD'",
			operand);
	if (error == -ECONNREFUSED)
		die(CLI_INPUT, "%s: its recorder is gone", operand);
	if (error == -ETIMEDOUT)
		die(CLI_SYSTEM, "%s: its recorder does not answer", operand);
	if (error == -EOPNOTSUPP)
		die(CLI_INPUT,
			"%s: it is recorded with --sample, and stacks cannot be switched off and "
			"on",
			operand);
	if (error == -EPERM)
		die(CLI_SYSTEM, "%s: its recorder obeys its own user only", operand);
	die(CLI_SYSTEM, "%s: %s", operand, brick_strerror(error));
}

struct control_answer control_command(
	const char *command, const char *operand, enum control_kind kind, const char *text)
{
	struct control_answer answer = {0};
	int error = control_ask(control_command_process(command, operand), kind, text, &answer);

	if (error)
		control_command_fail(operand, error);
	return answer;
}

int control_command_switch(const char *command, int argc, char **argv, enum control_kind kind)
{
	if (optind + 1 != argc)
		die_usage(command, "%s: which process?", command);
	const char *operand = argv[optind];
	const char *what = kind == CONTROL_ON ? "on" : "off";
	struct control_answer answer = control_command(command, operand, CONTROL_ASK, NULL);
	if (!answer.off == (kind == CONTROL_ON)) {
		warn("recording is %s already", what);
		return CLI_DONE;
	}
	answer = control_command(command, operand, kind, NULL);
	for (int i = 0; i < LOOKS && !answer.heeded; i++) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
		answer = control_command(command, operand, CONTROL_ASK, NULL);
	}
	if (answer.heeded)
		warn("recording is %s", what);
	else
		warn("recording is %s from the next step on; no step has begun yet", what);
	return CLI_DONE;
}
