# SPDX-License-Identifier: Apache-2.0
# The one list of sources, by the room of the house that they live in (docs/ARCHITECTURE.md), from the
# bottom up; cmake/rooms.cmake says which room is linked to which.

# Building blocks; libc only.
set(BRICK_BASE_SOURCES
  base/array.c
  base/base64.c
  base/escape.c
  base/file.c
  base/hash_index.c
  base/hashmap.c
  base/lock.c
  base/number.c
  base/user_path.c
)

# The only code that knows the OS and the CPU.
set(BRICK_SYS_SOURCES
  lib/sys/counter.c
  lib/sys/descriptors.c
  lib/sys/linux.c
  lib/sys/perf.c
  lib/sys/shared.c
  lib/sys/switches.c
)

# The library's core.
set(BRICK_LIB_SOURCES
  lib/attach.c
  lib/backend.c
  lib/clock.c
  lib/code_table.c
  lib/correlation.c
  lib/counters.c
  lib/counters_brick.c
  lib/counters_step.c
  lib/device.c
  lib/device_flush.c
  lib/device_pairs.c
  lib/device_span.c
  lib/digest.c
  lib/digest_record.c
  lib/error.c
  lib/fork.c
  lib/kernel_brick.c
  lib/kernel_table.c
  lib/lane.c
  lib/lane_queue.c
  lib/lane_thread.c
  lib/launch.c
  lib/launcher.c
  lib/load.c
  lib/note.c
  lib/orphan.c
  lib/pair_cost.c
  lib/probe.c
  lib/queue.c
  lib/queue_clock.c
  lib/queue_record.c
  lib/refusals.c
  lib/registry.c
  lib/ring.c
  lib/sample.c
  lib/series.c
  lib/session.c
  lib/session_map.c
  lib/session_stop.c
  lib/stats.c
  lib/step.c
  lib/step_cpu.c
  lib/tile.c
  lib/timer.c
  lib/timings.c
)

# Backends that need no headers but their own; the others follow below.
set(BRICK_BACKEND_SOURCES
  backends/attached.c
  backends/cpu/cpu.c
  backends/cuda/cuda.c
  backends/cuda/driver.c
  backends/cuda/graph.c
  backends/cuda/open.c
  backends/cuda/pairs.c
  backends/cuda/timed_graph.c
  backends/metal/metal.c
  backends/metal/objc.c
  backends/null/backend.c
  backends/null/sim.c
)

# The backend for OpenCL, and what stands in for it where there are no headers.
set(BRICK_BACKEND_OPENCL_SOURCES
  backends/opencl/backend.c
  backends/opencl/correlate.c
  backends/opencl/drain.c
  backends/opencl/functions.c
)

set(BRICK_BACKEND_OPENCL_NONE_SOURCES
  backends/opencl/opencl_none.c
)

# The backend for Vulkan, likewise.
set(BRICK_BACKEND_VULKAN_SOURCES
  backends/vulkan/functions.c
  backends/vulkan/own.c
  backends/vulkan/vulkan.c
)

set(BRICK_BACKEND_VULKAN_NONE_SOURCES
  backends/vulkan/none.c
)

# The writer of recordings: also runs inside programs that embed Brick.
set(BRICK_WRITER_SOURCES
  trace/deflate.c
  trace/deflate_adler.c
  trace/deflate_huffman.c
  trace/deflate_write.c
  trace/packets.c
  trace/part_file.c
  trace/part_sync.c
  trace/pb_write.c
  trace/records.c
  trace/tables.c
  trace/writer.c
  trace/writer_account.c
  trace/writer_args.c
  trace/writer_digest.c
  trace/writer_event.c
  trace/writer_instant.c
  trace/writer_names.c
  trace/writer_off_cpu.c
  trace/writer_process.c
  trace/writer_records.c
  trace/writer_run.c
  trace/writer_site.c
  trace/writer_statistics.c
  trace/writer_template.c
  trace/writer_text.c
  trace/writer_track.c
)

# The consumer of a session: in the recorder, and inside programs that embed Brick.
set(BRICK_DRAIN_SOURCES
  drain/clean.c
  drain/clock.c
  drain/code.c
  drain/digest.c
  drain/drain.c
  drain/emit.c
  drain/expand.c
  drain/histogram.c
  drain/machine.c
  drain/map.c
  drain/neighbours.c
  drain/notes.c
  drain/off_cpu.c
  drain/off_cpu_intervals.c
  drain/pace.c
  drain/peek.c
  drain/ring.c
  drain/schedule.c
  drain/tables.c
)

# The consumer as a thread of an embedding program.
set(BRICK_EMBED_SOURCES
  embed/own_switches.c
  embed/session_start.c
  embed/writer_thread.c
)

# The execution graph, a library of its own.
set(BRICK_GRAPH_SOURCES
  graph/code.c
  graph/csr.c
  graph/dag.c
  graph/dot.c
  graph/edges.c
  graph/folded.c
  graph/forest.c
  graph/graph.c
  graph/json.c
  graph/names.c
  graph/path.c
  graph/plan.c
  graph/scope.c
  graph/text.c
  graph/transfer.c
  graph/tree.c
  graph/view.c
  graph/what_if.c
  graph/write.c
)

# Which operation of an engine is which brick.
set(BRICK_RULES_SOURCES
  rules/ggml_symbols.c
  rules/rules.c
  rules/rules_pattern.c
)

# Hooks in front of functions that the dynamic linker has no part in; one source for each kind of CPU.
set(BRICK_PATCH_SOURCES
  patch/callers.c
  patch/plan.c
  patch/surroundings.c
  patch/survey.c
  patch/table.c
)

# What of it runs in the patched program.
set(BRICK_PATCH_LIBRARY_SOURCES
  patch/patch.c
  patch/text.c
)

# Files of programs and libraries, as libelf reads them; doctor looks at them also where nothing is patched.
set(BRICK_IMAGE_SOURCES
  patch/debug_file.c
  patch/image.c
)

# What stands in for it where Zydis is missing.
set(BRICK_PATCH_NONE_SOURCES patch/survey_none.c)

# What all attachers share.
set(BRICK_ATTACH_SOURCES
  attach/notes_once.c
)

# What is injected into programs that use ggml.
set(BRICK_GGML_SOURCES
  attach/ggml/batch.c
  attach/ggml/blas_graph.c
  attach/ggml/bypass.c
  attach/ggml/callback.c
  attach/ggml/clock.c
  attach/ggml/dataflow.c
  attach/ggml/derived_layers.c
  attach/ggml/device_graph.c
  attach/ggml/device_nodes.c
  attach/ggml/digests.c
  attach/ggml/dynamic_table.c
  attach/ggml/engine.c
  attach/ggml/fork.c
  attach/ggml/given_names.c
  attach/ggml/hooks_graph.c
  attach/ggml/hooks_load.c
  attach/ggml/hooks_node.c
  attach/ggml/hooks_phase.c
  attach/ggml/hooks_step.c
  attach/ggml/known_graphs.c
  attach/ggml/layout.c
  attach/ggml/mask_count.c
  attach/ggml/masks.c
  attach/ggml/method.c
  attach/ggml/node_cost.c
  attach/ggml/node_graph.c
  attach/ggml/node_plan.c
  attach/ggml/node_ready.c
  attach/ggml/node_record.c
  attach/ggml/node_run.c
  attach/ggml/node_sites.c
  attach/ggml/node_text.c
  attach/ggml/node_thread.c
  attach/ggml/note_engine.c
  attach/ggml/notes.c
  attach/ggml/object.c
  attach/ggml/past_slots.c
  attach/ggml/patched.c
  attach/ggml/patched_candidate.c
  attach/ggml/phases.c
  attach/ggml/plain_steps.c
  attach/ggml/prompt_memory.c
  attach/ggml/repetition.c
  attach/ggml/resolve.c
  attach/ggml/rule_set.c
  attach/ggml/shown_graph.c
  attach/ggml/site_table.c
  attach/ggml/steps.c
  attach/ggml/whisper_graph.c
  attach/ggml/whisper_steps.c
  attach/ggml/warm_up.c
  attach/ggml/work.c
  patch/debug_file.c
)

# x86-64 passes a hidden result pointer as an ordinary argument; elsewhere these hooks cannot stand.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND BRICK_GGML_SOURCES attach/ggml/hooks_x86_64.c)
endif()

# The parts of it that need no engine: what its unit tests are built with.
set(BRICK_GGML_PURE_SOURCES
  ${CMAKE_SOURCE_DIR}/attach/ggml/batch.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/mask_count.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/work.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/layout.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/prompt_memory.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/repetition.c
)

# What is injected into programs that use OpenCL; needs its headers.
set(BRICK_OPENCL_SOURCES
  attach/opencl/clocks.c
  attach/opencl/command.c
  attach/opencl/completions.c
  attach/opencl/completions_thread.c
  attach/opencl/completions_window.c
  attach/opencl/driver.c
  attach/opencl/events.c
  attach/opencl/hooks_buffer.c
  attach/opencl/hooks_image.c
  attach/opencl/hooks_kernel.c
  attach/opencl/hooks_other.c
  attach/opencl/hooks_queue.c
  attach/opencl/hooks_symbol.c
  attach/opencl/kernels.c
  attach/opencl/modes.c
  attach/opencl/notes.c
  attach/opencl/queue.c
)

# What the CUDA driver loads into programs that use it; needs nothing of CUDA.
set(BRICK_CUDA_SOURCES
  attach/cuda/buffers.c
  attach/cuda/call_names.c
  attach/cuda/calls.c
  attach/cuda/check.c
  attach/cuda/cubin.c
  attach/cuda/cupti.c
  attach/cuda/events.c
  attach/cuda/graph_calls.c
  attach/cuda/graph_places.c
  attach/cuda/excluded.c
  attach/cuda/host_clock.c
  attach/cuda/inject.c
  attach/cuda/kernels.c
  attach/cuda/launches.c
  attach/cuda/modules.c
  attach/cuda/nodes.c
  attach/cuda/records.c
  attach/cuda/reorder.c
  attach/cuda/stream_tail.c
  attach/cuda/streams.c
  attach/demangle.c
)

# Its parts that need no CUPTI: what unit tests are built with.
set(BRICK_CUDA_PURE_SOURCES
  ${CMAKE_SOURCE_DIR}/attach/cuda/call_names.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/cubin.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/events.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/excluded.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/launches.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/modules.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/graph_places.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/nodes.c
  ${CMAKE_SOURCE_DIR}/attach/cuda/stream_tail.c
)

# What is injected into programs that use HIP; needs nothing of it.
set(BRICK_HIP_SOURCES
  attach/demangle.c
  attach/hip/commands.c
  attach/hip/inject.c
  attach/notes_once.c
)

# The layer for programs that use Vulkan; needs its headers.
set(BRICK_VULKAN_SOURCES
  attach/vulkan/clock.c
  attach/vulkan/commands.c
  attach/vulkan/completions.c
  attach/vulkan/device.c
  attach/vulkan/hooks.c
  attach/vulkan/layer.c
  attach/vulkan/map.c
  attach/vulkan/pipelines.c
  attach/vulkan/queue.c
  attach/vulkan/queues.c
  attach/vulkan/readback.c
  attach/vulkan/semaphores.c
  attach/vulkan/spirv.c
  attach/vulkan/submission.c
  attach/vulkan/submits.c
  attach/vulkan/waits.c
  attach/vulkan/work.c
)

# Readers and exporters of traces.
set(BRICK_TRACE_SOURCES
  trace/build.c
  trace/build_command.c
  trace/build_finish.c
  trace/build_links.c
  trace/build_names.c
  trace/build_off_cpu.c
  trace/build_slice.c
  trace/chrome.c
  trace/chrome_flow.c
  trace/chrome_owner.c
  trace/csv.c
  trace/load.c
  trace/load_annotation.c
  trace/load_command.c
  trace/load_digest.c
  trace/load_event.c
  trace/load_inflate.c
  trace/load_intern.c
  trace/load_json.c
  trace/load_kernel.c
  trace/load_memo.c
  trace/load_off_cpu.c
  trace/load_packet.c
  trace/load_run.c
  trace/load_site.c
  trace/load_statistics.c
  trace/owners.c
  trace/pb_read.c
  trace/prefetch.c
  trace/run.c
  trace/run_builder.c
  trace/run_facts.c
  trace/run_keep.c
  trace/run_names.c
  trace/run_off_cpu.c
  trace/run_records.c
  trace/sample_store.c
  trace/text.c
)

# The recorder.
set(BRICK_RECORD_SOURCES
  record/backlog.c
  record/encoder.c
  record/encoder_queue.c
  record/guard.c
  record/keep_old.c
  record/keeper.c
  record/lighten.c
  record/messages.c
  record/outside.c
  record/process.c
  record/recorder.c
  record/session_dir.c
  record/signals.c
  record/spawn.c
  record/switch_cost.c
  record/switches.c
  record/watch.c
  record/watched.c
)

# How what is injected gets into a program.
set(BRICK_INJECT_SOURCES
  inject/attachers.c
  inject/environment.c
  inject/inject.c
  inject/program.c
)

# Sessions looked at beside their consumer.
set(BRICK_LIVE_SOURCES
  live/difference.c
  live/find.c
  live/look.c
  live/session.c
  live/snapshot.c
  live/source.c
  live/window.c
)

# What the machine can do at most.
set(BRICK_MACHINE_SOURCES
  machine/ceilings.c
  machine/ceilings_cache.c
  machine/ceilings_doubt.c
  machine/ceilings_json.c
  machine/cpu.c
  machine/kernels.c
  machine/sweep.c
  machine/sweep_budget.c
  machine/sweep_device.c
  machine/sweep_latency.c
  machine/sweep_plan.c
  machine/team.c
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND BRICK_MACHINE_SOURCES machine/compute_x86_64.c machine/features_x86_64.c
    machine/stream_x86_64.c)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND BRICK_MACHINE_SOURCES machine/kernels_aarch64.c)
else()
  list(APPEND BRICK_MACHINE_SOURCES machine/kernels_other.c)
endif()

# Where summaries of runs are kept.
set(BRICK_HISTORY_SOURCES
  history/clickhouse.c
  history/clickhouse_ask.c
  history/clickhouse_push.c
  history/clickhouse_read.c
  history/clickhouse_schema.c
  history/clickhouse_sums.c
  history/histogram.c
  history/llama_bench.c
  history/run.c
  history/run_line.c
  history/spool.c
  history/sqlite.c
  history/sqlite_db.c
  history/sqlite_read.c
  history/store.c
)

# How ClickHouse is asked, or what says that it is not.
set(BRICK_HISTORY_HTTP_SOURCES history/http.c)
set(BRICK_HISTORY_HTTP_NONE_SOURCES history/http_none.c)

# Runs of programs, one after the other: in which order, for how long, on what machine.
set(BRICK_RUNNER_SOURCES
  runner/launch.c
  runner/machine_state.c
  runner/plan.c
  runner/stop.c
)

# Pure functions on a loaded run.
set(BRICK_ANALYSIS_SOURCES
  analysis/breakdown.c
  analysis/budget.c
  analysis/call_tree.c
  analysis/call_tree_nodes.c
  analysis/change_points.c
  analysis/compare.c
  analysis/compare_blocks.c
  analysis/compare_effect.c
  analysis/compare_series.c
  analysis/counters.c
  analysis/distortion.c
  analysis/diverge.c
  analysis/diverge_align.c
  analysis/durations.c
  analysis/graph_command.c
  analysis/graph_data.c
  analysis/graph_from_run.c
  analysis/graph_lane.c
  analysis/heatmap.c
  analysis/history_parts.c
  analysis/history_series.c
  analysis/launches.c
  analysis/losses.c
  analysis/path.c
  analysis/path_chains.c
  analysis/path_solve.c
  analysis/path_what_if.c
  analysis/percentile.c
  analysis/plain_steps.c
  analysis/permutation.c
  analysis/presence.c
  analysis/queue_times.c
  analysis/roofline.c
  analysis/roofline_device.c
  analysis/schedule.c
  analysis/schedule_after.c
  analysis/schedule_command.c
  analysis/schedule_lane.c
  analysis/schedule_source.c
  analysis/schedule_wait.c
  analysis/selection.c
  analysis/selection_steps.c
  analysis/stacks.c
  analysis/statistics.c
  analysis/step_index.c
  analysis/step_times.c
  analysis/summary.c
  analysis/summary_accumulator.c
  analysis/summary_device.c
  analysis/summary_label.c
  analysis/summary_overlap.c
  analysis/summary_pairs.c
  analysis/summary_rows.c
  analysis/summary_sample.c
  analysis/summary_step.c
  analysis/summary_work.c
  analysis/switch_cost.c
  analysis/tiles.c
  analysis/undisturbed.c
  analysis/wait_causes.c
  analysis/walk.c
  analysis/walk_off_cpu.c
  analysis/walk_run.c
  analysis/work_accounts.c
  analysis/work_owner.c
  analysis/work_team.c
)

# What all commands show with: forms of answers, tables, units, text, JSON, CSV, SVG.
set(BRICK_VIEW_SOURCES
  view/bench_json.c
  view/bench_text.c
  view/ceilings.c
  view/ceilings_text.c
  view/csv.c
  view/die.c
  view/diff_json.c
  view/diff_origin.c
  view/diff_rows.c
  view/diff_text.c
  view/diverge_json.c
  view/diverge_text.c
  view/flame_pprof.c
  view/flame_svg.c
  view/flame_text.c
  view/history_entry.c
  view/input.c
  view/json.c
  view/labels.c
  view/memory.c
  view/output.c
  view/paragraph.c
  view/path_json.c
  view/path_text.c
  view/progress.c
  view/provenance.c
  view/report.c
  view/report_apart.c
  view/report_budget.c
  view/report_columns.c
  view/report_counters.c
  view/report_csv.c
  view/report_fields.c
  view/report_fields_json.c
  view/report_json.c
  view/report_notes.c
  view/report_presence.c
  view/report_rows.c
  view/report_sort.c
  view/report_text.c
  view/report_undisturbed.c
  view/report_value.c
  view/roofline.c
  view/roofline_json.c
  view/roofline_svg.c
  view/roofline_svg_frame.c
  view/roofline_svg_roofs.c
  view/roofline_text.c
  view/step_choice.c
  view/suggest.c
  view/table.c
  view/terminal.c
  view/text.c
  view/text_escape.c
  view/tiles.c
  view/tiles_json.c
  view/tiles_svg.c
  view/tiles_text.c
  view/trend.c
  view/trend_svg.c
  view/tree.c
  view/tree_json.c
  view/tree_text.c
  view/units.c
)

# The page; its template is bundled at build time.
set(BRICK_EXPLAIN_SOURCES
  explain/facts.c
  explain/findings.c
  explain/json.c
  explain/rules.c
  explain/rules_device.c
  explain/rules_engine.c
  explain/rules_threads.c
  explain/rules_tokens.c
  explain/text.c
)

set(BRICK_HTML_SOURCES
  html/lane_bins.c
  html/pack.c
  html/page.c
  html/page_choice.c
  html/page_diff.c
  html/page_each.c
  html/page_layers.c
  html/page_machine.c
  html/page_measure.c
  html/page_names.c
  html/page_steps.c
  html/page_timeline.c
  html/page_trees.c
)

# `brick serve`: documents, who may read them, and the server by libmicrohttpd or what says that there
# is none.
set(BRICK_SERVE_SOURCES
  serve/access.c
  serve/connections.c
  serve/find.c
  serve/held.c
  serve/metrics.c
  serve/metrics_plain.c
  serve/metrics_server.c
  serve/metrics_text.c
  serve/pace.c
  serve/source.c
)

set(BRICK_HTTP_SOURCES
  serve/http.c
  serve/http_answer.c
)
set(BRICK_HTTP_NONE_SOURCES serve/http_none.c)

# The live view; its screen needs ncursesw (screen_none.c says so where there is none).
set(BRICK_TUI_SOURCES
  tui/canvas.c
  tui/field_grid.c
  tui/grid.c
  tui/header.c
  tui/help.c
  tui/history.c
  tui/picture.c
  tui/spark.c
  tui/table.c
  tui/top.c
  tui/top_headless.c
  tui/top_json.c
  tui/top_keys.c
  tui/top_source.c
  tui/view_bricks.c
  tui/view_categories.c
  tui/view_layers.c
  tui/view_losses.c
  tui/view_output.c
  tui/view_path.c
  tui/view_queues.c
  tui/view_roofline.c
  tui/view_threads.c
  tui/view_tree.c
)

# The command line.
set(BRICK_CLI_SOURCES
  cli/bench.c
  cli/bench_answer.c
  cli/bench_journal.c
  cli/bench_launch.c
  cli/bench_measure.c
  cli/ceilings.c
  cli/commands.c
  cli/completion.c
  cli/completion_values.c
  cli/defaults.c
  cli/diff.c
  cli/diverge.c
  cli/doctor.c
  cli/doctor_attach.c
  cli/doctor_attachers.c
  cli/doctor_backends.c
  cli/doctor_counters.c
  cli/doctor_ggml.c
  cli/doctor_machine.c
  cli/doctor_preload.c
  cli/doctor_program.c
  cli/doctor_surroundings.c
  cli/explain.c
  cli/export.c
  cli/export_json.c
  cli/flame.c
  cli/graph.c
  cli/history.c
  cli/history_hosts.c
  cli/history_import.c
  cli/history_list.c
  cli/history_plot.c
  cli/history_runs.c
  cli/main.c
  cli/open.c
  cli/open_once.c
  cli/options.c
  cli/path.c
  cli/program_files.c
  cli/program_ggml.c
  cli/record.c
  cli/record_history.c
  cli/record_options.c
  cli/record_summary.c
  cli/report.c
  cli/report_html.c
  cli/roofline.c
  cli/selection_options.c
  cli/selftest.c
  cli/selftest_clock.c
  cli/selftest_engine.c
  cli/selftest_probe.c
  cli/serve.c
  cli/tiles.c
  cli/top.c
  cli/tree.c
  cli/words.c
)

# Programs that embed the library.
set(BRICK_EXAMPLES
  examples/embed.c
  examples/graph.c
)

# demo: writes a random-weights GGUF model.
set(BRICK_MODEL_SOURCES
  demo/gguf_make.c
  demo/model.c
  demo/gguf_writer.c
  demo/gguf_encode.c
  demo/vocab.c
)

# demo: drives the real llama.cpp libraries.
set(BRICK_LLAMA_SOURCES
  demo/llama_run.c
  demo/llama_abi.c
)

# Tests: one program per file.
set(BRICK_UNIT_TESTS
  tests/unit/accounting_beside.c
  tests/unit/analysis_accounting.c
  tests/unit/analysis_async.c
  tests/unit/analysis_breakdown.c
  tests/unit/analysis_budget.c
  tests/unit/analysis_call_tree.c
  tests/unit/analysis_compare.c
  tests/unit/analysis_cost.c
  tests/unit/analysis_device.c
  tests/unit/analysis_memory.c
  tests/unit/analysis_off_cpu.c
  tests/unit/analysis_percentile.c
  tests/unit/analysis_phases.c
  tests/unit/analysis_plain_steps.c
  tests/unit/analysis_queues.c
  tests/unit/analysis_rates.c
  tests/unit/analysis_selection.c
  tests/unit/analysis_statistics.c
  tests/unit/analysis_steps.c
  tests/unit/analysis_summary.c
  tests/unit/analysis_tiles.c
  tests/unit/analysis_together.c
  tests/unit/analysis_undisturbed.c
  tests/unit/attach.c
  tests/unit/backend_cuda.c
  tests/unit/backend_cuda_graphs.c
  tests/unit/backend_metal.c
  tests/unit/backend_opencl.c
  tests/unit/base_array.c
  tests/unit/base_clock_ns.c
  tests/unit/base_escape.c
  tests/unit/base_file.c
  tests/unit/base_hash_index.c
  tests/unit/base_hashmap.c
  tests/unit/base_number.c
  tests/unit/base_rank.c
  tests/unit/bench_stop.c
  tests/unit/ceilings.c
  tests/unit/change_points.c
  tests/unit/cli_text.c
  tests/unit/clock.c
  tests/unit/correlation.c
  tests/unit/counters.c
  tests/unit/counters_steps.c
  tests/unit/cuda_launches.c
  tests/unit/cuda_parts.c
  tests/unit/cuda_streams.c
  tests/unit/decoder_gguf.c
  tests/unit/decoder_kernels.c
  tests/unit/device.c
  tests/unit/device_losses.c
  tests/unit/device_modes.c
  tests/unit/device_tables.c
  tests/unit/digest.c
  tests/unit/digest_file.c
  tests/unit/digest_ring.c
  tests/unit/digest_run.c
  tests/unit/drain_clock.c
  tests/unit/explain_rules.c
  tests/unit/ggml_batch.c
  tests/unit/ggml_known_graphs.c
  tests/unit/ggml_layout.c
  tests/unit/ggml_node_run.c
  tests/unit/ggml_prompts.c
  tests/unit/ggml_repetition.c
  tests/unit/ggml_work.c
  tests/unit/graph.c
  tests/unit/graph_answers.c
  tests/unit/graph_format.c
  tests/unit/graph_memory.c
  tests/unit/graph_misuse.c
  tests/unit/graph_path.c
  tests/unit/graph_reference.c
  tests/unit/graph_run.c
  tests/unit/graph_view.c
  tests/unit/graph_write.c
  tests/unit/histogram.c
  tests/unit/lap.c
  tests/unit/history_store.c
  tests/unit/live_snapshot.c
  tests/unit/neighbours.c
  tests/unit/off_cpu.c
  tests/unit/opencl_placing.c
  tests/unit/patch_aarch64.c
  tests/unit/patch_live.c
  tests/unit/patch_plan.c
  tests/unit/path_run.c
  tests/unit/path_teams.c
  tests/unit/probe.c
  tests/unit/protocol_bricks.c
  tests/unit/protocol_cpu.c
  tests/unit/protocol_trees.c
  tests/unit/queue.c
  tests/unit/queue_lanes.c
  tests/unit/record_backlog.c
  tests/unit/record_drain.c
  tests/unit/record_drain_devices.c
  tests/unit/record_drain_series.c
  tests/unit/record_embedded.c
  tests/unit/record_encoder.c
  tests/unit/record_inject.c
  tests/unit/record_memory.c
  tests/unit/record_queue.c
  tests/unit/report_roof.c
  tests/unit/registry.c
  tests/unit/roofline.c
  tests/unit/roofline_device.c
  tests/unit/rules.c
  tests/unit/rules_tensors.c
  tests/unit/sample.c
  tests/unit/serve_access.c
  tests/unit/serve_pace.c
  tests/unit/session.c
  tests/unit/session_storm.c
  tests/unit/shared_file.c
  tests/unit/sized.c
  tests/unit/stats.c
  tests/unit/sweep.c
  tests/unit/thread_keys.c
  tests/unit/tile.c
  tests/unit/timer.c
  tests/unit/trace_command.c
  tests/unit/trace_crafted.c
  tests/unit/trace_damaged.c
  tests/unit/trace_deflate.c
  tests/unit/trace_export.c
  tests/unit/trace_file.c
  tests/unit/trace_memory.c
  tests/unit/trace_nonsense.c
  tests/unit/trace_part_file.c
  tests/unit/trace_programs.c
  tests/unit/trace_roundtrip.c
  tests/unit/trace_run.c
  tests/unit/trace_sinks.c
  tests/unit/trace_sites.c
  tests/unit/trace_size.c
  tests/unit/trace_spill.c
  tests/unit/trace_strays.c
  tests/unit/trace_structure.c
  tests/unit/vulkan_memory.c
  tests/unit/vulkan_placing.c
)

# Programs that integration tests run.
set(BRICK_TEST_PROGRAMS
  tests/programs/attack_guest.c
  tests/programs/cli_recording.c
  tests/programs/device_modes.c
  tests/programs/device_recording.c
  tests/programs/demo_recording.c
  tests/programs/classes.cc
  tests/programs/compare_recording.c
  tests/programs/cuda_embed.c
  tests/programs/cuda_events.c
  tests/programs/cuda_limits.c
  tests/programs/cuda_probe.c
  tests/programs/cuda_work.c
  tests/programs/explain_first.c
  tests/programs/ggml_graph.c
  tests/programs/ggml_nameless.c
  tests/programs/no_perf.c
  tests/programs/off_cpu.c
  tests/programs/random_recording.c
  tests/programs/record_hostile.c
  tests/programs/record_producer.c
  tests/programs/session_dump.c
  tests/programs/top_embedded.c
  tests/programs/top_recording.c
  tests/programs/truth.c
  tests/programs/whatif.c
  tests/programs/scope.cc
)

# One test per file (names that begin with lib are shared by them).
set(BRICK_INTEGRATION_TESTS
  tests/integration/attacher.py
  tests/integration/bench_cli.py
  tests/integration/cli_budget.py
  tests/integration/cli_defaults.py
  tests/integration/cli_diff.py
  tests/integration/cli_doctor.py
  tests/integration/cli_export.py
  tests/integration/cli_manual.py
  tests/integration/cli_names.py
  tests/integration/cli_report.py
  tests/integration/cli_tiles.py
  tests/integration/cli_tree.py
  tests/integration/cli_usage.py
  tests/integration/cuda.py
  tests/integration/counters.py
  tests/integration/decoder.py
  tests/integration/device_answers.py
  tests/integration/device_async.py
  tests/integration/diverge.py
  tests/integration/device_backends.py
  tests/integration/device_modes.py
  tests/integration/device_placing.py
  tests/integration/downloads.py
  tests/integration/embed.py
  tests/integration/filters.py
  tests/integration/flame.py
  tests/integration/explain.py
  tests/integration/explain_vulkan.py
  tests/integration/ggml_addons.py
  tests/integration/ggml_blas.py
  tests/integration/ggml_batches.py
  tests/integration/ggml_cuda.py
  tests/integration/ggml_dataflow.py
  tests/integration/ggml_kill.py
  tests/integration/ggml_masks.py
  tests/integration/ggml_methods.py
  tests/integration/ggml_models.py
  tests/integration/ggml_nameless.py
  tests/integration/ggml_nodes.py
  tests/integration/ggml_programs.py
  tests/integration/ggml_same.py
  tests/integration/ggml_shapes.py
  tests/integration/ggml_static.py
  tests/integration/ggml_vulkan.py
  tests/integration/gpu_parts.py
  tests/integration/graph_cli.py
  tests/integration/graph_dot.py
  tests/integration/graph_path.py
  tests/integration/hip.py
  tests/integration/history_cli.py
  tests/integration/history_clickhouse.py
  tests/integration/html_numbers.py
  tests/integration/html_page.py
  tests/integration/html_single.py
  tests/integration/llama_tensors.py
  tests/integration/measure_distortion.py
  tests/integration/off_cpu.py
  tests/integration/off_cpu_path.py
  tests/integration/off_cpu_refused.py
  tests/integration/opencl_decoder.py
  tests/integration/opencl_double.py
  tests/integration/opencl_pocl.py
  tests/integration/patch_aarch64.py
  tests/integration/patch_all.py
  tests/integration/progress.py
  tests/integration/record_busy.py
  tests/integration/record_full.py
  tests/integration/record_hostile.py
  tests/integration/record_kill.py
  tests/integration/record_overflow.py
  tests/integration/record_processes.py
  tests/integration/record_run.py
  tests/integration/record_terminal.py
  tests/integration/serve_fuzz.py
  tests/integration/serve_http.py
  tests/integration/serve_page.py
  tests/integration/serve_prometheus.py
  tests/integration/top_dump.py
  tests/integration/top_keys.py
  tests/integration/top_live.py
  tests/integration/top_numbers.py
  tests/integration/selftest.py
  tests/integration/report_memory.py
  tests/integration/roofline.py
  tests/integration/trace_arrows.py
  tests/integration/trace_perfetto.py
  tests/integration/trace_structure.py
  tests/integration/truth.py
  tests/integration/vulkan.py
  tests/integration/vulkan_embed.py
)

# Attacks on the recorder and on what runs inside of programs; one test per file.
set(BRICK_ATTACK_TESTS
  tests/attack/failing_machine.py
  tests/attack/guest.py
  tests/attack/recorder.py
  tests/attack/storm.py
)

# Benches: one program per file.
set(BRICK_BENCH_SOURCES
  bench/deflate.c
  bench/graph.c
  bench/live.c
  bench/modes.c
  bench/probe.c
  bench/read.c
  bench/switches.c
  bench/trace_size.c
)
