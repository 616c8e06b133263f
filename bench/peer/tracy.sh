#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the Tracy peer with the client of a checkout of Tracy: TRACY=DIR bench/peer/tracy.sh
cd "$(dirname "$0")/../.." || exit 1
if [ ! -f "${TRACY:=}/public/TracyClient.cpp" ]; then
	echo "no source of Tracy: set TRACY to a checkout of it"
	exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
flags="-std=c++17 -O2 -w -DTRACY_ENABLE -DTRACY_NO_SYSTEM_TRACING -DTRACY_NO_SAMPLING -DTRACY_NO_BROADCAST
	-DTRACY_NO_CRASH_HANDLER -DTRACY_NO_CALLSTACK -DTRACY_ONLY_LOCALHOST -I$TRACY/public -Iinclude"
# shellcheck disable=SC2086
"${CXX:-c++}" $flags bench/peer/tracy.cc "$TRACY/public/TracyClient.cpp" -o "$out/peer" \
	-Lbuild/lib -Wl,-rpath,"$PWD/build/lib" -lbrick -lpthread -ldl && "$out/peer"
