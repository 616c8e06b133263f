/* SPDX-License-Identifier: Apache-2.0 */
/* A new attacher is one more entry here, and its library in attach/NAME. */
#include "record/inject/attachers.h"

#include <stddef.h>

static const struct attacher_note ggml_notes[] = {
	{"ggml.version", "ggml"},
	{"ggml.library", "Library"},
	{"llama.library", "llama"},
	{"llama.model", "Model"},
	{"llama.context", "Context"},
	{"ggml.device", "Device"},
	{"ggml.layout", NULL},
	{0},
};

static const char *const ggml_methods[] = {"nodes", "callback", "graph", NULL};

static const struct attacher ggml = {
	.name = "ggml",
	.title = "ggml",
	.library = "libbrick-ggml.so",
	.entry = ATTACHER_PRELOAD,
	.version_note = "ggml.version",
	.notes = ggml_notes,
	.methods = ggml_methods,
	.doctor_name = "attach",
	.if_missing = "install Brick whole; programs with libbrick inside can be recorded all "
		      "the same",
	.if_refused = "programs with libbrick inside can be recorded all the same",
};

static const struct attacher_sign opencl_signs[] = {
	{"libOpenCL.so", "OpenCL: its queues are recorded"},
	{"libggml-opencl", "ggml on OpenCL: each kernel belongs to its node"},
	{0},
};

static const struct attacher opencl = {
	.name = "opencl",
	.title = "OpenCL",
	.library = "libbrick-opencl.so",
	.signs = opencl_signs,
	.entry = ATTACHER_PRELOAD,
	.finding = "queues of OpenCL programs are recorded, linked with libOpenCL or opening it "
		   "themselves",
	.if_missing = "build Brick where OpenCL's headers are (Debian: opencl-headers)",
};

static const struct attacher_sign vulkan_signs[] = {
	{"libvulkan.so", "Vulkan: its command buffers are recorded"},
	{"libggml-vulkan", "ggml on Vulkan: each command belongs to its node"},
	{0},
};

static const struct attacher vulkan = {
	.name = "vulkan",
	.title = "Vulkan",
	.library = "libbrick-vulkan.so",
	.signs = vulkan_signs,
	.entry = ATTACHER_LAYER,
	.switched_on = "BRICK_VULKAN=1",
	.finding = "command buffers of Vulkan programs are recorded, by an implicit layer",
	.if_missing = "build Brick where Vulkan's headers are (Debian: libvulkan-dev)",
};

static const struct attacher_sign cuda_signs[] = {
	{"libcuda.so", "CUDA: its streams are recorded, where CUPTI is"},
	{"libcudart.so", "CUDA: its streams are recorded, where CUPTI is"},
	{"libggml-cuda", "ggml on CUDA: each kernel belongs to its node, where CUPTI is"},
	{0},
};

static const struct attacher cuda = {
	.name = "cuda",
	.title = "CUDA",
	.library = "libbrick-cuda.so",
	.signs = cuda_signs,
	.entry = ATTACHER_VARIABLE,
	.variable = "CUDA_INJECTION64_PATH",
	.driver = "libcuda.so.1",
	.if_refused = "install CUPTI (it comes with the CUDA toolkit), or have BRICK_CUPTI lead "
		      "to it; launches can be timed from inside of a program without",
};

static const struct attacher_sign hip_signs[] = {
	{"libamdhip64.so", "HIP: its streams are recorded, where rocprofiler-sdk is"},
	{0},
};

static const struct attacher hip = {
	.name = "hip",
	.title = "HIP",
	.library = "libbrick-hip.so",
	.signs = hip_signs,
	.entry = ATTACHER_VARIABLE,
	.variable = "ROCP_TOOL_LIBRARIES",
	.driver = "libhsa-runtime64.so.1",
	.if_refused = "install rocprofiler-sdk (it comes with ROCm)",
};

static const struct attacher nvtx = {
	.name = "nvtx",
	.title = "NVTX",
	.library = "libbrick-nvtx.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "NVTX_INJECTION64_PATH",
	.next = "BRICK_NVTX_NEXT",
};

static const struct attacher_note torch_notes[] = {
	{"torch.version", "PyTorch"}, {"torch.library", NULL}, {"torch.rules", NULL}, {0}};

static const struct attacher_sign torch_signs[] = {
	{"libtorch_cpu.so", "PyTorch: its modules and operations are recorded"}, {0}};

static const struct attacher torch = {
	.name = "torch",
	.title = "PyTorch",
	.library = "libbrick-torch.so",
	.signs = torch_signs,
	.entry = ATTACHER_PRELOAD,
	.version_note = "torch.version",
	.notes = torch_notes,
	.if_missing = "build Brick on x86-64: only there it attaches to PyTorch",
};

static const struct attacher itt = {
	.name = "itt",
	.title = "ITT",
	.library = "libbrick-itt.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "INTEL_LIBITTNOTIFY64",
};

static const struct attacher_note nccl_notes[] = {
	{"nccl.communicator", "NCCL"}, {"nccl.lost", "NCCL lost"}, {0}};

static const struct attacher nccl = {
	.name = "nccl",
	.title = "NCCL",
	.library = "libbrick-nccl.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "NCCL_PROFILER_PLUGIN",
	.notes = nccl_notes,
};

static const struct attacher_note onnxruntime_notes[] = {{"onnxruntime.version", "ONNX Runtime"},
	{"onnxruntime.rules", NULL}, {"onnxruntime.kernels", NULL}, {0}};

static const struct attacher_sign onnxruntime_signs[] = {
	{"libonnxruntime.so", "ONNX Runtime: its kernels are recorded"}, {0}};

static const struct attacher onnxruntime = {
	.name = "onnxruntime",
	.title = "ONNX Runtime",
	.library = "libbrick-onnxruntime.so",
	.signs = onnxruntime_signs,
	.entry = ATTACHER_PRELOAD,
	.version_note = "onnxruntime.version",
	.notes = onnxruntime_notes,
	.if_missing = "build Brick on x86-64: only there it attaches to ONNX Runtime",
};

const struct attacher *const attachers[] = {
	&ggml, &torch, &onnxruntime, &opencl, &vulkan, &cuda, &hip, &nvtx, &itt, &nccl, NULL};
