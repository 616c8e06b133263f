/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL's zones (/sys/class/powercap/intel-rapl:N, on AMD's CPUs, too) count uJ, and begin anew
 * behind their highest value. Cores are a part of their package, so only packages, their memory and
 * the whole platform are read. hwmon's sensors count uJ, or tell uW; a power is taken to hold until
 * the next reading.
 */
#include "record/energy_sources.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"

enum { PATH_BYTES = 512 };

static bool energy_value(int fd, uint64_t *value)
{
	char text[32];
	const char *end;
	ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);

	if (bytes <= 0)
		return false;
	text[bytes] = '\0';
	return !number_leading_u64(text, value, &end);
}

/* More than any machine takes: a counter that seems to have gone round so fast was reset. */
#define ENERGY_MOST_UJ_A_NS 20.0 /* 20 kW */

/*
 * RAPL's counters have 32 bits of a unit, and range_uj is the last of their values: the value after
 * it is a unit higher.
 */
static uint64_t energy_period_uj(const struct energy_source *source)
{
	return source->range_uj + source->range_uj / UINT32_MAX;
}

bool energy_source_read(struct energy_source *s)
{
	uint64_t ns = monotonic_ns(), value;

	if (s->read ? !s->read(s->device, &value) : !energy_value(s->fd, &value))
		return false;
	if (s->is_power) {
		s->uj += (double)s->value * (double)(ns - s->ns) / 1e9;
	} else if (value >= s->value) {
		s->uj += (double)(value - s->value);
	} else if (s->range_uj >= s->value && (double)(energy_period_uj(s) - s->value + value) <=
						      ENERGY_MOST_UJ_A_NS * (double)(ns - s->ns)) {
		s->uj += (double)(energy_period_uj(s) - s->value + value);
	} else {
		return false;
	}
	s->value = value;
	s->ns = ns;
	return true;
}

COMPARATOR(energy_sources_order, struct energy_source, strcmp(x->name, y->name))

/* A sensor has several files, which come together. Names that do not fit are left out. */
static void energy_note_refused(struct energy_sources *sources, const char *name)
{
	size_t at = strlen(sources->refused), bytes = strlen(name);
	size_t left = sizeof(sources->refused) - at;
	bool is_last = at >= bytes && !strcmp(sources->refused + at - bytes, name);

	if (!is_last && bytes + 2 < left)
		snprintf(sources->refused + at, left, "%s%s", at ? ", " : "", name);
}

/* Adds a counter whose file is there. The first error of a file that is there stays in *error. */
static int energy_add(struct energy_sources *sources, const char *path,
	const struct energy_source *like, int *error)
{
	struct energy_source s = *like;

	s.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s.fd < 0) {
		int failed = errno == EPERM ? EACCES : errno;
		if (failed == EACCES)
			energy_note_refused(sources, s.name);
		if (failed != ENOENT && !*error)
			*error = -failed;
		return 0;
	}
	s.ns = monotonic_ns();
	if (energy_value(s.fd, &s.value) && !array_push(&sources->list, s))
		return 1;
	close(s.fd);
	return 0;
}

static void energy_add_rapl(
	struct energy_sources *sources, const char *root, const char *zone, int *error)
{
	char path[PATH_BYTES], name[24] = "", parent[24] = "", range[32] = "";
	struct energy_source s = {0};
	const char *below = strrchr(zone, ':');

	snprintf(path, sizeof(path), "%s/sys/class/powercap/%s/name", root, zone);
	file_line(path, name, sizeof(name));
	if (strncmp(name, "package", 7) && strcmp(name, "dram") && strcmp(name, "psys"))
		return;
	if (strchr(zone, ':') != below) {
		snprintf(path, sizeof(path), "%s/sys/class/powercap/%.*s/name", root,
			(int)(below - zone), zone);
		file_line(path, parent, sizeof(parent));
	}
	snprintf(s.name, sizeof(s.name), "rapl %s%s%s", parent, *parent ? " " : "", name);
	snprintf(path, sizeof(path), "%s/sys/class/powercap/%s/max_energy_range_uj", root, zone);
	if (file_line(path, range, sizeof(range)) &&
		number_u64(range, 0, UINT64_MAX / 2, &s.range_uj))
		s.range_uj = 0;
	snprintf(path, sizeof(path), "%s/sys/class/powercap/%s/energy_uj", root, zone);
	energy_add(sources, path, &s, error);
}

/* A sensor such as "energy1" of a device; its files are ENERGY_input, and so on. */
static void energy_add_sensor(struct energy_sources *sources, const char *device, const char *title,
	const char *kind, unsigned number, int *error)
{
	char path[PATH_BYTES + 64], label[24] = "";
	struct energy_source s = {.is_power = !strcmp(kind, "power")};

	snprintf(path, sizeof(path), "%s/%s%u_label", device, kind, number);
	if (!file_line(path, label, sizeof(label)))
		snprintf(label, sizeof(label), "%u", number);
	if (!strncmp(label, "Ecore", 5)) /* of one core: a part of its socket */
		return;
	snprintf(s.name, sizeof(s.name), "hwmon %s %s%s", title, label, s.is_power ? " power" : "");
	snprintf(path, sizeof(path), "%s/%s%u_input", device, kind, number);
	if (!energy_add(sources, path, &s, error) && s.is_power) {
		snprintf(path, sizeof(path), "%s/%s%u_average", device, kind, number);
		energy_add(sources, path, &s, error);
	}
}

/* Where a sensor counts energy, its power tells no more. */
static void energy_add_hwmon(
	struct energy_sources *sources, const char *root, const char *entry, int *error)
{
	enum { MOST = 64 };
	char device[PATH_BYTES], path[PATH_BYTES + 64], title[24] = "?";
	size_t before = sources->list.count;

	snprintf(device, sizeof(device), "%s/sys/class/hwmon/%s", root, entry);
	snprintf(path, sizeof(path), "%s/name", device);
	file_line(path, title, sizeof(title));
	for (unsigned i = 1; i <= MOST; i++)
		energy_add_sensor(sources, device, title, "energy", i, error);
	for (unsigned i = 1; i <= MOST && sources->list.count == before; i++)
		energy_add_sensor(sources, device, title, "power", i, error);
}

static void energy_search(struct energy_sources *sources, const char *root, const char *folder,
	const char *prefix,
	void (*add)(struct energy_sources *, const char *root, const char *entry, int *error),
	int *error)
{
	struct dirent **all = NULL;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s", root, folder);
	int count = scandir(path, &all, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = all[i]->d_name;
		if (!strncmp(name, prefix, strlen(prefix)) &&
			isdigit((unsigned char)name[strlen(prefix)]))
			add(sources, root, name, error);
		free(all[i]);
	}
	free(all);
}

static bool energy_name_is_taken(const struct energy_sources *sources, const char *name)
{
	for (size_t i = 0; i < sources->list.count; i++)
		if (!strcmp(sources->list.items[i].name, name))
			return true;
	return false;
}

/* A name is a source's identity in the recording, so of equal ones only the first stays. */
static void energy_sources_number(struct energy_sources *sources)
{
	enum { NUMBER_BYTES = 8 };
	char first[SINK_ENERGY_NAME] = "", name[SINK_ENERGY_NAME];

	for (size_t i = 0, number = 1; i < sources->list.count; i++) {
		struct energy_source *s = &sources->list.items[i];
		if (!i || strcmp(first, s->name)) {
			strcpy(first, s->name);
			number = 1;
			continue;
		}
		do
			snprintf(name, sizeof(name), "%.*s %zu", (int)sizeof(name) - NUMBER_BYTES,
				first, ++number);
		while (energy_name_is_taken(sources, name));
		strcpy(s->name, name);
	}
}

int energy_sources_open(struct energy_sources *sources, const char *root)
{
	int error = 0;

	*sources = (struct energy_sources){0};
	energy_search(sources, root, "/sys/class/powercap", "intel-rapl:", energy_add_rapl, &error);
	energy_search(sources, root, "/sys/class/hwmon", "hwmon", energy_add_hwmon, &error);
	array_sort(&sources->list, energy_sources_order);
	energy_sources_number(sources);
	return sources->list.count ? 0 : error ? error : -ENOENT;
}

void energy_source_close(struct energy_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
}

void energy_sources_close(struct energy_sources *sources)
{
	for (size_t i = 0; i < sources->list.count; i++)
		energy_source_close(&sources->list.items[i]);
	array_fini(&sources->list);
}
