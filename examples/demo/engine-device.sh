#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs llama.cpp's libraries with the backend of a device, unmodified, as npm ships them for
# node-llama-cpp. Nothing of the package is run; only the npm client is used, with whatever registry
# it is configured for, and it takes no package but one whose hash examples/demo/npm/device-packages names.
#
#   usage: engine-device.sh vulkan|cuda [VERSION]...	of the package; engine.sh's where none is given
#
# Afterwards build/demo/engine-BACKEND/VERSION is the folder with libllama*.so and
# libggml-BACKEND.so. A second run finds it and returns at once.

set -eu

fail()
{
	echo "engine-device.sh: $1" >&2
	exit 1
}

case $(uname -s)-$(uname -m) in
Linux-x86_64) ;;
*)	fail "no libraries are shipped for $(uname -s) on $(uname -m)" ;;
esac

cd "$(dirname "$0")/../.."
backend=${1:?which backend: vulkan or cuda}
shift
package=linux-x64-$backend
known=examples/demo/npm/device-packages

# lock VERSION HASH: what npm checks what it gets against
lock()
{
	dependency="\"dependencies\": { \"@node-llama-cpp/$package\": \"$1\" }"
	echo "{ \"private\": true, $dependency }" >"$place/package.json"
	cat >"$place/package-lock.json" <<-END
		{ "lockfileVersion": 3, "requires": true, "packages": { "": { $dependency },
		  "node_modules/@node-llama-cpp/$package": { "version": "$1", "integrity": "$2" } } }
	END
}

[ $# != 0 ] || set -- "$(sed -n 's/^version=\([0-9.]*\).*/\1/p' examples/demo/engine.sh)"
for version; do
	dir=build/demo/engine-$backend/$version
	[ ! -e "$dir/libggml-$backend.so" ] || continue
	hash=$(sed -n "s/^$backend $version //p" "$known")
	[ -n "$hash" ] || fail "$known has no hash of $backend $version: add what a source that you \
trust says of @node-llama-cpp/$package@$version"
	place=build/demo/engine-$backend/.install-$version
	rm -rf "$place"
	mkdir -p "$place"
	lock "$version" "$hash"
	npm ci --prefix "$place" --omit=optional --ignore-scripts --no-audit --no-fund \
		>"$place/install.log" 2>&1 || {
		! grep -q EINTEGRITY "$place/install.log" ||
			fail "what came as @node-llama-cpp/$package@$version is not what $known names \
by its hash; nothing was installed (log: $place/install.log)"
		fail "npm ci failed (log: $place/install.log)"
	}
	ln -sfn ".install-$version/node_modules/@node-llama-cpp/$package/bins/$package" "$dir"
done
