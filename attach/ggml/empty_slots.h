/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the dynamic linker through which the CPU's engine asks ggml_is_empty(), some three times
 * a node: they lead to the function itself, as long as no device wants to know of these calls. Any
 * thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine.h"

/* Of the object there, whose calls lead to that function. */
void empty_slots_lead_past(uintptr_t low, is_empty_fn function);

/* All of them lead to the hook again, and from now on to nothing else. */
void empty_slots_lead_back(void);

/* Held over a fork. */
void empty_slots_lock(void);
void empty_slots_unlock(void);
