/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of rules_gpus.c: why a GPU is idle, and kernels that could be fewer. */
#include "ui/text/words.h"

#include <string.h>

#include "base/number.h"
#include "ui/text/text.h"

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
		words_a_step(gpu->steps, copies->count),
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
	fill(advice,
		"keep on the GPU what each step needs again, such as weights; copy the rest ahead, "
		"on a stream of its own, while the GPU computes");
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
	const struct explain_operators *o = &f->operators[finding->phase];
	char each[UNITS_BYTES], slept[UNITS_BYTES];

	if (o->is_known) {
		bool sleeps = 2 * o->loading_slept_ns >= o->loading.ns;
		fill(what, "steps wait for the data loader");
		fill(evidence,
			"%s for each of %llu batches, %s of it asleep, on the thread that trains; "
			"%llu processes load beside it",
			units_time(each, o->loading.count ? o->loading.ns / o->loading.count : 0),
			(unsigned long long)o->loading.count,
			units_percent(slept, explain_share(o->loading_slept_ns, o->loading.ns)),
			(unsigned long long)o->workers);
		fill(advice, "%s",
			o->workers ? "more workers or batches ahead (num_workers, "
				     "prefetch_factor), a cheaper dataset and collate_fn"
			: sleeps   ? "load in other processes while a step computes (num_workers=2 "
				     "of DataLoader, persistent_workers=True); see what the "
				     "dataset waits for"
				   : "load in other processes while a step computes (num_workers=2 "
				     "of DataLoader, persistent_workers=True), or a cheaper "
				     "dataset and collate_fn");
		fill(show, "brick tree --step slowest");
		return;
	}
	fill(what, "the GPU waits for the data loader");
	say_idle(w, f, finding, GPU_IDLE_LOADER);
	fill(advice,
		"more workers (num_workers), prefetching (prefetch_factor), data that is decoded "
		"beforehand");
	(void)phase;
}

WORDS(compilation)
{
	const struct explain_operators *o = &f->operators[finding->phase];

	if (o->is_known) {
		char ns[UNITS_BYTES], once[UNITS_BYTES];
		fill(what, "functions are compiled again");
		fill(evidence,
			"%llu recompilations took %s, and a function for all sizes takes about %s "
			"more than the first; the longest: %.100s",
			(unsigned long long)o->recompiling.count, units_time(ns, o->recompiling.ns),
			units_time(once, number_minus(o->recompiling.ns, finding->cost_ns)),
			words_label(f, &o->recompiling));
		fill(advice, "mark what changes as dynamic (torch.compile(dynamic=True), "
			     "torch._dynamo.mark_dynamic), pad to a few sizes, keep numbers that "
			     "change out of the compiled function");
		fill(show, "brick report --phase %s", step_phase_name(finding->phase));
		return;
	}
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

WORDS(host_alone)
{
	const struct gpu_time *time = f->gpus[finding->phase].time;
	char most[UNITS_BYTES], mean[UNITS_BYTES];
	bool is_known = time->gaps_most != RUN_NONE;
	const char *name = is_known ? f->run->bricks[time->gaps_most].name : "no event of the file";
	double share = explain_share(time->gaps_most_ns, time->gaps_ns);

	fill(what, is_known ? "the GPU waits while the host does something else than launch"
			    : "the GPU waits for launches, and the file does not say why");
	fill(evidence,
		"%llu gap%s of half a millisecond or more before a launch, of %s on average; in "
		"%s the host is %sin " NAME " (%s)",
		(unsigned long long)time->gaps, plural_s(time->gaps),
		units_time(mean, time->gaps_ns / time->gaps), time->gaps == 1 ? "it" : "them",
		share < 0.5 ? "mostly " : "", name, units_percent(most, share));
	fill(advice, !is_known
			     ? WORDS_PROFILE_MORE
			     : "do that on another thread, or before the step, so that it is ready "
			       "when the GPU is");
	fill(show, is_known && share < 0.5 ? "brick flame" : "brick tree");
	(void)phase;
}

WORDS(hidden_sync)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char waited[UNITS_BYTES];

	fill(what, "the host waits for the GPU in the middle of steps");
	fill(evidence,
		"%llu waits a step, most in %s: the host waits %s in all, and then the GPU for the "
		"host",
		words_a_step(gpu->steps, gpu->syncs.count), gpu->syncs.most,
		units_time(waited, gpu->syncs.ns));
	fill(advice, "keep values on the GPU, or ask for them once, later: no .item(), .cpu(), "
		     "nonzero(), if on a tensor or synchronize() in a step");
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
		words_a_step(gpu->steps, gpu->commands),
		units_time(mean, gpu->command_ns / gpu->commands),
		words_a_step(gpu->steps, gpu->calls), (unsigned long long)gpu->same_steps,
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
		words_a_step(gpu->steps, gpu->chain_kernels),
		words_a_step(gpu->steps, gpu->chains.count), gpu->chains.most);
	fill(advice, "let torch.compile fuse them, or call a fused operator");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(attention_apart)
{
	const struct explain_operators *o = &f->operators[finding->phase];
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char each[UNITS_BYTES];

	if (o->is_known) {
		char products[UNITS_BYTES];
		fill(what, "attention is computed in several operators");
		fill(evidence,
			"%llu times a step a softmax and what is beside it take %s between two "
			"products of attention, which take %s",
			words_a_step(phase->steps, o->attention.count),
			units_time(each, o->attention.ns / o->attention.count),
			units_time(products, o->attention_product_ns / o->attention.count));
		fill(advice, "call scaled_dot_product_attention (attn_implementation=\"sdpa\")");
		fill(show, "brick tree --step %s", step_phase_name(finding->phase));
		return;
	}
	fill(what, "attention is computed in several kernels");
	fill(evidence,
		"%llu times a step a softmax stands between two products of attention, and takes "
		"%s with what "
		"is beside it",
		words_a_step(gpu->steps, gpu->softmax.count),
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

	const struct explain_operators *o = &f->operators[finding->phase];
	if (o->is_known) {
		fill(what, "the optimizer goes over the weights many times");
		fill(evidence,
			"%s a step, in %.0f operators for each tensor of weights; a fused "
			"optimizer reads and writes each once",
			units_time(took, o->optimizer_ns / o->optimizer_steps),
			o->optimizer_passes);
		fill(advice, "make the optimizer with fused=True (AdamW, Adam, SGD, Adagrad; on a "
			     "CPU with PyTorch 2.4 or later)");
		fill(show, "brick report --phase %s", step_phase_name(finding->phase));
		return;
	}
	fill(what, "the optimizer launches many small kernels");
	fill(evidence, "%llu commands a step, which take %s",
		words_a_step(gpu->steps, gpu->optimizer.count),
		units_time(took, gpu->optimizer_wall_ns / gpu->steps));
	fill(advice, "make the optimizer with fused=True, or foreach=True");
	fill(show, "brick report --by kernel");
	(void)phase;
}

WORDS(padding)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];

	const struct explain_operators *o = &f->operators[finding->phase];
	if (o->is_known) {
		char part[UNITS_BYTES];
		fill(what, "%s of the tokens are padding",
			units_percent(part, explain_share(o->padding, o->padding + phase->tokens)));
		fill(evidence,
			"attention_mask masks %llu tokens beside %llu others, and all are computed",
			(unsigned long long)o->padding, (unsigned long long)phase->tokens);
		fill(advice, "batch sequences of similar lengths (group_by_length, "
			     "LengthGroupedSampler), or pack them into one");
		fill(show, "brick report --phase %s", step_phase_name(finding->phase));
		return;
	}
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
		words_a_step(gpu->steps, gpu->unbalanced.count));
	fill(advice, "share the work out by its length, or put what is short into one stream");
	fill(show, "brick report --by queue");
	(void)phase;
}

WORDS(tensor_copies)
{
	const struct explain_gpu *gpu = &f->gpus[finding->phase];
	char part[UNITS_BYTES];

	const struct explain_operators *o = &f->operators[finding->phase];
	if (o->is_known) {
		char most[128];
		fill(what, "tensors are copied into another layout");
		fill(evidence, "%llu copies a step take %s of the operators' time%s",
			words_a_step(phase->steps, o->copies.count),
			units_percent(part, explain_share(o->copies.ns, o->ns)),
			words_longest(most, f, &o->copies));
		fill(advice, "keep one layout: no contiguous(), clone() or reshape() of a "
			     "transposed tensor in a step; transpose the weights once");
		fill(show, "brick tree --step %s", step_phase_name(finding->phase));
		return;
	}
	fill(what, "the GPU moves tensors from one place to another");
	fill(evidence, "%llu copies a step within the GPU take %s of its time, most of them %.64s",
		words_a_step(gpu->steps, gpu->moves.count),
		units_percent(part, explain_share(gpu->moves.ns, gpu->time->wall_ns)),
		gpu->moves.most);
	fill(advice,
		"avoid contiguous(), cat() and changes of layout or type in steps; keep one layout "
		"(channels_last) and type");
	fill(show, "brick report --by kernel");
	(void)phase;
}
