#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs llama.cpp's libraries with the backend of a device, unmodified, as npm ships them for
# node-llama-cpp. Nothing of the package is run; only the npm client is used, with whatever registry
# it is configured for.
#
#   usage: engine-device.sh vulkan|cuda [VERSION]...	of the package; engine.sh's where none is given
#
# Afterwards build/demo/engine-BACKEND/VERSION is the folder with libllama*.so and
# libggml-BACKEND.so. A second run finds it and returns at once.

set -eu

case $(uname -s)-$(uname -m) in
Linux-x86_64) ;;
*)
	echo "engine-device.sh: no libraries are shipped for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac

cd "$(dirname "$0")/.."
backend=${1:?which backend: vulkan or cuda}
shift
package=linux-x64-$backend
[ $# != 0 ] || set -- "$(sed -n 's/^version=\([0-9.]*\).*/\1/p' demo/engine.sh)"
for version; do
	dir=build/demo/engine-$backend/$version
	[ ! -e "$dir/libggml-$backend.so" ] || continue
	place=build/demo/engine-$backend/.install-$version
	mkdir -p "$place"
	echo '{ "private": true }' >"$place/package.json"
	npm install --prefix "$place" --omit=optional --ignore-scripts --no-audit --no-fund \
		--no-package-lock --save-exact "@node-llama-cpp/$package@$version" \
		>"$place/install.log" 2>&1 || {
		echo "engine-device.sh: npm install failed (log: $place/install.log)" >&2
		exit 1
	}
	ln -sfn ".install-$version/node_modules/@node-llama-cpp/$package/bins/$package" "$dir"
done
