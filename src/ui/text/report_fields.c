/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the fields of a report's rows, how they are read and ordered, and which are shown
 * where. The order of the table is that of the columns of CSV: new fields go to the end. A field
 * that is in no list of columns is still in JSON and CSV, and for --columns and --sort.
 */
#include "ui/text/report_fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/roofline/roofline.h"
#include "base/number.h"
#include "base/order.h"
#include "trace/exports.h"
#include "ui/text/report.h"
#include "ui/text/text.h"

/* The kinds of rows that have a field, as bits. */
enum {
	THREADS = 1u << SUMMARY_BY_THREAD,
	KERNELS = 1u << SUMMARY_BY_KERNEL,
	QUEUES = 1u << SUMMARY_BY_QUEUE,
	LAYERS = 1u << SUMMARY_BY_LAYER,
	STEPS = 1u << SUMMARY_BY_STEP,
	BRICKS = 1u << SUMMARY_BY_BRICK,
};

#define MEMBER(of, type, member)                           \
	.base = (of), .at = offsetof(struct type, member), \
	.size = sizeof(((struct type *)0)->member)
#define ROW(member) MEMBER(REPORT_OF_ROW, summary_row, member)
#define QUEUE(member) MEMBER(REPORT_OF_QUEUE, queue_time, member)
#define KERNEL(member) MEMBER(REPORT_OF_KERNEL, run_kernel, member)
#define LANE(member) MEMBER(REPORT_OF_LANE, run_lane, member)

static void get_name(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	value->text = text_copy(row->name);
}

static void get_category(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	value->text = row->category ? text_copy(row->category) : NULL;
}

static void get_backend(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const char *name = report_backend(report, row);
	value->text = name ? text_copy(name) : NULL;
}

static void get_sources(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	value->text = report_sources(report, row->sources);
}

/* None if nothing ran on a thread. */
static void get_basis(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	if (row->avg_ns != ANALYSIS_UNKNOWN)
		value->text = text_copy(summary_basis_name(row->basis));
}

static void get_compression(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	if (row->bytes_out != ANALYSIS_UNKNOWN && row->bytes != ANALYSIS_UNKNOWN)
		value->ratio = (double)(row->bytes - row->bytes_out) / (double)row->bytes_out;
}

/* The share of its roof that a brick reached, in the report's phase. */
static void get_roof(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct roofline_row *at = report_roof(report, row);

	if (at && at->distance >= 0)
		value->ratio = 1 - at->distance;
}

static void get_elements_rate(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	uint64_t ns = row->on_device ? row->device_ns : row->total_ns;
	if (row->elements != ANALYSIS_UNKNOWN && row->elements && ns)
		value->number = number_of_double((double)row->elements * 1e9 / (double)ns);
}

static void get_pid(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_lane *lane = report_lane(report, row);
	if (lane)
		value->number = report->run->processes[lane->process].pid;
}

static const struct run_step *report_fields_step_of(
	const struct report *report, const struct summary_row *row)
{
	return row->id < report->run->step_count ? &report->run->steps[row->id] : NULL;
}

/*
 * For a brick that ran on devices only, people see this in place of a thread's number. Programs
 * find the devices' numbers under their own names.
 */
static void get_device_count(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	value->number = row->device_count;
}

/* Of single executions, which may overlap; DEVICE has the time with at least one. */
static void get_device_total(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	value->number =
		row->avg_ns != ANALYSIS_UNKNOWN ? row->avg_ns * row->device_count : row->device_ns;
}

static void get_device_share(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	uint64_t wall_ns = report->summary->wall_ns;
	if (wall_ns && row->device_step_ns != ANALYSIS_UNKNOWN)
		value->ratio = (double)row->device_step_ns / (double)wall_ns;
	if (report->run->has_statistics_only && value->ratio > 1)
		value->ratio = -1; /* they overlapped, by how much is not known */
}

static void get_exposed(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	if (row->exposed_ns != ANALYSIS_UNKNOWN && row->device_ns)
		value->ratio = (double)row->exposed_ns / (double)row->device_ns;
}

static void get_device_each(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	if (row->on_device && row->avg_ns != ANALYSIS_UNKNOWN)
		value->number = row->avg_ns;
	else if (row->device_ns != ANALYSIS_UNKNOWN && row->device_count)
		value->number = row->device_ns / row->device_count;
}

static void get_per_token(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	uint64_t tokens = report_row_tokens(report, row);
	if (tokens && row->wall_ns != ANALYSIS_UNKNOWN)
		value->number = (row->wall_ns - row->unevaluated_ns) / tokens;
}

static void get_device_per_token(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	uint64_t tokens = report_row_tokens(report, row);
	if (tokens && row->device_step_ns != ANALYSIS_UNKNOWN)
		value->number = row->device_step_ns / tokens;
}

static void get_each(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	bool is_cpu = row->cpu_ns != ANALYSIS_UNKNOWN && !row->waits;
	if (row->count)
		value->number = (is_cpu ? row->cpu_ns : row->self_ns) / row->count;
}

/* Of the report, or of a row by phase or step. */
static void get_phase(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_step *step =
		report->summary->by == SUMMARY_BY_STEP ? report_fields_step_of(report, row) : NULL;
	int phase = step ? (int)step->phase
		    : report->summary->by == SUMMARY_BY_PHASE && row->id < STEP_PHASES
			    ? (int)row->id
			    : report->summary->only;

	value->text = step_phase_name(phase) ? text_copy(step_phase_name(phase)) : NULL;
}

static void get_step_tokens(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_step *step = report_fields_step_of(report, row);
	if (step && step->outcome != RUN_ABORTED)
		value->number = step->tokens;
}

/* A step that was evaluated has no outcome to show. */
static void get_outcome(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_step *step = report_fields_step_of(report, row);
	if (step && step->outcome != RUN_EVALUATED)
		value->text = text_copy(step->outcome == RUN_ABORTED ? "aborted" : "refused");
}

static void get_step_begin(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_step *step = report_fields_step_of(report, row);
	if (step)
		value->number = step->begin_ns - report->run->start_ns;
}

static void get_step_time(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct step_time *times = report->summary->steps.steps;
	if (report_fields_step_of(report, row))
		value->number = step_time_total_ns(&times[row->id]);
}

static void get_step_span(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_step *step = report_fields_step_of(report, row);
	if (step)
		value->number = step->end_ns - step->begin_ns;
}

static const struct run_kernel *report_fields_kernel_of(
	const struct report *report, const struct summary_row *row)
{
	return row->kernel < report->run->kernel_count ? &report->run->kernels[row->kernel] : NULL;
}

static void get_kind(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_kernel *k = report_fields_kernel_of(report, row);
	value->text = k ? text_copy(text_kernel_kind(k->kind)) : NULL;
}

static void get_code(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_kernel *k = report_fields_kernel_of(report, row);
	if (k && k->code)
		value->text = text_format("%016llx", (unsigned long long)k->code);
}

/* "(16,1,1) (256,1,1)" of the shape that ran most often, "h2d" of a transfer. */
static void get_shape(
	const struct report *report, const struct summary_row *row, struct report_value *value)
{
	const struct run_kernel *k = report_fields_kernel_of(report, row);
	if (!k)
		return;
	if (!k->grid[0])
		value->text = k->kind == BRICK_KERNEL_COMPUTE
				      ? NULL
				      : text_copy(text_kernel_kind(k->kind));
	else if (!k->block[0])
		value->text = text_format("(%u,%u,%u) -", k->grid[0], k->grid[1], k->grid[2]);
	else
		value->text = text_format("(%u,%u,%u) (%u,%u,%u)", k->grid[0], k->grid[1],
			k->grid[2], k->block[0], k->block[1], k->block[2]);
}

#define FROM_SHAPES "Computed from shapes and types, or stated by the program."

const struct report_field report_fields[] = {
	{"name", "NAME", "The brick, layer, thread or other part that the row describes.",
		REPORT_TEXT, .get = get_name, .flags = REPORT_OF_REST},
	{"category", "CATEGORY", "The kind of work.", REPORT_TEXT, .get = get_category},
	{"backend", "BACKEND", "The CPU, or the device that worked for it.", REPORT_TEXT,
		.get = get_backend},
	{"source", "SOURCE", "How its times were obtained.", REPORT_TEXT, .get = get_sources},
	{"count", "COUNT",
		"Executions. Rows by layer, phase and thread count no waits. If a brick ran on "
		"devices only, text shows the devices' COUNT, TOTAL, SHARE, /TOKEN and EACH.",
		REPORT_COUNT, ROW(count), .flags = REPORT_ON_HOST, .device = get_device_count},
	{"total_ns", "TOTAL",
		"Time with at least one execution open on a thread, summed over threads. "
		"Executions that never ended do not count. A row of devices sums its executions.",
		REPORT_TIME, ROW(total_ns), .flags = REPORT_ON_HOST, .device = get_device_total},
	{"self_ns", "SELF",
		"Time in the brick itself, without nested bricks and waiting, summed over threads. "
		"Executions that never ended count, too.",
		REPORT_TIME, ROW(self_ns), .flags = REPORT_ON_HOST | REPORT_OF_REST},
	{"wait_ns", "WAIT",
		"Time spent waiting inside its executions and right after them, summed over "
		"threads. Rows of waits have SELF here.",
		REPORT_TIME, ROW(wait_ns), .flags = REPORT_ON_HOST},
	{"share", "SHARE", "WALL as a part of all wall time.", REPORT_SHARE, ROW(share),
		.flags = REPORT_ON_HOST | REPORT_OF_REST, .device = get_device_share},
	{"avg_ns", "AVG",
		"Mean time of an execution with nested bricks and waits. BASIS says which time "
		"AVG, MIN, the percentiles and MAX count.",
		REPORT_TIME, ROW(avg_ns)},
	{"min_ns", "MIN", "The shortest execution.", REPORT_TIME, ROW(min_ns)},
	{"p50_ns", "P50",
		"Half of the executions took no longer. Percentiles are by nearest rank, within 1 "
		"% of the value.",
		REPORT_TIME, ROW(p50_ns)},
	{"p95_ns", "P95", "95 % of the executions took no longer; needs 20 executions.",
		REPORT_TIME, ROW(p95_ns)},
	{"p99_ns", "P99", "99 % of the executions took no longer; needs 100 executions.",
		REPORT_TIME, ROW(p99_ns)},
	{"max_ns", "MAX", "The longest execution.", REPORT_TIME, ROW(max_ns)},
	{"elements", "ELEMENTS", "Elements made. " FROM_SHAPES, REPORT_COUNT, ROW(elements)},
	{"bytes", "BYTES", "Bytes read and written. " FROM_SHAPES, REPORT_BYTES, ROW(bytes)},
	{"flops", "FLOPS", "Floating-point operations. " FROM_SHAPES, REPORT_COUNT, ROW(flops)},
	{"device_count", "DEVICE COUNT", "Commands that the row launched on devices.", REPORT_COUNT,
		ROW(device_count)},
	{"device_ns", "DEVICE",
		"Time with at least one command running that the row launched, summed over queues.",
		REPORT_TIME, ROW(device_ns), .flags = REPORT_OF_DEVICE},
	{"wall_ns", "WALL",
		"The row's part of the wall time. Bricks and categories count the time in which "
		"the thread ran, or was blocked in a wait. All rows, with 'preempted', 'blocked' "
		"and 'unattributed', add up to the wall time.",
		REPORT_TIME, ROW(wall_ns), .flags = REPORT_ON_HOST | REPORT_OF_REST},
	{"token_ns", "/TOKEN",
		"WALL for each token of the steps. A row by step or phase counts its own tokens. "
		"Refused and aborted batches are left out.",
		REPORT_TIME, .get = get_per_token, .flags = REPORT_ON_HOST | REPORT_OF_REST,
		.device = get_device_per_token},
	{"bytes_out", "BYTES OUT",
		"Bytes written, where the program tells them apart from bytes read.", REPORT_BYTES,
		ROW(bytes_out)},
	{"compression_ratio", "RATIO", "Bytes read for each byte written.", REPORT_RATIO,
		.get = get_compression},
	{"bytes_per_s", "GB/s",
		"Bytes over the time, by BASIS, in which at least one thread of the process or one "
		"queue was in the brick, without nested bricks and waiting. This is the rate of "
		"all threads together, or that of one thread where each thread states its own "
		"bytes. It is unknown where the brick was blocked for longer than it ran.",
		REPORT_RATE, ROW(bytes_per_ns)},
	{"flops_per_s", "GFLOP/s", "FLOPs over the same time as GB/s.", REPORT_RATE,
		ROW(flops_per_ns)},
	{"elements_per_s", "ELEM/s", "Elements over TOTAL: the mean rate of one thread.",
		REPORT_COUNT, .get = get_elements_rate},
	{"roof", "OF ROOF",
		"The brick's rate as a share of its roof, the most that the machine allows for "
		"such work (brick-roofline). It needs 'brick ceilings', and one phase at a time.",
		REPORT_SHARE, .rows = BRICKS, .get = get_roof},
	{"layer", "LAYER", "Number of the layer; -1 is outside of layers.", REPORT_LAYER,
		.rows = LAYERS, ROW(id)},
	{"pid", "PID", "The process.", REPORT_COUNT, .rows = THREADS | QUEUES, .get = get_pid},
	{"tid", "TID", "The thread.", REPORT_COUNT, .rows = THREADS, LANE(tid)},
	{"shape", "GRID BLOCK", "Work groups, and work items in each.", REPORT_TEXT,
		.rows = KERNELS, .flags = REPORT_TEXT_ONLY, .get = get_shape},
	{"kind", "KIND", "Kernel or transfer, and in which direction.", REPORT_TEXT,
		.rows = KERNELS, .get = get_kind},
	{"grid", "GRID", "Work groups.", REPORT_SIZES, .rows = KERNELS, KERNEL(grid)},
	{"block", "BLOCK", "Work items in each work group.", REPORT_SIZES, .rows = KERNELS,
		KERNEL(block)},
	{"shared_bytes", "SHARED", "Shared memory of a work group.", REPORT_BYTES, .rows = KERNELS,
		KERNEL(shared_bytes)},
	{"registers", "REGISTERS", "Registers of a work item, where the driver tells.",
		REPORT_COUNT, .rows = KERNELS, .flags = REPORT_ZERO_UNKNOWN, KERNEL(registers)},
	{"code", "CODE", "Hash of the kernel's code, where it was seen.", REPORT_TEXT,
		.rows = KERNELS, .get = get_code},
	{"queue", "QUEUE", "Number of the queue.", REPORT_COUNT, .rows = QUEUES, LANE(tid)},
	{"lanes", "LANES", "Lanes that the commands of the queue needed.", REPORT_COUNT,
		.rows = QUEUES, QUEUE(lanes)},
	{"commands", "COMMANDS", "Commands of the queue.", REPORT_COUNT, .rows = QUEUES,
		QUEUE(commands)},
	{"busy_ns", "BUSY", "Time in which the queue had a command running.", REPORT_TIME,
		.rows = QUEUES, QUEUE(busy_ns)},
	{"steps_ns", "STEPS", "Wall time of the steps of the queue's process.", REPORT_TIME,
		.rows = QUEUES, QUEUE(steps_ns)},
	{"queue_wall_ns", "QUEUE WALL",
		"Time in which a step of the queue's process or a command of the queue ran.",
		REPORT_TIME, .rows = QUEUES, QUEUE(wall_ns)},
	{"idle_ns", "IDLE", "QUEUE WALL less BUSY.", REPORT_TIME, .rows = QUEUES, QUEUE(idle_ns)},
	{"launch.count", "LAUNCHES", "Commands whose launch is known.", REPORT_COUNT,
		.rows = QUEUES, QUEUE(launch.count)},
	{"launch.p50_ns", "LAUNCH P50",
		"Median time from the begin of the host's call to the begin of the command.",
		REPORT_TIME, .rows = QUEUES, QUEUE(launch.p50_ns)},
	{"launch.p95_ns", "LAUNCH P95", "The 95th percentile of that time; needs 20 commands.",
		REPORT_TIME, .rows = QUEUES, QUEUE(launch.p95_ns)},
	{"submit.count", "SUBMISSIONS", "Commands whose submission is known.", REPORT_COUNT,
		.rows = QUEUES, QUEUE(submit.count)},
	{"submit.p50_ns", "SUBMIT P50",
		"Median time from the submission to the device to the begin of the command.",
		REPORT_TIME, .rows = QUEUES, QUEUE(submit.p50_ns)},
	{"submit.p95_ns", "SUBMIT P95", "The 95th percentile of that time; needs 20 commands.",
		REPORT_TIME, .rows = QUEUES, QUEUE(submit.p95_ns)},
	{"cpu_ns", "CPU",
		"SELF less the time for which the threads were off their CPUs. Interrupts and "
		"steal count; the kernel's time to switch away and back, 9 to 25 us a wait, does "
		"not. Where the kernel refuses records of switches, a step has the CPU clock of "
		"its thread.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), ROW(cpu_ns),
		.flags = REPORT_ON_HOST},
	{"off_ns", "OFF",
		"The part of SELF for which the threads were off their CPUs, preempted or blocked. "
		"It is unknown unless the recording has the context switches of all its steps "
		"(brick-record --off-cpu).",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), ROW(off_ns),
		.flags = REPORT_ON_HOST},
	{"preempted_ns", "PREEMPTED", "The part of OFF in which another thread had the CPU.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), ROW(preempted_ns),
		.flags = REPORT_ON_HOST},
	{"blocked_ns", "BLOCKED",
		"The part of OFF in which the thread waited for a lock, a file, a device or a "
		"time.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), ROW(blocked_ns),
		.flags = REPORT_ON_HOST},
	{"step_tokens", "TOKENS", "Tokens of the step.", REPORT_COUNT, .rows = STEPS,
		.get = get_step_tokens},
	{"step_begin_ns", "BEGIN", "When the step began, since the recording began.", REPORT_TIME,
		.rows = STEPS, .get = get_step_begin},
	{"step_ns", "STEP",
		"Time of the step on the thread that ran it, with what follows it in its account, "
		"such as sampling.",
		REPORT_TIME, .rows = STEPS, .get = get_step_time},
	{"basis", "BASIS",
		"The time behind AVG, MIN, the percentiles, MAX, GB/s and GFLOP/s: 'cpu', the time "
		"on the CPU, or 'wall', all time. Waits have 'wall', and so do rows whose time off "
		"the CPU is unknown or whose samples were dropped. A category with both is "
		"'mixed'.",
		REPORT_TEXT, .rows = (unsigned)~(KERNELS | QUEUES), .get = get_basis},
	{"length_avg_ns", "LENGTH AVG",
		"Mean time of an execution from its begin to its end, whatever BASIS says.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), ROW(length_avg_ns)},
	{"length_min_ns", "LENGTH MIN", "Time of the shortest execution, likewise.", REPORT_TIME,
		.rows = (unsigned)~(KERNELS | QUEUES), ROW(length_min_ns)},
	{"length_max_ns", "LENGTH MAX", "Time of the longest execution, likewise.", REPORT_TIME,
		.rows = (unsigned)~(KERNELS | QUEUES), ROW(length_max_ns)},
	{"outcome", "OUTCOME",
		"It is 'refused' if the step's batch was not evaluated, 'aborted' if its "
		"evaluation did "
		"not end. Rates leave out both.",
		REPORT_TEXT, .rows = STEPS, .get = get_outcome},
	{"each_ns", "EACH",
		"Mean time of one execution, without nested bricks and waits: CPU over COUNT. "
		"Waits, and rows whose time off the CPU is unknown, have SELF over COUNT.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), .get = get_each,
		.flags = REPORT_ON_HOST, .device = get_device_each},
	{"device_token_ns", "DEVICE/TOKEN", "DEVICE for each token, as /TOKEN counts tokens.",
		REPORT_TIME, .rows = (unsigned)~(KERNELS | QUEUES), .get = get_device_per_token,
		.flags = REPORT_OF_REST | REPORT_OF_DEVICE},
	{"step_span_ns", "SPAN", "The part of STEP from the step's begin to its end.", REPORT_TIME,
		.rows = STEPS, .get = get_step_span},
	{"phase", "PHASE", "The phase of the row's steps; none: all phases together.", REPORT_TEXT,
		.get = get_phase, .flags = REPORT_OF_REST},
	{"exposed_ns", "EXPOSED TIME",
		"The part of DEVICE in which no command of another row computed on the same GPU.",
		REPORT_TIME, .rows = BRICKS, ROW(exposed_ns), .flags = REPORT_OF_DEVICE},
	{"exposed", "EXPOSED",
		"EXPOSED TIME as a part of DEVICE: what the work of other rows does not hide.",
		REPORT_SHARE, .rows = BRICKS, .get = get_exposed},
	{"device_error_ns", "DEVICE+-",
		"Where times of commands are estimates: half the width of the 95 % interval of the "
		"sum of their lengths. None: nothing is estimated, or too few were measured.",
		REPORT_TIME, ROW(device_error_ns), .flags = REPORT_ZERO_UNKNOWN},
	{"device_estimated", "ESTIMATED",
		"Commands of DEVICE COUNT whose times are estimates. Text and the page mark times "
		"of devices that such commands are part of with ~.",
		REPORT_COUNT, ROW(device_estimated), .flags = REPORT_ZERO_UNKNOWN},
};

const size_t report_field_count = sizeof(report_fields) / sizeof(report_fields[0]);

const struct report_field *report_field_find(const char *name)
{
	for (size_t i = 0; i < report_field_count; i++)
		if (!strcasecmp(name, report_fields[i].title) ||
			!strcasecmp(name, report_fields[i].key))
			return &report_fields[i];
	return NULL;
}

/* True if rows of this kind have the field. */
static bool report_field_has(const struct report_field *field, enum summary_by by)
{
	return !field->rows || field->rows >> by & 1;
}

enum {
	TEXT = REPORT_IN_TEXT | REPORT_IN_PAGE,
	/* rows of kernels and queues have no other time than their own */
	ON_DEVICES = 1u << SUMMARY_BY_KERNEL | 1u << SUMMARY_BY_QUEUE,
	NOT_ON_DEVICES = ~ON_DEVICES,
	CATEGORIES = 1u << SUMMARY_BY_CATEGORY,
};

struct place {
	unsigned places; /* enum report_place */
	const char *key;
	unsigned rank;
	int not_of; /* kinds of rows without it: 1 << enum summary_by */
};

/* clang-format off */
static const struct place report_fields_places[] = {
	{TEXT, "name", 0, 0},
	{TEXT, "category", 12, 0},
	{TEXT, "step_begin_ns", 3, 0},
	{TEXT, "step_tokens", 1, 0},
	{TEXT, "outcome", 1, 0},
	{TEXT, "step_ns", 0, 0},
	{TEXT, "share", 0, 0},
	{TEXT, "token_ns", 1, 0},
	{REPORT_IN_TEXT, "shape", 6, 0},
	{REPORT_IN_PAGE, "grid", 6, 0},
	{REPORT_IN_PAGE, "block", 6, 0},
	{TEXT, "self_ns", 1, 0},
	{TEXT, "cpu_ns", 13, ON_DEVICES},
	{TEXT, "off_ns", 2, ON_DEVICES},
	{TEXT, "device_ns", 2, ON_DEVICES},
	{TEXT, "device_error_ns", 3, 0},
	{TEXT, "exposed_ns", 5, 0},
	{TEXT, "total_ns", 5, 0},
	{TEXT, "wait_ns", 6, 0},
	{TEXT, "count", 2, 0},
	{TEXT, "avg_ns", 3, 0},
	{TEXT, "min_ns", 11, 0},
	{TEXT, "p50_ns", 4, 0},
	{TEXT, "p95_ns", 9, 0},
	{TEXT, "p99_ns", 7, 0},
	{TEXT, "max_ns", 10, 0},
	{TEXT, "elements", 14, 0},
	{TEXT, "bytes", 15, 0},
	{TEXT, "flops", 16, 0},
	{TEXT, "roof", 3, 0},
	{TEXT, "bytes_per_s", 8, 0},
	{TEXT, "flops_per_s", 8, 0},
	{TEXT, "busy_ns", 4, 0},
	{TEXT, "idle_ns", 5, 0},
	{TEXT, "launch.p50_ns", 6, 0},
	{TEXT, "launch.p95_ns", 8, 0},
	{REPORT_IN_PAGE, "backend", 17, 0},
	{TEXT, "source", 17, 0},

	{REPORT_IN_CATEGORIES, "name", 0, 0},
	{REPORT_IN_CATEGORIES, "share", 0, 0},
	{REPORT_IN_CATEGORIES, "self_ns", 1, 0},
	{REPORT_IN_CATEGORIES, "device_ns", 2, 0},
	{REPORT_IN_CATEGORIES, "count", 4, 0},

	{REPORT_IN_SCREEN, "name", 0, 0},
	{REPORT_IN_SCREEN, "step_begin_ns", 3, 0},
	{REPORT_IN_SCREEN, "step_tokens", 1, 0},
	{REPORT_IN_SCREEN, "outcome", 1, 0},
	{REPORT_IN_SCREEN, "step_ns", 0, 0},
	{REPORT_IN_SCREEN, "device_token_ns", 1, ON_DEVICES},
	{REPORT_IN_SCREEN, "exposed", 5, 0},
	{REPORT_IN_SCREEN, "share", 0, 0},
	{REPORT_IN_SCREEN, "token_ns", 1, ON_DEVICES},
	{REPORT_IN_SCREEN, "total_ns", 2, NOT_ON_DEVICES},
	{REPORT_IN_SCREEN, "count", 3, 0},
	{REPORT_IN_SCREEN, "each_ns", 2, ON_DEVICES},
	{REPORT_IN_SCREEN, "avg_ns", 2, NOT_ON_DEVICES},
	{REPORT_IN_SCREEN, "p95_ns", 4, NOT_ON_DEVICES},
	{REPORT_IN_SCREEN, "bytes_per_s", 5, 0},
	{REPORT_IN_SCREEN, "flops_per_s", 5, 0},
	{REPORT_IN_SCREEN, "roof", 4, 0},
	{REPORT_IN_SCREEN, "busy_ns", 4, 0},
	{REPORT_IN_SCREEN, "idle_ns", 5, 0},
	{REPORT_IN_SCREEN, "launch.p50_ns", 6, 0},

	{REPORT_IN_TOP, "name", 0, 0},
	{REPORT_IN_TOP, "category", 8, 0},
	{REPORT_IN_TOP, "shape", 7, 0},
	{REPORT_IN_TOP, "token_ns", 0, ON_DEVICES},
	{REPORT_IN_TOP, "total_ns", 5, NOT_ON_DEVICES},
	{REPORT_IN_TOP, "share", 0, 0},
	{REPORT_IN_TOP, "self_ns", 3, ~CATEGORIES},
	{REPORT_IN_TOP, "total_ns", 5, ~CATEGORIES},
	{REPORT_IN_TOP, "off_ns", 6, ON_DEVICES},
	{REPORT_IN_TOP, "device_ns", 3, ON_DEVICES},
	{REPORT_IN_TOP, "avg_ns", 2, NOT_ON_DEVICES},
	{REPORT_IN_TOP, "p50_ns", 2, 0},
	{REPORT_IN_TOP, "p99_ns", 3, 0},
	{REPORT_IN_TOP, "count", 7, 0},
	{REPORT_IN_TOP, "elements_per_s", 9, ON_DEVICES},
	{REPORT_IN_TOP, "roof", 3, 0},
	{REPORT_IN_TOP, "bytes_per_s", 4, 0},
	{REPORT_IN_TOP, "flops_per_s", 4, 0},
};
/* clang-format on */

static void report_fields_add(
	struct report_columns *columns, const struct report_field *field, unsigned rank)
{
	if (columns->count == REPORT_COLUMNS_MAX)
		return;
	columns->fields[columns->count] = field;
	columns->ranks[columns->count++] = rank;
}

void report_columns_default(
	struct report_columns *columns, enum report_place place, enum summary_by by)
{
	memset(columns, 0, sizeof(*columns));
	for (size_t i = 0; i < sizeof(report_fields_places) / sizeof(report_fields_places[0]);
		i++) {
		const struct report_field *field = report_field_find(report_fields_places[i].key);
		if (report_fields_places[i].places & place &&
			!(report_fields_places[i].not_of >> by & 1) && report_field_has(field, by))
			report_fields_add(columns, field, report_fields_places[i].rank);
	}
}

void report_columns_all(struct report_columns *columns, enum summary_by by)
{
	memset(columns, 0, sizeof(*columns));
	for (size_t i = 0; i < report_field_count; i++)
		if (report_field_has(&report_fields[i], by) &&
			!(report_fields[i].flags & REPORT_TEXT_ONLY))
			report_fields_add(columns, &report_fields[i], 0);
}

int report_columns_parse(struct report_columns *columns, const char *text, char **wrong)
{
	const struct report_field *name = report_field_find("name");
	SCOPED char *copy = text_copy(text);
	char *rest = copy, *part;
	memset(columns, 0, sizeof(*columns));
	report_fields_add(columns, name, 0);
	while ((part = strsep(&rest, ","))) {
		const struct report_field *field = report_field_find(part);
		if (!field) {
			*wrong = text_copy(part);
			return -EINVAL;
		}
		if (field != name)
			report_fields_add(columns, field, (unsigned)columns->count);
	}
	return 0;
}

char *report_field_written(const struct report_field *field)
{
	char *text = text_copy(field->title);
	for (char *c = text; *c && !strstr(field->title, "/s"); c++)
		*c = (char)tolower((unsigned char)*c);
	return text;
}

char *report_field_names(void)
{
	char *names = text_copy("");
	for (size_t i = 0; i < report_field_count; i++) {
		SCOPED char *name = report_field_written(&report_fields[i]);
		text_append(&names, ", ", "%s", name);
	}
	return names;
}

/* NULL: this row has no such thing. */
static const void *base_of(
	enum report_base base, const struct report *report, const struct summary_row *row)
{
	switch (base) {
	case REPORT_OF_QUEUE:
		return report->summary->by == SUMMARY_BY_QUEUE
			       ? &report->summary->queues.queues[row->id]
			       : NULL;
	case REPORT_OF_KERNEL:
		return row->kernel < report->run->kernel_count ? &report->run->kernels[row->kernel]
							       : NULL;
	case REPORT_OF_LANE:
		return report_lane(report, row);
	default:
		return row;
	}
}

static bool is_ratio(enum report_type type)
{
	return type == REPORT_RATE || type == REPORT_SHARE || type == REPORT_RATIO;
}

static void report_fields_read_member(
	const struct report_field *field, const void *base, struct report_value *value)
{
	const char *from = (const char *)base + field->at;
	uint32_t narrow;
	if (field->type == REPORT_SIZES) {
		const uint32_t *sizes = (const void *)from;
		value->sizes = sizes[0] ? sizes : NULL;
	} else if (is_ratio(field->type)) {
		memcpy(&value->ratio, from, sizeof(value->ratio));
	} else if (field->size == sizeof(narrow)) {
		memcpy(&narrow, from, sizeof(narrow));
		value->number = narrow;
	} else {
		memcpy(&value->number, from, sizeof(value->number));
	}
	if (field->flags & REPORT_ZERO_UNKNOWN && !value->number)
		value->number = ANALYSIS_UNKNOWN;
}

struct report_value report_value(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	struct report_value value = {.number = ANALYSIS_UNKNOWN, .ratio = -1};
	const void *base = base_of(field->base, report, row);
	if (!report_field_has(field, report->summary->by))
		return value;
	if (field->get)
		field->get(report, row, &value);
	else if (base)
		report_fields_read_member(field, base, &value);
	return value;
}

static char *sizes_text(const uint32_t *sizes)
{
	return sizes ? text_format("(%u,%u,%u)", sizes[0], sizes[1], sizes[2]) : text_copy("-");
}

/* True if an estimate is part of the field's time; an interval is none. */
static bool report_field_is_estimated(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	return row->device_estimated && strcmp(field->key, "device_error_ns") != 0 &&
	       (row->on_device || field->flags & REPORT_OF_DEVICE ||
		       summary_by_devices(report->summary->by));
}

char *report_value_text(const struct report_field *field, const struct report *report,
	const struct summary_row *row)
{
	char text[UNITS_BYTES];
	/* the host's numbers of a brick that ran on devices only are not 0: it has none */
	bool is_devices = field->flags & REPORT_ON_HOST && row->on_device && !row->count;
	if (is_devices && !field->device)
		return text_copy("-");
	struct report_value value = {.number = ANALYSIS_UNKNOWN, .ratio = -1};
	if (is_devices)
		field->device(report, row, &value);
	else
		value = report_value(field, report, row);
	switch (field->type) {
	case REPORT_TEXT: {
		char *safe = text_safe(value.text ? value.text : "-");
		free(value.text);
		return safe;
	}
	case REPORT_TIME:
		return text_copy(units_estimate(
			text, value.number, report_field_is_estimated(field, report, row)));
	case REPORT_LAYER:
		return text_format("%lld", (long long)value.number - 1);
	case REPORT_BYTES:
		return text_copy(units_bytes(text, value.number));
	case REPORT_SHARE:
		return text_copy(units_percent(text, value.ratio));
	case REPORT_RATE:
	case REPORT_RATIO:
		return text_copy(units_number(text, value.ratio));
	case REPORT_SIZES:
		return sizes_text(value.sizes);
	default:
		return text_copy(units_count(text, value.number));
	}
}

/* Compares by size, with unknown values below all others; texts so that A is the largest. */
static int report_value_compare(const struct report_field *field, const struct report_value *a,
	const struct report_value *b)
{
	if (field->type == REPORT_TEXT)
		return !a->text || !b->text ? !!a->text - !!b->text : strcmp(b->text, a->text);
	if (field->type == REPORT_SIZES)
		return !a->sizes || !b->sizes ? !!a->sizes - !!b->sizes
					      : memcmp(a->sizes, b->sizes, 3 * sizeof(uint32_t));
	if (is_ratio(field->type))
		return ORDER(a->ratio, b->ratio);
	/* unknown is the largest number: one more makes it the smallest */
	return ORDER(a->number + 1, b->number + 1);
}

struct keyed {
	struct summary_row row;
	struct report_value value;
};

static int report_fields_compare(const void *a, const void *b, void *context)
{
	const struct keyed *x = a, *y = b;
	return report_value_compare(context, &y->value, &x->value)
		       ?: strcmp(x->row.name, y->row.name);
}

void report_sort_rows(const struct report *report, const struct report_field *field)
{
	struct summary_row *rows = report->summary->rows;
	size_t count = report->summary->row_count;
	SCOPED struct keyed *keyed = text_room(count + 1, sizeof(*keyed));
	if (!keyed)
		return;
	for (size_t i = 0; i < count; i++) {
		keyed[i].row = rows[i];
		keyed[i].value = report_value(field, report, &rows[i]);
	}
	if (count > 1)
		qsort_r(keyed, count, sizeof(*keyed), report_fields_compare, (void *)field);
	for (size_t i = 0; i < count; i++) {
		rows[i] = keyed[i].row;
		free(keyed[i].value.text);
	}
}
