# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_generate.py records: transformers' generate() on a small Llama of random weights, in the ways
that it has. It knows nothing of Brick. torch_generate.py WAY... prints for each what it computed, and the steps that it counts
itself, at the model's own forward(), or where its inputs are made if that is compiled: [model, sequences, tokens of each] as
JSON."""
import functools
import json
import sys

import torch
from transformers import (CompileConfig, ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM, T5Config,
                          T5ForConditionalGeneration, TextStreamer)

PROMPT, NEW = 10, 6


class Counts(LlamaForCausalLM):
    """Its calls, by the shape of what it is given."""
    calls = []

    def forward(self, *arguments, **named):
        given = arguments[0] if arguments else named.get("input_ids")
        self.calls.append([self.called, *(named["inputs_embeds"] if given is None else given).shape[:2]])
        return super().forward(*arguments, **named)


def model(called, seed, kind=Counts):
    torch.manual_seed(seed)
    made = kind(LlamaConfig(vocab_size=199, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                              num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128, eos_token_id=None,
                              bos_token_id=1, pad_token_id=0)).eval()
    made.called = called
    return made


def compiled(large):
    """How generate() compiles the steps behind the prompt, on a CPU. Counts outside of what is compiled."""
    prepare = large.prepare_inputs_for_generation

    @functools.wraps(prepare)
    def counted(*arguments, **named):
        given = prepare(*arguments, **named)
        Counts.calls.append([large.called, *given["input_ids"].shape])
        return given

    large.prepare_inputs_for_generation = counted
    config = CompileConfig(backend="aot_eager", mode=None, fullgraph=True)
    config._compile_all_devices = True
    return config


class Words:
    """A tokenizer, as far as a streamer asks."""

    def decode(self, tokens, **_):
        return f"{tokens}\n"


def generate(way):
    large = model("large", 1, LlamaForCausalLM if way == "compiled" else Counts)
    tokens = torch.arange(2, 2 + PROMPT).reshape(1, PROMPT)
    mask = torch.ones_like(tokens)
    options = {"max_new_tokens": NEW, "do_sample": False}
    if way == "static":
        options["cache_implementation"] = "static"
    elif way == "compiled":
        options.update(cache_implementation="static", compile_config=compiled(large))
    elif way == "nocache":
        options["use_cache"] = False
    elif way == "beam":
        options["num_beams"] = 3
    elif way == "assisted":
        small = model("small", 1)
        with torch.no_grad():
            for weight in small.parameters():
                weight += 0.004 * torch.randn_like(weight)
        options["assistant_model"] = small
    elif way == "lookup":
        tokens, options["prompt_lookup_num_tokens"] = tokens % 4 + 5, 3
    elif way.endswith("padded"):
        if way == "static-padded":
            options["cache_implementation"] = "static"
        tokens, mask = torch.cat([tokens, tokens]), torch.cat([mask, mask])
        mask[0, :4] = tokens[0, :4] = 0
    elif way == "streamed":
        options["streamer"] = TextStreamer(Words(), skip_prompt=True)
    elif way.startswith("guided"):
        options.update(guidance_scale=1.5, use_cache=way != "guided-nocache")
        if way == "guided-negative":
            options["negative_prompt_ids"] = tokens[:, :4]
    elif way == "vectors":
        vectors = torch.nn.functional.embedding(tokens, large.get_input_embeddings().weight.detach())
        return large.generate(inputs_embeds=vectors, attention_mask=mask, **options)
    return large.generate(tokens, attention_mask=mask, **options)


def translated():
    """An encoder reads the prompts, and a decoder begins with a token of its own."""
    torch.manual_seed(1)
    large = T5ForConditionalGeneration(T5Config(vocab_size=199, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                                                eos_token_id=None, decoder_start_token_id=0, pad_token_id=0)).eval()
    for part, name in (large.get_encoder(), "input_ids"), (large, "decoder_input_ids"):
        part.register_forward_pre_hook(lambda _, __, named, name=name: Counts.calls.append(["large", *named[name].shape]) if
                                       named.get(name) is not None else None, with_kwargs=True)
    tokens = torch.arange(2, 2 + PROMPT).repeat(2, 1)
    mask = torch.ones_like(tokens)
    mask[0, PROMPT - 4:] = tokens[0, PROMPT - 4:] = 0
    return large.generate(tokens, attention_mask=mask, max_new_tokens=NEW, do_sample=False)


def packed():
    """Batches of prompts and new tokens that lie in one row, as transformers' continuous batching hands them over: where
    each begins and ends, and the row's length. The second is filled up; the third has a prompt between two new tokens."""
    class Packs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = torch.nn.Embedding(199, 16), torch.nn.Linear(16, 199)

        def forward(self, input_ids, cu_seq_lens_q, max_length_q, cache):
            Counts.calls.append(["large", *input_ids.shape])
            return self.out(self.embed(input_ids))

    torch.manual_seed(1)
    large = Packs().eval()
    batches = [([0, PROMPT // 2, PROMPT // 2 + PROMPT], PROMPT // 2 + PROMPT), ([0, 1, 2, 3, 3], 4), ([0, 1, 6, 7], 7),
               *[([0, 1, 2], 2)] * (NEW - 1)]
    with torch.no_grad():
        return [large(input_ids=torch.arange(row)[None], cu_seq_lens_q=torch.tensor(ends, dtype=torch.int32), max_length_q=row,
                      cache=object())
                for ends, row in batches][-1].argmax(-1)


def encoded():
    """An encoder that is given its inputs in a dictionary, as sentence-transformers does it."""
    class Encodes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(199, 16)

        def forward(self, features):
            Counts.calls.append(["large", *features["input_ids"].shape])
            return self.embed(features["input_ids"])

    torch.manual_seed(1)
    large, mask = Encodes().eval(), torch.ones(2, PROMPT, dtype=torch.long)
    mask[0, :4] = 0
    with torch.no_grad():
        return large({"input_ids": torch.arange(PROMPT).repeat(2, 1), "attention_mask": mask}).argmax(-1)


def trimmed():
    """A model that is given the whole sequence, and leaves out what its cache holds, as x-transformers' do."""
    class Trims(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(199, 199)

        def forward(self, input_ids, cache=None):
            Counts.calls.append(["large", *input_ids.shape])
            return self.embed(input_ids[:, -1:] if cache else input_ids)

    def generate(large, tokens):
        for i in range(NEW):
            tokens = torch.cat([tokens, large(tokens, cache=[i] if i else None)[:, -1:].argmax(-1)], 1)
        return tokens

    torch.manual_seed(1)
    with torch.no_grad():
        return generate(Trims().eval(), torch.arange(PROMPT)[None])


def batched(way):
    """transformers' continuous batching: of prompts that do not fit into one batch; where the cache is full, so that a request
    goes and comes again; of two answers to each prompt; of a request that is cancelled."""
    large = model("large", 1)
    large.set_attn_implementation("sdpa")
    prompts = [list(range(2, 2 + length)) for length in (12, 3, 9, 5)]
    blocks, page = (9, 4) if way == "batched-full" else (32, 8)
    config = ContinuousBatchingConfig(max_batch_tokens=16, num_blocks=blocks, page_size=page)
    how = GenerationConfig(max_new_tokens=NEW, do_sample=False, eos_token_id=-1, pad_token_id=0)
    if way in ("batched-cancelled", "batched-forked"):
        prompts = prompts[:2]
    if way == "batched-forked":
        how = GenerationConfig(max_new_tokens=NEW, do_sample=True, num_return_sequences=2, eos_token_id=-1, pad_token_id=0)
    manager = large.init_continuous_batching(generation_config=how, continuous_batching_config=config)
    names = manager.add_requests(prompts)  # all of them, before the first batch is made
    before = len(Counts.calls)
    if way == "batched-cancelled":  # the longer one, in its third step
        large.register_forward_pre_hook(
            lambda *_: manager.cancel_request(names[0]) if len(Counts.calls) == before + 3 else None)
    manager.start()
    done = {}
    while len(done) < {"batched-cancelled": 1, "batched-forked": 4}.get(way, len(prompts)):
        result = manager.get_result(timeout=100)
        done[result.request_id] = result.generated_tokens
    manager.stop(block=True)
    return torch.tensor([done[name] for name in sorted(done)])


def by_hand(way):
    """A loop of the program's own, with a cache and without."""
    large = model("large", 1)
    tokens = torch.arange(2, 2 + PROMPT).reshape(1, PROMPT)
    cache, given = None, tokens
    with torch.no_grad():
        for _ in range(NEW):
            out = large(given, past_key_values=cache, use_cache=way == "loop")
            new = out.logits[:, -1:].argmax(-1)
            tokens = torch.cat([tokens, new], dim=1)
            cache, given = (out.past_key_values, new) if way == "loop" else (None, tokens)
    return tokens


def by_length():
    """Inputs of an encoder, the shortest first: nothing is generated."""
    large, tokens = model("large", 1), torch.arange(2, 2 + 2 * PROMPT).reshape(1, 2 * PROMPT)
    with torch.no_grad():
        outs = [large(tokens[:, :PROMPT + more], use_cache=False).logits for more in (0, 1, 1, 2, 3, 5)]
    return torch.stack([out[:, -1].argmax(-1) for out in outs])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for way in sys.argv[1:]:
        Counts.calls.clear()
        own = {"sorted": by_length, "encoder": translated, "packed": packed, "features": encoded, "trimmed": trimmed}.get(way)
        out = own() if own else batched(way) if way.startswith("batched") else by_hand(way) if way.startswith("loop") else generate(way)
        print(json.dumps({"out": out.tolist(), "calls": Counts.calls}))
