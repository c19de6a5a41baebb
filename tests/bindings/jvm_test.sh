#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of integration/jvm, by Maven, over each rocksdbjni of its registry that the jar is for; and its examples.
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

# verify RELEASE FOLDER [OPTION...]: over that release; what is built lies in FOLDER, and so do the native libraries.
verify() {
  local release=$1 folder=$2
  shift 2
  once() {
    mvn -B "$@" -f "$here/../../integration/jvm" verify "-Dmezzanine.build=$folder" \
      "-Dmezzanine.native=$folder/native" "-Dmezzanine.tmp=$work" "-Drocksdbjni.version=$release" \
      >"$folder/mvn.log" 2>&1
  }
  # What was fetched once is asked of nobody again.
  if ! once --offline "$@"; then
    if ! grep -qE "$unfetched" "$folder/mvn.log" || ! once "$@"; then
      if grep -qE "$unfetched" "$folder/mvn.log"; then
        skip "Maven's registry is not reached:" \
          "$(grep -oE "($unfetched).*" "$folder/mvn.log" | head -n 1 | cut -c1-200)"
      fi
      grep -vE '^\[INFO\]' "$folder/mvn.log" | tail -n 80
      exit 1
    fi
  fi
  echo "rocksdbjni $release"
  grep -E 'Tests run:.*Time elapsed' "$folder/mvn.log"
}
unfetched='Could not transfer artifact|offline mode|Unknown host|Could not find artifact'
verify "$release" "$build" "-Dmezzanine.preload=$(dirname "$library")/libmezzanine_preload.so"

# Older ones, which people have: the same tests, but for those of Flink's and of what is beside another release.
for older in 9.7.3 10.1.3 10.4.2; do
  [[ $older != "$release" ]] || continue
  mkdir -p "$build/$older/native/linux-x86_64/$older"
  cp "$("$here/../../tools/package" jvm-native $older)" "$build/$older/native/linux-x86_64/$older/"
  echo $older >"$build/$older/native/linux-x86_64/releases"
  verify $older "$build/$older" -Dmezzanine.one.release=true -pl :mezzanine-rocksdbjni,:mezzanine-kafka-streams
done

# The example of a program, over the jars as Maven made and fetched them.
jar=$(find "$build/mezzanine-rocksdbjni" -maxdepth 1 -name 'mezzanine-rocksdbjni-*.jar' | head -n 1)
rocksdbjni=${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/rocksdb/rocksdbjni/$release/rocksdbjni-$release.jar
java -cp "$jar:$rocksdbjni" "$here/../../integration/jvm/examples/cache/CacheExample.java" "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "the example read all as it was written"

# Kafka on three processes, small: the results are right with each cache, though an instance is killed, and closed.
example=$here/../../integration/jvm/examples/kafka-streams/run
small=(--dram=8M --scm=32M --state=4M --warmup=1000 --updates=4000 --caches=stock,mezzanine --closes=1
  "--medium=$work")
export MEZZANINE_NATIVE=$build/native MEZZANINE_BUILD=$build/example
if ! "$example" "${small[@]}" >"$build/kafka.log" 2>&1; then
  ! grep -qE "$unfetched" "$build/example/mvn.log" || skip "the broker is not fetched from Maven's registry"
  tail -n 60 "$build/kafka.log"
  exit 1
fi
grep -E '^\| 1 \|' "$build/kafka.log"
for medium in kept removed; do grep -E "^\| mezzanine \| closed \| $medium \|" "$build/kafka.log"; done
