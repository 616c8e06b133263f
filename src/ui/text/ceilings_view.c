/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ceilings for a view: those of a file that the user names, or those kept for the recording's
 * machine. Called by commands and the page.
 */
#include "ui/text/ceilings_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "brick/error.h"
#include "analysis/machine/ceilings_file.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"

struct ceilings *ceilings_from_file(const char *path)
{
	struct ceilings_error error;
	struct ceilings *ceilings = NULL;
	int rc = ceilings_read(&ceilings, path, &error);

	if (rc == -ENOMEM)
		die(CLI_SYSTEM, "%s: not enough memory to read it", path);
	if (rc == BRICK_EFORMAT || rc == BRICK_EVERSION)
		die(CLI_INPUT, "%s: at byte %zu: %s", path, error.offset, error.text);
	if (rc)
		die(CLI_INPUT, "%s: %s", path, error.text);
	return ceilings;
}

static struct ceilings *read_kept(const char *path)
{
	struct ceilings_error error;
	struct ceilings *ceilings = NULL;
	int rc = ceilings_read(&ceilings, path, &error);

	if (rc && rc != -ENOENT)
		warn("%s: kept ceilings cannot be used: at byte %zu: %s", path, error.offset,
			error.text);
	return ceilings;
}

struct ceilings *ceilings_kept(const char *host, const char *cpu, char **where)
{
	static struct cpu_info info;
	char *path = ceilings_cache_path(host, cpu);
	struct ceilings *ceilings = path ? read_kept(path) : NULL;

	cpu_info_read(&info);
	bool here = host && !strcmp(host, info.host);
	const char *stale = ceilings && here ? ceilings_stale(ceilings, &info) : NULL;
	if (stale) {
		warn("%s: kept ceilings cannot be used: %s", path, stale);
		ceilings_destroy(ceilings);
		ceilings = NULL;
	}
	if (where)
		*where = path;
	else
		free(path);
	return ceilings;
}
