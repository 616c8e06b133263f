/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's double: modules of PTX text, whose kernels it knows by name, and launching them
 * (double.h). The "cubin" that tools are shown is an ELF file with a section per kernel.
 */
#include "tests/doubles/cuda/double.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next_module = 1;

/* scale(float *x, float factor, uint32_t n); add(float *x, const float *y, uint32_t n) */
void double_kernel(const struct op *op)
{
	if (!op->function->executes)
		return;
	float *x = *(float **)op->arguments[0];
	uint32_t n = *(uint32_t *)op->arguments[2];

	for (uint32_t i = 0; i < n; i++) {
		if (op->function->executes == SCALE)
			x[i] *= *(float *)op->arguments[1];
		else if (op->function->executes == ADD)
			x[i] += (*(float **)op->arguments[1])[i];
	}
}

static void add_function(struct module *module, const char *name, size_t bytes)
{
	struct function *f = &module->functions[module->function_count];

	if (module->function_count == 16 || bytes >= sizeof f->name)
		return;
	memcpy(f->name, name, bytes);
	f->module = module;
	f->executes = strstr(f->name, "scale") ? SCALE : strstr(f->name, "add") ? ADD : 0;
	module->function_count++;
}

static void find_entries(struct module *module, const char *text)
{
	while ((text = strstr(text, ".entry "))) {
		text += 7;
		add_function(module, text, strcspn(text, " (\n"));
	}
}

/* ELF header, section headers, names: the first section is the table of names. */
static void make_cubin(struct module *module)
{
	size_t names =
		sizeof(Elf64_Ehdr) + (size_t)(module->function_count + 1) * sizeof(Elf64_Shdr);
	unsigned char *cubin = calloc(1, names + 4096);
	Elf64_Ehdr *elf = (void *)cubin;
	Elf64_Shdr *sections = (void *)(cubin + sizeof *elf);
	size_t used = 1;

	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_ident[EI_CLASS] = ELFCLASS64;
	elf->e_machine = 190;
	elf->e_shoff = sizeof *elf;
	elf->e_shentsize = sizeof *sections;
	elf->e_shnum = (uint16_t)(module->function_count + 1);
	for (int i = 0; i < module->function_count; i++) {
		sections[i + 1].sh_name = (uint32_t)used;
		used += (size_t)sprintf((char *)cubin + names + used, ".text.%s",
				module->functions[i].name) +
			1;
	}
	sections[0].sh_offset = names;
	sections[0].sh_size = used;
	module->cubin = cubin;
	module->cubin_bytes = names + used;
}

DOUBLE_API int cuModuleLoadData(struct module **out, const void *image)
{
	const struct cuda_load_data parameters = {out, image};
	struct entry e = {.id = 19, .name = "cuModuleLoadData", .parameters = &parameters};
	struct module *module = calloc(1, sizeof *module);

	double_enter(&e);
	module->id = next_module++;
	find_entries(module, image);
	make_cubin(module);
	struct cupti_module what = {module->id, module->cubin_bytes, (const char *)module->cubin};
	if (double_tools.resource)
		double_tools.resource(CUPTI_MODULE_LOADED, double_current(), &what);
	*out = module;
	return double_leave(&e, FINE);
}

DOUBLE_API int cuModuleUnload(struct module *module)
{
	struct cupti_module what = {module->id, module->cubin_bytes, (const char *)module->cubin};

	if (double_tools.resource)
		double_tools.resource(CUPTI_MODULE_UNLOADING, double_current(), &what);
	free(module->cubin);
	free(module);
	return FINE;
}

DOUBLE_API int cuModuleGetFunction(struct function **out, struct module *module, const char *name)
{
	for (int i = 0; i < module->function_count; i++)
		if (!strcmp(module->functions[i].name, name)) {
			*out = &module->functions[i];
			return FINE;
		}
	return NOT_FOUND;
}

static int launch(
	struct entry e, const struct cuda_launch_kernel *of, struct op op, void *const *arguments)
{
	struct function *function = of->function;
	struct stream *stream = double_stream(of->stream);

	if (!stream)
		return NO_CONTEXT;
	e.parameters = of;
	e.symbol = function->name;
	op.function = function;
	for (int i = 0; i < 3; i++)
		op.arguments[i] = arguments ? arguments[i] : NULL;
	double_enter(&e);
	int error = double_capture_error(stream);
	if (error || double_fails())
		return double_leave(&e, error ? error : OUT_OF_RESOURCES);
	if (stream->capture)
		double_capture(stream, &op);
	else
		double_run(stream, &op, e.correlation, 0);
	return double_leave(&e, FINE);
}

/* The second is of programs whose default stream is the thread's own. */
#define LAUNCH(function_name, number)                                                              \
	DOUBLE_API int function_name(struct function *function, unsigned gx, unsigned gy,          \
		unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,               \
		struct stream *handle, void **arguments, void **extra)                             \
	{                                                                                          \
		const struct cuda_launch_kernel parameters = {                                     \
			function, {gx, gy, gz}, {bx, by, bz}, shared, handle};                     \
		const struct op op = {.kind = OP_KERNEL,                                           \
			.grid = {gx, gy, gz},                                                      \
			.block = {bx, by, bz},                                                     \
			.shared = shared};                                                         \
		return launch((struct entry){.id = (number), .name = #function_name}, &parameters, \
			op, arguments);                                                            \
	}
LAUNCH(cuLaunchKernel, 307)
LAUNCH(cuLaunchKernel_ptsz, 442)
