#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The real engine and the random-weights models that the demo, the tests and the benches run, under
# build/demo. Re-runnable: makes what is missing.

set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/demo
examples/demo/engine.sh build/demo/engine >/dev/null
examples/demo/engine-device.sh vulkan || echo "models.sh: going on without the Vulkan backend" >&2
examples/demo/engine-addons.sh || echo "models.sh: going on without the addons" >&2
for type in f16 q8_0 f32; do
	model=build/demo/model-$type.gguf
	if [ ! -f "$model" ] || [ build/bin/brick-model -nt "$model" ]; then
		build/bin/brick-model --type "$type" "$model" >/dev/null
		touch "$model"
	fi
done
