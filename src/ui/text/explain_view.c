/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per rule makes the sentences of its findings, and both forms print them. If the JSON
 * would be too long, the findings that cost least are left out.
 */
#include "ui/text/explain_view.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/cost/losses.h"
#include "base/number.h"
#include "base/path_name.h"
#include "ui/text/json_out.h"
#include "ui/text/program_options.h"
#include "ui/text/provenance.h"
#include "ui/text/report_presence.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/users_text.h"
#include "analysis/walk/step_index.h"

enum { LABEL = 11 };

/* Fill in a text of the words. */
#define fill(member, ...) snprintf((w)->member, sizeof((w)->member), __VA_ARGS__)

#define WORDS(rule)                                                              \
	static void rule(struct finding_words *w, const struct explain_facts *f, \
		const struct explain_phase *phase, const struct finding *finding)

/* The most bytes of a brick's name that are shown. */
#define NAME "%.47s"

/* How the recorded program's user sets something: a text that lives as long as the block. */
#define OPTION(setting, number) \
	program_option((char[PROGRAM_OPTION_BYTES]){0}, f->run, PROGRAM_##setting, number)

static const char *threads_option(
	char out[PROGRAM_OPTION_BYTES], const struct explain_facts *f, int phase, size_t number)
{
	return program_option(out, f->run,
		phase == STEP_PREFILL ? PROGRAM_BATCH_THREADS : PROGRAM_THREADS, number);
}

static void say_crowd(
	struct finding_words *w, const struct explain_facts *f, const struct finding *finding)
{
	size_t threads = finding->of.crowd.threads;
	uint32_t cpus = finding->of.crowd.cpus;

	fill(what, "%zu threads share %u CPU%s", threads, cpus, plural_s(cpus));
	fill(evidence,
		"%zu threads of the program took part, and it may run on %u of the machine's %u "
		"CPUs; the cost is what it took longer than %zu thread%s would that never wait%s",
		threads, cpus, finding->of.crowd.online, (size_t)cpus, plural_s(cpus),
		cpus == 1 ? "s" : "");
	fill(show, "brick report --by thread");
}

/* Adds the evidence that a team of that size would wait for, too. */
static void say_others(struct finding_words *w, const struct explain_facts *f)
{
	const double little = 0.1;
	size_t length = strlen(w->evidence);
	char others[UNITS_BYTES];

	if (f->presence.others > little)
		snprintf(w->evidence + length, sizeof(w->evidence) - length,
			"; other programs used %s of all CPUs, so less of it may come back",
			units_percent(others, f->presence.others));
}

WORDS(affinity)
{
	uint32_t online = finding->of.crowd.online;
	size_t threads = finding->of.crowd.threads;
	const char *word = program_mask_word(f->run);

	say_crowd(w, f, finding);
	fill(evidence,
		"%zu threads of the program took part, and their masks of CPUs leave them %u of "
		"the machine's %u; the cost is what it took longer than on %zu of them",
		threads, finding->of.crowd.cpus, online, threads < online ? threads : online);
	size_t wanted = threads < online ? threads : online;
	if (word)
		fill(advice, "take %s out of the command, or let it name %zu CPUs", word, wanted);
	else
		fill(advice,
			"let it have %zu CPUs: by the mask of its own threads (%s), by the "
			"cgroup's cpuset, or by the shell that started it",
			wanted, OPTION(CPUS, 0));
	fill(other, "%s", OPTION(THREADS, finding->of.crowd.cpus));
	w->other_threads = finding->of.crowd.cpus;
	say_others(w, f);
}

WORDS(oversubscribed)
{
	say_crowd(w, f, finding);
	char option[PROGRAM_OPTION_BYTES];
	fill(advice, "%s", threads_option(option, f, finding->phase, finding->of.crowd.cpus));
	say_others(w, f);
}

static void say_preempted(struct finding_words *w)
{
	fill(what, "the program's threads were preempted");
	fill(show, "brick path");
}

WORDS(cpu_quota)
{
	char held[UNITS_BYTES], quota[32] = "a limit";
	uint64_t permille = f->run->machine.quota_permille;

	if (permille)
		snprintf(quota, sizeof(quota), "a quota of %.2f CPUs", (double)permille / 1000);
	fill(what, "%s holds the program back", quota);
	fill(evidence,
		"the control group of the program was throttled for %s of CPU time, and its "
		"threads were off their CPUs meanwhile",
		units_time(held, f->run->machine.throttled_ns));
	fill(advice, "raise the quota (cpu.max, docker --cpus, a pod's limit)");
	w->other_threads = permille >= 2000 ? (uint32_t)(permille / 1000) : 1;
	fill(other, "%s", OPTION(THREADS, w->other_threads));
	fill(show, "brick path");
	(void)phase;
}

WORDS(preempted_by_others)
{
	char others[UNITS_BYTES];
	SCOPED char *neighbour = report_neighbour_text(f->run, &f->presence);

	say_preempted(w);
	fill(evidence,
		"the kernel switched to others on the critical path; other programs used %s of "
		"all CPUs%s",
		units_percent(others, f->presence.others), neighbour ? neighbour : "");
	/* names of the kernel's own threads are in brackets, and nobody can stop these */
	bool is_most = 2 * f->presence.neighbour >= f->presence.others;
	if (is_most && f->run->machine.neighbour[0] == '[')
		fill(advice, "see what keeps the kernel busy (vmstat 1: memory that is reclaimed, "
			     "disks, network), and stop the program that asks for it");
	else if (is_most && f->run->machine.neighbour_ns)
		fill(advice, "stop %s, or keep it off these CPUs (taskset -p, renice, cpusets)",
			f->run->machine.neighbour);
	else
		fill(advice, "stop the other programs (see top), or keep them off these CPUs "
			     "(taskset, nice, cpusets)");
}

WORDS(preempted)
{
	char busy[UNITS_BYTES], others[UNITS_BYTES];
	uint32_t fewer = (uint32_t)phase->team - 1, cpus = run_usable_cpus(f->run);

	say_preempted(w);
	fill(evidence,
		"the kernel gave their CPUs to other threads; %s of the time of all CPUs was in "
		"use, and other programs had only %s of it, so these were mostly threads of this "
		"program or of its children",
		units_percent(busy, f->presence.busy), units_percent(others, f->presence.others));
	fill(advice,
		"find its other busy threads (brick report --by thread; top -H -p PID for threads "
		"that Brick does not see), and give them CPUs of their own");
	if (fewer && cpus && phase->team >= cpus) {
		char option[PROGRAM_OPTION_BYTES];
		fill(other, "%s, which leaves a CPU to them",
			threads_option(option, f, finding->phase, fewer));
		w->other_threads = fewer;
	}
}

WORDS(steal)
{
	char steal[UNITS_BYTES];

	fill(what, "the host of this virtual machine took CPU time");
	fill(evidence, "%s of all CPUs' time was stolen, by the kernel's account",
		units_percent(steal, f->presence.steal));
	fill(advice,
		"rent CPUs that no other guest shares (dedicated, pinned), or move to a host that "
		"is less busy");
	fill(show, "brick report");
	(void)phase, (void)finding;
}

static void say_blocked(struct finding_words *w, const struct finding *finding)
{
	fill(what, "bricks slept instead of computing, most in " NAME, finding->of.blocked->name);
	fill(show, "brick report --columns share,self,blocked");
}

WORDS(memory_limit)
{
	char limit[UNITS_BYTES], model[UNITS_BYTES];

	fill(show, "brick report --columns share,self,blocked");
	fill(what, "the model does not fit into the memory that the program may have");
	fill(evidence,
		"its control group has a limit of %s, a step reads %s of weights, and %llu pages "
		"had "
		"to come from disk",
		units_bytes(limit, f->run->machine.memory_limit_bytes),
		units_bytes(model, f->model_bytes),
		(unsigned long long)f->run->machine.major_faults);
	fill(advice, "raise the limit (memory.max, docker --memory)");
	fill(other, "a smaller type of the weights (llama-quantize)");
}

WORDS(cold_pages)
{
	char size[UNITS_BYTES], slept[UNITS_BYTES], kernel[UNITS_BYTES];
	const uint64_t bytes = finding->of.cold_pages.bytes;

	fill(show, "brick report --columns share,self,blocked");
	fill(what, "pages of the model were read from disk while it computed");
	fill(evidence,
		"%s%s%llu major page faults in the whole run; %s of sleep, and %s in the kernel",
		bytes ? units_bytes(size, bytes) : "",
		bytes ? " came from disk in these steps; " : "",
		(unsigned long long)finding->of.cold_pages.faults,
		units_time(slept, finding->of.cold_pages.slept_ns),
		units_time(kernel, finding->of.cold_pages.kernel_ns));
	fill(advice, "have the model in memory before it is used: %s", OPTION(LOAD, 0));
}

WORDS(blocked)
{
	const struct summary_row *most = finding->of.blocked;
	char ns[UNITS_BYTES];

	say_blocked(w, finding);
	fill(evidence,
		"the kernel says that the thread blocked, %s on all threads in " NAME
		"; no wait that Brick knows explains it",
		units_time(ns, most->blocked_ns), most->name);
	fill(advice, "see which call it sleeps in (perf trace -s -p PID, or 'bt' in gdb -p PID): a "
		     "lock, a sleep, a file; or it was stopped (^Z, a debugger)");
}

WORDS(threads_anew)
{
	uint64_t off_ns = finding->of.threads_anew.preempted_ns;
	char start[UNITS_BYTES], end[UNITS_BYTES], off[UNITS_BYTES];

	fill(what, "threads are made anew for each step");
	fill(evidence,
		"%llu thread%s began in %llu step%s: %s until they computed, %s until they "
		"ended%s%s",
		(unsigned long long)finding->of.threads_anew.made,
		plural_s(finding->of.threads_anew.made), (unsigned long long)phase->steps,
		plural_s(phase->steps), units_time(start, finding->of.threads_anew.start_ns),
		units_time(end, finding->of.threads_anew.join_ns),
		off_ns ? ", others preempted for " : "", off_ns ? units_time(off, off_ns) : "");
	fill(advice,
		"keep threads from step to step: %s; or an engine built with OpenMP "
		"(GGML_OPENMP=ON), which keeps them",
		OPTION(POOL, 0));
	fill(other, "%s", OPTION(THREADS, 1));
	w->other_threads = 1;
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(slow_thread)
{
	char least[UNITS_BYTES], most[UNITS_BYTES];

	fill(what, "all threads wait for one that is slower, thread %llu",
		(unsigned long long)finding->of.slow_thread.tid);
	fill(evidence,
		"it waited %s at barriers and the others %s on average, behind bricks of several "
		"kinds, while none was preempted",
		units_time(least, finding->of.slow_thread.waited_ns),
		units_time(most, finding->of.slow_thread.others_ns));
	fill(advice,
		"see what else its CPU has to do (/proc/interrupts; lscpu -e: a slower core, a "
		"sibling of another), and keep the team off it: %s",
		OPTION(CPUS, 0));
	fill(show, "brick report --by thread");
	(void)phase;
}

WORDS(barrier_waits)
{
	const struct summary_row *most = finding->of.barrier_waits.most;
	char all[UNITS_BYTES], behind[UNITS_BYTES];
	size_t fewer = finding->of.barrier_waits.threads - 1;

	fill(what, "threads wait for one another at barriers, most behind " NAME, most->name);
	fill(evidence,
		"%zu threads waited %s in all, %s of it behind " NAME
		"; by their time on the CPU %zu would take less, if they never waited",
		finding->of.barrier_waits.threads,
		units_time(all, finding->of.barrier_waits.waited_ns),
		units_time(behind, most->wait_ns), most->name, fewer);
	char option[PROGRAM_OPTION_BYTES];
	fill(advice, "%s", threads_option(option, f, finding->phase, fewer));
	fill(show, "brick report --by thread");
}

WORDS(software_device)
{
	char busy[UNITS_BYTES];

	fill(what, "the device is a program on the CPU: %.60s", finding->of.software_device.device);
	fill(evidence,
		"it was busy %s, and the rest is launching and waiting; the engine's own library "
		"for the "
		"CPU needs no such device (what that takes is not known from here)",
		units_time(busy, finding->of.software_device.busy_ns));
	fill(advice, "%s, or install the driver of a GPU", OPTION(CPU_ONLY, 0));
	fill(show, "brick report --by queue");
	(void)phase;
}

/* Adds the function in which the stacks of a brick were, if stacks were taken. */
static void say_function(
	struct finding_words *w, const struct explain_facts *f, uint32_t brick, bool is_foreign)
{
	struct explain_function found;
	size_t length = strlen(w->evidence);
	char part[UNITS_BYTES];

	if (!explain_function_of(&found, f, brick, is_foreign))
		return;
	SCOPED char *name = function_name(found.function);
	snprintf(w->evidence + length, sizeof(w->evidence) - length,
		"; %s of %llu stacks there were in %.60s%s%.40s%s",
		units_percent(part, explain_share(found.stacks, found.all)),
		(unsigned long long)found.all, name ? name : "?",
		found.function->object ? " (" : "",
		found.function->object ? path_name(found.function->object) : "",
		found.function->object ? ")" : "");
}

static void say_between(struct finding_words *w, const struct explain_phase *phase,
	const struct finding *finding, const char *how)
{
	const struct explain_between *b = &phase->between;
	char mean[UNITS_BYTES], longest[UNITS_BYTES];

	fill(what, "the program %s between steps", how);
	fill(evidence,
		"%s on average of each of the %llu gaps between a step with its sampling and the "
		"next; the longest gap took %s in all",
		units_time(mean, finding->cost_ns / b->count), (unsigned long long)b->count,
		units_time(longest, b->longest_ns));
	fill(show, "brick report");
}

WORDS(host_pauses)
{
	say_between(w, phase, finding, "waits");
	fill(advice, "see which call the thread that evaluates waits in (perf trace -s -p PID, "
		     "gdb -p PID): for a client, another thread, a pipe, a lock, a timer");
}

WORDS(host_works)
{
	say_between(w, phase, finding, "does other work");
	say_function(w, f, RUN_NONE, false);
	fill(advice, "see which functions run there (brick record --sample, then brick report --by "
		     "function), and run them on another thread while the next step is evaluated");
}

WORDS(ran_on_cpu)
{
	const struct summary_row *most = finding->of.ran_on_cpu.most;
	char ns[UNITS_BYTES], busy[UNITS_BYTES];

	fill(what, "operations ran on the CPU beside a device, most of all " NAME, most->name);
	fill(evidence,
		"%llu executions on threads, %s of it in " NAME
		", none of them launched anything; the device was busy %s",
		(unsigned long long)finding->of.ran_on_cpu.executions,
		units_time(ns, most->wall_ns), most->name, units_time(busy, phase->queue->busy_ns));
	fill(advice, "%s, or weights in a type that the device's backend has a kernel for",
		OPTION(GPU, 0));
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(copies)
{
	char between[UNITS_BYTES], in[UNITS_BYTES], back[UNITS_BYTES], size[UNITS_BYTES];

	fill(what, "the engine's thread copies between backends");
	fill(evidence,
		"its time: between backends %s, to the device %s, back %s; %llu transfers of %s",
		units_time(between, finding->of.copies.between_ns),
		units_time(in, finding->of.copies.in_ns),
		units_time(back, finding->of.copies.out_ns),
		(unsigned long long)finding->of.copies.transfers,
		units_bytes(size, finding->of.copies.bytes));
	fill(advice, "keep whole layers on one device (%s), and %s", OPTION(GPU, 0),
		OPTION(LAST_LOGITS, 0));
	fill(show, "brick report --by queue");
}

static void show_step(struct finding_words *w, const struct explain_facts *f, uint32_t step)
{
	fill(show, "brick tree --step %u", step_number(f->run, &f->index, step));
}

WORDS(device_setup)
{
	char longest[UNITS_BYTES];

	fill(what, "the driver loads kernels and libraries in the first %s step",
		step_phase_name(finding->phase));
	fill(evidence, "%llu launches of it took 1ms or more, the longest %s",
		(unsigned long long)finding->of.device_setup.executions,
		units_time(longest, finding->of.device_setup.longest_ns));
	fill(advice, "warm up before you serve or measure: %s; this comes once in each process",
		OPTION(WARM_UP, 0));
	show_step(w, f, phase->list[0]);
}

/* The number in a step, rounded. */
static unsigned long long explain_view_per_step(const struct explain_gpu *gpu, uint64_t count)
{
	return (unsigned long long)(gpu->steps ? (count + gpu->steps / 2) / gpu->steps : count);
}

/* Where the host was while a GPU waited for it. */
static void say_late(struct finding_words *w, const struct explain_gpu *gpu)
{
	char mean[UNITS_BYTES], between[UNITS_BYTES], work[UNITS_BYTES], launch[UNITS_BYTES];
	const uint64_t *idle_ns = gpu->time->idle_of_ns;
	uint64_t wall_ns = gpu->time->wall_ns;

	fill(evidence,
		"%llu commands a step, of %s each; of its time the GPU waits %s for the host "
		"between "
		"operators, %s for operators' own work, and %s for launches",
		explain_view_per_step(gpu, gpu->commands),
		units_time(mean, gpu->command_ns / gpu->commands),
		units_percent(between, explain_share(idle_ns[GPU_IDLE_BETWEEN], wall_ns)),
		units_percent(work, explain_share(idle_ns[GPU_IDLE_WORK], wall_ns)),
		units_percent(launch, explain_share(idle_ns[GPU_IDLE_LAUNCH], wall_ns)));
}

WORDS(launch_bound)
{
	const struct queue_time *q = phase->queue;
	uint64_t record_ns = finding->of.launch_bound.record_ns;
	char mean[UNITS_BYTES], host[UNITS_BYTES];
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "the device waits for the host");
	if (gpu->commands && run_note_find(f->run, "imported"))
		say_late(w, gpu);
	else
		fill(evidence,
			"%llu commands a step, of %s each; the host spent %s in recording and "
			"launching",
			(unsigned long long)(q->commands / phase->steps),
			units_time(mean, q->busy_ns / q->commands),
			record_ns ? units_time(host, record_ns) : "an unknown time");
	const char *backend = f->run->lanes[q->lane].backend;
	bool is_cuda = backend && !strcmp(backend, "cuda");
	if (run_note_find(f->run, "imported"))
		fill(advice, "launch less: CUDA graphs (torch.compile(mode=\"reduce-overhead\")), "
			     "larger batches; or give the host's thread a faster core of its own");
	else
		fill(advice,
			"launch less: %s%s, larger batches; or give the host's thread a "
			"faster core of its own",
			is_cuda ? "CUDA graphs (no GGML_CUDA_DISABLE_GRAPHS), " : "",
			OPTION(FLASH, 0));
	fill(show, "brick report --by queue");
}

WORDS(exposed_communication)
{
	char alone[UNITS_BYTES];
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "the GPU communicates, and computes nothing meanwhile");
	fill(evidence, "of its time, %s is of collectives alone, or of waiting for them",
		units_percent(alone, explain_share(finding->cost_ns, gpu->time->wall_ns)));
	fill(advice, "begin collectives earlier, in smaller buckets, while the backward pass still "
		     "computes (DDP's bucket_cap_mb, FSDP's prefetch)");
	fill(other, "send less: bf16 gradients, accumulation over several batches");
	fill(show, "brick report --by kernel");
	(void)phase;
}

static void say_copies(struct finding_words *w, const struct explain_gpu *gpu,
	const struct explain_commands *copies, uint64_t bytes)
{
	char size[UNITS_BYTES], each[UNITS_BYTES];

	fill(evidence,
		"%llu copies a step, of %s each, take %s in which nothing computes; most are of %s",
		explain_view_per_step(gpu, copies->count),
		units_bytes(size, copies->count ? bytes / copies->count : 0),
		units_time(each, copies->count ? copies->ns / copies->count : 0),
		copies->most ? copies->most : "the program itself");
	fill(show, "brick report --by kernel");
}

WORDS(pageable_copies)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "copies between host and GPU are of pageable memory");
	say_copies(w, gpu, &gpu->pageable, gpu->pageable_bytes);
	fill(advice, "pin the memory (pin_memory=True), and copy with non_blocking=True");
	(void)phase;
}

WORDS(copies_exposed)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "the GPU computes nothing while it copies");
	say_copies(w, gpu, &gpu->pinned, gpu->pinned_bytes);
	fill(advice, "copy the next batch on a stream of its own while this one is computed");
	(void)phase;
}

static void say_idle(struct finding_words *w, const struct explain_facts *f,
	const struct finding *finding, enum gpu_idle_cause cause)
{
	char part[UNITS_BYTES];
	uint32_t brick = f->gpus[finding->phase].time->most[cause];

	fill(evidence, "the GPU is idle %s of its time meanwhile%s" NAME,
		units_percent(part,
			explain_share(finding->cost_ns, f->gpus[finding->phase].time->wall_ns)),
		brick == RUN_NONE ? "" : ", most of it in ",
		brick == RUN_NONE ? "" : f->run->bricks[brick].name);
	fill(show, "brick tree");
}

WORDS(data_loader)
{
	fill(what, "the GPU waits for the data loader");
	say_idle(w, f, finding, GPU_IDLE_LOADER);
	fill(advice,
		"more workers (num_workers), prefetching (prefetch_factor), data that is decoded "
		"beforehand");
	(void)phase;
}

WORDS(compilation)
{
	fill(what, "the GPU waits while code is compiled or loaded");
	say_idle(w, f, finding, GPU_IDLE_COMPILATION);
	fill(advice, "run all shapes before (warm-up), mark sizes that change as dynamic; "
		     "TORCH_LOGS=recompiles says why it compiles again");
	(void)phase;
}

WORDS(allocation)
{
	fill(what, "memory of the GPU is allocated and freed in steps");
	say_idle(w, f, finding, GPU_IDLE_ALLOCATION);
	fill(advice, "keep it: no empty_cache() in steps, the caching allocator's "
		     "expandable_segments, buffers that are made once");
	(void)phase;
}

WORDS(hidden_sync)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char waited[UNITS_BYTES];

	fill(what, "operators make the host wait for the GPU");
	fill(evidence,
		"%llu waits a step inside of operators, most in %s: the host waits %s in all, and "
		"then the "
		"GPU for the host",
		explain_view_per_step(gpu, gpu->syncs.count), gpu->syncs.most,
		units_time(waited, gpu->syncs.ns));
	fill(advice, "keep values on the GPU, or ask for them once, later: no .item(), .cpu(), "
		     "nonzero() or if on a tensor in a step");
	fill(show, "brick tree");
	(void)phase;
}

WORDS(graphs_unused)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char mean[UNITS_BYTES];

	fill(what, "the GPU waits for launches of the same kernels in each step");
	fill(evidence,
		"%llu commands a step, of %s each, by %llu calls; %llu of %llu steps have the same "
		"commands "
		"as the step before",
		explain_view_per_step(gpu, gpu->commands),
		units_time(mean, gpu->command_ns / gpu->commands),
		explain_view_per_step(gpu, gpu->calls), (unsigned long long)gpu->same_steps,
		(unsigned long long)gpu->steps - 1);
	fill(advice, "record them once as a CUDA graph (torch.cuda.graph, "
		     "torch.compile(mode=\"reduce-overhead\"))");
	fill(show, "brick report --by queue");
	(void)phase;
}

WORDS(kernels_apart)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "small kernels run one after another that could be one");
	fill(evidence,
		"%llu kernels of elements a step follow one another, in %llu rows of three and "
		"more; the cost "
		"is all but one of each row; most are of %s",
		explain_view_per_step(gpu, gpu->chain_kernels),
		explain_view_per_step(gpu, gpu->chains.count), gpu->chains.most);
	fill(advice, "let torch.compile fuse them, or call a fused operator");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(attention_apart)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char each[UNITS_BYTES];

	fill(what, "attention is computed in several kernels");
	fill(evidence,
		"%llu times a step a softmax stands between two products of attention, and takes "
		"%s with what "
		"is beside it",
		explain_view_per_step(gpu, gpu->softmax.count),
		units_time(each, gpu->softmax.ns / gpu->softmax.count));
	fill(advice, "call scaled_dot_product_attention (attn_implementation=\"sdpa\" or "
		     "\"flash_attention_2\")");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(products_single)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char part[UNITS_BYTES];

	fill(what, "products are computed in f32, without tensor cores");
	fill(evidence, "%s of the GPU's time is of such kernels, as %.64s; the cost is half of it",
		units_percent(part, explain_share(gpu->single.ns, gpu->time->wall_ns)),
		gpu->single.most);
	/* Volta and Turing have tensor cores for f16 alone */
	bool is_old = strstr(gpu->single.most, "volta") || strstr(gpu->single.most, "turing");
	fill(advice, "%s",
		is_old ? "use f16 (autocast)"
		       : "allow TF32 (torch.set_float32_matmul_precision(\"high\")), or use "
			 "bf16 (autocast)");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(optimizer_apart)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char took[UNITS_BYTES];

	fill(what, "the optimizer launches many small kernels");
	fill(evidence, "%llu commands a step, which take %s",
		explain_view_per_step(gpu, gpu->optimizer.count),
		units_time(took, gpu->optimizer_wall_ns / gpu->steps));
	fill(advice, "make the optimizer with fused=True, or foreach=True");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(padding)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "products are computed for rows that are no tokens");
	fill(evidence, "products have %.0f rows, and a step has %.0f tokens", gpu->padding_rows,
		phase->steps ? (double)phase->tokens / (double)phase->steps : 0);
	fill(advice,
		"pad to the next size only: more sizes of graphs, batches of similar lengths, or "
		"sequences packed into one");
	fill(show, "brick report --by site");
}

WORDS(streams_unbalanced)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	fill(what, "streams that run side by side have uneven work");
	fill(evidence,
		"%llu times a step, several queues begin together, and one works on after the "
		"others have "
		"ended; the cost is what even shares would save",
		explain_view_per_step(gpu, gpu->unbalanced.count));
	fill(advice, "share the work out by its length, or put what is short into one stream");
	fill(show, "brick report --by queue");
	(void)phase;
}

WORDS(tensor_copies)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char part[UNITS_BYTES];

	fill(what, "the GPU moves tensors from one place to another");
	fill(evidence, "%llu copies a step within the GPU take %s of its time, most of them %.64s",
		explain_view_per_step(gpu, gpu->moves.count),
		units_percent(part, explain_share(gpu->moves.ns, gpu->time->wall_ns)),
		gpu->moves.most);
	fill(advice,
		"avoid contiguous(), cat() and changes of layout or type in steps; keep one layout "
		"(channels_last) and type");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(prompt_repeated)
{
	fill(what, "prompts are evaluated that had been evaluated before");
	fill(evidence,
		"%llu tokens in %llu of %llu steps are the beginning of an earlier batch, token by "
		"token at the same positions; the cost is what those steps took",
		(unsigned long long)finding->of.prompt_repeated.tokens,
		(unsigned long long)finding->of.prompt_repeated.steps,
		(unsigned long long)phase->steps);
	fill(advice, "keep the cache of what prompts share: %s", OPTION(REUSE, 0));
	fill(show, "brick report --by phase");
}

WORDS(sampling)
{
	uint64_t calls = finding->of.sampling.calls;
	char ns[UNITS_BYTES];

	fill(what, "sampling takes much of the time of a token");
	fill(evidence, "%llu calls of %s each, on the thread that evaluates",
		(unsigned long long)calls, units_time(ns, finding->cost_ns / calls));
	fill(advice,
		"see which sampler takes it (brick record --sample, then brick report --by "
		"function --brick %s); each that sees the whole vocabulary before a top-k "
		"costs",
		brick_name(BRICK_SAMPLING));
	for (char *const *word = f->run->command; word && *word; word++)
		if (!strcmp(*word, "--grammar") || !strcmp(*word, "--grammar-file") ||
			!strcmp(*word, "--json-schema") || !strcmp(*word, "-j"))
			fill(other, "sample without %s, if its form need not be kept", *word);
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

WORDS(mixed)
{
	fill(what, "new tokens wait for prompts that are evaluated with them");
	fill(evidence,
		"%llu batches of %llu new tokens and %llu of prompts; the cost is what they "
		"took longer than decoding alone",
		(unsigned long long)finding->of.mixed.steps,
		(unsigned long long)finding->of.mixed.output_tokens,
		(unsigned long long)finding->of.mixed.prompt_tokens);
	fill(advice, "evaluate prompts on an instance of their own");
	/* half of the prompt's tokens that go with a batch now */
	fill(other, "%s: smaller parts of prompts beside decoding",
		OPTION(BATCH, (finding->of.mixed.prompt_tokens / finding->of.mixed.steps + 1) / 2));
	fill(show, "brick report --by phase");
	(void)phase;
}

WORDS(drafts)
{
	char drafting[UNITS_BYTES], checking[UNITS_BYTES], saved[UNITS_BYTES];
	uint64_t rejected = finding->of.drafts.checked - finding->of.drafts.held;

	fill(what, "drafts cost more than they save: %llu of %llu are rejected",
		(unsigned long long)rejected, (unsigned long long)finding->of.drafts.checked);
	fill(evidence,
		"drafting took %s, and checking the rejected ones about %s; those that held saved "
		"about %s, which the time of a batch says",
		units_time(drafting, finding->of.drafts.draft_ns),
		units_time(checking, finding->of.drafts.refuted_ns),
		units_time(saved, finding->of.drafts.saved_ns));
	fill(advice, "%s, or a model that drafts better", OPTION(NO_DRAFT, 0));
	if (finding->of.drafts.held)
		fill(other, "shorter drafts: %s; 'brick requests' models each length",
			OPTION(DRAFT, 2));
	fill(show, "brick requests");
	(void)phase;
}

WORDS(all_logits)
{
	char copy[UNITS_BYTES];

	fill(what, "logits are made for every token of a prompt");
	fill(evidence,
		"LmHead computes %.0f rows an evaluation, and %s go into copying them; one row is "
		"needed to go on",
		finding->of.all_logits.rows, units_time(copy, finding->of.all_logits.copy_ns));
	fill(advice, "%s", OPTION(LAST_LOGITS, 0));
	fill(show, "brick report --phase prefill");
	(void)phase;
}

static void say_batches(struct finding_words *w, const struct finding *finding)
{
	const struct explain_batching *m = &finding->of.batches.model;
	char fixed[UNITS_BYTES], token[UNITS_BYTES];

	fill(evidence,
		"%.1f tokens an evaluation, which takes %s whatever its size and %s for each "
		"token (%s)",
		finding->of.batches.batch, units_time(fixed, (uint64_t)m->fixed_ns),
		units_time(token, (uint64_t)m->token_ns),
		m->is_measured ? "by the two sizes of this run, and what batches gave elsewhere"
			       : "by a rule of thumb");
	fill(show, "brick report --by phase");
}

WORDS(small_ubatch)
{
	fill(what, "prompts are cut into small pieces by the engine (ubatch)");
	say_batches(w, finding);
	fill(advice, "%s", OPTION(UBATCH, 512));
	(void)phase;
}

WORDS(small_batches)
{
	fill(what, "the program hands prompts over in small pieces");
	say_batches(w, finding);
	fill(advice, "%s", OPTION(BATCH, 512));
	(void)phase;
}

WORDS(sequences_apart)
{
	fill(what, "%.0f sequences are decoded one after another", finding->of.batches.sequences);
	say_batches(w, finding);
	fill(advice, "decode them in one batch: %s",
		OPTION(PARALLEL, (uint64_t)finding->of.batches.sequences));
	(void)phase;
}

WORDS(lesser_build)
{
	char ns[UNITS_BYTES];

	fill(what, "the engine's library is built for an older CPU: libggml-cpu-%s",
		finding->of.lesser_build.library);
	fill(evidence,
		"this CPU can run libggml-cpu-%s; %s of products and attention would be quicker",
		finding->of.lesser_build.better,
		units_time(ns, finding->of.lesser_build.products_ns));
	fill(advice, "install libggml-cpu-%s beside it, or build with GGML_NATIVE=ON",
		finding->of.lesser_build.better);
	fill(show, "brick report");
	(void)f, (void)phase;
}

static const char *explain_view_type_name(double bytes)
{
	return bytes > 3 ? "f32" : bytes > 1.5 ? "f16" : bytes > 0.9 ? "q8_0" : "4 or 5 bits";
}

WORDS(kv_type)
{
	char ns[UNITS_BYTES];

	fill(what, "attention reads a cache of %s",
		explain_view_type_name(finding->of.attention.bytes));
	fill(evidence,
		"%s of attention over the cache, whose values take %.2f bytes; over f16 it took "
		"less wherever it was tried on a CPU",
		units_time(ns, finding->of.attention.attention_ns), finding->of.attention.bytes);
	fill(advice, "%s", OPTION(CACHE_F16, 0));
	fill(show, "brick report --by category");
	(void)phase;
}

WORDS(no_flash_attention)
{
	char ns[UNITS_BYTES];

	fill(what, "attention of prompts is computed without flash attention");
	fill(evidence,
		"%s in scores, softmax and sums by themselves; where both were tried on a CPU, "
		"flash attention took half",
		units_time(ns, finding->of.attention.attention_ns));
	fill(advice, "%s", OPTION(FLASH, 0));
	fill(show, "brick report --by category --phase prefill");
	(void)phase;
}

WORDS(long_context)
{
	char ns[UNITS_BYTES];

	fill(what, "attention goes over a long context");
	fill(evidence, "%s of attention over the cache, without its products with weights",
		units_time(ns, finding->of.attention.attention_ns));
	fill(advice,
		"keep less in the context: a shorter prompt, or drop its oldest half when it is "
		"full; or a model with a sliding window");
	fill(show, "brick report --by category --phase decode");
	(void)f, (void)phase;
}

WORDS(context_growth)
{
	char from[UNITS_BYTES], to[UNITS_BYTES];

	fill(what, "attention takes longer with every token of context");
	fill(evidence,
		"%s a step in the first eighth of %llu decode steps, %s in the last, growing in "
		"each",
		units_time(from, finding->of.context_growth.first_ns),
		(unsigned long long)phase->steps,
		units_time(to, finding->of.context_growth.last_ns));
	fill(advice,
		"keep less in the context: a shorter prompt, or drop its oldest half when it is "
		"full; or a model with a sliding window");
	fill(show, "brick report --by category --phase decode");
}

WORDS(vocabulary)
{
	char ns[UNITS_BYTES], copy[UNITS_BYTES];

	fill(what, "the product with the vocabulary takes much of a token");
	fill(evidence, "%s in LmHead, %s in copying logits",
		units_time(ns, finding->of.vocabulary.ns),
		units_time(copy, finding->of.vocabulary.copy_ns));
	fill(advice,
		"a smaller type of the output matrix (llama-quantize --output-tensor-type q4_K), "
		"or speculative decoding, which shares it between tokens");
	fill(show, "brick report --phase decode");
	(void)f, (void)phase;
}

/* The gain of q8_0 in the other phase; a large gain is a finding of its own. */
static void say_other_phase(
	struct finding_words *w, const struct explain_facts *f, const struct finding *finding)
{
	int p = finding->phase == STEP_DECODE ? STEP_PREFILL : STEP_DECODE;
	const struct explain_phase *other = &f->phases[p];
	size_t length = strlen(w->evidence);
	char part[UNITS_BYTES];

	if (!other->summary || !other->elapsed_ns)
		return;
	if (p == STEP_PREFILL && !other->products.roof_ns && f->ceilings)
		return; /* no roof of these products is known: fewer bytes may save nothing */
	if (p == STEP_PREFILL && !other->products.roof_ns)
		snprintf(w->evidence + length, sizeof(w->evidence) - length,
			"; what prefill gains is known after 'brick ceilings' only");
	else
		snprintf(w->evidence + length, sizeof(w->evidence) - length,
			"; of the time of %s it saves about %s", step_phase_name(p),
			units_percent(part, other->products.saved_ns / (double)other->elapsed_ns));
}

WORDS(large_weights)
{
	const struct explain_products *m = &phase->products;
	char ns[UNITS_BYTES], bytes[UNITS_BYTES];
	uint64_t wide_ns = m->half_ns + m->single_ns;

	fill(what, "reading weights of %.0f bits each takes much of the time", m->wide_bits);
	fill(evidence,
		"%s in products with them, which read %s a step; %s q8_0 saves about %.0f%% of "
		"these products' time",
		units_time(ns, wide_ns), units_bytes(bytes, m->weight_bytes),
		m->roof_ns ? "by the measured roofs of memory and arithmetic,"
			   : "by its fewer bytes, without measured roofs,",
		100 * (double)finding->cost_ns / (double)wide_ns);
	say_other_phase(w, f, finding);
	fill(advice, "q8_0 (llama-quantize), whose answers hardly differ");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

WORDS(first_step)
{
	char took[UNITS_BYTES], usual[UNITS_BYTES], more[UNITS_BYTES];

	fill(what, "the first %s step is slow", step_phase_name(finding->phase));
	fill(evidence, "it took %s, the others %s (median); most of that is " NAME " (+%s)",
		units_time(took, finding->of.first_step.took_ns),
		units_time(usual, finding->of.first_step.median_ns), finding->of.first_step.more,
		units_time(more, finding->of.first_step.more_ns));
	fill(advice, "warm up before you serve: %s", OPTION(WARM_UP, 0));
	show_step(w, f, finding->of.first_step.step);
}

WORDS(slow_steps)
{
	char median[UNITS_BYTES], took[UNITS_BYTES], more[UNITS_BYTES];

	fill(what, "%llu of %llu decode steps took over twice the median",
		(unsigned long long)finding->of.slow_steps.count, (unsigned long long)phase->steps);
	fill(evidence, "the median is %s, the slowest %s: most of that is " NAME " (+%s)",
		units_time(median, finding->of.slow_steps.median_ns),
		units_time(took, finding->of.slow_steps.took_ns), finding->of.slow_steps.more,
		units_time(more, finding->of.slow_steps.more_ns));
	fill(advice,
		"look into that step: see below what " NAME " did there, and 'brick report "
		"--trust' whether others had the CPUs",
		finding->of.slow_steps.more);
	show_step(w, f, finding->of.slow_steps.step);
}

/*
 * True if the engine keeps graphs: llama.cpp does since August 2025. Its ggml says its version
 * since then, too, and counts from 0.9.
 */
static bool reuses_graphs(const struct run *run)
{
	const char *version = run_note_find(run, "ggml.version");
	int major = 0, minor = 0;

	return version && sscanf(version, "%d.%d", &major, &minor) == 2 && (major || minor >= 9);
}

WORDS(graph_rebuilt)
{
	char build[UNITS_BYTES], alloc[UNITS_BYTES], plan[UNITS_BYTES];

	fill(what, "the graph is built and given memory anew for each step");
	fill(evidence, "%s built, %s allocated, %s planned, in %llu steps",
		units_time(build, finding->of.graph_rebuilt.build_ns),
		units_time(alloc, finding->of.graph_rebuilt.alloc_ns),
		units_time(plan, finding->of.graph_rebuilt.plan_ns),
		(unsigned long long)phase->steps);
	if (reuses_graphs(f->run))
		fill(advice, "batches of one shape: this engine keeps a graph as long as tokens, "
			     "sequences and outputs of a batch stay as many, and "
			     "LLAMA_GRAPH_REUSE_DISABLE is not set");
	else
		fill(advice, "a newer engine that keeps graphs (llama.cpp since August 2025)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(graph_watched)
{
	fill(what, "each graph is computed in many parts");
	fill(evidence,
		"%llu parts in a step, each planned, started and waited for; a callback that sees "
		"nodes (cb_eval) does that",
		(unsigned long long)finding->of.graph_watched.parts);
	fill(advice, "take the callback out, or let it ask for the few nodes that it needs");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)f, (void)phase;
}

WORDS(state_copied)
{
	char ns[UNITS_BYTES];

	fill(what, "the engine's state is copied after steps");
	fill(evidence, "%s in saving, loading and copying, %llu copies out of it in each step",
		units_time(ns, finding->cost_ns),
		(unsigned long long)finding->of.state_copied.copies);
	fill(advice, "save it less often (llama_state_get_data, sessions, prompt caches), or one "
		     "sequence of it");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f, (void)phase;
}

WORDS(at_memory_roof)
{
	const struct roofline_row *row = finding->of.roof.most;
	char part[UNITS_BYTES], share[UNITS_BYTES], gbs[UNITS_BYTES];

	fill(what, "at the memory roof: %s of the measured bandwidth",
		units_percent(part, 1 - finding->of.roof.distance));
	fill(evidence, "%zu bricks, %s of the phase; " NAME " reads %s GB/s from %s",
		finding->of.roof.rows, units_percent(share, finding->of.roof.share), row->name,
		units_number(gbs, row->bytes_per_ns), row->level);
	fill(advice, "a smaller type of the weights (llama-quantize), or more sequences in a "
		     "batch, which share them; no faster kernel helps");
	fill(show, "brick roofline");
	(void)f, (void)phase;
}

WORDS(unattributed)
{
	fill(what, "much of the steps is in no brick");
	fill(evidence, "time of the engine's thread within steps that nothing names");
	if (run_note_find(f->run, "imported"))
		fill(advice,
			"let the profiler record Python's frames, too (with_stack=True), or put "
			"ranges around the code (record_function, NVTX)");
	else
		fill(advice,
			"see which functions run there (brick record --sample, then brick report "
			"--by function), and whether Brick is attached to all of the engine "
			"(brick doctor -- CMD)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(adapter)
{
	char flops[UNITS_BYTES], share[UNITS_BYTES];

	fill(what, EXPLAIN_ADAPTER " takes %s of the time%s%s%s",
		units_percent(share, explain_share(finding->cost_ns, phase->wall_ns)),
		finding->of.adapter.flops_share >= 0 ? " for " : "",
		finding->of.adapter.flops_share >= 0
			? units_percent(flops, finding->of.adapter.flops_share)
			: "",
		finding->of.adapter.flops_share >= 0 ? " of the products' FLOPs" : "");
	fill(evidence,
		"%llu small operations of an adapter (LoRA) in %llu steps, beside each product "
		"that it changes",
		(unsigned long long)finding->of.adapter.executions,
		(unsigned long long)phase->steps);
	fill(advice, "merge the adapter into the weights (llama-export-lora), or use one of a "
		     "lower rank or with fewer targets");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f;
}

WORDS(cache_moved)
{
	char most[UNITS_BYTES];

	fill(what, "the whole cache is rewritten in %llu of %llu steps",
		(unsigned long long)finding->of.cache_moved.graphs,
		(unsigned long long)phase->steps);
	fill(evidence,
		"%llu graphs that evaluate no token but prepare the cache (a K-shift of a full "
		"context, or defragmentation), %s of it in " NAME,
		(unsigned long long)finding->of.cache_moved.graphs,
		units_time(most, finding->of.cache_moved.most_ns),
		finding->of.cache_moved.most->name);
	fill(advice, "drop many tokens at once when the context is full (half of it), and not one "
		     "for each new token; or a larger context");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)f;
}

WORDS(page_faults)
{
	char kernel[UNITS_BYTES];

	fill(what, "each step takes page faults for memory that earlier steps had");
	fill(evidence,
		"%llu page faults in %llu of %llu steps, for which the kernel worked %s on all "
		"threads together",
		(unsigned long long)finding->of.page_faults.faults,
		(unsigned long long)finding->of.page_faults.steps, (unsigned long long)phase->steps,
		units_time(kernel, finding->of.page_faults.kernel_ns));
	fill(advice, "find the call that gives pages back between steps (perf trace -F all: "
		     "madvise, munmap, free of large blocks), and keep these buffers");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
	(void)f;
}

WORDS(fewer_threads)
{
	fill(what, "%s runs on %zu thread%s, %s on %zu", step_phase_name(finding->phase),
		finding->of.fewer_threads.threads, plural_s(finding->of.fewer_threads.threads),
		step_phase_name(finding->of.fewer_threads.phase), finding->of.fewer_threads.others);
	fill(evidence,
		"%u CPUs can be used; the cost is by the time that bricks were on the CPU which "
		"%zu threads share in %s",
		run_usable_cpus(f->run), finding->of.fewer_threads.others,
		step_phase_name(finding->of.fewer_threads.phase));
	char option[PROGRAM_OPTION_BYTES];
	fill(advice, "%s",
		threads_option(option, f, finding->phase, finding->of.fewer_threads.others));
	fill(show, "brick report --by thread --phase %s", step_phase_name(finding->phase));
	(void)phase;
}

/* The brick that most of an excess is in. */
static const char *excess_brick(const struct explain_facts *f, const struct finding *finding)
{
	uint32_t brick = finding->of.excess.brick;

	return brick == RUN_NONE ? brick_name(BRICK_BARRIER_WAIT) : f->run->bricks[brick].name;
}

WORDS(excess_repeats)
{
	const struct excess *e = &finding->of.excess;
	char all[UNITS_BYTES], part[UNITS_BYTES];

	fill(what, "%s are held up at times, most in " NAME,
		e->brick == RUN_NONE ? "waits for other threads" : "bricks",
		excess_brick(f, finding));
	fill(evidence,
		"%llu of %llu executions, in %llu bricks, took half as long again as the same work "
		"next to them, or longer, by %s in all, %s of it in " NAME
		", while their threads kept their CPUs",
		(unsigned long long)e->count, (unsigned long long)e->of_count,
		(unsigned long long)e->rows, units_time(all, e->ns), units_time(part, e->brick_ns),
		excess_brick(f, finding));
	fill(advice, "see whether signal handlers, page faults or interrupts do that: perf trace "
		     "-F all -p PID, /proc/interrupts, brick record --sample");
	/* they lie anywhere, and so does the code that holds them up */
	say_function(w, f, EXPLAIN_ANY_BRICK, true);
	fill(show, "brick report --columns share,avg,p50,p95,max");
	(void)phase;
}

WORDS(excess_work)
{
	const struct excess *e = &finding->of.excess;
	char share[UNITS_BYTES], work[UNITS_BYTES], rate[UNITS_BYTES], other[UNITS_BYTES];
	const char *unit = e->is_flops ? "GFLOP/s" : "GB/s";

	fill(what, NAME " takes %s of the time for %s of the %s", excess_brick(f, finding),
		units_percent(share, e->time_share), units_percent(work, e->work_share),
		e->is_flops ? "FLOPs" : "bytes");
	fill(evidence, "its products go at %s %s, the others of the phase at %s",
		units_number(rate, e->rate), unit, units_number(other, e->expected_rate));
	say_function(w, f, e->brick, false);
	fill(advice, "see its shapes and types (brick tree, below) and its functions (brick record "
		     "--sample): a slower type, a slow path, or work that is not needed");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(excess_passes)
{
	const struct excess *e = &finding->of.excess;
	char share[UNITS_BYTES], rate[UNITS_BYTES], other[UNITS_BYTES];

	fill(what, NAME " takes %s of the time, and does little", excess_brick(f, finding),
		units_percent(share, e->time_share));
	fill(evidence,
		"it moves %s GB/s; as long and as quick as the phase's other simple operations, it "
		"would move %s",
		units_number(rate, e->rate), units_number(other, e->expected_rate));
	say_function(w, f, e->brick, false);
	fill(advice, "see its shapes and types (brick tree, below), and which of its functions "
		     "take the time (brick record --sample, then brick report --by function)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(excess_machine)
{
	const struct excess *e = &finding->of.excess;
	const char *library = run_note_find(f->run, "ggml.library");
	char took[UNITS_BYTES], ns[UNITS_BYTES], rate[UNITS_BYTES], other[UNITS_BYTES];

	fill(what, NAME " computes at %s GFLOP/s, and this CPU %s %s", excess_brick(f, finding),
		units_number(rate, e->rate), e->seen ? "was seen at" : "should do",
		units_number(other, e->expected_rate));
	fill(evidence, "%s of the %s in %llu bricks with weights of %.1f bits; %s%.60s%s%.60s",
		units_time(ns, e->ns), units_time(took, e->took_ns), (unsigned long long)e->rows,
		e->bits,
		e->seen ? "the other rate is from "
			: "the other rate is a part of the roof by 'brick ceilings'",
		e->seen ? path_name(e->seen->recording) : "", library ? "; their code is " : "",
		library ? path_name(library) : "");
	say_function(w, f, e->brick, false);
	fill(advice, "%s",
		library ? "build the engine with optimisation and for this CPU "
			  "(-DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON), or install such a build"
			: "install a build of the engine that is optimised for this CPU");
	fill(show, "brick roofline");
	(void)phase;
}

/* The tokens of a phase; 0: it has no steps. */
static uint64_t explain_view_tokens_of(const struct explain_facts *f, int p)
{
	return f->phases[p].summary ? explain_tokens(f, (enum step_phase)p) : 0;
}

uint64_t finding_with_threads_ns(
	const struct explain_phase *phase, uint64_t tokens, uint32_t threads)
{
	if (!phase->summary || !tokens || phase->queue || !phase->team_ns)
		return 0;
	return (explain_ideal_ns(phase, threads) + phase->elapsed_ns - phase->wall_ns) / tokens;
}

/* True if some phase would be faster with so many threads, or nobody knows. */
static bool helps_with(const struct explain_facts *f, uint32_t threads)
{
	bool is_known = false;

	for (int p = 0; p < STEP_WARM_UP && threads; p++) {
		uint64_t tokens = explain_view_tokens_of(f, p);
		uint64_t ns = finding_with_threads_ns(&f->phases[p], tokens, threads);
		if (ns && ns < f->phases[p].elapsed_ns / tokens)
			return true;
		is_known |= ns != 0;
	}
	return !is_known;
}

void finding_words(struct finding_words *words, const struct explain_facts *facts,
	const struct finding *finding)
{
	static void (*const rules[FINDING_RULES])(struct finding_words * w,
		const struct explain_facts *f, const struct explain_phase *phase,
		const struct finding *finding) = {
#define EXPLAIN_WORDS(name, ...) [FINDING_##name] = name,
		EXPLAIN_RULES(EXPLAIN_WORDS)
#undef EXPLAIN_WORDS
	};

	const struct explain_phase *phase = &facts->phases[finding->phase];
	uint64_t tokens = explain_tokens(facts, finding->phase);
	*words = (struct finding_words){0};
	rules[finding->rule](words, facts, phase, finding);
	/* the CPU has the work of a device to do then; a smaller type leaves a part of the product
	 */
	bool is_known =
		finding->rule != FINDING_software_device && finding->rule != FINDING_vocabulary;
	if (*words->other && !helps_with(facts, words->other_threads))
		*words->other = '\0';
	if (is_known && tokens && finding->cost_ns && finding->cost_ns < phase->elapsed_ns)
		words->expected_ns = (phase->elapsed_ns - finding->cost_ns) / tokens;
}

/* For people. */

/* A labelled paragraph. */
#define tell(label, ...) paragraph(terminal, LABEL, label, __VA_ARGS__)

static void explain_view_print_phase(
	const struct explain_facts *facts, int p, const struct terminal *terminal)
{
	const struct explain_phase *phase = &facts->phases[p];
	char wall[UNITS_BYTES], each[UNITS_BYTES], gaps[UNITS_BYTES], between[64] = "";
	uint64_t tokens = explain_tokens(facts, p), gap_ns = phase->elapsed_ns - phase->wall_ns;

	/* where the steps alone, as a report has them, would be another figure */
	if (tokens && strcmp(units_time(wall, phase->wall_ns), units_time(each, phase->elapsed_ns)))
		snprintf(between, sizeof(between), ", %s of it between steps",
			units_time(gaps, gap_ns / tokens));
	if (!tokens && phase->steps) {
		tell(step_phase_name(p), "%llu step%s, an unknown number of tokens, %s",
			(unsigned long long)phase->steps, plural_s(phase->steps),
			units_time(wall, phase->elapsed_ns));
		return;
	}
	tell(step_phase_name(p), "%llu step%s, %llu token%s, %s: %s a token%s",
		(unsigned long long)phase->steps, plural_s(phase->steps),
		(unsigned long long)tokens, plural_s(tokens), units_time(wall, phase->elapsed_ns),
		units_time(each, tokens ? phase->elapsed_ns / tokens : UINT64_MAX), between);
}

/* True if an earlier, costlier finding is of the same rule, in another phase. */
static bool same_before(const struct findings *findings, const struct finding *finding)
{
	for (const struct finding *f = findings->list; f < finding; f++)
		if (f->rule == finding->rule)
			return true;
	return false;
}

/* The printed number of the finding; findings of one rule in several phases share a number. */
static size_t explain_view_number_of(const struct findings *findings, const struct finding *finding)
{
	size_t number = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->list[i];
		number += !same_before(findings, f);
		if (f->rule == finding->rule)
			break;
	}
	return number;
}

/*
 * Prints the time of a token without the cost of this finding, and also without the costs of the
 * findings above, if they can be added up.
 */
static void print_expected(const struct explain_facts *facts, const struct findings *findings,
	const struct finding *finding, const struct terminal *terminal, bool has_others,
	const char *line)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	uint64_t tokens = explain_tokens(facts, finding->phase);
	char alone[UNITS_BYTES], now[UNITS_BYTES], all[UNITS_BYTES], more[64] = "";
	struct finding_words words;

	finding_words(&words, facts, finding);
	if (!words.expected_ns)
		return;
	uint64_t left_ns = finding->left_ns / tokens;
	if (finding->overlaps)
		snprintf(more, sizeof(more), "; not in addition to %zu: the same time",
			explain_view_number_of(findings, &findings->list[finding->overlaps - 1]));
	else if (left_ns < words.expected_ns)
		snprintf(more, sizeof(more), "; %s with those above", units_time(all, left_ns));
	tell(line, "%s a token instead of %s%s%s%s", units_time(alone, words.expected_ns),
		units_time(now, phase->elapsed_ns / tokens), has_others ? " in " : "",
		has_others ? step_phase_name(finding->phase) : "", more);
}

/* Prints the other advice, and the expected time of each phase. */
static void print_other(const struct explain_facts *facts, const struct finding_words *words,
	const struct terminal *terminal)
{
	const char *line = "  expect";

	tell("  or", "%s", words->other);
	for (int p = STEP_WARM_UP; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		uint64_t tokens = explain_view_tokens_of(facts, p), now_ns;
		uint64_t ns = finding_with_threads_ns(phase, tokens, words->other_threads);
		char with[UNITS_BYTES], without[UNITS_BYTES];
		if (!words->other_threads || !ns)
			continue;
		now_ns = phase->elapsed_ns / tokens;
		tell(line, "%s a token instead of %s in %s%s", units_time(with, ns),
			units_time(without, now_ns), step_phase_name(p),
			ns > now_ns ? ": slower" : "");
		line = "  and";
	}
	if (!strcmp(line, "  expect"))
		tell(line, "what that gives is not known from this recording");
}

/* Prints a finding together with those of the same rule in other phases. */
static void print_finding(const struct explain_facts *facts, const struct findings *findings,
	const struct finding *finding, const struct terminal *terminal)
{
	const struct finding *end = findings->list + findings->count, *f;
	char label[UNITS_BYTES];
	struct finding_words words;
	const char *line = "  costs";
	bool has_others = false;

	finding_words(&words, facts, finding);
	snprintf(label, sizeof(label), "%zu %s", explain_view_number_of(findings, finding),
		step_phase_name(finding->phase));
	putc('\n', terminal->out);
	tell(label, "%s", words.what);
	for (f = finding; f < end; f++)
		if (f->rule == finding->rule) {
			has_others |= f != finding;
			const char *name = step_phase_name(f->phase);
			double per_token = finding_cost_per_token_ns(facts, f);
			uint64_t steps = facts->phases[f->phase].steps;
			char token[UNITS_BYTES], part[UNITS_BYTES];
			/* where no token is known, each step pays */
			units_time(token, per_token >= 0 ? number_of_double(per_token + 0.5)
					  : steps	 ? f->cost_ns / steps
							 : UINT64_MAX);
			units_percent(part,
				explain_share(f->cost_ns, facts->phases[f->phase].elapsed_ns));
			if (f->cost_ns)
				tell(line, "%s a %s, %s of %s (%s%s)", token,
					per_token < 0 && steps ? "step" : "token", part, name,
					finding_certainty_name(f->certainty),
					finding_rule_kind(f->rule) == FINDING_CHOICE
						? "; a choice, ranked as a quarter of it"
						: "");
			else
				tell(line, "nothing that could be saved in %s", name);
			line = "  and";
		}
	tell("  because", "%s", words.evidence);
	tell("  try", "%s", words.advice);
	line = "  expect";
	for (f = finding; f < end; f++)
		if (f->rule == finding->rule) {
			print_expected(facts, findings, f, terminal, has_others, line);
			line = "  and";
		}
	if (*words.other)
		print_other(facts, &words, terminal);
	tell("  see", "%s %s", words.show, facts->run->path);
}

/* Prints how much the findings explain, which else takes time, and which was not looked into. */
static void print_rest(const struct explain_facts *facts, const struct findings *findings,
	const struct terminal *terminal)
{
	for (int p = STEP_WARM_UP; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		const struct summary_row *most = NULL;
		char part[UNITS_BYTES], share[UNITS_BYTES];
		if (!phase->summary || !phase->elapsed_ns)
			continue;
		for (size_t i = 0; i < phase->summary->row_count; i++)
			if (!most || phase->summary->rows[i].wall_ns > most->wall_ns)
				most = &phase->summary->rows[i];
		if (!most)
			continue;
		const struct roofline_row *roof =
			roofline_find(facts->roofline, most->id, (enum roofline_phase)p, false);
		char of_roof[48] = "", reached[UNITS_BYTES];
		if (roof && roof->distance >= 0)
			snprintf(of_roof, sizeof(of_roof), ", at %s of its roof",
				units_percent(reached, 1 - roof->distance));
		tell(step_phase_name(p), "%s%s of the time; " NAME " takes most (%s of the time%s)",
			findings->explained_ns[p] ? "the findings explain "
						  : "no finding explains any",
			findings->explained_ns[p]
				? units_percent(part, explain_share(findings->explained_ns[p],
							      phase->elapsed_ns))
				: "",
			most->name,
			units_percent(share, explain_share(most->wall_ns, phase->elapsed_ns)),
			of_roof);
	}
	if (!facts->ceilings)
		tell("not seen",
			"how close bricks are to what the machine can do: 'brick ceilings' was "
			"not run on it");
}

void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	struct terminal screen, *terminal = &screen;
	struct losses losses;

	terminal_init(terminal, out);
	for (int p = STEP_PHASES; p-- > 0;)
		if (facts->phases[p].summary)
			explain_view_print_phase(facts, p, terminal);
	SCOPED char *users = users_text(facts->run);
	if (users)
		tell("users", "%s", users);
	if (provenance_steps(facts->run))
		tell("steps", "%s", provenance_steps(facts->run));
	losses_of_run(&losses, facts->run, 0);
	if (losses_any(&losses))
		tell("trust", "the recording is not whole: see the ledger of 'brick report'");
	if (facts->run->off_cpu.source == OFF_CPU_UNKNOWN)
		tell("trust", "when threads were off their CPUs was not recorded: no word on it");
	else if (facts->run->off_cpu.gap_count)
		tell("trust",
			"when threads were off their CPUs was not recorded all the time, as 'brick "
			"report' says: no word on the rest");
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->list[i];
		if (!same_before(findings, f) &&
			(!top || explain_view_number_of(findings, f) <= top))
			print_finding(facts, findings, f, terminal);
	}
	if (!findings->count)
		tell("", "Nothing stands out: none of %d checks found 2 %% of a phase or more.",
			FINDING_RULES);
	putc('\n', out);
	print_rest(facts, findings, terminal);
}

/* JSON. */

static json_t *explain_view_phase_json(
	const struct explain_phase *phase, int p, uint64_t explained_ns)
{
	json_t *object = json_object();

	json_put(object, "phase", json_text(step_phase_name(p)));
	json_put(object, "steps", json_number(phase->steps));
	json_put(object, "tokens", json_number(phase->tokens));
	json_put(object, "wall_ns", json_number(phase->wall_ns));
	json_put(object, "elapsed_ns", json_number(phase->elapsed_ns));
	json_put(object, "explained_ns", json_number(explained_ns));
	return object;
}

/* Another way, with the time that a token of each phase would take. */
static json_t *other_json(const struct explain_facts *facts, const struct finding_words *words)
{
	json_t *object = json_object(), *expected = json_object();

	json_put(object, "try", json_text(words->other));
	for (int p = 0; p < STEP_WARM_UP && words->other_threads; p++) {
		uint64_t ns = finding_with_threads_ns(
			&facts->phases[p], explain_view_tokens_of(facts, p), words->other_threads);
		if (ns)
			json_put(expected, step_phase_name(p), json_number(ns));
	}
	json_put(object, "expected_per_token_ns", expected);
	return object;
}

/* Bounds are of the whole excess; the finding's cost lacks the costs of findings that name it. */
static json_t *expectation_json(const struct explain_facts *facts, const struct finding *finding)
{
	const struct excess *e = &finding->of.excess;
	uint64_t tokens = explain_tokens(facts, finding->phase);
	json_t *object = json_object();

	json_put(object, "source", json_text(expectation_source_name(e->source)));
	json_put(object, "took_ns", json_number(e->took_ns));
	json_put(object, "excess_per_token_ns", json_rate(known_ratio(e->ns, tokens)));
	json_put(object, "low_per_token_ns", json_rate(known_ratio(e->low_ns, tokens)));
	json_put(object, "high_per_token_ns", json_rate(known_ratio(e->high_ns, tokens)));
	return object;
}

static json_t *finding_json(const struct explain_facts *facts, const struct finding *finding)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	json_t *object = json_object();
	struct finding_words words;

	finding_words(&words, facts, finding);
	json_put(object, "rule", json_text(finding_rule_id(finding->rule)));
	json_put(object, "phase", json_text(step_phase_name(finding->phase)));
	json_put(object, "what", json_text(words.what));
	json_put(object, "row",
		finding_row(facts, finding) ? json_text(finding_row(facts, finding)) : json_null());
	json_put(object, "cost_ns", json_number(finding->cost_ns));
	json_put(object, "cost_per_token_ns", json_rate(finding_cost_per_token_ns(facts, finding)));
	json_put(object, "share", json_rate(explain_share(finding->cost_ns, phase->elapsed_ns)));
	json_put(object, "certainty", json_text(finding_certainty_name(finding->certainty)));
	if (finding->rule >= FINDING_excess_repeats)
		json_put(object, "expectation", expectation_json(facts, finding));
	json_put(object, "evidence", json_text(words.evidence));
	json_put(object, "try", json_text(words.advice));
	json_put(object, "expected_per_token_ns",
		words.expected_ns ? json_number(words.expected_ns) : json_null());
	if (*words.other)
		json_put(object, "or", other_json(facts, &words));
	json_put(object, "overlaps",
		finding->overlaps ? json_number(finding->overlaps) : json_null());
	json_put(object, "see", json_text(words.show));
	return object;
}

json_t *explain_to_json(
	const struct explain_facts *facts, const struct findings *findings, size_t shown)
{
	json_t *root = json_object(), *phases = json_array(), *list = json_array();

	json_put(root, "schema", json_text("brick/explain/2"));
	json_put(root, "rules", json_number(FINDING_RULES));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(facts->run, 0, UINT64_MAX)));
	for (int p = 0; p < STEP_WARM_UP; p++)
		if (facts->phases[p].summary)
			json_add(phases, explain_view_phase_json(
						 &facts->phases[p], p, findings->explained_ns[p]));
	json_put(root, "phases", phases);
	json_put(root, "users", users_json(facts->run));
	for (size_t i = 0; i < shown; i++)
		json_add(list, finding_json(facts, &findings->list[i]));
	json_put(root, "findings", list);
	json_put(root, "left_out", json_number(findings->count - shown));
	return root;
}

/* The bytes that json_print() prints. */
static size_t printed_bytes(const json_t *root)
{
	return json_dumpb(root, NULL, 0, JSON_INDENT(2) | JSON_ENSURE_ASCII) + 1;
}

void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	size_t shown = top && top < findings->count ? top : findings->count;
	json_t *root = explain_to_json(facts, findings, shown);

	while (shown && printed_bytes(root) > EXPLAIN_JSON_BYTES) {
		json_decref(root);
		root = explain_to_json(facts, findings, --shown);
	}
	json_print(root, out);
}
