#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heldout.py BRICK [SEED]: a second set of planted causes, of programs, shapes, names and tools that simulator.py has not: convolutions and
training on ROCm as Kineto writes them, and programs with NVTX ranges but without operators and steps as Nsight Systems exports them. It was
written after the rules: RESULTS.md has what its first run said, and what was mended since. Each planted trace must have its cause first; a clean
trace must have no finding."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

from simulator import COMPUTE, COPY, NCCL, Sim

CONV = "miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_stride1"
GEMM = "Cijk_Alik_Bljk_HHS_BH_Bias_AS_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_LDSB1"
GEMM_F32 = "Cijk_Ailk_Bljk_SB_Bias_AS_SAV_UserArgs_MT128x128x16_MI16x16x1_SN_K1"
CUBLAS = "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas"
CUBLAS_F32 = "sm90_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"
GROUP_NORM = "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::Half>(long, float, c10::Half const*, float*, float*)"
UNROLLED = "void at::native::unrolled_elementwise_kernel<at::native::{}_kernel_cuda, std::array<char*, 3ul>, 4>(int)"
STRIDED = "void at::native::elementwise_kernel<512, 1, at::native::gpu_kernel_impl<at::native::{}_kernel>>(int)"
TRANSPOSE = "batched_transpose_32x32_pack_2x2_ediv_2x2_half"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<4, c10::Half, float, c10::Half>(c10::Half*, c10::Half const*, int)"
ATTENTION = "_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_19BlockFmhaPipelineEEEEEvv"
OWN = "stencil_step(float*, float const*, int)"
RCCL = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Image:
    """A network of convolutions, or its training, in PyTorch on ROCm."""

    def __init__(self, seed, **settings):
        self.sim = Sim(seed)
        self.blocks, self.steps, self.conv, self.norm = 14, 5, 140.0, 16.0
        self.training, self.comm, self.fault, self.us = False, None, None, 0.0
        self.host, self.vary, self.name, self.rows = 5.0, False, "ProfilerStep#{}", 1024
        self.gemm = GEMM
        self.__dict__.update(settings)

    def op(self, name, kernel, us, dims=None, **more):
        self.sim.op(name, kernel, us, host=self.host, dims=dims, dtype="c10::Half", **more)

    def block(self, number, step):
        s, dims = self.sim, [[4, 320, 64, 64], [320, 320, 3, 3]]
        fault = self.fault
        if self.comm == "exposed":
            with s.range("nccl:_all_gather_base"):
                s.host(6)
                end = s.command(RCCL, self.us, NCCL, after=(COMPUTE,), **{"Collective name": "allgather"})
                s.free[COMPUTE] = max(s.free.get(COMPUTE, 0), end)
        self.op("aten::native_group_norm", GROUP_NORM, self.norm, [[4, 320, 64, 64]])
        self.op("aten::silu", STRIDED.format("silu"), self.norm)
        if fault == "transposes":
            self.op("aten::contiguous", TRANSPOSE, self.us)
        self.op("aten::miopen_convolution", CONV, self.conv, dims)
        if fault == "transposes":
            self.op("aten::contiguous", TRANSPOSE, self.us)
        if self.comm == "hidden":
            with s.range("nccl:all_reduce"):
                s.host(6)
                s.command(RCCL, self.conv, NCCL, after=(COMPUTE,), **{"Collective name": "allreduce"})
        self.op("aten::mm", self.gemm, self.conv, [[self.rows, 2560], [2560, 2560]])
        if fault == "attention":
            self.op("aten::baddbmm", self.gemm, 60.0, [[32, 512, 512], [32, 512, 64], [32, 64, 512]])
            self.op("aten::_softmax", SOFTMAX, self.us, [[32, 512, 512]])
            self.op("aten::bmm", self.gemm, 60.0, [[32, 512, 512], [32, 512, 64]])
        else:
            self.op("aten::_efficient_attention_forward", ATTENTION, self.conv)
        if fault == "chains":
            for functor in ("mul", "sigmoid", "add", "exp", "pow", "div", "sub", "neg", "sqrt", "rsqrt", "abs", "tanh"):
                self.op("aten::" + functor, UNROLLED.format(functor), self.us)
        if fault == "to-host":
            with s.range("aten::to", "cpu_op"), s.range("aten::_to_copy", "cpu_op"), s.range("aten::copy_", "cpu_op"):
                s.host(3)
                s.wait(s.command("Memcpy DtoH (Device -> Host)", 2.5, COMPUTE, "gpu_memcpy", "hipMemcpyWithStream", bytes=8), "hipStreamSynchronize")
        if fault == "synchronize":
            s.wait(max(s.free.values()), "hipDeviceSynchronize")
            s.host(self.us)
        if fault == "malloc":
            s.call("hipMalloc", self.us)
            with s.range("hipFree", "cuda_runtime"):
                s.now = max(s.now, max(s.free.values())) + s.about(self.us)
        if fault == "queues":
            until = s.free[COMPUTE]
            for stream, part in (9, 2.6), (10, 0.2), (11, 0.2):
                s.free[stream] = max(s.free.get(stream, 0), until)
                self.op("aten::mm", self.gemm, self.conv * part, stream=stream)
            s.free[COMPUTE] = max(s.free[9], s.free[10], s.free[11])
        if self.vary and (number + step * 5) % 3 == 0:
            self.op("aten::upsample_nearest2d", STRIDED.format(f"upsample_{step % 5}"), self.norm)

    def step(self, number):
        s, fault = self.sim, self.fault
        if fault == "loader":
            with s.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                s.host(self.us)
        if fault == "own-loader":
            with s.range("get_batch"):
                s.host(self.us)
        if fault == "upload":
            with s.range("aten::copy_", "cpu_op"):
                s.wait(s.command("Memcpy HtoD (Host -> Device)", self.us, COMPUTE, "gpu_memcpy", "hipMemcpyWithStream", bytes=int(self.us * 6000)))
        if fault == "prefetched":
            s.command("Memcpy HtoD (Host -> Device)", self.us, COPY, "gpu_memcpy", "hipMemcpyAsync", bytes=int(self.us * 20000))
        if fault == "hiprtc" and number in (1, 3):
            s.call("hiprtcCompileProgram", self.us)
            s.call("hipModuleLoadData", 700)
        for block in range(self.blocks):
            self.block(block, number)
        if self.training:
            for block in range(self.blocks):
                with s.range("autograd::engine::evaluate_function: ConvolutionBackward0", "cpu_op"):
                    self.op("aten::convolution_backward", CONV, self.conv * 2)
            if self.comm:
                s.free[COMPUTE] = max(s.free[COMPUTE], s.free.get(NCCL, 0))
            with s.range("Optimizer.step#SGD.step"):
                if fault == "sgd-loop":
                    for _ in range(self.blocks * 8):
                        for name in ("aten::mul_", "aten::add_", "aten::add_"):
                            self.op(name, STRIDED.format("momentum"), 4.0)
                else:
                    self.op("aten::_fused_sgd_", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedSgdMathFunctor<float, 3>>(int)", 60.0)

    def run(self, folder):
        s = self.sim
        for number in range(self.steps):
            with s.range(self.name.format(number + 3)):
                self.step(number)
                s.wait(max(s.free.values()), "hipDeviceSynchronize")
        for event in s.events:
            if event["cat"] == "cuda_runtime":
                event["name"] = event["name"].replace("cuda", "hip")
        path = os.path.join(folder, "run.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 192 << 30, "numSms": 304}],
                       "traceEvents": s.events}, file)
        return path


class Ranges:
    """A program of CUDA with NVTX ranges of its own: no operators, no steps."""

    def __init__(self, seed, **settings):
        self.sim = Sim(seed)
        self.parts, self.steps, self.big, self.host = 10, 6, 120.0, 3.0
        self.product, self.fault, self.us, self.graph = CUBLAS, None, 0.0, False
        self.__dict__.update(settings)

    def part(self, number):
        s, fault = self.sim, self.fault
        with s.range(f"block {number}"):
            for kernel, us in (OWN, self.big / 4), (self.product, self.big), (self.product, self.big), ("reduce_rows(float*, float const*, int)", self.big / 6):
                s.host(self.host)
                s.command(kernel, us)
            if fault == "value":
                s.wait(s.command("[CUDA memcpy Device-to-Host]", 2, COMPUTE, "gpu_memcpy", "cudaMemcpyAsync", bytes=4))
            if fault == "gather":
                end = s.command(GATHER, self.us, NCCL, after=(COMPUTE,))
                s.free[COMPUTE] = max(s.free.get(COMPUTE, 0), end)
            if fault == "malloc":
                s.call("cudaMalloc", self.us)
                with s.range("cudaFree", "cuda_runtime"):
                    s.now = max(s.now, max(s.free.values())) + s.about(self.us)
            if fault == "streams":
                until = s.free[COMPUTE]
                for stream, share in (30, 2.4), (31, 0.3):
                    s.free[stream] = max(s.free.get(stream, 0), until)
                    s.command(self.product, self.big * share, stream)
                s.free[COMPUTE] = max(s.free[30], s.free[31])

    def run(self, folder):
        s = self.sim
        for number in range(self.steps):
            with s.range("simulate"):
                if self.fault == "input":
                    s.wait(s.command("[CUDA memcpy Host-to-Device]", self.us, COMPUTE, "gpu_memcpy", "cudaMemcpyAsync", bytes=int(self.us * 5000)))
                s.host(4)
                s.command("fill_ghost_cells(float*, int)", self.big / 5)
                for part in range(self.parts):
                    self.part(part)
                s.command("norm_l2(float const*, double*)", self.big / 8)
                if self.fault == "output":
                    s.command("[CUDA memcpy Device-to-Host]", self.us, COMPUTE, "gpu_memcpy", "cudaMemcpyAsync", bytes=int(self.us * 20000))
                s.wait(max(s.free.values()))
        return self.write(os.path.join(folder, "run.sqlite"))

    def write(self, path):
        if os.path.exists(path):
            os.remove(path)
        db, texts, thread = sqlite3.connect(path), {}, (100 << 24) + 100

        def text(name):
            return texts.setdefault(name, len(texts) + 1)
        db.executescript("""CREATE TABLE StringIds (id INTEGER, value TEXT);
            CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, correlationId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
                globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
                blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
                globalPid INTEGER, bytes INTEGER, copyKind INTEGER);""")
        for e in self.sim.events:
            begin, args = round(e["ts"] * 1000), e["args"]
            end = begin + round(e["dur"] * 1000)
            if e["cat"] == "user_annotation":
                db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?, 0)", (begin, end, e["name"], thread))
            elif e["cat"] == "cuda_runtime":
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
                           (begin, end, thread, text(e["name"] + "_v7000"), args.get("correlation", 0)))
            elif e["cat"] == "kernel":
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?, ?, ?, ?, ?, 64, 1, 1, 128, 1, 1, 64, 0, 0)",
                           (begin, end, e["tid"], args["correlation"], 100 << 24, text(e["name"]), text(e["name"].split("(")[0])))
            else:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, ?, ?, ?, ?, ?)",
                           (begin, end, e["tid"], args["correlation"], 100 << 24, args["bytes"], 1 if "Host-to" in e["name"] else 2))
        db.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 PCIe', ?)", (80 << 30,))
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, name) for name, number in texts.items()])
        db.commit()
        db.close()
        return path


# name: (rules of which one must come first, program, settings)
PLANTED = {
    "image, shapes vary": ("launch-bound", Image, {"conv": 4.0, "norm": 2.0, "vary": True}),
    "image, Python is slow": ("graphs-unused", Image, {"conv": 12.0, "norm": 3.0, "host": 22.0}),
    "image, .to(cpu) in each block": ("hidden-sync", Image, {"fault": "to-host", "conv": 45.0}),
    "image, synchronize() in each block": ("hidden-sync", Image, {"fault": "synchronize", "us": 25.0, "conv": 60.0}),
    "image, FSDP gathers late": ("exposed-communication", Image, {"comm": "exposed", "us": 120.0}),
    "image, input is copied": ("pageable-copies copies-not-overlapped", Image, {"fault": "upload", "us": 2600.0}),
    "image, products in f32": ("products-in-f32", Image, {"gemm": GEMM_F32, "conv": 220.0}),
    "training, SGD in a loop": ("optimizer-not-fused", Image, {"training": True, "fault": "sgd-loop"}),
    "training, loader": ("data-loader", Image, {"training": True, "fault": "loader", "us": 7000.0}),
    "training, loader of its own": ("host-alone", Image, {"training": True, "fault": "own-loader", "us": 7000.0}),
    "image, hiprtc": ("compilation-in-steps", Image, {"fault": "hiprtc", "us": 9000.0}),
    "image, hipMalloc": ("allocation-in-steps", Image, {"fault": "malloc", "us": 90.0, "conv": 60.0}),
    "vLLM, padded": ("padding", Image, {"name": "execute_context_3(290)_generation_5(5)", "rows": 1024, "conv": 260.0}),
    "image, transposes": ("tensor-copies", Image, {"fault": "transposes", "us": 60.0}),
    "image, chains of elements": ("kernels-not-fused", Image, {"fault": "chains", "us": 18.0}),
    "image, attention in parts": ("attention-not-fused", Image, {"fault": "attention", "us": 110.0}),
    "image, uneven queues": ("streams-unbalanced", Image, {"fault": "queues"}),
    "CUDA, launches late": ("graphs-unused", Ranges, {"big": 12.0, "host": 14.0}),
    "CUDA, a value each block": ("hidden-sync", Ranges, {"fault": "value", "big": 40.0, "host": 8.0}),
    "CUDA, gathers": ("exposed-communication", Ranges, {"fault": "gather", "us": 90.0}),
    "CUDA, input": ("pageable-copies copies-not-overlapped", Ranges, {"fault": "input", "us": 1200.0}),
    "CUDA, output": ("copies-not-overlapped", Ranges, {"fault": "output", "us": 1400.0}),
    "CUDA, malloc": ("allocation-in-steps", Ranges, {"fault": "malloc", "us": 110.0, "big": 60.0}),
    "CUDA, f32": ("products-in-f32", Ranges, {"product": CUBLAS_F32, "big": 260.0}),
    "CUDA, uneven streams": ("streams-unbalanced", Ranges, {"fault": "streams"}),
}
CLEAN = {
    "image": (Image, {}),
    "image, shapes vary but the GPU is busy": (Image, {"vary": True}),
    "training, collectives hidden": (Image, {"training": True, "comm": "hidden"}),
    "image, input prefetched": (Image, {"fault": "prefetched", "us": 900.0}),
    "vLLM, all tokens": (Image, {"name": "execute_context_4(1019)_generation_5(5)"}),
    "CUDA": (Ranges, {}),
    "CUDA, long": (Ranges, {"parts": 30, "big": 60.0}),
}


def findings(brick, source, folder):
    recording = os.path.join(folder, "run.pftrace")
    subprocess.run([brick, "import", "-o", recording, source], check=True, stderr=subprocess.DEVNULL)
    said = json.loads(subprocess.run([brick, "explain", "--json", recording], check=True, capture_output=True).stdout)
    phase = {p["phase"]: p["elapsed_ns"] for p in said["phases"]}
    return [(f["rule"], f["cost_ns"] / phase[f["phase"]]) for f in said["findings"]]


def main():
    brick, seed, first, false = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (wanted, program, settings) in PLANTED.items():
            found = findings(brick, program(seed, **settings).run(folder), folder)
            right = bool(found) and found[0][0] in wanted.split()
            first += right
            print(f"| {name} | {wanted} | {'yes' if right else 'NO'} | " + (", ".join(f"{rule} {part:.0%}" for rule, part in found) or "-") + " |")
        for name, (program, settings) in CLEAN.items():
            found = findings(brick, program(seed, **settings).run(folder), folder)
            false += len(found)
            print(f"| {name} | none | {'NO' if found else 'yes'} | " + (", ".join(f"{rule} {part:.0%}" for rule, part in found) or "-") + " |")
    print(f"\n{first} of {len(PLANTED)} causes first; {false} findings in {len(CLEAN)} clean traces")


if __name__ == "__main__":
    main()
