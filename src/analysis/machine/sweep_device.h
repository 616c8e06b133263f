/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of devices, as a part of a sweep. Inside of machine/ only. */
#pragma once

#include "analysis/machine/sweep_slots.h"

/* Latencies of all devices, and all other ceilings where there are kernels for the device. */
int sweep_devices(struct sweep *s);
