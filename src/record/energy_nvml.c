/* SPDX-License-Identifier: Apache-2.0 */
/* NVML counts mJ since its driver was loaded, on GPUs since Volta. It stays loaded. */
#include "record/energy_nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/clock_ns.h"

/* Functions of NVML that have been the same since 2018. */
struct nvml {
	int (*init)(void);
	int (*count)(unsigned *count);
	int (*by_index)(unsigned index, void **device);
	int (*name)(void *device, char *name, unsigned bytes);
	int (*energy)(void *device, unsigned long long *mj);
};

static struct nvml nvml;

static bool nvml_read(void *device, uint64_t *uj)
{
	unsigned long long mj;

	if (nvml.energy(device, &mj))
		return false;
	*uj = 1000 * mj;
	return true;
}

static bool nvml_load(void)
{
	static const char *const names[] = {"nvmlInit_v2", "nvmlDeviceGetCount_v2",
		"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetName",
		"nvmlDeviceGetTotalEnergyConsumption"};
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	void *functions[sizeof(names) / sizeof(*names)];
	bool is_whole = library != NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && is_whole; i++)
		is_whole = (functions[i] = dlsym(library, names[i])) != NULL;
	if (!is_whole)
		return false;
	memcpy(&nvml, functions, sizeof(nvml));
	return !nvml.init();
}

void energy_nvml_add(struct energy_sources *sources)
{
	unsigned count = 0;

	if (!nvml_load() || nvml.count(&count))
		return;
	for (unsigned i = 0; i < count; i++) {
		struct energy_source s = {.fd = -1, .read = nvml_read, .ns = monotonic_ns()};
		char name[40] = "";
		if (nvml.by_index(i, &s.device) || !nvml_read(s.device, &s.value))
			continue;
		if (nvml.name(s.device, name, sizeof(name)))
			*name = '\0';
		snprintf(s.name, sizeof(s.name), "nvml GPU %u %s", i, name);
		(void)array_push(&sources->list, s);
	}
}
