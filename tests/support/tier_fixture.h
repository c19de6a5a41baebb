// SPDX-License-Identifier: Apache-2.0
// Blocks whose bytes follow from their key, tiers that are audited when they go, and a seed that is printed.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cache/scm_tier.h"
#include "tests/support/chosen_medium.h"
#include "tests/support/seed.h"

namespace mezz::test {

inline BlockKey Key(uint64_t n) {
  BlockKey key;
  key.words[0] = n * 0x9e3779b97f4a7c15ull;
  key.words[1] = n;
  return key;
}

// Bytes that differ for each key, version and position.
inline std::vector<std::byte> Payload(uint64_t key, uint64_t version, size_t bytes) {
  std::vector<std::byte> payload(bytes);
  uint64_t state = key * 0x2545f4914f6cdd1dull + version * 0x9e3779b97f4a7c15ull + bytes;
  for (size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    payload[i] = static_cast<std::byte>(state >> 56);
  }
  return payload;
}

// As Payload, but codecs make them less than half as large: of each 32 bytes twelve differ from the rest.
inline std::vector<std::byte> PackablePayload(uint64_t key, uint64_t version, size_t bytes) {
  std::vector<std::byte> payload = Payload(key, version, bytes);
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 32 >= 12) payload[i] = std::byte{0x5a};
  }
  return payload;
}

// Words of one language, which every block shares with every other: a dictionary makes them smaller.
inline std::vector<std::byte> TextPayload(uint64_t key, uint64_t version, size_t bytes, uint64_t language = 0) {
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

// Half of the keys have bytes that pack, and half of those text, whose language changes with the version.
inline std::vector<std::byte> MixedPayload(uint64_t key, uint64_t version, size_t bytes) {
  if (key % 4 == 0) return TextPayload(key, version, bytes, version / 2048);
  return key % 2 == 0 ? PackablePayload(key, version, bytes) : Payload(key, version, bytes);
}

// Dictionaries after some hundred blocks instead of some ten thousand, and again after as many.
inline constexpr DictionaryRules kTrainedSoon{.sample_every = 2, .sample_bytes_max = 128 << 10, .rest = 1};

// The bytes of a hit, whatever its form; those of a packed one that does not unpack are empty.
inline std::vector<std::byte> BytesOf(const PinnedBlock& block) {
  std::vector<std::byte> bytes(block.logical_bytes());
  if (!block.Unpack(bytes.data())) bytes.clear();
  return bytes;
}

inline bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline ScmOptions AnonymousOptions(uint64_t capacity_bytes, uint64_t segment_bytes = kSegmentBytesMin) {
  ScmOptions options;
  ChooseMedium(&options);
  options.capacity_bytes = capacity_bytes;
  options.segment_bytes = segment_bytes;
  options.prepare = Prepare::kBeforeOpen;  // tests count on the whole medium from the first put
  options.pack = PackMode::kOff;           // tests of packing say so
  return options;
}

// A medium that remembers; what a first hit after a restart checks is checked whatever `verify` says.
inline ScmOptions WarmOptions(const std::string& path, uint64_t capacity_bytes) {
  ScmOptions options = AnonymousOptions(capacity_bytes);
  UseFile(path, &options);
  options.recovery = Recovery::kWarm;
  options.verify = VerifyMode::kOff;
  return options;
}

inline std::unique_ptr<ScmTier> OpenOrDie(const ScmOptions& options, SurvivorJudge* judge = nullptr) {
  std::unique_ptr<ScmTier> tier;
  const Status status = ScmTier::Open(options, &tier, judge);
  EXPECT_TRUE(status.ok()) << status.message();
  return tier;
}

// As if the process were killed now: what the tier stored is there, and nobody closed it, nor what has the tier. It may
// be null: nothing is done.
template <typename Tier>
void Kill(const ScratchFile& file, std::unique_ptr<Tier>* tier) {
  if (*tier == nullptr) return;
  const std::string copy = Contents(file.path());
  tier->reset();
  Overwrite(file.path(), 0, copy);
}

inline void ExpectSound(ScmTier& tier) {
  const ScmAudit audit = tier.Audit();
  for (const std::string& violation : audit.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(audit.live_pins, 0u) << "a pin leaked";
  EXPECT_LE(tier.usage_bytes(), tier.options().capacity_bytes);
  EXPECT_LE(audit.resident_payload_bytes, tier.usage_bytes());
}

}  // namespace mezz::test
