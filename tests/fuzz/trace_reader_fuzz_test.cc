// SPDX-License-Identifier: Apache-2.0
// Whatever bytes a file holds, a reader gives requests or an error that names the file; it never crashes or hangs. With
// skip_bad it gives at least the same requests, and then no content makes it fail, but for a header that does not name
// the columns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "../support/requests.h"
#include "../unit/workloads/compress.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"
#include "workloads/readers/open_trace.h"

namespace mezz {
namespace {

constexpr int kRounds = 3000;
constexpr uint64_t kRequestsMax = 64u << 20;

using Random = std::mt19937_64;

// Mostly small, sometimes anything, sometimes no number at all.
std::string Number(Random& random, uint64_t below = 1000) {
  switch (random() % 60) {
    case 0:
      return std::to_string(random());
    case 1:
      return std::to_string(random() >> (random() % 64));
    case 2:
      return random() % 2 == 0 ? "" : "-1";
    default:
      return std::to_string(1 + random() % below);
  }
}

std::string OneOf(Random& random, std::initializer_list<std::string> words) {
  return random() % 60 == 0 ? "nonsense" : words.begin()[random() % words.size()];
}

std::string Bytes(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

struct Grammar {
  std::string header;
  std::function<std::string(Random& random)> record;
};

// Records of each format, some of their fields nonsense.
const std::vector<Grammar>& Grammars() {
  static const std::vector<Grammar> grammars = {
      {"version,time,op,size,lbn\n",
       [](Random& r) {
         return fmt::format("1,{},{},{},{}\n", Number(r), OneOf(r, {"28", "2a"}), Number(r), Number(r));
       }},
      {"", [](Random& r) { return fmt::format("{} {} 0 {}\n", Number(r), Number(r), Number(r)); }},
      {"", [](Random& r) { return fmt::format("{} {} {} {} 1\n", Number(r), Number(r), Number(r), Number(r)); }},
      {"",
       [](Random& r) {
         return fmt::format("{},{},{},{},{}.5\n", Number(r), Number(r), Number(r), OneOf(r, {"R", "w"}), Number(r));
       }},
      {"",
       [](Random& r) {
         return fmt::format("{},k{},{},{},{},{},0\n", Number(r), Number(r), Number(r), Number(r), Number(r),
                            OneOf(r, {"get", "set", "delete", "incr"}));
       }},
      {"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n",
       [](Random& r) {
         return fmt::format("{},k,{},{},{},{},{},0,1,2\n", Number(r), Number(r),
                            OneOf(r, {"GET", "SET_LEASE", "DELETE"}), Number(r, 4), Number(r), Number(r));
       }},
      {"op_time,block_id,io_size,io_offset,op_name,op_count\n",
       [](Random& r) {
         return fmt::format("{},b{},{},{},{},{}\n", Number(r), Number(r), Number(r), Number(r),
                            OneOf(r, {"getChunkData.X", "putChunk.Y"}), Number(r, 3));
       }},
      {"",
       [](Random& r) {
         return fmt::format("{},{},{},{},0,default,{},{},1,{},{},{},{},{},{},1,1,0,22,16,{}\n", Number(r), Number(r),
                            OneOf(r, {"7", "8", "9", "10", "11"}), Number(r), Number(r, 7), Number(r),
                            OneOf(r, {"0", "1"}), Number(r), Number(r), Number(r), OneOf(r, {"0", "1"}),
                            OneOf(r, {"0", "1"}), Number(r));
       }},
      {"key,op,value_bytes,extent_bytes,time_us,level,recorded\n",
       [](Random& r) {
         return fmt::format("{},{},{},{},{},{},{}\n", Number(r), OneOf(r, {"get", "put", "seek", ""}), Number(r),
                            Number(r), Number(r), OneOf(r, {"0", "6", "-1", ""}), OneOf(r, {"hit", "miss", ""}));
       }},
      {"",
       [](Random& r) {
         return Bytes(r() % 100, 4) + Bytes(r(), 8) + Bytes(r() % 5000, 4) +
                Bytes(r() % 40 == 0  ? r()
                      : r() % 2 == 0 ? r() % 1000
                                     : ~uint64_t{0},
                      8);
       }},
      {"",
       [](Random& r) {
         return Bytes(r(), 4) + Bytes(r() % 30 == 0 ? r() : 512, 4) + Bytes(1, 4) +
                Bytes(r() % 30 == 0 ? r() : 0x28 + r() % 2 * 2, 2) + Bytes(r() % 30 == 0 ? r() : 0x100, 2) +
                Bytes(r() % 30 == 0 ? r() : r() % 10000, 8) + Bytes(r(), 8);
       }},
      {"", [](Random& r) {
         return Bytes(r() % 30 == 0 ? r() : 0x28 + r() % 2 * 2, 2) + Bytes(r() % 30 == 0 ? r() : 0x200, 2) +
                Bytes(r(), 4) + Bytes(r() % 30 == 0 ? r() : 512, 4) + Bytes(1, 4) +
                Bytes(r() % 30 == 0 ? r() : r() % 10000, 8) + Bytes(r(), 8) + Bytes(r(), 8);
       }}};
  return grammars;
}

std::string RandomContent(Random& random) {
  if (random() % 3 != 0) {
    const Grammar& grammar = Grammars()[random() % Grammars().size()];
    std::string content = random() % 40 == 0 ? "" : grammar.header;
    for (uint64_t records = random() % 200; records > 0; --records) content += grammar.record(random);
    return content;
  }
  std::string content(random() % (random() % 8 == 0 ? 100000 : 300), '\0');
  const bool text = random() % 2 == 0;
  constexpr std::string_view kTextBytes = "0123456789abcdefxX\n\n\n\r #-,";
  for (char& c : content) c = text ? kTextBytes[random() % kTextBytes.size()] : static_cast<char>(random());
  return content;
}

void Damage(Random& random, std::string* bytes) {
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

// Reads to the end; what is wrong with what came, or nothing.
void CheckRequests(RequestSource* source, std::vector<Request>* requests) {
  for (Request request; source->Next(&request);) {
    ASSERT_LE(request.extent_bytes, kExtentBytesMax);
    ASSERT_GE(request.key + request.extent_bytes, request.key) << "an extent that wraps";
    requests->push_back(request);
    ASSERT_LT(requests->size(), kRequestsMax);
  }
  Request request;
  ASSERT_FALSE(source->Next(&request)) << "the end, or an error, lasts";
}

void CheckFile(const std::string& path, const std::string& format) {
  std::unique_ptr<RequestSource> source;
  Status status = OpenTrace(path, format, &source);
  const bool opened = status.ok();
  std::vector<Request> requests, more;
  if (opened) {
    ASSERT_NO_FATAL_FAILURE(CheckRequests(source.get(), &requests));
    status = source->status();
  }
  if (!status.ok()) {
    ASSERT_NE(status.message().find(path), std::string::npos) << status.message();
  }
  const Status skips = OpenTrace(path, {.format = format, .skip_bad = true}, &source);
  ASSERT_EQ(skips.ok(), opened) << skips.message();
  if (!opened) return;
  ASSERT_NO_FATAL_FAILURE(CheckRequests(source.get(), &more));
  // Without its header a trace is nothing; else damage is skipped, whatever it is.
  ASSERT_TRUE(source->status().ok() || more.empty()) << source->status().message();
  if (source->status().ok()) {
    ASSERT_EQ(source->skipped() > 0, !status.ok());
  }
  ASSERT_LE(requests.size(), more.size());
  ASSERT_TRUE(std::equal(requests.begin(), requests.end(), more.begin())) << "skipping changes what is good";
}

TEST(TraceReaderFuzz, GivesRequestsOrAnErrorThatNamesTheFile) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("replay with MEZZ_SEED=" + std::to_string(seed));
  Random random(seed);
  TemporaryFolder folder;
  const auto formats = TraceFormatNames();
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::string bytes = RandomContent(random);
    if (random() % 2 == 0) Damage(random, &bytes);
    if (random() % 2 == 0) {
      bytes = Compress(kCompressions[random() % std::size(kCompressions)], bytes);
      Damage(random, &bytes);
    }
    // Half are read as what they look like: damaged traces, not noise.
    const bool guess = random() % 2 == 0;
    const std::string path = folder.Write("fuzz", bytes);
    ASSERT_NO_FATAL_FAILURE(CheckFile(path, guess ? "" : std::string(formats[random() % formats.size()])));
  }
}

}  // namespace
}  // namespace mezz
