/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a recording: reads the file in pieces and cuts it into packets; a compressed packet is
 * inflated into more packets. Each packet belongs to a sequence: of a lane, of times off the CPU,
 * of stacks, or of Brick's own events. Packets of other tracers are skipped. Malformed packets are
 * counted. The first error ends the loading.
 */
#include "trace/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/error.h"
#include "format/format.h"
#include "trace/build.h"
#include "trace/load_event.h"
#include "trace/load_memo.h"
#include "trace/load_own.h"
#include "trace/load_stacks.h"
#include "trace/prefetch.h"
#include "trace/run_keep.h"

struct load {
	struct build build;
	struct load_ids ids;
	struct load_stacks stacks;
	struct load_memo *memo;
	struct prefetch *prefetch;
	struct load_error *error;
	uint64_t offset; /* in the file, of the packet being read */
	bool has_totals; /* statistics are wanted in place of samples */
};

enum {
	PIECE_BYTES = 1 << 20,	     /* that are read at once */
	MAX_PACKET_BYTES = 64 << 20, /* larger packets are refused */
};

/* The bytes at hand; `base` is their place in the file. */
struct window {
	const uint8_t *data;
	size_t size;
	uint64_t base;
};

/* The first error wins; returns it. */
__attribute__((format(printf, 3, 4))) static int load_fail(
	struct load *l, int code, const char *format, ...)
{
	va_list args;

	if (l->build.result)
		return l->build.result;
	l->build.result = code;
	if (l->error) {
		l->error->offset = l->offset;
		va_start(args, format);
		vsnprintf(l->error->text, sizeof(l->error->text), format, args);
		va_end(args);
	}
	return code;
}

/* The parts of a packet that Brick uses; a part that is not there is empty. */
struct packet {
	uint64_t timestamp, sequence, flags, clock_id;
	bool has_timestamp;
	uint32_t fields;
	struct pb_reader timestamp_field; /* with its tag */
	struct pb_reader event, interned, snapshot, track, extension;
	struct pb_reader perf_sample, symbols, tree; /* of stacks */
};

static bool parse_packet(struct pb_reader message, struct packet *p)
{
	struct pb_field f;
	int more;

	memset(p, 0, sizeof(*p));
	for (const uint8_t *at; at = message.at, (more = pb_next(&message, &f)) > 0;) {
		p->fields++;
		if (f.number == PACKET_TIMESTAMP && f.wire == PB_VARINT) {
			p->timestamp = f.value;
			p->has_timestamp = true;
			p->timestamp_field = (struct pb_reader){at, message.at};
		} else if (f.number == PACKET_SEQUENCE_ID && f.wire == PB_VARINT) {
			p->sequence = f.value;
		} else if (f.number == PACKET_SEQUENCE_FLAGS && f.wire == PB_VARINT) {
			p->flags = f.value;
		} else if (f.number == PACKET_TRACK_EVENT && f.wire == PB_LENGTH) {
			p->event = f.in;
		} else if (f.number == PACKET_TIMESTAMP_CLOCK_ID && f.wire == PB_VARINT) {
			p->clock_id = f.value;
		} else if (f.wire == PB_LENGTH) {
			if (f.number == PACKET_INTERNED_DATA)
				p->interned = f.in;
			else if (f.number == PACKET_CLOCK_SNAPSHOT)
				p->snapshot = f.in;
			else if (f.number == PACKET_TRACK_DESCRIPTOR)
				p->track = f.in;
			else if (f.number == PACKET_EXTENSION_DESCRIPTOR)
				p->extension = f.in;
			else if (f.number == PACKET_PERF_SAMPLE)
				p->perf_sample = f.in;
			else if (f.number == PACKET_MODULE_SYMBOLS)
				p->symbols = f.in;
			else if (f.number == PACKET_PROCESS_TREE)
				p->tree = f.in;
		}
	}
	return more == 0;
}

static uint64_t field_value(struct pb_reader message, uint32_t number, uint64_t fallback)
{
	struct pb_field f;

	while (pb_next(&message, &f) > 0)
		if (f.number == number && f.wire == PB_VARINT)
			fallback = f.value;
	return fallback;
}

/* The snapshot sets the sequence's clock, *now, which later timestamps are relative to. */
static bool read_snapshot(struct load_sequence *s, uint64_t *now, struct pb_reader snapshot)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(&snapshot, &f)) > 0) {
		if (f.number != SNAPSHOT_CLOCKS || f.wire != PB_LENGTH ||
			field_value(f.in, CLOCK_ID, 0) != CLOCK_ID_LANE)
			continue;
		uint64_t ns = field_value(f.in, CLOCK_TIMESTAMP, 0);
		if (s->has_clock && ns < *now)
			return false;
		*now = ns;
		s->has_clock = true;
	}
	return more == 0;
}

/* A lane's own event tells of its last thread, the tracks of all. */
static bool thread_name(const struct load_sequence *s, struct pb_reader thread)
{
	struct pb_field f;
	struct pb_reader name = {NULL, NULL};
	uint64_t tid = 0;
	int more;

	while ((more = pb_next(&thread, &f)) > 0) {
		if (f.number == THREAD_TID && f.wire == PB_VARINT)
			tid = f.value;
		else if (f.number == THREAD_NAME && f.wire == PB_LENGTH)
			name = f.in;
	}
	return !more &&
	       (!name.at || build_thread_name(s->lane, tid, (const char *)name.at, pb_size(name)));
}

static bool read_track(struct load *l, const struct load_sequence *s, struct pb_reader track)
{
	struct pb_field f;
	int more;
	bool is_counter = false;
	uint64_t uuid = 0;
	struct pb_reader name = {NULL, NULL};

	while ((more = pb_next(&track, &f)) > 0) {
		if (f.number == TRACK_UUID && f.wire == PB_VARINT)
			uuid = f.value;
		else if (f.number == TRACK_NAME && f.wire == PB_LENGTH)
			name = f.in;
		else if (f.number == TRACK_COUNTER && f.wire == PB_LENGTH)
			is_counter = true;
		else if (f.number == TRACK_THREAD && f.wire == PB_LENGTH && s->lane &&
			 !thread_name(s, f.in))
			return false;
	}
	if (more)
		return false;
	return !is_counter || !name.at || !s->lane || load_counter(&l->ids, uuid, name);
}

static bool load_event_of_lane(
	struct load *l, struct load_sequence *s, struct pb_reader message, const struct packet *p)
{
	struct build_slice slice;

	/* on another clock than its lane's are a step's counters: they say their time themselves */
	uint64_t delta = p->clock_id ? 0 : p->timestamp;

	if (!p->has_timestamp || !load_advance(s, delta))
		return false;
	enum load_event_result result = load_lane_event(&l->ids, s, p->event, &slice);
	/* sequence, time and event, perhaps flags: nothing else that a repetition could lack */
	if (result == LOAD_EVENT_PLAIN && p->fields == (p->flags == SEQUENCE_NEEDS_STATE ? 4 : 3))
		load_memo_add(l->memo, s, message, p->timestamp_field, &slice);
	return result != LOAD_EVENT_BAD;
}

static bool lane_packet(
	struct load *l, struct load_sequence *s, struct pb_reader message, const struct packet *p)
{
	bool good = true;

	if (p->interned.at) {
		s->names_version++;
		good &= load_interned(&l->ids, s, p->interned);
	}
	if (p->snapshot.at)
		good &= read_snapshot(s, &s->lane->now, p->snapshot);
	if (p->track.at)
		good &= read_track(l, s, p->track);
	if (p->event.at)
		good &= load_event_of_lane(l, s, message, p);
	return good;
}

static bool off_cpu_packet(struct load *l, struct load_sequence *s, const struct packet *p)
{
	bool good = true;

	if (p->interned.at)
		good &= load_interned(&l->ids, s, p->interned);
	if (p->snapshot.at)
		good &= read_snapshot(s, &s->off_cpu.now, p->snapshot);
	if (!p->event.at)
		return good;
	if (!p->has_timestamp || p->clock_id || !s->has_clock ||
		__builtin_add_overflow(s->off_cpu.now, p->timestamp, &s->off_cpu.now))
		return false;
	return good & load_off_cpu_event(s, p->event);
}

/* Events of the run's own have absolute times, which nothing depends on. */
static bool load_own_packet(struct load *l, const struct packet *p)
{
	bool good = !p->extension.at || load_described(&l->ids, p->extension);

	if (p->event.at)
		good &= load_own_event(&l->ids, p->event);
	if (l->build.format > FORMAT_VERSION)
		load_fail(l, BRICK_EVERSION, "format %llu; this Brick reads up to %d",
			(unsigned long long)l->build.format, FORMAT_VERSION);
	return good;
}

static bool stack_packet(struct load *l, const struct packet *p)
{
	const struct load_stack_packet packet = {
		.ns = p->timestamp,
		.is_new = p->flags & SEQUENCE_STATE_CLEARED,
		.interned = p->interned,
		.sample = p->has_timestamp ? p->perf_sample : (struct pb_reader){NULL, NULL},
		.symbols = p->symbols,
		.tree = p->tree,
	};

	return load_stack_packet(&l->stacks, &l->build, &packet);
}

static void load_packet(struct load *l, struct pb_reader message)
{
	struct packet p;
	struct load_sequence *s;

	if (load_memo_packet(l->memo, &l->build, message))
		return;
	if (!parse_packet(message, &p)) {
		l->build.run->bad_packets++;
		return;
	}
	if (!p.sequence || p.sequence > UINT32_MAX)
		return;
	s = load_sequence(&l->ids, (uint32_t)p.sequence);
	if (!s) {
		l->build.run->bad_packets++;
		return;
	}
	if (__builtin_expect(p.flags & SEQUENCE_STATE_CLEARED, 0))
		load_sequence_clear(s);
	if (!s->cleared)
		return;
	bool good = s->lane			     ? lane_packet(l, s, message, &p)
		    : s->off_cpu.lane		     ? off_cpu_packet(l, s, &p)
		    : s->id == FORMAT_STACK_SEQUENCE ? stack_packet(l, &p)
						     : load_own_packet(l, &p);
	l->build.run->bad_packets += !good;
}

/* The content of a compressed packet; {NULL, NULL}: the packet is not compressed. */
static struct pb_reader compressed(struct pb_reader packet)
{
	struct pb_field f;

	if (pb_next(&packet, &f) > 0 && f.number == PACKET_COMPRESSED && f.wire == PB_LENGTH)
		return f.in;
	return (struct pb_reader){NULL, NULL};
}

/* Remembers the place of the first packet that could not be used. */
static void note_damage(struct load *l)
{
	struct run *run = l->build.run;

	if (run->bad_packets && !run->bad_packet_at)
		run->bad_packet_at = l->offset;
}

/* Reads all packets of the oldest chunk that was handed in. 0: there is none. */
static bool read_chunk(struct load *l)
{
	struct pb_reader chunk;
	struct pb_field f;
	uint64_t offset = l->offset;
	int more = 0, error;

	if (!prefetch_take(l->prefetch, &chunk, &error, &l->offset))
		return false;
	if (error == -ENOMEM)
		build_no_memory(&l->build);
	while (!l->build.result && !error &&
		(load_memo_packets(l->memo, &l->build, &chunk), more = pb_next(&chunk, &f)) > 0)
		if (f.number == TRACE_PACKET && f.wire == PB_LENGTH)
			load_packet(l, f.in);
	if (error == BRICK_EFORMAT || more < 0)
		l->build.run->bad_packets++;
	note_damage(l);
	prefetch_release(l->prefetch);
	l->offset = offset;
	return !l->build.result;
}

static void read_packet(struct load *l, struct pb_reader packet)
{
	struct pb_reader packed = compressed(packet);

	if (!packed.at) {
		while (read_chunk(l))
			;
		if (!l->build.result)
			load_packet(l, packet);
		note_damage(l);
		return;
	}
	if (prefetch_is_full(l->prefetch))
		read_chunk(l);
	if (!l->build.result && prefetch_add(l->prefetch, packed, l->offset))
		build_no_memory(&l->build);
}

/*
 * Read the whole packets of a window. Returns how many bytes they take. *wanted: how many bytes the
 * window should have to go on, 0 when the next bytes cannot be a packet.
 */
static size_t read_window(struct load *l, const struct window *w, size_t *wanted)
{
	const uint8_t *at = w->data, *end = w->data + w->size;

	*wanted = w->size + 1;
	while (at < end && !l->build.result) {
		uint64_t tag, size;
		const uint8_t *body = pb_read_varint(at, end, &tag);
		l->offset = w->base + (uint64_t)(at - w->data);
		if (body && tag != PB_TAG(TRACE_PACKET, PB_LENGTH)) {
			*wanted = 0;
			break;
		}
		body = body ? pb_read_varint(body, end, &size) : NULL;
		if (body && size > MAX_PACKET_BYTES) {
			*wanted = 0;
			break;
		}
		if (!body || size > (uint64_t)(end - body)) {
			*wanted = body ? (size_t)(body - at) + (size_t)size : 32;
			break;
		}
		read_packet(l, (struct pb_reader){body, body + size});
		at = body + size;
	}
	return (size_t)(at - w->data);
}

/* Nothing more can be read at `offset`: reads waiting packets, and counts the rest. */
static void stop_at(struct load *l, uint64_t offset, uint64_t file_bytes)
{
	while (read_chunk(l))
		;
	l->offset = offset;
	l->build.run->truncated_bytes = file_bytes - offset;
	l->build.run->truncated_at = offset;
	if (l->build.run->truncated_bytes)
		l->build.run->complete = 0;
	if (!l->build.format && !l->build.result)
		load_fail(l, BRICK_EFORMAT,
			!file_bytes			 ? "the file is empty"
			: offset < file_bytes && !offset ? "not a Perfetto trace"
							 : "a trace, but none of Brick's");
}

static int load_create(struct load *l, const char *name, struct load_error *error)
{
	memset(l, 0, sizeof(*l));
	l->error = error;
	if (error)
		memset(error, 0, sizeof(*error));
	if (build_init(&l->build, name))
		return l->build.result;
	l->ids.build = &l->build;
	l->memo = load_memo_create();
	l->prefetch = prefetch_create();
	return l->prefetch ? 0 : build_no_memory(&l->build);
}

/* Hands the run over, or destroys it after an error. */
static int load_destroy(struct load *l, struct run **out)
{
	if (l->build.result && l->error && !l->error->text[0]) {
		l->error->offset = l->offset;
		snprintf(l->error->text, sizeof(l->error->text), "%s",
			l->build.result == -ENOMEM ? "not enough memory"
						   : strerror(-l->build.result));
	}
	load_memo_destroy(l->memo);
	load_stacks_fini(&l->stacks);
	load_ids_fini(&l->ids);
	prefetch_destroy(l->prefetch);
	return build_fini(&l->build, out);
}

/* Only statistics are left, as of a session that kept nothing else. */
static void leave_statistics(struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++)
		run_samples_drop(&run->lanes[i]);
	run->step_count = run->command_count = run->wait_count = run->tile_count = 0;
	run->sequence_event_count = run->expert_count = run->point_count = 0;
	run->message_count = 0;
	run->stack_count = 0;
	run->open_samples = 0;
	run->has_statistics_only = true;
}

/* Statistics of a file that is one of several are of more than its samples. */
static void leave_part(struct load *l)
{
	struct run *run = l->build.run;
	bool goes_on = run_has_mark(run, MARK_NEXT);

	if (!goes_on && !run_has_mark(run, MARK_PART))
		return;
	run_hook_calls_scale(run);
	run_statistics_drop(run);
	int error = goes_on ? run_keep_whole_steps(run) : 0;
	if (error && !l->build.result)
		l->build.result = error;
	if (goes_on) /* the step that the file's end has cut */
		run->open_samples = 0;
	run->selected = strdup("one of several files");
	run->is_narrowed = true;
	if (!run->selected)
		build_no_memory(&l->build);
}

static void load_finish(struct load *l)
{
	if (!l->build.result)
		build_finish(&l->build);
	if (!l->build.result && l->has_totals) {
		leave_statistics(l->build.run);
	} else if (!l->build.result) {
		leave_part(l);
	}
	if (!l->build.result)
		load_stacks_finish(&l->stacks, &l->build);
}

int run_load_memory(struct run **out, const void *data, size_t bytes, const char *name,
	struct load_error *error)
{
	struct load l;
	struct window window = {data, bytes, 0};
	size_t wanted;

	if (!load_create(&l, name, error)) {
		stop_at(&l, read_window(&l, &window, &wanted), bytes);
		load_finish(&l);
	}
	return load_destroy(&l, out);
}

/* A buffer over a file: bytes that were read and not used yet. */
struct file {
	int descriptor;
	uint8_t *data;
	size_t size, capacity;
	uint64_t base;
	bool ended;
};

static uint64_t read_bytes; /* of all files */

uint64_t run_load_read_bytes(void)
{
	return __atomic_load_n(&read_bytes, __ATOMIC_RELAXED);
}

/* Have at least `wanted` bytes, or all there are. */
static int file_fill(struct load *l, struct file *f, size_t wanted)
{
	if (wanted > f->capacity) {
		size_t capacity = wanted + PIECE_BYTES;
		uint8_t *data = realloc(f->data, capacity);
		if (!data)
			return build_no_memory(&l->build);
		f->data = data;
		f->capacity = capacity;
	}
	while (f->size < wanted && !f->ended) {
		ssize_t n = read(f->descriptor, f->data + f->size, f->capacity - f->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return load_fail(l, -errno, "%s", strerror(errno));
		f->size += (size_t)n;
		f->ended = !n;
		__atomic_add_fetch(&read_bytes, (uint64_t)n, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Counts the bytes behind the last packet that could be read. */
static uint64_t load_file_bytes(struct load *l, struct file *f)
{
	uint64_t rest = f->base + f->size;
	ssize_t n;

	while (!f->ended && (n = read(f->descriptor, f->data, f->capacity))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			load_fail(l, -errno, "%s", strerror(errno));
			break;
		}
		rest += (uint64_t)n;
	}
	return rest;
}

static void load_file(struct load *l, struct file *f)
{
	size_t wanted = PIECE_BYTES;

	for (;;) {
		size_t had = f->size;
		if (file_fill(l, f, wanted) || (f->size == had && f->ended))
			break;
		struct window window = {f->data, f->size, f->base};
		size_t used = read_window(l, &window, &wanted);
		memmove(f->data, f->data + used, f->size - used);
		f->size -= used;
		f->base += used;
		if (l->build.result || !wanted)
			break;
	}
	uint64_t offset = f->base;
	stop_at(l, offset, load_file_bytes(l, f));
	load_finish(l);
}

/* PATH, or PATH.part when only that exists. *name: which one; the caller frees it. */
static int open_either(const char *path, char **name, struct load_error *error)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC), saved = errno;

	*name = malloc(strlen(path) + sizeof ".part");
	if (!*name) {
		if (descriptor >= 0)
			close(descriptor);
		return -ENOMEM;
	}
	strcpy(*name, path);
	if (descriptor < 0 && saved == ENOENT) {
		strcat(*name, ".part");
		descriptor = open(*name, O_RDONLY | O_CLOEXEC);
	}
	if (descriptor >= 0)
		return descriptor;
	if (error) {
		error->offset = 0;
		snprintf(error->text, sizeof(error->text), "%s", strerror(saved));
	}
	return -saved;
}

static int load_path(struct run **out, const char *path, size_t sample_bytes, bool totals,
	struct load_error *error)
{
	struct load l;
	struct file file = {0};
	SCOPED char *name = NULL;

	file.descriptor = open_either(path, &name, error);
	if (file.descriptor < 0)
		return file.descriptor;
	if (!load_create(&l, name, error)) {
		l.build.store.budget = sample_bytes;
		l.has_totals = totals;
		load_file(&l, &file);
	}
	close(file.descriptor);
	free(file.data);
	return load_destroy(&l, out);
}

int run_load_within(
	struct run **out, const char *path, size_t sample_bytes, struct load_error *error)
{
	return load_path(out, path, sample_bytes, false, error);
}

int run_load(struct run **out, const char *path, struct load_error *error)
{
	return run_load_within(out, path, SAMPLE_STORE_BYTES, error);
}

int run_load_totals(struct run **out, const char *path, struct load_error *error)
{
	return load_path(out, path, SAMPLE_STORE_BYTES, true, error);
}
