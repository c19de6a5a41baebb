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

// Lines of a block trace, some of their fields nonsense.
std::string RandomRecords(std::mt19937_64& random) {
  const bool csv = random() % 2 == 0;
  std::string content = csv ? "version,time,op,size,lbn\n" : "";
  for (uint64_t line = random() % 200; line > 0; --line) {
    const size_t fields = (csv ? 5 : 4) + (random() % 40 == 0 ? 1 : 0);
    for (size_t field = 0; field < fields; ++field) {
      if (field > 0) content += csv ? "," : " ";
      if (csv && field == 2 && random() % 20 != 0) {
        content += random() % 2 == 0 ? "28" : "2a";
      } else {
        content += std::to_string(random() % 30 == 0 ? random() : 1 + random() % 1000);
      }
    }
    content += "\n";
  }
  return content;
}

std::string RandomContent(std::mt19937_64& random) {
  if (random() % 3 == 0) return RandomRecords(random);
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
      for (Request request; source->Next(&request); ++requests) {
        ASSERT_LE(request.extent_bytes, kExtentBytesMax);
        ASSERT_GE(request.key + request.extent_bytes, request.key) << "an extent that wraps";
      }
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
