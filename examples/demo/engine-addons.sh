#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs addons for Node.js that have an engine inside, unmodified, as npm ships them: whisper.cpp and
# llama.cpp, in one stripped object each, gpt4all, whose llama.cpp of 2024 is a library of its own, and
# node-llama-cpp's of October 2024 and April 2025.
# Nothing of the packages is run; only the npm client is used, with whatever registry it is configured for,
# and nothing is taken but what is named by its hash here or in examples/demo/npm/addons. Makes the model
# that the first one needs, too.
#
# Afterwards build/demo/engine-addons/NAME.node is the addon, for NAME whisper, llama, llama-2024,
# llama-2025 and gpt4all, which finds its library in gpt4all/. A second run finds them and returns at once.

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
gpt4all=gpt4all-4.0.0.tgz
hash=02b5ce47f094f5f5151929fb6ae523b3fa03da79e96c05a303cd3bb2f8772861
hash=${hash}532ccf4fa6e26cd2bf307abbfb3f0f89b25fa41f54c772cb7c397192bbfce300
[ -e "$place/gpt4all.node" ] || (
	cd "$place"
	npm pack --silent gpt4all@4.0.0 >/dev/null
	echo "$hash  $gpt4all" | sha512sum --check --quiet || {
		echo "engine-addons.sh: $place/$gpt4all is not what its hash says" >&2
		exit 1
	}
	mkdir -p gpt4all
	tar xzf "$gpt4all" -C gpt4all --strip-components=3 package/prebuilds/linux-x64
	tar xzf "$gpt4all" -C gpt4all --strip-components=4 package/runtimes/linux-x64/native/libllamamodel-mainline-default.so
	rm "$gpt4all"
	ln -sfn gpt4all/node.napi.node gpt4all.node
)
[ ! -e "$place/llama-2024.node" ] || exit 0
cp examples/demo/npm/addons/package.json examples/demo/npm/addons/package-lock.json "$place"
npm ci --prefix "$place" --omit=optional --ignore-scripts --no-audit --no-fund \
	>"$place/install.log" 2>&1 || {
	echo "engine-addons.sh: npm ci failed (log: $place/install.log)" >&2
	exit 1
}
for name in whisper llama; do
	ln -sfn "node_modules/@fugood/node-$name-linux-x64/index.node" "$place/$name.node"
done
ln -sfn node_modules/node-llama-cpp-3.1.1/bins/linux-x64/llama-addon.node "$place/llama-2024.node"
ln -sfn node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/llama-addon.node "$place/llama-2025.node"
