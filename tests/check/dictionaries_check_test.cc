// SPDX-License-Identifier: Apache-2.0
// The dictionaries' slots under the model checker: every schedule and every value a load may return, up to a bound.
#include <gtest/gtest.h>
#include <zdict.h>

#include <functional>

#include "cache/pack/dictionaries.h"
#include "tests/support/check/explorer.h"
#include "tests/support/tier_fixture.h"

namespace mezz::check {
namespace {

void ExpectHolds(const std::function<void(Trial&)>& scenario) {
  const Result result = Explore({.preemptions_max = 2, .stale_max = 1}, scenario);
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(!result.ok() || result.complete) << "the bounds allow more than " << result.runs << " runs";
  const Result random = Explore({.random_runs = 500, .seed = test::Seed()}, scenario);
  EXPECT_TRUE(random.ok()) << random.failure;
}

// One that ZDICT made, of any bytes.
const std::vector<std::byte>& Trained() {
  static const std::vector<std::byte> trained = [] {
    constexpr size_t kSamples = 32, kSampleBytes = 500;
    std::vector<std::byte> samples, bytes(1024);
    const std::vector<size_t> sizes(kSamples, kSampleBytes);
    for (uint64_t n = 0; n < kSamples; ++n) {
      const auto block = test::TextPayload(n, 1, kSampleBytes);
      samples.insert(samples.end(), block.begin(), block.end());
    }
    bytes.resize(ZDICT_trainFromBuffer(bytes.data(), bytes.size(), samples.data(), sizes.data(), kSamples));
    return bytes;
  }();
  return trained;
}

struct OneDictionary {
  OneDictionary() { dictionaries.Publish(Dictionary::Make(Trained(), 1, BlockRole::kData)); }
  unsigned Collect() { return dictionaries.Collect()[static_cast<size_t>(BlockRole::kData)]; }
  Wakeup wakeup;
  Dictionaries dictionaries{&wakeup};
};

// A packer, and a segment that takes its own hold before the packer gives its up; a reader of the record after that.
TEST(CheckedDictionaries, NoneIsDestroyedThatARecordCarries) {
  ASSERT_GT(Trained().size(), 256u);
  ExpectHolds([](Trial& trial) {
    OneDictionary one;
    Dictionaries& dictionaries = one.dictionaries;
    unsigned collected = 0;
    bool carried = false;
    trial.Threads({{"packer",
                    [&] {
                      {
                        const auto lease = dictionaries.TakeLive(BlockRole::kData);
                        if (!lease) return;
                        Require(lease->number() == 1 && dictionaries.Find(1) == &*lease, "what is held stays");
                        dictionaries.Hold(0);
                        carried = true;
                      }
                      Require(dictionaries.Find(1) != nullptr, "what a segment holds stays");
                      dictionaries.Release(0);
                    }},
                   {"trainer", [&] {
                      dictionaries.Retire(BlockRole::kData);
                      collected += one.Collect();
                    }}});
    collected += one.Collect();
    Require(collected == 1, "it goes once, with its last hold");
    trial.Outcome(carried ? "packed with it" : "packed without");
  });
}

// The slot's next dictionary is never taken for the one that a packer read the number of.
TEST(CheckedDictionaries, APackerThatComesLateGetsNoneOrTheNext) {
  ExpectHolds([](Trial& trial) {
    OneDictionary one;
    Dictionaries& dictionaries = one.dictionaries;
    trial.Threads({{"packer",
                    [&] {
                      const auto lease = dictionaries.TakeLive(BlockRole::kData);
                      if (lease) Require(dictionaries.Find(lease->number()) == &*lease, "the one that it names");
                    }},
                   {"trainer", [&] {
                      dictionaries.Retire(BlockRole::kData);
                      if (one.Collect() == 0) return;
                      dictionaries.Publish(Dictionary::Make(Trained(), 1 + Dictionaries::kSlots, BlockRole::kData));
                    }}});
    dictionaries.Retire(BlockRole::kData);
    one.Collect();
    Require(dictionaries.holds(0) == 0, "nobody holds one any more");
  });
}

}  // namespace
}  // namespace mezz::check
