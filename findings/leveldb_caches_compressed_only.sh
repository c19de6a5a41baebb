#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LevelDB's block cache takes only blocks that lie compressed in their file: without compression it stays empty.
#
# Expected: cacheSize is that of the cache of frequently used uncompressed block contents, as the README of
#   classic-level and LevelDB's documentation have it. Whether files are compressed is another matter.
# So it is: on 64-bit Linux LevelDB maps its first 1000 tables. A block that lies as it is in its file, as compression
#   is off or saves less than an eighth, is read from the mapping each time, and never comes to the cache, however often
#   it is read. What cacheSize sets aside for such blocks is never used. Known (issue 561 of LevelDB), not documented.
# Seen: 29 November 2026, classic-level 3.0.0, 64 MiB, 10,000 values of 1000 bytes read three times:
#   values that compress, compression on: 4104 bytes in use, 10170908 after the reads
#   values that compress, compression off: 4104 bytes in use, 4104 after the reads
#   values that do not, compression on: 4104 bytes in use, 4104 after the reads
#   the one and the other by turns of 100: 4104 bytes in use, 5244129 after the reads
# Why it matters to a cache: what is measured of LevelDB's cache, by its size or its hits, is of compressible blocks
#   alone. All others live off the page cache, and of whatever memory that has.
# Needs: node 18 or later, npm.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --no-save --prefix "$work" classic-level@3.0.0 >log 2>&1 ||
  { cat log >&2; exit 2; }

cat >try.js <<'EOF'
const crypto = require('crypto')
const { ClassicLevel } = require('classic-level')

const key = i => 'key' + String(i).padStart(8, '0')
const text = i => Buffer.alloc(1000, 'a' + i)
const noise = i => crypto.createHash('shake256', { outputLength: 1000 }).update(String(i)).digest()

let so = true // as it was seen then

// The reads bring `least` to `most` bytes to the cache.
async function attempt (name, compression, value, least, most) {
  const options = { cacheSize: 64 << 20, compression, valueEncoding: 'buffer' }
  let db = new ClassicLevel(name, options)
  for (let i = 0; i < 10000; i++) await db.put(key(i), value(i))
  await db.compactRange(key(0), key(10000))
  await db.close()
  db = new ClassicLevel(name, options) // with empty memtables
  await db.open()
  const used = () => Number(db.getProperty('leveldb.approximate-memory-usage'))
  const before = used()
  for (let pass = 0; pass < 3; pass++) {
    for (let i = 0; i < 10000; i++) await db.get(key(i))
  }
  const after = used()
  console.log(`  ${name}: ${before} bytes in use, ${after} after the reads`)
  await db.close()
  if (after - before < least || after - before > most) {
    console.log('  not so any more: what the cache takes')
    so = false
  }
}

(async () => {
  await attempt('values that compress, compression on', true, text, 10e6, 11e6)
  await attempt('values that compress, compression off', false, text, 0, 0)
  await attempt('values that do not, compression on', true, noise, 0, 0)
  await attempt('the one and the other by turns of 100', true, i => i % 200 < 100 ? text(i) : noise(i), 5e6, 6e6)
  process.exit(so ? 0 : 1)
})()
EOF
node try.js || { echo "changed: classic-level no longer behaves as described above"; exit 1; }
echo "still so"
