/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of devices, as a part of a sweep. Inside of machine/ only. */
#pragma once

#include "analysis/machine/sweep_slots.h"

/* Latencies of all devices; of those that kernels can be made for all other ceilings, too. */
int sweep_devices(struct sweep *s);
