#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed can be found and used, also after it was moved: pkg-config and find_package build
# examples/embed.c, and examples/graph_example.c with libbrick-graph alone, with shared and static libraries.
set -e
cd "$(dirname "$0")/.."
source=$PWD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cmake --install build --prefix "$out/first" >/dev/null
mv "$out/first" "$out/usr"
"$out/usr/bin/brick" --version
for script in bash-completion/completions/brick zsh/site-functions/_brick fish/vendor_completions.d/brick.fish; do
	grep -q report "$out/usr/share/$script"
done
if command -v doxygen >/dev/null; then # the API's reference
	test -f "$out/usr/share/man/man3/brick_step_begin.3"
	test -f "$out/usr/share/doc/brick/html/index.html"
fi
export PKG_CONFIG_PATH=$(dirname "$(find "$out/usr" -name brick.pc)")
cc $(pkg-config --cflags brick) -o "$out/embed" examples/embed.c $(pkg-config --libs brick)
cc $(pkg-config --cflags brick-graph) -o "$out/graph" examples/graph_example.c $(pkg-config --libs brick-graph)
cc $(pkg-config --cflags brick-report) -o "$out/own-report" examples/own_report.c $(pkg-config --libs brick-report)
libs=$(pkg-config --variable=libdir brick)
cd "$out"
LD_LIBRARY_PATH=$libs ./embed one.pftrace
LD_LIBRARY_PATH=$libs ./own-report | grep -q RmsNorm
cc $(pkg-config --cflags brick-static) -o "$out/embed-static" "$source/examples/embed.c" \
	$(pkg-config --libs brick-static)
# a plugin that is unloaded would take it away from threads
cc -shared -fPIC $(pkg-config --cflags brick-static) -o "$out/plugin.so" "$source/examples/embed.c" \
	$(pkg-config --libs brick-static)
readelf -d "$out/plugin.so" | grep -q NODELETE
cc -static $(pkg-config --cflags brick) -o "$out/embed-alone" "$source/examples/embed.c" \
	$(pkg-config --static --libs brick) 2>/dev/null
for program in embed-static embed-alone; do
	"./$program" $program.pftrace
	"$out/usr/bin/brick" report $program.pftrace --json | jq -e '.bricks | length > 0'
	if ldd $program 2>/dev/null | grep -q libbrick; then
		echo "$program is linked with a shared library" >&2
		exit 1
	fi
done
for name in brick brick-graph; do
	if nm -g --defined-only "$libs/lib$name.a" | awk 'NF == 3 && $3 !~ /^brick_/ { print; found = 1 } END { exit !found }'; then
		echo "lib$name.a has global names that are not its own" >&2
		exit 1
	fi
done
expected="critical path: 2 nodes, 1000 ns; with half of AttentionScore: 650 ns"
[ "$(LD_LIBRARY_PATH=$libs ./graph)" = "$expected" ]
if ldd "$out/graph" | grep -q "libbrick\.so"; then
	echo "a program that only needs the graph is linked with libbrick" >&2
	exit 1
fi
"$out/usr/bin/brick" report one.pftrace --json | jq -e '.bricks | length > 0'

mkdir project
cat >project/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(brick 0.2 REQUIRED COMPONENTS graph report)
add_executable(user $source/examples/embed.c)
target_link_libraries(user PRIVATE brick::brick)
add_executable(static $source/examples/embed.c)
target_link_libraries(static PRIVATE brick::brick-static)
add_executable(own-report $source/examples/own_report.c)
target_link_libraries(own-report PRIVATE brick::brick-report)
add_library(plugin MODULE $source/examples/embed.c)
target_link_libraries(plugin PRIVATE brick::brick-static)
add_executable(graph $source/examples/graph_example.c)
target_link_libraries(graph PRIVATE brick::brick-graph)
EOF
cmake -S project -B built -DCMAKE_PREFIX_PATH="$out/usr" >/dev/null
cmake --build built >/dev/null
readelf -d built/libplugin.so | grep -q NODELETE
LD_LIBRARY_PATH=$libs built/user two.pftrace
built/static two-static.pftrace
[ "$(LD_LIBRARY_PATH=$libs built/graph)" = "$expected" ]
# the installed recorder finds what it injects
LD_LIBRARY_PATH=$libs "$out/usr/bin/brick" record -o three.pftrace -- built/user three-own.pftrace
"$out/usr/bin/brick" report three.pftrace --json | jq -e '.bricks | length > 0'
