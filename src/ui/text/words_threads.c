/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_threads.c: CPUs, memory limits, barriers, and ranks that come late. */
#include "ui/text/words.h"

#include <string.h>

#include "base/path_name.h"
#include "ui/text/phase_text.h"
#include "ui/text/program_options.h"
#include "ui/text/text.h"

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
	char others[UNITS_BYTES];

	if (f->presence.others > little)
		add(evidence,
			"; other programs used %s of all CPUs, and while they run, less of it "
			"comes back",
			units_percent(others, f->presence.others));
}

WORDS(affinity)
{
	uint32_t online = finding->of.crowd.online, cpus = finding->of.crowd.cpus;
	uint32_t left = finding->of.crowd.left;
	uint32_t threads = (uint32_t)finding->of.crowd.threads;
	uint32_t wanted = threads < online ? threads : online;
	bool is_taken = left <= cpus; /* other programs have the CPUs beyond the mask */
	const char *word = program_mask_word(f->run);
	char mask[192];

	say_crowd(w, f, finding);
	fill(evidence,
		"%u threads take part, and may run on %u of the machine's %u CPUs, where one that "
		"waits for another may keep the CPU that this one needs; the cost is the time "
		"beyond their work on %u CPU%s without waiting",
		threads, cpus, online, left, plural_s(left));
	if (left < wanted)
		add(evidence, "; other programs used %.1f of the machine's CPUs",
			f->presence.others * online);
	if (word)
		snprintf(mask, sizeof(mask),
			"let %s, which the command has, name %u CPUs, or take it out (a cpuset of "
			"a container or of systemd may hold the program, too)",
			word, is_taken ? wanted : left);
	else
		snprintf(mask, sizeof(mask),
			"let it have %u CPUs: see its mask (taskset -p PID), its cpuset "
			"(container; "
			"systemd's AllowedCPUs, CPUAffinity), %s",
			is_taken ? wanted : left, OPTION(CPUS, 0));
	if (is_taken) {
		fill(advice, "%s", OPTION(ALL_THREADS, cpus));
		fill(other, "stop the other programs, and %s", mask);
		w->other_threads = wanted;
		return;
	}
	fill(advice, "%s", mask);
	if (left < threads)
		add(advice, "; and %s", OPTION(ALL_THREADS, left));
	fill(other, "%s", OPTION(ALL_THREADS, cpus));
	w->other_threads = cpus;
}

WORDS(oversubscribed)
{
	const struct explain_operators *o = &f->operators[finding->phase];

	say_crowd(w, f, finding);
	char option[PROGRAM_OPTION_BYTES];
	if (o->is_known) {
		char took[UNITS_BYTES], quick[UNITS_BYTES];
		fill(evidence,
			"PyTorch shares operators out to %zu threads, and the program may run on "
			"%u CPU%s; operators took %s, and %s if each were as quick as the quickest "
			"of its kind",
			finding->of.crowd.threads, finding->of.crowd.cpus,
			plural_s(finding->of.crowd.cpus), units_time(took, o->taken_ns),
			units_time(quick, o->quickest_ns));
		fill(advice, "torch.set_num_threads(%u), or OMP_NUM_THREADS=%u",
			finding->of.crowd.cpus, finding->of.crowd.cpus);
	} else {
		fill(advice, "%s",
			threads_option(option, f, finding->phase, finding->of.crowd.cpus));
	}
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
	fill(other, "%s", OPTION(ALL_THREADS, w->other_threads));
	fill(show, "brick path");
	(void)phase;
}

/*
 * How to call the other program that used most CPU, which ran to the end; "": none is known. A
 * process with the recorded program's name is another one, and Brick is no other program.
 */
static const char *neighbour_name(char out[96], const struct run *run)
{
	const char *name = run->machine.neighbour, *pid = strrchr(name, '(');
	const char *program = run->process_count && run->processes[0].executable
				      ? path_name(run->processes[0].executable)
			      : run->command && *run->command ? path_name(*run->command)
							      : "";
	size_t length = pid && pid > name ? (size_t)(pid - name) - 1 : strlen(name);

	*out = '\0';
	if (!run->machine.neighbour_ns || !strncmp(name, "brick ", 6) ||
		!strncmp(name, "brick-", 6))
		return out;
	/* the kernel keeps 15 bytes of a name */
	if (pid && length && !strncmp(name, program, length) && (length >= 15 || !program[length]))
		snprintf(out, 96, "another process %s of this program's name", pid);
	else
		snprintf(out, 96, "%.80s", name);
	return out;
}

WORDS(preempted_by_others)
{
	const double nearly_all = 0.9;
	char others[UNITS_BYTES], most[UNITS_BYTES], rest[UNITS_BYTES], name[96];
	double part = f->presence.neighbour, all = f->presence.others;

	say_preempted(w);
	fill(evidence,
		"on the critical path, the kernel gave their CPUs to other programs, which used %s "
		"of all CPUs",
		units_percent(others, all));
	if (!*neighbour_name(name, f->run))
		add(evidence, "; which programs these were is not known");
	else if (part >= nearly_all * all)
		add(evidence, ", nearly all of it %s", name);
	else
		add(evidence, ": %s %s, and programs that are not known %s", name,
			units_percent(most, part), units_percent(rest, all - part));
	/* names of the kernel's own threads are in brackets, and nobody can stop these */
	bool is_most = *name && 2 * part >= all;
	if (is_most && *name == '[')
		fill(advice, "see what keeps the kernel busy (vmstat 1: memory that is reclaimed, "
			     "disks, network), and stop the program that asks for it");
	else if (is_most)
		fill(advice,
			"stop %s, or keep it off these CPUs (taskset -p, cpusets), or lower its "
			"priority (renice)",
			name);
	else
		fill(advice, "stop the other programs (top names them while they run), keep them "
			     "off these CPUs (taskset -p, cpusets), or lower their priority "
			     "(renice)");
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
		fill(other, "%s, which leaves a CPU to them", OPTION(ALL_THREADS, fewer));
		w->other_threads = fewer;
	}
	(void)finding;
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
	char size[UNITS_BYTES], slept[UNITS_BYTES], kernel[UNITS_BYTES], all[UNITS_BYTES];
	const uint64_t bytes = finding->of.cold_pages.bytes;
	const uint64_t kernel_ns = finding->of.cold_pages.kernel_ns;
	unsigned long long faults = finding->of.cold_pages.faults;

	fill(show, "brick report --columns share,self,blocked");
	fill(evidence, "%s%sthreads slept %s for them", bytes ? units_bytes(size, bytes) : "",
		bytes ? " came from disk in these steps; " : "",
		units_time(slept, finding->of.cold_pages.slept_ns));
	if (kernel_ns)
		add(evidence, ", and the kernel worked %s", units_time(kernel, kernel_ns));
	if (finding->of.cold_pages.is_few) {
		w->is_once = true;
		fill(what, "%llu page fault%s read from disk, %s: %s", faults, plural_s(faults),
			faults == 1 ? "once" : "in all", units_time(all, finding->cost_ns));
		add(evidence, "; such pages may be the model's, a library's or the program's");
		fill(advice,
			"run it again: if they do not come back, nothing is wrong; else have the "
			"model in memory before it is used: %s",
			OPTION(LOAD, 0));
		return;
	}
	fill(what, "pages of the model were read from disk while it computed");
	add(evidence, "; the whole run had %llu major page fault%s", faults, plural_s(faults));
	fill(advice, "have the model in memory before it is used: %s", OPTION(LOAD, 0));
}

WORDS(blocked)
{
	const struct summary_row *most = finding->of.blocked.most, *next = finding->of.blocked.next;
	bool is_everywhere = finding->of.blocked.is_everywhere;
	char ns[UNITS_BYTES], next_ns[UNITS_BYTES], share[UNITS_BYTES];

	double part = explain_share(most->blocked_ns, finding->of.blocked.all_ns);
	fill(what, "bricks %sslept instead of computing, %s of it in " NAME,
		is_everywhere ? "of all kinds " : "",
		part > 0.999 ? "all" : units_percent(share, part), most->name);
	fill(evidence,
		"the kernel says that threads blocked, those that run steps %llu time%s: on all "
		"threads %s in " NAME "%s%s%s" NAME "; no wait that Brick knows explains it",
		(unsigned long long)finding->of.blocked.times, plural_s(finding->of.blocked.times),
		units_time(ns, most->blocked_ns), most->name, next ? ", " : "",
		next ? units_time(next_ns, next->blocked_ns) : "", next ? " in " : "",
		next ? next->name : "");
	if (is_everywhere)
		fill(advice, "see whether something stops the program as a whole: a signal "
			     "(SIGSTOP, ^Z), a debugger, a container that is paused; or memory "
			     "that was swapped out (vmstat 1)");
	else
		fill(advice,
			"while it runs again, see which call it sleeps in: perf trace -s -p PID, "
			"then 'thread apply all bt' in gdb -p PID; most often a lock, a sleep or a "
			"file; if it slept a few times only, it was stopped (^Z, a debugger)");
	fill(show, "brick report --columns share,self,blocked");
	(void)f, (void)phase;
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
	fill(other, "%s", OPTION(ALL_THREADS, 1));
	w->other_threads = 1;
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
}

WORDS(slow_thread)
{
	char least[UNITS_BYTES], most[UNITS_BYTES];
	size_t threads = finding->of.slow_thread.threads;

	fill(what, "all threads wait for one that is slower, thread %llu",
		(unsigned long long)finding->of.slow_thread.tid);
	fill(evidence,
		"of %zu threads, it waited %s at barriers, and %s %s%s; the waits are in bricks of "
		"several kinds, so no single operation is slow, and meanwhile none was preempted; "
		"which CPU it had was not recorded",
		threads, units_time(least, finding->of.slow_thread.waited_ns),
		threads == 2 ? "the other one" : "each other one",
		units_time(most, finding->of.slow_thread.others_ns),
		threads == 2 ? "" : " on average");
	fill(advice,
		"while it runs again, see the slow thread's CPU (top -H; ps -L -o tid,psr,time -p "
		"PID), and what else that has to do: /proc/interrupts, vmstat 1 (st: stolen), "
		"lscpu -e (a slower core, a sibling of another)");
	/* the slow thread's part of the work goes to the others */
	w->other_threads = (uint32_t)threads - 1;
	fill(other, "keep the team off that CPU, with a thread less: %s, %s", OPTION(CPUS, 0),
		OPTION(ALL_THREADS, w->other_threads));
	fill(show, "brick report --by thread");
	(void)phase;
}

WORDS(barrier_waits)
{
	const struct summary_row *most = finding->of.barrier_waits.most;
	char work[UNITS_BYTES], all[UNITS_BYTES], each[UNITS_BYTES], fewer_time[UNITS_BYTES];
	char option[PROGRAM_OPTION_BYTES];
	size_t threads = finding->of.barrier_waits.threads, fewer = threads - 1;
	uint64_t work_ns = finding->of.barrier_waits.work_ns;
	uint64_t waited_ns = finding->of.barrier_waits.waited_ns;
	/* where waits are bricks of their own, they are behind nothing that is known */
	bool is_known = most->wait_ns != 0;

	fill(what, "threads wait for one another at barriers%s" NAME,
		is_known ? ", most behind " : "", is_known ? most->name : "");
	fill(evidence,
		"together, %zu threads computed %s and waited %s for one another, while none was "
		"off its CPU: %s each; %zu thread%s without waits would need %s%s",
		threads, units_time(work, work_ns), units_time(all, waited_ns),
		units_time(each, (work_ns + waited_ns) / threads), fewer, plural_s(fewer),
		units_time(fewer_time, finding->of.barrier_waits.fewer_ns),
		fewer > 1 ? " each" : "");
	fill(advice, "%s", threads_option(option, f, finding->phase, fewer));
	fill(show, "brick report --by thread");
	(void)phase;
}

WORDS(page_faults)
{
	uint32_t brick = finding->of.page_faults.brick;
	uint64_t kernel_ns = finding->of.page_faults.kernel_ns;
	char kernel[UNITS_BYTES], each[UNITS_BYTES];

	fill(what, "memory is given back between steps, and each step takes page faults for it");
	fill(evidence, "%llu page faults in %llu of %llu steps, for which the kernel worked %s",
		(unsigned long long)finding->of.page_faults.faults,
		(unsigned long long)finding->of.page_faults.steps, (unsigned long long)phase->steps,
		units_time(kernel, kernel_ns));
	if (phase->team > 1)
		add(evidence, " on %zu threads, which is %s of each", phase->team,
			units_time(each, kernel_ns / phase->team));
	if (finding->cost_ns < kernel_ns / (phase->team ? phase->team : 1))
		add(evidence, ", other calls included: a fault takes 3 us at most");
	if (brick != RUN_NONE)
		add(evidence,
			"; they are probably in " NAME
			", which takes as much longer than in earlier recordings",
			f->run->bricks[brick].name);
	fill(advice, "find the call that gives pages back (perf trace -F all -p PID: madvise, "
		     "munmap, brk), and keep these buffers; MALLOC_TRIM_THRESHOLD_ and "
		     "MALLOC_MMAP_THRESHOLD_ let the C library keep what is freed");
	fill(show, "brick report --phase %s", step_phase_name(finding->phase));
}

WORDS(fewer_threads)
{
	fill(what, "%s runs on %zu thread%s, %s on %zu", phase_whole(finding->phase),
		finding->of.fewer_threads.threads, plural_s(finding->of.fewer_threads.threads),
		phase_whole(finding->of.fewer_threads.phase), finding->of.fewer_threads.others);
	fill(evidence,
		"%u CPUs can be used; the cost is what %zu threads would save in the bricks that "
		"they share in %s",
		run_usable_cpus(f->run), finding->of.fewer_threads.others,
		phase_whole(finding->of.fewer_threads.phase));
	char option[PROGRAM_OPTION_BYTES];
	fill(advice, "%s",
		threads_option(option, f, finding->phase, finding->of.fewer_threads.others));
	fill(show, "brick report --by thread --phase %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(late_rank)
{
	const struct rank_row *late = finding->of.late_rank;
	char waited[UNITS_BYTES], longer[UNITS_BYTES];

	fill(what, "rank %d comes late, and the others wait for it", (int)late->rank);
	fill(evidence,
		"rank %d was last at %llu of %llu collectives, for which the others waited %s",
		(int)late->rank, (unsigned long long)late->last,
		(unsigned long long)f->ranks.collectives, units_time(waited, late->caused_ns));
	if (late->longer_ns && !late->was_preempted)
		add(evidence, "; until then it took %s longer than they did in " NAME,
			units_time(longer, late->longer_ns),
			late->brick ? late->brick : "no brick");
	fill(advice,
		"give the ranks equal work (batches of equal length, files of equal size), and do "
		"what one rank does alone, as writing logs, behind the step or in a thread");
	fill(show, "brick report");
	(void)phase;
}
