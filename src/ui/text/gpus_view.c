/* SPDX-License-Identifier: Apache-2.0 */
/* Table, CSV and JSON of the times of gpu_times.h. The states of a GPU add up to its time. */
#include "ui/text/gpus_view.h"

#include "analysis/statistics/unknown.h"
#include "ui/text/csv_out.h"
#include "ui/text/gpu_text.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

/* A part of a GPU's time. */
struct gpus_state {
	const char *name, *words;
	uint64_t ns;
	uint32_t most; /* the host's brick with the most of an idle time; RUN_NONE: none */
	uint64_t most_ns;
	bool is_idle;
};

enum { GPUS_STATES = GPU_WORKS + GPU_IDLE_CAUSES };

/* Fills in the states that took time; returns how many. */
static size_t gpus_view_states(struct gpus_state list[GPUS_STATES], const struct gpu_time *time)
{
	static const struct {
		const char *name, *words;
	} works[GPU_WORKS] = {
		[GPU_COMPUTE] = {"compute", "computed"},
		[GPU_COLLECTIVE] = {"collective", "only collectives"},
		[GPU_TRANSFER] = {"transfer", "only transfers"},
	};
	size_t count = 0;

	for (int work = 0; work < GPU_WORKS; work++)
		if (time->alone_ns[work])
			list[count++] = (struct gpus_state){works[work].name, works[work].words,
				time->alone_ns[work], RUN_NONE, 0, false};
	for (int cause = 0; cause < GPU_IDLE_CAUSES; cause++)
		if (time->idle_of_ns[cause])
			list[count++] = (struct gpus_state){
				gpu_idle_name((enum gpu_idle_cause)cause),
				gpu_idle_words((enum gpu_idle_cause)cause), time->idle_of_ns[cause],
				time->most[cause], time->most_ns[cause], true};
	return count;
}

void gpus_text(const struct gpu_times *times, const struct run *run, FILE *out)
{
	static const struct table_column columns[] = {{"GPU", TABLE_LEFT, 0}, {"", TABLE_LEFT, 0},
		{"TIME", TABLE_RIGHT, 0}, {"SHARE", TABLE_RIGHT, 0},
		{"STATE, OR WHY IT WAS IDLE", TABLE_LEFT, 0}, {"MOSTLY IN", TABLE_REST, 1}};
	struct gpus_state states[GPUS_STATES];
	struct terminal terminal;
	SCOPED_TO(table_destroy)
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));

	terminal_init(&terminal, out);
	for (size_t i = 0; i < times->spans.count; i++) {
		size_t count = gpus_view_states(states, &times->list[i]);
		SCOPED char *label = gpu_label(run, &times->spans.list[i]);
		for (size_t k = 0; k < count; k++) {
			table_row(table, STYLE_PLAIN);
			table_cell(table, k ? "" : label);
			table_cell(table, states[k].is_idle ? "idle" : "busy");
			table_time(table, states[k].ns);
			table_percent(table, (double)states[k].ns / (double)times->list[i].wall_ns);
			table_cell(table, states[k].words);
			table_cell(table,
				states[k].most == RUN_NONE ? "" : run->bricks[states[k].most].name);
		}
	}
	table_hide_empty(table);
	table_print(table, &terminal);
	paragraph(&terminal, 0, "",
		"TIME is from a GPU's first to its last command of steps. Each ns is in one row.");
}

void gpus_csv(const struct gpu_times *times, const struct run *run, FILE *out)
{
	struct gpus_state states[GPUS_STATES];

	fputs("pid,gpu,name,is_idle,state,time_ns,share,brick,brick_ns\n", out);
	for (size_t i = 0; i < times->spans.count; i++) {
		const struct gpu *gpu = &times->spans.list[i];
		size_t count = gpus_view_states(states, &times->list[i]);
		SCOPED char *label = gpu_label(run, gpu);
		for (size_t k = 0; k < count; k++) {
			const struct gpus_state *s = &states[k];
			csv_number(out, run->processes[gpu->process].pid);
			csv_number(out, gpu->number ? gpu->number - 1 : ANALYSIS_UNKNOWN);
			csv_text(out, label);
			csv_number(out, s->is_idle);
			csv_text(out, s->name);
			csv_number(out, s->ns);
			csv_ratio(out, (double)s->ns / (double)times->list[i].wall_ns);
			csv_text(out, s->most == RUN_NONE ? NULL : run->bricks[s->most].name);
			csv_number(out, s->most == RUN_NONE ? ANALYSIS_UNKNOWN : s->most_ns);
			csv_end(out);
		}
	}
}

/* Idle time by cause, with the host's brick that has most of it. */
static json_t *gpus_view_idle(const struct run *run, const struct gpu_time *time)
{
	json_t *object = json_object();

	for (int cause = 0; cause < GPU_IDLE_CAUSES; cause++) {
		if (!time->idle_of_ns[cause])
			continue;
		uint32_t most = time->most[cause];
		json_t *part = json_object();
		json_put(part, "time_ns", json_number(time->idle_of_ns[cause]));
		json_put(part, "brick",
			most == RUN_NONE ? json_null() : json_text(run->bricks[most].name));
		json_put(part, "brick_ns",
			most == RUN_NONE ? json_null() : json_number(time->most_ns[cause]));
		json_put(object, gpu_idle_name((enum gpu_idle_cause)cause), part);
	}
	return object;
}

json_t *gpus_to_json(const struct gpu_times *times, const struct run *run)
{
	json_t *array = json_array();

	for (size_t i = 0; i < times->spans.count; i++) {
		const struct gpu *gpu = &times->spans.list[i];
		const struct gpu_time *time = &times->list[i];
		json_t *object = json_object();
		SCOPED char *label = gpu_label(run, gpu);
		json_put(object, "name", json_text(label));
		json_put(object, "pid", json_number(run->processes[gpu->process].pid));
		json_put(object, "number", gpu->number ? json_number(gpu->number) : json_null());
		json_put(object, "gpu", gpu->number ? json_number(gpu->number - 1) : json_null());
		json_put(object, "backend", json_text(gpu->backend));
		json_put_numbers(object, gpu, queues);
		json_put(object, "memory_bytes", json_number(gpu_bytes(run, gpu, "memory")));
		json_put(object, "memory_peak_bytes",
			json_number(gpu_bytes(run, gpu, "memory_peak")));
		json_put_numbers(object, time, commands, wall_ns, busy_ns, idle_ns);
		json_put(object, "compute_ns", json_number(time->alone_ns[GPU_COMPUTE]));
		json_put(object, "exposed_collective_ns",
			json_number(time->alone_ns[GPU_COLLECTIVE]));
		json_put(object, "exposed_transfer_ns", json_number(time->alone_ns[GPU_TRANSFER]));
		json_put(object, "idle", gpus_view_idle(run, time));
		json_add(array, object);
	}
	return array;
}
