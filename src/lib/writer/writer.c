/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: from PATH.part to PATH, and what the run says of itself on its own sequence: who
 * recorded what where, its processes with their tables, lanes, statistics, digests, what recording
 * cost. Later events replace earlier ones. Values in ticks stay in ticks: the reader has the
 * clocks. What lanes say is in writer_lane.c.
 */
#include "lib/writer/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/array.h"
#include "base/base64.h"
#include "base/clock_ns.h"
#include "base/members.h"
#include "base/scope.h"
#include "base/time_namespace.h"
#include "brick/version.h"
#include "lib/writer/lane_rules.h"

struct trace_writer {
	struct brick_clock clock; /* as sink_clock() said; mult 0: it did not yet */
	struct packets packets;
	uint64_t start_ns;
	uint64_t last_ns; /* newest time seen, for events without one of their own */

	size_t event_packet, event_body; /* the instant that is open in the scratch */
	uint64_t event_ns;		 /* of the last one */
	uint8_t event_nesting[8];	 /* 1: a dictionary, 2: an array */
	uint32_t event_depth;
	uint64_t bad_records;
	struct site_numbering sites;
	struct gpu_list gpus;

	ARRAY(struct writer_process *) processes;
	ARRAY(struct writer_lane *) lanes;
};

/* The first error; else -EINVAL if `number` is none of `count`. */
static int bad_number(const struct trace_writer *w, int number, size_t count)
{
	return w->packets.error			       ? w->packets.error
	       : number < 0 || (size_t)number >= count ? -EINVAL
						       : 0;
}

/*
 * Instants on the run's own track, with nested debug annotations under plain names: for what
 * Perfetto has no field for. One is open at a time, in the scratch.
 */

static void event_open(struct trace_writer *w, const char *name, uint64_t ns)
{
	struct pb_buffer *b = &w->packets.scratch;

	/* two at one time would nest, and 512 deep Perfetto drops them */
	w->event_ns = ns > w->event_ns ? ns : w->event_ns + 1;
	b->size = 0;
	w->event_packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_TIMESTAMP, w->event_ns);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	w->event_body = pb_open(b, PACKET_TRACK_EVENT);
	pb_varint(b, EVENT_TYPE, EVENT_INSTANT);
	pb_string(b, EVENT_CATEGORIES, FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	pb_string(b, EVENT_NAME, name, strlen(name));
	w->event_depth = 0;
}

static int event_close(struct trace_writer *w)
{
	pb_close(&w->packets.scratch, w->event_body);
	pb_close(&w->packets.scratch, w->event_packet);
	return packets_add(&w->packets);
}

static size_t annotation_open(struct trace_writer *w, const char *name)
{
	static const uint32_t fields[] = {EVENT_ANNOTATIONS, ANNOTATION_DICT, ANNOTATION_ARRAY};
	uint32_t field = w->event_depth ? fields[w->event_nesting[w->event_depth - 1]] : fields[0];
	size_t opened = pb_open(&w->packets.scratch, field);

	if (name)
		pb_string(&w->packets.scratch, ANNOTATION_NAME, name, strlen(name));
	return opened;
}

static void event_uint(struct trace_writer *w, const char *name, uint64_t value)
{
	size_t opened = annotation_open(w, name);

	pb_varint(&w->packets.scratch, ANNOTATION_UINT, value);
	pb_close(&w->packets.scratch, opened);
}

/* Members of what `from` points to, each under its own name. */
#define event_uints(w, from, ...)                       \
	do {                                            \
		EACH(EVENT__UINT, w, from, __VA_ARGS__) \
	} while (0)
#define EVENT__UINT(w, from, m) event_uint(w, #m, (from)->m);

static void event_int(struct trace_writer *w, const char *name, int64_t value)
{
	size_t opened = annotation_open(w, name);

	pb_varint(&w->packets.scratch, ANNOTATION_INT, (uint64_t)value);
	pb_close(&w->packets.scratch, opened);
}

static void put_foreign_text(struct pb_buffer *b, uint32_t field, const char *text, size_t bytes)
{
	size_t capacity = strnlen(text, bytes) + 1, value = pb_open(b, field);

	if (pb_reserve(b, capacity))
		b->size += tables_text((char *)b->data + b->size, capacity, text, bytes);
	pb_close(b, value);
}

static void event_text(struct trace_writer *w, const char *name, const char *text, size_t bytes)
{
	size_t opened = annotation_open(w, name);

	put_foreign_text(&w->packets.scratch, ANNOTATION_STRING, text, bytes);
	pb_close(&w->packets.scratch, opened);
}

static size_t event_dict(struct trace_writer *w, const char *name)
{
	size_t opened = annotation_open(w, name);

	w->event_nesting[w->event_depth++] = 1;
	return opened;
}

static size_t event_array(struct trace_writer *w, const char *name)
{
	size_t opened = annotation_open(w, name);

	w->event_nesting[w->event_depth++] = 2;
	return opened;
}

static void event_end_nested(struct trace_writer *w, size_t opened)
{
	w->event_depth--;
	pb_close(&w->packets.scratch, opened);
}

static void event_double(struct trace_writer *w, const char *name, double value)
{
	size_t opened = pb_open(&w->packets.scratch, EVENT_ANNOTATIONS);

	pb_string(&w->packets.scratch, ANNOTATION_NAME, name, strlen(name));
	pb_double(&w->packets.scratch, ANNOTATION_DOUBLE, value);
	pb_close(&w->packets.scratch, opened);
}

static void event_list(struct trace_writer *w, const char *name, const uint64_t *values, size_t n)
{
	size_t list = event_array(w, name);

	for (size_t i = 0; i < n; i++)
		event_uint(w, NULL, values[i]);
	event_end_nested(w, list);
}

static void event_clock(struct trace_writer *w, const struct brick_clock *clock)
{
	size_t dict = event_dict(w, "clock");

#define FORMAT_X(field) event_uint(w, #field, clock->field);
	FORMAT_CLOCK_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

static void event_ledger(struct trace_writer *w, const struct brick_ledger *ledger)
{
	size_t dict = event_dict(w, "ledger");

#define FORMAT_X(field) event_uint(w, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

static size_t writer_own_packet(struct pb_buffer *b)
{
	return packet_open(b, FORMAT_OWN_SEQUENCE, SEQUENCE_NEEDS_STATE);
}

static void writer_release(struct trace_writer *w, struct writer_lane *lane)
{
	if (!w->packets.error)
		lane_rules_release(lane);
}

static void release_all(struct trace_writer *w, const struct writer_process *process)
{
	for (size_t i = 0; i < w->lanes.count; i++)
		if (!process || w->lanes.items[i]->process == process)
			writer_release(w, w->lanes.items[i]);
}

static void totals(const struct trace_writer *w, uint64_t *pairs, uint64_t *open_frames)
{
	*pairs = *open_frames = 0;
	for (size_t i = 0; i < w->lanes.count; i++) {
		*pairs += w->lanes.items[i]->pairs;
		*open_frames += w->lanes.items[i]->open_frames;
	}
}

/* The file's first packets; they go out uncompressed, so that the file says early what it is. */
static int writer_write_run(struct trace_writer *w, const struct trace_writer_options *options)
{
	struct deflater *deflater = w->packets.deflater;
	struct pb_buffer *b = &w->packets.scratch;
	struct utsname machine;

	w->packets.deflater = NULL;
	b->size = 0;
	size_t packet = packet_open(b, FORMAT_OWN_SEQUENCE, SEQUENCE_STATE_CLEARED);
	size_t defaults = pb_open(b, PACKET_DEFAULTS);
	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_MONOTONIC);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, packets_uuid(&w->packets, UUID_RUN, 0));
	pb_close(b, event);
	pb_close(b, defaults);
	packets_clock_snapshot(&w->packets, w->start_ns, false);
	pb_close(b, packet);
	packet = writer_own_packet(b);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, packets_uuid(&w->packets, UUID_RUN, 0));
	pb_string(b, TRACK_NAME, FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	pb_close(b, track);
	pb_close(b, packet);

	/* what tells this recording from all others, and the machine that it was made on */
	packet = writer_own_packet(b);
	size_t uuid = pb_open(b, PACKET_TRACE_UUID);
	pb_varint(b, TRACE_UUID_MSB, packets_uuid(&w->packets, UUID_TRACE, 0));
	pb_varint(b, TRACE_UUID_LSB, packets_uuid(&w->packets, UUID_TRACE, 1));
	pb_close(b, uuid);
	pb_close(b, packet);
	if (!uname(&machine)) {
		packet = writer_own_packet(b);
		size_t info = pb_open(b, PACKET_SYSTEM_INFO);
		size_t name = pb_open(b, SYSTEM_INFO_UTSNAME);
		pb_string(b, UTSNAME_SYSTEM, machine.sysname, strlen(machine.sysname));
		pb_string(b, UTSNAME_VERSION, machine.version, strlen(machine.version));
		pb_string(b, UTSNAME_RELEASE, machine.release, strlen(machine.release));
		pb_string(b, UTSNAME_MACHINE, machine.machine, strlen(machine.machine));
		pb_close(b, name);
		pb_close(b, info);
		pb_close(b, packet);
	}
	packets_add(&w->packets);
	if (options->ring) {
		event_open(w, FORMAT_RING, w->start_ns);
		event_text(w, "ring", options->ring, strlen(options->ring));
		event_close(w);
	}
	event_open(w, FORMAT_RUN, w->start_ns);
	event_uint(w, "format", FORMAT_VERSION);
	event_text(w, "version", BRICK_VERSION, sizeof(BRICK_VERSION));
	event_uint(w, "start_unix_ns", options->start_unix_ns);
	event_uint(w, "start_ns", options->start_ns);
	if (options->host)
		event_text(w, "host", options->host, strlen(options->host));
	if (options->cpu)
		event_text(w, "cpu", options->cpu, strlen(options->cpu));
	if (options->isa)
		event_text(w, "isa", options->isa, strlen(options->isa));
	if (options->recorder)
		event_uint(w, "recorder", options->recorder);
	size_t list = event_array(w, "command");
	for (const char *const *word = options->command; word && *word; word++)
		event_text(w, NULL, *word, strlen(*word));
	event_end_nested(w, list);
	event_close(w);
	packets_send(&w->packets);
	w->packets.deflater = deflater;
	if (deflater)
		deflate_start(deflater, w->packets.chunk);
	return w->packets.error;
}

int sink_code(struct trace_writer *w, const struct sink_code *code)
{

	if (w->packets.error)
		return w->packets.error;
	event_open(w, FORMAT_CODE, w->last_ns);
	event_uint(w, "hash", code->hash);
	if (code->name_bytes)
		event_text(w, "name", code->name, code->name_bytes);
	if (code->path_bytes)
		event_text(w, "path", code->path, code->path_bytes);
	if (code->cut)
		event_uint(w, "cut", 1);
	event_text(w, "source", code->source, code->source_bytes);
	return event_close(w);
}

/* A process that no known launcher started learns its rank from MPI. */
static void notes_rank(struct writer_process *process, const char *notes, size_t bytes)
{
	static const char key[] = "mpi.rank=";
	char line[64];

	for (const char *at = notes, *end = notes + bytes; at < end && process->rank < 0;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((stop ? stop : end) - at);
		snprintf(line, sizeof(line), "%.*s", (int)(length < 63 ? length : 63), at);
		if (!strncmp(line, key, sizeof(key) - 1))
			sscanf(line + sizeof(key) - 1, "%9d of ", &process->rank);
		at += length + 1;
	}
}

int sink_notes(struct trace_writer *w, int number, const char *notes, size_t bytes)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	gpu_list_notes(&w->gpus, &w->packets, (uint32_t)number, notes, bytes);
	notes_rank(w->processes.items[number], notes, bytes);
	event_open(w, FORMAT_NOTES, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "text", notes, bytes);
	return event_close(w);
}

int sink_mark(struct trace_writer *w, const struct sink_mark *mark)
{
	if (w->packets.error)
		return w->packets.error;
	event_open(w, FORMAT_MARK, mark->ns);
	event_uint(w, "ns", mark->ns);
	event_uint(w, "kind", mark->kind);
	if (*mark->text)
		event_text(w, "text", mark->text, strlen(mark->text));
	return event_close(w);
}

int sink_energy(struct trace_writer *w, const struct sink_energy *reading)
{
	if (w->packets.error)
		return w->packets.error;
	event_open(w, FORMAT_ENERGY, reading->ns);
	event_uints(w, reading, ns, uj);
	event_text(w, "source", reading->source, sizeof(reading->source));
	return event_close(w);
}

/* The first faults of the list, all of one thread, as one packet; returns how many. */
static size_t faults_packet(struct trace_writer *w, const struct sink_fault *faults, size_t count)
{
	enum { MOST = 64 };
	uint64_t pairs[2 * MOST], before_ns = faults->begin_ns;
	size_t n = 0;

	for (; n < count && n < MOST; n++) {
		const struct sink_fault *f = &faults[n];
		if (f->pid != faults->pid || f->tid != faults->tid || f->begin_ns < before_ns)
			break;
		pairs[2 * n] = f->begin_ns - before_ns;
		pairs[2 * n + 1] = (f->end_ns - f->begin_ns) << 1 | (f->is_major != 0);
		before_ns = f->end_ns;
	}
	event_open(w, FORMAT_FAULTS, faults->begin_ns);
	event_uint(w, "ns", faults->begin_ns);
	event_uints(w, faults, pid, tid);
	event_list(w, "faults", pairs, 2 * n);
	return n;
}

int sink_faults(struct trace_writer *w, const struct sink_fault *faults, size_t count)
{
	int error = w->packets.error;

	for (size_t i = 0; i < count && !error;) {
		i += faults_packet(w, &faults[i], count - i);
		error = event_close(w);
	}
	return error;
}

int sink_placement(struct trace_writer *w, const struct sink_placement *p)
{
	if (w->packets.error)
		return w->packets.error;
	event_open(w, FORMAT_PLACEMENT, w->last_ns);
	event_uint(w, "pid", p->pid);
	size_t list = event_array(w, "cpus");
	for (size_t i = 0; i < p->cpu_count; i++) {
		event_uint(w, NULL, p->cpus[i].cpu);
		event_uint(w, NULL, p->cpus[i].node);
		event_uint(w, NULL, p->cpus[i].capacity);
	}
	event_end_nested(w, list);
	list = event_array(w, "nodes");
	for (size_t i = 0; i < p->node_count; i++) {
		event_uint(w, NULL, p->nodes[i].node);
		event_uint(w, NULL, p->nodes[i].file_bytes);
		event_uint(w, NULL, p->nodes[i].anonymous_bytes);
	}
	event_end_nested(w, list);
	list = event_array(w, "threads");
	for (size_t i = 0; i < p->thread_count; i++) {
		event_uint(w, NULL, p->threads[i].tid);
		event_uint(w, NULL, p->threads[i].cpu);
		event_uint(w, NULL, p->threads[i].times);
	}
	event_end_nested(w, list);
	return event_close(w);
}

static int write_end(struct trace_writer *w)
{
	uint64_t pairs, open_frames;

	if (w->packets.error)
		return w->packets.error;
	totals(w, &pairs, &open_frames);
	event_open(w, FORMAT_END, w->last_ns);
	event_uint(w, "pairs", pairs);
	event_uint(w, "open_frames", open_frames);
	event_uint(w, "bad_records", w->bad_records);
	return event_close(w);
}

/* Processes and lanes: who they are, and their end. */

/* How many bytes of the command there are from a place in it on. */
static size_t writer_left(const struct brick_session_header *header, const char *argument)
{
	size_t bytes = header->command_bytes, at = (size_t)(argument - header->command);

	return (bytes < sizeof(header->command) ? bytes : sizeof(header->command)) - at;
}

/* The arguments in header->command, each ended by its NUL; NULL: there are no more. */
static const char *next_argument(const struct brick_session_header *header, size_t *at)
{
	const char *argument = header->command + *at;
	size_t bytes = writer_left(header, header->command);

	if (*at >= bytes)
		return NULL;
	*at += strnlen(argument, bytes - *at) + 1;
	return argument;
}

static int process_event(
	struct trace_writer *w, int number, const struct brick_session_header *header)
{
	const struct writer_process *process = w->processes.items[number];
	const char *argument;
	size_t list;

	event_open(w, FORMAT_PROCESS, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "flow_base", process->flow_base);
	event_uint(w, "pid", header->pid);
	event_uint(w, "parent", header->parent);
	event_int(w, "rank", header->rank);
	event_int(w, "world", header->world);
	event_uints(w, header, mode, start_ticks, start_ns, start_unix_ns);
	event_text(w, "host", header->host, sizeof(header->host));
	event_text(w, "executable", header->executable, sizeof(header->executable));
	list = event_array(w, "command");
	for (size_t at = 0; (argument = next_argument(header, &at));)
		event_text(w, NULL, argument, writer_left(header, argument));
	event_end_nested(w, list);
	event_uints(w, header, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	event_ledger(w, &header->ledger);
	event_clock(w, &process->clock);
	return event_close(w);
}

static int writer_write_process(
	struct trace_writer *w, int number, const struct brick_session_header *header)
{
	struct pb_buffer *b = &w->packets.scratch;
	char name[3 * sizeof(header->executable)];
	size_t size =
		tables_text(name, sizeof(name), header->executable, sizeof(header->executable));
	const char *base = memrchr(name, '/', size), *argument;

	base = base ? base + 1 : name;
	b->size = 0;
	size_t packet = writer_own_packet(b);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, w->processes.items[number]->uuid);
	size_t described = pb_open(b, TRACK_PROCESS);
	pb_varint(b, PROCESS_PID, w->processes.items[number]->pid);
	pb_string(b, PROCESS_NAME, base, strlen(base));
	pb_varint(b, PROCESS_START_NS, header->start_ns + (uint64_t)w->packets.boot_offset_ns);
	pb_close(b, described);
	pb_close(b, track);
	pb_close(b, packet);
	packets_add(&w->packets);
	/* command lines are looked for here, not at the tracks */
	packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_TIMESTAMP, w->last_ns);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t tree = pb_open(b, PACKET_PROCESS_TREE), entry = pb_open(b, PROCESS_TREE_PROCESSES);
	pb_varint(b, TREE_PROCESS_PID, header->pid);
	pb_varint(b, TREE_PROCESS_PARENT, header->parent);
	for (size_t at = 0; (argument = next_argument(header, &at));)
		put_foreign_text(b, TREE_PROCESS_COMMAND, argument, writer_left(header, argument));
	pb_close(b, entry);
	pb_close(b, tree);
	pb_close(b, packet);
	packets_add(&w->packets);
	return process_event(w, number, header);
}

int sink_process_state(
	struct trace_writer *w, int number, const struct brick_session_header *header)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	return process_event(w, number, header);
}

int sink_process_end(struct trace_writer *w, int number, uint64_t end_ticks, int closed)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	struct writer_process *process = w->processes.items[number];
	uint64_t ns = writer_ns(process, end_ticks);
	release_all(w, process);
	if (ns > w->last_ns)
		w->last_ns = ns;
	for (size_t i = 0; i < w->lanes.count && !process->ended; i++)
		if (w->lanes.items[i]->process == process)
			w->lanes.items[i]->open_frames += w->lanes.items[i]->rules.depth;
	process->ended = 1;
	event_open(w, FORMAT_PROCESS_END, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "end_ticks", end_ticks);
	event_uint(w, "closed", closed ? 1 : 0);
	return event_close(w);
}

/* Exact statistics replace earlier ones of the same lane and brick. */

enum { STATISTICS_PER_EVENT = 64 };

int sink_lane_stats(struct trace_writer *w, int number, const struct brick_lane *state)
{
	int bad = bad_number(w, number, w->lanes.count);

	if (bad)
		return bad;
	struct writer_lane *lane = w->lanes.items[number];
	const struct writer_process *process = lane->process;
	uint32_t next = 0;
	writer_release(w, lane);
	if (lane->started && lane->kind == BRICK_LANE_THREAD && state->tid == lane->track_tid)
		writer_lane_name(lane, state->name);
	do { /* each event has the next bricks that ran */
		event_open(w, FORMAT_STATISTICS, w->last_ns);
		event_uint(w, "lane", lane->number);
		event_uint(w, "tid", state->tid);
		event_text(w, "name", state->name, sizeof(state->name));
		event_uints(w, state, owners, start_ticks, end_ticks, live_ticks, hook_calls,
			hook_timed, hook_ticks);
		event_ledger(w, &state->ledger);
		size_t list = event_array(w, "bricks");
		uint32_t left = STATISTICS_PER_EVENT;
		for (; next < process->tables.brick_count && left; next++) {
			const struct brick_session_brick *brick = &process->tables.bricks[next];
			const struct brick_stat stat = state->stats[next];
			if (!stat.count)
				continue;
			left--;
			size_t dict = event_dict(w, NULL);
			event_text(w, "brick", brick->name, sizeof(brick->name));
			if (brick->category < process->tables.category_count)
				event_text(w, "category",
					process->tables.categories[brick->category].name,
					sizeof(process->tables.categories->name));
#define FORMAT_X(field) \
	if (stat.field) \
		event_uint(w, #field, stat.field);
			FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
			if (stat.counted)
				event_uints(w, &state->drained.stats[next], cycles_min, cycles_max);
			event_end_nested(w, dict);
		}
		event_end_nested(w, list);
		event_close(w);
	} while (!w->packets.error && next < process->tables.brick_count);
	return w->packets.error;
}

/* Buckets that are not empty, as text: "index:count" with blanks between. */
static int histogram_event(
	struct trace_writer *w, int number, uint32_t brick, const struct ticks_histogram *histogram)
{
	const struct brick_session_brick *entry = &w->processes.items[number]->tables.bricks[brick];
	SCOPED char *text = malloc(BRICK_HISTOGRAM_BUCKETS * 28u);
	size_t size = 0;

	if (!text)
		return packets_fail(&w->packets, -ENOMEM);
	text[0] = 0;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		if (histogram->of_ticks[i])
			size += (size_t)sprintf(text + size, "%s%u:%llu", size ? " " : "", i,
				(unsigned long long)histogram->of_ticks[i]);
	event_open(w, FORMAT_HISTOGRAM, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "brick", entry->name, sizeof(entry->name));
	event_text(w, "buckets", text, size);
	return event_close(w);
}

int sink_histogram(
	struct trace_writer *w, int number, uint32_t brick, const struct ticks_histogram *histogram)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	if (brick < w->processes.items[number]->tables.brick_count)
		histogram_event(w, number, brick, histogram);
	return w->packets.error;
}

/*
 * Digests: an instant for each. Numbers are annotations that SQL can ask for; the sketch is text,
 * the base64 of its values as little-endian doubles.
 */

int sink_digest(struct trace_writer *w, int number, const struct brick_session_digest *digest)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	const struct writer_process *process = w->processes.items[number];
	if (digest->brick >= process->tables.brick_count)
		return -EINVAL;
	event_open(w, FORMAT_DIGEST, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uints(w, digest, ticks, step, tokens);
	event_uint(w, "decode", digest->flags & BRICK_SESSION_DIGEST_DECODE);
	const struct brick_session_site *site =
		digest->site && digest->site < process->tables.site_count
			? &process->tables.sites[digest->site]
			: NULL;
	const char *label = site && site->label[0] ? site->label : digest->label;
	event_text(w, "brick", process->tables.bricks[digest->brick].name,
		sizeof(process->tables.bricks->name));
	event_int(w, "layer", digest->layer);
	if (site && site->operation[0])
		event_text(w, "op", site->operation, sizeof(site->operation));
	if (label[0])
		event_text(w, "tensor", label, sizeof(digest->label));
	if (digest->output)
		event_uint(w, "output", digest->output);
	event_list(w, "inputs", digest->inputs, BRICK_DIGEST_INPUTS);
	const struct brick_digest *d = &digest->digest;
	event_uint(w, "dtype", d->dtype);
	event_uint(w, "flags", d->flags);
	event_list(w, "ne", d->ne, 4);
	if (d->nan_count || d->plus_infinite_count || d->minus_infinite_count) {
		event_uint(w, "nan", d->nan_count);
		event_uint(w, "plus_infinite", d->plus_infinite_count);
		event_uint(w, "minus_infinite", d->minus_infinite_count);
		event_uint(w, "nonfinite", d->nonfinite);
	}
	event_double(w, "min", d->min);
	event_double(w, "max", d->max);
	event_double(w, "sum", d->sum);
	event_double(w, "square_sum", d->square_sum);
	event_uint(w, "fnv64", d->fnv64);
	uint8_t sketch_bytes[BRICK_DIGEST_BUCKETS * 8];
	char sketch_text[(sizeof(sketch_bytes) + 2) / 3 * 4];
	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		uint64_t bits;
		memcpy(&bits, &d->sketch[i], sizeof(bits));
		for (size_t k = 0; k < 8; k++)
			sketch_bytes[i * 8 + k] = (uint8_t)(bits >> (8 * k));
	}
	event_text(w, "sketch", sketch_text,
		(size_t)(base64_write(sketch_text, sketch_bytes, sizeof(sketch_bytes)) -
			 sketch_text));
	return event_close(w);
}

int trace_writer_packets(struct trace_writer *w, const void *packets, size_t bytes)
{
	pb_bytes(&w->packets.scratch, packets, bytes);
	return packets_add(&w->packets);
}

/* The account: a later one replaces all of an earlier one. */

static void account_off_cpu(struct trace_writer *w, const struct off_cpu_account *account)
{
	event_uint(w, "off_cpu", account->source);
	if (account->source == OFF_CPU_UNKNOWN)
		event_int(w, "off_cpu_error", account->error);
	else
		event_uint(w, "off_cpu_lost", account->lost);
	if (account->gap_count) {
		size_t list = event_array(w, "off_cpu_gaps");
		for (uint32_t i = 0; i < account->gap_count && i < OFF_CPU_GAPS; i++) {
			const struct off_cpu_gap *gap = &account->gaps[i];
			size_t dict = event_dict(w, NULL);
			event_uint(w, "begin_ns", gap->begin_ns);
			if (gap->end_ns != UINT64_MAX)
				event_uint(w, "end_ns", gap->end_ns);
			event_uint(w, "per_s", gap->per_s);
			event_uint(w, "each_ns", gap->each_ns);
			event_end_nested(w, dict);
		}
		event_end_nested(w, list);
	}
	if (account->cost_ns) {
		event_uint(w, "off_cpu_cost_low_ns", account->cost_low_ns);
		event_uint(w, "off_cpu_cost_ns", account->cost_ns);
		event_uint(w, "off_cpu_cost_high_ns", account->cost_high_ns);
	}
	if (!account->watched_ns)
		return;
	event_uints(w, account, watched_ns, ran_ns, queued_ns);
}

static void account_faults(struct trace_writer *w, const struct fault_account *account)
{
	if (!account->is_known) {
		if (account->error)
			event_int(w, "faults_error", account->error);
		return;
	}
	event_uint(w, "faults_known", 1 + (account->sees_kernel != 0));
	event_uint(w, "faults_lost", account->lost);
	if (account->until_ns != UINT64_MAX)
		event_uint(w, "faults_until_ns", account->until_ns);
}

static void account_machine(struct trace_writer *w, const struct machine_use *use)
{
	if (!(use->busy_ns | use->steal_ns | use->idle_ns))
		return;
	event_uints(w, use, busy_ns, steal_ns, idle_ns, interrupt_ns);
	if (use->interrupt_cpu_ns) {
		event_uints(w, use, interrupt_cpu, interrupt_cpu_ns, interrupt_cpu_all_ns);
	}
	if (use->throttled_ns)
		event_uint(w, "throttled_ns", use->throttled_ns);
	if (use->quota_permille)
		event_uint(w, "quota_permille", use->quota_permille);
	if (use->memory_limit_bytes)
		event_uint(w, "memory_limit_bytes", use->memory_limit_bytes);
	if (use->system_ns)
		event_uint(w, "system_ns", use->system_ns);
	if (use->minor_faults)
		event_uint(w, "minor_faults", use->minor_faults);
	if (use->major_faults)
		event_uint(w, "major_faults", use->major_faults);
	if (use->peak_bytes)
		event_uint(w, "peak_bytes", use->peak_bytes);
	if (!use->neighbour_ns)
		return;
	event_uint(w, "neighbour_ns", use->neighbour_ns);
	event_text(w, "neighbour", use->neighbour, sizeof(use->neighbour));
}

static void account_stacks(struct trace_writer *w, const struct stack_account *account)
{
	if (!account->hz)
		return;
	size_t dict = event_dict(w, "stacks");
	event_uints(w, account, hz, taken, unknown, lost, throttled, nameless);
	if (account->error) {
		event_int(w, "error", account->error);
		event_text(w, "reason", account->reason, sizeof(account->reason));
	}
	event_end_nested(w, dict);
}

int sink_account(struct trace_writer *w, const struct sink_account *account)
{

	if (w->packets.error)
		return w->packets.error;
	if (account->end_ns > w->last_ns)
		w->last_ns = account->end_ns;
	event_open(w, FORMAT_ACCOUNT, w->last_ns);
	event_uints(w, account, end_ns, consumer_cpu_ns, program_cpu_ns, lost_processes,
		refused_records, cpus, usable_cpus);
	event_int(w, "exit_code", account->exit_code);
	event_uint(w, "residual_ns", account->clock_residual_ns);
	event_uint(w, "bad_records", w->bad_records);
	account_off_cpu(w, &account->off_cpu);
	account_stacks(w, &account->stacks);
	account_faults(w, &account->faults);
	if (account->energy_error)
		event_int(w, "energy_error", account->energy_error);
	if (account->energy_refused && *account->energy_refused)
		event_text(w, "energy_refused", account->energy_refused,
			strlen(account->energy_refused));
	account_machine(w, &account->machine);
	return event_close(w);
}

enum { OFFSET_READINGS = 16 };

static void choose_clock(const struct trace_writer *w, struct writer_process *process)
{
	process->best = format_clock_of(&w->clock, &process->clock);
}

static void writer_free_process(struct writer_process *process)
{
	if (!process)
		return;
	tables_fini(&process->tables);
	free(process->sites);
	free(process->arrows);
	free(process->counter_uuids);
	free(process->operations);
	free(process);
}

const struct brick_clock *sink_clock_get(const struct trace_writer *w)
{
	return &w->clock;
}

int sink_clock(struct trace_writer *w, const struct brick_clock *clock)
{
	struct pb_buffer *b = &w->packets.scratch;

	if (w->packets.error)
		return w->packets.error;
	if (!clock->mult || clock->shift > 63)
		return -EINVAL;
	release_all(w, NULL);
	w->clock = *clock;
	for (size_t i = 0; i < w->processes.count; i++)
		choose_clock(w, w->processes.items[i]);
	b->size = 0;
	size_t packet = writer_own_packet(b);
	packets_clock_snapshot(&w->packets, w->last_ns, false);
	pb_close(b, packet);
	packets_add(&w->packets);
	event_open(w, FORMAT_CLOCK, w->last_ns);
	event_clock(w, &w->clock);
	return event_close(w);
}

int sink_process(struct trace_writer *w, const struct brick_session_header *header)
{

	if (w->packets.error)
		return w->packets.error;
	struct writer_process *process = calloc(1, sizeof(*process));
	uint32_t number = (uint32_t)w->processes.count;

	if (!process || array_push(&w->processes, process)) {
		writer_free_process(process);
		return packets_fail(&w->packets, -ENOMEM);
	}
	process->packets = &w->packets;
	process->numbering = &w->sites;
	process->number = number;
	process->gpus = &w->gpus;
	process->pid = header->pid;
	process->rank = header->rank;
	process->clock = header->clock;
	if (!process->clock.mult || process->clock.shift > 63)
		process->clock = (struct brick_clock){.mult = 1};
	choose_clock(w, process);
	process->uuid = packets_uuid(&w->packets, UUID_PROCESS, number);
	process->flow_base = packets_uuid(&w->packets, UUID_FLOW, number) >>
			     FORMAT_FLOW_BITS << FORMAT_FLOW_BITS;
	return writer_write_process(w, (int)number, header) ? w->packets.error : (int)number;
}

int sink_tables(struct trace_writer *w, int number, const struct sink_tables *tables)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	int error = tables_add(&w->processes.items[number]->tables, tables);
	return error ? packets_fail(&w->packets, error) : 0;
}

int sink_lane(struct trace_writer *w, int number, const struct brick_lane *state)
{
	int bad = bad_number(w, number, w->processes.count);

	if (bad)
		return bad;
	struct writer_lane *lane = writer_lane_create(w->processes.items[number], (uint32_t)number,
		(uint32_t)w->lanes.count, state, &w->bad_records);

	if (!lane || array_push(&w->lanes, lane)) {
		writer_lane_destroy(lane);
		return packets_fail(&w->packets, -ENOMEM);
	}
	event_open(w, FORMAT_LANE, w->last_ns);
	event_uint(w, "lane", lane->number);
	event_uint(w, "process", lane->process_number);
	event_uints(w, lane, sequence, kind, tid);
	event_text(w, "name", lane->name, sizeof(lane->name));
	if (lane->kind != BRICK_LANE_THREAD) {
		event_text(w, "backend", lane->backend, sizeof(lane->backend));
		event_uint(w, "queue_flags", (uint32_t)lane->queue_flags);
		event_uint(w, "gpu", brick_queue_gpu(lane->queue_flags));
	}
	if (lane->kind == BRICK_LANE_THREAD)
		event_uint(w, "off_cpu_sequence", FORMAT_OFF_CPU_SEQUENCE + lane->number);
	event_uint(w, "start_ticks", lane->start_ticks);
	return event_close(w) ? w->packets.error : (int)lane->number;
}

int sink_records(
	struct trace_writer *w, int number, const struct brick_record *records, size_t count)
{
	int bad = bad_number(w, number, w->lanes.count);

	if (bad)
		return bad;
	if (!count)
		return 0;
	struct writer_lane *lane = w->lanes.items[number];
	int error = lane_rules_take(lane, records, count);
	if (lane->last_ns > w->last_ns)
		w->last_ns = lane->last_ns;
	return error;
}

int sink_off_cpu(
	struct trace_writer *w, int number, const struct sink_off_cpu *intervals, size_t count)
{
	int bad = bad_number(w, number, w->lanes.count);

	if (bad)
		return bad;
	return writer_lane_off_cpu(w->lanes.items[number], intervals, count);
}

int sink_flush(struct trace_writer *w)
{

	release_all(w, NULL);
	int error = packets_send(&w->packets);
	if (!error && w->packets.file)
		part_file_sync(w->packets.file);
	return error;
}

void trace_writer_sync_prepare(struct trace_writer *w)
{
	if (w->packets.file)
		part_file_sync_prepare(w->packets.file);
}

void trace_writer_counts(const struct trace_writer *w, uint64_t *bytes, uint64_t *pairs)
{
	uint64_t open_frames;

	*bytes = w->packets.bytes;
	totals(w, pairs, &open_frames);
}

/*
 * BOOTTIME less MONOTONIC, by the narrowest of several readings between two others. Traces lie
 * beside one another by BOOTTIME, so it is that outside of time namespaces.
 */
static int64_t boot_offset_ns(void)
{
	uint64_t narrowest = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < OFFSET_READINGS; i++) {
		uint64_t before = monotonic_ns(), boot = clock_ns(CLOCK_BOOTTIME);
		uint64_t width = monotonic_ns() - before;
		if (width >= narrowest)
			continue;
		narrowest = width;
		offset = (int64_t)(boot - before - width / 2);
	}
	return offset - time_namespace_offset_ns(CLOCK_BOOTTIME);
}

static void free_writer(struct trace_writer *w)
{
	for (size_t i = 0; i < w->processes.count; i++)
		writer_free_process(w->processes.items[i]);
	for (size_t i = 0; i < w->lanes.count; i++)
		writer_lane_destroy(w->lanes.items[i]);
	array_fini(&w->processes);
	array_fini(&w->lanes);
	gpu_list_fini(&w->gpus);
	packets_fini(&w->packets);
	free(w);
}

int trace_writer_nowhere(void *context, const void *data, size_t bytes)
{
	(void)context;
	(void)data;
	(void)bytes;
	return 0;
}

int trace_writer_create(struct trace_writer **out, const struct trace_writer_options *options)
{
	struct trace_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->packets.boot_offset_ns = boot_offset_ns();
	w->packets.unix_offset_ns = (int64_t)(options->start_unix_ns - options->start_ns);
	w->packets.uuid_seed = options->start_unix_ns ^ monotonic_ns() << 20;
	w->start_ns = w->last_ns = options->start_ns;
	w->packets.output = options->output;
	w->packets.output_context = options->output_context;
	int result = packets_init(&w->packets, options->path, options->compress);
	if (!result)
		result = writer_write_run(w, options);
	if (result) {
		trace_writer_abandon(w);
		return result;
	}
	*out = w;
	return 0;
}

int trace_writer_finish(struct trace_writer *w)
{
	release_all(w, NULL);
	if (!write_end(w))
		packets_send(&w->packets);
	int result = packets_finish(&w->packets);
	free_writer(w);
	return result;
}

void trace_writer_abandon(struct trace_writer *w)
{
	if (!w)
		return;
	part_file_remove(w->packets.file);
	free_writer(w);
}

void trace_writer_leave(struct trace_writer *w)
{
	if (!w)
		return;
	release_all(w, NULL);
	packets_send(&w->packets);
	part_file_leave(w->packets.file);
	free_writer(w);
}
