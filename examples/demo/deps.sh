#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that are needed and missing: deps.sh [build|packages|all|engines].
# `build` is what programs and libraries are built with, `packages` what packing them needs beside
# that, `all` what tests, benches and the demo need, too, and `engines` beside all of that the programs
# that `make engines` records; each of these may be missing. Re-runnable: does nothing when all are
# there. It names the system that it is on: Debian 12, Debian 13 and Ubuntu 24.04 are known. On systems
# without apt it says what it wants.

set -eu

# program or pkg-config module -> package
packages=
need()
{
	packages="$packages $1"
}
program() # NAME PACKAGE
{
	command -v "$1" >/dev/null || need "$2"
}
modules() # MODULE:PACKAGE...
{
	for module in "$@"; do
		if ! command -v pkg-config >/dev/null || ! pkg-config --exists "${module%%:*}"; then
			need "${module#*:}"
		fi
	done
}

for_building()
{
	program cmake cmake
	program ninja ninja-build
	program pkg-config pkg-config
	program npm "nodejs npm"
	modules ncursesw:libncurses-dev jansson:libjansson-dev libdeflate:libdeflate-dev zlib:zlib1g-dev \
		libmicrohttpd:libmicrohttpd-dev sqlite3:libsqlite3-dev libcurl:libcurl4-openssl-dev \
		libelf:libelf-dev vulkan:libvulkan-dev
	program glslangValidator glslang-tools # shaders of brick ceilings
	[ -f /usr/include/Zydis/Zydis.h ] || need libzydis-dev
	[ -f /usr/include/CL/cl.h ] || need opencl-headers
	ls /usr/include/sys/sdt.h /usr/include/*/sys/sdt.h 2>/dev/null | grep -q . || need systemtap-sdt-dev
}

# Compilers come first: names of packages have their versions.
for_compiling()
{
	command -v cc >/dev/null && command -v c++ >/dev/null || need build-essential
	[ "$what" = build ] || [ "$what" = packages ] || program clang clang
}

for_packing()
{
	program python3 python3
	program doxygen doxygen
	program lintian lintian
}

for_testing()
{
	program clang-format clang-format
	program protoc protobuf-compiler
	program jq jq
	program valgrind valgrind
	program mandoc mandoc
	program likwid-bench likwid
	[ -f /usr/include/dnnl.h ] || need libdnnl-dev
	ls /usr/lib/llvm-*/lib/libomp.so >/dev/null 2>&1 || need libomp-dev
	program chromium "chromium fonts-dejavu-core"
	program tmux tmux
	program dot graphviz
	program ctags universal-ctags
	program fish fish
	program zsh zsh
	modules cmocka:libcmocka-dev zlib:zlib1g-dev lttng-ust:liblttng-ust-dev
	# programs that nothing can be preloaded into, sandboxes
	program musl-gcc musl-tools
	program bwrap bubblewrap
	program sudo sudo
	program faketime faketime
	# The C library's symbols: programs without ggml are not searched all the same.
	[ -d /usr/lib/debug/.build-id ] || need libc6-dbg
	if [ "$(uname -m)" = x86_64 ] && ! ls /usr/lib/gcc/x86_64-linux-gnu/*/32/libgcc.a >/dev/null 2>&1; then
		need "libc6-dev-i386 lib32gcc-$(cc -dumpversion)-dev"
	fi
	# Vulkan: a driver on the CPU, programs to try it on.
	program vulkaninfo "vulkan-tools mesa-vulkan-drivers"
	[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] ||
		need vulkan-validationlayers
	program xvfb-run "xvfb xauth"
	# OpenCL: a loader, and a device that is the CPU; and programs to be recorded
	ls /usr/lib/*/libOpenCL.so.1 >/dev/null 2>&1 || need ocl-icd-libopencl1
	ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || need pocl-opencl-icd
	program clinfo clinfo
	program clpeak clpeak
	# ggml's BLAS backend is built with it
	echo "#include <cblas.h>" | cc -E - >/dev/null 2>&1 || need libblas-dev
	# PyTorch: 145 MB to download, 630 MB of disk; what needs it is skipped without.
	/usr/bin/python3 -c "import torch" 2>/dev/null || optional="$optional python3-torch"
	# The bindings: Python's own packages, Rust and its crate of spans. Parts of their tests are skipped without.
	/usr/bin/python3 -c "import setuptools.build_meta, wheel, pandas, pip" 2>/dev/null || optional="$optional python3-pandas python3-pip python3-setuptools python3-wheel"
	# Programs with messages between ranks: two libraries, each with a compiler of its own.
	command -v mpicc.openmpi >/dev/null || optional="$optional openmpi-bin libopenmpi-dev"
	command -v mpicc.mpich >/dev/null || optional="$optional mpich libmpich-dev"
	# Reads OTLP by its published schema.
	/usr/bin/python3 -c "import google.protobuf" 2>/dev/null || optional="$optional python3-protobuf"
	command -v cargo >/dev/null || optional="$optional cargo"
	ls -d /usr/share/cargo/registry/tracing-subscriber-* >/dev/null 2>&1 ||
		optional="$optional librust-tracing-dev librust-tracing-subscriber-dev"
	runtime=$(clang -print-file-name=libclang_rt.fuzzer-$(uname -m).a)
	[ -f "$runtime" ] || runtime=$(clang --print-runtime-dir)/libclang_rt.fuzzer-$(uname -m).a
	[ -f "$runtime" ] || runtime=$(clang --print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a
	[ -f "$runtime" ] || need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
	# A server for a test of the history, which starts and stops it; the test is skipped without.
	[ -x /usr/sbin/clickhouse-server ] || command -v clickhouse-server >/dev/null ||
		optional="$optional clickhouse-server"
	# Patching on AArch64 is tried under an emulator; skipped without.
	if [ "$(uname -m)" != aarch64 ] && ! { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; } >/dev/null; then
		optional="$optional gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
	fi
}

for_engines()
{
	for name in hashcat ffmpeg leela-zero stockfish octave lammps john fasttext espeak-ng glmark2-x11 \
		r-base-core tesseract-ocr tesseract-ocr-eng python3-opencv python3-pyopencl \
		python3-onnx python3-sklearn python3-xgboost python3-numba libopenblas-dev; do
		dpkg -s "$name" >/dev/null 2>&1 || optional="$optional $name"
	done
}

# Keeps the packages that this system's archive has.
available() # PACKAGE...
{
	for name in "$@"; do
		if [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; then
			echo "$name"
		else
			echo "deps: $system has no $name: what needs it will be skipped" >&2
		fi
	done
}

install()
{
	[ -n "$packages$optional" ] || return 0
	if ! command -v apt-get >/dev/null; then
		[ -n "$packages" ] || return 0
		echo "deps: $system: missing, and there is no apt-get to install them:$packages" >&2
		exit 4
	fi
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		[ -n "$packages" ] || return 0
		echo "deps: $system: please install as root:$packages" >&2
		exit 4
	fi
	if [ "$updated" = no ]; then
		$sudo apt-get update -qq >"$log" 2>&1 || {
			tail -20 "$log" >&2
			echo "deps: $system: the lists of packages could not be read; going on with old ones" >&2
		}
		updated=yes
	fi
	optional=$(available $optional | tr '\n' ' ')
	[ -n "$packages$optional" ] || return 0
	echo "deps: $system: installing$packages${optional:+ $optional}" >&2
	if [ -n "$packages" ]; then
		$sudo apt-get install -y -qq --no-install-recommends $packages >"$log" 2>&1 || {
			tail -20 "$log" >&2
			echo "deps: $system: could not install:$packages" >&2
			exit 4
		}
	fi
	[ -z "$optional" ] || $sudo apt-get install -y -qq --no-install-recommends $optional >"$log" 2>&1 ||
		echo "deps: $system: no $optional: what needs it will be skipped" >&2
	packages= optional=
}

what=${1:-all} optional= updated=no sudo=
system=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}") || system=unknown
[ "$(id -u)" = 0 ] || sudo=sudo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
for_compiling
install
for_building
[ "$what" = build ] || for_packing
case $what in
all) for_testing ;;
engines)
	for_testing
	for_engines
	;;
esac
install
