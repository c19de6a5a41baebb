// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <algorithm>
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>
#include "cache/scm_tier.h"
using namespace mezz;
// Of this thread: the machine is shared.
static double CpuNs() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
static BlockKey Key(uint64_t n) { BlockKey k; k.words[0] = n * 0x9e3779b97f4a7c15ull; k.words[1] = n; return k; }
[[gnu::noinline]] bool Hits(ScmTier& tier, const std::vector<uint32_t>& keys, std::mt19937& random, uint64_t hits) {
  bool missed = false;
  for (uint64_t n = 0; n < hits; ++n) {
    const PinnedBlock found = tier.Find(Key(keys[uint64_t{random()} * keys.size() >> 32]));
    missed |= !found;
    asm volatile("" : : "r"(found.payload().data()) : "memory");
#ifdef FENCE
    asm volatile("lfence" : : : "memory");
#endif
#ifdef NOPS
    asm volatile(".rept " NOPS "\nnop\n.endr");
#endif
  }
  return missed;
}
// Bare hits, Find to release, of a tier of 4 KiB blocks, and nothing else: for callgrind, and to time. Prints the median
// ns of a hit. Arguments: MiB of medium, hits a turn, turns (and one to warm up), whether huge pages may be had.
// -DFENCE: no hit overlaps with the next. -DNOPS="\"100\"": so many instructions of no use after each.
int main(int argc, char** argv) {
  const uint64_t mib = atoi(argv[1]), hits = atoi(argv[2]); const int turns = atoi(argv[3]);
  const bool huge = argc > 4 && atoi(argv[4]);
  if (!huge) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  ScmOptions o; o.medium = MediumKind::kAnonymous; o.capacity_bytes = mib << 20; o.segment_bytes = 0;
  o.prepare = Prepare::kBeforeOpen; o.pack = PackMode::kOff;
  std::unique_ptr<ScmTier> tier;
  const Status s = ScmTier::Open(o, &tier);
  if (!s.ok()) { puts(s.message().c_str()); return 1; }
  std::vector<std::byte> block(4096, std::byte{0x5a});
  const uint64_t n = (mib << 20) / 4160 * 9 / 10;
  for (uint64_t k = 1; k <= n; ++k) tier->Put(Key(k), BlockRole::kData, block);
  std::vector<uint32_t> keys;
  for (int h = 0; h < 4; ++h) { keys.clear(); for (uint64_t k = 1; k <= n; ++k) if (tier->Find(Key(k))) keys.push_back(k); }
  std::vector<double> ns;
  std::mt19937 random(1);
  for (int t = 0; t <= turns; ++t) {
    const double b = CpuNs();
    if (Hits(*tier, keys, random, hits)) puts("missed");
    const double d = (CpuNs() - b) / hits;
    if (t > 0) ns.push_back(d);
  }
  std::sort(ns.begin(), ns.end());
  if (!ns.empty()) printf("%.1f\n", ns[ns.size() / 2]);
}
