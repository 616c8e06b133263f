/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests (brick/digest.h). Computing one: elements are gathered in logical order into blocks of
 * floats, and every block is entered into moments and sketch. Invariant: what is entered depends on
 * an element's index and value only, never on strides, block sizes or the machine, so that equal
 * tensors have equal digests. Recording one: into a ring of the session of its own, written by one
 * producer at a time under a lock and emptied by the consumer (abi/session.h). Slow on purpose, and
 * far from the hot path: a producer computes outside of the lock, then waits for room. Lock order:
 * session, registry, step, ring.
 */
#include "brick/digest.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/fnv.h"
#include "base/lock.h"
#include "base/scope.h"
#include "base/sized.h"
#include "brick/error.h"
#include "brick/session.h"
#include "lib/probe/digest_record.h"
#include "lib/session/registry_tables.h"
#include "lib/session/session_map.h"
#include "lib/sys/environment.h"
#include "lib/sys/ticks.h"

enum { BLOCK = 256, LANES = 4 };

#define MAX_ELEMENTS (1ull << 48)
#define SEED 0x6272696b64696765ull /* part of the format: digests of other seeds do not compare */

/* SplitMix64's finaliser. */
static inline uint64_t digest_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline float from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* binary16; subnormal ones are small integers times 2^-24. */
static inline float from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;

	if (rest >= 0x7c00)
		return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
	if (rest < 0x400)
		return from_bits(bits_of((float)rest * 0x1p-24f) | sign);
	return from_bits(sign | ((rest << 13) + 0x38000000));
}

static inline float digest_load(const char *at, uint32_t dtype)
{
	uint16_t half;
	float value;

	if (dtype == BRICK_DTYPE_F32) {
		memcpy(&value, at, sizeof(value));
		return value;
	}
	memcpy(&half, at, sizeof(half));
	return dtype == BRICK_DTYPE_F16 ? from_half(half) : from_bits((uint32_t)half << 16);
}

/* Up to `count` elements of a row. */
static void digest_gather(float *out, const char *at, uint64_t step, size_t count, uint32_t dtype)
{
	if (dtype == BRICK_DTYPE_F32 && step == sizeof(*out)) {
		memcpy(out, at, count * sizeof(*out));
		return;
	}
	for (size_t i = 0; i < count; i++)
		out[i] = digest_load(at + i * step, dtype);
}

/* Sums over all elements; several of each, because an addition waits for the one before. */
struct sums {
	double sum[LANES], square[LANES], min, max;
	uint64_t finite;
};

static uint64_t fnv_append(uint64_t hash, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int shift = 0; shift < 32; shift += 8)
			hash = (hash ^ (bits_of(values[i]) >> shift & 0xff)) * FNV1A_PRIME;
	return hash;
}

uint64_t brick_digest_fnv64(const float *values, size_t count)
{
	return fnv_append(FNV1A_BASIS, values,
		count < BRICK_DIGEST_FNV_VALUES ? count : BRICK_DIGEST_FNV_VALUES);
}

/* Sets values that are not finite to 0; returns how many there were. */
static size_t zero_nonfinite(struct brick_digest *d, float *values, size_t count, uint64_t first)
{
	size_t found = 0;
	uint32_t any = 0;

	for (size_t i = 0; i < count; i++)
		any |= (bits_of(values[i]) & 0x7f800000) == 0x7f800000;
	for (size_t i = 0; any && i < count; i++)
		if ((bits_of(values[i]) & 0x7f800000) == 0x7f800000) {
			/* NaN or infinite: counted, and no longer a value */
			uint64_t kind = values[i] != values[i] ? 1 : values[i] > 0 ? 2 : 3;
			d->nan_count += kind == 1;
			d->plus_infinite_count += kind == 2;
			d->minus_infinite_count += kind == 3;
			d->nonfinite += digest_mix(SEED ^ (first + i) * 4 ^ kind);
			values[i] = 0;
			found++;
		}
	return found;
}

static void enter_range(struct sums *s, const float *values, size_t count)
{
	float min = INFINITY, max = -INFINITY;

	for (size_t i = 0; i < count; i++) {
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
	}
	s->min = min < s->min ? min : s->min;
	s->max = max > s->max ? max : s->max;
}

static void enter_sums(struct sums *s, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i += LANES)
		for (size_t k = 0; k < LANES; k++) {
			double x = values[i + k];
			s->sum[k] += x;
			s->square[k] += x * x;
		}
}

/* One hash for four elements: 16 bits of it each, of which 8 choose the bucket and one the sign. */
static void enter_sketch(double *sketch, const float *values, size_t count, uint64_t first)
{
	for (size_t i = 0; i < count; i += LANES) {
		uint64_t hash = digest_mix(SEED + (first + i) / LANES * 0x9e3779b97f4a7c15ull);
		for (size_t k = 0; k < LANES; k++, hash >>= 16) {
			uint32_t sign = (uint32_t)(hash & 0x100) << 23;
			sketch[hash & 0xff] += from_bits(bits_of(values[i + k]) ^ sign);
		}
	}
}

/* `first` is a multiple of LANES; zeros fit behind the last value. */
static void digest_enter(
	struct brick_digest *d, struct sums *s, float *values, size_t count, uint64_t first)
{
	float original[BLOCK];

	if (first < BRICK_DIGEST_FNV_VALUES) {
		uint64_t left = BRICK_DIGEST_FNV_VALUES - first;
		d->fnv64 = fnv_append(d->fnv64, values, count < left ? count : left);
	}
	memcpy(original, values, count * sizeof(*values));
	size_t lost = zero_nonfinite(d, values, count, first);
	s->finite += count - lost;
	if (lost) {
		/*
		 * The same for a block in which some values have been set to 0, which do not count.
		 */
		for (size_t i = 0; i < count; i++)
			if ((bits_of(original[i]) & 0x7f800000) != 0x7f800000)
				enter_range(s, &values[i], 1);
	} else
		enter_range(s, values, count);
	for (size_t i = count; i % LANES; i++)
		values[i] = 0;
	enter_sums(s, values, count);
	enter_sketch(d->sketch, values, count, first);
}

/* Finds the strides; BRICK_ERANGE if the shape is impossible. */
static int digest_measure(
	const struct brick_tensor *t, uint64_t nb[4], uint64_t *elements, uint64_t width)
{
	*elements = 1;
	for (int i = 0; i < 4; i++) {
		if (t->ne[i] > MAX_ELEMENTS ||
			__builtin_mul_overflow(*elements, t->ne[i], elements) ||
			*elements > MAX_ELEMENTS)
			return BRICK_ERANGE;
	}
	int packed = !t->nb[0] && !t->nb[1] && !t->nb[2] && !t->nb[3];
	for (int i = 0; i < 4; i++) {
		nb[i] = packed ? width : t->nb[i];
		width *= t->ne[i];
	}
	return 0;
}

struct walk {
	struct brick_digest *digest;
	struct sums sums;
	uint64_t index; /* of the first element in the block */
	size_t filled;
	float block[BLOCK];
};

static void walk_row(struct walk *w, const struct brick_tensor *t, const char *row, uint64_t step)
{
	for (uint64_t i = 0; i < t->ne[0];) {
		size_t capacity = BLOCK - w->filled;
		size_t count = t->ne[0] - i < capacity ? (size_t)(t->ne[0] - i) : capacity;
		digest_gather(w->block + w->filled, row + i * step, step, count, t->dtype);
		w->filled += count;
		i += count;
		if (w->filled == BLOCK) {
			digest_enter(w->digest, &w->sums, w->block, BLOCK, w->index);
			w->index += BLOCK;
			w->filled = 0;
		}
	}
}

static int digest_compute(struct brick_digest *out, const struct brick_tensor *t)
{
	uint64_t nb[4], elements;
	struct walk w = {.digest = out, .sums = {.min = INFINITY, .max = -INFINITY}};

	if (t->flags & ~(uint32_t)(BRICK_TENSOR_QUANTIZED | BRICK_TENSOR_HALF))
		return -EINVAL;
	if (t->dtype < BRICK_DTYPE_F32 || t->dtype > BRICK_DTYPE_BF16)
		return BRICK_EUNSUPPORTED;
	int error = digest_measure(t, nb, &elements, t->dtype == BRICK_DTYPE_F32 ? 4 : 2);
	if (error)
		return error;
	if (!t->data && elements)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	out->dtype = t->dtype;
	out->flags = t->flags;
	memcpy(out->ne, t->ne, sizeof(out->ne));
	out->fnv64 = FNV1A_BASIS;
	if (elements) {
		for (uint64_t l = 0; l < t->ne[3]; l++)
			for (uint64_t k = 0; k < t->ne[2]; k++)
				for (uint64_t j = 0; j < t->ne[1]; j++)
					walk_row(&w, t,
						(const char *)t->data + l * nb[3] + k * nb[2] +
							j * nb[1],
						nb[0]);
		if (w.filled)
			digest_enter(w.digest, &w.sums, w.block, w.filled, w.index);
	}
	const struct sums *s = &w.sums;
	out->sum = s->sum[0] + s->sum[1] + (s->sum[2] + s->sum[3]);
	out->square_sum = s->square[0] + s->square[1] + (s->square[2] + s->square[3]);
	out->min = s->finite ? s->min : 0;
	out->max = s->finite ? s->max : 0;
	return 0;
}

int brick_digest_compute(struct brick_digest *out, const struct brick_tensor *tensor)
{
	struct brick_tensor t = BRICK_TENSOR_INIT;
	int error = sized_read(&t, sizeof(t), tensor);

	return error ? error : digest_compute(out, &t);
}

uint64_t brick_digest_elements(const struct brick_digest *d)
{
	uint64_t elements = 1;

	for (int i = 0; i < 4; i++)
		if (__builtin_mul_overflow(elements, d->ne[i], &elements))
			return 0;
	return elements;
}

double brick_digest_distance_squared(const struct brick_digest *x, const struct brick_digest *y)
{
	double sum = 0;

	for (int i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		double difference = x->sketch[i] - y->sketch[i];
		sum += difference * difference;
	}
	return sum;
}

static bool same_nonfinite(const struct brick_digest *x, const struct brick_digest *y)
{
	return x->nan_count == y->nan_count && x->plus_infinite_count == y->plus_infinite_count &&
	       x->minus_infinite_count == y->minus_infinite_count && x->nonfinite == y->nonfinite;
}

double brick_digest_error(const struct brick_digest *x, const struct brick_digest *y)
{
	double distance = brick_digest_distance_squared(x, y);

	if (!same_nonfinite(x, y))
		return INFINITY;
	return distance == 0 ? 0 : x->square_sum > 0 ? sqrt(distance / x->square_sum) : INFINITY;
}

/* Recording. */

#define MAX_WAIT_NS 5000000000ull /* longer than a starved recorder takes to help itself */
enum { LOOK_NS = 100000 };

/* The step that a thread is in. */
struct step {
	uint32_t session;
	enum brick_phase phase;
	uint64_t number, tokens; /* number: from 1 */
};

static pthread_mutex_t digest_lock = PTHREAD_MUTEX_INITIALIZER;
static struct brick_session_header *area; /* under the lock; NULL: none, or no memory for it */
static uint64_t given_up_at;		  /* the tail at which a wait was in vain, plus 1 */
static uint32_t digest_wanted;
static __thread struct step digest_here __attribute__((tls_model("initial-exec")));
static struct step latest; /* of any thread; under step_lock */
static pthread_mutex_t step_lock = PTHREAD_MUTEX_INITIALIZER;

ENVIRONMENT_READER(digest_read_environment)
{
	const char *list = brick__environment("BRICK_CAPTURE");

	for (const char *at = list; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
		if (strcspn(at, ",") == 6 && !memcmp(at, "digest", 6))
			brick_digests_set(1);
}

void brick_digests_set(int on)
{
	__atomic_store_n(&digest_wanted, on != 0, __ATOMIC_RELAXED);
}

int brick_digests_wanted(void)
{
	return __atomic_load_n(&digest_wanted, __ATOMIC_RELAXED) && brick__number_here() &&
	       brick__session_here() == &brick__session;
}

void brick__digests_lock(void)
{
	lock_take(&step_lock);
	lock_take(&digest_lock);
}

void brick__digests_unlock(void)
{
	lock_give(&digest_lock);
	lock_give(&step_lock);
}

void brick__digests_use(struct brick_session_header *header)
{
	HOLD_UNCANCELLED(&digest_lock);
	area = header;
	given_up_at = 0;
}

/* In the child of a fork, whose locks are held: the session is the parent's. */
void brick__digests_abandon(void)
{
	area = NULL;
	digest_here = latest = (struct step){0};
}

void brick__digests_step(enum brick_phase phase, uint64_t tokens)
{
	uint32_t session = brick__number_here();

	if (brick__session_here() != &brick__session)
		return;
	pthread_mutex_lock(&step_lock); /* nothing in here can be cancelled */
	uint64_t number = latest.session == session ? latest.number + 1 : 1;
	latest = digest_here = (struct step){session, phase, number, tokens};
	pthread_mutex_unlock(&step_lock);
}

static struct step present_step(void)
{
	uint32_t session = brick__number_here();
	struct step step = digest_here;

	if (step.session == session)
		return step;
	lock_take(&step_lock);
	step = latest;
	lock_give(&step_lock);
	return step.session == session ? step : (struct step){0};
}

/* Under the lock: a free entry, waiting for it if need be; NULL: there is none. */
static struct brick_session_digest *wait_for_room(uint64_t head)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	uint64_t start_ns = brick__monotonic_ns();

	for (;;) {
		uint64_t tail = __atomic_load_n(&area->digest_tail, __ATOMIC_ACQUIRE);
		if (head - tail < area->digest_capacity) {
			struct brick_session_digest *ring =
				(void *)((char *)area + area->digest_offset);
			return &ring[head % area->digest_capacity];
		}
		if (given_up_at == tail + 1 || !brick_enabled())
			return NULL;
		if (brick__monotonic_ns() - start_ns > MAX_WAIT_NS) {
			given_up_at = tail + 1;
			return NULL;
		}
		nanosleep(&look, NULL);
	}
}

/* Memory for the whole ring, so that writing to it cannot fail; once per session. */
static int have_memory(void)
{
	if (!area || !area->digest_capacity)
		return 0;
	if (area->digest_flags & BRICK_DIGESTS_READY)
		return 1;
	if (brick__shared_reserve(&brick__session.file, area->digest_offset,
		    area->digest_capacity * sizeof(struct brick_session_digest))) {
		area = NULL;
		return 0;
	}
	__atomic_or_fetch(&area->digest_flags, BRICK_DIGESTS_READY, __ATOMIC_RELEASE);
	return 2;
}

static int digest_publish(const struct brick_session_digest *digest)
{
	int error = -ENOENT;

	lock_take(&digest_lock);
	int ready = brick_enabled() ? have_memory() : 0;
	if (ready) {
		uint64_t head = area->digest_head;
		struct brick_session_digest *place = wait_for_room(head);
		error = place ? 0 : BRICK_EFULL;
		if (place) {
			*place = *digest;
			__atomic_store_n(&area->digest_head, head + 1, __ATOMIC_RELEASE);
		} else {
			area->digest_dropped++;
			__atomic_add_fetch(&area->ledger.dropped, 1, __ATOMIC_RELAXED);
		}
	}
	lock_give(&digest_lock);
	if (ready == 2)
		brick_note("capture.digest", "sketches of %d buckets", BRICK_DIGEST_BUCKETS);
	return error;
}

static void count_unsupported(void)
{
	HOLD_UNCANCELLED(&digest_lock);
	if (area) {
		area->digest_unsupported++;
		__atomic_add_fetch(&area->ledger.unsupported, 1, __ATOMIC_RELAXED);
	}
}

static bool digest_is_open(void)
{
	HOLD_UNCANCELLED(&digest_lock);
	return area && area->digest_capacity;
}

static uint32_t digest_brick(void)
{
	static uint32_t id;
	uint32_t known = __atomic_load_n(&id, __ATOMIC_RELAXED);

	if (!known) {
		int made = brick__register("Digest", BRICK_CATEGORY_ENGINE);
		known = made > 0 ? (uint32_t)made : BRICK_GRAPH_COMPUTE;
		__atomic_store_n(&id, known, __ATOMIC_RELAXED);
	}
	return known;
}

static int digest_record(
	uint32_t brick, int layer, uint32_t site, const struct brick_tensor *t, const char *label)
{
	struct brick_session_digest d = {.ticks = brick__now()};
	struct step step = present_step();

	d.brick = (uint16_t)brick;
	d.layer = (int16_t)(layer < -1 || layer > INT16_MAX ? -1 : layer);
	d.site = site;
	d.step = step.number;
	d.tokens = step.tokens;
	d.flags = step.phase == BRICK_PHASE_DECODE ? BRICK_SESSION_DIGEST_DECODE : 0;
	d.output = t->output;
	memcpy(d.inputs, t->inputs, sizeof(d.inputs));
	if (label)
		strncpy(d.label, label, sizeof(d.label) - 1);
	int error = brick_digest_compute(&d.digest, t);
	if (error == BRICK_EUNSUPPORTED)
		count_unsupported();
	return error ? error : digest_publish(&d);
}

static int record_timed(
	uint32_t brick, int layer, uint32_t site, const struct brick_tensor *t, const char *label)
{
	KEEP_ERRNO();
	brick_span span = brick_begin_layer(digest_brick(), layer);
	int error = digest_is_open() ? digest_record(brick, layer, site, t, label) : -ENOENT;

	brick_end(span);
	return error;
}

int brick_digest(uint32_t brick, int layer, const struct brick_tensor *tensor)
{
	if (!brick_digests_wanted())
		return -ENOENT;
	if (brick >= brick_count())
		return -EINVAL;
	struct brick_tensor t = BRICK_TENSOR_INIT;
	int error = sized_read(&t, sizeof(t), tensor);
	return error ? error : record_timed(brick, layer, 0, &t, t.label);
}

int brick_digest_site(uint32_t site, const struct brick_tensor *tensor)
{
	if (!brick_digests_wanted())
		return -ENOENT;
	const struct brick_session_site *s = brick__site(site);
	if (!s)
		return -EINVAL;
	struct brick_tensor t = BRICK_TENSOR_INIT;
	int error = sized_read(&t, sizeof(t), tensor);
	return error ? error : record_timed(s->brick, s->layer, site, &t, NULL);
}
