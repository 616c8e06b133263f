# SPDX-License-Identifier: Apache-2.0
"""PyTorch's modules as bricks: attach_torch() names what `brick record` cannot see from outside."""
import re
import threading

from brick import probe
from brick._library import libbrick

_LAYER = re.compile(r"(?:^|\.)(?:layers?|blocks?|h|encoder|decoder)\.(\d+)(?:\.|$)")
# What modules of transformers are called, as the well-known brick that they are.
# What modules of transformers are called, as the well-known brick that they are: by the end of the path.
_BRICKS = tuple((name, re.compile(rf"(?:^|[._])(?:{pattern})$", re.IGNORECASE)) for name, pattern in (
    ("QkvProjection", r"(q|k|v|qkv|query_key_value)_?proj|qkv|query|key|value|c_attn|query_key_value"),
    ("OutputProjection", r"(o|out)_?proj|attn\.c_proj|attention\.dense"),
    ("GateProjection", r"gate_?proj|w1"), ("UpProjection", r"up_?proj|fc1|c_fc|w3"),
    ("DownProjection", r"down_?proj|fc2|mlp\.c_proj|w2"),
    ("Embedding", r"embed_tokens|embeddings?|wte|wpe"), ("LmHead", r"lm_head")))
_CLASSES = (("RmsNorm", "rmsnorm"), ("LayerNorm", "layernorm"), ("Embedding", "embedding"))


def brick_of(path, kind=""):
    """Name and layer of the brick that a module's path and class say, as `layers.3.self_attn.q_proj`
    says QkvProjection in layer 3. What says none is a brick of the module's own name."""
    found = _LAYER.search(path)
    layer = int(found.group(1)) if found else -1
    for name, part in _CLASSES:
        if part in kind.lower():
            return name, layer
    for name, pattern in _BRICKS:
        if pattern.search(path):
            return name, layer
    last = path.rsplit(".", 1)[-1]
    return last if last and not last.isdigit() else kind or "Module", layer


class _Hooks:
    """Begins a brick before the forward of each module that holds no other, and ends it behind."""

    def __init__(self, model):
        self._open = threading.local()
        self._spans = {}
        self.handles = []
        for path, module in model.named_modules():
            if next(module.children(), None) is not None:
                continue
            name, layer = brick_of(path, type(module).__name__)
            self._spans[module] = (probe._id(name), layer)  # pylint: disable=protected-access
            self.handles.append(module.register_forward_pre_hook(self._before))
            self.handles.append(module.register_forward_hook(self._after))

    def _stack(self):
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        return self._open.stack

    def _before(self, module, _):
        brick, layer = self._spans[module]
        opened = libbrick.brick__begin_layer(brick, layer) if probe.enabled() else 0
        self._stack().append((module, opened))

    def _after(self, module, *_):
        stack = self._stack()
        # a forward that raised left its own entry above
        while stack:
            inner, opened = stack.pop()
            if inner is module:
                if opened:
                    libbrick.brick__end(opened)
                return


def attach_torch(model):
    """Each forward of the model's innermost modules is a brick, in its layer, named by its path.
    Returns a function that takes the hooks away. On a GPU a brick is the time of the launches; what
    they do there is recorded by `brick record`, under the same brick."""
    hooks = _Hooks(model)

    def detach():
        for handle in hooks.handles:
            handle.remove()

    return detach
