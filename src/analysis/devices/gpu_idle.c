/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a GPU's commands in the order of their begins. Beside them goes a cursor through
 * each thread's samples, with the stack of those that are open, so that all gaps together read each
 * sample once.
 */
#include "analysis/devices/gpu_idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/scope.h"

/* A launch this long loads a kernel: launching takes microseconds, loading milliseconds. */
enum { LOADING_NS = 1000000 };

static const char *const gpu_idle_names[GPU_IDLE_CAUSES] = {
	[GPU_IDLE_BETWEEN] = "between-operators",
	[GPU_IDLE_WORK] = "operator",
	[GPU_IDLE_ALLOCATION] = "allocation",
	[GPU_IDLE_WAIT] = "wait",
	[GPU_IDLE_LOADER] = "data-loader",
	[GPU_IDLE_COMPILATION] = "compilation",
	[GPU_IDLE_LOCK] = "interpreter-lock",
	[GPU_IDLE_PREEMPTED] = "preempted",
	[GPU_IDLE_TRANSFER] = "transfer",
	[GPU_IDLE_COLLECTIVE] = "collective",
	[GPU_IDLE_DEPENDENCY] = "dependency",
	[GPU_IDLE_LAUNCH] = "launch",
	[GPU_IDLE_REPLAY] = "replay",
	[GPU_IDLE_NOTHING] = "nothing-to-do",
	[GPU_IDLE_UNKNOWN] = "unknown",
};

const char *gpu_idle_name(enum gpu_idle_cause cause)
{
	return gpu_idle_names[cause];
}

/* A thread's samples up to some time. */
struct gpu_idle_cursor {
	size_t next;		/* the first sample that has not begun */
	uint32_t open[256];	/* samples that are open, the innermost last */
	uint32_t depth;		/* of `open` */
	uint64_t wait_until_ns; /* end of the waiting after a sample that has ended */
};

struct gpu_idle {
	const struct run *run;
	const struct step_index *index;
	const struct gpu *gpu;
	gpu_idle_fn take;
	void *context;
	uint8_t *of_site; /* [site_count]: enum gpu_idle_cause, or GPU_IDLE_CAUSES */
	struct gpu_idle_cursor **cursors; /* [lane_count]; NULL: not needed so far */
	struct hashmap launches;	  /* by launch: the first span of it */
	bool has_python;
	bool failed;
};

static bool gpu_idle_has_word(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

/*
 * The cause that an innermost sample of a site is; GPU_IDLE_CAUSES: none, it holds others. Calls of
 * drivers have no rules, so their names tell. Frames of compilers are on the stack of compiled
 * code, too: those that compile are told by their files.
 */
static uint8_t gpu_idle_of_site(const struct gpu_idle *g, const struct run_site *site)
{
	static const char *const loading[] = {
		"DataLoading", "enumerate(DataLoader)", "dataloader.py", "_utils/fetch.py", NULL};
	static const char *const compiling[] = {"convert_frame.py", "triton/compiler/compiler.py",
		"codecache.py", "dynamo_timed", "cuModuleLoad", "cuLibraryLoad", "hipModuleLoad",
		"GraphInstantiate", "cuLinkComplete", "nvrtcCompile", "hiprtcCompile",
		"BuildProgram", NULL};
	static const char *const allocating[] = {"cudaMalloc", "cudaFree", "cudaHostAlloc",
		"cudaHostRegister", "cuMemAlloc", "cuMemFree", "cuMemCreate", "cuMemMap",
		"cuMemAddress", "cuMemSetAccess", "hipMalloc", "hipFree", "hipHostMalloc",
		"hipHostAlloc", NULL};
	static const char *const copying[] = {"cudaMemcpy", "cuMemcpy", "hipMemcpy", "InputCopy",
		"OutputCopy", "SplitCopy", "hipMemcpyWithStream", NULL};
	static const char *const launching[] = {
		"LaunchKernel", "LaunchCooperative", "GraphLaunch", "EnqueueNDRange", NULL};
	const struct run_brick *brick = &g->run->bricks[site->brick];
	const char *category = g->run->categories[brick->category].name;
	const char *const names[] = {brick->name, site->operation, site->label};

	switch (g->index->kinds[site->brick]) {
	case BRICK_KIND_WAIT:
		return GPU_IDLE_WAIT;
	case BRICK_KIND_STEP:
		return GPU_IDLE_CAUSES;
	default:
		break;
	}
	if (!strcmp(brick->name, "Compilation") || !strcmp(brick->name, "Recompilation"))
		return GPU_IDLE_COMPILATION;
	for (size_t i = 0; i < 3; i++) {
		if (gpu_idle_has_word(names[i], loading))
			return GPU_IDLE_LOADER;
		if (gpu_idle_has_word(names[i], compiling))
			return GPU_IDLE_COMPILATION;
		if (gpu_idle_has_word(names[i], allocating))
			return GPU_IDLE_ALLOCATION;
		if (gpu_idle_has_word(names[i], copying))
			return GPU_IDLE_TRANSFER;
		if (gpu_idle_has_word(names[i], launching))
			return GPU_IDLE_LAUNCH;
	}
	if (!strcmp(category, "Communication"))
		return GPU_IDLE_COLLECTIVE;
	if (!strcmp(category, "Python") || !strcmp(category, "Module"))
		return GPU_IDLE_BETWEEN;
	return !strcmp(brick->name, "Launch") ? GPU_IDLE_LAUNCH : GPU_IDLE_WORK;
}

static struct gpu_idle_cursor *gpu_idle_cursor_at(struct gpu_idle *g, uint32_t lane, uint64_t ns)
{
	const struct run_lane *l = &g->run->lanes[lane];
	struct gpu_idle_cursor *c = g->cursors[lane];

	if (!c)
		c = g->cursors[lane] = calloc(1, sizeof(*c));
	if (!c) {
		g->failed = true;
		return NULL;
	}
	while (c->next < l->sample_count && l->samples[c->next].begin_ns <= ns) {
		const struct run_sample *sample = &l->samples[c->next];
		c->depth = sample->depth < c->depth ? sample->depth : c->depth;
		if (c->depth < sizeof(c->open) / sizeof(*c->open))
			c->open[c->depth++] = (uint32_t)c->next;
		uint64_t wait_ns = sample->end_ns + sample->wait_ns;
		if (sample->wait_ns && wait_ns > c->wait_until_ns)
			c->wait_until_ns = wait_ns;
		run_lane_passed(l, c->next);
		c->next++;
	}
	while (c->depth && l->samples[c->open[c->depth - 1]].end_ns <= ns)
		c->depth--;
	return c;
}

/* What a thread does at some time, and until when that stays so. */
struct gpu_idle_doing {
	enum gpu_idle_cause cause; /* GPU_IDLE_CAUSES: nothing */
	uint32_t brick;
	bool is_in_step;
	uint64_t until_ns;
};

static struct gpu_idle_doing gpu_idle_doing_at(
	struct gpu_idle *g, uint32_t lane, uint64_t ns, uint64_t end_ns)
{
	struct gpu_idle_doing d = {GPU_IDLE_CAUSES, RUN_NONE, false, end_ns};
	const struct run_lane *l = &g->run->lanes[lane];
	struct gpu_idle_cursor *c = gpu_idle_cursor_at(g, lane, ns);

	if (!c)
		return d;
	if (c->next < l->sample_count && l->samples[c->next].begin_ns < d.until_ns)
		d.until_ns = l->samples[c->next].begin_ns;
	for (uint32_t i = c->depth; i--;) {
		const struct run_sample *sample = &l->samples[c->open[i]];
		uint8_t cause = g->of_site[sample->site];
		/* in a damaged recording a sample may reach beyond the one around it */
		if (sample->end_ns > ns && sample->end_ns < d.until_ns)
			d.until_ns = sample->end_ns;
		d.is_in_step |= cause == GPU_IDLE_CAUSES;
		/* all that a loader or a compiler does is theirs; else the innermost tells */
		if (cause != GPU_IDLE_CAUSES &&
			(d.cause == GPU_IDLE_CAUSES || cause == GPU_IDLE_LOADER ||
				cause == GPU_IDLE_COMPILATION)) {
			d.cause = (enum gpu_idle_cause)cause;
			d.brick = g->run->sites[sample->site].brick;
		}
	}
	if (ns < c->wait_until_ns) {
		d.until_ns = c->wait_until_ns < d.until_ns ? c->wait_until_ns : d.until_ns;
		d.cause = GPU_IDLE_WAIT;
	}
	size_t off = run_off_cpu_from(l, ns);
	if (off < l->off_cpu_count && d.cause != GPU_IDLE_WAIT) {
		const struct run_off_cpu *o = &l->off_cpu[off];
		uint64_t change_ns = o->begin_ns > ns ? o->begin_ns : o->end_ns;
		d.until_ns = change_ns < d.until_ns ? change_ns : d.until_ns;
		if (o->begin_ns <= ns)
			d.cause = o->preempted	  ? GPU_IDLE_PREEMPTED
				  : g->has_python ? GPU_IDLE_LOCK
						  : GPU_IDLE_WAIT;
	}
	return d;
}

static void gpu_idle_take(struct gpu_idle *g, uint64_t begin_ns, uint64_t end_ns,
	enum gpu_idle_cause cause, uint32_t brick)
{
	if (end_ns > begin_ns)
		g->take(g->context, begin_ns, end_ns, cause, brick);
}

/* The host was late: `lane` began to launch at end_ns. before: the command in front of the gap. */
static void gpu_idle_of_host(struct gpu_idle *g, uint32_t lane, const struct run_command *before,
	uint64_t begin_ns, uint64_t end_ns)
{
	const struct run *run = g->run;

	for (uint64_t ns = begin_ns; ns < end_ns && !g->failed;) {
		struct gpu_idle_doing d = gpu_idle_doing_at(g, lane, ns, end_ns);
		uint32_t step = step_index_at(g->index, run, lane, ns);
		const uint32_t others[] = {before ? before->launch_lane : RUN_NONE,
			step == RUN_NONE ? RUN_NONE : run->steps[step].lane};
		for (size_t i = 0; i < 2 && d.cause == GPU_IDLE_CAUSES && !g->failed; i++) {
			if (others[i] == RUN_NONE || others[i] == lane)
				continue;
			struct gpu_idle_doing other =
				gpu_idle_doing_at(g, others[i], ns, d.until_ns);
			other.is_in_step |= d.is_in_step;
			d = other;
		}
		bool is_in_step = d.is_in_step || step != RUN_NONE || !g->index->count;
		if (d.cause == GPU_IDLE_CAUSES)
			d.cause = is_in_step ? GPU_IDLE_BETWEEN : GPU_IDLE_NOTHING;
		gpu_idle_take(g, ns, d.until_ns, d.cause, d.brick);
		ns = d.until_ns;
	}
}

/*
 * True if the device could have begun the command when the one before the gap began, and did not
 * until that had ended: so it had to wait for it.
 */
static bool gpu_idle_waited(
	const struct gpu_idle *g, const struct gpu_span *before, const struct gpu_span *after)
{
	const struct run_command *c = &g->run->commands[after->command];
	const struct run_lane *queue = &g->run->lanes[after->lane];

	if (before->queue == after->queue || !c->launch_end_ns ||
		c->launch_end_ns > before->begin_ns)
		return false;
	return !c->sample || queue->samples[c->sample - 1].end_ns <= before->begin_ns;
}

/* The device had the command from begin_ns on, and began it at end_ns. */
static void gpu_idle_of_device(struct gpu_idle *g, const struct gpu_span *before,
	const struct gpu_span *after, uint64_t begin_ns, uint64_t end_ns)
{
	static const uint8_t settings_up[GPU_WORKS] = {[GPU_COMPUTE] = GPU_IDLE_LAUNCH,
		[GPU_TRANSFER] = GPU_IDLE_TRANSFER,
		[GPU_COLLECTIVE] = GPU_IDLE_COLLECTIVE};
	const struct run *run = g->run;
	const struct run_command *c = &run->commands[after->command];
	uint64_t ns = begin_ns;

	for (uint32_t i = 0; i < c->dependency_count; i++) {
		const struct run_command *other =
			&run->commands[run->dependencies[c->dependency_first + i]];
		uint64_t ended_ns = run_command_sample(run, other)->end_ns;
		if (ended_ns > ns && ended_ns <= end_ns) {
			gpu_idle_take(g, ns, ended_ns, GPU_IDLE_DEPENDENCY, RUN_NONE);
			ns = ended_ns;
		}
	}
	if (ns == begin_ns && gpu_idle_waited(g, before, after)) {
		gpu_idle_take(g, ns, end_ns, GPU_IDLE_DEPENDENCY, RUN_NONE);
		return;
	}
	uint64_t called_ns = c->launch_end_ns < end_ns ? c->launch_end_ns : end_ns;
	if (after->work == GPU_COMPUTE && called_ns > ns &&
		c->launch_end_ns - c->launch_ns >= LOADING_NS) {
		gpu_idle_take(g, ns, called_ns, GPU_IDLE_COMPILATION, RUN_NONE);
		ns = called_ns;
	}
	gpu_idle_take(g, ns, end_ns, (enum gpu_idle_cause)settings_up[after->work], RUN_NONE);
}

static uint64_t gpu_idle_launch_key(const struct run_command *c)
{
	return hash_add(hash_add(0, c->launch_ns), c->launch_lane);
}

static void gpu_idle_gap(struct gpu_idle *g, const struct gpu_span *before,
	const struct gpu_span *after, uint64_t begin_ns, uint64_t end_ns)
{
	const struct run *run = g->run;
	const struct run_command *c =
		after->command == RUN_NONE ? NULL : &run->commands[after->command];
	const struct run_command *earlier =
		before->command == RUN_NONE ? NULL : &run->commands[before->command];

	if (!c || !c->launch_ns) {
		gpu_idle_take(g, begin_ns, end_ns, GPU_IDLE_UNKNOWN, RUN_NONE);
		return;
	}
	if (hashmap_get(&g->launches, gpu_idle_launch_key(c)) < (uint64_t)(after - g->gpu->spans)) {
		gpu_idle_take(g, begin_ns, end_ns, GPU_IDLE_REPLAY, RUN_NONE);
		return;
	}
	uint64_t launch_ns = c->launch_ns < end_ns ? c->launch_ns : end_ns;
	if (launch_ns > begin_ns && c->launch_lane == RUN_NONE)
		gpu_idle_take(g, begin_ns, launch_ns, GPU_IDLE_UNKNOWN, RUN_NONE);
	else if (launch_ns > begin_ns)
		gpu_idle_of_host(g, c->launch_lane, earlier, begin_ns, launch_ns);
	gpu_idle_of_device(g, before, after, launch_ns > begin_ns ? launch_ns : begin_ns, end_ns);
}

static int gpu_idle_walk(struct gpu_idle *g)
{
	const struct gpu *gpu = g->gpu;
	const struct gpu_span *before = NULL; /* of the commands so far, the one that ends last */

	for (size_t i = 0; i < gpu->span_count && !g->failed; i++) {
		const struct gpu_span *span = &gpu->spans[i];
		const struct run_command *c =
			span->command == RUN_NONE ? NULL : &g->run->commands[span->command];
		if (c && c->launch_ns &&
			hashmap_get(&g->launches, gpu_idle_launch_key(c)) == HASHMAP_NONE &&
			hashmap_set(&g->launches, gpu_idle_launch_key(c), i))
			return -ENOMEM;
		if (before && span->begin_ns > before->end_ns) {
			uint64_t begin_ns =
				before->end_ns > gpu->begin_ns ? before->end_ns : gpu->begin_ns;
			uint64_t end_ns =
				span->begin_ns < gpu->end_ns ? span->begin_ns : gpu->end_ns;
			if (end_ns > begin_ns)
				gpu_idle_gap(g, before, span, begin_ns, end_ns);
		}
		if (!before || span->end_ns > before->end_ns)
			before = span;
	}
	return g->failed ? -ENOMEM : 0;
}

int gpu_idle_explain(const struct run *run, const struct step_index *index, const struct gpu *gpu,
	gpu_idle_fn take, void *context)
{
	struct gpu_idle g = {run, index, gpu, take, context, .of_site = malloc(run->site_count + 1),
		.cursors = calloc(run->lane_count + 1, sizeof(*g.cursors)),
		.has_python = run_category_find(run, "Python") != RUN_NONE};
	int rc = g.of_site && g.cursors ? 0 : -ENOMEM;

	for (size_t i = 0; i < run->site_count && rc == 0; i++)
		g.of_site[i] = gpu_idle_of_site(&g, &run->sites[i]);
	if (rc == 0)
		rc = gpu_idle_walk(&g);
	for (size_t i = 0; g.cursors && i < run->lane_count; i++)
		free(g.cursors[i]);
	free(g.cursors);
	free(g.of_site);
	hashmap_fini(&g.launches);
	return rc;
}
