# SPDX-License-Identifier: Apache-2.0
"""The planted causes, written down before anything is run: what is done to a run, which rule of `brick explain` is the
true one, and in which phase its cost is looked at.

A case is a function of a random number generator. It returns a Plan: the options of both sides, and what is done to the
planted one alone. `also` names rules that say something true of the planted run beside its cause (a program that waits
for a device makes its steps slow, too); nothing else that is found is.
"""
import dataclasses


@dataclasses.dataclass
class Plan:
    options: dict = dataclasses.field(default_factory=dict)  # of bench/causes/planted.c, on both sides
    planted: dict = dataclasses.field(default_factory=dict)
    model: str = "q8_0"
    planted_model: str = ""  # empty: the same
    engine: str = "cpu"
    planted_engine: str = ""
    cpus: tuple = ()  # both sides are pinned to these; empty: all
    planted_cpus: tuple = ()
    nice: int = 0  # of the planted one
    competitors: int = 0  # on CPU 0, 1, ...
    quota: float = 0  # CPUs; 0: none
    quota_after: float = 0  # seconds from the start on; 0: from the start
    neighbour: str = ""  # a program beside it, on CPU 0: "memory" streams through 256 MiB, "engine" is the same engine
    memory: float = 0  # of the model's size that it may keep; 0: all
    env: dict = dataclasses.field(default_factory=dict)
    machine: str = ""  # what /sys says to the recorder: "nodes": CPUs 0 and 1 are of two, all memory is on the first; "cores": CPU 1 is slow


CASES = {}


def case(truth, phase="decode", also=()):
    """truth: ids of rules, each of which would be right."""
    def add(plan):
        CASES[plan.__name__] = (plan, {truth} if isinstance(truth, str) else set(truth), phase, set(also))
        return plan
    return add


def usual(r, **more):
    """Sizes of a run of half a second. One thread: a team suffers from whatever else runs, which nobody planted."""
    return {"prompt": r.randrange(32, 96), "predict": r.randrange(60, 90), "threads": 1, **more}


# Threads and CPUs.

@case("oversubscribed", also={"barrier-waits"})
def four_threads_on_two_cpus(r):
    return Plan(usual(r, threads=2), {"threads": 4, "predict": 8, "prompt": 8}, model="shallow")


@case("oversubscribed", also={"barrier-waits"})
def three_threads_on_two_cpus(r):
    return Plan(usual(r, threads=2), {"threads": 3, "predict": 12, "prompt": 8}, model="shallow")


@case("oversubscribed", also={"barrier-waits"})
def eight_threads_on_two_cpus(r):
    return Plan(usual(r, threads=2), {"threads": 8, "predict": 4, "prompt": 8}, model="shallow")


@case(("affinity", "oversubscribed"), also={"barrier-waits"})
def two_threads_may_use_one_cpu(r):
    return Plan(usual(r, threads=2), {"predict": r.randrange(10, 14), "prompt": 8}, model="shallow", planted_cpus=(1,))


@case("preempted-by-others")
def one_competitor(r):
    return Plan(usual(r), cpus=(1,), competitors=2)


@case("preempted-by-others")
def one_competitor_beside_a_team(r):
    return Plan(usual(r, threads=2, predict=r.randrange(80, 99), prompt=8), competitors=1)


@case("preempted-by-others")
def two_competitors(r):
    return Plan(usual(r, threads=2, predict=r.randrange(50, 60), prompt=8), competitors=2)


@case("preempted-by-others")
def less_priority_than_a_competitor(r):
    return Plan(usual(r, predict=r.randrange(20, 30)), cpus=(1,), competitors=2, nice=r.randrange(4, 7))


@case("cpu-quota")
def quota_of_half_a_cpu(r):
    return Plan(usual(r), quota=r.uniform(0.4, 0.6))


@case("cpu-quota")
def quota_of_a_team(r):
    return Plan(usual(r, threads=2), quota=r.uniform(0.8, 1.3))


@case("slow-thread", also={"barrier-waits"})
def one_slow_thread(r):
    return Plan(usual(r, threads=2), {"slow": r.randrange(45, 65)})


@case("threads-made-anew", also={"in-no-brick", "barrier-waits"})
def threads_made_for_each_step(r):
    return Plan(usual(r, threads=2, predict=r.randrange(200, 300)), {"no-pool": 1}, model="tiny")


# Memory.

@case("cold-pages", "prefill", also={"slow-first-step", "blocked", "large-weights"})
def model_not_in_memory(r):
    return Plan(usual(r, load=2), {"evict": 1}, model="f16")


@case("memory-limit", also={"slow-first-step", "blocked", "cold-pages", "large-weights"})
def memory_limit_below_the_model(r):
    return Plan(usual(r, load=2, predict=r.randrange(20, 30)), memory=r.uniform(0.5, 0.7), model="f16")


# it copies more and more, which takes time beside the memory
@case("memory-growth", also={"state-copied", "host-works", "page-faults", "first-touch"})
def states_that_are_kept(r):
    return Plan(usual(r, predict=r.randrange(160, 240)), {"keep": r.randrange(2, 5)}, model="f16")


# where there is one kind of each, /sys and the list of pages are doubles; threads are where they are

@case("far-memory")
def memory_on_the_other_node(r):
    return Plan(usual(r, predict=r.randrange(200, 300)), machine="nodes", cpus=(0,), planted_cpus=(1,))


@case("far-memory")
def memory_on_the_other_node_of_a_small_model(r):
    return Plan(usual(r, predict=r.randrange(800, 1200)), model="tiny", machine="nodes", cpus=(0,), planted_cpus=(1,))


@case("slow-cores")
def thread_on_a_slow_core(r):
    return Plan(usual(r, predict=r.randrange(200, 300)), machine="cores", cpus=(0,), planted_cpus=(1,))


@case("large-weights", also={"at-memory-roof"})
def weights_of_f32(r):
    return Plan(usual(r), planted_model="f32")


@case("large-weights", also={"at-memory-roof"})
def weights_of_f32_one_thread(r):
    return Plan(usual(r), planted_model="f32")


@case("large-weights", also={"at-memory-roof"})
def weights_of_f16(r):
    return Plan(usual(r), planted_model="f16")


@case("large-vocabulary")
def vocabulary(r):
    return Plan(usual(r, predict=r.randrange(60, 90)), planted_model="vocab")


# Context and attention.

@case("long-context", also={"context-growth"})
def long_prompt(r):
    return Plan(usual(r), {"prompt": r.randrange(2500, 3000), "batch": 2048}, model="shallow")


@case(("long-context", "context-growth"))
def growing_context(r):
    return Plan(usual(r, prompt=8), {"predict": r.randrange(2000, 2500)}, model="tiny")


@case("no-flash-attention", "prefill")
def flash_attention_off(r):
    return Plan(usual(r, prompt=r.randrange(1500, 2000), batch=2048, predict=4, flash=2), {"flash": 1}, model="shallow")


@case("kv-type", also={"long-context", "context-growth"})
def kv_cache_of_q4(r):
    return Plan(usual(r, prompt=r.randrange(1500, 2000), batch=2048, flash=2), {"type-k": 2, "type-v": 2}, model="shallow")


@case("kv-type", also={"long-context", "context-growth"})
def kv_cache_of_f32(r):
    return Plan(usual(r, prompt=r.randrange(2500, 3000), batch=2048, flash=2), {"type-k": 0, "type-v": 0}, model="shallow")


# Batches.

@case("small-ubatch", "prefill")
def tiny_ubatch(r):
    return Plan(usual(r, prompt=r.randrange(400, 500), predict=30), {"ubatch": r.choice((1, 2, 4))}, model="f16")


@case("small-ubatch", "prefill")
def small_ubatch(r):
    return Plan(usual(r, prompt=r.randrange(400, 500), predict=30), {"ubatch": 8})


@case("small-batches", "prefill")
def prompt_in_small_batches(r):
    return Plan(usual(r, prompt=r.randrange(400, 500), predict=30), {"batch": r.choice((2, 4))}, model="f16")


@case("all-logits", "prefill")
def logits_for_all_tokens(r):
    return Plan(usual(r, prompt=r.randrange(400, 500), predict=30), {"all-logits": 1}, model="vocab")


@case("sequences-apart")
def sequences_one_after_another(r):
    return Plan(usual(r, seqs=r.randrange(4, 7), predict=r.randrange(30, 40), prompt=r.randrange(16, 32)), {"apart": 1}, model="f16")


@case("prefill-in-decode", ("decode", "mixed"))
def prompt_mixed_into_decode(r):
    return Plan(usual(r, predict=r.randrange(60, 90)), {"mixed": r.randrange(16, 32)})


@case("prompt-repeated", "prefill total")
def prompt_again(r):
    return Plan(usual(r, prompt=r.randrange(300, 400), predict=4), {"repeat": 4})


# The program around the engine.

@case("host-pauses")
def sleep_between_steps(r):
    return Plan(usual(r), {"pause-us": r.randrange(3000, 10000)})


@case("host-pauses")
def sleep_between_steps_of_one_thread(r):
    return Plan(usual(r), {"pause-us": r.randrange(1500, 4000)})


@case("host-works")
def text_between_steps(r):
    return Plan(usual(r), {"text-us": r.randrange(3000, 10000)})


@case("slow-sampling")
def sampler_that_sorts(r):
    return Plan(usual(r, predict=r.randrange(50, 70)), {"sampler": 1}, model="vocab-tiny")


@case("slow-sampling")
def sampler_with_a_past(r):
    return Plan(usual(r, predict=r.randrange(50, 70)), {"sampler": 2}, model="vocab-tiny")


@case("graph-rebuilt")
def no_graph_reuse(r):
    return Plan(usual(r, predict=r.randrange(400, 500)), model="tiny", env={"LLAMA_GRAPH_REUSE_DISABLE": "1"})


@case("host-pauses")
def lock_that_another_thread_holds(r):
    return Plan(usual(r), {"lock-us": r.randrange(2000, 6000)})


@case(("preempted", "oversubscribed"))
def thread_that_computes_beside_the_engine(r):
    return Plan(usual(r), {"spin": 1}, cpus=(1,))


@case("state-copied", also={"long-context"})
def state_saved_after_each_token(r):
    return Plan(usual(r, prompt=r.randrange(1500, 2500), batch=2048), {"save": 1})


@case("graph-watched")
def callback_that_sees_each_node(r):
    return Plan(usual(r, predict=r.randrange(100, 150)), {"watch": 1}, model="tiny")


@case("prompt-repeated", ("decode total", "prefill", "mixed", "decode"))
def all_tokens_again_for_each_token(r):
    return Plan(usual(r, predict=r.randrange(20, 30)), {"anew": 1})


# Written down later than the rules, and before they were run.

@case("host-pauses")
def log_synced_for_each_token(r):
    return Plan(usual(r), {"sync": 1})


@case("host-pauses")
def pipe_that_is_read_slowly(r):
    return Plan(usual(r), {"pipe-us": r.randrange(6000, 9000)})


@case("host-pauses")
def long_pauses_at_times(r):
    return Plan(usual(r, predict=r.randrange(90, 120)), {"pause-us": r.randrange(30000, 60000), "pause-each": r.randrange(12, 20)})


@case("host-works")
def probabilities_in_the_program(r):
    return Plan(usual(r), {"softmax": r.randrange(4, 8)}, model="vocab-tiny")


@case("slow-sampling")
def grammar(r):
    return Plan(usual(r, sampler=4), {"sampler": 3}, model="vocab-tiny")


@case("cpu-quota")
def quota_that_comes_later(r):
    return Plan(usual(r, predict=r.randrange(200, 260)), quota=r.uniform(0.3, 0.5), quota_after=0.5)


# what puts the pages out is work of the program, too
@case("cold-pages", also={"slow-steps", "blocked", "large-weights", "host-works"})
def pages_that_leave_at_times(r):
    return Plan(usual(r, load=2, predict=r.randrange(60, 80)), {"evict-each": r.randrange(3, 6)}, model="f16")


@case("preempted-by-others")
def engine_of_another_process_on_the_same_cpu(r):
    return Plan(usual(r), cpus=(0,), neighbour="engine")


@case("host-works")
def text_that_grows(r):
    return Plan(usual(r), {"text-us": r.randrange(600, 1500)})


@case("affinity", also={"barrier-waits", "oversubscribed"})
def four_threads_may_use_one_cpu(r):
    return Plan(usual(r, threads=2), {"threads": 4, "predict": r.randrange(4, 7), "prompt": 8}, model="shallow", planted_cpus=(0,))


@case("small-ubatch", "prefill")
def ubatch_of_16_of_4_bits(r):
    return Plan(usual(r, prompt=r.randrange(400, 500), predict=30), {"ubatch": 16}, model="q4_0")


@case("no-flash-attention", "prefill")
def flash_attention_off_in_a_deep_model(r):
    return Plan(usual(r, prompt=r.randrange(1500, 2000), batch=2048, predict=4, flash=2), {"flash": 1}, model="tiny")


# The engine and its devices.

@case("lesser-cpu-build")
def library_for_an_old_cpu(r):
    return Plan(usual(r), planted_engine="sse42")


@case("lesser-cpu-build")
def library_for_an_old_cpu_one_thread_f32(r):
    return Plan(usual(r, predict=r.randrange(60, 90)), planted_engine="sse42", model="f32")


@case("software-device")
def software_renderer(r):
    return Plan(usual(r, predict=r.randrange(8, 12)), planted_engine="vulkan")


# Runs with nothing wrong; each of them five times, with other sizes.

CLEAN = {}


def clean(also=()):
    def add(plan):
        CLEAN[plan.__name__] = (plan, set(also))
        return plan
    return add


@clean()
def two_threads(r):
    return Plan(usual(r, threads=2))


@clean()
def one_thread(r):
    return Plan(usual(r))


@clean()
def tiny_model(r):
    return Plan(usual(r, predict=r.randrange(400, 600)), model="tiny")


@clean()
def four_bits(r):
    return Plan(usual(r), model="q4_0")


@clean()
def prompt_of_middling_length(r):
    return Plan(usual(r, prompt=r.randrange(300, 500)))


@clean()
def sequences_together(r):
    return Plan(usual(r, seqs=4, predict=r.randrange(40, 60)))


@clean()
def generation_only(r):
    return Plan(usual(r, prompt=4))


@clean()
def warmed_up(r):
    return Plan(usual(r, warm=2))


@clean()
def one_cpu_for_one_thread(r):
    return Plan(usual(r), cpus=(1,))


@clean()
def shallow_model(r):
    return Plan(usual(r, predict=r.randrange(200, 300)), model="shallow")


@clean()
def four_conversations(r):
    return Plan(usual(r, repeat=3, fresh=1, predict=r.randrange(40, 60), prompt=r.randrange(8, 16)))


@clean()
def three_tokens(r):
    return Plan(usual(r, predict=3))


@clean()
def prompt_only(r):
    return Plan(usual(r, predict=0, prompt=r.randrange(200, 400)))


@clean()
def embeddings_of_texts(r):
    return Plan(usual(r, embed=1, repeat=8, fresh=1, predict=0, prompt=r.randrange(60, 120), **{"all-logits": 1}))


@clean()
def model_read_into_memory(r):
    return Plan(usual(r, load=1))


@clean()
def usual_sampling(r):
    return Plan(usual(r, sampler=4))


@clean()
def probabilities_once(r):
    return Plan(usual(r, softmax=1))


@clean()
def idle_before_each_conversation(r):
    return Plan(usual(r, **{"wait-us": 300000}, repeat=2, fresh=1))


@clean(also=("preempted-by-others", "preempted"))
def memory_used_by_a_neighbour(r):
    return Plan(usual(r), cpus=(1,), neighbour="memory")


@clean()
def memory_on_its_own_node(r):
    return Plan(usual(r, predict=r.randrange(200, 300)), machine="nodes", cpus=(0,))


@clean()
def thread_on_a_fast_core(r):
    return Plan(usual(r, predict=r.randrange(200, 300)), machine="cores", cpus=(0,))
