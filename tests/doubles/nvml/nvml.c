/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML without a GPU: two devices, of which the second counts no energy, as those before Volta. The
 * first counts 250 mJ whenever it is read. With DOUBLE_NVML_HANGS it never begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	while (getenv("DOUBLE_NVML_HANGS"))
		pause();
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = 2;
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	static char devices[2];

	if (index > 1)
		return INVALID_ARGUMENT;
	*device = &devices[index];
	return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned bytes);
int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
	(void)device;
	snprintf(name, bytes, "Double");
	return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	static unsigned long long count_mj = 1000000;
	void *first;

	nvmlDeviceGetHandleByIndex_v2(0, &first);
	if (device != first)
		return NOT_SUPPORTED;
	*mj = count_mj += 250;
	return SUCCESS;
}
