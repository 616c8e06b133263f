#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The packages: without a fault for lintian, each file in one of them, installed into a root of their
# own, upgraded from the version before, removed without a trace; the archive runs where it lies.
# packages.sh [built]: those that are there already are looked at.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
[ "${1-}" = built ] || packaging/build.sh
packages=$source/build-package/packages
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for package in "$packages"/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar t | grep -v '/$' | sed "s|^|$(basename "$package") |"
done >"$out/files"
twice=$(cut -d' ' -f2 "$out/files" | sort | uniq -d)
[ -z "$twice" ] || { echo "in two packages: $twice" >&2; exit 1; }
while read -r package file; do
	grep -q "^${package}_[^ ]* \./usr/$file" "$out/files" || { echo "no $file in $package" >&2; exit 1; }
done <<END
brick bin/brick$
brick lib/.*/brick/libbrick-ggml.so$
brick share/man/man1/brick-record.1.gz
brick share/brick/rules/ggml-llama.rules
libbrick0 lib/.*/libbrick.so.0$
libbrick-report0 lib/.*/libbrick-report.so.0$
libbrick-dev include/brick/brick.hpp
libbrick-dev lib/.*/libbrick.a
libbrick-dev lib/.*/pkgconfig/brick-static.pc
libbrick-dev share/man/man3/brick_lap.3.gz
libbrick-dev share/doc/libbrick-dev/examples/embed.c$
libbrick-dev share/doc/libbrick-dev/examples/short/short_timers.c$
brick-doc share/doc/brick/html/index.html
python3-brick lib/python3/dist-packages/brick/probe.py
END

root=$out/root
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers" "$out/before"
: >"$root/var/lib/dpkg/status"
in_root()
{
	PATH=$PATH:/usr/sbin:/sbin dpkg --root="$root" --force-script-chrootless --force-depends \
		--force-not-root --log=/dev/null "$@" >"$out/dpkg.log" 2>&1 || {
		cat "$out/dpkg.log" >&2
		exit 1
	}
}
# records the example that is installed with what else is installed below a directory
works()
{
	libs=$(dirname "$(find "$1" -name libbrick.so.0)")
	PKG_CONFIG_PATH=$libs/pkgconfig
	export PKG_CONFIG_PATH
	cc $(pkg-config --cflags brick) -o "$out/embed" "$1/share/doc/libbrick-dev/examples/embed.c" $(pkg-config --libs brick)
	(cd "$out" && LD_LIBRARY_PATH=$libs "$1/bin/brick" record -q -o run.pftrace -- ./embed own.pftrace)
	"$1/bin/brick" report "$out/run.pftrace" --json | jq -e '.bricks | length > 0' >/dev/null
}
version=$(dpkg-deb -f "$packages"/brick_*.deb Version)
for package in "$packages"/*.deb; do # the same with another number
	dpkg-deb -R "$package" "$out/unpacked"
	sed -i "s/$version/0.1.0-1/" "$out/unpacked/DEBIAN/control"
	dpkg-deb -b "$out/unpacked" "$out/before/$(basename "$package")" >/dev/null
	rm -rf "$out/unpacked"
done
in_root -i "$out"/before/*.deb
in_root -i "$packages"/*.deb
[ "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version}\n' | sort -u)" = "$version" ]
works "$root/usr"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/usr/lib/python3/dist-packages BRICK_LIBRARY_PATH=$libs python3 -c \
	'import brick; assert brick.version() and not brick.enabled()'
in_root -P python3-brick brick brick-doc libbrick-dev libbrick-report0 libbrick0
left=$(find "$root" -path "$root/var" -prune -o ! -type d -print)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }

mkdir "$out/somewhere"
tar -xzf "$packages"/brick-*.tar.gz -C "$out/somewhere" --strip-components 1
mv "$out/somewhere" "$out/elsewhere"
works "$out/elsewhere"
echo "packages: installed, upgraded, removed; the archive was moved"
