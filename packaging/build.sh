#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the packages into build-package/packages, and looks at them as Debian would (lintian).
set -eu
cd "$(dirname "$0")/.."
cmake --preset package -Wno-dev --log-level=WARNING
cmake --build --preset package
rm -rf build-package/packages
(cd build-package && cpack >cpack.log 2>&1) || {
	tail -20 build-package/cpack.log >&2
	exit 1
}
ls build-package/packages
lintian --fail-on error,warning --suppress-tags-from-file packaging/lintian build-package/packages/*.deb
