/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_devices.c: copies between backends, launches and drivers. */
#include "ui/text/words.h"

#include <string.h>

#include "ui/text/phase_text.h"
#include "ui/text/program_options.h"
#include "ui/text/text.h"

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

WORDS(device_setup)
{
	char longest[UNITS_BYTES];

	fill(what, "the driver loads kernels and libraries in the first %sstep",
		phase_adjective(finding->phase));
	fill(evidence, "%llu launches of it took 1ms or more, the longest %s",
		(unsigned long long)finding->of.device_setup.executions,
		units_time(longest, finding->of.device_setup.longest_ns));
	fill(advice, "warm up before you serve or measure: %s; this comes once in each process",
		OPTION(WARM_UP, 0));
	words_show_step(w, f, phase->list[0]);
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
		words_a_step(gpu->steps, gpu->commands),
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
