/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what rocprofv3 writes: JSON, or CSV with a file for each kind of event. In JSON, records
 * name kinds and operations by numbers, with tables of names beside them, and kernels by their
 * symbols. In CSV, the first line names the columns. Times are ns.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "base/hash.h"
#include "base/scope.h"
#include "import/json_events.h"

/* One event of either form; a text is "" and a number 0 if the form does not have it. */
struct rocprof_event {
	const char *name;
	uint64_t begin, end, correlation, thread, queue, bytes;
	uint32_t pid, agent, grid[3], block[3], registers, shared_bytes;
	uint32_t kind; /* of a command */
	bool is_command, is_call;
};

static int rocprof_add(struct imported *im, const struct rocprof_event *r)
{
	struct imported_event e = {.begin = r->begin,
		.end = r->end,
		.bytes = r->bytes,
		.is_command = r->is_command,
		.link = r->correlation ? hash_add(hash_u64(r->pid), r->correlation) | 1 : 0};
	struct import_text text = {r->is_command ? IMPORT_KERNEL : IMPORT_ANNOTATION,
		r->is_call ? "HIP" : "", *r->name ? r->name : "(unnamed)", .layer = -1};
	int name = imported_name(im, &text), kernel = 0;
	int track = r->is_command ? imported_queue(im, r->pid, true, r->agent, r->queue)
				  : imported_thread(im, r->pid, r->thread);

	if (r->end < r->begin) {
		im->left_out++;
		return 0;
	}
	if (r->is_command) {
		struct brick_session_kernel k;
		imported_kernel_init(&k, r->kind, "gpu", text.name);
		k.registers = r->registers;
		k.shared_bytes = r->shared_bytes;
		memcpy(k.grid, r->grid, sizeof(k.grid));
		memcpy(k.block, r->block, sizeof(k.block));
		for (int i = 0; i < 3; i++) /* work items there, groups here */
			k.grid[i] =
				k.block[i] ? (k.grid[i] + k.block[i] - 1) / k.block[i] : k.grid[i];
		kernel = imported_kernel(im, &k);
	}
	if (name < 0 || track < 0 || kernel < 0)
		return -ENOMEM;
	e.name = (uint32_t)name;
	e.track = (uint32_t)track;
	e.kernel = (uint32_t)kernel;
	return imported_add(im, &e);
}

static uint32_t rocprof_copy_kind(const char *name)
{
	return strstr(name, "HOST_TO_DEVICE")	  ? BRICK_KERNEL_H2D
	       : strstr(name, "DEVICE_TO_HOST")	  ? BRICK_KERNEL_D2H
	       : strstr(name, "DEVICE_TO_DEVICE") ? BRICK_KERNEL_D2D
						  : BRICK_KERNEL_OTHER;
}

static const char *rocprof_copy_name(uint32_t kind)
{
	return kind == BRICK_KERNEL_H2D	  ? "Memcpy HtoD"
	       : kind == BRICK_KERNEL_D2H ? "Memcpy DtoH"
	       : kind == BRICK_KERNEL_D2D ? "Memcpy DtoD"
					  : "Memcpy";
}

/* JSON. */

static uint64_t rocprof_whole(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_object(value))
		value = json_object_get(value, "handle");
	json_int_t whole = json_integer_value(value);
	return whole > 0 && whole < INT64_MAX / 2 ? (uint64_t)whole : 0;
}

static const char *rocprof_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void rocprof_sizes(const json_t *object, const char *key, uint32_t to[3])
{
	const json_t *sizes = json_object_get(object, key);

	for (int i = 0; i < 3; i++)
		to[i] = (uint32_t)rocprof_whole(sizes, (const char *const[]){"x", "y", "z"}[i]);
}

/* The element whose member is that number; elements are usually sorted by it. */
static const json_t *rocprof_find(const json_t *array, const char *key, uint64_t number)
{
	const json_t *at = json_array_get(array, (size_t)number);
	size_t i;

	if (at && rocprof_whole(at, key) == number)
		return at;
	json_array_foreach((json_t *)array, i, at)
	{
		if (rocprof_whole(at, key) == number)
			return at;
	}
	return NULL;
}

/* The device of an agent: its place among the GPUs, since handles may be any numbers. */
static uint32_t rocprof_agent(const json_t *tool, uint64_t handle)
{
	const json_t *agents = json_object_get(tool, "agents"), *agent;
	uint32_t gpus = 0;
	size_t i;

	json_array_foreach((json_t *)agents, i, agent)
	{
		if (rocprof_whole(agent, "id") == handle)
			return gpus;
		gpus += rocprof_whole(agent, "type") == 2;
	}
	return gpus;
}

/* The name of a record's operation; "": the file does not have it. */
static const char *rocprof_operation(const json_t *tool, const json_t *record)
{
	const json_t *kinds = json_object_get(json_object_get(tool, "strings"), "buffer_records");
	const json_t *kind = json_array_get(kinds, (size_t)rocprof_whole(record, "kind"));
	const char *name = json_string_value(json_array_get(
		json_object_get(kind, "operations"), (size_t)rocprof_whole(record, "operation")));

	return name ? name : "";
}

static int rocprof_record(
	struct imported *im, const json_t *tool, const char *table, const json_t *record)
{
	const json_t *info = json_object_get(record, "dispatch_info");
	struct rocprof_event e = {.begin = rocprof_whole(record, "start_timestamp"),
		.end = rocprof_whole(record, "end_timestamp"),
		.thread = rocprof_whole(record, "thread_id"),
		.correlation = rocprof_whole(json_object_get(record, "correlation_id"), "internal"),
		.pid = (uint32_t)rocprof_whole(json_object_get(tool, "metadata"), "pid"),
		.name = rocprof_operation(tool, record)};

	if (!strcmp(table, "kernel_dispatch")) {
		const json_t *symbol = rocprof_find(json_object_get(tool, "kernel_symbols"),
			"kernel_id", rocprof_whole(info, "kernel_id"));
		e.is_command = true;
		e.name = rocprof_text(symbol, "formatted_kernel_name");
		if (!*e.name)
			e.name = rocprof_text(symbol, "kernel_name");
		e.agent = rocprof_agent(tool, rocprof_whole(info, "agent_id"));
		e.queue = rocprof_whole(info, "queue_id");
		rocprof_sizes(info, "grid_size", e.grid);
		rocprof_sizes(info, "workgroup_size", e.block);
		e.shared_bytes = (uint32_t)rocprof_whole(info, "group_segment_size");
	} else if (!strcmp(table, "memory_copy")) {
		e.is_command = true;
		e.kind = rocprof_copy_kind(e.name);
		e.name = rocprof_copy_name(e.kind);
		e.agent = rocprof_agent(tool,
			rocprof_whole(record,
				e.kind == BRICK_KERNEL_D2H ? "src_agent_id" : "dst_agent_id"));
		e.bytes = rocprof_whole(record, "bytes");
	} else {
		e.is_call = !strcmp(table, "hip_api");
		if (!*e.name)
			e.name = table;
	}
	return rocprof_add(im, &e);
}

int import_rocprof_json(struct imported *im, const json_t *tools)
{
	static const char *const tables[] = {
		"kernel_dispatch", "memory_copy", "hip_api", "hsa_api", "rccl_api", "marker_api"};
	const json_t *tool, *record;
	size_t t, i;

	im->tool = "rocprofv3's trace";
	json_array_foreach((json_t *)tools, t, tool)
	{
		const json_t *records = json_object_get(tool, "buffer_records"), *agent;
		uint32_t gpus = 0;
		json_array_foreach(json_object_get((json_t *)tool, "agents"), i, agent)
		{
			const char *name = rocprof_text(agent, "product_name");
			if (rocprof_whole(agent, "type") == 2 &&
				imported_say_device(im, gpus++,
					*name ? name : rocprof_text(agent, "name"), 0, 0))
				return -ENOMEM;
		}
		for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++)
			json_array_foreach(json_object_get(records, tables[k]), i, record)
			{
				if (rocprof_record(im, tool, tables[k], record))
					return -ENOMEM;
			}
	}
	return 1;
}

/* CSV. */

enum { MAX_COLUMNS = 48 };

/* Cuts a line into its fields, in place; returns how many. A quote in quotes is doubled. */
static int rocprof_cut(char *line, char *fields[MAX_COLUMNS])
{
	int count = 0;
	char *from = line;

	while (count < MAX_COLUMNS) {
		bool is_quoted = *from == '"';
		char *to = from += is_quoted;
		fields[count++] = to;
		for (; *from && (is_quoted || *from != ','); from++) {
			if (is_quoted && *from == '"') {
				if (from[1] != '"')
					break;
				from++;
			}
			*to++ = *from;
		}
		from += *from == '"';
		bool is_last = *from != ',';
		from += !is_last;
		*to = '\0';
		if (is_last)
			break;
	}
	return count;
}

struct rocprof_table {
	char *columns[MAX_COLUMNS], *fields[MAX_COLUMNS];
	int column_count, field_count;
};

static const char *rocprof_field(const struct rocprof_table *t, const char *column)
{
	for (int i = 0; i < t->column_count && i < t->field_count; i++)
		if (!strcmp(t->columns[i], column))
			return t->fields[i];
	return "";
}

/* "Agent 4" is 4. */
static uint64_t rocprof_number(const struct rocprof_table *t, const char *column)
{
	const char *text = rocprof_field(t, column);

	text += strcspn(text, "0123456789");
	return strtoull(text, NULL, 10) & INT64_MAX;
}

static int rocprof_row(struct imported *im, const struct rocprof_table *t)
{
	const char *kernel = rocprof_field(t, "Kernel_Name"), *way = rocprof_field(t, "Direction");
	struct rocprof_event e = {.begin = rocprof_number(t, "Start_Timestamp"),
		.end = rocprof_number(t, "End_Timestamp"),
		.thread = rocprof_number(t, "Thread_Id"),
		.correlation = rocprof_number(t, "Correlation_Id"),
		.pid = (uint32_t)rocprof_number(t, "Process_Id"),
		.agent = (uint32_t)rocprof_number(t, "Agent_Id"),
		.queue = rocprof_number(t, "Queue_Id"),
		.registers = (uint32_t)rocprof_number(t, "VGPR_Count"),
		.shared_bytes = (uint32_t)rocprof_number(t, "LDS_Block_Size"),
		.is_command = *kernel || *way,
		.is_call = true,
		.name = *kernel ? kernel : rocprof_field(t, "Function")};

	for (int i = 0; i < 3; i++) {
		char column[20] = "Workgroup_Size_X";
		column[15] = (char)('X' + i);
		e.block[i] = (uint32_t)rocprof_number(t, column);
		strcpy(column, "Grid_Size_X");
		column[10] = (char)('X' + i);
		e.grid[i] = (uint32_t)rocprof_number(t, column);
	}
	if (*way) {
		e.kind = rocprof_copy_kind(way);
		e.name = rocprof_copy_name(e.kind);
		e.agent = (uint32_t)rocprof_number(
			t, e.kind == BRICK_KERNEL_D2H ? "Source_Agent_Id" : "Destination_Agent_Id");
	}
	return rocprof_add(im, &e);
}

int import_rocprof_csv(
	struct imported *im, const char *text, size_t bytes, struct import_error *error)
{
	struct rocprof_table t = {.column_count = 0};
	SCOPED char *head = NULL;
	size_t number = 1;

	im->tool = "rocprofv3's table";
	for (const char *at = text, *next; at < text + bytes; at = next, number++) {
		const char *end = memchr(at, '\n', (size_t)(text + bytes - at));
		next = end ? end + 1 : text + bytes;
		size_t length = (size_t)((end ? end : next) - at);
		length -= length && at[length - 1] == '\r';
		SCOPED char *line = strndup(at, length);
		if (!line)
			return -ENOMEM;
		if (number == 1) {
			t.column_count = rocprof_cut(line, t.columns);
			head = line;
			line = NULL;
			continue;
		}
		t.field_count = length ? rocprof_cut(line, t.fields) : 0;
		if (!length)
			continue;
		if (!isdigit((unsigned char)*rocprof_field(&t, "Start_Timestamp")) ||
			!isdigit((unsigned char)*rocprof_field(&t, "End_Timestamp"))) {
			snprintf(error->text, sizeof(error->text),
				"line %zu, byte %zu: Start_Timestamp and End_Timestamp must be "
				"numbers",
				number, (size_t)(at - text));
			return BRICK_EFORMAT;
		}
		int result = rocprof_row(im, &t);
		if (result)
			return result;
	}
	return 0;
}
