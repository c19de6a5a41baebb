// SPDX-License-Identifier: Apache-2.0
// What the generators share; included by them only.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "workloads/generators/generators.h"
#include "workloads/generators/random.h"

namespace mezz {

// Counts the requests and restarts the streams of random numbers; a workload derives and implements Draw().
class Generator : public RequestSource {
 public:
  bool Next(Request* request) final {
    if (bounded_ && made_ == share_) return false;
    ++made_;
    *request = Draw();
    if (options_.put_share > 0 && operations_.Uniform() < options_.put_share) request->operation = Operation::kPut;
    return true;
  }
  Status status() const final { return Status::Ok(); }
  Status Rewind() final {
    made_ = 0;
    keys_ = Random(StreamSeed(kKeyStream));
    operations_ = Random(StreamSeed(kOperationStream));
    Restart();
    return Status::Ok();
  }
  uint64_t size_hint() const final { return share_; }

 protected:
  explicit Generator(const GeneratorOptions& options)
      : options_(options),
        share_(options.ops / options.streams + (options.stream < options.ops % options.streams ? 1 : 0)),
        bounded_(options.ops > 0),
        keys_(StreamSeed(kKeyStream)),
        operations_(StreamSeed(kOperationStream)) {}

  virtual Request Draw() = 0;
  // Forgets what Draw() remembers.
  virtual void Restart() {}

  const GeneratorOptions& options() const { return options_; }
  // For descriptions.
  std::string Puts() const { return options_.put_share > 0 ? fmt::format(", {} puts", options_.put_share) : ""; }
  // Two streams, so that what is done to a key never depends on which key it is.
  Random& keys() { return keys_; }
  Random& operations() { return operations_; }
  // The same in every substream.
  uint64_t LayoutSeed(uint64_t what) const { return Mix64(options_.seed) ^ Mix64(what + 1000); }

 private:
  enum : uint64_t { kKeyStream = 1, kOperationStream = 2 };
  uint64_t StreamSeed(uint64_t what) const { return Mix64(Mix64(options_.seed) + what) + options_.stream; }

  const GeneratorOptions options_;
  const uint64_t share_;
  const bool bounded_;
  uint64_t made_ = 0;
  Random keys_;
  Random operations_;
};

std::unique_ptr<RequestSource> MakeUniform(const GeneratorOptions& options);
std::unique_ptr<RequestSource> MakeZipf(const GeneratorOptions& options);
std::unique_ptr<RequestSource> MakeMessaging(const GeneratorOptions& options);
std::unique_ptr<RequestSource> MakeBlobMetadata(const GeneratorOptions& options);
std::unique_ptr<RequestSource> MakeLaser(const GeneratorOptions& options);
std::unique_ptr<RequestSource> MakeYcsb(const GeneratorOptions& options);

// Bytes of the value a key holds before its first put. They depend on nothing but the key.
uint32_t MessagingValueBytes(uint64_t key);
uint32_t BlobMetadataValueBytes(uint64_t key);
uint32_t LaserValueBytes(uint64_t key);
uint32_t YcsbValueBytes(uint64_t key);

}  // namespace mezz
