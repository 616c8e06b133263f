/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what rocprofv3 writes: JSON, or CSV with a file for each kind of event. In JSON, records
 * name kinds and operations by numbers, with tables of names beside them, and kernels by their
 * symbols. Records are taken one at a time; those in front of the tables wait for these. In CSV,
 * the first line names the columns. Times are ns.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "base/hash.h"
#include "base/scope.h"
#include "import/json_reader.h"

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
	e.kernel = (uint16_t)kernel;
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

/* The tables whose records are events. */
enum rocprof_kind {
	ROCPROF_KERNEL,
	ROCPROF_COPY,
	ROCPROF_HIP,
	ROCPROF_HSA,
	ROCPROF_RCCL,
	ROCPROF_MARKER
};
static const char *const rocprof_tables[] = {
	"kernel_dispatch", "memory_copy", "hip_api", "hsa_api", "rccl_api", "marker_api"};

/* A record. Its event lacks the name, the process and the device, which tables have. */
struct rocprof_record {
	struct rocprof_event event;
	uint64_t kernel, kind, operation;
	uint64_t agent, source; /* handles; of a copy: to which and from which it goes */
	enum rocprof_kind table;
};

/* What one process wrote. */
struct rocprof_tool {
	struct imported *im;
	uint32_t pid;
	struct hashmap device_of; /* by an agent's handle: its place among the GPUs, since
				     handles may be any numbers */
	uint32_t gpus;
	ARRAY(char *) symbols;	     /* names of kernels */
	struct hashmap symbol_of;    /* by the kernel's number: index in `symbols` */
	ARRAY(char *) operations;    /* their names */
	struct hashmap operation_of; /* by kind and operation: index in `operations` */
	ARRAY(struct rocprof_record) waiting;
	bool has_pid, has_agents, has_symbols, has_operations;
};

static void rocprof_tool_fini(struct rocprof_tool *tool)
{
	for (size_t i = 0; i < tool->symbols.count; i++)
		free(tool->symbols.items[i]);
	for (size_t i = 0; i < tool->operations.count; i++)
		free(tool->operations.items[i]);
	array_fini(&tool->symbols);
	array_fini(&tool->operations);
	array_fini(&tool->waiting);
	hashmap_fini(&tool->device_of);
	hashmap_fini(&tool->symbol_of);
	hashmap_fini(&tool->operation_of);
}

static uint64_t rocprof_whole(const struct json_value *object, const char *key)
{
	const struct json_value *value = value_get(object, key);
	int64_t whole = 0;

	if (value && value->kind == VALUE_OBJECT)
		value = value_get(value, "handle");
	return value_whole(value, &whole) && whole > 0 && whole < INT64_MAX / 2 ? (uint64_t)whole
										: 0;
}

static const char *rocprof_text(const struct json_value *object, const char *key)
{
	const char *text = value_string(value_get(object, key));

	return text ? text : "";
}

static void rocprof_sizes(const struct json_value *object, const char *key, uint32_t to[3])
{
	const struct json_value *sizes = value_get(object, key);

	for (int i = 0; i < 3; i++)
		to[i] = (uint32_t)rocprof_whole(sizes, (const char *const[]){"x", "y", "z"}[i]);
}

/* The device of an agent; one behind the last GPU for an agent that is not known. */
static uint32_t rocprof_device(const struct rocprof_tool *tool, uint64_t handle)
{
	uint64_t device = hashmap_get(&tool->device_of, handle);

	return device == HASHMAP_NONE ? tool->gpus : (uint32_t)device;
}

static uint64_t rocprof_operation_key(uint64_t kind, uint64_t operation)
{
	return hash_add(hash_u64(kind), operation);
}

/* The name that a table has for the key; "": it has none. */
static const char *rocprof_name(const struct hashmap *table, char *const *names, uint64_t key)
{
	uint64_t at = hashmap_get(table, key);

	return at == HASHMAP_NONE ? "" : names[at];
}

static int rocprof_take_agents(struct rocprof_tool *tool, const struct json_value *agents)
{
	VALUES_EACH (agent, agents) {
		uint64_t handle = rocprof_whole(agent, "id");
		const char *name = rocprof_text(agent, "product_name");
		if (hashmap_get(&tool->device_of, handle) == HASHMAP_NONE &&
			hashmap_set(&tool->device_of, handle, tool->gpus))
			return -ENOMEM;
		if (rocprof_whole(agent, "type") == 2 &&
			imported_say_device(tool->im, tool->gpus++,
				*name ? name : rocprof_text(agent, "name"), 0, 0))
			return -ENOMEM;
	}
	return 0;
}

static int rocprof_take_operations(struct rocprof_tool *tool, const struct json_value *strings)
{
	uint64_t kind = 0;

	VALUES_EACH (records, value_get(strings, "buffer_records")) {
		uint64_t operation = 0;
		VALUES_EACH (name, value_get(records, "operations")) {
			char *copy = strdup(value_string(name) ? value_string(name) : "");
			if (!copy || array_push(&tool->operations, copy)) {
				free(copy);
				return -ENOMEM;
			}
			if (hashmap_set(&tool->operation_of,
				    rocprof_operation_key(kind, operation++),
				    tool->operations.count - 1))
				return -ENOMEM;
		}
		kind++;
	}
	return 0;
}

static int rocprof_take_symbol(struct rocprof_tool *tool, const struct json_value *symbol)
{
	const char *name = rocprof_text(symbol, "formatted_kernel_name");
	char *copy = strdup(*name ? name : rocprof_text(symbol, "kernel_name"));

	if (!copy || array_push(&tool->symbols, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return hashmap_set(
		&tool->symbol_of, rocprof_whole(symbol, "kernel_id"), tool->symbols.count - 1);
}

/* Adds an event with what the tables say. */
static int rocprof_add_record(const struct rocprof_tool *tool, const struct rocprof_record *record)
{
	struct rocprof_event e = record->event;

	e.pid = tool->pid;
	e.name = rocprof_name(&tool->operation_of, tool->operations.items,
		rocprof_operation_key(record->kind, record->operation));
	if (record->table == ROCPROF_KERNEL) {
		e.name = rocprof_name(&tool->symbol_of, tool->symbols.items, record->kernel);
		e.agent = rocprof_device(tool, record->agent);
	} else if (record->table == ROCPROF_COPY) {
		e.kind = rocprof_copy_kind(e.name);
		e.name = rocprof_copy_name(e.kind);
		e.agent = rocprof_device(
			tool, e.kind == BRICK_KERNEL_D2H ? record->source : record->agent);
	} else if (!*e.name) {
		e.name = rocprof_tables[record->table];
	}
	return rocprof_add(tool->im, &e);
}

static int rocprof_take_record(
	struct rocprof_tool *tool, enum rocprof_kind table, const struct json_value *record)
{
	const struct json_value *info = value_get(record, "dispatch_info");
	struct rocprof_record r = {.table = table,
		.event = {.begin = rocprof_whole(record, "start_timestamp"),
			.end = rocprof_whole(record, "end_timestamp"),
			.thread = rocprof_whole(record, "thread_id"),
			.correlation =
				rocprof_whole(value_get(record, "correlation_id"), "internal"),
			.is_command = table == ROCPROF_KERNEL || table == ROCPROF_COPY,
			.is_call = table == ROCPROF_HIP},
		.kind = rocprof_whole(record, "kind"),
		.operation = rocprof_whole(record, "operation")};

	if (table == ROCPROF_KERNEL) {
		r.kernel = rocprof_whole(info, "kernel_id");
		r.agent = rocprof_whole(info, "agent_id");
		r.event.queue = rocprof_whole(info, "queue_id");
		rocprof_sizes(info, "grid_size", r.event.grid);
		rocprof_sizes(info, "workgroup_size", r.event.block);
		r.event.shared_bytes = (uint32_t)rocprof_whole(info, "group_segment_size");
	} else if (table == ROCPROF_COPY) {
		r.source = rocprof_whole(record, "src_agent_id");
		r.agent = rocprof_whole(record, "dst_agent_id");
		r.event.bytes = rocprof_whole(record, "bytes");
	}
	return tool->has_pid && tool->has_agents && tool->has_symbols && tool->has_operations
		       ? rocprof_add_record(tool, &r)
		       : array_push(&tool->waiting, r);
}

static int rocprof_take_records(struct rocprof_tool *tool, struct json_reader *r)
{
	const size_t count = sizeof(rocprof_tables) / sizeof(rocprof_tables[0]);
	const struct json_value *value;
	struct json_walk tables, records;
	int error = reader_enter(r, '{', &tables);

	while (!error && (error = reader_next(r, &tables)) > 0) {
		size_t table = 0;
		while (table < count && strcmp(r->name, rocprof_tables[table]) != 0)
			table++;
		if (table == count) {
			error = reader_skip(r);
			continue;
		}
		error = reader_enter(r, '[', &records);
		while (!error && (error = reader_next(r, &records)) > 0) {
			error = reader_load(r, &value);
			if (!error)
				error = rocprof_take_record(tool, (enum rocprof_kind)table, value);
		}
	}
	return error;
}

static int rocprof_take_tool(struct rocprof_tool *tool, struct json_reader *r)
{
	const struct json_value *value;
	struct json_walk members, symbols;
	int error = reader_enter(r, '{', &members);

	while (!error && (error = reader_next(r, &members)) > 0) {
		if (!strcmp(r->name, "buffer_records")) {
			error = rocprof_take_records(tool, r);
		} else if (!strcmp(r->name, "kernel_symbols")) {
			tool->has_symbols = true;
			error = reader_enter(r, '[', &symbols);
			while (!error && (error = reader_next(r, &symbols)) > 0) {
				error = reader_load(r, &value);
				if (!error)
					error = rocprof_take_symbol(tool, value);
			}
		} else if (!strcmp(r->name, "metadata")) {
			error = reader_load(r, &value);
			if (!error)
				tool->pid = (uint32_t)rocprof_whole(value, "pid");
			tool->has_pid = true;
		} else if (!strcmp(r->name, "agents")) {
			error = reader_load(r, &value);
			if (!error)
				error = rocprof_take_agents(tool, value);
			tool->has_agents = true;
		} else if (!strcmp(r->name, "strings")) {
			error = reader_load(r, &value);
			if (!error)
				error = rocprof_take_operations(tool, value);
			tool->has_operations = true;
		} else {
			error = reader_skip(r);
		}
	}
	for (size_t i = 0; i < tool->waiting.count && !error; i++)
		error = rocprof_add_record(tool, &tool->waiting.items[i]);
	return error;
}

int import_rocprof_json(struct imported *im, struct json_reader *reader)
{
	struct json_walk tools;
	int error = reader_enter(reader, '[', &tools);

	im->tool = "rocprofv3's trace";
	while (!error && (error = reader_next(reader, &tools)) > 0) {
		SCOPED_BY(rocprof_tool_fini) struct rocprof_tool tool = {.im = im};
		error = rocprof_take_tool(&tool, reader);
	}
	return error;
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
