/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads SQLite databases that Nsight Systems exports: a table for each kind of event, and a table
 * of texts by number. Which tables exist depends on what was recorded. One number holds a process
 * and a thread. Types of NVTX's events: 59 is a range by push and pop, 60 a range by start and end,
 * 75 the creation of a domain, whose name is the text.
 *
 * The file is not trusted. Only plain tables are read: views, computed columns and virtual tables
 * are programs, which may never end. No table may have more rows, or more bytes of texts, than the
 * file has bytes, whatever its pages say.
 */
#include <stdarg.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "brick/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/hashmap.h"
#include "base/utf8.h"
#include "import/import.h"

#define BIAS (1ull << 62) /* calls may have begun before the session, at negative times */

/* Bytes: MAX_VALUE is more than any name, and SQLite refuses longer values. */
enum { MAX_VALUE = 1 << 20, MAX_NAME = 4096 };

#define DEVICE_COLUMNS "start, end, deviceId, streamId, correlationId, globalPid"

struct domain {
	uint32_t pid;
	sqlite3_int64 number;
	char name[48];
};

struct nsight {
	struct imported *im;
	struct import_error *error;
	sqlite3 *db;
	const char *table;
	uint64_t file_bytes;
	ARRAY(struct domain) domains;
	struct hash_index domain_index;
	ARRAY(char *) texts;
	struct hashmap text_of_id; /* positions in texts */
	uint64_t text_bytes;
};

static int nsight_fail(struct nsight *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int nsight_fail(struct nsight *n, const char *format, ...)
{
	va_list arguments;
	int bytes = snprintf(n->error->text, sizeof(n->error->text), "table %s: ", n->table);

	va_start(arguments, format);
	vsnprintf(
		n->error->text + bytes, sizeof(n->error->text) - (size_t)bytes, format, arguments);
	va_end(arguments);
	return BRICK_EFORMAT;
}

static uint32_t nsight_pid_of(sqlite3_int64 global)
{
	return (uint32_t)((uint64_t)global >> 24 & 0xffffff);
}

static uint64_t nsight_tid_of(sqlite3_int64 global)
{
	return (uint64_t)global & 0xffffff;
}

/* The link of a correlation, which is unique in its process only. */
static uint64_t nsight_link_of(uint32_t pid, sqlite3_stmt *row, int column)
{
	if (sqlite3_column_type(row, column) == SQLITE_NULL || !sqlite3_column_int64(row, column))
		return 0;
	return hash_u64(hash_u64(pid) + (uint64_t)sqlite3_column_int64(row, column)) | 1;
}

static uint32_t nsight_small(sqlite3_stmt *row, int column)
{
	sqlite3_int64 value = sqlite3_column_int64(row, column);

	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* The text of a column, or, if the column is a number, the text of that number. */
static const char *nsight_text(struct nsight *n, sqlite3_stmt *row, int column)
{
	const char *value = NULL;

	if (sqlite3_column_type(row, column) == SQLITE_INTEGER) {
		uint64_t at =
			hashmap_get(&n->text_of_id, (uint64_t)sqlite3_column_int64(row, column));
		value = at == HASHMAP_NONE ? NULL : n->texts.items[at];
	} else {
		value = (const char *)sqlite3_column_text(row, column);
	}
	return value ? value : "";
}

static const char *name(struct nsight *n, sqlite3_stmt *row, int column)
{
	const char *value = nsight_text(n, row, column);

	return *value ? value : "(unnamed)";
}

static int take_text(struct nsight *n, sqlite3_stmt *row)
{
	const char *value = (const char *)sqlite3_column_text(row, 1);
	uint64_t id = (uint64_t)sqlite3_column_int64(row, 0);

	n->text_bytes += (uint64_t)sqlite3_column_bytes(row, 1);
	if (n->text_bytes > n->file_bytes)
		return nsight_fail(n, "its texts are longer than the file");
	if (!value || sqlite3_column_type(row, 0) != SQLITE_INTEGER ||
		hashmap_get(&n->text_of_id, id) != HASHMAP_NONE)
		return 0;
	char *copy = strndup(value, MAX_NAME);
	if (!copy || array_push(&n->texts, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return hashmap_set(&n->text_of_id, id, n->texts.count - 1);
}

/* Reads begin and end from columns 0 and 1. 1: the event is left out. */
static int nsight_times(struct nsight *n, sqlite3_stmt *row, struct imported_event *e)
{
	sqlite3_int64 begin = sqlite3_column_int64(row, 0), end = sqlite3_column_int64(row, 1);

	if (sqlite3_column_type(row, 0) != SQLITE_INTEGER || begin <= -(int64_t)BIAS ||
		begin >= (int64_t)BIAS || end >= (int64_t)BIAS)
		return nsight_fail(n, "a row's start is no number of nanoseconds");
	e->begin = (uint64_t)begin + BIAS;
	e->end = (uint64_t)end + BIAS;
	if (sqlite3_column_type(row, 1) == SQLITE_NULL) {
		e->is_open = true;
		e->end = UINT64_MAX;
	} else if (end < begin) {
		n->im->left_out++;
		return 1;
	}
	return 0;
}

/* Events of devices. */

static int command(struct nsight *n, sqlite3_stmt *row, const struct brick_session_kernel *kernel,
	const char *name, uint64_t bytes)
{
	struct imported_event e = {.is_command = true, .bytes = bytes};
	struct import_text called = {IMPORT_KERNEL, "kernel", name, .layer = -1};
	bool has_process = sqlite3_column_type(row, 5) != SQLITE_NULL;
	uint32_t pid = nsight_pid_of(sqlite3_column_int64(row, 5));
	int result = nsight_times(n, row, &e);

	if (result)
		return result < 0 ? result : 0;
	int track = imported_queue(n->im, pid, has_process, nsight_small(row, 2),
		(uint64_t)sqlite3_column_int64(row, 3));
	int said = imported_name(n->im, &called), number = imported_kernel(n->im, kernel);
	if (track < 0 || said < 0 || number < 0)
		return -ENOMEM;
	e.track = (uint32_t)track;
	e.name = (uint32_t)said;
	e.kernel = (uint32_t)number;
	e.link = nsight_link_of(pid, row, 4);
	return imported_add(n->im, &e);
}

/* Shared memory as a kernel's record has it: all, and the part that the launch asked for. */
static uint64_t shared_of(sqlite3_stmt *row, int own, int dynamic)
{
	bool is_split = sqlite3_column_type(row, own) == SQLITE_INTEGER &&
			sqlite3_column_type(row, dynamic) == SQLITE_INTEGER;

	return brick_kernel_shared((uint64_t)nsight_small(row, own) + nsight_small(row, dynamic),
		is_split ? nsight_small(row, dynamic) + 1 : 0);
}

static int nsight_take_kernel(struct nsight *n, sqlite3_stmt *row)
{
	struct brick_session_kernel kernel;
	const char *called = name(n, row, 6);

	imported_kernel_init(&kernel, BRICK_KERNEL_COMPUTE, "gpu", called);
	for (int i = 0; i < 3; i++) {
		kernel.grid[i] = nsight_small(row, 7 + i);
		kernel.block[i] = nsight_small(row, 10 + i);
	}
	kernel.registers = nsight_small(row, 13);
	kernel.shared_bytes = shared_of(row, 14, 15);
	return command(n, row, &kernel, called, 0);
}

static int take_copy(struct nsight *n, sqlite3_stmt *row)
{
	static const struct {
		sqlite3_int64 number;
		uint32_t kind;
		const char *name;
	} kinds[] = {{1, BRICK_KERNEL_H2D, "Memcpy HtoD"}, {2, BRICK_KERNEL_D2H, "Memcpy DtoH"},
		{8, BRICK_KERNEL_D2D, "Memcpy DtoD"}, {10, BRICK_KERNEL_D2D, "Memcpy PtoP"}};
	struct brick_session_kernel kernel;
	sqlite3_int64 kind = sqlite3_column_int64(row, 7), bytes = sqlite3_column_int64(row, 6);

	imported_kernel_init(&kernel, BRICK_KERNEL_OTHER, "gpu", "Memcpy");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].number == kind)
			imported_kernel_init(&kernel, kinds[i].kind, "gpu", kinds[i].name);
	return command(n, row, &kernel, kernel.name, bytes > 0 ? (uint64_t)bytes : 0);
}

static int take_fill(struct nsight *n, sqlite3_stmt *row)
{
	struct brick_session_kernel kernel;
	sqlite3_int64 bytes = sqlite3_column_int64(row, 6);

	imported_kernel_init(&kernel, BRICK_KERNEL_FILL, "gpu", "Memset");
	return command(n, row, &kernel, kernel.name, bytes > 0 ? (uint64_t)bytes : 0);
}

/* Events of threads: begin, end, thread, then what differs. */

static int nsight_on_thread(
	struct nsight *n, sqlite3_stmt *row, const struct import_text *called, bool is_launch)
{
	struct imported_event e = {0};
	sqlite3_int64 global = sqlite3_column_int64(row, 2);
	int result = nsight_times(n, row, &e);

	if (result)
		return result < 0 ? result : 0;
	int track = imported_thread(n->im, nsight_pid_of(global), nsight_tid_of(global));
	int said = imported_name(n->im, called);
	if (track < 0 || said < 0)
		return -ENOMEM;
	e.track = (uint32_t)track;
	e.name = (uint32_t)said;
	e.link = is_launch ? nsight_link_of(nsight_pid_of(global), row, 4) : 0;
	return imported_add(n->im, &e);
}

/* Cuts the version of the interface off: "cudaLaunchKernel_v7000", "cuMemAlloc_v2". */
static int take_call(struct nsight *n, sqlite3_stmt *row)
{
	char call[128];

	snprintf(call, sizeof(call), "%s", name(n, row, 3));
	char *version = strrchr(call, '_');
	if (version && version[1] == 'v' && version[2] &&
		!version[2 + strspn(version + 2, "0123456789")])
		*version = '\0';
	size_t bytes = strlen(call);
	if (bytes > 5 && (!strcmp(call + bytes - 5, "_ptsz") || !strcmp(call + bytes - 5, "_ptds")))
		call[bytes - 5] = '\0';
	return nsight_on_thread(
		n, row, &(struct import_text){IMPORT_ANNOTATION, "CUDA", call, .layer = -1}, true);
}

static int take_device(struct nsight *n, sqlite3_stmt *row)
{
	sqlite3_int64 bytes = sqlite3_column_int64(row, 2);

	return imported_say_device(n->im, nsight_small(row, 0), nsight_text(n, row, 1), 0,
		bytes > 0 ? (uint64_t)bytes : 0);
}

/* Domains belong to a process; one that is created again keeps its first name. */
static const struct domain *nsight_domain_of(struct nsight *n, uint32_t pid, sqlite3_int64 number)
{
	struct hash_probe probe = hash_probe(hash_add(pid, (uint64_t)number));

	for (uint32_t i; (i = hash_index_next(&n->domain_index, &probe)) != HASH_INDEX_NONE;)
		if (n->domains.items[i].pid == pid && n->domains.items[i].number == number)
			return &n->domains.items[i];
	return NULL;
}

static int take_domain(struct nsight *n, sqlite3_stmt *row)
{
	struct domain domain = {.pid = nsight_pid_of(sqlite3_column_int64(row, 1)),
		.number = sqlite3_column_int64(row, 2)};

	if (nsight_domain_of(n, domain.pid, domain.number))
		return 0;
	utf8_field(domain.name, sizeof(domain.name), nsight_text(n, row, 0));
	int error = array_push(&n->domains, domain);
	return error ? error
		     : hash_index_add(&n->domain_index,
			       hash_add(domain.pid, (uint64_t)domain.number),
			       (uint32_t)n->domains.count - 1);
}

static int take_range(struct nsight *n, sqlite3_stmt *row)
{
	const struct domain *domain = nsight_domain_of(
		n, nsight_pid_of(sqlite3_column_int64(row, 2)), sqlite3_column_int64(row, 4));

	return nsight_on_thread(n, row,
		&(struct import_text){IMPORT_ANNOTATION, domain ? domain->name : "",
			name(n, row, 3), .layer = -1},
		false);
}

static int nsight_take_name(struct nsight *n, sqlite3_stmt *row)
{
	sqlite3_int64 global = sqlite3_column_int64(row, 1);

	return imported_say_thread(
		n->im, nsight_pid_of(global), nsight_tid_of(global), nsight_text(n, row, 0));
}

/* Tables. */

/* The first column of the first row of a query about the table; "": there is none. */
static void nsight_ask(struct nsight *n, const char *query, char answer[16])
{
	sqlite3_stmt *row = NULL;

	answer[0] = '\0';
	if (sqlite3_prepare_v2(n->db, query, -1, &row, NULL) == SQLITE_OK) {
		sqlite3_bind_text(row, 1, n->table, -1, SQLITE_STATIC);
		if (sqlite3_step(row) == SQLITE_ROW)
			snprintf(answer, 16, "%s", (const char *)sqlite3_column_text(row, 0));
	}
	sqlite3_finalize(row);
}

/* 1: there is such a table, and it is a plain one; 0: there is none. */
static int has_table(struct nsight *n, const char *name)
{
	char type[16], computed[16];

	n->table = name;
	nsight_ask(
		n, "SELECT type FROM pragma_table_list WHERE name = ? AND schema = 'main'", type);
	if (!type[0])
		return 0;
	if (strcmp(type, "table") != 0)
		return nsight_fail(n, "it is a %s, and Nsight Systems writes tables", type);
	nsight_ask(n, "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden > 1", computed);
	return computed[0]
		       ? nsight_fail(n, "it has a computed column, and Nsight Systems writes none")
		       : 1;
}

static int take_rows(
	struct nsight *n, const char *query, int (*take)(struct nsight *n, sqlite3_stmt *row))
{
	sqlite3_stmt *row = NULL;
	uint64_t rows = 0;
	int error = 0, code;

	if (sqlite3_prepare_v2(n->db, query, -1, &row, NULL) != SQLITE_OK)
		return nsight_fail(n, "%s", sqlite3_errmsg(n->db));
	while (!error && (code = sqlite3_step(row)) == SQLITE_ROW)
		error = ++rows > n->file_bytes
				? nsight_fail(n, "it has more rows than the file has bytes")
				: take(n, row);
	if (!error && code != SQLITE_DONE)
		error = nsight_fail(n, "%s", sqlite3_errmsg(n->db));
	sqlite3_finalize(row);
	return error;
}

static int nsight_read_tables(struct nsight *n)
{
	static const struct {
		const char *name, *query;
		int (*take)(struct nsight *n, sqlite3_stmt *row);
	} tables[] = {
		{"StringIds", "SELECT id, value FROM StringIds", take_text},
		{"CUPTI_ACTIVITY_KIND_RUNTIME",
			"SELECT start, end, globalTid, nameId, correlationId FROM "
			"CUPTI_ACTIVITY_KIND_RUNTIME",
			take_call},
		{"CUPTI_ACTIVITY_KIND_KERNEL",
			"SELECT " DEVICE_COLUMNS ", demangledName, gridX, gridY, gridZ, blockX, "
			"blockY, blockZ, registersPerThread, staticSharedMemory, "
			"dynamicSharedMemory FROM CUPTI_ACTIVITY_KIND_KERNEL",
			nsight_take_kernel},
		{"CUPTI_ACTIVITY_KIND_MEMCPY",
			"SELECT " DEVICE_COLUMNS
			", bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY",
			take_copy},
		{"CUPTI_ACTIVITY_KIND_MEMSET",
			"SELECT " DEVICE_COLUMNS ", bytes FROM CUPTI_ACTIVITY_KIND_MEMSET",
			take_fill},
		{"NVTX_EVENTS",
			"SELECT coalesce(text, textId), globalTid, domainId FROM NVTX_EVENTS "
			"WHERE eventType = 75",
			take_domain},
		{"NVTX_EVENTS",
			"SELECT start, end, globalTid, coalesce(text, textId), domainId FROM "
			"NVTX_EVENTS WHERE eventType IN (59, 60)",
			take_range},
		/* where the table has no such column, it is that of the second one */
		{"TARGET_INFO_GPU",
			"SELECT id, name, (SELECT totalMemory FROM TARGET_INFO_GPU AS own WHERE "
			"own.rowid = gpu.rowid) FROM TARGET_INFO_GPU AS gpu CROSS JOIN (SELECT 0 "
			"AS totalMemory)",
			take_device},
		{"ThreadNames", "SELECT nameId, globalTid FROM ThreadNames", nsight_take_name},
	};
	size_t found = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int has = has_table(n, tables[i].name);
		int error = has > 0 ? take_rows(n, tables[i].query, tables[i].take) : has;
		if (error)
			return error;
		found += has && i; /* texts alone are nothing */
	}
	if (found)
		return 0;
	n->table = "NVTX_EVENTS";
	return nsight_fail(n,
		"there is neither this one nor any of CUPTI_ACTIVITY_KIND_*, so this is no "
		"export of Nsight Systems");
}

int import_nsight(struct imported *im, const char *path, struct import_error *error)
{
	struct nsight n = {.im = im, .error = error, .table = "sqlite_master"};
	int result = 0;

	im->tool = "Nsight Systems' export";
	if (sqlite3_open_v2(path, &n.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		result = nsight_fail(&n, "%s", n.db ? sqlite3_errmsg(n.db) : "not enough memory");
	if (!result) {
		struct stat status;
		n.file_bytes = stat(path, &status) ? 0 : (uint64_t)status.st_size;
		sqlite3_limit(n.db, SQLITE_LIMIT_LENGTH, MAX_VALUE);
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
		result = nsight_read_tables(&n);
	}
	sqlite3_close(n.db);
	array_fini(&n.domains);
	hash_index_fini(&n.domain_index);
	for (size_t i = 0; i < n.texts.count; i++)
		free(n.texts.items[i]);
	array_fini(&n.texts);
	hashmap_fini(&n.text_of_id);
	if (result == -ENOMEM)
		snprintf(error->text, sizeof(error->text), "not enough memory");
	return result;
}
