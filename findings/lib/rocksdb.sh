# SPDX-License-Identifier: Apache-2.0
# Sourced by the findings on RocksDB: a temporary folder $work that goes at the end, and what runs $work/try.cc over
# releases of RocksDB. The program includes probe.h, which lies beside this.
#
#   run RELEASE            one of those below
#   run_debian VERSION     librocksdb7.8 of Debian 12
#   rocksdbjni ARTIFACT FOLDER   runs nothing: fetches that jar of RocksJava
#
# A program that ends with another status than 0 no longer sees what the script's first lines tell.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
probe=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=(-std=c++20 -O1 -DNDEBUG -w "-I$probe" "$work/try.cc" -o "$work/try" -pthread)

# Of each release: its artifact in Maven, the crate librocksdb-sys with its headers, and the ABI of its std::string.
declare -A artifact=([8.10.0]=8.10.0:jar:linux64 [10.4.2]=10.4.2:jar:linux64 [11.8.1]=11.8.1)
declare -A crate=([8.10.0]=0.16.0 [10.4.2]=0.17.3 [11.8.1]=0.19.0)
declare -A abi=([8.10.0]=0 [10.4.2]=0 [11.8.1]=1)

try() { # RELEASE
  "$work/try" "$work/db-$1" || { echo "changed: RocksDB $1 no longer behaves as described above"; exit 1; }
}

# Its jar comes to FOLDER.
rocksdbjni() { # RELEASE[:jar:CLASSIFIER] FOLDER
  mvn -q -B -Dmaven.repo.local="$work/m2" org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
    -Dartifact="org.rocksdb:rocksdbjni:$1" -DoutputDirectory="$2" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 2; }
}

# Library: what RocksJava ships for Linux. Headers: the crate of the same release.
run() { # RELEASE
  local to=$work/$1
  mkdir -p "$to/headers/src"
  rocksdbjni "${artifact[$1]}" "$to"
  unzip -qj "$to"/rocksdbjni-*.jar librocksdbjni-linux64.so -d "$to"
  : >"$to/headers/src/lib.rs"
  printf '%s\n' '[package]' 'name = "headers"' 'version = "0.1.0"' 'edition = "2021"' '[dependencies]' \
    "librocksdb-sys = { version = \"=${crate[$1]}\", default-features = false }" >"$to/headers/Cargo.toml"
  (cd "$to/headers" && CARGO_HOME=$work/cargo cargo fetch -q)
  g++ "${flags[@]}" -fno-rtti -DROCKSDB_PLATFORM_POSIX -DOS_LINUX -D_GLIBCXX_USE_CXX11_ABI="${abi[$1]}" \
    -I"$(echo "$work"/cargo/registry/src/*/librocksdb-sys-"${crate[$1]}"+"$1"/rocksdb/include)" \
    "$to/librocksdbjni-linux64.so" -Wl,-rpath,"$to"
  try "$1"
}

run_debian() { # VERSION
  local package to=$work/debian
  mkdir -p "$to"
  for package in librocksdb7.8 librocksdb-dev; do
    (cd "$to" && apt-get download -qq "$package=$1" 2>"$work/log") || { cat "$work/log" >&2; exit 2; }
  done
  for package in "$to"/*.deb; do dpkg -x "$package" "$to"; done
  g++ "${flags[@]}" -I"$to/usr/include" -L"$to/usr/lib/x86_64-linux-gnu" \
    -Wl,-rpath,"$to/usr/lib/x86_64-linux-gnu" -lrocksdb
  try "$1"
}
