#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The plain jar of rocksdbjni 10.4.2 has no native library, so that no database opens; those before and after it have.
#
# Expected: org.rocksdb:rocksdbjni has native libraries inside, that for Linux on x86-64 among them, as 9.7.3, 10.1.3,
#   10.2.1, 10.5.1, 10.6.2, 10.10.1, 11.0.4 and 11.8.1 have. So a change of its version alone goes on working.
# So it is: that of 10.4.2 has the classes alone: 315049 bytes, where those have 62 to 92 MB. A program compiles, and
#   fails at its first call. The jar with the classifier linux64 is whole. Reported to RocksDB: issues 13893 and 14034.
# Seen: 28 November 2026, rocksdbjni 10.2.1, 10.4.2 and 10.5.1, Linux on x86-64, OpenJDK 17:
#   10.2.1: 14 native libraries, a database opens
#   10.4.2: 0 native libraries, RuntimeException: librocksdbjni-linux64.so was not found inside JAR, and there is no
#     fallback.
#   10.4.2 linux64: 5 native libraries, a database opens
#   10.4.2 with its linux64 behind it: a database opens
#   10.5.1: 14 native libraries, a database opens
# Why it matters to a cache: one that was tested over the jar with the classifier still fails for those who have the
#   plain one, and it looks like the cache's failure where it makes the first call.
# Needs: mvn, java 11 or later, unzip.
source "$(dirname "${BASH_SOURCE[0]}")/lib/rocksdb.sh"

cat >"$work/Try.java" <<'EOF'
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

class Try {
  public static void main(String[] folder) throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, folder[0])) {
      db.put("key".getBytes(), "value".getBytes());
      if (new String(db.get("key".getBytes())).equals("value")) System.out.println("a database opens");
    }
  }
}
EOF

mkdir "$work/none"
# opens CLASS_PATH: what the program says, with no RocksDB of this machine in reach.
opens() {
  local said
  said=$(java -cp "$1" "-Djava.library.path=$work/none" "$work/Try.java" "$(mktemp -d -p "$work")" 2>&1) || true
  grep -oE -m 1 'a database opens|RuntimeException: .*' <<<"$said" || echo "$said"
}
expect() { # WHAT SEEN WANTED
  echo "$1: $2"
  [[ $2 == "$3" ]] || { echo "changed: $1 no longer behaves as described above"; exit 1; }
}
jar() { # NAME ARTIFACT WANTED
  rocksdbjni "$2" "$work/jars"
  local file=$work/jars/rocksdbjni-${2/:jar:/-}.jar
  expect "$1" "$(unzip -l "$file" | grep -c librocksdbjni) native libraries, $(opens "$file")" "$3"
}

missing='RuntimeException: librocksdbjni-linux64.so was not found inside JAR, and there is no fallback.'
jar 10.2.1 10.2.1 "14 native libraries, a database opens"
jar 10.4.2 10.4.2 "0 native libraries, $missing"
jar "10.4.2 linux64" 10.4.2:jar:linux64 "5 native libraries, a database opens"
expect "10.4.2 with its linux64 behind it" \
  "$(opens "$work/jars/rocksdbjni-10.4.2.jar:$work/jars/rocksdbjni-10.4.2-linux64.jar")" "a database opens"
jar 10.5.1 10.5.1 "14 native libraries, a database opens"
echo "still so"
