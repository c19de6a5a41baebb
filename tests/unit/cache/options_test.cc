// SPDX-License-Identifier: Apache-2.0
#include "cache/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;

ScmOptions ValidFile() {
  ScmOptions options;
  options.path = "/mnt/pmem0/mezz";
  options.capacity_bytes = 1 << 30;
  return options;
}

TEST(ScmOptions, ValidOnesOfEachMediumAreAccepted) {
  EXPECT_TRUE(ValidFile().Validate().ok());
  ScmOptions numa;
  numa.medium = MediumKind::kNumaNode;
  numa.numa_node = 0;
  numa.capacity_bytes = kSegmentsMin * kSegmentBytesMin;
  EXPECT_TRUE(numa.Validate().ok()) << numa.Validate().message();
  ScmOptions anonymous;
  anonymous.medium = MediumKind::kAnonymous;
  anonymous.capacity_bytes = kCapacityBytesMax;
  EXPECT_TRUE(anonymous.Validate().ok()) << anonymous.Validate().message();
}

TEST(ScmOptions, CapacityNeedNotBeAMultipleOfTheSegment) {
  ScmOptions options = ValidFile();
  options.capacity_bytes += 12345;
  EXPECT_TRUE(options.Validate().ok());
}

struct BadCase {
  const char* name;
  std::function<void(ScmOptions*)> spoil;
  std::vector<std::string> said;  // option and value, and a remedy
};

class BadScmOptions : public testing::TestWithParam<BadCase> {};

TEST_P(BadScmOptions, AreRefusedInOneSentenceThatNamesOptionValueAndRemedy) {
  ScmOptions options = ValidFile();
  GetParam().spoil(&options);
  const Status status = options.Validate();
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
  for (const std::string& text : GetParam().said) EXPECT_THAT(status.message(), HasSubstr(text));
  EXPECT_THAT(status.message(), HasSubstr(":")) << "what is wrong: what to do";
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

void MakeAnonymous(ScmOptions* options) {
  options->medium = MediumKind::kAnonymous;
  options->path.clear();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadScmOptions,
    testing::Values(
        BadCase{"NoPath", [](ScmOptions* o) { o->path.clear(); }, {"path", "name the file"}},
        BadCase{"ZeroByteInPath", [](ScmOptions* o) { o->path = std::string("/a\0b", 4); }, {"path=/a", "remove it"}},
        BadCase{"NodeForFile", [](ScmOptions* o) { o->numa_node = 1; }, {"numa_node=1", "medium=file"}},
        BadCase{"NegativeNode",
                [](ScmOptions* o) {
                  MakeAnonymous(o);
                  o->medium = MediumKind::kNumaNode;
                  o->numa_node = -2;
                },
                {"numa_node=-2", "0 or more"}},
        BadCase{"PathForNuma",
                [](ScmOptions* o) {
                  o->medium = MediumKind::kNumaNode;
                  o->numa_node = 0;
                },
                {"path=/mnt/pmem0/mezz", "medium=numa", "leave it out"}},
        BadCase{"PathForAnonymous",
                [](ScmOptions* o) { o->medium = MediumKind::kAnonymous; },
                {"path=/mnt/pmem0/mezz", "medium=dram"}},
        BadCase{"NodeForAnonymous",
                [](ScmOptions* o) {
                  MakeAnonymous(o);
                  o->numa_node = 3;
                },
                {"numa_node=3", "medium=dram"}},
        BadCase{"UnknownMedium", [](ScmOptions* o) { o->medium = static_cast<MediumKind>(9); }, {"medium=9"}},
        BadCase{"NoCapacity", [](ScmOptions* o) { o->capacity_bytes = 0; }, {"capacity_bytes=0", "at least"}},
        BadCase{"SmallCapacity",
                [](ScmOptions* o) { o->capacity_bytes = kSegmentsMin * kSegmentBytesMin - 1; },
                {"capacity_bytes=2097151", "at least 2097152"}},
        BadCase{"SmallForItsSegments",
                [](ScmOptions* o) {
                  o->segment_bytes = 64 << 20;
                  o->capacity_bytes = (512 << 20) - 1;
                },
                {"capacity_bytes=536870911", "at least 536870912", "smaller segments"}},
        BadCase{"HugeCapacity",
                [](ScmOptions* o) { o->capacity_bytes = kCapacityBytesMax + 1; },
                {"capacity_bytes=4398046511105", "at most 4398046511104"}},
        BadCase{"OddSegment",
                [](ScmOptions* o) { o->segment_bytes = (1 << 20) + 1; },
                {"segment_bytes=1048577", "power of two"}},
        BadCase{"SmallSegment",
                [](ScmOptions* o) { o->segment_bytes = 128 << 10; },
                {"segment_bytes=131072", "between 262144 and 67108864"}},
        BadCase{"LargeSegment", [](ScmOptions* o) { o->segment_bytes = 128 << 20; }, {"segment_bytes=134217728"}},
        BadCase{"TinyBlocks", [](ScmOptions* o) { o->expected_block_bytes = 63; }, {"expected_block_bytes=63", "64"}},
        BadCase{"HugeBlocks",
                [](ScmOptions* o) { o->expected_block_bytes = 5 << 20; },
                {"expected_block_bytes=5242880", "4194304"}},
        BadCase{"ManyThreads",
                [](ScmOptions* o) { o->prefault_threads = static_cast<unsigned>(-1); },
                {"prefault_threads=4294967295", "at most 1024"}},
        BadCase{"FewSamples",
                [](ScmOptions* o) { o->dictionaries.sample_bytes_max = kSampleBytesMin - 1; },
                {"dictionaries.sample_bytes_max=32767", "at least 32768"}},
        BadCase{"UnknownPrepare", [](ScmOptions* o) { o->prepare = static_cast<Prepare>(5); }, {"prepare=5"}},
        BadCase{"UnknownModel", [](ScmOptions* o) { o->model = static_cast<MediumModelName>(7); }, {"model=7"}}),
    [](const auto& test) { return test.param.name; });

TEST(ScmOptions, EveryAcceptedSizeGivesEnoughSegmentsOfALawfulSize) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    ScmOptions options = ValidFile();
    options.capacity_bytes = random() >> (random() % 64);
    if (random() % 2 == 0) options.segment_bytes = uint64_t{1} << (random() % 40);
    if (!options.Validate().ok()) continue;
    const uint64_t segment = options.EffectiveSegmentBytes();
    ASSERT_TRUE(std::has_single_bit(segment));
    ASSERT_GE(segment, kSegmentBytesMin);
    ASSERT_LE(segment, kSegmentBytesMax);
    ASSERT_GE(options.capacity_bytes / segment, kSegmentsMin);
    ASSERT_LE(options.capacity_bytes, kCapacityBytesMax);
    ASSERT_TRUE(options.segment_bytes == 0 ? segment <= kSegmentBytesAutoMax : segment == options.segment_bytes);
  }
}

TEST(ScmOptions, ChosenSegmentsGrowWithTheCapacity) {
  ScmOptions options = ValidFile();
  options.capacity_bytes = 2 << 20;
  EXPECT_EQ(options.EffectiveSegmentBytes(), kSegmentBytesMin);
  options.capacity_bytes = 300 << 20;
  EXPECT_EQ(options.EffectiveSegmentBytes(), 1u << 20);
  options.capacity_bytes = 100ull << 30;
  EXPECT_EQ(options.EffectiveSegmentBytes(), kSegmentBytesAutoMax);
}

TEST(ScmOptions, ReadAsOneLine) {
  ScmOptions options = ValidFile();
  EXPECT_EQ(options.ToString(), "file:/mnt/pmem0/mezz 1 GiB, 4 MiB segments, model none");
  options.path.clear();
  options.medium = MediumKind::kNumaNode;
  options.numa_node = 1;
  options.model = MediumModelName::kCxl;
  options.capacity_bytes = 3ull << 29;
  EXPECT_EQ(options.ToString(), "numa:1 1.5 GiB, 4 MiB segments, model cxl");
}

TEST(Prepare, IsParsedBackFromItsTextAndUnknownTextIsRefusedWithTheKnown) {
  for (const auto prepare : {Prepare::kBackground, Prepare::kBeforeOpen}) {
    Prepare parsed = Prepare::kBackground;
    EXPECT_TRUE(ParseWord("prepare", ToString(prepare), &parsed).ok());
    EXPECT_EQ(parsed, prepare);
  }
  Prepare parsed = Prepare::kBeforeOpen;
  const Status status = ParseWord("prepare", "never", &parsed);
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("prepare=never"));
  EXPECT_THAT(status.message(), HasSubstr("background or open"));
  EXPECT_EQ(parsed, Prepare::kBeforeOpen) << "left alone";
}

TEST(MediumModelName, IsParsedBackFromItsTextAndUnknownTextIsRefusedWithTheKnown) {
  for (const auto name : {MediumModelName::kNone, MediumModelName::kOptane100, MediumModelName::kCxl}) {
    MediumModelName parsed = MediumModelName::kNone;
    EXPECT_TRUE(ParseWord("model", ToString(name), &parsed).ok());
    EXPECT_EQ(parsed, name);
  }
  for (const char* text : {"", "Optane100", "optane", "none "}) {
    MediumModelName parsed = MediumModelName::kCxl;
    const Status status = ParseWord("model", text, &parsed);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(std::string("model=") + text));
    EXPECT_THAT(status.message(), HasSubstr("none, optane100 or cxl"));
    EXPECT_EQ(parsed, MediumModelName::kCxl) << "left alone";
  }
}

}  // namespace
}  // namespace mezz
