/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that need no context; each may be missing in a driver. */
#include "attach/cuda/cuda_device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "lib/device/gpus.h"

enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_* */

#define DRIVER_FUNCTION(driver, variable, name)                         \
	do {                                                            \
		void *function = dlsym(driver, name);                   \
		memcpy(&(variable), &function, sizeof(void (*)(void))); \
	} while (0)

/* "sm_90", as compilers call what the device runs; "": not told. */
static void architecture(void *driver, int ordinal, char *text, size_t bytes)
{
	int (*attribute)(int *, int, int) = NULL, major = 0, minor = 0;

	DRIVER_FUNCTION(driver, attribute, "cuDeviceGetAttribute");
	text[0] = '\0';
	if (attribute && !attribute(&major, COMPUTE_MAJOR, ordinal) &&
		!attribute(&minor, COMPUTE_MINOR, ordinal) && major > 0)
		snprintf(text, bytes, "sm_%d%d", major, minor);
}

void cuda_device_describe(void *driver, int ordinal)
{
	int (*text_of)(char *, int, int) = NULL, (*uuid_of)(uint8_t *, int) = NULL;
	char name[128] = "", runs[16], pci[32] = "";
	uint8_t uuid[16];
	struct gpu_facts facts = {
		.name = name, .vendor = "NVIDIA", .architecture = runs, .pci = pci};

	DRIVER_FUNCTION(driver, text_of, "cuDeviceGetName");
	if (!text_of || text_of(name, sizeof(name), ordinal))
		return;
	DRIVER_FUNCTION(driver, text_of, "cuDeviceGetPCIBusId");
	if (text_of && text_of(pci, sizeof(pci), ordinal))
		pci[0] = '\0';
	DRIVER_FUNCTION(driver, uuid_of, "cuDeviceGetUuid");
	if (uuid_of && !uuid_of(uuid, ordinal))
		facts.uuid = uuid;
	architecture(driver, ordinal, runs, sizeof(runs));
	brick__gpu_describe("cuda", (uint64_t)ordinal, &facts);
}
