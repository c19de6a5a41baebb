// SPDX-License-Identifier: Apache-2.0
#include "tests/support/payload.h"

#include <algorithm>

namespace mezz::test {

std::vector<std::byte> Payload(uint64_t key, uint64_t version, size_t bytes) {
  std::vector<std::byte> payload(bytes);
  uint64_t state = key * 0x2545f4914f6cdd1dull + version * 0x9e3779b97f4a7c15ull + bytes;
  for (size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    payload[i] = static_cast<std::byte>(state >> 56);
  }
  return payload;
}

std::vector<std::byte> PackablePayload(uint64_t key, uint64_t version, size_t bytes) {
  std::vector<std::byte> payload = Payload(key, version, bytes);
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 32 >= 12) payload[i] = std::byte{0x5a};
  }
  return payload;
}

std::vector<std::byte> TextPayload(uint64_t key, uint64_t version, size_t bytes, uint64_t language) {
  constexpr uint64_t kWords = 256, kMultiplier = 6364136223846793005ull;
  std::vector<std::byte> payload(bytes);
  uint64_t state = key * 0x2545f4914f6cdd1dull + version * 0x9e3779b97f4a7c15ull + bytes;
  for (size_t at = 0; at < bytes;) {
    state = state * kMultiplier + 1442695040888963407ull;
    uint64_t letters = ((state >> 33) % kWords + language * kWords + 1) * 0x9e3779b97f4a7c15ull;
    for (size_t end = std::min(bytes, at + 6 + letters % 6); at < end; ++at, letters = letters * kMultiplier + 1)
      payload[at] = static_cast<std::byte>('a' + (letters >> 56) % 26);
    if (at < bytes) payload[at++] = std::byte{' '};
  }
  return payload;
}

std::vector<std::byte> MixedPayload(uint64_t key, uint64_t version, size_t bytes) {
  if (key % 4 == 0) return TextPayload(key, version, bytes, version / 2048);
  return key % 2 == 0 ? PackablePayload(key, version, bytes) : Payload(key, version, bytes);
}

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

}  // namespace mezz::test
