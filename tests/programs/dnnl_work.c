/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of oneDNN, which says each by ITT.
 *
 *   dnnl_work COUNT
 */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

static void check(dnnl_status_t status, const char *what)
{
	if (status == dnnl_success)
		return;
	fprintf(stderr, "%s: %d\n", what, (int)status);
	exit(1);
}

/* A product of square matrices, and a memory object for each operand: oneDNN 3 changed both calls.
 */
static dnnl_primitive_desc_t describe(
	dnnl_engine_t engine, int n, float *data[3], dnnl_memory_t memories[3])
{
	dnnl_dims_t dims = {n, n};
	dnnl_primitive_desc_t description;
#if DNNL_VERSION_MAJOR >= 3
	dnnl_memory_desc_t square;

	check(dnnl_memory_desc_create_with_tag(&square, 2, dims, dnnl_f32, dnnl_ab), "layout");
	check(dnnl_matmul_primitive_desc_create(
		      &description, engine, square, square, NULL, square, NULL),
		"description");
	for (int i = 0; i < 3; i++)
		check(dnnl_memory_create(&memories[i], square, engine, data[i]), "memory");
	check(dnnl_memory_desc_destroy(square), "layout");
#else
	dnnl_memory_desc_t square;
	dnnl_matmul_desc_t product;

	check(dnnl_memory_desc_init_by_tag(&square, 2, dims, dnnl_f32, dnnl_ab), "layout");
	check(dnnl_matmul_desc_init(&product, &square, &square, NULL, &square), "product");
	check(dnnl_primitive_desc_create(&description, &product, NULL, engine, NULL),
		"description");
	for (int i = 0; i < 3; i++)
		check(dnnl_memory_create(&memories[i], &square, engine, data[i]), "memory");
#endif
	return description;
}

int main(int argc, char **argv)
{
	enum { N = 64 };
	static float a[N * N], b[N * N], c[N * N];
	int count = argc > 1 ? atoi(argv[1]) : 1;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_t primitive;
	dnnl_memory_t memories[3];
	float *data[] = {a, b, c};

	for (int i = 0; i < N * N; i++)
		a[i] = b[i] = 1;
	check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
	check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
	check(dnnl_primitive_create(&primitive, describe(engine, N, data, memories)), "primitive");
	dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memories[0]}, {DNNL_ARG_WEIGHTS, memories[1]},
		{DNNL_ARG_DST, memories[2]}};
	for (int i = 0; i < count; i++)
		check(dnnl_primitive_execute(primitive, stream, 3, arguments), "execute");
	check(dnnl_stream_wait(stream), "wait");
	printf("%.1f\n", (double)c[0]);
	return 0;
}
