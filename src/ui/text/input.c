/* SPDX-License-Identifier: Apache-2.0 */
/* Goes when nothing below cli/ ends the program: see recording_file.h. */
#include "ui/text/input.h"

#include <errno.h>

#include "ui/text/die.h"

struct run *input_load(const char *path)
{
	struct load_error error = {0};
	struct run *run = NULL;
	int rc = run_load(&run, path, &error);

	if (rc < 0)
		die(rc == -ENOMEM ? CLI_SYSTEM : CLI_INPUT, "%s: %s", path,
			recording_fault(rc, &error));
	return run;
}
