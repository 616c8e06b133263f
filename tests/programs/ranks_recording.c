/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the recordings of a made-up job, one for each rank, whose machines have clocks that are
 * hours apart and drift: DIRECTORY/run.RANK.pftrace. All ranks compute, come to a collective, wait
 * for the last one and leave it a little later. Prints the truth as a line of JSON for each rank.
 *
 *	program-ranks_recording DIRECTORY RANKS STEPS SEED [NAME=NUMBER ...]
 *
 * slow=R: rank R takes `percent` (5) longer in QkvProjection. late=R: rank R begins each step 3 ms
 * late. hosts=N: ranks of N machines share a clock (default: one rank each). drift=PPM: the most
 * (100). jump=R: the clock of rank R jumps by 50 ms in the middle. skip=R: no file for rank R.
 * also=R: a second file of rank R, with a mark of --slow. messages=1: before the collective each
 * rank sends one to a neighbour and waits for the other's; 2: there are no collectives. together=1:
 * DIRECTORY is a file, the recording of all ranks on one machine.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/writer/writer.h"
#include "tests/unit/trace_fake.h"

enum { LAYERS = 2, KINDS = 4, TOKENS = 8, RECORDS = LAYERS * KINDS + 12 };

static const struct {
	uint16_t brick;
	const char *operation;
	double ns;
} kinds[KINDS] = {{BRICK_RMS_NORM, "RMS_NORM", 50e3}, {BRICK_QKV_PROJECTION, "MUL_MAT", 400e3},
	{BRICK_FLASH_ATTENTION, "FLASH_ATTN", 300e3}, {BRICK_DOWN_PROJECTION, "MUL_MAT", 250e3}};

static struct {
	const char *name;
	double value;
} settings[] = {{"slow", -1}, {"percent", 5}, {"late", -1}, {"hosts", 0}, {"drift", 100},
	{"jump", -1}, {"skip", -1}, {"messages", 0}, {"also", -1}, {"together", 0}};

enum { SLOW, PERCENT, LATE, HOSTS, DRIFT, JUMP, SKIP, MESSAGES, ALSO, TOGETHER, SETTINGS };

static struct fake fake;
static uint32_t sites[LAYERS][KINDS], reduce, sending, receiving;
static uint16_t wait_brick;
static uint64_t seed;
static int ranks, steps;

/* True times of each rank in each step: [steps][ranks]. */
static struct moment {
	double came;	  /* its work is done; it sends */
	double got, goes; /* it has received; it goes to the collective */
	double left;
} * moments;

/* In [0, 1), always the same for the same numbers. */
static double chance(int rank, int step, int what)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + (uint64_t)rank * 0xbf58476d1ce4e5b9u +
		     (uint64_t)step * 0x94d049bb133111ebu + (uint64_t)what * 0xd6e8feb86659fd93u;

	for (int i = 0; i < 3; i++) {
		x ^= x >> 32;
		x *= 0xd6e8feb86659fd93u;
	}
	return (double)(x >> 11) / 9007199254740992.0;
}

static double work_ns(int rank, int step, int layer, int kind)
{
	double ns = kinds[kind].ns * (0.99 + 0.02 * chance(rank, step, layer * KINDS + kind));

	if (rank == settings[SLOW].value && kinds[kind].brick == BRICK_QKV_PROJECTION)
		ns *= 1 + settings[PERCENT].value / 100;
	return ns;
}

/* Before the first brick of a step. */
static double pause_ns(int rank)
{
	return 5e3 + (rank == settings[LATE].value ? 3e6 : 0);
}

/* From the end of a collective until the rank goes on: sometimes its thread was not awake. */
static double leave_ns(int rank, int step)
{
	return 3e3 + 4e3 * chance(rank, step, 100) + (chance(rank, step, 101) < 0.02 ? 80e3 : 0);
}

static double arrival_ns(double begin, int rank, int step)
{
	double at = begin + pause_ns(rank);

	for (int layer = 0; layer < LAYERS; layer++)
		for (int k = 0; k < KINDS; k++)
			at += work_ns(rank, step, layer, k);
	return at;
}

/* A machine's clock at a true time. */
struct machine {
	double boot_ns, rate;
};

static struct machine machine_of(int rank)
{
	int host = settings[HOSTS].value > 0 ? rank % (int)settings[HOSTS].value : rank;

	return (struct machine){1e12 + 2e13 * chance(host, 0, 200),
		1 + settings[DRIFT].value * 1e-6 * (2 * chance(host, 0, 201) - 1)};
}

static uint64_t clock_ns(int rank, int step, double at)
{
	struct machine m = machine_of(rank);
	bool has_jumped = rank == settings[JUMP].value && step >= steps / 2;

	return (uint64_t)(m.boot_ns + at * m.rate + (has_jumped ? 50e6 : 0));
}

static struct moment *moment_of(int rank, int step)
{
	return &moments[(size_t)step * (size_t)ranks + (size_t)rank];
}

/* Messages go to the right in even steps, to the left in odd ones. */
static int neighbour(int rank, int step, bool is_sent)
{
	return (rank + ((step % 2 == 0) == is_sent ? 1 : ranks - 1)) % ranks;
}

static double latency_ns(int rank, int step)
{
	return 5e3 + 20e3 * chance(rank, step, 400);
}

static double begin_ns(int rank, int step)
{
	return step ? moment_of(rank, step - 1)->left : 1e6 + 1e5 * chance(rank, 0, 300);
}

/* All moments; who came last to each collective, and by how much. */
static int *last_of_steps(double **margins)
{
	int *last = calloc((size_t)steps, sizeof(*last));

	*margins = calloc((size_t)steps, sizeof(**margins));
	moments = calloc((size_t)steps * (size_t)ranks, sizeof(*moments));
	for (int s = 0; s < steps; s++) {
		double first = 0, second = 0;
		for (int r = 0; r < ranks; r++)
			moment_of(r, s)->came = arrival_ns(begin_ns(r, s), r, s);
		for (int r = 0; r < ranks; r++) {
			struct moment *m = moment_of(r, s);
			double sent = moment_of(neighbour(r, s, false), s)->came + latency_ns(r, s);
			m->got = sent > m->came + 4e3 ? sent : m->came + 4e3;
			m->goes = settings[MESSAGES].value ? m->got + 1e3 : m->came;
			second = m->goes > first ? first : m->goes > second ? m->goes : second;
			last[s] = m->goes > first ? r : last[s];
			first = m->goes > first ? m->goes : first;
		}
		(*margins)[s] = first - second;
		for (int r = 0; r < ranks; r++) {
			struct moment *m = moment_of(r, s);
			double over = settings[MESSAGES].value == 2 ? m->got : first + 12e3;
			m->left = over + leave_ns(r, s);
		}
	}
	return last;
}

static void say(int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "ranks_recording: %d\n", result);
	exit(1);
}

static void make_tables(void)
{
	static const struct brick_clock clock = {.source = BRICK_CLOCK_TSC,
		.mult = 1,
		.frequency = 1000000000,
		.residual_ns = 7,
		.step_ticks = 1};
	uint32_t communication = fake.tables.category_count++;
	uint32_t brick = fake.tables.brick_count;

	fake.header.clock = clock;
	strcpy(fake.categories[communication].name, "Communication");
	strcpy(fake.bricks[brick].name, "AllReduce");
	fake.bricks[brick].category = (uint16_t)communication;
	strcpy(fake.bricks[brick + 2].name, "Send");
	strcpy(fake.bricks[brick + 3].name, "Receive");
	fake.bricks[brick + 2].category = fake.bricks[brick + 3].category = (uint16_t)communication;
	strcpy(fake.bricks[brick + 1].name, "CollectiveWait");
	fake.bricks[brick + 1].category = BRICK_CATEGORY_WAIT;
	wait_brick = (uint16_t)(brick + 1);
	fake.tables.brick_count += 4;
	for (int l = 0; l < LAYERS; l++)
		for (int k = 0; k < KINDS; k++)
			sites[l][k] = fake_site(
				&fake, kinds[k].brick, (int16_t)l, 512, kinds[k].operation, "");
	reduce = fake_site(&fake, (uint16_t)brick, -1, 4096, "c10d::allreduce_", "");
	sending = fake_site(&fake, (uint16_t)(brick + 2), -1, 64, "MPI_Send", "");
	receiving = fake_site(&fake, (uint16_t)(brick + 3), -1, 64, "MPI_Recv", "");
}

static struct brick_record at_ns(uint8_t kind, uint64_t ns, uint16_t brick, uint64_t elements)
{
	struct brick_record r = fake_at(kind, 0, brick, elements);

	r.begin = ns;
	return r;
}

static struct brick_record site_ns(uint64_t ns, uint64_t end_ns, uint32_t site)
{
	struct brick_record r = fake_sited(&fake, 0, 0, site, 0, 0);

	r.begin = ns;
	r.ticks = (uint32_t)(end_ns - ns);
	return r;
}

static struct brick_record message(uint64_t ns, enum brick_message_event event, int peer, int step)
{
	const struct brick_message_record said = {.begin = ns,
		.peer = peer,
		.tag = 1,
		.kind = BRICK_RECORD_MESSAGE,
		.event = (uint8_t)event,
		.communicator = 7,
		.number = (uint32_t)(ranks == 2 ? step : step / 2) + 1,
		.bytes_low = 256};
	struct brick_record r;

	memcpy(&r, &said, sizeof r);
	return r;
}

static void write_step(struct trace_writer *w, int lane, int rank, int s)
{
	const struct moment *m = moment_of(rank, s);
	struct brick_record records[RECORDS];
	size_t count = 0;
	double at = begin_ns(rank, s) + pause_ns(rank);

	records[count++] = at_ns(
		BRICK_RECORD_OPEN, clock_ns(rank, s, begin_ns(rank, s)), BRICK_DECODE, TOKENS);
	for (int layer = 0; layer < LAYERS; layer++)
		for (int k = 0; k < KINDS; k++) {
			double until = at + work_ns(rank, s, layer, k);
			records[count++] = site_ns(
				clock_ns(rank, s, at), clock_ns(rank, s, until), sites[layer][k]);
			at = until;
		}
	if (settings[MESSAGES].value) {
		uint64_t came = clock_ns(rank, s, m->came), got = clock_ns(rank, s, m->got);
		records[count++] = site_ns(came, came + 2000, sending);
		records[count++] =
			message(came + 2000, BRICK_MESSAGE_SENT, neighbour(rank, s, true), s);
		records[count++] = site_ns(came + 2000, got, receiving);
		records[count++] =
			message(got, BRICK_MESSAGE_RECEIVED, neighbour(rank, s, false), s);
	}
	uint64_t goes = clock_ns(rank, s, m->goes), left = clock_ns(rank, s, m->left);
	if (settings[MESSAGES].value != 2) {
		records[count++] = site_ns(goes, goes + 2000, reduce);
		records[count] = at_ns(BRICK_RECORD_SAMPLE, goes + 2000, wait_brick, 0);
		records[count++].ticks = (uint32_t)(left - goes - 2000);
	}
	records[count++] = at_ns(BRICK_RECORD_CLOSE, left, BRICK_DECODE, 0);
	say(sink_records(w, lane, records, count));
}

/* Without messages: each collective but the first waits for the work of the rank that is last. */
static double path_ns(int rank, const int *last)
{
	double ns = 0;

	for (int s = 1; s < steps; s++)
		ns += last[s] == rank ? moment_of(rank, s)->goes - moment_of(rank, s - 1)->left : 0;
	return ns;
}

static struct trace_writer *open_file(const char *path, uint64_t start)
{
	const struct trace_writer_options options = {.path = path,
		.start_unix_ns = 1700000000000000000ull,
		.start_ns = start,
		.host = fake.header.host,
		.cpu = "A CPU",
		.compress = 1};
	struct trace_writer *w;

	say(trace_writer_create(&w, &options));
	say(sink_clock(w, &fake.header.clock));
	return w;
}

static uint64_t start_of(int rank)
{
	return clock_ns(rank, 0, begin_ns(rank, 0)) - 1000;
}

static uint64_t end_of(int rank)
{
	return clock_ns(rank, steps - 1, moment_of(rank, steps - 1)->left) + 1000;
}

static void write_process(struct trace_writer *w, int rank)
{
	const char notes[] = "launcher=Open MPI\n";

	fake.header.rank = rank;
	fake.header.world = ranks;
	fake.header.pid = fake.lane.tid = 100 + (uint32_t)rank;
	fake.header.start_ticks = fake.header.start_ns = fake.lane.start_ticks = start_of(rank);
	int process = sink_process(w, &fake.header);
	say(process);
	say(sink_tables(w, process, &fake.tables));
	int lane = sink_lane(w, process, &fake.lane);
	say(lane);
	say(sink_notes(w, process, notes, sizeof notes - 1));
	for (int s = 0; s < steps; s++)
		write_step(w, lane, rank, s);
	say(sink_process_end(w, process, end_of(rank), 1));
}

static void close_file(struct trace_writer *w, uint64_t end_ns)
{
	say(sink_account(w, &(struct sink_account){.end_ns = end_ns}));
	say(trace_writer_finish(w));
}

static void write_together(const char *path)
{
	uint64_t start = start_of(0), end = end_of(0);

	strcpy(fake.header.host, "node");
	for (int r = 0; r < ranks; r++) {
		start = start_of(r) < start ? start_of(r) : start;
		end = end_of(r) > end ? end_of(r) : end;
	}
	struct trace_writer *w = open_file(path, start);
	for (int r = 0; r < ranks; r++)
		write_process(w, r);
	close_file(w, end);
}

static void write_rank(const char *directory, int rank, const int *last, bool is_exemplar)
{
	char path[4096];
	uint64_t came = clock_ns(rank, 0,
		settings[MESSAGES].value == 2 ? moment_of(rank, 0)->came
					      : moment_of(rank, 0)->goes);
	struct machine m = machine_of(rank);

	snprintf(path, sizeof path, "%s/run.%d%s.pftrace", directory, rank,
		is_exemplar ? ".also" : "");
	snprintf(fake.header.host, sizeof fake.header.host, "node%d",
		settings[HOSTS].value > 0 ? rank % (int)settings[HOSTS].value : rank);
	struct trace_writer *w = open_file(path, start_of(rank));
	if (is_exemplar)
		say(sink_mark(
			w, &(struct sink_mark){
				   .ns = start_of(rank), .kind = MARK_EXEMPLAR, .text = "step 1"}));
	write_process(w, rank);
	close_file(w, end_of(rank));
	int count = 0;
	for (int s = 0; s < steps; s++)
		count += last[s] == rank;
	if (is_exemplar)
		return;
	printf("{\"rank\": %d, \"boot_ns\": %.0f, \"rate\": %.12f, \"came_ns\": %llu, \"end_ns\": "
	       "%llu, "
	       "\"last\": %d, \"path_ns\": %.0f}\n",
		rank, m.boot_ns, m.rate, (unsigned long long)came, (unsigned long long)end_of(rank),
		count, path_ns(rank, last));
}

int main(int argc, char **argv)
{
	double *margins;

	if (argc < 5)
		return 2;
	ranks = atoi(argv[2]);
	steps = atoi(argv[3]);
	seed = strtoull(argv[4], NULL, 10);
	for (int i = 5; i < argc; i++) {
		size_t n = strcspn(argv[i], "=");
		int k = 0;
		while (k < SETTINGS && (strlen(settings[k].name) != n ||
					       strncmp(settings[k].name, argv[i], n) != 0))
			k++;
		if (k == SETTINGS || !argv[i][n])
			return 2;
		settings[k].value = atof(argv[i] + n + 1);
	}
	fake_init(&fake, 1);
	make_tables();
	bool is_together = settings[TOGETHER].value > 0;
	if (is_together)
		settings[HOSTS].value = 1;
	else
		mkdir(argv[1], 0777);
	int *last = last_of_steps(&margins);
	if (is_together)
		write_together(argv[1]);
	for (int r = 0; r < ranks && !is_together; r++)
		if (r != settings[SKIP].value)
			write_rank(argv[1], r, last, false);
	if (settings[ALSO].value >= 0)
		write_rank(argv[1], (int)settings[ALSO].value, last, true);
	printf("{\"margins\": [");
	for (int s = 0; s < steps; s++)
		printf("%s%.0f", s ? ", " : "", margins[s]);
	printf("]}\n");
	free(last);
	free(margins);
	free(moments);
	return 0;
}
