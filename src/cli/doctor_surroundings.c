/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers are shown on, and how files are packed. Called by `brick doctor`.
 */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd_doctor.h"
#include "ui/text/terminal.h"

static void add_terminal(struct doctor *doctor)
{
	struct terminal terminal;
	const char *no_color = getenv("NO_COLOR");
	terminal_init(&terminal, stdout);
	doctor_add(doctor, "Output", "characters", terminal.utf8 ? DOCTOR_OK : DOCTOR_LIMITED,
		"for lines and units as they should be: LANG=C.UTF-8",
		"the locale's character set is %s", nl_langinfo(CODESET));
	if (!terminal.is_terminal)
		doctor_add(doctor, "Output", "terminal", DOCTOR_OK, NULL,
			"this output is no terminal: no colours, all columns");
	else
		doctor_add(doctor, "Output", "terminal",
			terminal.width < 80 ? DOCTOR_LIMITED : DOCTOR_OK,
			"tables leave out columns below 80, and show all from about 200 on",
			"%zu columns, %s", terminal.width,
			terminal.colours	? "colours"
			: no_color && *no_color ? "no colours, as NO_COLOR wants it"
						: "no colours");
}

void doctor_surroundings(struct doctor *doctor)
{
	add_terminal(doctor);
	doctor_add(doctor, "Output", "compression", DOCTOR_OK, NULL,
		"recordings are packed, by means of Brick's own");
}
