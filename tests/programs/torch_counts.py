# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_counts.py records: a small Llama of transformers that learns. It knows nothing of Brick.
torch_counts.py STEPS [profile]: prints the losses. With `profile` it prints, for each phase of all steps, how often PyTorch's own
profiler saw each operator, an outermost one or inside of another, and in which module hooks say that outermost ones ran."""
import collections
import contextlib
import json
import sys

import torch
from torch.nn.modules import module
from transformers import LlamaConfig, LlamaForCausalLM

PHASES = ("Forward", "Backward", "OptimizerStep")


def train(steps, phase):
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
                         num_key_value_heads=2, pad_token_id=0)
    model, losses = LlamaForCausalLM(config), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        tokens = torch.randint(1, 128, (2, 16))
        with phase("Forward"):
            loss = model(input_ids=tokens, labels=tokens).loss
        ones = torch.ones_like(loss)  # or backward() makes them before autograd's engine begins
        with phase("Backward"):
            loss.backward(ones)
        with phase("OptimizerStep"):
            optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return model, losses


def is_operator(name):
    """Not a scope of Python's, nor what autograd's engine puts around each of its nodes."""
    return "#" not in name and not name.startswith(("autograd::engine", "phase:", "module:"))


def walk(events, phase, path, is_inner, counts):
    for event in events:
        kind, _, value = event.name.partition(":")
        here = (value if kind == "phase" else phase, value if kind == "module" else path, is_inner or is_operator(event.name))
        if phase and is_operator(event.name):
            counts["inner" if is_inner else "outermost"][phase][event.name] += 1
            if phase == "Forward" and not is_inner:
                counts["modules"][path][event.name] += 1
        walk(event.children, *here, counts)


def profiled(steps):
    scopes, names = [], {}

    def enter(called, _):
        scopes.append(torch.profiler.record_function(f"module:{names.setdefault(called, len(names))}"))
        scopes[-1].__enter__()

    def leave(*_):
        scopes.pop().__exit__(None, None, None)

    hooks = module.register_module_forward_pre_hook(enter), module.register_module_forward_hook(leave)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        model, losses = train(steps, lambda name: torch.profiler.record_function("phase:" + name))
    for hook in hooks:
        hook.remove()
    paths = {str(names[called]): path for path, called in model.named_modules() if called in names}
    counts = {key: collections.defaultdict(collections.Counter) for key in ("outermost", "inner", "modules")}
    walk(profile.profiler.kineto_results.experimental_event_tree(), "", "", False, counts)
    counts["modules"] = {paths[name]: found for name, found in counts["modules"].items()}
    return losses, counts


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[2:] == ["profile"]:
        losses, counts = profiled(int(sys.argv[1]))
        print(losses)
        print(json.dumps(counts))
    else:
        print(train(int(sys.argv[1]), lambda _: contextlib.nullcontext())[1])
