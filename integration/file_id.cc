// SPDX-License-Identifier: Apache-2.0
#include "integration/file_id.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "rocksdb/unique_id.h"

namespace mezz {
namespace {

using Wide = unsigned __int128;

uint64_t Upper(Wide wide) { return static_cast<uint64_t>(wide >> 64); }

// The public id is the internal one, which cache keys are made from, after offsets and one round of XXH3 (its 128-bit
// hash of nine to sixteen bytes), so that each of its bits looks random. The round loses nothing; these are its steps
// backwards. Numbers are XXH3's secret and primes, and the primes' inverses modulo 2^64.
constexpr uint64_t kPrimeMix = 0x165667919e3779f9, kPrimeMixInverse = 0x08da8ee41d6df849;
constexpr uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime1Inverse = 0x0887493432badb37;
constexpr uint64_t kPrime2 = 0xc2b2ae3d27d4eb4f, kPrime2Inverse = 0x0ba79078168d4baf;
constexpr uint32_t kPrime32 = 0x85ebca77, kPrime32Inverse = 0xb6c92f47;
constexpr uint64_t kSecretLow = 0x59973f0033362349, kSecretHigh = 0xc202797692d63d58;
constexpr uint64_t kLengthTerm = uint64_t{15} << 54;
constexpr uint64_t kLowOffset = 6417269962128484497u, kHighOffset = 17391078804906429400u;
static_assert(kPrimeMix * kPrimeMixInverse == 1 && kPrime1 * kPrime1Inverse == 1 && kPrime2 * kPrime2Inverse == 1);
static_assert(kPrime32 * kPrime32Inverse == 1);

struct UniqueId {
  uint64_t low;
  uint64_t high;
};

uint64_t Unavalanche(uint64_t hash) {
  hash ^= hash >> 32;
  hash *= kPrimeMixInverse;
  return hash ^ hash >> 37;
}

UniqueId Internal(UniqueId external) {
  uint64_t low = Unavalanche(external.low) * kPrime2Inverse;
  uint64_t high = (Unavalanche(external.high) - Upper(Wide{low} * kPrime2)) * kPrime2Inverse;
  low = ((low ^ __builtin_bswap64(high)) - kLengthTerm) * kPrime1Inverse;
  high -= Upper(Wide{low} * kPrime1);
  // high was x + (x mod 2^32) * (kPrime32 - 1)
  const uint32_t lower_half = static_cast<uint32_t>(high) * kPrime32Inverse;
  high -= uint64_t{lower_half} * (kPrime32 - 1);
  high ^= kSecretHigh;
  return {(low ^ high ^ kSecretLow) - kLowOffset, high - kHighOffset};
}

uint64_t ReversedBits(uint64_t v) {
  v = __builtin_bswap64(v);
  v = (v & 0x0f0f0f0f0f0f0f0f) << 4 | (v >> 4 & 0x0f0f0f0f0f0f0f0f);
  v = (v & 0x3333333333333333) << 2 | (v >> 2 & 0x3333333333333333);
  return (v & 0x5555555555555555) << 1 | (v >> 1 & 0x5555555555555555);
}

// Each bit becomes the sum of those above it whose distance is a subset of its place: see RocksDB's util/math.h.
uint64_t DownwardInvolution(uint64_t v) {
  v ^= v >> 32;
  v ^= (v & 0xffff0000ffff0000) >> 16;
  v ^= (v & 0xff00ff00ff00ff00) >> 8;
  v ^= (v & 0xf0f0f0f0f0f0f0f0) >> 4;
  v ^= (v & 0xcccccccccccccccc) >> 2;
  return v ^ (v & 0xaaaaaaaaaaaaaaaa) >> 1;
}

}  // namespace

FileId FileIdOf(const rocksdb::TableProperties& table) {
  std::string bytes;
  UniqueId id;
  if (!rocksdb::GetUniqueIdFromTableProperties(table, &bytes).ok() || bytes.size() != sizeof(id)) return FileId{0};
  std::memcpy(&id, bytes.data(), sizeof(id));
  id = Internal(id);
  const uint64_t first = DownwardInvolution(id.low) ^ ReversedBits(id.high);
  return FileId{first != 0 ? first : ReversedBits(id.low)};  // RocksDB swaps its halves where the first is empty
}

FileId FileIdOf(const std::string& db_id, const std::string& db_session_id, uint64_t file_number) {
  rocksdb::TableProperties file;
  file.db_id = db_id;
  file.db_session_id = db_session_id;
  file.orig_file_number = file_number;
  return FileIdOf(file);
}

}  // namespace mezz
