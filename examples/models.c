/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with two models, each with a profiler of its own: bricks, statistics, report and
 * recording (FOLDER/NAME.pftrace, FOLDER/NAME.json, FOLDER/NAME.txt). The server's own work goes to
 * the process's session. cc models.c $(pkg-config --cflags --libs brick-report); ./a.out FOLDER
 */
#include <brick/brick.h>
#include <brick/report.h>

struct model {
	const char *name;
	int layers;
	struct brick_session *session;
	uint32_t router; /* a brick of its own */
	char path[256];
};

static int load(struct model *model, const char *folder, uint32_t category)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	snprintf(model->path, sizeof(model->path), "%s/%s.pftrace", folder, model->name);
	options.output = model->path;
	int error = brick_session_create(&model->session, &options);
	if (error < 0)
		return error;
	struct brick_session *before = brick_session_use(model->session);
	brick_note("model", "%s", model->name);
	model->router = (uint32_t)brick_register("Router", category);
	brick_session_use(before);
	return 0;
}

static void work(int amount)
{
	volatile double sum = 0;

	for (int i = 0; i < amount; i++)
		sum += 1.0 / (i + 1);
}

static void decode(const struct model *model)
{
	struct brick_session *before = brick_session_use(model->session);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);

	for (int layer = 0; layer < model->layers; layer++) {
		brick_layer_set(layer);
		brick_span span = brick_begin(model->router);
		work(2000);
		brick_end(brick_lap(span, BRICK_DOWN_PROJECTION));
	}
	brick_end(step);
	brick_session_use(before);
}

static int write_as(const struct model *model, enum brick_report_format format, const char *folder,
	const char *ending)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.%s", folder, model->name, ending);
	FILE *out = fopen(path, "w");
	int error = out ? brick_report_write(out, format, NULL) : -1;
	return out && fclose(out) ? -1 : error;
}

/* The recording is complete then, and the report is what `brick report` says of it. */
static int unload(struct model *model, const char *folder)
{
	brick_session_use(model->session);
	int error = brick_session_stop();
	if (!error)
		error = write_as(model, BRICK_REPORT_TEXT, folder, "txt");
	if (!error)
		error = write_as(model, BRICK_REPORT_JSON, folder, "json");
	brick_session_use(NULL);
	brick_session_destroy(model->session);
	return error;
}

int main(int argc, char **argv)
{
	struct model large = {.name = "large", .layers = 4}, draft = {.name = "draft", .layers = 1};

	if (argc != 2)
		return 2;
	brick_session_start(NULL);
	if (load(&large, argv[1], BRICK_CATEGORY_FFN) < 0 ||
		load(&draft, argv[1], BRICK_CATEGORY_ATTENTION) < 0)
		return 1;
	for (int token = 0; token < 10; token++) {
		BRICK_SCOPE(BRICK_UBATCH_PROCESS);
		for (int guess = 0; guess < 5; guess++)
			decode(&draft);
		decode(&large);
	}
	int error = unload(&draft, argv[1]);
	if (!error)
		error = unload(&large, argv[1]);
	return error || brick_report_write(stdout, BRICK_REPORT_JSON, NULL) < 0;
}
