/* SPDX-License-Identifier: Apache-2.0 */
/* Lists grow, spill and are mapped. Samples go to the file in whole pages, so that they can be. */
#include "trace/sample_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/file.h"

enum {
	MIN_SAMPLES = 1024,
	SPILL_SAMPLES = 8192, /* that a list keeps in memory, once any list was spilled */
	FIRST_EXTENT = 1 << 15,
	FIRST_BYTES = FIRST_EXTENT * sizeof(struct run_sample), /* so that extents are aligned */
};

/* Samples of a list that stand one after the other in the file. */
struct piece {
	size_t first, count; /* index in the list, and number */
	unsigned extent;
	uint64_t offset; /* in the extent */
};

static struct piece piece_of(size_t first, size_t end)
{
	unsigned extent = 0;
	size_t begin = 0, next = FIRST_EXTENT;

	while (first >= next) {
		begin = next;
		next *= 2;
		extent++;
	}
	return (struct piece){first, (end < next ? end : next) - first, extent,
		(first - begin) * sizeof(struct run_sample)};
}

void sample_store_init(struct sample_store *store, size_t budget)
{
	*store = (struct sample_store){.budget = budget, .file = -1};
}

void sample_store_fini(struct sample_store *store)
{
	if (store->file >= 0)
		close(store->file);
	store->file = -1;
}

void sample_list_init(struct sample_list *list)
{
	*list = (struct sample_list){.late_index = RUN_NONE};
}

static int resize(struct sample_store *store, struct sample_list *list, size_t capacity)
{
	struct run_sample *tail = realloc(list->tail, capacity * sizeof(*tail));

	if (!tail)
		return -ENOMEM;
	store->resident += (capacity - list->capacity) * sizeof(*tail);
	list->tail = tail;
	list->capacity = capacity;
	return 0;
}

void sample_list_fini(struct sample_store *store, struct sample_list *list)
{
	store->resident -= list->capacity * sizeof(*list->tail);
	free(list->tail);
	sample_list_init(list);
}

/* Never with a name, or only for a moment where the file system cannot do without. */
static int open_unnamed(const char *directory)
{
	char name[4096];
	int file = directory && *directory
			   ? open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600)
			   : -1;

	if (file >= 0 || !directory || !*directory ||
		snprintf(name, sizeof(name), "%s/brick-samples-XXXXXX", directory) >=
			(int)sizeof(name))
		return file;
	file = mkostemp(name, O_CLOEXEC);
	if (file >= 0 && unlink(name)) {
		close(file);
		file = -1;
	}
	return file;
}

/* /var/tmp before /tmp: it is for large files, and seldom in memory itself. */
static int sample_store_open_file(void)
{
	const char *const directories[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int file = -1;

	for (size_t i = 0; file < 0 && i < sizeof(directories) / sizeof(*directories); i++)
		file = open_unnamed(directories[i]);
	return file;
}

static int sample_store_read_at(int file, void *data, size_t bytes, uint64_t offset)
{
	ssize_t n;

	do
		n = pread(file, data, bytes, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n < bytes ? -EIO : 0;
}

/*
 * Gives the list an extent at the end of the file; its first FIRST_BYTES stay free, so that an
 * offset of 0 means none. Writing takes half of the time if the disk's blocks are allocated at once
 * and pieces are aligned in the file. 0: there is no room.
 */
static int have_extent(struct sample_store *store, struct sample_list *list, unsigned extent)
{
	uint64_t samples = (uint64_t)FIRST_EXTENT << (extent ? extent - 1 : 0);

	if (list->extents[extent])
		return 1;
	if (!store->file_bytes)
		store->file_bytes = FIRST_BYTES;
	uint64_t bytes = samples * sizeof(struct run_sample);
	if (!file_can_have(store->file_bytes + bytes))
		return 0;
	/* where the file system cannot, writing tells if there is space */
	fallocate(store->file, FALLOC_FL_KEEP_SIZE, (off_t)store->file_bytes, (off_t)bytes);
	list->extents[extent] = store->file_bytes;
	store->file_bytes += bytes;
	return 1;
}

static int write_pieces(struct sample_store *store, struct sample_list *list, size_t end)
{
	for (size_t i = list->first; i < end;) {
		struct piece p = piece_of(i, end);
		if (!have_extent(store, list, p.extent) ||
			file_write_at(store->file, &list->tail[i - list->first],
				p.count * sizeof(*list->tail), list->extents[p.extent] + p.offset))
			return 0;
		i += p.count;
	}
	return 1;
}

/* Writes whole pages of the tail to the file. 0: it cannot. */
static int spill(struct sample_store *store, struct sample_list *list)
{
	size_t held = list->count - list->first,
	       spilled = held - held % ((size_t)sysconf(_SC_PAGESIZE) / sizeof(struct run_sample));

	if (store->refused || !spilled)
		return 0;
	if (store->file < 0)
		store->file = sample_store_open_file();
	if (store->file < 0 || !write_pieces(store, list, list->first + spilled)) {
		store->refused = 1;
		return 0;
	}
	memmove(list->tail, list->tail + spilled, (held - spilled) * sizeof(*list->tail));
	list->first += spilled;
	store->spills = 1;
	if (list->capacity > SPILL_SAMPLES)
		resize(store, list, SPILL_SAMPLES);
	return 1;
}

int sample_list_grow(struct sample_store *store, struct sample_list *list)
{
	size_t capacity =
		list->capacity ? list->capacity + list->capacity / 2 : (size_t)MIN_SAMPLES;
	size_t more_bytes = (capacity - list->capacity) * sizeof(*list->tail);
	bool is_long = store->spills && capacity > SPILL_SAMPLES;

	if ((is_long || store->resident + more_bytes > store->budget) && spill(store, list))
		return 0;
	return list->first + capacity <= RUN_NONE ? resize(store, list, capacity) : -ENOMEM;
}

static uint64_t sample_store_place_of(const struct sample_list *list, size_t index)
{
	struct piece p = piece_of(index, index + 1);

	return list->extents[p.extent] + p.offset;
}

/* Write the changed sample back to the file. */
static int put_late(struct sample_store *store, struct sample_list *list)
{
	size_t index = list->late_index;

	list->late_index = RUN_NONE;
	return index == RUN_NONE ? 0
				 : file_write_at(store->file, &list->late, sizeof(list->late),
					   sample_store_place_of(list, index));
}

struct run_sample *sample_list_late(
	struct sample_store *store, struct sample_list *list, size_t index, int *error)
{
	int result = 0;

	if (list->late_index == index)
		return &list->late;
	result = put_late(store, list);
	if (!result)
		result = sample_store_read_at(store->file, &list->late, sizeof(list->late),
			sample_store_place_of(list, index));
	if (result)
		*error = result;
	else
		list->late_index = index;
	return &list->late;
}

/* The samples become the run's, in no more memory than they need. */
static int sample_store_hand_over(
	struct sample_store *store, struct sample_list *list, struct run_lane *lane)
{
	if (list->count && list->count < list->capacity)
		resize(store, list, list->count); /* as it was, if it cannot be made smaller */
	lane->samples = list->tail;
	store->resident -= list->capacity * sizeof(*list->tail);
	list->tail = NULL;
	list->capacity = 0;
	return 0;
}

/* Maps the samples in the file to `base`, and copies those in memory behind them. */
static int sample_store_map(
	struct sample_store *store, const struct sample_list *list, struct run_sample *base)
{
	for (size_t i = 0; i < list->first;) {
		struct piece p = piece_of(i, list->first);
		if (mmap(base + i, p.count * sizeof(*base), PROT_READ, MAP_SHARED | MAP_FIXED,
			    store->file, (off_t)(list->extents[p.extent] + p.offset)) == MAP_FAILED)
			return -ENOMEM;
		i += p.count;
	}
	memcpy(base + list->first, list->tail, (list->count - list->first) * sizeof(*base));
	return 0;
}

int sample_list_finish(struct sample_store *store, struct sample_list *list, struct run_lane *lane)
{
	int result = put_late(store, list);

	lane->sample_count = list->count;
	if (result || !list->first)
		return result ? result : sample_store_hand_over(store, list, lane);
	void *base = mmap(NULL, list->count * sizeof(*lane->samples), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	lane->samples = base;
	lane->spilled = list->first;
	return sample_store_map(store, list, base);
}
