/* SPDX-License-Identifier: Apache-2.0 */
/* A new attacher needs an entry here, a place in `attachers`, and its library in attach/NAME. */
#include "record/inject/attachers.h"

#include <stddef.h>

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Python modules that import PyTorch, and with it the libraries that PyTorch uses. */
#define TORCH_MODULES                                                                             \
	"torch", "torchvision", "torchaudio", "transformers", "diffusers", "accelerate",          \
		"lightning", "pytorch_lightning", "sentence_transformers", "ultralytics", "timm", \
		"vllm", "sglang"

static const struct attacher_note ggml_notes[] = {
	{"ggml.version", "ggml"},
	{"ggml.library", "Library"},
	{"llama.library", "llama"},
	{"whisper.library", "whisper"},
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
	.limit_note = "ggml.device",
	.notes = ggml_notes,
	.methods = ggml_methods,
	.doctor_name = "attach",
	.if_missing = "install Brick whole; programs with libbrick inside can be recorded all "
		      "the same",
	.if_refused = "programs with libbrick inside can be recorded all the same",
	.libraries = NAMES("libggml", "libllama.so", "libwhisper.so"),
	.modules = NAMES("llama_cpp", "node-llama-cpp", "/node-llama-cpp", "gpt4all",
		"pywhispercpp", "stable_diffusion_cpp"),
	.recorded = "its nodes or graphs are recorded",
};

static const struct attacher opencl = {
	.name = "opencl",
	.title = "OpenCL",
	.library = "libbrick-opencl.so",
	.entry = ATTACHER_PRELOAD,
	.finding = "queues of OpenCL programs are recorded, linked with libOpenCL or opening it "
		   "themselves",
	.if_missing = "build Brick where OpenCL's headers are (Debian: opencl-headers)",
	.libraries = NAMES("libOpenCL.so", "libggml-opencl"),
	.modules = NAMES("pyopencl", "cv2"),
	.recorded = "its queues are recorded",
};

static const struct attacher vulkan = {
	.name = "vulkan",
	.title = "Vulkan",
	.library = "libbrick-vulkan.so",
	.entry = ATTACHER_LAYER,
	.switched_on = "BRICK_VULKAN=1",
	.finding = "command buffers of Vulkan programs are recorded, by an implicit layer",
	.if_missing = "build Brick where Vulkan's headers are (Debian: libvulkan-dev)",
	.libraries = NAMES("libvulkan.so", "libggml-vulkan"),
	.modules = NAMES("vulkan", "wgpu"),
	.recorded = "its command buffers are recorded",
};

static const struct attacher_note cuda_notes[] = {{"cuda.detail", "CUDA"}, {0}};

static const struct attacher cuda = {
	.name = "cuda",
	.title = "CUDA",
	.library = "libbrick-cuda.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "CUDA_INJECTION64_PATH",
	.driver = "libcuda.so.1",
	.notes = cuda_notes,
	.if_refused = "install CUPTI (it comes with the CUDA toolkit), or have BRICK_CUPTI lead "
		      "to it; launches can be timed from inside of a program without",
	.libraries = NAMES("libcuda.so", "libcudart.so", "libggml-cuda"),
	.modules = NAMES(TORCH_MODULES, "cupy", "pycuda", "jax", "tensorflow"),
	.recorded = "its streams are recorded, where CUPTI is",
};

static const struct attacher hip = {
	.name = "hip",
	.title = "HIP",
	.library = "libbrick-hip.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "ROCP_TOOL_LIBRARIES",
	.driver = "libhsa-runtime64.so.1",
	.if_refused = "install rocprofiler-sdk (it comes with ROCm)",
	.libraries = NAMES("libamdhip64.so", "libggml-hip"),
	.modules = NAMES(TORCH_MODULES, "cupy", "jax"),
	.recorded = "its streams are recorded, where rocprofiler-sdk is",
};

static const struct attacher nvtx = {
	.name = "nvtx",
	.title = "NVTX",
	.library = "libbrick-nvtx.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "NVTX_INJECTION64_PATH",
	.next = "BRICK_NVTX_NEXT",
	.libraries = NAMES("libnvToolsExt.so"),
	.modules = NAMES("nvtx", "vllm", "sglang", "tensorrt_llm"),
	.recorded = "its ranges are recorded",
};

static const struct attacher_note torch_notes[] = {
	{"torch.version", "PyTorch"}, {"torch.library", NULL}, {"torch.rules", NULL}, {0}};

static const struct attacher torch = {
	.name = "torch",
	.title = "PyTorch",
	.library = "libbrick-torch.so",
	.entry = ATTACHER_PRELOAD,
	.version_note = "torch.version",
	.notes = torch_notes,
	.if_missing = "build Brick on x86-64: only there it attaches to PyTorch",
	.libraries = NAMES("libtorch_cpu.so"),
	.modules = NAMES(TORCH_MODULES),
	.recorded = "its modules and operations are recorded",
	.without_gil = "its operations are recorded, but no modules or steps, as this Python is "
		       "free-threaded,",
	.version_file = "torch/version.py",
};

static const struct attacher itt = {
	.name = "itt",
	.title = "ITT",
	.library = "libbrick-itt.so",
	.entry = ATTACHER_VARIABLE,
	.variable = "INTEL_LIBITTNOTIFY64",
	.modules = NAMES(TORCH_MODULES, "cv2", "openvino"),
	.recorded = "its tasks are recorded",
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
	.libraries = NAMES("libnccl.so"),
	.recorded = "what it sends is recorded",
};

static const struct attacher_note onnxruntime_notes[] = {{"onnxruntime.version", "ONNX Runtime"},
	{"onnxruntime.rules", NULL}, {"onnxruntime.kernels", NULL}, {0}};

static const struct attacher onnxruntime = {
	.name = "onnxruntime",
	.title = "ONNX Runtime",
	.library = "libbrick-onnxruntime.so",
	.entry = ATTACHER_PRELOAD,
	.version_note = "onnxruntime.version",
	.notes = onnxruntime_notes,
	.if_missing = "build Brick on x86-64: only there it attaches to ONNX Runtime",
	.libraries = NAMES("libonnxruntime.so", "onnxruntime_pybind11_state"),
	.modules = NAMES("onnxruntime", "/onnxruntime-node", "@huggingface/transformers",
		"@xenova/transformers"),
	.recorded = "its kernels are recorded",
	.versions = "1.15 to 1.30",
};

static const struct attacher_note mpi_notes[] = {{"mpi.version", "MPI"}, {"mpi.rank", NULL},
	{"mpi.refused", "MPI refused"}, {"mpi.lost", "MPI lost"}, {0}};

static const struct attacher mpi = {
	.name = "mpi",
	.title = "MPI",
	.library = "libbrick-mpi.so",
	.entry = ATTACHER_PRELOAD,
	.version_note = "mpi.version",
	.notes = mpi_notes,
	.finding = "messages and collectives of programs with a shared MPI library are recorded",
	.libraries = NAMES("libmpi.so", "libmpich.so", "libmpi_mpifh.so", "libmpichfort.so"),
	.modules = NAMES("mpi4py"),
	.recorded = "its messages are recorded",
};

const struct attacher *const attachers[] = {
	&ggml, &torch, &onnxruntime, &opencl, &vulkan, &cuda, &hip, &nvtx, &itt, &nccl, &mpi, NULL};
