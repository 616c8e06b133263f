# SPDX-License-Identifier: Apache-2.0
"""A host thread, streams of a GPU and their profiler, simulated: writes traces as Kineto does, of programs whose cause of lost time is known.

Times are in us. A launch takes the host LAUNCH, and its kernel begins LATENCY later, if its stream is free by then. A call that waits ends when
the streams have. Nothing is random but by the seed."""
import json
import random

LAUNCH, LATENCY = 4.0, 3.0
COMPUTE, COPY, NCCL = 7, 20, 24
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul>>(int, at::native::{}, std::array<char*, 2ul>)"
GEMM = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel"
SGEMM = "ampere_sgemm_128x64_tn"
FLASH = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>(Flash_fwd_params)"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>(float*, float const*, int)"
COPY_KERNEL = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(int)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>(int)"
ALLREDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Sim:
    def __init__(self, seed=1):
        self.events, self.now, self.free, self.link = [], 1000.0, {}, 0
        self.random = random.Random(seed)
        self.slowness = 1.0  # of the host; 0: it takes no time

    def about(self, us):
        """A time near to that: real times never are equal."""
        return us * self.random.uniform(0.96, 1.04)

    def span(self, name, cat, begin, end, **args):
        self.events.append({"ph": "X", "name": name, "cat": cat, "pid": 100, "tid": 100, "ts": round(begin, 3),
                            "dur": round(end - begin, 3), "args": args})

    def host(self, us):
        self.now += self.about(us) * self.slowness

    def range(self, name, cat="user_annotation", **args):
        """with sim.range(...): what happens inside lies in it."""
        return Range(self, name, cat, args)

    def call(self, name, us, link=None):
        begin = self.now
        self.host(us)
        self.span(name, "cuda_runtime", begin, self.now, correlation=link or self.next_link())

    def next_link(self):
        self.link += 1
        return self.link

    def command(self, name, us, stream=COMPUTE, cat="kernel", call="cudaLaunchKernel", after=(), **args):
        """Launches a kernel or copy; it waits for what the streams in `after` have now."""
        link, begin = self.next_link(), self.now
        self.host(LAUNCH)
        self.span(call, "cuda_runtime", begin, self.now, correlation=link)
        start = max([self.now - 1 + LATENCY, self.free.get(stream, 0)] + [self.free.get(s, 0) for s in after])
        end = start + self.about(us)
        self.free[stream] = end
        self.events.append({"ph": "X", "name": name, "cat": cat, "pid": 0, "tid": stream, "ts": round(start, 3), "dur": round(end - start, 3),
                            "args": {"device": 0, "stream": stream, "correlation": link, "grid": [64, 1, 1], "block": [128, 1, 1], **args}})
        return end

    def op(self, name, kernel=None, us=0, host=6.0, stream=COMPUTE, dims=None, dtype="c10::BFloat16", after=(), **args):
        with self.range(name, "cpu_op", **({"Input Dims": dims, "Input type": [dtype] * len(dims)} if dims else {})):
            self.host(host)
            if kernel:
                self.command(kernel, us, stream, after=after, **args)
            self.host(1.0)

    def wait(self, until, call="cudaStreamSynchronize"):
        begin = self.now
        self.now = max(self.now + 2, until + 2)
        self.span(call, "cuda_runtime", begin, self.now, correlation=self.next_link())

    def copy(self, kind, us, nbytes, pageable=False, stream=COMPUTE, after=()):
        a, b = {"HtoD": ("Pageable" if pageable else "Pinned", "Device"), "DtoH": ("Device", "Pageable" if pageable else "Pinned")}[kind]
        end = self.command(f"Memcpy {kind} ({a} -> {b})", us, stream, "gpu_memcpy", "cudaMemcpyAsync", after, bytes=nbytes)
        if pageable:  # the call comes back when the copy has ended
            self.wait(end)
        return end

    def item(self, operator="aten::item"):
        """A tensor's value is wanted on the host."""
        with self.range(operator, "cpu_op"), self.range("aten::_local_scalar_dense", "cpu_op"):
            self.host(3)
            self.wait(self.command("Memcpy DtoH (Device -> Pageable)", 1.5, COMPUTE, "gpu_memcpy", "cudaMemcpyAsync", bytes=4))

    def text(self):
        device = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 80 << 30, "computeMajor": 8, "computeMinor": 0, "numSms": 108}
        return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": self.events})


class Range:
    def __init__(self, sim, name, cat, args):
        self.sim, self.name, self.cat, self.args = sim, name, cat, args

    def __enter__(self):
        self.begin = self.sim.now

    def __exit__(self, *_):
        self.sim.span(self.name, self.cat, self.begin, self.sim.now, **self.args)


class Program:
    """A model of some layers on one GPU. The settings are those of a clean program; a fault changes one of them."""

    def __init__(self, seed=1, **settings):
        self.sim = Sim(seed)
        self.layers, self.steps = 8, 6
        self.big = 90.0            # us of a product with weights
        self.small = 9.0           # us of a norm or another operation of elements
        self.rows, self.tokens = 512, 0  # rows: of the products; tokens: what the step's name says, 0: it says none
        self.training = self.graph = False
        self.python = 0.0          # us between operators
        self.item_each = 0         # a value is wanted on the host each so many layers; "step": once a step, in its middle
        self.sync_operator = "aten::item"
        self.attention, self.product, self.dtype = "flash", GEMM, "c10::BFloat16"
        self.extra_elementwise = self.extra_copies = 0  # kernels of elements, and copies of tensors, in a layer
        self.optimizer = "fused"
        self.loader = 0.0          # us that the data loader takes
        self.compile = ()          # steps in which something is compiled
        self.alloc = 0             # cudaMalloc and cudaFree in a layer
        self.input = "prefetched"  # or "pinned", "pageable": copied when it is needed
        self.input_us = 0.0
        self.output_us = 0.0       # results are copied to the host
        self.comm = None           # "hidden", "exposed"
        self.streams = None        # "balanced", "unbalanced": experts on two streams
        self.shapes_vary = False
        self.speed_up = 1.0        # of products with weights
        self.__dict__.update(settings)
        self.sim.slowness = settings.get("slowness", 1.0)

    def between(self):
        if self.python:
            self.sim.host(self.python)

    def linear(self, us):
        self.between()
        self.sim.op("aten::mm", self.product, us / self.speed_up, dims=[[self.rows, 4096], [4096, 4096]], dtype=self.dtype)

    def elements(self, op, functor, us=None):
        self.between()
        self.sim.op(op, ELEMENTWISE.format(functor, functor), us or self.small, dims=[[self.rows, 4096]], dtype=self.dtype)

    def layer(self, number, backward=False):
        s = self.sim
        self.elements("aten::rms_norm" if not backward else "RmsNormBackward0", "RmsNormFunctor")
        self.linear(self.big)
        self.between()
        if self.attention == "flash":
            s.op("aten::_flash_attention_forward", FLASH, self.big, dims=[[8, 64, 32, 128]] * 3, dtype=self.dtype)
        else:
            s.op("aten::bmm", self.product, self.big * 0.6, dims=[[256, 64, 128], [256, 128, 64]], dtype=self.dtype)
            s.op("aten::mul", ELEMENTWISE.format("MulFunctor", "MulFunctor"), self.big * 0.4, dims=[[256, 64, 64]], dtype=self.dtype)
            s.op("aten::add", ELEMENTWISE.format("AddFunctor", "AddFunctor"), self.big * 0.4, dims=[[256, 64, 64]], dtype=self.dtype)
            s.op("aten::_softmax", SOFTMAX, self.big * 0.7, dims=[[256, 64, 64]], dtype=self.dtype)
            s.op("aten::bmm", self.product, self.big * 0.6, dims=[[256, 64, 64], [256, 64, 128]], dtype=self.dtype)
        self.linear(self.big)
        for i in range(self.extra_copies):
            self.between()
            s.op("aten::copy_", COPY_KERNEL, self.big / 2, dims=[[self.rows, 4096], [self.rows, 4096]], dtype=self.dtype)
        for i in range(self.extra_elementwise):
            name = ("Mul", "Add", "Sigmoid", "Pow", "Sub")[i % 5]
            self.elements("aten::" + name.lower(), name + "Functor")
        for i in range(self.alloc):
            s.call("cudaMalloc", 120)
            with s.range("cudaFree", "cuda_runtime"):  # it waits for the device
                s.now = max(s.now, max(s.free.values())) + s.about(80)
        if self.streams:
            until = s.free[COMPUTE]
            for i, stream in enumerate((13, 14)):
                part = self.big * (1.5 if self.streams == "balanced" else (2.9, 0.15)[i])
                s.free[stream] = max(s.free.get(stream, 0), until)
                s.op("aten::mm", self.product, part, stream=stream, dims=[[self.rows, 4096], [4096, 4096]], dtype=self.dtype)
            s.free[COMPUTE] = max(s.free[13], s.free[14])
        self.linear(self.big * 2)
        if self.item_each and self.item_each != "step" and number % self.item_each == 0:
            s.item(self.sync_operator)

    def allreduce(self, us):
        s = self.sim
        with s.range("nccl:all_reduce"):
            s.host(8)
            s.command(ALLREDUCE, us, NCCL, after=(COMPUTE,))

    def step(self, number):
        s = self.sim
        if self.loader:
            with s.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
                s.host(self.loader)
        if self.input_us:
            with s.range("aten::copy_", "cpu_op"):
                s.host(4)
                if self.input == "prefetched":
                    s.copy("HtoD", self.input_us, int(self.input_us * 20000), stream=COPY)
                else:
                    s.copy("HtoD", self.input_us, int(self.input_us * (4000 if self.input == "pageable" else 20000)), self.input == "pageable")
        if number in self.compile:
            with s.range("Torch-Compiled Region: 0/0"), s.range("_compile.compile_inner (dynamo_timed)"):
                s.host(20000)
                s.call("cuModuleLoadData", 900)
        if self.graph:
            return self.replay(number)
        self.elements("aten::embedding", "EmbeddingFunctor")
        for layer in range(self.layers):
            self.layer(layer)
            if self.shapes_vary and (number * 7 + layer) % 3 == 0:
                self.elements("aten::where", f"WhereFunctor<{number % 4}>")
            if self.item_each == "step" and layer == self.layers // 2:
                s.item(self.sync_operator)
        self.linear(self.big)
        if self.training:
            for layer in reversed(range(self.layers)):
                with s.range("autograd::engine::evaluate_function: ToyBackward0", "cpu_op"):
                    self.layer(layer, True)
                if self.comm == "hidden":
                    self.allreduce(self.big)
            if self.comm == "exposed":
                self.allreduce(self.big * self.layers * 1.5)
            if self.comm:
                s.free[COMPUTE] = max(s.free[COMPUTE], s.free[NCCL])
            self.optimize()
        if self.output_us:
            with s.range("aten::copy_", "cpu_op"):
                s.host(4)
                s.copy("DtoH", self.output_us, int(self.output_us * 20000))

    def optimize(self):
        s = self.sim
        with s.range("Optimizer.step#AdamW.step"):
            if self.optimizer == "fused":
                for _ in range(2):
                    s.op("aten::_fused_adamw_", ADAM, self.big)
            else:
                for _ in range(self.layers * 10):
                    for name in ("aten::mul_", "aten::add_", "aten::addcmul_", "aten::sqrt", "aten::addcdiv_"):
                        s.op(name, ELEMENTWISE.format("OptFunctor", "OptFunctor"), 3.0)

    def replay(self, number):
        """One call launches all kernels of the step."""
        s = self.sim
        link, begin = s.next_link(), s.now
        s.host(30)
        s.span("cudaGraphLaunch", "cuda_runtime", begin, s.now, correlation=link)
        at = max(s.now + LATENCY, s.free.get(COMPUTE, 0))
        for _ in range(self.layers):
            for name, us in ((ELEMENTWISE.format("RmsNormFunctor", ""), self.small), (self.product, self.big), (FLASH, self.big), (self.product, self.big)):
                us = s.about(us)
                s.events.append({"ph": "X", "name": name, "cat": "kernel", "pid": 0, "tid": COMPUTE, "ts": round(at, 3), "dur": round(us, 3),
                                 "args": {"device": 0, "stream": COMPUTE, "correlation": link, "grid": [64, 1, 1], "block": [128, 1, 1]}})
                at += us + 0.6
        s.free[COMPUTE] = at

    def run(self):
        s = self.sim
        for number in range(self.steps):
            name = f"execute_context_1({self.tokens})_generation_0(0)" if self.tokens else f"ProfilerStep#{number + 1}"
            with s.range(name):
                self.step(number)
                s.wait(max(s.free.values()), "cudaDeviceSynchronize")
        return s.text()


LATE = {"big": 5.0, "small": 2.0, "extra_elementwise": 2}  # kernels so short that the host cannot keep up

# name: (rule that must come first, settings of the program). Rules of the first half were written with these in sight.
PLANTED = {
    "launch-bound-repeats": ("graphs-unused", LATE),
    "launch-bound-repeats-long": ("graphs-unused", {**LATE, "layers": 24}),
    "launch-bound-varies": ("launch-bound", {**LATE, "shapes_vary": True}),
    "python-between-operators": ("graphs-unused", {"big": 30.0, "python": 90.0}),
    "python-varies": ("launch-bound", {"big": 30.0, "python": 90.0, "shapes_vary": True}),
    "item-each-layer": ("hidden-sync", {"item_each": 1, "big": 40.0}),
    "item-each-other-layer": ("hidden-sync", {"item_each": 2, "big": 25.0, "layers": 12}),
    "nonzero": ("hidden-sync", {"item_each": 1, "sync_operator": "aten::nonzero", "big": 40.0}),
    "is-nonzero-in-training": ("hidden-sync", {"item_each": 1, "sync_operator": "aten::is_nonzero", "training": True, "big": 40.0}),
    "exposed-allreduce": ("exposed-communication", {"training": True, "comm": "exposed"}),
    "exposed-allreduce-long": ("exposed-communication", {"training": True, "comm": "exposed", "layers": 16, "big": 60.0}),
    "pageable-input": ("pageable-copies", {"input": "pageable", "input_us": 1500.0}),
    "pageable-input-training": ("pageable-copies", {"input": "pageable", "input_us": 2500.0, "training": True}),
    "input-not-prefetched": ("copies-not-overlapped", {"input": "pinned", "input_us": 1500.0}),
    "results-copied": ("copies-not-overlapped", {"output_us": 1800.0}),
    "small-kernels": ("kernels-not-fused", {"extra_elementwise": 20, "small": 22.0}),
    "small-kernels-training": ("kernels-not-fused", {"extra_elementwise": 12, "small": 30.0, "training": True}),
    "eager-attention": ("attention-not-fused", {"attention": "eager"}),
    "eager-attention-training": ("attention-not-fused", {"attention": "eager", "training": True, "big": 120.0}),
    "products-in-f32": ("products-in-f32", {"product": SGEMM, "dtype": "float", "big": 300.0, "small": 12.0}),
    "products-in-f32-training": ("products-in-f32", {"product": SGEMM, "dtype": "float", "big": 240.0, "training": True}),
    "optimizer-loop": ("optimizer-not-fused", {"training": True, "optimizer": "loop"}),
    "optimizer-loop-small": ("optimizer-not-fused", {"training": True, "optimizer": "loop", "layers": 4, "big": 150.0}),
    "data-loader": ("data-loader", {"loader": 4000.0}),
    "data-loader-training": ("data-loader", {"loader": 9000.0, "training": True}),
    "compilation": ("compilation-in-steps", {"compile": (1, 3, 4)}),
    "compilation-training": ("compilation-in-steps", {"compile": (2, 4), "training": True}),
    "cuda-malloc": ("allocation-in-steps", {"alloc": 1, "big": 60.0}),
    "cuda-malloc-training": ("allocation-in-steps", {"alloc": 2, "big": 60.0, "training": True}),
    "padding": ("padding", {"tokens": 180, "rows": 512}),
    "padding-much": ("padding", {"tokens": 37, "rows": 256, "big": 120.0}),
    "unbalanced-streams": ("streams-unbalanced", {"streams": "unbalanced"}),
    "unbalanced-streams-long": ("streams-unbalanced", {"streams": "unbalanced", "layers": 16, "big": 60.0}),
    "tensor-copies": ("tensor-copies", {"extra_copies": 4}),
    "tensor-copies-training": ("tensor-copies", {"extra_copies": 3, "training": True}),
}
CLEAN = {
    "inference": {},
    "inference-long": {"layers": 24, "big": 60.0},
    "training": {"training": True},
    "training-data-parallel": {"training": True, "comm": "hidden"},
    "graph-replay": {"graph": True, "layers": 24},
    "graph-replay-short": {"graph": True, "layers": 32, "big": 12.0, "small": 3.0},
    "prefetched-input": {"input_us": 400.0, "training": True},
    "balanced-streams": {"streams": "balanced"},
    "one-item-a-step": {"training": True, "item_each": "step", "layers": 12},
    "tokens": {"tokens": 512},
    "shapes-vary": {"shapes_vary": True},
    "loader-ready": {"loader": 60.0, "training": True},
}


# The cause taken away: what the finding's cost must be.
MENDED = {
    "graphs-unused": {"slowness": 0.0},
    "launch-bound": {"slowness": 0.0},
    "hidden-sync": {"item_each": 0},
    "exposed-communication": {"comm": "hidden"},
    "pageable-copies": {"input": "prefetched"},
    "copies-not-overlapped": {"input": "prefetched", "output_us": 0.0},
    "kernels-not-fused": {"extra_elementwise": 0},
    "attention-not-fused": {"attention": "flash"},
    "products-in-f32": {"product": GEMM, "speed_up": 2.0},
    "optimizer-not-fused": {"optimizer": "fused"},
    "data-loader": {"loader": 0.0},
    "compilation-in-steps": {"compile": ()},
    "allocation-in-steps": {"alloc": 0},
    "streams-unbalanced": {"streams": "balanced"},
    "tensor-copies": {"extra_copies": 0},
}


def planted(name, seed=1):
    return Program(seed, **PLANTED[name][1]).run()


def gain(name, seed=1):
    """The part of the time that is saved if the cause is taken away, in the simulator."""
    rule, settings = PLANTED[name]
    mended = {"speed_up": settings["rows"] / settings["tokens"]} if rule == "padding" else MENDED[rule]
    ends = []
    for each in settings, {**settings, **mended}:
        program = Program(seed, **each)
        begin = program.sim.now
        program.run()
        ends.append(program.sim.now - begin)
    return 1 - ends[1] / ends[0]


def clean(name, seed=1):
    return Program(seed, **CLEAN[name]).run()
