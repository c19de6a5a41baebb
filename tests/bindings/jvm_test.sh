#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of integration/jvm, by Maven, over the rocksdbjni of its registry.
#
#   jvm_test.sh NATIVE_LIBRARY ROCKSDB_RELEASE BUILD_FOLDER
set -euo pipefail
library=$1 release=$2 build=$3/jvm
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() { echo "skipped: the tests of integration/jvm: $*" >&2; exit 77; }

[[ -n $library ]] || skip "there was no JDK when cmake ran: tools/install_deps bindings installs one"
for program in java mvn; do
  command -v $program >/dev/null || skip "$program is not found: tools/install_deps bindings installs it"
done
mkdir -p "$build/native/linux-x86_64/$release"
cp "$library" "$build/native/linux-x86_64/$release/"
echo "$release" >"$build/native/linux-x86_64/releases"
shm=/dev/shm; [[ -w $shm ]] || shm=${TMPDIR:-/tmp}
work=$(mktemp -d "$shm/mezz_jvm.XXXXXX")
trap 'rm -rf "$work"' EXIT

mvn_verify() {
  mvn -B "$@" -f "$here/../../integration/jvm" verify "-Dmezzanine.build=$build" "-Dmezzanine.native=$build/native" \
    "-Dmezzanine.tmp=$work" "-Dmezzanine.preload=$(dirname "$library")/libmezzanine_preload.so" \
    "-Drocksdbjni.version=$release" >"$build/mvn.log" 2>&1
}
# What was fetched once is asked of nobody again.
unfetched='Could not transfer artifact|offline mode|Unknown host|Could not find artifact'
if ! mvn_verify --offline; then
  if ! grep -qE "$unfetched" "$build/mvn.log" || ! mvn_verify; then
    if grep -qE "$unfetched" "$build/mvn.log"; then
      skip "Maven's registry is not reached: $(grep -oE "($unfetched).*" "$build/mvn.log" | head -n 1 | cut -c1-200)"
    fi
    grep -vE '^\[INFO\]' "$build/mvn.log" | tail -n 80
    exit 1
  fi
fi
grep -E 'Tests run:.*Time elapsed' "$build/mvn.log"
