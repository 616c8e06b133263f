#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What `make engines` runs besides llama.cpp's own programs: addons of other makers and other years, unmodified,
# as npm ships them (190 MB to download), and models for these and for programs of Debian's. Nothing of the
# packages is run; nothing is taken but what is named by its hash here or in examples/demo/npm/others.
#
# Afterwards build/demo/engine-others has node_modules, node-llama-cpp-2.8.16 and models. A second run finds
# .complete there and returns at once.

set -eu

case $(uname -s)-$(uname -m) in
Linux-x86_64) ;;
*)
	echo "engine-others.sh: no addons are shipped for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac

cd "$(dirname "$0")/../.."
place=build/demo/engine-others
[ ! -e "$place/.complete" ] || exit 0
mkdir -p "$place"
/usr/bin/python3 examples/demo/others_make.py "$place"
cp examples/demo/npm/others/package.json examples/demo/npm/others/package-lock.json "$place"
npm ci --prefix "$place" --omit=optional --ignore-scripts --no-audit --no-fund --legacy-peer-deps \
	>"$place/install.log" 2>&1 || {
	echo "engine-others.sh: npm ci failed (log: $place/install.log)" >&2
	exit 1
}
# with what it depends on it would be 190 packages more
old=node-llama-cpp-2.8.16.tgz
hash=4dc6fa6bfabeba8260f6877cb2772c61ff88d002b4ab0ee455a7fba20158fcc9
hash=${hash}dd5a211004efb3ce35ae0acf9ae3332ae576b613350b68cae87ecfffee792df0
(
	cd "$place"
	npm pack --silent node-llama-cpp@2.8.16 >/dev/null
	echo "$hash  $old" | sha512sum --check --quiet || {
		echo "engine-others.sh: $place/$old is not what its hash says" >&2
		exit 1
	}
	mkdir -p node-llama-cpp-2.8.16
	tar xzf "$old" -C node-llama-cpp-2.8.16 --strip-components=3 package/llamaBins/linux-x64
	rm "$old"
)
# without Python's onnx there is no network: it is made once that is there
[ ! -e "$place/network.onnx" ] || : >"$place/.complete"
