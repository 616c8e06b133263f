/* SPDX-License-Identifier: Apache-2.0 */
/* Notes come from another process: nothing in them is trusted. */
#include "lib/writer/gpu_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/number.h"
#include "format/format.h"
#include "lib/writer/trace_records.h"

enum { MAX_NUMBER = 1024 };

void gpu_list_fini(struct gpu_list *list)
{
	array_fini(&list->entries);
}

static struct gpu_entry *gpu_list_entry_of(struct gpu_list *list, uint32_t process, uint32_t number)
{
	for (size_t i = 0; i < list->entries.count; i++) {
		struct gpu_entry *e = &list->entries.items[i];
		if (e->process == process && e->number == number)
			return e;
	}
	struct gpu_entry e = {.process = process, .number = number, .index = GPU_UNUSED};
	return array_push(&list->entries, e) ? NULL : &list->entries.items[list->entries.count - 1];
}

/* Without an identity from the driver, only the GPU of another process that is told the same. */
static bool gpu_list_is_same(const struct gpu_entry *a, const struct gpu_entry *b)
{
	if (*a->uuid || *b->uuid)
		return !strcmp(a->uuid, b->uuid);
	if (*a->pci || *b->pci)
		return !strcmp(a->pci, b->pci);
	return a->process != b->process && a->number == b->number &&
	       !strcmp(a->backend, b->backend) && !strcmp(a->name, b->name);
}

/* Of the index's entries, the first that has the text; where in an entry that is. */
static const char *gpu_list_text_of(const struct gpu_list *list, uint32_t index, size_t offset)
{
	for (size_t i = 0; i < list->entries.count; i++) {
		const char *text = (const char *)&list->entries.items[i] + offset;
		if (list->entries.items[i].index == index && *text)
			return text;
	}
	return "";
}

const char *gpu_list_architecture(const struct gpu_list *list, uint32_t index)
{
	return gpu_list_text_of(list, index, offsetof(struct gpu_entry, architecture));
}

static void gpu_list_put_uuid(struct pb_buffer *b, const char *hex)
{
	uint8_t bytes[16];

	if (strlen(hex) != 32 || strspn(hex, "0123456789abcdef") != 32)
		return;
	for (int i = 0; i < 16; i++) {
		const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	pb_string(b, GPU_UUID, (const char *)bytes, sizeof(bytes));
}

/* All of them, in the order of their indexes. */
static int write_list(const struct gpu_list *list, struct packets *packets)
{
	struct pb_buffer *b = &packets->scratch;

	b->size = 0;
	size_t packet = packet_open(b, FORMAT_OWN_SEQUENCE, SEQUENCE_NEEDS_STATE);
	size_t info = pb_open(b, PACKET_GPU_INFO);
	for (uint32_t index = 0; index < list->used; index++) {
		size_t gpu = pb_open(b, GPU_INFO_GPUS);
		const char *text;
#define X(field, member)                                                          \
	text = gpu_list_text_of(list, index, offsetof(struct gpu_entry, member)); \
	if (*text)                                                                \
		pb_string(b, field, text, strlen(text));
		GPU_TEXTS(X)
#undef X
		gpu_list_put_uuid(
			b, gpu_list_text_of(list, index, offsetof(struct gpu_entry, uuid)));
		pb_close(b, gpu);
	}
	pb_close(b, info);
	pb_close(b, packet);
	return packets_add(packets);
}

uint32_t gpu_list_use(
	struct gpu_list *list, struct packets *packets, uint32_t process, uint32_t number)
{
	struct gpu_entry *e = gpu_list_entry_of(list, process, number);

	if (!e) {
		packets_fail(packets, -ENOMEM);
		return 0;
	}
	if (e->index != GPU_UNUSED)
		return e->index; /* the trace knows it */
	for (size_t i = 0; i < list->entries.count && e->index == GPU_UNUSED; i++) {
		const struct gpu_entry *other = &list->entries.items[i];
		if (other->index != GPU_UNUSED && gpu_list_is_same(e, other))
			e->index = other->index;
	}
	if (e->index == GPU_UNUSED)
		e->index = list->used++;
	write_list(list, packets);
	return e->index;
}

/* One line behind "gpu."; whether it says something new of a GPU that is in use. */
static bool gpu_list_take_line(
	struct gpu_list *list, uint32_t process, const char *line, size_t bytes)
{
	const char *equals = memchr(line, '=', bytes);
	const char *end;
	char text[192] = "";
	uint64_t number;

	if (!equals || number_leading_u64(line, &number, &end) || !number || number > MAX_NUMBER ||
		(*end != '=' && *end != '.'))
		return false;
	struct gpu_entry *e = gpu_list_entry_of(list, process, (uint32_t)number);
	if (!e)
		return false;
	tables_text(text, sizeof(text), equals + 1, bytes - (size_t)(equals + 1 - line));
	struct gpu_entry before = *e;
	size_t key = (size_t)(equals - end);
	if (!key)
		memcpy(e->backend, text, strnlen(text, sizeof(e->backend) - 1));
	if (key == sizeof(".uuid") - 1 && !memcmp(end, ".uuid", key))
		memcpy(e->uuid, text, strnlen(text, sizeof(e->uuid) - 1));
#define X(field, member)                                                      \
	if (key == sizeof("." #member) - 1 && !memcmp(end, "." #member, key)) \
		memcpy(e->member, text, sizeof(text));
	GPU_TEXTS(X)
#undef X
	return e->index != GPU_UNUSED && memcmp(&before, e, sizeof(before)) != 0;
}

int gpu_list_notes(struct gpu_list *list, struct packets *packets, uint32_t process,
	const char *notes, size_t bytes)
{
	static const char prefix[] = "gpu.";
	const size_t skip = sizeof(prefix) - 1;
	bool is_new = false;

	for (const char *line = notes, *end = notes + bytes; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((stop ? stop : end) - line);
		if (stop && length > skip && !memcmp(line, prefix, skip))
			is_new |= gpu_list_take_line(list, process, line + skip, length - skip);
		line += length + 1;
	}
	return is_new ? write_list(list, packets) : packets->error;
}
