# SPDX-License-Identifier: Apache-2.0
# The one list of sources, by the room of the house that they live in (docs/ARCHITECTURE.md).

# What runs inside profiled processes: the core, and the embedded writer.
set(BRICK_LIB_SOURCES
  lib/attach.c
  lib/clock.c
  lib/error.c
  lib/fork.c
  lib/graph.c
  lib/graph_code.c
  lib/graph_csr.c
  lib/graph_dag.c
  lib/graph_dot.c
  lib/graph_edges.c
  lib/graph_folded.c
  lib/graph_forest.c
  lib/graph_json.c
  lib/graph_map.c
  lib/graph_names.c
  lib/graph_path.c
  lib/graph_plan.c
  lib/graph_scope.c
  lib/graph_text.c
  lib/graph_transfer.c
  lib/graph_tree.c
  lib/graph_what_if.c
  lib/graph_write.c
  lib/lane.c
  lib/launcher.c
  lib/pair_cost.c
  lib/probe.c
  lib/registry.c
  lib/session.c
  lib/stats.c
  lib/timings.c
  lib/sys/counter.c
  lib/sys/linux.c
  record/drain_clock.c
  record/drain_histogram.c
  record/drain_machine.c
  record/drain_map.c
  record/drain_output.c
  record/drain_pace.c
  record/drain_ring.c
  record/drain_tables.c
  record/drain_tell.c
  record/writer_thread.c
  trace/writer.c
  trace/writer_event.c
  trace/writer_file.c
  trace/writer_names.c
  trace/writer_points.c
  trace/writer_records.c
  trace/writer_run.c
  trace/writer_template.c
  trace/writer_text.c
  trace/pb_write.c
  trace/deflate.c
  trace/deflate_adler.c
  trace/deflate_huffman.c
  trace/deflate_write.c
)

# What is injected into programs that use ggml.
set(BRICK_GGML_SOURCES
  attach/rules.c
  attach/rules_pattern.c
  attach/ggml/callback.c
  attach/ggml/clock.c
  attach/ggml/engine.c
  attach/ggml/hooks_copy.c
  attach/ggml/hooks_graph.c
  attach/ggml/hooks_llama.c
  attach/ggml/hooks_node.c
  attach/ggml/hooks_sampling.c
  attach/ggml/hooks_step.c
  attach/ggml/hooks_unload.c
  attach/ggml/hooks_x86_64.c
  attach/ggml/layout.c
  attach/ggml/method.c
  attach/ggml/node_text.c
  attach/ggml/nodes.c
  attach/ggml/notes.c
  attach/ggml/phases.c
  attach/ggml/resolve.c
  attach/ggml/rule_set.c
  attach/ggml/site_table.c
  attach/ggml/steps.c
  attach/ggml/work.c
)

# x86-64 passes a hidden result pointer as an ordinary argument; elsewhere these hooks cannot stand.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(REMOVE_ITEM BRICK_GGML_SOURCES attach/ggml/hooks_x86_64.c)
endif()

# The parts of the interposer that need no engine: what its unit tests are built with.
set(BRICK_GGML_PURE_SOURCES
  ${CMAKE_SOURCE_DIR}/attach/ggml/work.c
  ${CMAKE_SOURCE_DIR}/attach/ggml/layout.c
)

# What reads recordings and runs the recorder.
set(BRICK_TOOLS_SOURCES
  trace/chrome.c
  trace/csv.c
  trace/inflate.c
  trace/inflate_codes.c
  trace/load.c
  trace/load_ahead.c
  trace/load_annotation.c
  trace/load_event.c
  trace/load_finish.c
  trace/load_iids.c
  trace/load_inflate.c
  trace/load_intern.c
  trace/load_memo.c
  trace/load_names.c
  trace/load_packet.c
  trace/load_run.c
  trace/load_site.c
  trace/load_statistics.c
  trace/pb_read.c
  trace/run.c
  trace/text.c
  analysis/call_tree.c
  analysis/distortion.c
  analysis/graph_from_run.c
  analysis/graph_lane.c
  analysis/losses.c
  analysis/path.c
  analysis/path_solve.c
  analysis/path_what_if.c
  analysis/percentile.c
  analysis/schedule.c
  analysis/schedule_lane.c
  analysis/schedule_source.c
  analysis/schedule_wait.c
  analysis/step_index.c
  analysis/step_times.c
  analysis/summary.c
  analysis/tally.c
  analysis/tally_count.c
  analysis/walk.c
  record/encoder.c
  record/encoder_queue.c
  record/guard.c
  record/inject.c
  record/recorder.c
  record/session_dir.c
  record/signals.c
  record/spawn.c
  record/watch.c
  record/watched.c
  attach/rules.c
  attach/rules_pattern.c
)

# The command line.
set(BRICK_CLI_SOURCES
  cli/csv.c
  cli/die.c
  cli/doctor.c
  cli/doctor_attach.c
  cli/doctor_ggml.c
  cli/doctor_machine.c
  cli/doctor_surroundings.c
  cli/elf_symbols.c
  cli/export.c
  cli/export_json.c
  cli/graph.c
  cli/input.c
  cli/json.c
  cli/main.c
  cli/memory.c
  cli/options.c
  cli/output.c
  cli/path.c
  cli/path_json.c
  cli/path_text.c
  cli/provenance.c
  cli/record.c
  cli/report.c
  cli/report_csv.c
  cli/report_json.c
  cli/report_rows.c
  cli/report_sort.c
  cli/report_text.c
  cli/step_choice.c
  cli/suggest.c
  cli/table.c
  cli/terminal.c
  cli/text.c
  cli/tree.c
  cli/tree_json.c
  cli/tree_text.c
  cli/units.c
)

# Programs that embed the library.
set(BRICK_EXAMPLES
  examples/embed.c
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
  tests/unit/analysis_accounting.c
  tests/unit/analysis_call_tree.c
  tests/unit/analysis_percentile.c
  tests/unit/analysis_steps.c
  tests/unit/analysis_summary.c
  tests/unit/attach.c
  tests/unit/cli_text.c
  tests/unit/clock.c
  tests/unit/decoder_gguf.c
  tests/unit/decoder_kernels.c
  tests/unit/ggml_layout.c
  tests/unit/ggml_work.c
  tests/unit/graph.c
  tests/unit/graph_format.c
  tests/unit/graph_memory.c
  tests/unit/graph_path.c
  tests/unit/graph_run.c
  tests/unit/histogram.c
  tests/unit/path_run.c
  tests/unit/probe.c
  tests/unit/record_drain.c
  tests/unit/record_encoder.c
  tests/unit/record_inject.c
  tests/unit/record_queue.c
  tests/unit/registry.c
  tests/unit/rules.c
  tests/unit/session.c
  tests/unit/trace_crafted.c
  tests/unit/trace_damaged.c
  tests/unit/trace_export.c
  tests/unit/trace_file.c
  tests/unit/trace_inflate.c
  tests/unit/trace_memory.c
  tests/unit/trace_roundtrip.c
  tests/unit/trace_run.c
)

# Programs that integration tests run.
set(BRICK_TEST_PROGRAMS
  tests/programs/cli_recording.c
  tests/programs/ggml_graph.c
  tests/programs/record_hostile.c
  tests/programs/record_producer.c
  tests/programs/session_dump.c
  tests/programs/truth.c
  tests/programs/whatif.c
  tests/programs/scope.cc
)

# One test per file (names that begin with lib are shared by them).
set(BRICK_INTEGRATION_TESTS
  tests/integration/cli_doctor.py
  tests/integration/cli_export.py
  tests/integration/cli_names.py
  tests/integration/cli_report.py
  tests/integration/cli_tree.py
  tests/integration/cli_usage.py
  tests/integration/decoder.py
  tests/integration/embed.py
  tests/integration/ggml_kill.py
  tests/integration/ggml_methods.py
  tests/integration/ggml_nodes.py
  tests/integration/ggml_programs.py
  tests/integration/ggml_same.py
  tests/integration/graph_cli.py
  tests/integration/graph_dot.py
  tests/integration/graph_path.py
  tests/integration/record_busy.py
  tests/integration/record_full.py
  tests/integration/record_hostile.py
  tests/integration/record_kill.py
  tests/integration/record_overflow.py
  tests/integration/record_processes.py
  tests/integration/record_run.py
  tests/integration/record_terminal.py
  tests/integration/trace_perfetto.py
  tests/integration/truth.py
)

# Benches: one program per file.
set(BRICK_BENCH_SOURCES
  bench/graph.c
  bench/probe.c
  bench/read.c
  bench/trace_size.c
)
