// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a file holds, a reader gives requests or an error that names the file; it never crashes or hangs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "../unit/workloads/compress.h"
#include "../unit/workloads/temporary_folder.h"
#include "workloads/readers/open_trace.h"

namespace mezz {
namespace {

constexpr int kRounds = 1500;

std::string RandomContent(std::mt19937_64& random) {
  std::string content(random() % (random() % 8 == 0 ? 100000 : 300), '\0');
  const bool text = random() % 2 == 0;
  constexpr std::string_view kTextBytes = "0123456789abcdefxX\n\n\n\r #-";
  for (char& c : content) c = text ? kTextBytes[random() % kTextBytes.size()] : static_cast<char>(random());
  return content;
}

void Damage(std::mt19937_64& random, std::string* bytes) {
  switch (random() % 5) {
    case 0:
      return;
    case 1:
      bytes->resize(bytes->size() - random() % (bytes->size() + 1));
      return;
    case 2:
      for (size_t i = 0; i < 1 + random() % 4 && !bytes->empty(); ++i)
        (*bytes)[random() % bytes->size()] ^= 1 << (random() % 8);
      return;
    case 3:
      bytes->append(std::string(random() % 20, static_cast<char>(random())));
      return;
    default:
      bytes->insert(random() % (bytes->size() + 1), RandomContent(random));
  }
}

TEST(TraceReaderFuzz, GivesRequestsOrAnErrorThatNamesTheFile) {
  const char* named = std::getenv("MEZZ_SEED");
  const uint64_t seed = named != nullptr ? std::strtoull(named, nullptr, 0) : std::random_device()();
  SCOPED_TRACE("replay with MEZZ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  TemporaryFolder folder;
  const auto formats = TraceFormatNames();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const std::string content = RandomContent(random);
    std::string bytes = Compress(kCompressions[random() % std::size(kCompressions)], content);
    Damage(random, &bytes);
    const std::string path = folder.Write("fuzz", bytes);
    const auto pick = random() % (formats.size() + 1);
    std::unique_ptr<RequestSource> source;
    Status status = OpenTrace(path, pick == formats.size() ? "" : formats[pick], &source);
    if (status.ok()) {
      uint64_t requests = 0;
      for (Request request; source->Next(&request);) ++requests;
      status = source->status();
      ASSERT_LT(requests, 64u << 20);
      Request request;
      ASSERT_FALSE(source->Next(&request)) << "the end, or an error, lasts";
    }
    if (!status.ok()) {
      ASSERT_NE(status.message().find(path), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace mezz
