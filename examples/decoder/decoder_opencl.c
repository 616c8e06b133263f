// SPDX-License-Identifier: Apache-2.0
//
// Products on OpenCL (opencl.h). The library is opened at run time. A work item makes one row for
// four tokens; a brick is begun and ended around each launch and given its event, which is all that
// it takes to have the device's own times in the recording.
#define CL_TARGET_OPENCL_VERSION 300
#include "decoder_opencl.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/opencl.h"
#include "decoder_memory.h"

#define FUNCTIONS(X)                          \
	X(clGetPlatformIDs)                   \
	X(clGetDeviceIDs)                     \
	X(clCreateContext)                    \
	X(clReleaseContext)                   \
	X(clCreateCommandQueueWithProperties) \
	X(clReleaseCommandQueue)              \
	X(clCreateProgramWithSource)          \
	X(clBuildProgram)                     \
	X(clReleaseProgram)                   \
	X(clCreateKernel)                     \
	X(clReleaseKernel)                    \
	X(clCreateBuffer)                     \
	X(clReleaseMemObject)                 \
	X(clSetKernelArg)                     \
	X(clEnqueueNDRangeKernel)             \
	X(clEnqueueWriteBuffer)               \
	X(clEnqueueReadBuffer)                \
	X(clFinish)                           \
	X(clReleaseEvent)

static const char *source =
	"#define PRODUCT(name, load) \\\n"
	"__kernel void name(__global const uchar *w, ulong stride, __global const float *x, \\\n"
	"\t__global float *out, ulong at, int cols, int rows, int tokens) \\\n"
	"{ \\\n"
	"\tint row = get_global_id(0), t = 4 * get_global_id(1), last = tokens - 1; \\\n"
	"\tfloat16 sum[4] = {0, 0, 0, 0}; \\\n"
	"\tw += row * stride; \\\n"
	"\tfor (int k = 0; k < cols; k += 16) { \\\n"
	"\t\tfloat16 weight = load; \\\n"
	"\t\tfor (int i = 0; i < 4; i++) \\\n"
	"\t\t\tsum[i] += weight * vload16(0, x + min(t + i, last) * cols + k); \\\n"
	"\t} \\\n"
	"\tfor (int i = 0; i < 4 && t + i < tokens; i++) { \\\n"
	"\t\tfloat8 a = sum[i].lo + sum[i].hi; \\\n"
	"\t\tfloat4 b = a.lo + a.hi; \\\n"
	"\t\tout[at + (ulong)(t + i) * rows + row] = b.x + b.y + b.z + b.w; \\\n"
	"\t} \\\n"
	"}\n"
	"#define NUMBERS (__global const char *)w + k / 32 * 34 + 2 + k % 32\n"
	"#define SCALE (__global const half *)(w + k / 32 * 34)\n"
	"PRODUCT(product_f32, vload16(0, (__global const float *)w + k))\n"
	"PRODUCT(product_f16, vload_half16(0, (__global const half *)w + k))\n"
	"PRODUCT(product_q8_0, convert_float16(vload16(0, NUMBERS)) * vload_half(0, SCALE))\n";

struct opencl {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernels[3]; // F32, F16, Q8_0
	cl_mem x, out;
	cl_mem *weights; // [matrix]
	size_t n_weights;
	size_t used;	 // floats of out
	const float *at; // what is in x
	struct brick_device *bricks;
};

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "example-decoder: %s: OpenCL error %d\n", what, status);
	exit(4);
}

static const char *open_library(struct opencl *o)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *function;
	cl_platform_id platform;

	if (!library)
		return "libOpenCL.so.1 is not here";
#define LOOK_UP(name)                                  \
	if (!(function = dlsym(library, #name)))       \
		return "libOpenCL.so.1 has no " #name; \
	memcpy(&o->name, &function, sizeof(function));
	FUNCTIONS(LOOK_UP)
	if (o->clGetPlatformIDs(1, &platform, NULL) ||
		o->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &o->device, NULL))
		return "there is no OpenCL device";
	return NULL;
}

static cl_mem buffer(struct opencl *o, cl_mem_flags flags, size_t bytes, const void *data)
{
	cl_int status;
	cl_mem memory =
		o->clCreateBuffer(o->context, flags, bytes, (void *)(uintptr_t)data, &status);
	check(status, "buffer");
	return memory;
}

static void add_weights(struct opencl *o, const struct matrix *m)
{
	o->weights[m->number] =
		buffer(o, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, m->rows * m->row_bytes, m->data);
}

static void open_bricks(struct opencl *o)
{
	struct brick_backend_options options = {.size = sizeof(options),
		.native = {o->context, o->device, (void *)(uintptr_t)BRICK_OPENCL_EVENTS}};
	char reason[200] = "";
	int error = brick_device_open(
		&o->bricks, brick_backend_find("opencl"), &options, reason, sizeof(reason));
	if (error < 0)
		fprintf(stderr, "example-decoder: not timed: %s: %s\n", brick_strerror(error),
			reason);
}

struct opencl *opencl_create(const struct model *m, size_t n_batch, const char **why)
{
	static const char *const names[] = {"product_f32", "product_f16", "product_q8_0"};
	const cl_queue_properties properties[] = {
		CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
	size_t widest = m->n_ff > m->n_embd ? m->n_ff : m->n_embd, outputs = 2 * m->n_ff;
	struct opencl *o = allocate(1, sizeof(*o));
	cl_int status;
	if ((*why = open_library(o))) {
		free(o);
		return NULL;
	}
	o->context = o->clCreateContext(NULL, 1, &o->device, NULL, NULL, &status);
	check(status, "context");
	o->queue =
		o->clCreateCommandQueueWithProperties(o->context, o->device, properties, &status);
	check(status, "queue");
	o->program = o->clCreateProgramWithSource(o->context, 1, &source, NULL, &status);
	check(status, "program");
	check(o->clBuildProgram(o->program, 1, &o->device, "", NULL, NULL), "build");
	for (int i = 0; i < 3; i++) {
		o->kernels[i] = o->clCreateKernel(o->program, names[i], &status);
		check(status, names[i]);
	}
	outputs = outputs < 3 * m->n_embd ? 3 * m->n_embd : outputs;
	o->x = buffer(o, CL_MEM_READ_ONLY, n_batch * widest * sizeof(float), NULL);
	o->out = buffer(
		o, CL_MEM_READ_WRITE, (n_batch * outputs + m->n_vocab) * sizeof(float), NULL);
	o->n_weights = m->n_matrices;
	o->weights = allocate(m->n_matrices, sizeof(*o->weights));
	add_weights(o, &m->head);
	for (const struct layer *l = m->layers; l < m->layers + m->n_layers; l++) {
		const struct matrix *all[] = {
			&l->query, &l->key, &l->value, &l->output, &l->gate, &l->up, &l->down};
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			add_weights(o, all[i]);
	}
	open_bricks(o);
	return o;
}

void opencl_destroy(struct opencl *o)
{
	if (!o)
		return;
	brick_device_close(o->bricks);
	for (size_t i = 0; i < o->n_weights; i++)
		if (o->weights[i])
			o->clReleaseMemObject(o->weights[i]);
	o->clReleaseMemObject(o->x);
	o->clReleaseMemObject(o->out);
	for (int i = 0; i < 3; i++)
		o->clReleaseKernel(o->kernels[i]);
	o->clReleaseProgram(o->program);
	o->clReleaseCommandQueue(o->queue);
	o->clReleaseContext(o->context);
	free(o->weights);
	free(o);
}

static void launch(struct opencl *o, const struct matrix *m, size_t n_tokens, cl_event *event)
{
	cl_kernel kernel = o->kernels[m->type == GGUF_F32 ? 0 : m->type == GGUF_F16 ? 1 : 2];
	cl_ulong stride = m->row_bytes, at = o->used;
	cl_int cols = (cl_int)m->cols, rows = (cl_int)m->rows, tokens = (cl_int)n_tokens;
	const size_t global[] = {m->rows, (n_tokens + 3) / 4}, local[] = {BLOCK, 1};
	const struct {
		size_t size;
		const void *value;
	} arguments[] = {{sizeof(cl_mem), &o->weights[m->number]}, {sizeof(stride), &stride},
		{sizeof(cl_mem), &o->x}, {sizeof(cl_mem), &o->out}, {sizeof(at), &at},
		{sizeof(cols), &cols}, {sizeof(rows), &rows}, {sizeof(tokens), &tokens}};
	for (cl_uint i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		check(o->clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value),
			"argument");
	check(o->clEnqueueNDRangeKernel(o->queue, kernel, 2, NULL, global,
		      m->rows % BLOCK ? NULL : local, 0, NULL, event),
		"launch");
}

void opencl_matmul(struct opencl *o, int brick, int layer, const struct matrix *m, const float *x,
	float *out, size_t n_tokens)
{
	size_t in_bytes = n_tokens * m->cols * sizeof(*x), n = n_tokens * m->rows;
	cl_event event = NULL;
	if (o->at != x)
		check(o->clEnqueueWriteBuffer(
			      o->queue, o->x, CL_FALSE, 0, in_bytes, x, 0, NULL, NULL),
			"write");
	o->at = x;
	brick_device_span span =
		o->bricks ? brick_device_begin(o->bricks, o->queue, (uint32_t)brick, layer) : 0;
	launch(o, m, n_tokens, span ? &event : NULL);
	if (span) {
		brick_opencl_event(o->queue, event);
		brick_device_end(o->bricks, o->queue, span, n,
			m->rows * m->row_bytes + in_bytes + n * sizeof(*out), 2 * n * m->cols);
		o->clReleaseEvent(event);
	}
	check(o->clEnqueueReadBuffer(o->queue, o->out, CL_FALSE, o->used * sizeof(*out),
		      n * sizeof(*out), out, 0, NULL, NULL),
		"read");
	o->used += n;
}

void opencl_wait(struct opencl *o)
{
	brick_span span = brick_begin(BRICK_SYNCHRONIZE);
	check(o->clFinish(o->queue), "finish");
	brick_end(span);
	o->used = 0;
	o->at = NULL;
}

void opencl_layer_end(struct opencl *o)
{
	if (o->bricks)
		brick_device_layer_end(o->bricks, o->queue);
}

void opencl_pass_end(struct opencl *o)
{
	if (o->bricks)
		brick_device_drain(o->bricks);
}

void opencl_mode_set(struct opencl *o, uint32_t mode)
{
	if (o->bricks)
		brick_device_mode_set(o->bricks, mode);
}
