#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All C and C++ of the tree is formatted as .clang-format says.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.c' '*.h' '*.hpp' '*.cc' | xargs clang-format --dry-run --Werror
