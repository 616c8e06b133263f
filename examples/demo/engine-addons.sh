#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs two addons for Node.js that have an engine inside, unmodified, as npm ships them: whisper.cpp
# and llama.cpp, in one stripped object each. Nothing of the packages is run; only the npm client is
# used, with whatever registry it is configured for, and takes nothing but what examples/demo/npm/addons names by
# its hash. Makes the model that the first one needs, too.
#
# Afterwards build/demo/engine-addons/NAME.node is the addon, for NAME whisper and llama. A second run
# finds them and returns at once.

set -eu

case $(uname -s)-$(uname -m) in
Linux-x86_64) ;;
*)
	echo "engine-addons.sh: no addons are shipped for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac

cd "$(dirname "$0")/../.."
place=build/demo/engine-addons
mkdir -p "$place"
[ -f "$place/whisper.bin" ] || python3 examples/demo/whisper_make.py "$place/whisper.bin" "$place/sound.wav"
[ ! -e "$place/whisper.node" ] || [ ! -e "$place/llama.node" ] || exit 0
cp examples/demo/npm/addons/package.json examples/demo/npm/addons/package-lock.json "$place"
npm ci --prefix "$place" --omit=optional --ignore-scripts --no-audit --no-fund \
	>"$place/install.log" 2>&1 || {
	echo "engine-addons.sh: npm ci failed (log: $place/install.log)" >&2
	exit 1
}
for name in whisper llama; do
	ln -sfn "node_modules/@fugood/node-$name-linux-x64/index.node" "$place/$name.node"
done
