/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the work of each execution and its own time: without nested samples, the waits behind it
 * and the time off the CPU. First it finds whose work an execution is, so that work is counted
 * once. Where more than one lane of a process recorded, the time that they had in common counts
 * once: their lanes are walked side by side, in the order of time.
 */
#include "analysis/accounts/work_accounts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "analysis/walk/walk.h"
#include "base/members.h"
#include "base/order.h"

/* The last work that a queue told. Commands without counts go on with it, if it is theirs. */
struct work_told {
	uint32_t brick; /* RUN_NONE: none */
	int32_t layer;
};

/* True if the frame is in some account: work that has ended and was not left out. */
static inline bool is_counted(
	const struct run *run, const struct step_index *index, const struct walk_frame *frame)
{
	return index->kinds[frame->brick] == BRICK_KIND_WORK &&
	       !run->sites[frame->sample->site].left_out &&
	       !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/*
 * A device may run several commands for one node, of which the first tells all the work. The
 * commands right behind it in its queue, of the same brick and layer, are parts of it.
 */
static inline enum work_owner work_accounts_owner_of(const uint8_t *owners, const struct run *run,
	const struct work_told *told, const struct walk_frame *frame)
{
	enum work_owner owner = (enum work_owner)owners[frame->sample->site];

	return owner == WORK_UNKNOWN && told->brick == frame->brick &&
			       told->layer == run->sites[frame->sample->site].layer
		       ? WORK_PART
		       : owner;
}

enum {
	WORK = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
	COUNTS = WORK | BRICK_SITE_HAS_ELEMENTS,
};

static int work_accounts_compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

int work_compare_nodes(const struct run_site *a, const struct run_site *b)
{
	return ORDER(a->brick, b->brick) ?: ORDER(a->layer, b->layer)
		?: work_accounts_compare_text(a->operation, b->operation) ?: work_accounts_compare_text(a->label, b->label);
}

COMPARATOR(compare_entries, struct run_site *const, work_compare_nodes(*x, *y))

/*
 * Finds the sites that tell the work of an execution: owners is [site_count], all 0. Attached
 * engines tell the whole of a node's work on one of its threads; the others have sites with the
 * same operation and name and no counts at all: parts. -ENOMEM.
 */
static int find_owners(uint8_t *owners, const struct run *run)
{
	SCOPED const struct run_site **told = calloc(run->site_count + 1, sizeof(*told));
	size_t count = 0;

	if (!told)
		return -ENOMEM;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].flags & WORK) {
			owners[i] = WORK_OWN;
			told[count++] = &run->sites[i];
		}
	qsort(told, count, sizeof(*told), compare_entries);
	for (size_t i = 0; i < run->site_count; i++) {
		const struct run_site *site = &run->sites[i];
		if (!(site->flags & COUNTS) && site->operation &&
			bsearch(&site, told, count, sizeof(*told), compare_entries))
			owners[i] = WORK_PART;
	}
	return 0;
}

/* Notes whose work goes on when a command of a queue has ended. */
static void work_accounts_tell(const uint8_t *owners, const struct run *run, struct work_told *told,
	const struct walk_frame *frame)
{
	bool is_known = work_accounts_owner_of(owners, run, told, frame) != WORK_UNKNOWN;

	told->brick = is_known ? frame->brick : RUN_NONE;
	told->layer = run->sites[frame->sample->site].layer;
}

struct work_time {
	uint64_t wall_ns;
	uint64_t until_ns; /* how far that is, in the process being walked */
};

/*
 * The times of a brick in a phase, of its category, and of both in all phases; NULL behind the
 * last.
 */
struct work_times {
	struct work_time *of[5];
};

/* The accounts of bricks and categories, which all others share. */
struct shared {
	struct work_accounts accounts; /* stays first: its address is that of the struct */
	uint32_t lane;
	bool alone;		       /* work_accounts_is_alone(), of that lane */
	unsigned asked;		       /* mask of enum work_asked */
	struct work_times *team_times; /* by key: of selected bricks */
	struct work_told told;
	unsigned users;
	/* of the process that is walked: the time that lanes have in common */
	size_t slots; /* accounts beside these that may have it, too */
	uint32_t process;
	bool threaded;
	int result;
	pthread_t thread;
};

unsigned work_phase(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_frame *frame)
{
	uint32_t step = frame->step;

	if (run->lanes[lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(run, index, lane, frame->index);
	return step == RUN_NONE ? STEP_PHASES : run->steps[step].phase;
}

/* Bricks, then categories: each has one for all phases behind those of its phases. */
static size_t work_accounts_key_of(size_t thing, int phase, int on_device)
{
	return (thing * (WORK_PHASES + 1) + (size_t)phase) * 2 + (on_device != 0);
}

static inline size_t shared_key(
	const struct work_accounts *shared, uint32_t lane, const struct walk_frame *frame)
{
	return work_accounts_key_of(frame->brick,
		(int)work_phase(shared->run, shared->index, lane, frame),
		shared->run->lanes[lane].kind == BRICK_LANE_QUEUE);
}

static inline void work_accounts_count(const struct work_accounts *a, size_t key,
	const struct walk_frame *frame, enum work_owner owner, bool alone)
{
	uint64_t ns = frame->self_ns - frame->off.preempted_ns - frame->off.blocked_ns;
	struct work_account *account = &a->accounts[key];

	if (owner == WORK_UNKNOWN) {
		account->silent++;
		return;
	}
	account->busy_ns += ns;
	account->blocked_ns += frame->off.blocked_ns;
	account->preempted_ns += frame->off.preempted_ns;
	if (alone)
		account->alone_ns += ns;
	if (owner == WORK_OWN) {
		const struct run_site *site = &a->run->sites[frame->sample->site];
		account->told_ns += ns;
		account->count++;
		account->flops += site->flops;
		account->bytes += site->bytes;
		account->without_flops += !(site->flags & BRICK_SITE_HAS_FLOPS);
		account->without_bytes += !(site->flags & BRICK_SITE_HAS_BYTES);
		account->at_most += (site->flags & BRICK_SITE_AT_MOST) != 0;
	}
}

static size_t category_thing(const struct run *run, uint32_t category)
{
	return run->brick_count + 1 + category;
}

/* Finds the accounts in which pieces of a brick in a phase count. */
static void work_accounts_find_times(
	const struct shared *shared, uint32_t brick, int phase, int on_device)
{
	const struct work_accounts *own = &shared->accounts;
	size_t category = category_thing(own->run, own->run->bricks[brick].category);
	struct work_time **to =
		shared->team_times[work_accounts_key_of(brick, phase, on_device)].of;

	if (shared->asked & (WORK_OF_BRICKS | WORK_OF_PHASES))
		*to++ = &own->times[work_accounts_key_of(brick, phase, on_device)];
	if (shared->asked & WORK_OF_PHASES)
		*to++ = &own->times[work_accounts_key_of(category, phase, on_device)];
	if (shared->asked & WORK_OF_ALL) {
		*to++ = &own->times[work_accounts_key_of(brick, WORK_ALL_PHASES, on_device)];
		*to++ = &own->times[work_accounts_key_of(category, WORK_ALL_PHASES, on_device)];
	}
	*to = NULL;
}

/* The accounts of bricks and categories for a piece of a frame; beside: those of other keys. */
static const struct work_times *work_accounts_times_of(const struct shared *shared, uint32_t lane,
	const struct walk_frame *frame, struct work_time **beside)
{
	for (const struct work_accounts *a = shared->accounts.beside; a; a = a->beside)
		if (!a->by_lane) {
			size_t key = a->key(a->context, lane, frame);
			*beside++ = key == SIZE_MAX ? NULL : &a->times[key];
		}
	return &shared->team_times[shared_key(&shared->accounts, lane, frame)];
}

/* AHEAD samples make at most PIECES pieces: each interrupts one and ends one. */
enum { AHEAD = 64, PIECES = 2 * AHEAD + UINT8_MAX + 3 };

enum { THREAD_FROM_SAMPLES = 50000 }; /* fewer are not worth a thread */

struct piece {
	uint64_t begin_ns, end_ns;
	const struct work_times *times;
};

/*
 * The time in which at least one lane of a process was in a piece of work: lanes are walked side by
 * side, so that only the sums so far are kept. Each lane is some pieces ahead of the others; the
 * piece that begins first, of all lanes, is next.
 */
struct team_lane {
	const struct shared *shared;
	struct walk_lane *walk;
	const struct run_lane *lane;
	uint32_t number;
	struct work_told told;
	struct piece pieces[PIECES];
	size_t at, count;
	size_t off;		    /* the first of its times off the CPU that may matter yet */
	uint64_t rest_ns;	    /* of the present piece, the part that has not begun */
	uint64_t begin_ns, end_ns;  /* the next time to unite */
	struct work_time *beside[]; /* [PIECES][shared->slots] */
};

/* Lanes that go on, in a heap: [0] is the first. */
struct lanes {
	struct team_lane **list;
	size_t count;
};

static void on_piece(
	void *context, const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns)
{
	struct team_lane *l = context;
	const struct work_accounts *own = &l->shared->accounts;

	if (end_ns <= begin_ns || !is_counted(own->run, own->index, frame) ||
		work_accounts_owner_of(own->owners, own->run, &l->told, frame) == WORK_UNKNOWN)
		return;
	struct piece *piece = &l->pieces[l->count];
	piece->begin_ns = begin_ns;
	piece->end_ns = end_ns;
	piece->times = work_accounts_times_of(
		l->shared, l->number, frame, &l->beside[l->count * l->shared->slots]);
	l->count++;
}

static void work_accounts_on_command(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct team_lane *l = context;

	work_accounts_tell(l->shared->accounts.owners, l->shared->accounts.run, &l->told, frame);
}

/* Sets begin_ns and end_ns to the next part of the piece on the CPU. False: no more. */
static bool next_part(struct team_lane *l)
{
	const struct run_off_cpu *off = l->lane->off_cpu;
	uint64_t end_ns = l->pieces[l->at].end_ns;

	while (l->rest_ns < end_ns) {
		while (l->off < l->lane->off_cpu_count && off[l->off].end_ns <= l->rest_ns)
			l->off++;
		bool cut = l->off < l->lane->off_cpu_count && off[l->off].begin_ns < end_ns;
		l->begin_ns = l->rest_ns;
		l->end_ns = cut ? off[l->off].begin_ns : end_ns;
		l->rest_ns = cut ? off[l->off].end_ns : end_ns;
		if (l->begin_ns < l->end_ns)
			return true;
	}
	return false;
}

/* Goes on to the lane's next time on the CPU. False: the lane has no more. */
static bool work_accounts_next(struct team_lane *l)
{
	while (!next_part(l)) {
		if (++l->at >= l->count) {
			l->at = l->count = 0;
			while (!l->count)
				if (!walk_lane_next(l->walk, AHEAD))
					return false;
		}
		l->rest_ns = l->pieces[l->at].begin_ns;
	}
	return true;
}

static inline void work_accounts_unite(struct work_time *time, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= time->until_ns)
		return;
	time->wall_ns += end_ns - (begin_ns > time->until_ns ? begin_ns : time->until_ns);
	time->until_ns = end_ns;
}

/* Moves lane i down the heap, if it is later than those below it. */
static void sift(const struct lanes *lanes, size_t i)
{
	struct team_lane **list = lanes->list, *moved = list[i];

	for (size_t child = 2 * i + 1; child < lanes->count; child = 2 * i + 1) {
		if (child + 1 < lanes->count && list[child + 1]->begin_ns < list[child]->begin_ns)
			child++;
		if (moved->begin_ns <= list[child]->begin_ns)
			break;
		list[i] = list[child];
		i = child;
	}
	list[i] = moved;
}

static void work_accounts_drop(struct team_lane *l)
{
	walk_lane_destroy(l->walk);
	free(l);
}

static void work_accounts_merge(struct lanes *lanes, size_t slots)
{
	for (size_t i = lanes->count / 2; i-- > 0;)
		sift(lanes, i);
	while (lanes->count) {
		struct team_lane *first = lanes->list[0];
		struct work_time *const *beside = &first->beside[first->at * slots];
		for (struct work_time *const *of = first->pieces[first->at].times->of; *of; of++)
			work_accounts_unite(*of, first->begin_ns, first->end_ns);
		for (size_t i = 0; i < slots; i++)
			if (beside[i])
				work_accounts_unite(beside[i], first->begin_ns, first->end_ns);
		if (!work_accounts_next(first)) {
			work_accounts_drop(first);
			lanes->list[0] = lanes->list[--lanes->count];
		}
		if (lanes->count)
			sift(lanes, 0);
	}
}

static int work_accounts_add_lane(struct lanes *lanes, const struct shared *shared, uint32_t number)
{
	static const struct walk_ops thread_ops = {.piece = on_piece};
	static const struct walk_ops queue_ops = {
		.piece = on_piece, .end = work_accounts_on_command};
	size_t beside = PIECES * shared->slots;
	struct team_lane *l = malloc(sizeof(*l) + beside * sizeof(struct work_time *));

	if (!l)
		return -ENOMEM;
	l->shared = shared;
	l->number = number;
	l->lane = &shared->accounts.run->lanes[number];
	l->told.brick = RUN_NONE;
	l->at = l->count = l->off = 0;
	l->pieces[0].end_ns = l->rest_ns = 0;
	l->walk = walk_lane_create(shared->accounts.run, shared->accounts.index, number);
	if (!l->walk) {
		free(l);
		return -ENOMEM;
	}
	walk_lane_join(l->walk, l->lane->kind == BRICK_LANE_QUEUE ? &queue_ops : &thread_ops, l);
	if (work_accounts_next(l))
		lanes->list[lanes->count++] = l;
	else
		work_accounts_drop(l);
	return 0;
}

/* True if the process has no other lane of this kind with samples. */
static bool work_accounts_is_alone(const struct run *run, uint32_t lane)
{
	for (uint32_t i = 0; i < run->lane_count; i++)
		if (i != lane && run->lanes[i].process == run->lanes[lane].process &&
			run->lanes[i].kind == run->lanes[lane].kind && run->lanes[i].sample_count)
			return false;
	return true;
}

static int unite_process(const struct shared *shared)
{
	const struct run *run = shared->accounts.run;
	struct lanes lanes = {malloc((run->lane_count + 1) * sizeof(struct team_lane *)), 0};
	int rc = lanes.list ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->lane_count && !rc; i++)
		if (run->lanes[i].process == shared->process && !work_accounts_is_alone(run, i))
			rc = work_accounts_add_lane(&lanes, shared, i);
	if (!rc)
		work_accounts_merge(&lanes, shared->slots);
	while (lanes.count)
		work_accounts_drop(lanes.list[--lanes.count]);
	free(lanes.list);
	return rc;
}

static void *work_accounts_run_thread(void *argument)
{
	struct shared *shared = argument;

	shared->result = unite_process(shared);
	return NULL;
}

static bool is_worth_a_thread(const struct shared *shared)
{
	size_t samples = 0;

	for (uint32_t i = 0; i < shared->accounts.run->lane_count; i++)
		if (shared->accounts.run->lanes[i].process == shared->process &&
			!work_accounts_is_alone(shared->accounts.run, i))
			samples += shared->accounts.run->lanes[i].sample_count;
	return samples >= THREAD_FROM_SAMPLES;
}

/*
 * Kernels of one node may have different keys. Then no account has all of the work that the first
 * kernel states, so both accounts count a split.
 */
static void count_split(struct work_accounts *a, size_t key, enum work_owner owner)
{
	if (owner == WORK_PART && a->told != SIZE_MAX && a->told != key) {
		a->accounts[a->told].split++;
		a->accounts[key].split++;
	}
	if (owner != WORK_PART)
		a->told = owner == WORK_OWN ? key : SIZE_MAX;
}

static void work_accounts_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct shared *shared = context;
	const struct work_accounts *own = &shared->accounts;
	const struct run *run = own->run;
	enum work_owner owner = work_accounts_owner_of(own->owners, run, &shared->told, frame);

	if (run->lanes[shared->lane].kind == BRICK_LANE_QUEUE)
		work_accounts_tell(own->owners, run, &shared->told, frame);
	if (!is_counted(run, own->index, frame))
		return;
	work_accounts_count(own, shared_key(own, shared->lane, frame), frame, owner, shared->alone);
	for (struct work_accounts *a = own->beside; a; a = a->beside) {
		size_t key = a->key(a->context, shared->lane, frame);
		if (key == SIZE_MAX)
			continue;
		work_accounts_count(a, key, frame, owner, shared->alone || a->by_lane);
		if (run->lanes[shared->lane].kind == BRICK_LANE_QUEUE)
			count_split(a, key, owner);
	}
}

static int work_accounts_on_lane(void *context, uint32_t lane)
{
	struct shared *shared = context;

	shared->lane = lane;
	shared->told.brick = RUN_NONE;
	for (struct work_accounts *a = shared->accounts.beside; a; a = a->beside)
		a->told = SIZE_MAX;
	shared->alone = work_accounts_is_alone(shared->accounts.run, lane);
	return 1;
}

/* Adds all but the time, of which some may have been at the same time. */
static void add_account(struct work_account *to, const struct work_account *from)
{
	members_add(to, from, alone_ns, busy_ns, blocked_ns, preempted_ns, told_ns, count, silent,
		flops, bytes, without_flops, without_bytes, at_most, split);
}

static void sum_work(struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	const struct work_account *from =
		&a->accounts[work_accounts_key_of(brick, phase, on_device)];
	size_t category = category_thing(a->run, a->run->bricks[brick].category);

	add_account(&a->accounts[work_accounts_key_of(brick, WORK_ALL_PHASES, on_device)], from);
	add_account(&a->accounts[work_accounts_key_of(category, phase, on_device)], from);
	add_account(&a->accounts[work_accounts_key_of(category, WORK_ALL_PHASES, on_device)], from);
}

static int work_accounts_finish(void *context)
{
	struct work_accounts *shared = &((struct shared *)context)->accounts;

	for (uint32_t b = 0; b < shared->run->brick_count; b++)
		for (int phase = 0; phase < WORK_PHASES; phase++) {
			sum_work(shared, b, phase, 0);
			sum_work(shared, b, phase, 1);
		}
	for (struct work_accounts *a = shared; a; a = a->beside)
		for (size_t i = 0; i < a->count; i++)
			a->accounts[i].wall_ns += a->times[i].wall_ns + a->accounts[i].alone_ns;
	return 0;
}

static void work_accounts_on_process(void *context, uint32_t process)
{
	struct shared *shared = context;

	shared->slots = 0;
	for (uint32_t b = 0; b < shared->accounts.run->brick_count; b++)
		for (int phase = 0; phase < WORK_PHASES; phase++) {
			work_accounts_find_times(shared, b, phase, 0);
			work_accounts_find_times(shared, b, phase, 1);
		}
	for (struct work_accounts *a = &shared->accounts; a; a = a->beside) {
		shared->slots += a != &shared->accounts && !a->by_lane;
		for (size_t i = 0; i < a->count; i++)
			a->times[i].until_ns = 0;
	}
	shared->process = process;
	shared->threaded = is_worth_a_thread(shared) &&
			   !pthread_create(&shared->thread, NULL, work_accounts_run_thread, shared);
}

static int work_accounts_on_process_end(void *context, uint32_t process)
{
	struct shared *shared = context;

	if (!shared->threaded)
		return unite_process(shared);
	pthread_join(shared->thread, NULL);
	return shared->result;
}

/* Feeds all accounts that share them, too. */
static const struct walk_ops shared_ops = {.begin_lane = work_accounts_on_lane,
	.end = work_accounts_on_end,
	.begin_process = work_accounts_on_process,
	.end_process = work_accounts_on_process_end,
	.finish = work_accounts_finish};

static int work_accounts_init_keyed(struct work_accounts *a, const struct walk *walk, size_t count,
	work_key_fn key, void *context)
{
	memset(a, 0, sizeof(*a));
	a->run = walk->run;
	a->index = walk->index;
	a->count = count;
	a->key = key;
	a->context = context;
	a->accounts = calloc(a->count + 1, sizeof(*a->accounts));
	a->times = calloc(a->count + 1, sizeof(*a->times));
	if (a->accounts && a->times)
		return 0;
	free(a->accounts);
	free(a->times);
	memset(a, 0, sizeof(*a));
	return -ENOMEM;
}

int work_accounts_init(
	struct work_accounts *a, struct walk *walk, size_t count, work_key_fn key, void *context)
{
	if (work_accounts_init_keyed(a, walk, count, key, context) < 0)
		return -ENOMEM;
	a->owners = walk->work->owners;
	a->shared = walk->work;
	a->beside = walk->work->beside;
	walk->work->beside = a;
	return 0;
}

void work_accounts_fini(struct work_accounts *a)
{
	struct work_accounts **link = a->shared ? &a->shared->beside : NULL;

	while (link && *link && *link != a)
		link = &(*link)->beside;
	if (link && *link)
		*link = a->beside;
	free(a->accounts);
	free(a->times);
	memset(a, 0, sizeof(*a));
}

const struct work_account *work_of_brick(
	const struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	return &a->accounts[work_accounts_key_of(brick, phase, on_device)];
}

const struct work_account *work_of_category(
	const struct work_accounts *a, uint32_t category, int phase, int on_device)
{
	return &a->accounts[work_accounts_key_of(
		category_thing(a->run, category), phase, on_device)];
}

static struct work_accounts *create_shared(struct walk *walk)
{
	size_t things = category_thing(walk->run, (uint32_t)walk->run->category_count + 1);
	struct shared *shared = calloc(1, sizeof(*shared));
	uint8_t *owners = calloc(walk->run->site_count + 1, 1);
	struct work_times *times =
		calloc(work_accounts_key_of(walk->run->brick_count + 1, 0, 0), sizeof(*times));

	if (!shared || !owners || !times || find_owners(owners, walk->run) < 0 ||
		work_accounts_init_keyed(&shared->accounts, walk,
			work_accounts_key_of(things, 0, 0), NULL, NULL) < 0) {
		free(owners);
		free(times);
		free(shared);
		return NULL;
	}
	shared->accounts.owners = owners;
	shared->team_times = times;
	walk_join(walk, &shared_ops, shared);
	return &shared->accounts;
}

struct work_accounts *work_accounts_get(struct walk *walk, enum work_asked asked)
{
	if (!walk->work)
		walk->work = create_shared(walk);
	if (!walk->work)
		return NULL;
	struct shared *shared = (struct shared *)walk->work;
	shared->asked |= asked;
	shared->users++;
	return walk->work;
}

void work_accounts_put(struct work_accounts *a)
{
	struct shared *shared = (struct shared *)a;

	if (!a || --shared->users)
		return;
	free((void *)a->owners);
	free(shared->team_times);
	work_accounts_fini(a);
	free(shared);
}
