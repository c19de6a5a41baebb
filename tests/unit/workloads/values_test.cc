// SPDX-License-Identifier: Apache-2.0
// Values pack as much as they were asked to, and a wrong byte is seen.
#include "workloads/rocksdb/values.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/temporary_folder.h"
#include "workloads/generators/random.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double Lz4Ratio(const std::string& bytes) {
  std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes.size()))), '\0');
  const int size = LZ4_compress_default(bytes.data(), packed.data(), static_cast<int>(bytes.size()),
                                        static_cast<int>(packed.size()));
  return static_cast<double>(bytes.size()) / size;
}

double ZstdRatio(const std::string& bytes, int level) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), level);
  return static_cast<double>(bytes.size()) / static_cast<double>(size);
}

Values Made(double ratio) {
  Values values;
  EXPECT_EQ(Values::Open({.ratio = ratio}, &values).message(), "");
  return values;
}

// As many values of neighbouring keys as a block of so many bytes takes.
std::string BlockOf(const Values& values, uint64_t key, size_t value_bytes, size_t block_bytes) {
  std::string block;
  std::string value;
  for (; block.size() < block_bytes; ++key) {
    values.Fill(key, value_bytes, &value);
    block += value;
  }
  block.resize(block_bytes);
  return block;
}

std::string SectorsOf(const Values& values, uint64_t first, size_t bytes) {
  std::string block;
  Values::Sector sector;
  for (; block.size() < bytes; ++first) {
    values.FillSector(first, &sector);
    block.append(reinterpret_cast<const char*>(sector.data()), sector.size());
  }
  return block;
}

// LZ4 and zstd at the levels anybody uses: within a tenth of what was asked for, on either side. Beyond four, frames
// and the run that a block's end cuts off weigh more.
void ExpectPacks(const std::string& block, double ratio, const std::string& what) {
  SCOPED_TRACE(what);
  const double near = ratio <= 4 ? 0.1 : 0.15;
  const double lz4 = Lz4Ratio(block);
  EXPECT_NEAR(lz4 / ratio, 1, near) << "lz4 " << lz4;
  for (const int level : {1, 3, 9, 19}) {
    const double zstd = ZstdRatio(block, level);
    EXPECT_NEAR(zstd / ratio, 1, near) << "zstd " << level << ": " << zstd;
  }
}

TEST(MadeValues, PackToWhatWasAskedForByEitherCodecAndNoFurther) {
  for (const double ratio : {1.0, 1.5, 2.0, 2.1, 3.0, 4.0, 8.0}) {
    const Values values = Made(ratio);
    for (const size_t block : {4096, 16384}) {
      const std::string what = fmt::format("ratio {}, {} bytes", ratio, block);
      for (const uint64_t key : {uint64_t{0}, uint64_t{1} << 63, uint64_t{77777}}) {
        for (const size_t value : {400, 1000, 4000}) {
          ExpectPacks(BlockOf(values, key, value, block), ratio, fmt::format("{} of values of {}", what, value));
        }
        ExpectPacks(SectorsOf(values, key, block), ratio, what + " of sectors");
      }
    }
  }
}

TEST(MadeValues, OfSmallSizesPackAboutAsMuch) {
  const double lz4 = Lz4Ratio(BlockOf(Made(2), 5, 100, 4096));
  EXPECT_GT(lz4, 1.7);
  EXPECT_LT(lz4, 2.3);
}

TEST(Values, OfAKeyAreTheSameEachTimeAndAWrongByteIsSeen) {
  TemporaryFolder folder;
  std::string text;
  Random random(1);
  while (text.size() < (1 << 20) + 5000) text += fmt::format("row {} holds {}\n", text.size(), random.Below(1000));
  Values cut;
  ASSERT_EQ(Values::Open({.sample = folder.Write("text", text)}, &cut).message(), "");
  for (const Values& values : {Values(), Made(2.5), cut}) {
    SCOPED_TRACE(values.Name());
    for (const size_t bytes : {0, 1, 7, 8, 35, 1000, 5001}) {
      std::string value;
      values.Fill(42, bytes, &value);
      ASSERT_EQ(value.size(), bytes);
      ASSERT_TRUE(values.Matches(42, value));
      if (bytes < 7) continue;
      for (const size_t at : {size_t{0}, bytes / 2, bytes - 1}) {
        std::string wrong = value;
        wrong[at] = static_cast<char>(wrong[at] ^ 1);
        EXPECT_FALSE(values.Matches(42, wrong)) << at;
      }
      EXPECT_FALSE(values.Matches(43, value));
      EXPECT_FALSE(values.Matches(42, std::string_view(value).substr(1)));
    }
    std::set<Values::Sector> sectors;
    for (uint64_t number = 0; number < 9000; ++number) {  // more than the sample has
      Values::Sector sector;
      values.FillSector(number, &sector);
      EXPECT_TRUE(sectors.insert(sector).second) << "sector " << number << " is like another";
    }
  }
}

TEST(CutValues, LieInTheSampleAsItDoesAndPackAsItDoes) {
  TemporaryFolder folder;
  std::string sample;
  Random random(2);
  while (sample.size() < 3 << 20) sample += fmt::format("{}: {}, ", sample.size(), random.Bits());
  Values values;
  ASSERT_TRUE(Values::Open({.sample = folder.Write("sample", sample)}, &values).ok());
  EXPECT_EQ(BlockOf(values, 0, 1000, 4000), sample.substr(0, 4000)) << "neighbouring keys have neighbouring values";
  EXPECT_EQ(BlockOf(values, 1234, 1000, 4000), sample.substr(1'234'000, 4000));
  const size_t keys = sample.size() / 1000;
  EXPECT_NE(BlockOf(values, keys + 1, 1000, 4000), sample.substr((keys + 1) * 1000 - sample.size(), 4000))
      << "the next lap starts elsewhere";
  const double own = Lz4Ratio(sample.substr(500'000, 4096));
  for (const uint64_t key : {uint64_t{3}, uint64_t{100'000}, ~uint64_t{0} - 100}) {
    EXPECT_NEAR(Lz4Ratio(BlockOf(values, key, 1000, 4096)) / own, 1, 0.1) << key;
    EXPECT_NEAR(Lz4Ratio(SectorsOf(values, key, 4096)) / own, 1, 0.1) << key;
  }
}

TEST(Values, ThatHoldOtherBytesHaveOtherNames) {
  TemporaryFolder folder;
  Values one, other;
  std::string sample(1 << 20, 'x');
  ASSERT_TRUE(Values::Open({.sample = folder.Write("one", sample)}, &one).ok());
  sample[777] = 'y';
  ASSERT_TRUE(Values::Open({.sample = folder.Write("other", sample)}, &other).ok());
  EXPECT_EQ((std::set<std::string>{one.Name(), other.Name(), Made(1).Name(), Made(2).Name(), Made(2.25).Name()}).size(),
            5u);
  EXPECT_EQ(Made(1).Name(), Values().Name());
}

TEST(Values, ThatCannotBeAreRefusedByName) {
  TemporaryFolder folder;
  const auto refusal = [](const ValueOptions& options) {
    Values values;
    return Values::Open(options, &values).message();
  };
  const std::string small = folder.Write("small", std::string(4097, 'x'));
  EXPECT_THAT(refusal({.sample = small, .block_bytes = 8192, .block_flag = "--block_bytes"}),
              AllOf(HasSubstr(fmt::format("--values={} has 4097 bytes", small)), HasSubstr("--block_bytes=8192"),
                    HasSubstr("at least 2097152"), HasSubstr("larger sample")));
  EXPECT_THAT(refusal({.sample = small, .block_bytes = 16, .value_bytes = 5000}), HasSubstr("at least 5000"));
  EXPECT_THAT(refusal({.sample = folder.Path("none")}), AllOf(HasSubstr("--values="), HasSubstr("No such file")));
  EXPECT_THAT(refusal({.sample = folder.Path("")}), HasSubstr("it is no file"));
  EXPECT_THAT(refusal({.sample = small, .ratio = 2}), AllOf(HasSubstr("--values="), HasSubstr("--value_ratio=2 both")));
  for (const double ratio : {0.5, 8.5, -1.0}) {
    EXPECT_THAT(refusal({.ratio = ratio}), HasSubstr(fmt::format("--value_ratio={} is out of range", ratio)));
  }
}

}  // namespace
}  // namespace mezz
