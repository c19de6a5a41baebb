// SPDX-License-Identifier: Apache-2.0
// Messaging: the store behind a chat application (WhatsApp in Kassa et al., ATC'21; "ChatApp" in TOS'22). A
// conversation's records are neighbours; people read what is new, and some conversations are far busier than others.
//
// Published:
//   read-dominated (ATC'21, TOS'22 abstracts).
//   Of the social graph, Meta's other store of people's records (UDB in Cao et al., FAST'20, from secondary sources):
//   keys of 16 to 30 bytes; values of 16 bytes to 10 KB, median 235 bytes, mean about 1 KB, more than a fifth above
//   1 KB. That a message's record resembles them is assumed.
// Assumed (ours; ATC'21's workload table was not at hand):
//   - the form of the value sizes: a generalised Pareto of k = 1.15, sigma = 221.7, moved into 16..10,240. It has the
//     published median, mean and share above 1 KB.
//   - get : put : seek = 0.78 : 0.15 : 0.07; a seek reads kScanMean entries on average, never more than a conversation.
//   - a conversation is kConversationKeys neighbouring keys; its popularity follows Zipf's law of exponent 0.8, its
//     place in the key space is random.
//   - within a conversation the newest record is the most wanted: age is geometric with mean 8. Which key is the
//     newest is fixed per conversation, so that a put renews a recent record instead of growing the database.
//   - the operation is drawn apart from the key, and so are sizes.
//   - 10^9 keys: about 1 TB of data behind a server with 64 to 256 GB of cache.
#include <fmt/format.h>

#include "workloads/generators/distributions.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr uint32_t kKeyBytes = 24;
constexpr ClampedPareto kValueBytes(1.15, 221.7, 16, 10240);
constexpr double kGetShare = 0.78;
constexpr double kPutShare = 0.15;
constexpr uint64_t kConversationKeys = 64;
constexpr double kConversationSkew = 0.8;
constexpr double kAgeMean = 8;
constexpr double kScanMean = 20;

class Messaging final : public Generator {
 public:
  explicit Messaging(const GeneratorOptions& options)
      : Generator(options),
        conversations_((options.keys + kConversationKeys - 1) / kConversationKeys),
        skew_(options.skew < 0 ? kConversationSkew : options.skew),
        ranks_(conversations_, skew_),
        conversation_of_rank_(conversations_, LayoutSeed(0)),
        newest_seed_(LayoutSeed(1)) {}

  std::string description() const override {
    return fmt::format("gen:messaging, {} keys in {} conversations, skew {}", options().keys, conversations_, skew_);
  }

 protected:
  Request Draw() override {
    Request request{.key = DrawKey(), .key_bytes = kKeyBytes};
    const double what = operations().Uniform();
    const double size = operations().Uniform();
    if (what >= kGetShare + kPutShare) {
      request.operation = Operation::kSeek;
      request.scan_length = static_cast<uint32_t>(1 + scan_.Quantile(size, kConversationKeys));
    } else if (what >= kGetShare) {
      request.operation = Operation::kPut;
      request.value_bytes = kValueBytes.Quantile(size);
    }
    return request;
  }

 private:
  uint64_t DrawKey() {
    const uint64_t conversation = conversation_of_rank_(ranks_.Draw(keys()) - 1);
    const uint64_t first = conversation * kConversationKeys;
    const uint64_t records = std::min(kConversationKeys, options().keys - first);
    const uint64_t newest = Mix64(conversation ^ newest_seed_) % records;
    const uint64_t age = age_.Quantile(keys().Uniform(), records);
    return first + (newest + records - age) % records;
  }

  uint64_t conversations_;
  double skew_;
  ZipfRanks ranks_;
  Permutation conversation_of_rank_;
  uint64_t newest_seed_;
  Geometric age_{kAgeMean};
  Geometric scan_{kScanMean};
};

}  // namespace

std::unique_ptr<RequestSource> MakeMessaging(const GeneratorOptions& options) {
  return std::make_unique<Messaging>(options);
}

uint32_t MessagingValueBytes(uint64_t key) { return kValueBytes.Quantile(UniformOf(Mix64(key))); }

}  // namespace mezz
