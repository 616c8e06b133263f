#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds ggml, or all of llama.cpp, from the source that comes with node-llama-cpp (a git bundle of the
# very release that its libraries are), as archives, for programs that have it inside:
#
#   engine-static.sh             build/demo/engine-static/ggml: ggml alone; two minutes on one CPU
#   engine-static.sh llama       build/demo/engine-static/llama as well, and libraries of the same
#                                objects (shared/); a quarter of an hour on one CPU
#   engine-static.sh openmp      build/demo/engine-static/openmp/bin: llama.cpp's libraries as CMake builds
#                                them by default, with OpenMP; ten minutes on one CPU
#
# Where there is a BLAS (libblas-dev or libopenblas-dev), build/demo/engine-blas is the folder with npm's
# libraries and ggml's BLAS backend for them, made of the same source; build/demo/engine-rpc is the same with
# ggml's RPC backend. ccache is used where it is there. Re-runnable: makes what is missing.

set -eu
cd "$(dirname "$0")/../.."
engine=$(pwd)/build/demo/engine
top=$(pwd)/build/demo/engine-static
bundle=$engine/node_modules/node-llama-cpp/llama/gitRelease.bundle
what=${1:-ggml}
[ -f "$bundle" ] || examples/demo/engine.sh "$engine" >/dev/null
mkdir -p "$top"
if command -v flock >/dev/null; then
	exec 9>"$top/.lock"
	flock 9
fi
if [ ! -f "$top/source/CMakeLists.txt" ]; then
	rm -rf "$top/source"
	git clone -q "$bundle" "$top/source" 2>"$top/clone.log"
fi

# build DIR TARGET OPTION...: objects for AVX2, so that they are the same everywhere
build()
{
	dir=$1 target=$2
	shift 2
	[ -f "$top/$dir/.complete" ] && return
	launcher=
	! command -v ccache >/dev/null ||
		launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
	if ! { cmake -S "$top/source" -B "$top/$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF \
		-DLLAMA_CURL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF \
		-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_COMMON=OFF \
		$launcher "$@" && ninja -C "$top/$dir" -j2 "$target"; } >"$top/$dir.log" 2>&1; then
		echo "engine-static.sh: $dir: $(grep -m1 -E 'error|Error' "$top/$dir.log" ||
			tail -n 1 "$top/$dir.log") (log: $top/$dir.log)" >&2
		exit 1
	fi
	touch "$top/$dir/.complete"
}

# Position-independent, so that it goes into programs, addons and libraries alike; and once more
# what a program's own ggml-cpu.c is compiled to, where callers know what a function changes.
build ggml ggml -DCMAKE_POSITION_INDEPENDENT_CODE=ON
[ -f "$top/ggml/ggml-cpu-program.o" ] || (
	cd "$top/ggml"
	object=ggml/src/CMakeFiles/ggml-cpu.dir/ggml-cpu/ggml-cpu.c.o
	eval "$(ninja -t commands $object | grep -m1 -- "-o $object" |
		sed "s|-fPIC|-fPIE|; s|-o $object|-o ggml-cpu-program.o|")"
)
# And ggml-backend.cpp: there functions of the scheduler are inlined into others, as in any static program.
[ -f "$top/ggml/ggml-backend-program.o" ] || (
	cd "$top/ggml"
	object=ggml/src/CMakeFiles/ggml-base.dir/ggml-backend.cpp.o
	eval "$(ninja -t commands $object | grep -m1 -- "-o $object" |
		sed "s|-fPIC|-fPIE|; s|-o $object|-o ggml-backend-program.o|")"
)
# The same by clang; and with link-time optimisation, which inlines the function that is hooked for nodes.
# Of the whole of ggml it leaves ggml_compute_forward(), and the option sees to that with two files.
again() # SOURCE OUTPUT CHANGE
{
	[ ! -f "$top/ggml/$2" ] || return 0
	(
		cd "$top/ggml"
		object=ggml/src/CMakeFiles/ggml-cpu.dir/ggml-cpu/$1.o
		eval "$(ninja -t commands $object | grep -m1 -- "-o $object" |
			sed "s|-fPIC|-fPIE|; s|-o $object|-o $2|; $3")"
	)
}
! command -v clang >/dev/null || again ggml-cpu.c ggml-cpu-clang.o "s|[^ ]*/cc |clang |"
again ggml-cpu.c ggml-cpu-lto.o "s| -c | -flto -fno-inline-functions-called-once -c |"
again traits.cpp traits-lto.o "s| -c | -flto -c |"
# backend NAME LIBRARY SOURCE...: npm's libraries, and that backend for them
backend()
{
	name=$1 library=$2 folder=$(dirname "$top")/engine-$1
	shift 2
	[ ! -f "$folder/libggml-$name.so" ] || return 0
	mkdir -p "$folder"
	ln -sf "$engine"/libs/*.so "$folder"
	(
		cd "$top/source/ggml/src/ggml-$name"
		c++ -O2 -fPIC -shared -DGGML_BACKEND_DL -DGGML_BACKEND_BUILD -DGGML_BACKEND_SHARED -DGGML_SHARED \
			-I"$top/source/ggml/include" -I"$top/source/ggml/src" "$@" -o "$folder/libggml-$name.so" \
			"$folder/libggml-base.so" $library -lpthread
	) 2>"$top/$name.log" || echo "engine-static.sh: going on without $name's backend (log: $top/$name.log)" >&2
}
! echo '#include <cblas.h>' | c++ -E -x c++ - >/dev/null 2>&1 || backend blas -lblas ggml-blas.cpp
backend rpc "" ggml-rpc.cpp transport.cpp
if [ "$what" = llama ]; then
	build llama llama
	build shared llama -DBUILD_SHARED_LIBS=ON
fi
[ "$what" != openmp ] || build openmp llama -DBUILD_SHARED_LIBS=ON -DGGML_OPENMP=ON
