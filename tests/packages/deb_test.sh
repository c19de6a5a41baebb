#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages in a clean root: the commands of docs/how-to/preload.md as they stand there install them, run a
# RocksDB program of Debian's over the cache, scrape it, and remove all again. What is left is the medium alone. Then
# programs are built with mezzanine-dev.
#
#   deb_test.sh [FOLDER]      FOLDER: where the packages lie already; without it tools/package makes them
#
# Skipped, with exit status 77, without root, debootstrap, namespaces, or a mirror: the one that apt uses here.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
self=$top/tests/packages/deb_test.sh

skip() { echo "skipped: the test of the Debian packages: $*" >&2; exit 77; }
fail() {
  echo "FAILED: $*" >&2
  tail -n 30 "$work"/*.log >&2 || true
  exit 1
}

# In a namespace of its own: what is mounted below the root, and what runs there, goes with it, however this ends.
if [[ ${1:-} != inside ]]; then
  ((EUID == 0)) || skip "debootstrap needs root"
  command -v debootstrap >/dev/null || skip "there is no debootstrap: tools/install_deps packages"
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$2 == suite { print $1; exit }')
  [[ -n $mirror ]] || skip "apt knows no mirror of this release"
  made=${1:-$top/build/package-deb}
  work=$(mktemp -d)
  trap 'rm -rf --one-file-system "$work"' EXIT
  unshare --mount mount -t tmpfs tmpfs "$work" 2>/dev/null || skip "nothing may be mounted here"
  mknod "$work/device" c 1 3 && : >"$work/device" || skip "no device nodes may be made in $work"
  (($#)) || "$top/tools/package" deb >/dev/null
  unshare --mount --pid --fork --kill-child --mount-proc "$self" inside "$work" "$made" "$mirror"
  exit
fi

work=$2 made=$3 mirror=$4
root=$work/root home=$work/root/srv
in_root() {
  chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv DEBIAN_FRONTEND=noninteractive \
    bash -c "cd && $1" </dev/null
}
ok() { echo "ok: $*"; }

if ! debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" "$mirror" \
  >"$work/debootstrap.log" 2>&1; then
  ! grep -qE "Couldn't download|Failed getting release" "$work/debootstrap.log" || skip "the mirror is not reached"
  fail "debootstrap"
fi
cp /etc/resolv.conf "$root/etc/"
apt-config dump | grep -E '^Acquire::https?::' >"$root/etc/apt/apt.conf.d/90as-outside" || true
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/tmp"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"  # no service starts there, as in a container
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir -p "$home/build/package-deb"
cp "$made"/*.deb "$home/build/package-deb/"
in_root 'apt-get -qq update' >"$work/update.log" 2>&1 || fail "apt-get update"

# The commands of the page, continued lines joined.
mapfile -t commands < <(sed -n '/^## From packages/,/^## /{/^```sh/,/^```$/{/^```/d;p}}' "$top/docs/how-to/preload.md" |
  sed -e ':again' -e '/\\$/{N;s/ *\\\n */ /;b again}')
((${#commands[@]} == 6)) || fail "the page has ${#commands[@]} commands, not 6: ${commands[*]}"
[[ ${commands[0]} == *'tools/package deb' ]] || fail "the first command is not tools/package deb: ${commands[0]}"

# Of each file below the root its kind, and where a link leads. Not what apt itself keeps and notes, nor what adduser
# does of the account that Prometheus leaves behind.
files() {
  (cd "$root" && find . -xdev \( -path ./var/cache/apt -o -path ./var/lib/apt -o -path ./var/log \
    -o -path './etc/*shadow-' -o -path ./etc/group- -o -path ./etc/passwd- -o -path ./run/adduser \) -prune -o \
    -printf '%P %y %l\n' | LC_ALL=C sort)
}
files >"$work/before"

in_root "${commands[1]}" >"$work/install.log" 2>&1 || fail "${commands[1]}"
[[ -z $(in_root 'dpkg --audit') ]] || fail "dpkg --audit: $(in_root 'dpkg --audit')"
for package in libmezzanine0 mezzanine-preload mezzanine-tools mezzanine-dev; do
  in_root "dpkg -L $package" >"$work/files.of" || fail "$package is not installed"
  for file in copyright changelog.gz; do
    grep -qx "/usr/share/doc/$package/$file" "$work/files.of" || fail "$package has no $file"
  done
done
ok "installed: $(ls "$home/build/package-deb" | tr '\n' ' ')"
[[ $(dpkg-deb -I "$made"/libmezzanine0_*.deb shlibs) == 'libmezzanine_c 0 libmezzanine0 (= '* ]] ||
  fail "libmezzanine0 does not say for which programs it is"
for program in mezz_replay mezz_sim mezz_plan mezz_trace mezz_inspect; do
  in_root "$program --help >/dev/null && test -s /usr/share/man/man1/$program.1.gz &&
    . /usr/share/bash-completion/completions/$program && complete -p $program >/dev/null" || fail "$program"
done
in_root 'test -s /usr/share/man/man7/mezzanine.7.gz' || fail "no mezzanine(7)"
ok "five programs, each with its page and completion"

# The third and fourth run in the background until the fifth has seen what they serve.
for one in 2 3; do
  [[ ${commands[one]} == *' &' ]] || fail "command $((one + 1)) does not run in the background: ${commands[one]}"
done
in_root "${commands[2]% &}" >"$work/program.log" 2>&1 &
program=$!
in_root "${commands[3]% &}" >"$work/prometheus.log" 2>&1 &
for ((tries = 60; tries; --tries)); do
  in_root "${commands[4]}" >"$work/panel.log" 2>&1 || fail "${commands[4]}"
  in_root "curl -s --data-urlencode 'query=sum(mezzanine_scm_hit_total)' http://127.0.0.1:9091/api/v1/query" \
    >"$work/scrape.log" 2>&1 || fail "no answer to a query"
  hits=$(sed -nE 's/.*"value":\[[0-9.]+,"([0-9]+)".*/\1/p' "$work/scrape.log")
  ((${hits:=0} < 100)) || break
  kill -0 "$program" || fail "the program has ended, and the scrapes show $hits hits in SCM"
  sleep 1
done
((hits >= 100)) || fail "the scrapes show $hits hits in SCM"
in_root "${commands[4]}" >"$work/panel.log" 2>&1 || fail "${commands[4]}"
grep -q ': RocksDB [0-9.]*, file /dev/shm/' "$work/panel.log" || fail "the panel does not know the cache"
grep -q 'Hit ratio by tier' "$work/panel.log" || fail "the panel lacks its graphs"
pkill -x prometheus || fail "Prometheus has ended"
ok "scraped: $hits hits in SCM, and the panel has them"
wait "$program" || fail "${commands[2]}"
grep -q '^readrandom ' "$work/program.log" || fail "the program has no result"
grep -q 'mezzanine: .*MEZZANINE_CACHE' "$work/program.log" && fail "the program went without the cache"
medium=$(sed -E 's/.*scm=[0-9]+[KMGT]?@([^;'"'"']+).*/\1/' <<<"${commands[2]}")
in_root "mezz_inspect $medium" >"$work/inspect.log" 2>&1 || fail "mezz_inspect $medium"
ok "$(grep '^readrandom ' "$work/program.log")"

in_root "${commands[5]}" >"$work/purge.log" 2>&1 || fail "${commands[5]}"
files >"$work/after"
diff "$work/before" "$work/after" >"$work/left.log" || fail "the packages leave files, or take some"
[[ -s $root/$medium ]] || fail "the medium $medium has gone"
[[ $(ls "$root/dev/shm") == "${medium##*/}" ]] || fail "more than the medium is left: $(ls "$root/dev/shm")"
ok "purged: of $(wc -l <"$work/before") files each is as before, and the medium is left"

# mezzanine-dev: the programs that check_install.sh builds over what `cmake --install` makes.
mkdir "$home/consumer"
cp "$top"/tests/consumer/{use_installed.sh,CMakeLists.txt,main.cc} "$top/integration/c/examples/cache.c" \
  "$home/consumer/"
in_root 'apt-get install -y --no-install-recommends g++ cmake make pkg-config \
  ./build/package-deb/{libmezzanine0,mezzanine-dev}_*.deb' >"$work/dev.log" 2>&1 || fail "mezzanine-dev with a compiler"
in_root 'consumer/use_installed.sh g++ consumer/cache.c' >"$work/consumer.log" 2>&1 ||
  fail "programs over mezzanine-dev"
cat "$work/consumer.log"
ok "programs are built with mezzanine-dev, and run"
