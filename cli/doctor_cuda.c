/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether programs that use CUDA can be recorded as they are: what the driver is to load, and the
 * tracing library that it stands on. Called by `brick doctor`.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>

#include "attach/cuda/cupti.h"
#include "cli/doctor.h"
#include "inject/inject.h"

static void add_tracing(struct doctor *doctor)
{
	char why[512];
	uint32_t version = 0;

	if (cupti_open(why, sizeof(why))) {
		doctor_add(doctor, "Recording", "cuda", DOCTOR_NO,
			"install CUPTI (it comes with the CUDA toolkit), or have BRICK_CUPTI lead "
			"to it; launches can be timed from inside of a program without",
			"kernels of CUDA programs cannot be traced: %s", why);
		return;
	}
	cupti.version(&version);
	doctor_add(doctor, "Recording", "cuda", DOCTOR_OK, NULL,
		"CUDA programs are traced through %s (API version %u)", cupti.path, version);
}

void doctor_cuda(struct doctor *doctor)
{
	char library[PATH_MAX];
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!driver)
		doctor_add(doctor, "Recording", "cuda", DOCTOR_ABSENT, NULL,
			"no CUDA programs here: libcuda.so.1 is missing");
	else if (!inject_further("libbrick-cuda.so", library, sizeof(library)))
		doctor_add(doctor, "Recording", "cuda", DOCTOR_NO, "install Brick whole",
			"libbrick-cuda.so was not found beside this program (in ../lib)");
	else
		add_tracing(doctor);
	if (driver)
		dlclose(driver);
}
