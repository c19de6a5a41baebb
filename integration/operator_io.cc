// SPDX-License-Identifier: Apache-2.0
#include "integration/operator_io.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "fmt/format.h"
#include "integration/rocksdb_release.h"

namespace mezz {

namespace {

double ToMiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::string OtherRocksDB(std::string_view consequence) {
  constexpr std::string_view kBuilt = kRocksDbRelease;
  const std::string loaded = rocksdb::GetRocksVersionAsString(/*with_patch=*/true);
  if (kBuilt == loaded) return "";
  return fmt::format("this library was built for RocksDB {} and the program runs {}: {}build it for {}", kBuilt, loaded,
                     consequence, loaded);
}

bool RocksDBMatches() {
  static const bool matches = [] {
    const std::string other = OtherRocksDB("it stays out, ");
    if (!other.empty()) Tell(other);
    return other.empty();
  }();
  return matches;
}

std::function<void(const PrefaultProgress&)> PrefaultLine() {
  return [terminal = isatty(STDERR_FILENO) == 1](const PrefaultProgress& progress) {
    const bool done = progress.bytes_done >= progress.bytes_total;
    if (!terminal && !done) return;
    const std::string line =
        fmt::format("{}mezzanine: preparing the SCM tier: {:.0f} of {:.0f} MiB, {:.1f} s{}", terminal ? "\r" : "",
                    ToMiB(progress.bytes_done), ToMiB(progress.bytes_total), progress.seconds, done ? "\n" : "");
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
}

}  // namespace mezz
