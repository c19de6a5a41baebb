#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of integration/jvm, by Maven, over the rocksdbjni of its registry and Flink's; and its examples.
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
flink=8.10.0  # the release of Flink's frocksdbjni
for of in "$release" "$flink"; do mkdir -p "$build/native/linux-x86_64/$of"; done
cp "$library" "$build/native/linux-x86_64/$release/"
# Made as for the jar: with the string ABI that this build has not.
cp "$("$here/../../tools/package" jvm-native $flink)" "$build/native/linux-x86_64/$flink/"
printf '%s\n' "$release" $flink >"$build/native/linux-x86_64/releases"
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

# The example of a program, over the jars as Maven made and fetched them.
jar=$(find "$build/mezzanine-rocksdbjni" -maxdepth 1 -name 'mezzanine-rocksdbjni-*.jar' | head -n 1)
rocksdbjni=${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/rocksdb/rocksdbjni/$release/rocksdbjni-$release.jar
java -cp "$jar:$rocksdbjni" "$here/../../integration/jvm/examples/cache/CacheExample.java" "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "the example read all as it was written"

# Kafka on three processes, small: the results are right with each cache, though an instance is killed.
example=$here/../../integration/jvm/examples/kafka-streams/run
small=(--dram=8M --scm=32M --state=4M --warmup=1000 --updates=4000 --caches=stock,mezzanine "--medium=$work")
export MEZZANINE_NATIVE=$build/native MEZZANINE_BUILD=$build/example
if ! "$example" "${small[@]}" >"$build/kafka.log" 2>&1; then
  ! grep -qE "$unfetched" "$build/example/mvn.log" || skip "the broker is not fetched from Maven's registry"
  tail -n 60 "$build/kafka.log"
  exit 1
fi
grep -E '^\| 1 \|' "$build/kafka.log"
