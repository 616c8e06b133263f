/* SPDX-License-Identifier: Apache-2.0 */
/* What `brick on`, `brick off` and `brick mark` share. Main thread. */
#pragma once

#include "record/control.h"

/*
 * Asks the recorder of the process that `operand` names, and takes its answer; or ends the program
 * with a message.
 */
struct control_answer control_command(
	const char *command, const char *operand, enum control_kind kind, const char *text);

/* `brick on PID`, `brick off PID`: says what the recorder did, and whether processes follow. */
int control_command_switch(const char *command, int argc, char **argv, enum control_kind kind);
