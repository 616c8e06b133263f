/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ceilings: where those of a host are kept, and whether they still hold. Called by the
 * commands. */
#include "base/file.h"
#include "base/scope.h"
#include "base/user_path.h"
#include "analysis/machine/ceilings_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Letters, digits and dots stay; a run of anything else becomes one hyphen. */
static void plain(char *out, size_t bytes, const char *name)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.";
	size_t n = 0;

	for (; *name && n + 1 < bytes; name++) {
		if (strchr(kept, *name))
			out[n++] = *name;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (!n)
		snprintf(out, bytes, "unknown");
}

char *ceilings_cache_path(const char *host, const char *cpu)
{
	char host_part[80], cpu_part[140];

	plain(host_part, sizeof host_part, host ? host : "");
	plain(cpu_part, sizeof cpu_part, cpu ? cpu : "");
	return user_path(USER_CACHE, "ceilings-%s-%s.json", host_part, cpu_part);
}

const char *ceilings_stale(const struct ceilings *c, const struct cpu_info *cpu)
{
	if (strcmp(c->host, cpu->host))
		return "they are of another host";
	if (strcmp(c->cpu, cpu->model))
		return "the CPU is another one";
	if (strcmp(c->microcode, cpu->microcode))
		return "the CPU's microcode is another one";
	if (c->cpus != cpu->online)
		return "the number of CPUs has changed";
	return NULL;
}

int ceilings_read(struct ceilings **out, const char *path, struct ceilings_error *error)
{
	enum { MAX_BYTES = 16 << 20 };
	char *text = NULL;
	size_t bytes = 0;
	int rc = file_read(&text, &bytes, path, MAX_BYTES);

	if (rc) {
		*error = (struct ceilings_error){0};
		snprintf(error->text, sizeof error->text, "%s", strerror(-rc));
		return rc;
	}
	rc = ceilings_parse(out, text, bytes, error);
	free(text);
	return rc;
}

int ceilings_write(const struct ceilings *c, const char *path)
{
	SCOPED char *text = ceilings_text(c);

	user_path_make(path);
	return text ? file_replace(path, text) : -ENOMEM;
}
