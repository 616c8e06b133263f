/* SPDX-License-Identifier: Apache-2.0 */
/* The energy of NVIDIA's GPUs, by the driver's library NVML. One thread at a time. */
#pragma once

#include "record/energy_sources.h"

/*
 * Adds a counter for each GPU that has one. Loads NVML, which takes long where no program uses the
 * driver: call it only when one does. Without NVML nothing is added.
 */
void energy_nvml_add(struct energy_sources *sources);
