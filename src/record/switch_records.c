/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel reports the intervals of all followed processes together; this file sorts them by
 * session. Recording stops and goes on for all processes together, too, because their events are
 * copies of one another. A stop closes the events: disabled ones would still cost a third, as the
 * kernel looks at them at each switch. Resuming opens new events for all threads of the processes
 * that have a session.
 */
#include "record/switch_records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/number.h"
#include "base/order.h"
#include "lib/drain/neighbours.h"
#include "lib/sys/switches.h"
#include "record/process.h"
#include "record/watched_session.h"

/* The budget: a leaky bucket. */

#define SHARE 0.002	     /* of the CPUs' time that recording may take (brick-record(1)) */
#define PAUSE_NS 1000000000  /* the first pause */
#define AT_ONCE_NS 2e6	     /* the largest debt, per CPU */
#define UNMEASURED_NS 4000   /* of one interval: more than it costs anywhere */
#define LASTS_NS 2000000000u /* recording that lasts longer makes the next pause short again */

enum {
	MAX_DOUBLINGS = 6,  /* of PAUSE_NS: 64 s, "up to a minute" in brick-record(1) */
	MAX_MS = 1000,	    /* the longest forecast of switch_budget_spend() */
	RATED_NS = 1000000, /* the shortest time that has a rate */
};

/* Intervals per second in unrated_ns, which counts as RATED_NS at least. */
static uint64_t switch_rate(const struct switch_budget *b)
{
	uint64_t ns = b->unrated_ns > RATED_NS ? b->unrated_ns : RATED_NS;

	return number_of_double((double)b->unrated * 1e9 / (double)ns);
}

static double limit_ns(unsigned cpus)
{
	return AT_ONCE_NS * cpus;
}

static uint64_t each_ns(const struct switch_budget *b)
{
	return b->each_ns ? b->each_ns : UNMEASURED_NS;
}

static uint32_t ms_until(double ns)
{
	double ms = ns / 1e6;

	return ms < 1 ? 1 : ms < MAX_MS ? (uint32_t)ms : MAX_MS;
}

uint32_t switch_budget_spend(
	struct switch_budget *b, uint64_t times, unsigned cpus, uint64_t now_ns)
{
	uint64_t since_ns = now_ns > b->at_ns ? now_ns - b->at_ns : 0;
	double passed_ns = since_ns ? (double)since_ns : 1;
	double more_ns = (double)times * (double)each_ns(b) - SHARE * cpus * passed_ns;

	b->debt_ns = b->debt_ns + more_ns > 0 ? b->debt_ns + more_ns : 0;
	b->unrated += times;
	b->unrated_ns += since_ns;
	if (b->unrated_ns >= RATED_NS) {
		if (more_ns > 0) /* the rate that causes a debt, not that of a quiet moment */
			b->per_s = switch_rate(b);
		b->unrated = b->unrated_ns = 0;
	}
	b->at_ns += since_ns;
	if (b->debt_ns <= 0 && now_ns - b->resumed_ns > LASTS_NS)
		b->stops = 0;
	if (b->debt_ns > limit_ns(cpus))
		return 0;
	return more_ns > 0 ? ms_until((limit_ns(cpus) - b->debt_ns) * passed_ns / more_ns) : MAX_MS;
}

bool switch_budget_measured(struct switch_budget *b, uint64_t measured_ns, unsigned cpus)
{
	b->debt_ns *= (double)measured_ns / (double)each_ns(b);
	b->each_ns = measured_ns;
	return b->debt_ns > limit_ns(cpus);
}

uint64_t switch_budget_stop(struct switch_budget *b, uint64_t now_ns)
{
	unsigned doublings = b->stops < MAX_DOUBLINGS ? b->stops : MAX_DOUBLINGS;

	b->per_s = b->per_s ? b->per_s : switch_rate(b);
	b->stops++;
	b->debt_ns = 0;
	return now_ns + ((uint64_t)PAUSE_NS << doublings);
}

void switch_budget_resume(struct switch_budget *b, uint64_t now_ns)
{
	b->at_ns = b->resumed_ns = now_ns;
	b->unrated = b->unrated_ns = 0;
}

/*
 * The cost of an interval.
 *
 * The measuring thread and its partner are new threads: only they are pinned to one CPU, and only
 * their CPU time counts. Only the measuring thread is ever recorded, so that a round has one
 * recorded interval.
 */

struct pair {
	int to[2];   /* pipe to the partner */
	int from[2]; /* pipe from the partner */
	pthread_t partner;
	clockid_t partners_clock; /* CPU time of the partner */
	double *more_ns;	  /* [blocks]; see switch_cost_measure() */
	int blocks;
	int error; /* the result of switch_cost_measure() */
};

static void *switch_records_answer(void *context)
{
	const struct pair *p = context;
	char byte;

	while (read(p->to[0], &byte, 1) == 1 && write(p->from[1], &byte, 1) == 1)
		;
	return NULL;
}

/* CPU time of a round in ns, the mean of SWITCH_COST_ROUNDS; 0: a pipe failed. */
static double time_rounds(const struct pair *p)
{
	char byte = 0;
	uint64_t begin = 0;

	for (int i = -1; i < SWITCH_COST_ROUNDS; i++) { /* the first is not timed */
		if (write(p->to[1], &byte, 1) != 1 || read(p->from[0], &byte, 1) != 1)
			return 0;
		if (i < 0)
			begin = thread_cpu_ns() + clock_ns(p->partners_clock);
	}
	uint64_t end = thread_cpu_ns() + clock_ns(p->partners_clock);
	return (double)(end - begin) / SWITCH_COST_ROUNDS;
}

static int switch_records_block(struct pair *p, double *more_ns)
{
	struct brick__switches *s = NULL;
	double plain = time_rounds(p);
	int error = brick__switches_create(&s);

	if (!error)
		error = brick__switches_join(s);
	if (!error)
		*more_ns = time_rounds(p) - plain;
	brick__switches_close(s);
	return error;
}

static void measure_pinned(struct pair *p)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 || cpu >= CPU_SETSIZE ? 0 : (size_t)cpu, &one);
	p->error = -EAGAIN;
	if (sched_setaffinity(0, sizeof(one), &one) ||
		pthread_create(&p->partner, NULL, switch_records_answer, p))
		return;
	p->error = pthread_getcpuclockid(p->partner, &p->partners_clock) ? -EAGAIN : 0;
	for (int i = 0; i < p->blocks && !p->error; i++)
		p->error = switch_records_block(p, &p->more_ns[i]);
	close(p->to[1]); /* the partner reads its end */
	p->to[1] = -1;
	pthread_join(p->partner, NULL);
}

static void *switch_records_measure(void *context)
{
	measure_pinned(context);
	return NULL;
}

static void close_ends(const int *ends)
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

int switch_cost_measure(double *more_ns, int blocks)
{
	struct pair p = {
		{-1, -1}, {-1, -1}, .more_ns = more_ns, .blocks = blocks, .error = -EAGAIN};
	pthread_t thread;

	if (!pipe2(p.to, O_CLOEXEC) && !pipe2(p.from, O_CLOEXEC) &&
		!pthread_create(&thread, NULL, switch_records_measure, &p))
		pthread_join(thread, NULL);
	close_ends(p.to);
	close_ends(p.from);
	if (!p.error)
		qsort(more_ns, (size_t)blocks, sizeof(*more_ns), order_doubles);
	return p.error;
}

static uint64_t switch_records_whole(double ns)
{
	return ns > 1 ? (uint64_t)ns : 1;
}

void switch_cost_account(struct off_cpu_account *account, int blocks)
{
	double more_ns[SWITCH_COST_BLOCKS];

	if (account->source != OFF_CPU_SWITCHES || switch_cost_measure(more_ns, blocks))
		return;
	account->cost_low_ns = switch_records_whole(more_ns[blocks / 4]);
	account->cost_ns = switch_records_whole(more_ns[blocks / 2]);
	account->cost_high_ns = switch_records_whole(more_ns[blocks * 3 / 4]);
}

/* Reading and handing over the intervals. */

enum {
	LOOK_MS = 100,	   /* the longest sleep while the program has switches */
	IDLE_MS = 1000,	   /* the longest sleep otherwise */
	TRY_MS = 2,	   /* the sleep after recording was resumed */
	MAX_UNTOLD = 16,   /* untold intervals, and 1 % of the told ones, that are tolerated */
	FULL_PERCENT = 25, /* rings that are so full are read */
};

/* One reading of the kernel's rings. */
struct taking {
	struct watched *sessions;
	struct watched *last;	     /* the session of the last interval; NULL: it had none */
	uint64_t lost, told, untold; /* to be added to struct switches */
};

/* Replace *tid by the thread's number in the session's own PID namespace. 0: not known. */
static int name_thread(struct taking *t, const struct watched *s, uint32_t *tid)
{
	uint64_t own = s->is_elsewhere ? hashmap_get(&s->own_tid_of, *tid) : *tid;

	t->told += s->is_elsewhere && own != HASHMAP_NONE;
	t->untold += own == HASHMAP_NONE;
	*tid = (uint32_t)own;
	return own != HASHMAP_NONE;
}

static void switch_records_take(void *context, const struct off_cpu *interval)
{
	struct taking *t = context;
	struct watched *s = t->last;
	struct sink_off_cpu one = {
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.tid = interval->tid,
		.preempted = interval->why == OFF_CPU_PREEMPTED,
	};

	if (!s || (uint32_t)s->process.pid != interval->pid) {
		s = t->sessions;
		while (s && (s->ending || (uint32_t)s->process.pid != interval->pid))
			s = s->next;
		t->last = s;
	}
	if (s && name_thread(t, s, &one.tid) && array_push(&s->off_cpu, one))
		t->lost++;
}

/* Learn the own numbers of threads in other PID namespaces, which /proc has while they live. */
static void learn_threads(struct switches *of, struct watched *sessions)
{
	for (struct watched *s = sessions; s; s = s->next)
		if (s->is_elsewhere && !s->ending &&
			process_own_tids(&s->own_tid_of, s->process.pid))
			of->lost++;
}

static void switch_records_read_all(
	struct switches *of, struct watched *sessions, struct encoder *e, uint64_t now_ns)
{
	struct taking t = {.sessions = sessions};

	/* its result is ignored: off_cpu_lost() has its own losses */
	off_cpu_read(of->recorder, now_ns, switch_records_take, &t);
	for (struct watched *s = sessions; s; s = s->next) {
		size_t count = s->off_cpu.count;
		hashmap_clear(
			&s->own_tid_of); /* the kernel may reuse a number for another thread */
		if (!count)
			continue;
		if (encoder_off_cpu(e, s->drain, s->off_cpu.items, count))
			t.lost += count;
		s->off_cpu.items = NULL;
		s->off_cpu.count = s->off_cpu.capacity = 0;
	}
	learn_threads(of, sessions);
	of->told += t.told;
	of->untold += t.untold;
	of->lost += t.lost + t.untold;
	of->read_ns = now_ns;
}

void switches_follow(struct switches *s, pid_t program, enum off_cpu_when when)
{
	s->when = when;
	s->budget.at_ns = s->read_ns = monotonic_ns();
	if (when != OFF_CPU_NEVER)
		s->error = off_cpu_create(&s->recorder, program);
}

void switches_follow_running(struct switches *s, enum off_cpu_when when)
{
	s->when = when;
	s->budget.at_ns = s->read_ns = monotonic_ns();
	if (when != OFF_CPU_NEVER)
		s->error = off_cpu_create_empty(&s->recorder);
}

/* Only a budget needs a prompt wake-up; without one the turns' own times suffice. */
static void wait_for_many(const struct switches *s)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (s->recorder && s->when == OFF_CPU_IF_CHEAP)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, off_cpu_wait_fd(s->recorder), &event);
}

void switches_wait_with(struct switches *s, int epoll_fd)
{
	s->epoll_fd = epoll_fd;
	wait_for_many(s);
}

void switches_enter(struct switches *s, pid_t pid)
{
	int error = s->recorder ? off_cpu_add(s->recorder, pid) : 0;

	if (!error) {
		wait_for_many(s);
		return;
	}
	off_cpu_destroy(s->recorder);
	s->recorder = NULL;
	s->error = error;
}

static bool is_stopped(const struct switches *s)
{
	return s->gap_count && s->gaps[s->gap_count - 1].end_ns == UINT64_MAX;
}

/* The CPUs that the processes can use at a time: at least 1, and no more than recording threads. */
static unsigned cpus_used(const struct watched *sessions)
{
	unsigned all = drain_cpus_online(), used = 0;

	for (const struct watched *s = sessions; s; s = s->next) {
		cpu_set_t set;
		if (s->ending || sched_getaffinity(s->process.pid, sizeof(set), &set))
			continue;
		unsigned cpus = (unsigned)CPU_COUNT(&set), threads = drain_lanes(s->drain);
		used += cpus < threads ? cpus : threads;
	}
	return used < 1 || !all ? 1 : used < all ? used : all;
}

/* Stop recording and open a gap. If `gaps` is full, the last gap is extended instead. */
static void switch_records_stop(struct switches *s, uint64_t now_ns)
{
	off_cpu_stop(s->recorder);
	s->seen = off_cpu_seen(s->recorder);
	s->resume_ns = switch_budget_stop(&s->budget, now_ns);
	const struct off_cpu_gap gap = {
		now_ns - OFF_CPU_VISIBLE_NS, UINT64_MAX, s->budget.per_s, s->budget.each_ns};

	if (s->gap_count < OFF_CPU_GAPS)
		s->gaps[s->gap_count++] = gap;
	else
		s->gaps[OFF_CPU_GAPS - 1].end_ns = UINT64_MAX;
}

/* Follow the processes that have a session, and all that they start. Errors: off_cpu_resume(). */
static int follow_running(struct switches *s, struct watched *sessions)
{
	ARRAY(pid_t) pids = {0};
	int error = 0;

	for (struct watched *w = sessions; w; w = w->next) {
		w->followed = 1;
		if (!w->ending && !error)
			error = array_push(&pids, w->process.pid);
	}
	if (!error)
		error = off_cpu_resume(s->recorder, pids.items, pids.count);
	array_fini(&pids);
	return error;
}

/*
 * If it is time, try to resume recording and close the last gap. Returns the ms until the next try.
 */
static uint32_t switch_records_resume(struct switches *s, struct watched *sessions, uint64_t now_ns)
{
	if (now_ns < s->resume_ns) {
		uint64_t ms = (s->resume_ns - now_ns) / 1000000 + 1;
		return ms < IDLE_MS ? (uint32_t)ms : IDLE_MS;
	}
	int error = follow_running(s, sessions);
	if (error) {
		/* -ESRCH: a new process may come. The kernel would repeat any other refusal */
		s->resume_ns = error == -ESRCH ? now_ns + IDLE_MS * 1000000ull : UINT64_MAX;
		return IDLE_MS;
	}
	now_ns = monotonic_ns();
	s->gaps[s->gap_count - 1].end_ns = s->read_ns = now_ns;
	switch_budget_resume(&s->budget, now_ns);
	wait_for_many(s);
	return TRY_MS;
}

void switches_hold(struct switches *s, bool held)
{
	if (!s->recorder || s->is_held == held)
		return;
	s->is_held = held;
	s->is_to_follow = !held;
	s->was_held = true;
	if (held && !is_stopped(s)) {
		off_cpu_stop(s->recorder);
		s->seen = off_cpu_seen(s->recorder);
	}
}

/* Recording is switched on: follow processes as soon as there are any. Returns ms to the next try.
 */
static uint32_t switch_records_follow(struct switches *s, struct watched *sessions, uint64_t now_ns)
{
	int error = follow_running(s, sessions);

	s->is_to_follow = error == -ESRCH;
	if (s->is_to_follow)
		return LOOK_MS;
	if (error) {
		off_cpu_destroy(s->recorder);
		s->recorder = NULL;
		s->error = error;
		return IDLE_MS;
	}
	now_ns = monotonic_ns();
	s->read_ns = now_ns;
	if (is_stopped(s))
		s->gaps[s->gap_count - 1].end_ns = now_ns;
	switch_budget_resume(&s->budget, now_ns);
	wait_for_many(s);
	return TRY_MS;
}

/*
 * True if the kernel's records, which have our numbers, cannot be assigned: a session's process is
 * not known by our number, or too many threads are not.
 */
static bool is_any_hidden(const struct switches *s, const struct watched *sessions)
{
	while (sessions && sessions->process.pid)
		sessions = sessions->next;
	return sessions || s->untold > MAX_UNTOLD + s->told / 100;
}

/*
 * True if a new session's process may not be followed: recording was stopped before, so that its
 * parent may not be followed, either. Marks all sessions as followed.
 */
static bool misses_one(const struct switches *s, struct watched *sessions)
{
	int misses = 0;

	for (struct watched *w = sessions; w; w = w->next) {
		misses |= !w->followed && !w->ending && (s->gap_count || s->was_held);
		w->followed = 1;
	}
	return misses;
}

/*
 * Whether a debt that is too large stays so by the measured cost. The first call measures it; as
 * long as that fails, the answer is false.
 */
static bool costs_too_much(struct switches *s, unsigned cpus)
{
	struct off_cpu_account cost = {.source = OFF_CPU_SWITCHES};

	if (s->budget.each_ns)
		return true;
	switch_cost_account(&cost, SWITCH_COST_QUICK);
	return cost.cost_ns && switch_budget_measured(&s->budget, cost.cost_ns, cpus);
}

/* Book new switches in the budget. Returns the ms until it may be time to stop; 0: stop now. */
static uint32_t switch_records_spend(
	struct switches *s, const struct watched *sessions, uint64_t now_ns)
{
	unsigned cpus = cpus_used(sessions);
	/* `seen` may go back: a record of losses waits as larger than the losses that it reports */
	uint64_t seen = off_cpu_seen(s->recorder);
	uint64_t times = seen > s->seen ? (seen - s->seen) / 2 : 0;

	uint32_t ms = switch_budget_spend(&s->budget, times, cpus, now_ns);

	s->seen += 2 * times;
	if (!ms && s->when == OFF_CPU_IF_CHEAP && costs_too_much(s, cpus))
		return 0;
	return !times ? IDLE_MS : ms && ms < LOOK_MS ? ms : LOOK_MS;
}

/*
 * Has a thread begun to record? What was recorded before is read then, so that losses of that time
 * are told from later ones.
 */
static bool has_begun(
	struct switches *s, struct watched *sessions, struct encoder *e, uint64_t now_ns)
{
	if (s->has_begun)
		return true;
	for (const struct watched *w = sessions; w; w = w->next)
		s->has_begun |= !w->ending && drain_lanes(w->drain);
	if (s->has_begun) {
		switch_records_read_all(s, sessions, e, now_ns);
		off_cpu_begin(s->recorder);
	}
	s->budget.at_ns = now_ns;
	s->seen = off_cpu_seen(s->recorder);
	return false;
}

uint32_t switches_turn(struct switches *s, struct watched *sessions, struct encoder *e,
	uint32_t interval_ms, uint64_t now_ns, int all)
{
	if (s->recorder && is_any_hidden(s, sessions)) {
		off_cpu_destroy(s->recorder);
		s->recorder = NULL;
		s->error = OFF_CPU_ELSEWHERE;
		s->gap_count = 0;
	}
	if (!s->recorder)
		return IDLE_MS;
	learn_threads(s, sessions);
	if (s->is_held)
		return IDLE_MS;
	if (s->is_to_follow)
		return switch_records_follow(s, sessions, now_ns);
	if (is_stopped(s))
		return switch_records_resume(s, sessions, now_ns);
	if (misses_one(s, sessions)) { /* the last gap goes on, up to now */
		off_cpu_stop(s->recorder);
		s->seen = off_cpu_seen(s->recorder);
		if (!s->gap_count)
			return switch_records_follow(s, sessions, now_ns);
		s->gaps[s->gap_count - 1].end_ns = UINT64_MAX;
		s->resume_ns = now_ns;
		return switch_records_resume(s, sessions, now_ns);
	}
	uint64_t filled_ms = (now_ns - s->read_ns) / 1000000u + 1;
	unsigned fill = off_cpu_fill(s->recorder);
	uint64_t half_ms = fill ? filled_ms * (2 * FULL_PERCENT) / fill : IDLE_MS;
	uint32_t next_ms = has_begun(s, sessions, e, now_ns)
				   ? switch_records_spend(s, sessions, now_ns)
				   : LOOK_MS;
	if (all || !next_ms || filled_ms > interval_ms || fill >= FULL_PERCENT)
		switch_records_read_all(s, sessions, e, now_ns);
	else
		half_ms = half_ms > filled_ms ? half_ms - filled_ms : 1;
	if (!next_ms)
		switch_records_stop(s, now_ns);
	return half_ms < 1 ? 1 : half_ms < next_ms ? (uint32_t)half_ms : next_ms;
}

bool switches_fall_back(const struct switches *s)
{
	return s->error || s->gap_count;
}

void switches_account(const struct switches *s, struct off_cpu_account *account)
{
	account->source = s->recorder ? OFF_CPU_SWITCHES : OFF_CPU_UNKNOWN;
	account->error = s->error;
	account->lost = s->recorder ? off_cpu_lost(s->recorder) + s->lost : 0;
	account->cost_low_ns = account->cost_ns = account->cost_high_ns = s->budget.each_ns;
	account->gap_count = s->gap_count;
	for (uint32_t i = 0; i < s->gap_count; i++)
		account->gaps[i] = s->gaps[i];
}

void switches_fini(struct switches *s)
{
	off_cpu_destroy(s->recorder);
	*s = (struct switches){0};
}
