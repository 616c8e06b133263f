/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a file that names none. If the commands that a process launched repeat, each
 * repetition is a step; of a file without commands, the events of its busiest thread. Otherwise the
 * whole file is one step. A wrong step is worse than none, so all conditions of the enum below must
 * hold: layers inside of one step repeat, too, but kernels before and behind all layers do not.
 */
#include "import/imported_steps.h"

#include <stdio.h>
#include "base/order.h"
#include "base/scope.h"

enum {
	FEWEST_STEPS = 3,      /* two repetitions prove nothing */
	FEWEST_COMMANDS = 6,   /* of a step: shorter patterns are loops inside of one */
	SHORTEST_PERCENT = 75, /* of the median length: all steps but the rests at both ends */
	LONGEST_PERCENT = 133,
	ALIKE_PERCENT = 80, /* a step's commands that the next one has, too, in the median ... */
	LEAST_ALIKE_PERCENT = 60, /* ... and in each */
	KINDS_PERCENT = 70,	  /* kinds of commands that occur in every step, or as often */
	FOREIGN_PERCENT = 10, /* of a step: commands outside of all steps, of kinds not in them */
	COVERED_PERCENT = 50, /* commands in steps */
	MOST_TRIED = 32,      /* kinds of commands, because each takes a pass over all */
	NO_TRACK = UINT32_MAX,
};

/* A command or event of the sequence that may repeat. */
struct repeated {
	uint64_t ns;	/* its launch began; if that is not known, the command itself */
	uint32_t kind;	/* index of its name */
	uint32_t track; /* the thread of its launch; NO_TRACK: not known */
};

struct repetition {
	size_t begin, end; /* indices in the sequence */
};

struct repeats {
	ARRAY(struct repeated) sequence; /* by time */
	uint32_t *counts;		 /* by kind, in all of the sequence */
	size_t kinds;			 /* length of `counts` */
	bool are_commands;
	ARRAY(struct repetition) steps; /* what was found last */
	unsigned alike_percent;		/* the median */
};

static void repeats_fini(struct repeats *r)
{
	array_fini(&r->sequence);
	array_fini(&r->steps);
	free(r->counts);
}

COMPARATOR(repeated_compare, struct repeated, ORDER(x->ns, y->ns) ?: ORDER(x->kind, y->kind))
COMPARATOR(repeats_compare_sizes, size_t, ORDER(*x, *y))

/* How many events of the kind lie in each step must be equal: the percentage that is. */
static unsigned repeats_alike(const struct repeats *r, const struct repetition *one,
	const struct repetition *other, int32_t *balance)
{
	size_t differ = 0, all = one->end - one->begin + other->end - other->begin;

	for (size_t i = one->begin; i < one->end; i++)
		balance[r->sequence.items[i].kind]++;
	for (size_t i = other->begin; i < other->end; i++)
		balance[r->sequence.items[i].kind]--;
	for (size_t i = one->begin; i < one->end; i++) {
		int32_t *b = &balance[r->sequence.items[i].kind];
		differ += (size_t)(*b < 0 ? -*b : *b);
		*b = 0;
	}
	for (size_t i = other->begin; i < other->end; i++) {
		int32_t *b = &balance[r->sequence.items[i].kind];
		differ += (size_t)(*b < 0 ? -*b : *b);
		*b = 0;
	}
	return all ? (unsigned)(100 * (all - differ) / all) : 0;
}

/* The median distance of the marks; 0: they are not at regular distances. */
static size_t repeats_regular(const size_t *marks, size_t count, size_t *scratch)
{
	for (size_t i = 0; i + 1 < count; i++)
		scratch[i] = marks[i + 1] - marks[i];
	qsort(scratch, count - 1, sizeof(*scratch), repeats_compare_sizes);
	size_t median = scratch[(count - 1) / 2];
	return scratch[0] * 100 >= median * SHORTEST_PERCENT &&
			       scratch[count - 2] * 100 <= median * LONGEST_PERCENT
		       ? median
		       : 0;
}

/* The kinds that are as frequent as the steps, or more so, are most of all kinds. */
static bool repeats_has_most_kinds(const struct repeats *r, size_t count)
{
	size_t frequent = 0, all = 0;

	for (size_t k = 0; k < r->kinds; k++) {
		all += r->counts[k] != 0;
		frequent += r->counts[k] >= count;
	}
	return frequent * 100 >= all * KINDS_PERCENT;
}

/*
 * Lays steps of about `median` commands between marks, and moves all begins back as far as the same
 * commands stand before them. A last part that is too short is no step.
 */
static int repeats_lay(struct repeats *r, const size_t *marks, size_t count, size_t median)
{
	const struct repeated *s = r->sequence.items;
	size_t back = 0, end = r->sequence.count;

	r->steps.count = 0;
	for (bool same = true; same && back < marks[0];) {
		for (size_t i = 1; i < count && same; i++)
			same = s[marks[i] - back - 1].kind == s[marks[0] - back - 1].kind;
		back += same;
	}
	for (size_t i = 0; i < count; i++) {
		struct repetition step = {
			marks[i] - back, i + 1 < count ? marks[i + 1] - back : end};
		if (i + 1 == count && step.end - step.begin > median * LONGEST_PERCENT / 100)
			step.end = step.begin + median;
		if (i + 1 == count && (step.end - step.begin) * 100 < median * SHORTEST_PERCENT)
			break;
		if (array_push(&r->steps, step))
			return -ENOMEM;
	}
	return 0;
}

/* True if the steps are alike. Sets the percentage to which neighbours are alike. */
static bool repeats_hold(struct repeats *r, size_t median, int32_t *balance, size_t *scratch)
{
	size_t count = r->steps.count, foreign = 0;

	if (count < FEWEST_STEPS)
		return false;
	size_t first = r->steps.items[0].begin, end = r->steps.items[count - 1].end;
	if ((end - first) * 100 < r->sequence.count * COVERED_PERCENT)
		return false;
	for (size_t i = first; i < end; i++)
		balance[r->sequence.items[i].kind] = 1;
	for (size_t i = 0; i < r->sequence.count; i++)
		foreign += !balance[r->sequence.items[i].kind];
	for (size_t i = first; i < end; i++)
		balance[r->sequence.items[i].kind] = 0;
	if (foreign * 100 > median * FOREIGN_PERCENT)
		return false;
	for (size_t i = 0; i + 1 < count; i++)
		scratch[i] = repeats_alike(r, &r->steps.items[i], &r->steps.items[i + 1], balance);
	qsort(scratch, count - 1, sizeof(*scratch), repeats_compare_sizes);
	r->alike_percent = (unsigned)scratch[(count - 1) / 2];
	return scratch[0] >= LEAST_ALIKE_PERCENT && r->alike_percent >= ALIKE_PERCENT;
}

/*
 * Looks for the kind of command that occurs once in each step, and leaves the steps in r->steps;
 * none there: nothing repeats. Of kinds that will do, the most frequent one has the steps, and of
 * these the earliest. -ENOMEM.
 */
static int repeats_find(struct repeats *r)
{
	size_t n = r->sequence.count, best = 0, best_kind = 0;
	SCOPED size_t *from = calloc(r->kinds + 1, sizeof(*from));
	SCOPED size_t *places = calloc(n + 1, sizeof(*places));
	SCOPED size_t *scratch = calloc(n + 1, sizeof(*scratch));
	SCOPED int32_t *balance = calloc(r->kinds + 1, sizeof(*balance));

	if (!from || !places || !scratch || !balance)
		return -ENOMEM;
	for (size_t k = 0; k < r->kinds; k++)
		from[k + 1] = from[k] + r->counts[k];
	for (size_t i = 0; i < n; i++)
		places[from[r->sequence.items[i].kind]++] = i;
	for (size_t k = r->kinds; k--;)
		from[k] -= r->counts[k];
	for (size_t tried = 0, k = 0; k < r->kinds; k++) {
		size_t count = r->counts[k];
		const size_t *marks = places + from[k];
		if (count < FEWEST_STEPS || count * FEWEST_COMMANDS > n || count < best ||
			(count == best && marks[0] >= places[from[best_kind]]))
			continue;
		size_t median = repeats_regular(marks, count, scratch);
		if (median < FEWEST_COMMANDS || !repeats_has_most_kinds(r, count) ||
			++tried > MOST_TRIED)
			continue;
		if (repeats_lay(r, marks, count, median))
			return -ENOMEM;
		if (!repeats_hold(r, median, balance, scratch))
			continue;
		best = count;
		best_kind = k;
	}
	r->steps.count = 0;
	if (!best)
		return 0;
	const size_t *marks = places + from[best_kind];
	size_t median = repeats_regular(marks, best, scratch);
	if (repeats_lay(r, marks, best, median))
		return -ENOMEM;
	repeats_hold(r, median, balance, scratch);
	return 0;
}

/* The track with the largest weight. */
static size_t steps_busiest(const uint64_t *weights, size_t count)
{
	size_t most = 0;

	for (size_t t = 0; t < count; t++)
		most = weights[t] > weights[most] ? t : most;
	return most;
}

/*
 * Collects the commands of the device and process that has most; without any command, the events of
 * the thread. -ENOMEM.
 */
static int steps_collect(const struct imported *im, size_t thread, struct repeats *r)
{
	SCOPED uint64_t *commands = calloc(im->tracks.count + 1, sizeof(*commands));

	if (!commands)
		return -ENOMEM;
	for (size_t i = 0; i < im->events.count; i++)
		if (im->events.items[i].is_command)
			commands[im->events.items[i].track]++;
	size_t most = steps_busiest(commands, im->tracks.count);
	const struct imported_track *queue = &im->tracks.items[most];
	r->are_commands = commands[most];
	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		const struct imported_track *t = &im->tracks.items[e->track];
		struct repeated one = {e->begin, e->name, e->track};
		if (r->are_commands ? !e->is_command || t->process != queue->process ||
					      t->device != queue->device
				    : e->track != thread || im->names.items[e->name].is_python)
			continue;
		if (e->is_command) {
			const struct import_launch *launch =
				e->link ? &im->launched.items[e->link - 1] : NULL;
			one.track = NO_TRACK;
			if (launch) {
				one.ns = launch->begin;
				one.track = launch->track;
			}
		}
		if (array_push(&r->sequence, one))
			return -ENOMEM;
	}
	array_sort(&r->sequence, repeated_compare);
	r->kinds = im->names.count;
	r->counts = calloc(r->kinds + 1, sizeof(*r->counts));
	for (size_t i = 0; r->counts && i < r->sequence.count; i++)
		r->counts[r->sequence.items[i].kind]++;
	return r->counts ? 0 : -ENOMEM;
}

/* Makes a step of each repetition: from the begin of the outermost event of the thread that holds
 * the first launch and none of the step before, to the begin of the next step. */
static void steps_times(const struct imported *im, const struct repeats *r, size_t thread,
	struct imported_event *steps)
{
	const struct repeated *s = r->sequence.items;
	size_t count = r->steps.count;

	for (size_t i = 0; i < count; i++)
		steps[i].begin = s[r->steps.items[i].begin].ns;
	size_t end = r->steps.items[count - 1].end;
	uint64_t last = end < r->sequence.count ? s[end].ns : s[end - 1].ns + 1;
	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		uint64_t ns =
			e->is_command && e->link ? im->launched.items[e->link - 1].begin : e->begin;
		/* the last step ends with its commands */
		if ((e->is_command || e->track == thread) && !e->is_open &&
			end == r->sequence.count && ns >= s[r->steps.items[count - 1].begin].ns &&
			ns <= s[end - 1].ns && e->end > last)
			last = e->end;
		if (e->is_command || e->is_open || e->track != thread)
			continue;
		size_t k = BISECT(j, 0, count, s[r->steps.items[j].begin].ns < e->begin);
		if (k == count || e->end < s[r->steps.items[k].begin].ns)
			continue;
		size_t first = r->steps.items[k].begin;
		if ((!first || e->begin > s[first - 1].ns) && e->begin < steps[k].begin)
			steps[k].begin = e->begin;
	}
	for (size_t i = 0; i < count; i++)
		steps[i].end = i + 1 < count ? steps[i + 1].begin : last;
}

/* Layers look like steps where the file begins and ends inside of one step. They differ in number.
 */
static bool steps_are_layers(
	const struct imported *im, const struct imported_event *steps, size_t count)
{
	size_t differ = 0;
	SCOPED uint64_t *layers =
		calloc(count, sizeof(*layers)); /* by step: a set of numbers mod 64 */

	if (!layers)
		return true;
	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		int layer = im->names.items[e->name].layer;
		size_t k = BISECT(j, 0, count, steps[j].begin <= e->begin);
		if (layer >= 0 && !e->is_command && k && e->begin < steps[k - 1].end)
			layers[k - 1] |= UINT64_C(1) << layer % 64;
	}
	for (size_t i = 0; i + 1 < count; i++)
		differ += 2 * __builtin_popcountll(layers[i] & layers[i + 1]) <
			  __builtin_popcountll(layers[i] | layers[i + 1]);
	return 2 * differ >= count;
}

/* Puts the steps in front of all events, so that they hold events that are as long. */
static int steps_insert(struct imported *im, const struct imported_event *steps, size_t count)
{
	size_t before = im->events.count;

	if (array_append(&im->events, steps, count))
		return -ENOMEM;
	memmove(im->events.items + count, im->events.items, before * sizeof(*steps));
	memcpy(im->events.items, steps, count * sizeof(*steps));
	return 0;
}

static int steps_detect(struct imported *im, size_t thread, uint32_t name)
{
	SCOPED_BY(repeats_fini) struct repeats r = {0};
	int error = steps_collect(im, thread, &r);

	if (!error && r.sequence.count)
		error = repeats_find(&r);
	if (error || !r.steps.count)
		return error;
	size_t count = r.steps.count;
	/* the thread that launches the first command of a step */
	uint32_t track = r.sequence.items[r.steps.items[count / 2].begin].track;
	if (track != NO_TRACK && !im->tracks.items[track].is_queue)
		thread = track;
	SCOPED struct imported_event *steps = calloc(count, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	steps_times(im, &r, thread, steps);
	for (size_t i = 0; i < count; i++) {
		steps[i].track = (uint32_t)thread;
		steps[i].name = name;
	}
	if (steps_are_layers(im, steps, count))
		return 0;
	snprintf(im->about_steps, sizeof(im->about_steps),
		"steps.detected=nothing names them: detected, because %zu sequences of about %zu "
		"%s "
		"repeat, %u %% alike\n",
		count, (r.steps.items[count - 1].end - r.steps.items[0].begin) / count,
		r.are_commands ? "commands" : "events", r.alike_percent);
	return steps_insert(im, steps, count);
}

/* The thread that launched all commands, of which the file has no event. */
static int steps_unseen_thread(struct imported *im)
{
	const struct imported_track *queue = &im->tracks.items[im->events.items[0].track];
	int thread = imported_thread(im, im->processes.items[queue->process].pid, 0);

	if (thread < 0)
		return thread;
	struct imported_track *host = &im->tracks.items[thread];
	snprintf(host->name, sizeof(host->name), "host (not in the file)");
	host->is_unseen = true;
	return thread;
}

int imported_steps_add(struct imported *im, uint64_t first, uint64_t last, bool *has_open)
{
	SCOPED uint64_t *weights = calloc(im->tracks.count + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	if (im->queues_are_threads) /* a recording of ours, which is as it was */
		return 0;
	for (size_t i = 0; i < im->events.count; i++) {
		const struct imported_event *e = &im->events.items[i];
		if (brick_is_step(im->names.items[e->name].brick))
			return 0;
		if (!e->is_command)
			weights[e->track] += e->link ? im->events.count : 1;
	}
	if (!im->events.count)
		return 0;
	size_t thread = steps_busiest(weights, im->tracks.count);
	if (!weights[thread]) {
		int unseen = steps_unseen_thread(im);
		if (unseen < 0)
			return unseen;
		thread = (size_t)unseen;
	}
	int name = imported_name(
		im, &(struct import_text){IMPORT_BRICK, "Step", "OtherStep", .layer = -1});
	if (name < 0)
		return name;
	int error = steps_detect(im, thread, (uint32_t)name);
	if (error || *im->about_steps)
		return error;
	snprintf(im->about_steps, sizeof(im->about_steps),
		"steps.none=the file has none: all of it is one step%s\n",
		im->tracks.items[thread].is_unseen ? ", of a host that it does not show" : "");
	/* what never ended ends with the step, which would not be answered if it had no end */
	for (size_t i = 0; i < im->events.count; i++) {
		struct imported_event *e = &im->events.items[i];
		if (e->track != thread || !e->is_open)
			continue;
		e->end = last;
		e->is_open = false;
		has_open[im->tracks.items[thread].process] = true;
	}
	const struct imported_event step = {
		.begin = first, .end = last, .track = (uint32_t)thread, .name = (uint32_t)name};
	return steps_insert(im, &step, 1);
}
