/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sequences that say when a lane's threads were off their CPUs (writer_off_cpu.c): slices
 * beside each other, each with nothing but its name.
 */
#include "lib/writer/format.h"
#include "trace/load_state.h"

/* The type of an event and the name that it has, 0: none. 0: malformed. */
static int parse(struct pb_reader event, uint64_t *type, uint64_t *name)
{
	struct pb_field f;
	int more;

	*type = *name = 0;
	while ((more = pb_next(&event, &f)) > 0) {
		if (f.number == EVENT_TYPE && f.wire == PB_VARINT)
			*type = f.value;
		else if (f.number == EVENT_NAME_IID && f.wire == PB_VARINT)
			*name = f.value;
	}
	return more == 0;
}

int load_off_cpu_event(struct load_sequence *s, struct pb_reader event)
{
	struct load_off_cpu *o = &s->off_cpu;
	uint64_t type, iid;

	if (!parse(event, &type, &iid))
		return 0;
	if (type == EVENT_BEGIN) {
		uint32_t name = load_iid_get(&s->names, iid);
		int known = name == (LOAD_OWN_NAME | FORMAT_N_BLOCKED) ||
			    name == (LOAD_OWN_NAME | FORMAT_N_PREEMPTED);
		o->name = known ? name : 0;
		o->begin_ns = o->now;
		return known;
	}
	uint32_t name = o->name;
	o->name = 0;
	if (type != EVENT_END || !name)
		return 0;
	return build_off_cpu(
		o->lane, o->begin_ns, o->now, name == (LOAD_OWN_NAME | FORMAT_N_PREEMPTED));
}
