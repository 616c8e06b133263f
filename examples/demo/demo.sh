#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The demo: records an unmodified llama.cpp run (prompt of 256 tokens, 64 generated) and prints what
# Brick says of it. `make demo` has built everything and made the model before.

set -eu
cd "$(dirname "$0")/../.."
out=build/demo/run.pftrace
say()
{
	printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi
}

command="build/bin/brick-llama --libs build/demo/engine/libs --model build/demo/model-f16.gguf
	--prompt-tokens 256 --predict 64 --threads 1"
say "\$ brick record -o $out --" $command
build/bin/brick record -o "$out" -- $command >build/demo/tokens.txt
say "\$ brick report $out"
COLUMNS=${COLUMNS:-100} build/bin/brick report "$out"
say "\$ brick explain $out"
COLUMNS=${COLUMNS:-100} build/bin/brick explain "$out"
say "\$ brick tree $out --step decode"
COLUMNS=${COLUMNS:-100} build/bin/brick tree "$out" --step decode
say "The recording"
ls -l "$out" | awk '{ printf "  %s, %d bytes\n", $NF, $5 }'
echo "  Open it in the Perfetto UI: https://ui.perfetto.dev -> \"Open trace file\" (it stays on your machine)."
echo "  More: build/bin/brick report $out --by layer; build/bin/brick --help"
