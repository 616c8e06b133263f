# SPDX-License-Identifier: Apache-2.0
"""docs/MIGRATING.md: each row compiles in C and in Rust, runs in a session of its own, and gives what it should. Rust is
left out without cargo."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["BRICK_BUILD"]
SOURCE = os.environ["BRICK_SOURCE"]
LIBRARIES = os.path.join(BUILD, "lib")

# What must hold behind a row, in C and in Rust, by words of its first column. The variables are the row's own.
CHECKS = {
    "BrickProfiler::new()": ("brick_enabled()", "enabled()"),
    "several profilers": ("of(BRICK_RMS_NORM).count == 1", "of(bricks::RMS_NORM).count == 1"),
    "disable()": ("brick_enabled()", "enabled()"),
    "is_enabled()`": ("is_on", "is_on"),
    "start_brick(id)": ("of(BRICK_RMS_NORM).elements == 64 + n", "of(bricks::RMS_NORM).elements == 64 + n"),
    "start(\"Mine\")": ("of(mine).elements == n", "of(mine).elements == n"),
    "BrickId::from_str": ("id == BRICK_QKV_PROJECTION && !strcmp(name, \"QkvProjection\") && category == 1",
                          "id == bricks::QKV_PROJECTION && name == \"QkvProjection\" && category == Category::ATTENTION"),
    "time_brick!": ("token == 42 && of(BRICK_SAMPLING).count == 1",
                    "token == 42 && of(Brick::find(\"PickToken\").unwrap()).count == 1"),
    "timers that overlap": ("took && of(BRICK_LM_HEAD).elements == n", "took > 0 && of(bricks::LM_HEAD).elements == n"),
    "record_elapsed(\"": ("of(BRICK_EMBEDDING).total_ns == ns && of(BRICK_EMBEDDING).elements == n",
                          "of(bricks::EMBEDDING).total_ns == ns && of(bricks::EMBEDDING).elements == n"),
    "record_elapsed_with_bytes": ("of(BRICK_FORMAT_CONVERT).bytes_out == 200 && of(BRICK_FORMAT_CONVERT).total_ns > ns",
                                  "of(bricks::FORMAT_CONVERT).bytes_out == 200 && of(bricks::FORMAT_CONVERT).total_ns > ns"),
    "the same, timed here": ("of(BRICK_FORMAT_CONVERT).bytes_out == 200", "of(bricks::FORMAT_CONVERT).bytes_out == 200"),
    "elapsed_ns()": ("since > 0", "since > 0"),
    "reset_epoch()": ("brick_epoch_ns() > 0 && of(BRICK_LAYER_NORM).count == 1",
                      "epoch_ns() > 0 && of(bricks::LAYER_NORM).count == 1"),
    "record_deferred(id": ("of(BRICK_ATTENTION_SCORE).elements == n", "of(bricks::ATTENTION_SCORE).elements == n"),
    "record_deferred_dynamic": ("of((uint32_t)brick_lookup(\"Mine\")).elements == n",
                                "of(Brick::find(\"Mine\").unwrap()).elements == n"),
    "the same of a launch": ("on_device(BRICK_ATTENTION_SCORE).elements == n",
                             "bricks::ATTENTION_SCORE.device_stats()?.elements == n"),
    "has_pending()": ("pending == 0", "pending == 0"),
    "set_sync_mode": ("mode == BRICK_MODE_PER_LAYER", "mode == Mode::PerLayer"),
    "the same of one device": ("mode == BRICK_MODE_IMMEDIATE", "mode == Mode::Immediate"),
    "set_l2_cache_hit_rate": ("rate == 0.93", "rate == 0.93"),
    "set_zero_copy": ("is_used == 1", "is_used"),
    "reset()`": ("!has(BRICK_LAYER_NORM)", "!has(bricks::LAYER_NORM)"),
    "brick_stats(id)": ("stats.count == 1 && stats.elements == 64", "stats.count == 1 && stats.elements == 64"),
    "brick_stats_mut": ("of(BRICK_RMS_NORM).count == 2 && of(BRICK_RMS_NORM).elements == 64 + n",
                        "of(bricks::RMS_NORM).count == 2 && of(bricks::RMS_NORM).elements == 64 + n"),
    "avg_us()": ("us > 0", "us > 0.0"),
    "total_elements": ("per_s > 0", "per_s > 0.0"),
    "compression_ratio()": ("ratio == 4", "ratio == 4.0"),
    "category_stats()`, `percentage": ("stats.count == 2 && percent > 0 && percent <= 100",
                                       "stats.count == 2 && percent > 0.0 && percent <= 100.0"),
    "total_tokens()": ("sums.elements == 64 && per_s > 0", "sums.elements == 64 && per_s > 0.0"),
    "to_json()": ("is_written(\"report.json\", \"brick/report/\")", "is_written(\"report.json\", \"brick/report/\")"),
    "detect_backend()": ("*isa", "!isa.is_empty()"),
    "enable_tile_profiling()": ("!brick__tiles_on", "!TileLevel::Macro.enabled()"),
    "start_tile": ("tiles_of(BRICK_TILE_LEVEL_MIDI).flops == 2 * n + 2", "TileLevel::Midi.stats()?.flops == 2 * n + 2"),
    "tile_stats(level)": ("tiles.count == 1 && gflops > 0", "tiles.count == 1 && gflops > 0.0"),
    "fnv1a_f32_checksum": ("sum == brick_code_hash(values, sizeof(values))", "sum == Digest::of(&values)?.checksum()"),
    "record_checksum": ("error == 0", "true"),
    "find_divergence": ("error == 0", "error == 0.0"),
    "enable_graph()": ("is_on == 1", "is_on"),
    "execution_graph()`": ("count > 1", "count > 1"),
    "graph_push_scope": ("layer == 3", "layer == 3"),
    "graph_record_brick": ("node == 3", "node == 3"),
    "graph_record_kernel": ("node == 3", "node == 3"),
    "record_transfer": ("node == 3", "node == 3"),
    "add_dependency": ("edge >= 0", "edge > 0"),
    "graph_is_scope_balanced": ("is_balanced", "is_balanced"),
    "num_nodes()": ("count == 3 && node.time_ns == 200000", "count == 3 && node.time_ns == Some(200000)"),
    "kernel_nodes()": ("count == 1 && slowest == 2", "count == 1 && slowest == 2"),
    "PtxRegistry::register": ("!strcmp(found.source, source)", "found.source == source && found.path.as_deref() == Some(\"gemv.ptx\")"),
    "hash_ptx": ("hash == brick_code_register(source, strlen(source), NULL, NULL)", "hash == register_code(source, None, None)?"),
    "to_dot()": ("is_written(\"graph.dot\", \"digraph\") && is_written(\"graph.csr\", \"brick/graph-csr/\")",
                 "is_written(\"graph.dot\", \"digraph\") && is_written(\"graph.csr\", \"brick/graph-csr/\")"),
    "critical_path()`": ("path.length_ns == 200000 && path.count", "path.length_ns == 200000 && !path.nodes.is_empty()"),
    "compute_slack()": ("times.slack_ns == 0 && times.own_ns == 180000", "times.slack_ns == 0 && times.own_ns == 180000"),
    "roofline_distance": ("count == 1 && kernels[0].node == 2", "count == 1"),
    "nominal peaks": ("error == 0 && peak.bandwidth == 1008e9", "peak.bandwidth == 1008e9"),
    "detect_ping_pong()": ("count == 0", "count == 0"),
    "graph_clear()": ("brick_graph_node_count(graph) == 0", "graph.node_count() == 0"),
    "elapsed_ms()": ("error == 0 && ms > 0", "ms > 0.0"),
    "start_probe_timer_if": ("of(BRICK_GATE_PROJECTION).elements == n && us < 10000000",
                             "of(bricks::GATE_PROJECTION).elements == n && us.is_some()"),
    "finish_probe_timer_traced": ("took && of((uint32_t)brick_lookup(\"gate_q4k\")).elements == n",
                                  "took > 0 && of(Brick::find(\"gate_q4k\").unwrap()).elements == n"),
    "global_trace()": ("of((uint32_t)brick_lookup(\"gate\")).total_ns == ns", "of(Brick::find(\"gate\").unwrap()).total_ns == ns"),
    "init()`": ("is_written(\"trace.pftrace\", \"\")", "is_written(\"trace.pftrace\", \"\")"),
    "info_span!": ("brick_lookup(\"forward\") > 0", "Brick::find(\"forward\").is_some()"),
    "a step of": ("of(BRICK_DECODE).count == 1", "of(bricks::DECODE).count == 1"),
    "record_instant": ("brick_lookup(\"checkpoint\") > 0", "Brick::find(\"checkpoint\").is_some()"),
    "now_ns()": ("now > 0", "now > 0"),
    "record_gpu_passes": ("error == 0", "summary()?.device_ns.abs_diff(600) < 8"),  # ticks are longer than ns
    "event_count()": ("events == 3", "events == 3"),
}

C_HEAD = r"""
#include <brick/brick.h>
#include <brick/graph_path.h>
#include <brick/graph_view.h>
#include <brick/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t n = 4096, ns = 12345;
static const int on = 1;
static const char *const source = ".version 7.0\n";
static float values[64];
static struct brick_session_options options;
static struct brick_device *device;
static struct brick_timer *timer;
static struct brick_queue *gpu;
static struct brick_graph *graph;

static int pick(void) { return 42; }
static struct brick_stats of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;
	brick_stats_get(brick, &stats);
	return stats;
}
static int has(uint32_t brick) { return of(brick).count > 0; }
static struct brick_stats on_device(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;
	brick_device_stats_get(brick, &stats);
	return stats;
}
static struct brick_stats tiles_of(enum brick_tile_level level)
{
	struct brick_stats stats = BRICK_STATS_INIT;
	brick_tile_stats_get(level, &stats);
	return stats;
}
static int is_written(const char *path, const char *word)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[bytes] = 0;
	return bytes > 0 && (!*word || strstr(text, word));
}
static void check(int is_right, const char *row)
{
	if (!is_right)
		exit((fprintf(stderr, "wrong: %s\n", row), 1));
}
static void begin(int with_session)
{
	struct brick_graph_node kernel = BRICK_GRAPH_NODE_INIT;
	for (int i = 0; i < 64; i++)
		values[i] = (float)i;
	options = (struct brick_session_options)BRICK_SESSION_OPTIONS_INIT;
	options.ring_records = 4096;
	if (with_session) {
		brick_session_start(&options);
		brick_tiles_set(BRICK_TILES_MIDI);
		brick_end_elements(brick_begin(BRICK_RMS_NORM), 64);
		brick_end(brick_begin(BRICK_LAYER_NORM));
		brick_end_traffic(brick_begin(BRICK_FORMAT_CONVERT), 0, 400, 100, 0);
		struct brick_tile tile = brick_tile_begin(BRICK_TILE_LEVEL_MIDI, 0, 0);
		brick_tile_end(&tile, 1, 4, 2);
	}
	brick_device_open(&device, brick_backend_find("cpu"), NULL, NULL, 0);
	brick_timer_create(&timer, device);
	brick_queue_create(&gpu, NULL);
	brick_graph_create(&graph);
	brick_graph_enter_layer(graph, 0);
	brick_graph_enter_brick(graph, "QkvProjection", 200000, 4096);
	kernel.kind = BRICK_NODE_KERNEL, kernel.name = "gemv", kernel.time_ns = 180000;
	kernel.flags = BRICK_NODE_HAS_TIME | BRICK_NODE_HAS_INTENSITY | BRICK_NODE_HAS_TFLOPS;
	kernel.kernel.intensity = 0.5, kernel.kernel.tflops = 0.25;
	brick_graph_add(graph, &kernel);
	brick_graph_pop(graph), brick_graph_pop(graph);
}
static void end(void)
{
	brick_graph_destroy(graph);
	brick_queue_destroy(gpu);
	brick_timer_destroy(timer);
	brick_device_close(device);
	brick_tiles_set(0);
	brick_session_stop();
}
"""

RUST_HEAD = r"""
#![allow(unused)]
use brick::*;
type Checked = Result<(), Box<dyn std::error::Error>>;
fn pick() -> u32 { 42 }
fn of(brick: Brick) -> Stats { brick.stats().unwrap_or_default() }
fn has(brick: Brick) -> bool { of(brick).count > 0 }
fn is_written(path: &str, word: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    !bytes.is_empty() && String::from_utf8_lossy(&bytes).contains(word)
}
fn an_options() -> SessionOptions { SessionOptions { ring_records: 4096, ..Default::default() } }
fn a_session() -> Session {
    let session = Session::start(&an_options()).unwrap();
    set_tiles(&[TileLevel::Midi]);
    span(bricks::RMS_NORM).end_elements(64);
    drop(span(bricks::LAYER_NORM));
    span(bricks::FORMAT_CONVERT).end_traffic(0, 400, 100, 0);
    tile(TileLevel::Midi, 0, 0).end_work(1, 4, 2);
    session
}
fn a_graph() -> Graph {
    let mut graph = Graph::new().unwrap();
    graph.enter(&Node::layer(0)).unwrap();
    graph.enter(&Node::brick("QkvProjection", 200_000, 4096)).unwrap();
    let mut kernel = Node::kernel("gemv", 0, [1, 1, 1], [1, 1, 1], 0);
    kernel.time_ns = Some(180_000);
    if let NodeKind::Kernel { intensity, tflops, .. } = &mut kernel.kind {
        (*intensity, *tflops) = (Some(0.5), Some(0.25));
    }
    graph.add(&kernel).unwrap();
    graph.pop().unwrap();
    graph.pop().unwrap();
    graph
}
"""


def rows():
    """(what it was called there, C, Rust) of each row."""
    with open(os.path.join(SOURCE, "docs", "MIGRATING.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            if len(cells) == 3 and cells[0] != "there" and not cells[0].startswith("---"):
                yield (cells[0], *("\n".join(re.findall(r"`([^`]+)`", cell)) for cell in cells[1:]))


def check_of(there, which):
    found = [checks[which] for words, checks in CHECKS.items() if ("`" + there).find(words) >= 0]
    assert len(found) <= 1, (there, found)
    return found[0] if found else "1 == 1"


def has_own_session(code):
    return "session_start(" in code or "Session::statistics()" in code or "Session::record(" in code


def c_program(table):
    parts = [C_HEAD]
    for i, (there, code, _) in enumerate(table):
        parts.append(f"static void row{i}(void)\n{{\n\tbegin({int(not has_own_session(code))});\n\t{{\n{code}\n"
                     f"\tcheck({check_of(there, 0)}, \"{c_text(there)}\");\n\t}}\n\tend();\n}}\n")
    calls = "".join(f"\trow{i}();\n" for i in range(len(table)))
    return "".join(parts) + f"int main(void)\n{{\n{calls}\treturn 0;\n}}\n"


def c_text(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def rust_program(table):
    parts = [RUST_HEAD]
    for i, (there, _, code) in enumerate(table):
        session = "" if has_own_session(code) else "let session = a_session();\n"
        parts.append(f"fn row{i}() -> Checked {{\n{session}let options = an_options();\n"
                     "let (n, ns, on, source) = (4096u64, 12345u64, true, \".version 7.0\\n\");\n"
                     "let values: Vec<f32> = (0..64).map(|i| i as f32).collect();\n"
                     "let device = Device::open(\"cpu\")?;\nlet mut timer = device.timer()?;\n"
                     "let gpu = Queue::new(\"GPU\", \"vulkan\")?;\nlet mut graph = a_graph();\n"
                     f"{code}\nassert!({check_of(there, 1)}, \"{{}}\", \"{c_text(there)}\");\nOk(())\n}}\n")
    calls = "".join(f"row{i}().unwrap_or_else(|error| panic!(\"{{error}}: {{}}\", \"{c_text(there)}\"));\n"
                    for i, (there, _, _) in enumerate(table))
    return "".join(parts) + f"fn main() {{\n{calls}}}\n"


def run(command, folder, **changes):
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, LD_LIBRARY_PATH=LIBRARIES, **changes), text=True,
                          capture_output=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-8000:]}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run_c(table, scratch):
    write(os.path.join(scratch, "rows.c"), c_program(table))
    run([os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Werror", "-Wno-unused", "-Wno-comment", "rows.c", "-o",
         "rows", "-I" + os.path.join(SOURCE, "include"), "-L" + LIBRARIES, "-lbrick-report", "-lbrick-graph", "-lbrick"],
        scratch)
    run([os.path.join(scratch, "rows")], scratch)


def run_rust(table, scratch):
    crate = os.path.join(scratch, "rows-rust")
    os.makedirs(os.path.join(crate, "src"))
    shutil.copytree(os.path.join(SOURCE, "bindings", "rust"), os.path.join(scratch, "brick"))
    write(os.path.join(crate, "Cargo.toml"), '[package]\nname = "rows"\nversion = "0.1.0"\nedition = "2021"\n'
          '[dependencies]\nbrick = { path = "../brick" }\n[workspace]\n')
    write(os.path.join(crate, "src", "main.rs"), rust_program(table))
    run(["cargo", "run", "--offline", "-q"], crate, BRICK_LIB_DIR=LIBRARIES, CARGO_TARGET_DIR=os.path.join(BUILD, "rust"))


def main():
    table = list(rows())
    assert len(table) > 60, len(table)
    unused = [words for words in CHECKS if not any(words in "`" + there for there, _, _ in table)]
    assert not unused, unused
    with tempfile.TemporaryDirectory() as scratch:
        run_c(table, scratch)
        if shutil.which("cargo"):
            run_rust(table, scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
