# SPDX-License-Identifier: Apache-2.0
"""Runs a model on the engine's libraries with what brick-llama has no options for, greedily, and prints the
tokens: LIBS MODEL [lora=FILE] [cache=TYPE, as the engine numbers it] [flash=0|1]."""
import ctypes
import os
import sys

libs, model_path = sys.argv[1:3]
options = dict(option.split("=", 1) for option in sys.argv[3:])
N_PROMPT, N_PREDICT = 40, 6


class Blob(ctypes.Structure):
    """Parameters of the engine's, by value; longer than any version's."""
    _fields_ = [("words", ctypes.c_int32 * 256)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("rest", ctypes.c_void_p * 8)]


for name in sorted(file for file in os.listdir(libs) if file.startswith(("libggml-base", "libggml.", "libllama."))):
    ctypes.CDLL(os.path.join(libs, name), mode=ctypes.RTLD_GLOBAL)
engine = ctypes.CDLL(None)  # so that what is preloaded comes first, as in a program linked to them
for name in "llama_model_load_from_file", "llama_init_from_model", "llama_adapter_lora_init", "llama_get_logits_ith":
    getattr(engine, name).restype = ctypes.c_void_p
engine.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
for name in "llama_model_default_params", "llama_context_default_params":
    getattr(engine, name).restype = Blob
engine.llama_batch_get_one.restype = Batch
engine.ggml_log_set = getattr(engine, "llama_log_set")
quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
engine.llama_log_set(quiet, None)
engine.ggml_backend_load_all_from_path(libs.encode())

model = ctypes.c_void_p(engine.llama_model_load_from_file(model_path.encode(), engine.llama_model_default_params()))
assert model, model_path
params = engine.llama_context_default_params()
assert list(params.words[0:3]) == [512, 2048, 512] and list(params.words[26:28]) == [1, 1], "an unknown version"
params.words[7] = params.words[8] = 1
params.words[13] = int(options.get("flash", -1))
params.words[26] = params.words[27] = int(options.get("cache", 1))
context = ctypes.c_void_p(engine.llama_init_from_model(model, params))
assert context, "no context"
if "lora" in options:
    adapter = ctypes.c_void_p(engine.llama_adapter_lora_init(model, options["lora"].encode()))
    assert adapter, options["lora"]
    assert not engine.llama_set_adapters_lora(context, ctypes.byref(adapter), ctypes.c_size_t(1),
                                              ctypes.byref(ctypes.c_float(1.0)))
engine.llama_vocab_n_tokens.restype = ctypes.c_int32
engine.llama_model_get_vocab.restype = ctypes.c_void_p
vocabulary = engine.llama_vocab_n_tokens(ctypes.c_void_p(engine.llama_model_get_vocab(model)))


def evaluate(tokens):
    array = (ctypes.c_int32 * len(tokens))(*tokens)
    assert engine.llama_decode(context, engine.llama_batch_get_one(array, len(tokens))) == 0
    logits = engine.llama_get_logits_ith(context, -1)[:vocabulary]
    return max(range(vocabulary), key=logits.__getitem__)


chosen = [evaluate([1] + [300 + i * 7 % 1000 for i in range(N_PROMPT - 1)])]
while len(chosen) < N_PREDICT:
    chosen.append(evaluate(chosen[-1:]))
print(*chosen)
