# SPDX-License-Identifier: Apache-2.0
"""A server with the interfaces of vLLM's that Brick hooks, for integration/serving.py: an engine core and a worker, in two
processes or in one (ENGINE=one). The core gives each step a budget of tokens and has room for so many tokens in its cache:
it cuts prompts into chunks, finds begins of prompts that it has, takes out a request if the cache is full, and runs a step
ahead if it is asked (AHEAD=1). Drafts of two tokens are checked (DRAFTS=1), of which one holds. Another thread of the
worker computes for 3 ms in each step if it is asked (THREAD=1). A request that comes back is told as new if the worker is
of the second kind (RUNNER=2). Before each step it waits for a line, and prints the step's tokens behind it (PACED=1); at
the line "look" it makes no step, and prints of each of its processes whether Brick has hooked functions of Python.
Requests come behind a line of their own, and the core waits for lines of a thread (LATE=1). It prints what it counts.
Nobody sees its core if that is asked (CORE=unseen).

The files of the double are written into a folder, so that they are imported as a package's are. argv: the folder, and the
fault: what its scheduler says otherwise."""
import os
import sys
import textwrap

SCHEDULER = '''
import os


class NewRequestData:
    def __init__(self, request):
        self.req_id, self.prompt_token_ids = request.request_id, request.prompt
        self.num_computed_tokens = request.num_computed_tokens
        self.prefill_token_ids = request.prompt + [0] * request.num_output_tokens if os.environ.get("RUNNER") == "2" else None


class Cached:
    def __init__(self):
        self.req_ids, self.num_computed_tokens, self.num_output_tokens, self.resumed_req_ids = [], [], [], set()


class SchedulerOutput:
    def __init__(self):
        self.scheduled_new_reqs, self.scheduled_cached_reqs, self.num_scheduled_tokens = [], Cached(), {}
        self.total_num_scheduled_tokens, self.finished_req_ids = 0, set()


class Request:
    def __init__(self, request_id, prompt, tokens):
        self.request_id, self.prompt, self.tokens = request_id, prompt, tokens
        self.num_computed_tokens, self.num_output_tokens, self.seen = 0, 0, False
        self.back = False
        self.known = len(prompt)  # tokens that it does not make by evaluating them


class Scheduler:
    parallel_config = None

    def __init__(self, budget, room, ahead, drafts, fault):
        self.waiting, self.running, self.finished, self.prefixes = [], [], set(), set()
        self.budget, self.room, self.ahead, self.drafts, self.fault = budget, room, ahead, drafts, fault
        self.counts = {"prompt": 0, "cached": 0, "output": 0, "preempted": 0}

    def add_request(self, request):
        self.waiting.append(request)

    def _used(self):
        return sum(request.num_computed_tokens for request in self.running)

    def _preempt_request(self, request):
        self.running.remove(request)
        request.num_computed_tokens, request.back = 0, True
        request.known = len(request.prompt) + max(request.num_output_tokens - 1, 0)
        self.waiting.insert(0, request)
        self.counts["preempted"] += 1

    def _take(self, output, request, tokens):
        output.num_scheduled_tokens[request.request_id] = tokens
        cached = output.scheduled_cached_reqs
        prompt = min(max(request.known - request.num_computed_tokens, 0), tokens)
        self.step = [self.step[0] + prompt, self.step[1] + tokens - prompt]
        if not request.seen or (request.back and os.environ.get("RUNNER") == "2"):
            output.scheduled_new_reqs.append(NewRequestData(request))
        else:
            cached.req_ids.append(request.request_id)
            cached.num_computed_tokens.append(request.num_computed_tokens)
            cached.num_output_tokens.append(request.num_output_tokens)
            if request.back:
                cached.resumed_req_ids.add(request.request_id)
        request.seen, request.back = True, False
        request.before, request.num_computed_tokens = request.num_computed_tokens, request.num_computed_tokens + tokens

    def schedule(self):
        output, left, self.step = SchedulerOutput(), self.budget, [0, 0]
        output.finished_req_ids, self.finished = self.finished, set()
        for request in list(self.running):
            known = len(request.prompt) + request.num_output_tokens
            tokens = min(left, max(known - request.num_computed_tokens, 1))
            if request.num_computed_tokens >= len(request.prompt) and self.drafts:
                tokens += 2
            if request not in self.running:
                continue
            while self._used() + tokens > self.room and len(self.running) > 1:
                self._preempt_request(self.running[-1])
            if request in self.running and tokens > 0:
                self._take(output, request, tokens)
                left -= tokens
        while self.waiting and left > 0 and not self.counts_preempted_now(output):
            request = self.waiting[0]
            if not request.seen and tuple(request.prompt[:16]) in self.prefixes and len(request.prompt) > 16:
                request.num_computed_tokens = 16
            tokens = min(left, len(request.prompt) + request.num_output_tokens - request.num_computed_tokens)
            if self._used() + request.num_computed_tokens + tokens > self.room and self.running:
                break
            self.running.append(self.waiting.pop(0))
            self.counts["cached"] += 0 if request.seen else request.num_computed_tokens
            self._take(output, request, tokens)
            left -= tokens
        output.total_num_scheduled_tokens = sum(output.num_scheduled_tokens.values()) + (self.fault == "total")
        if self.fault == "members":
            output.scheduled_new_reqs = tuple(output.scheduled_new_reqs)
        return output

    def counts_preempted_now(self, output):
        return any(request.seen and request.back for request in self.waiting[:1]) and bool(output.num_scheduled_tokens)

    def update_from_output(self, scheduler_output, model_runner_output):
        for request in list(self.running):
            if request.request_id not in scheduler_output.num_scheduled_tokens:
                continue
            if request.num_computed_tokens < len(request.prompt) + request.num_output_tokens:
                continue
            if request.num_output_tokens == 0 and request.before < len(request.prompt):
                self.counts["prompt"] += len(request.prompt)
                self.prefixes.add(tuple(request.prompt[:16]))
            made = 1
            if self.drafts and request.num_computed_tokens - request.before == 3 and request.before >= len(request.prompt):
                made, request.num_computed_tokens = 2, request.num_computed_tokens - 1
            made = min(made, request.tokens - request.num_output_tokens)
            request.num_output_tokens += made
            self.counts["output"] += made
            if request.num_output_tokens >= request.tokens:
                self.running.remove(request)
                self._free_request(request)

    def _free_request(self, request, delay_free_blocks=False):
        self.finished.add(request.request_id)


Unseen = type("Unseen", (), dict(Scheduler.__dict__))
'''

WORKER = '''
import functools
import os
import queue
import threading
import time
import types

asked, answered = queue.Queue(), queue.Queue()


def compute():
    while asked.get():
        end = time.thread_time() + 0.003
        while time.thread_time() < end:
            pass
        answered.put(True)


def decorated(function):
    @functools.wraps(function)
    def context(*arguments, **named):
        return function(*arguments, **named)
    return context


class Requested:
    def __init__(self, prompt):
        self.num_prompt_tokens = prompt


class Numbers(list):
    def item(self, place):
        return self[place]


class Runner:
    """The first kind has an object for each request, the second one lists for all."""

    def __init__(self):
        if os.environ.get("RUNNER") == "2":
            self.req_states = types.SimpleNamespace(req_id_to_index={}, prompt_len=types.SimpleNamespace(np=Numbers()))
        else:
            self.requests = {}

    def add(self, name, prompt):
        if os.environ.get("RUNNER") == "2":
            self.req_states.req_id_to_index[name] = len(self.req_states.prompt_len.np)
            self.req_states.prompt_len.np.append(prompt)
        else:
            self.requests[name] = Requested(prompt)


class Worker:
    rank, parallel_config = 0, None

    def warm_up(self):
        return self.model()

    model = staticmethod(lambda: None)

    def __init__(self):
        self.model_runner = Runner()
        if os.environ.get("THREAD"):
            threading.Thread(target=compute, daemon=True).start()

    @decorated
    def execute_model(self, scheduler_output):
        for request in scheduler_output.scheduled_new_reqs:
            self.model_runner.add(request.req_id, len(request.prompt_token_ids))
        self.model()
        if os.environ.get("THREAD"):
            asked.put(True)
            answered.get()
        return None

    @decorated
    def sample_tokens(self, grammar_output):
        return [1]
'''

MAIN = '''
import ctypes
import importlib.machinery
import json
import multiprocessing
import os
import queue
import sys
import threading

ctypes.CDLL(os.environ["TORCH"])


def is_hooked():
    return "exec_module" in importlib.machinery.SourceFileLoader.__dict__  # else it is inherited


def work(pipe):
    from vllm.v1.worker.gpu_worker import Worker
    worker = Worker()
    while (got := pipe.recv()) is not None:
        if got == "look":
            pipe.send(is_hooked())
            continue
        worker.execute_model(got)
        pipe.send(worker.sample_tokens(grammar_output=None))


def main():
    from vllm.v1.core.sched.scheduler import Request, Scheduler, Unseen
    if os.environ.get("ENGINE") == "one":
        from vllm.v1.worker.gpu_worker import Worker
        worker = Worker()
        run = lambda output: (worker.execute_model(scheduler_output=output), worker.sample_tokens(None))[1]
        stop = lambda: None
        look = lambda: [is_hooked()]
    else:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,))
        process.start()

        def run(output):
            ours.send(output)
            return ours.recv()

        def look():
            return [is_hooked(), run("look")]

        def stop():
            ours.send(None)
            process.join()
    scheduler = (Unseen if os.environ.get("CORE") == "unseen" else Scheduler)(32, int(os.environ.get("ROOM", 10000)), os.environ.get("AHEAD"), os.environ.get("DRAFTS"),
                          os.environ.get("FAULT"))

    line = sys.stdin.readline
    if os.environ.get("LATE"):
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(one) for one in sys.stdin], daemon=True).start()
        line = lines.get

    def wait():
        while line() == "look\\n":
            print(json.dumps(look()), flush=True)

    if os.environ.get("LATE"):
        wait()
    jobs = json.loads(os.environ["JOBS"])
    for i, (first, prompt, tokens) in enumerate(jobs):
        scheduler.add_request(Request(f"cmpl-{i}", list(range(first, first + prompt)), tokens))
    steps = 0
    while scheduler.waiting or scheduler.running or scheduler.finished:
        if os.environ.get("PACED"):
            wait()
        output = scheduler.schedule()
        steps += bool(output.num_scheduled_tokens)
        scheduler.update_from_output(output, run(output))
        if os.environ.get("PACED"):
            print(json.dumps(scheduler.step), flush=True)
    stop()
    print(json.dumps({"steps": steps, **scheduler.counts}))


if __name__ == "__main__":
    main()
'''


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text).lstrip())


root = sys.argv[1]
for name in "vllm", "vllm/v1", "vllm/v1/core", "vllm/v1/core/sched", "vllm/v1/worker":
    put(root, f"{name}/__init__.py", "")
put(root, "vllm/v1/core/sched/scheduler.py", SCHEDULER)
put(root, "vllm/v1/worker/gpu_worker.py", WORKER)
put(root, "serve.py", MAIN)
