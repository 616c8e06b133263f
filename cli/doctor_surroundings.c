/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers are shown on, how files are packed, and which drivers of devices are there. Called
 * by `brick doctor`.
 */
#include <dlfcn.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/terminal.h"

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

void doctor_devices(struct doctor *doctor)
{
	static const struct {
		const char *name, *library;
	} drivers[] = {
		{"opencl", "libOpenCL.so.1"},
		{"vulkan", "libvulkan.so.1"},
		{"cuda", "libcuda.so.1"},
	};
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		void *handle = dlopen(drivers[i].library, RTLD_LAZY | RTLD_LOCAL);
		if (handle)
			doctor_add(doctor, "Devices", drivers[i].name, DOCTOR_LIMITED,
				"work on the CPU that waits for it is timed",
				"%s is here, but timing on the device is not built in this version",
				drivers[i].library);
		else
			doctor_add(doctor, "Devices", drivers[i].name, DOCTOR_ABSENT, NULL,
				"%s is not here", drivers[i].library);
		if (handle)
			dlclose(handle);
	}
}
