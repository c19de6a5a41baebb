// SPDX-License-Identifier: Apache-2.0
#include "cache/superblock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/crash_medium.h"
#include "tests/support/faulty_medium.h"
#include "tests/support/lost_pages.h"
#include "tests/support/seed.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using layout::Superblock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using What = FoundSuperblock::What;
using Image = test::CrashMedium::Image;

ScmOptions Options() {
  ScmOptions options;
  options.medium = MediumKind::kFile;
  options.path = "/nowhere";
  options.capacity_bytes = 1 << 30;
  options.segment_bytes = 4 << 20;
  options.host_version = 11'008'001;
  options.key_scheme = 2;
  return options;
}

Superblock Made(uint64_t generation = 1) {
  Superblock superblock = SuperblockOf(Options());
  superblock.format_id = 12;
  superblock.generation = generation;
  superblock.sequence_end = 100 * generation;
  superblock.sequence_begin = generation;
  return Sealed(superblock);
}

Image HeadOf(const Superblock& first, const Superblock& second) {
  Image head(layout::kSuperblockSpace);
  std::memcpy(head.data(), &first, sizeof(first));
  std::memcpy(head.data() + layout::kSuperblockCopyAt, &second, sizeof(second));
  return head;
}

// A medium whose superblock's copies lie on two pages.
class TwoPages : public Medium {
 public:
  TwoPages() {
    base_ = pages_.base() + test::kPageBytes - layout::kSuperblockCopyAt;
    bytes_ = layout::kSuperblockSpace;
  }
  void Lose(int page) { test::LosePages(pages_.base() + page * test::kPageBytes); }

 private:
  const test::Pages pages_{2};
};

TEST(Superblock, OfACopyThatIsNotThereTheOtherStandsInItsPlace) {
  ASSERT_TRUE(ContainBusErrors().ok());
  for (const int lost : {0, 1}) {
    SCOPED_TRACE(lost);
    TwoPages medium;
    const BusErrorWatch watch({medium.base(), medium.bytes()});
    const Image head = HeadOf(Made(1), Made(2));
    std::memcpy(medium.base(), head.data(), head.size());
    EXPECT_EQ(FindSuperblock(ReadHead(medium)).superblock.generation, 2u);
    medium.Lose(lost);
    const FoundSuperblock found = FindSuperblock(ReadHead(medium));
    EXPECT_EQ(found.what, What::kWhole);
    EXPECT_EQ(found.superblock.generation, lost == 0 ? 2u : 1u);
    medium.Lose(1 - lost);
    EXPECT_THAT(ReadHead(medium), IsEmpty());
  }
}

bool Same(const Superblock& a, const Superblock& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

void Flip(Image* head, uint64_t at, size_t bit) { (*head)[at + bit / 8] ^= static_cast<std::byte>(1u << (bit % 8)); }

TEST(Superblock, ForeignBytesAndATruncatedOneAreForeign) {
  EXPECT_EQ(FindSuperblock(Image(layout::kSuperblockSpace)).what, What::kForeign) << "zeros";
  Superblock foreign = Made();
  foreign.magic[15] ^= 1;
  EXPECT_EQ(FindSuperblock(HeadOf(foreign, Made())).what, What::kForeign) << "something else begins the file now";
  const Image head = HeadOf(Made(), Made());
  for (size_t bytes = 0; bytes < sizeof(Superblock); ++bytes) {
    EXPECT_EQ(FindSuperblock({head.data(), bytes}).what, What::kForeign) << bytes;
  }
  EXPECT_EQ(FindSuperblock({head.data(), sizeof(Superblock)}).what, What::kWhole) << "a file of one copy";
}

TEST(Superblock, AnotherFormatVersionOrByteOrderIsTold) {
  Superblock newer = Made(), swapped = Made();
  newer.format_version = 3;  // whose checksum may lie anywhere
  swapped.byte_order_mark = __builtin_bswap32(swapped.byte_order_mark);
  swapped.format_version = __builtin_bswap32(swapped.format_version);
  const FoundSuperblock of_newer = FindSuperblock(HeadOf(newer, newer)),
                        of_swapped = FindSuperblock(HeadOf(swapped, swapped));
  EXPECT_EQ(of_newer.what, What::kUnusable);
  EXPECT_THAT(of_newer.why, HasSubstr("version 3"));
  EXPECT_THAT(of_newer.why, HasSubstr("version " + std::to_string(layout::kFormatVersion)));
  EXPECT_EQ(of_swapped.what, What::kUnusable);
  EXPECT_THAT(of_swapped.why, HasSubstr("byte order"));
}

TEST(Superblock, OfOneOfSeveralMediaIsWholeOnlyIfItsPlacesAre) {
  ScmOptions options = Options();
  options.members = {{.path = "/a", .capacity_bytes = 512 << 20}, {.path = "/b", .capacity_bytes = 512 << 20}};
  options.path.clear();
  Superblock good = SuperblockOf(options);
  good.format_id = 12;
  good = Sealed(good);
  EXPECT_EQ(FindSuperblock(HeadOf(good, good)).what, What::kWhole);
  const std::pair<const char*, std::function<void(Superblock*)>> changes[] = {
      {"begins behind its end", [](Superblock* s) { s->member_begins[0] = 256; }},
      {"begins far behind it", [](Superblock* s) { s->member_begins[0] = UINT32_MAX; }},
      {"begins before another", [](Superblock* s) { s->member_begins[1] = s->member_begins[0]; }},
      {"has a gap", [](Superblock* s) { s->member_begins[2] = 200; }},
      {"is none of them", [](Superblock* s) { s->member = 2; }},
      {"is one medium's by its version", [](Superblock* s) { s->format_version = layout::kFormatVersion; }},
  };
  for (const auto& [what, change] : changes) {
    Superblock changed = good;
    change(&changed);
    changed = Sealed(changed);
    EXPECT_EQ(FindSuperblock(HeadOf(changed, changed)).what, What::kUnusable) << what;
  }
}

TEST(Superblock, IsOfNoUseToOtherOptionsButOfAnySize) {
  const std::pair<std::string, std::function<void(ScmOptions*)>> changes[] = {
      {"segments", [](ScmOptions* o) { o->segment_bytes /= 2; }},
      {"scheme 2", [](ScmOptions* o) { o->key_scheme = 3; }},
      {"11008001", [](ScmOptions* o) { o->host_version = 7'008'003; }},
  };
  for (const auto& [said, change] : changes) {
    ScmOptions options = Options();
    change(&options);
    EXPECT_THAT(WhyOfNoUse(Made(), options), HasSubstr(said));
  }
  EXPECT_THAT(WhyOfNoUse(Made(), Options()), IsEmpty());
  ScmOptions larger = Options();
  larger.capacity_bytes *= 2;
  EXPECT_THAT(WhyOfNoUse(Made(), larger), IsEmpty());
}

TEST(Superblock, AFlippedBitInOneCopyCostsNothingAndInBothAll) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr size_t kBits = sizeof(Superblock) * 8, kMagicBits = sizeof(layout::kMagic) * 8;
  for (size_t bit = 0; bit < kBits; ++bit) {
    for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt}) {
      Image head = HeadOf(Made(), Made());
      Flip(&head, at, bit);
      const FoundSuperblock found = FindSuperblock(head);
      if (at == 0 && bit < kMagicBits) {
        EXPECT_EQ(found.what, What::kForeign) << "bit " << bit;
      } else {
        ASSERT_EQ(found.what, What::kWhole) << "bit " << bit;
        EXPECT_TRUE(Same(found.superblock, Made()));
      }
      Flip(&head, layout::kSuperblockCopyAt - at, random() % kBits);
      EXPECT_NE(FindSuperblock(head).what, What::kWhole) << "bit " << bit;
    }
  }
}

// Any subset of the words that were stored and not yet drained, at each moment between two stores.
TEST(Superblock, WhereverAChangeIsCutOffItIsTheOldOrTheNew) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const Superblock old = Made(random() % 1000 + 1);
    test::CrashMedium medium(HeadOf(old, old));
    const test::CrashMedium::Scope scope(&medium);
    SuperblockKeeper keeper(medium, old);
    int moments = 0, news = 0;
    std::vector<Image> images;
    medium.on_step = [&] {
      ++moments;
      for (size_t kept = 0; kept <= medium.pending(); ++kept) {
        images.push_back(medium.After([&](size_t i) { return i < kept; }));
        images.push_back(medium.After([&](size_t i) { return i >= kept; }));
        images.push_back(medium.After([&](size_t) { return random() % 2 == 0; }));
      }
    };
    const SuperblockKeeper::Stored stored = keeper.Change([&](Superblock* superblock) {
      superblock->sequence_begin = random();
      superblock->sequence_end = random();
      superblock->flags = random() % 2;
    });
    EXPECT_EQ(stored, SuperblockKeeper::Stored::kLasts);
    const Superblock fresh = Sealed(keeper.Now());
    ASSERT_EQ(moments, 4) << "two copies, each drained for itself";
    for (const Image& image : images) {
      const FoundSuperblock found = FindSuperblock(image);
      ASSERT_EQ(found.what, What::kWhole);
      const bool is_new = Same(found.superblock, fresh);
      ASSERT_TRUE(is_new || Same(found.superblock, old));
      if (is_new) ++news;
    }
    EXPECT_GT(news, 0);
    EXPECT_TRUE(Same(FindSuperblock(medium.AfterKill()).superblock, fresh));
    const Image both = medium.After([](size_t) { return false; });
    EXPECT_EQ(std::memcmp(both.data(), both.data() + layout::kSuperblockCopyAt, sizeof(Superblock)), 0);
  }
}

// On a device that was never ours, whatever a cut of power lets arrive of the first one is ours, or nothing.
TEST(Superblock, AFirstOneThatIsCutOffIsNotForeign) {
  std::mt19937_64 random(test::Seed());
  test::CrashMedium medium{Image(layout::kSuperblockSpace)};
  const test::CrashMedium::Scope scope(&medium);
  SuperblockKeeper keeper(medium, Made());
  std::vector<Image> images;
  medium.on_step = [&] {
    for (int i = 0; i < 20; ++i) images.push_back(medium.After([&](size_t) { return random() % 2 == 0; }));
  };
  keeper.PutMagic();
  ASSERT_EQ(keeper.Change([](Superblock*) {}), SuperblockKeeper::Stored::kLasts);
  for (const Image& image : images) {
    const bool has_magic = std::memcmp(image.data(), layout::kMagic, sizeof(layout::kMagic)) == 0;
    const auto rest = std::span(image).subspan(sizeof(layout::kMagic));
    const bool nothing_else = std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; });
    EXPECT_TRUE(has_magic || nothing_else);
    EXPECT_EQ(FindSuperblock(image).what == What::kForeign, !has_magic);
  }
}

TEST(Superblock, NoSequenceIsHandedOutTwice) {
  test::CrashMedium medium(HeadOf(Made(), Made()));
  const test::CrashMedium::Scope scope(&medium);
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    SuperblockKeeper keeper(medium, FindSuperblock(medium.AfterKill()).superblock);
    for (int i = 0; i < 3; ++i) {
      const auto first = keeper.ReserveSequences();
      ASSERT_TRUE(first);
      EXPECT_GE(*first, last);
      last = *first + SuperblockKeeper::kSequencesAtOnce;
    }
  }
}

// Dropped or torn, which nobody tells: it is seen where the copy is read again.
TEST(Superblock, AChangeThatNoCopyTookIsNowhere) {
  using Stored = SuperblockKeeper::Stored;
  using Fails = test::FaultyMedium::SuperblockFails;
  ScmOptions options = test::AnonymousOptions(8 * kSegmentBytesMin);
  std::unique_ptr<Medium> plain;
  bool existing = false;
  ASSERT_TRUE(OpenMedium(options, &plain, &existing).ok());
  test::FaultyMedium medium(std::move(plain), {}, test::Seed());
  const auto on_medium = [&] { return FindSuperblock({medium.base(), layout::kSuperblockSpace}); };
  SuperblockKeeper keeper(medium, Made());
  ASSERT_EQ(keeper.Change([](Superblock* s) { s->flags = 1; }), Stored::kLasts);
  uint64_t end = keeper.Now().sequence_end;
  for (const bool torn : {false, true}) {
    for (const auto& [first, second] : {std::pair(true, false), std::pair(false, true)}) {
      medium.FailSuperblock({.first = first, .second = second, .torn = torn});
      const auto reserved = keeper.ReserveSequences();
      ASSERT_EQ(reserved, end) << "one copy has it";
      end += SuperblockKeeper::kSequencesAtOnce;
      EXPECT_TRUE(Same(on_medium().superblock, Sealed(keeper.Now())));
    }
    medium.FailSuperblock(Fails{});
    ASSERT_EQ(keeper.Change([](Superblock*) {}), Stored::kLasts);
    const Superblock before = Sealed(keeper.Now());
    medium.FailSuperblock({.first = true, .second = true, .torn = torn});
    EXPECT_EQ(keeper.Change([](Superblock* s) { s->sequence_begin = 77; }), Stored::kNowhere);
    EXPECT_FALSE(keeper.ReserveSequences());
    Superblock now = keeper.Now();
    EXPECT_EQ(now.generation, before.generation + 2) << "two superblocks of one generation";
    now.generation = before.generation;
    EXPECT_TRUE(Same(Sealed(now), before));
    EXPECT_TRUE(torn || Same(on_medium().superblock, before));
    EXPECT_EQ(on_medium().what, torn ? What::kUnusable : What::kWhole);
  }
}

}  // namespace
}  // namespace mezz
