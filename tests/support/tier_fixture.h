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
#include <span>
#include <string>
#include <vector>

#include "cache/scm_tier.h"
#include "tests/support/chosen_medium.h"
#include "tests/support/payload.h"
#include "tests/support/seed.h"

namespace mezz::test {

inline BlockKey Key(uint64_t n) {
  BlockKey key;
  key.words[0] = n * 0x9e3779b97f4a7c15ull;
  key.words[1] = n;
  return key;
}

// Dictionaries after some hundred blocks instead of some ten thousand, and again after as many.
inline constexpr DictionaryRules kTrainedSoon{.sample_every = 2, .sample_bytes_max = 128 << 10, .rest = 1};

// The bytes of a hit, whatever its form; those of a packed one that does not unpack are empty.
inline std::vector<std::byte> BytesOf(const PinnedBlock& block) {
  std::vector<std::byte> bytes(block.logical_bytes());
  if (!block.Unpack(bytes.data())) bytes.clear();
  return bytes;
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

// Half of it on a file, beside what the options name.
inline void UseTwo(const std::string& path, ScmOptions* options, Level second = Level::kFast) {
  const uint64_t half = options->capacity_bytes / 2;
  const ScmMember one{.medium = options->medium,
                      .path = options->path,
                      .numa_node = options->numa_node,
                      .capacity_bytes = options->capacity_bytes - half};
  options->members = {one, {.path = path, .capacity_bytes = half, .level = second}};
  options->medium = MediumKind::kFile;
  options->path.clear();
  options->numa_node = -1;
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
  EXPECT_EQ(ScmTier::Open(options, &tier, judge).message(), "");
  return tier;
}

// As if the process were killed now: what the tier stored is there, and nobody closed it, nor what has the tier. It may
// be null: nothing is done.
template <typename Tier>
void Kill(std::span<const ScratchFile> files, std::unique_ptr<Tier>* tier) {
  if (*tier == nullptr) return;
  std::vector<std::string> copies;
  for (const ScratchFile& file : files) copies.push_back(Contents(file.path()));
  tier->reset();
  for (size_t i = 0; i < files.size(); ++i) Overwrite(files[i].path(), 0, copies[i]);
}
template <typename Tier>
void Kill(const ScratchFile& file, std::unique_ptr<Tier>* tier) {
  Kill(std::span(&file, 1), tier);
}

inline void ExpectSound(ScmTier& tier) {
  const ScmAudit audit = tier.Audit();
  for (const std::string& violation : audit.violations) ADD_FAILURE() << violation;
  const uint64_t pins_of_scrub = tier.options().scrub_bytes_per_second != 0 ? 1 : 0;  // of the block that it reads now
  EXPECT_LE(audit.live_pins, pins_of_scrub) << "a pin leaked";
  EXPECT_LE(tier.figures().usage_bytes(), tier.options().capacity_bytes);
  EXPECT_LE(audit.resident_payload_bytes, tier.figures().usage_bytes());
}

}  // namespace mezz::test
