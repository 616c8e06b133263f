/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_excess.c: time beyond an expectation, and its causes. */
#include "ui/text/words.h"

#include "base/number.h"
#include "base/path_name.h"
#include "ui/text/text.h"

/* The brick that most of an excess is in. */
static const char *excess_brick(const struct explain_facts *f, const struct finding *finding)
{
	uint32_t brick = finding->of.excess.brick;

	return brick == RUN_NONE ? brick_name(BRICK_BARRIER_WAIT) : f->run->bricks[brick].name;
}

/* ", while other threads were in RmsNorm", for waits; empty for bricks. */
static const char *awaited_text(
	char out[96], const struct explain_facts *f, const struct finding *finding)
{
	uint32_t awaited = finding->of.excess.awaited;

	*out = '\0';
	if (awaited != RUN_NONE)
		snprintf(out, 96, ", while other threads were in " NAME,
			f->run->bricks[awaited].name);
	return out;
}

WORDS(excess_repeats)
{
	char awaited[96], share[UNITS_BYTES], steal[UNITS_BYTES], interrupts[UNITS_BYTES];
	const struct excess *e = &finding->of.excess;
	char all[UNITS_BYTES], part[UNITS_BYTES];
	const double much = 0.01;
	bool steals = f->presence.steal >= much, interrupts_much = f->presence.interrupts >= much;

	fill(what, "%s are held up at times, %s of it in " NAME "%s",
		e->brick == RUN_NONE ? "waits for other threads" : "bricks",
		units_percent(share, explain_share(e->brick_ns, e->ns)), excess_brick(f, finding),
		awaited_text(awaited, f, finding));
	fill(evidence,
		"%llu of %llu executions, in %llu bricks, took 1.5 times as long as the same work "
		"next to them, or longer: %s in all, %s of it in " NAME
		", while their threads kept their CPUs",
		(unsigned long long)e->count, (unsigned long long)e->of_count,
		(unsigned long long)e->rows, units_time(all, e->ns), units_time(part, e->brick_ns),
		excess_brick(f, finding));
	if (f->presence.steal >= 0)
		add(evidence, "; of all CPUs' time, a host stole %s, and interrupts took %s",
			units_percent(steal, f->presence.steal),
			units_percent(interrupts, f->presence.interrupts));
	/* the likelier first: what was counted, then what is seen soonest */
	fill(advice, "see first ");
	if (steals)
		add(advice, "which guest or limit takes the CPUs (vmstat 1: st), then ");
	if (interrupts_much)
		add(advice, "the growth of /proc/interrupts, then ");
	add(advice, "which code runs there, such as a signal handler (brick record --sample), "
		    "then page faults (perf trace -F all -p PID)");
	if (!interrupts_much)
		add(advice, ", /proc/interrupts");
	if (!steals)
		add(advice, ", steal (vmstat 1: st)");
	add(advice, ", a throttled clock (turbostat)");
	/* they lie anywhere, and so does the code that holds them up */
	words_function(w, f, EXPLAIN_ANY_BRICK, true);
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
	words_function(w, f, e->brick, false);
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
	words_function(w, f, e->brick, false);
	fill(advice, "see its shapes and types (brick tree, below), and which of its functions "
		     "take the time (brick record --sample, then brick report --by function)");
	fill(show, "brick tree --step %s", step_phase_name(finding->phase));
	(void)phase;
}

WORDS(excess_machine)
{
	const struct excess *e = &finding->of.excess;
	const char *library = run_note_find(f->run, "ggml.library");
	char took[UNITS_BYTES], ns[UNITS_BYTES], rate[UNITS_BYTES], other[UNITS_BYTES], type[32];
	const char *next = e->next == RUN_NONE ? NULL : f->run->bricks[e->next].name;
	char others[UNITS_BYTES];
	/* a lesser build slows all products, also those that nothing is known to compare with */
	bool is_all = e->others_rate < 2 * e->rate;

	fill(what, NAME " computes at %s GFLOP/s, and this CPU %s %s", excess_brick(f, finding),
		units_number(rate, e->rate), e->seen ? "was seen at" : "should do",
		units_number(other, e->expected_rate));
	fill(evidence, "%s of the %s in " NAME, units_time(ns, e->ns), units_time(took, e->took_ns),
		excess_brick(f, finding));
	if (next)
		add(evidence, "%s" NAME, e->rows > 2 ? ", " : " and ", next);
	if (next && e->rows > 2)
		add(evidence, " and %llu more", (unsigned long long)e->rows - 2);
	add(evidence, " with weights in %s are too much; ", words_weights(type, f, e->bits));
	if (e->seen)
		add(evidence,
			"the other rate is of products as large, with the same type, tokens and "
			"threads: " NAME " in %.60s",
			e->seen->brick, path_name(e->seen->recording));
	else
		add(evidence, "the other rate is a part of the roof by 'brick ceilings'");
	if (e->others_rate > 0)
		add(evidence, "; the other products of the phase go at %s%s",
			units_number(others, e->others_rate), is_all ? ", too" : "");
	if (library)
		add(evidence, "; their code is %.60s", path_name(library));
	words_function(w, f, e->brick, false);
	if (!is_all)
		fill(advice,
			"the build is not slow as a whole: see the shapes of these products (brick "
			"tree) and their functions (brick record --sample, then brick report --by "
			"function) for a slow path of their own");
	else if (library)
		fill(advice, "build the engine with optimisation and for this CPU "
			     "(-DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON), or install such a "
			     "build");
	else
		fill(advice, "see how the code of all products was built, and which variant runs: "
			     "the compiler's optimisation, vectors of this CPU (-march)");
	fill(show, "brick roofline");
	(void)phase;
}

WORDS(excess_history)
{
	const struct excess *e = &finding->of.excess;
	char now[UNITS_BYTES], usual[UNITS_BYTES], all[UNITS_BYTES], more[UNITS_BYTES];
	char next[80] = "", awaited[96];

	if (e->next != RUN_NONE && phase->tokens)
		snprintf(next, sizeof(next), ", " NAME " by %s", f->run->bricks[e->next].name,
			units_time(more, e->next_ns / phase->tokens));
	fill(what, NAME " takes longer than in earlier recordings%s", excess_brick(f, finding),
		awaited_text(awaited, f, finding));
	fill(evidence,
		"%s a token, and %s in %llu earlier recordings of this workload on this machine "
		"(median)",
		units_time(now, number_of_double(e->brick_now_ns)),
		units_time(usual, number_of_double(e->brick_usual_ns)),
		(unsigned long long)e->of_count);
	if (e->rows > 1)
		add(evidence, "; %llu bricks took longer, by %s a token%s",
			(unsigned long long)e->rows,
			units_time(all, phase->tokens ? e->ns / phase->tokens : 0), next);
	words_function(w, f, e->brick, false);
	fill(advice, "find what changed since then: settings, versions and operations stand side "
		     "by side in brick diff (below)");
	fill(show, "brick diff @%.12s --", f->usual->like);
}

/* Another brick. */
WORDS(excess_next)
{
	words_excess_history(w, f, phase, finding);
}
