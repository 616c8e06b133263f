# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_generate.py records: transformers' generate() on a small Llama of random weights, in the ways
that it has. It knows nothing of Brick. torch_generate.py WAY... prints for each what it computed, and the steps that it counts
itself, at the model's own forward(), or where its inputs are made if that is compiled: [model, sequences, tokens of each] as
JSON."""
import functools
import json
import sys

import torch
from transformers import CompileConfig, LlamaConfig, LlamaForCausalLM, TextStreamer

PROMPT, NEW = 10, 6


class Counts(LlamaForCausalLM):
    """Its calls, by the shape of what it is given."""
    calls = []

    def forward(self, *arguments, **named):
        given = named["input_ids"] if "input_ids" in named else arguments[0]
        self.calls.append([self.called, *given.shape])
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
    elif way == "padded":
        tokens, mask = torch.cat([tokens, tokens]), torch.cat([mask, mask])
        mask[0, :4] = tokens[0, :4] = 0
    elif way == "streamed":
        options["streamer"] = TextStreamer(Words(), skip_prompt=True)
    return large.generate(tokens, attention_mask=mask, **options)


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
        out = by_hand(way) if way.startswith("loop") else by_length() if way == "sorted" else generate(way)
        print(json.dumps({"out": out.tolist(), "calls": Counts.calls}))
