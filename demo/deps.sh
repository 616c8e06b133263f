#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that building, testing and the demo need and that are missing.
# Re-runnable: does nothing when all are there. On systems without apt it says what it wants.

set -eu

# program or pkg-config module -> package
packages=
need()
{
	packages="$packages $1"
}
command -v cc >/dev/null && command -v c++ >/dev/null || need build-essential
command -v cmake >/dev/null || need cmake
command -v ninja >/dev/null || need ninja-build
command -v pkg-config >/dev/null || need pkg-config
command -v python3 >/dev/null || need python3
command -v clang >/dev/null || need clang
command -v clang-format >/dev/null || need clang-format
command -v protoc >/dev/null || need protobuf-compiler
command -v jq >/dev/null || need jq
command -v valgrind >/dev/null || need valgrind
command -v mandoc >/dev/null || need mandoc
command -v npm >/dev/null || need "nodejs npm"
command -v likwid-bench >/dev/null || need likwid
command -v chromium >/dev/null || need "chromium fonts-dejavu-core"
command -v tmux >/dev/null || need tmux
command -v dot >/dev/null || need graphviz
command -v ctags >/dev/null || need universal-ctags
command -v doxygen >/dev/null || need doxygen
for module in ncursesw:libncurses-dev jansson:libjansson-dev cmocka:libcmocka-dev zlib:zlib1g-dev \
	libdeflate:libdeflate-dev lttng-ust:liblttng-ust-dev libmicrohttpd:libmicrohttpd-dev \
	sqlite3:libsqlite3-dev libcurl:libcurl4-openssl-dev \
	libelf:libelf-dev; do
	if ! command -v pkg-config >/dev/null || ! pkg-config --exists "${module%%:*}"; then
		need "${module#*:}"
	fi
done
[ -f /usr/include/Zydis/Zydis.h ] || need libzydis-dev
# Vulkan: headers, a driver on the CPU, programs to try it on.
command -v glslangValidator >/dev/null || need glslang-tools
command -v vulkaninfo >/dev/null || need "vulkan-tools mesa-vulkan-drivers"
[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] ||
	need vulkan-validationlayers
command -v xvfb-run >/dev/null || need "xvfb xauth"
if ! command -v pkg-config >/dev/null || ! pkg-config --exists vulkan; then
	need libvulkan-dev
fi
# OpenCL: its headers, a loader, and a device that is the CPU; and programs to be recorded
[ -f /usr/include/CL/cl.h ] || need opencl-headers
ls /usr/lib/*/libOpenCL.so.1 >/dev/null 2>&1 || need ocl-icd-libopencl1
ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || need pocl-opencl-icd
command -v clinfo >/dev/null || need clinfo
command -v clpeak >/dev/null || need clpeak
if command -v clang >/dev/null; then
	runtime=$(clang -print-file-name=libclang_rt.fuzzer-$(uname -m).a)
	[ -f "$runtime" ] || runtime=$(clang --print-runtime-dir)/libclang_rt.fuzzer-$(uname -m).a
	[ -f "$runtime" ] || need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
else
	need libclang-rt-14-dev
fi
# A server for a test of the history, which starts and stops it; the test is skipped without.
optional=
[ -x /usr/sbin/clickhouse-server ] || command -v clickhouse-server >/dev/null ||
	optional=clickhouse-server
[ -n "$packages$optional" ] || exit 0

if ! command -v apt-get >/dev/null; then
	[ -n "$packages" ] || exit 0
	echo "deps: missing, and there is no apt-get to install them:$packages" >&2
	exit 4
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		[ -n "$packages" ] || exit 0
		echo "deps: please install as root:$packages" >&2
		exit 4
	}
	sudo=sudo
fi
echo "deps: installing$packages${optional:+ $optional}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if [ -n "$packages" ]; then
	{
		$sudo apt-get update -qq &&
		$sudo apt-get install -y -qq --no-install-recommends $packages
	} >"$log" 2>&1 || {
		tail -20 "$log" >&2
		echo "deps: could not install:$packages" >&2
		exit 4
	}
fi
if [ -n "$optional" ]; then
	$sudo apt-get install -y -qq --no-install-recommends $optional >"$log" 2>&1 || {
		$sudo apt-get update -qq &&
		$sudo apt-get install -y -qq --no-install-recommends $optional
	} >"$log" 2>&1 || echo "deps: no $optional: its test will be skipped" >&2
fi
