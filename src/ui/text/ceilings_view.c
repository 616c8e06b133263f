/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings for a view: those kept for the recording's machine. */
#include "ui/text/ceilings_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/machine/ceilings_file.h"
#include "ui/text/text.h"

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
