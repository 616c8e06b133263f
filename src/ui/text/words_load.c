/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_load.c: loading, first touches, NUMA nodes and kinds of cores. */
#include "ui/text/words.h"

#include <stdlib.h>

#include "ui/text/phase_text.h"
#include "ui/text/placed_view.h"
#include "ui/text/program_options.h"
#include "ui/text/text.h"

WORDS(first_touch)
{
	uint32_t brick = finding->of.first_touch.brick;
	char time[UNITS_BYTES], count[UNITS_BYTES];

	fill(what, "pages were touched for the first time, and the kernel mapped them meanwhile");
	fill(evidence, "%s page faults on threads that run these steps, most of them early",
		units_count(count, finding->of.first_touch.faults));
	if (brick != RUN_NONE)
		add(evidence, ", above all in " NAME, f->run->bricks[brick].name);
	if (finding->of.first_touch.off_ns)
		add(evidence, "; %s more without a CPU within them is told elsewhere",
			units_time(time, finding->of.first_touch.off_ns));
	fill(advice,
		"have the pages in place before they are used: a warm-up, or %s; huge pages "
		"(/sys/kernel/mm/transparent_hugepage) take fewer faults",
		OPTION(LOAD, 0));
	fill(show, "brick report --by faults");
}

static void words_load_part(struct finding_words *w, const struct finding *finding)
{
	char time[UNITS_BYTES], start[UNITS_BYTES];

	fill(evidence, "%s of the %s before the first step",
		units_time(time, finding->of.loading.ns),
		units_time(start, finding->of.loading.start_up_ns));
	fill(show, "brick report --by faults");
}

WORDS(load_reads)
{
	uint64_t from_disks = finding->of.loading.bytes;
	double ns = (double)finding->of.loading.ns;
	char bytes[UNITS_BYTES], count[UNITS_BYTES];
	/* a file without a size that is known is not in memory if much came from disks */
	bool is_cold = from_disks > (f->model_bytes ? f->model_bytes / 8 : 0);

	words_load_part(w, finding);
	fill(what, "reading the model's file took most of the time before the first step");
	if (is_cold)
		add(evidence, "; %s came from disks meanwhile, %.2f GB/s",
			units_bytes(bytes, from_disks), (double)from_disks / ns);
	else
		add(evidence, "; the file was in memory, or the system does not count its disk");
	if (finding->of.loading.faults)
		add(evidence, "; %s page faults in the memory that it was read into",
			units_count(count, finding->of.loading.faults));
	fill(advice, "map the file instead of reading it%s",
		is_cold ? ", keep it in memory between runs, or put it on a faster disk" : "");
}

WORDS(load_faults)
{
	char bytes[UNITS_BYTES], count[UNITS_BYTES];

	bool is_locked = finding->of.loading.lock_ns > finding->of.loading.ns / 2;

	words_load_part(w, finding);
	fill(what, "%s took most of the time before the first step",
		is_locked ? "locking the model in memory (mlock)" : "page faults for the model");
	add(evidence, ", in %s page faults%s", units_count(count, finding->of.loading.faults),
		is_locked ? " that locking had" : " and in mapping");
	if (finding->of.loading.bytes)
		add(evidence, "; %s came from disks meanwhile",
			units_bytes(bytes, finding->of.loading.bytes));
	if (is_locked)
		fill(advice, "load without mlock, or keep the process");
	else
		fill(advice, "%s; or read the file ahead (vmtouch -t FILE), or keep the process",
			OPTION(LOAD, 0));
}

static void words_load_places(struct finding_words *w, const struct explain_facts *f)
{
	SCOPED char *where = placed_text(f->run);

	fill(evidence, "%s", where ? where : "");
	fill(show, "brick report --json");
}

WORDS(far_memory)
{
	const struct placed *p = &f->placed;
	char share[UNITS_BYTES];

	words_load_places(w, f);
	fill(what, "threads run on NUMA node %u, and most memory is on node %u",
		p->nodes[p->main_threads].node, p->nodes[p->main_memory].node);
	add(evidence, "; where all memory is read alike, %s of the reads go to another node",
		units_percent(share, p->far));
	fill(advice,
		"numactl --cpunodebind=%u --membind=%u PROGRAM; pages of a file that is in memory "
		"already stay where they are until it is dropped",
		p->nodes[p->main_memory].node, p->nodes[p->main_memory].node);
}

WORDS(threads_over_nodes)
{
	const struct placed *p = &f->placed;
	char share[UNITS_BYTES];

	words_load_places(w, f);
	fill(what, "threads run on several NUMA nodes, and most memory is on node %u",
		p->nodes[p->main_memory].node);
	add(evidence, "; where all memory is read alike, %s of the reads go to another node",
		units_percent(share, p->far));
	fill(advice,
		"spread the memory, too (numactl --interleave=all; llama.cpp: --numa distribute), "
		"or keep the threads on that node (numactl --cpunodebind=%u)",
		p->nodes[p->main_memory].node);
}

WORDS(slow_cores)
{
	const struct placed *p = &f->placed;
	char share[UNITS_BYTES];

	words_load_places(w, f);
	fill(what, "threads ran on slower cores for %s of their time",
		units_percent(share, 1 - p->kinds[0].time));
	add(evidence,
		"; the next kind has %.0f%% of the fastest cores' speed, by the kernel's "
		"figures, and a team waits for its slowest thread",
		p->kinds[1].capacity / 10.24);
	fill(advice,
		"as many threads as there are fast cores (%u), kept there by taskset or the "
		"engine's own mask",
		p->kinds[0].cpus);
}
