// SPDX-License-Identifier: Apache-2.0
// What a core dump of a process with a cache would hold: core_dump=none, dram, all.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "cache/base/undumped_memory.h"
#include "cache/pack/staged_blocks.h"
#include "cache/scm_tier.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/version.h"
#include "tests/support/open_db.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string UriWith(std::string_view keys) { return fmt::format("mezzanine://dram=4M;scm=64M@dram{}", keys); }
constexpr int kKeys = 8000;

// Made here, so that no page of the program holds it. `last`: a test's own, as what others left does not count.
std::string MakeMark(char last) {
  std::string mark = "nznexvaablopxbs_nf_jryy";
  for (char& letter : mark) {
    if (letter != '_') letter = static_cast<char>('a' + (letter - 'a' + 13) % 26);
  }
  return mark + last;
}

// How often the mark lies where a dump finds it: in private memory that is not left out (core(5): all of it by
// default but what a file still has).
size_t MarksInDump(const std::string& mark) {
  constexpr size_t kChunk = 1 << 20;
  const UndumpedBuffer chunk(kChunk);  // this reader's own copy does not count
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  std::ifstream maps("/proc/self/smaps");
  size_t marks = 0;
  uintptr_t begin = 0, end = 0;
  char rights[5] = "";
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    char flags[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s ", &from, &to, flags) == 3) {
      begin = from;
      end = to;
      std::memcpy(rights, flags, sizeof(rights));
    }
    if (!line.starts_with("VmFlags:") || (line + " ").find(" dd ") != std::string::npos) continue;
    if (std::string_view(rights).substr(0, 2) != "rw") continue;
    for (uintptr_t at = begin; at < end; at += kChunk - mark.size()) {
      const ssize_t read = pread(memory, chunk.get(), std::min<size_t>(kChunk, end - at), static_cast<off_t>(at));
      if (read <= 0) break;
      const std::byte* found = chunk.get();
      while ((found = static_cast<const std::byte*>(memmem(found, static_cast<size_t>(chunk.get() + read - found),
                                                           mark.data(), mark.size()))) != nullptr) {
        ++marks;
        found += mark.size();
      }
    }
  }
  close(memory);
  return marks;
}

// A database whose values bear the mark. They came by a file, so no memtable held them.
class MarkedDb : private test::ScratchDb {
 public:
  MarkedDb(const std::string& mark, std::shared_ptr<rocksdb::Cache> cache) {
    options_.table_factory = test::TablesOf(std::move(cache));
    Open();
    const std::string file = folder_.Path("values");
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_TRUE(writer.Open(file).ok());
    std::mt19937_64 random(1);
    for (int i = 0; i < kKeys; ++i) {
      std::string value(1000, 0);
      for (char& byte : value) byte = static_cast<char>(random() % 16 * 3);  // it packs, if not to much less
      value.replace(500, mark.size(), mark);
      EXPECT_TRUE(writer.Put(Key(i), value).ok());
    }
    EXPECT_TRUE(writer.Finish().ok());
    rocksdb::IngestExternalFileOptions ingest;
    ingest.move_files = true;
    EXPECT_TRUE(db_->IngestExternalFile({file}, ingest).ok());
  }

  void Read(int times) {
    std::mt19937_64 random(2);
    rocksdb::PinnableSlice value;
    for (int i = 0; i < times; ++i) {
      EXPECT_TRUE(db_->Get({}, db_->DefaultColumnFamily(), Key(static_cast<int>(random() % kKeys)), &value).ok());
      value.Reset();
    }
  }

 private:
  static std::string Key(int i) {
    char key[16];
    std::snprintf(key, sizeof(key), "key%08d", i);
    return key;
  }
};

Status MakeCache(const std::string& uri, std::shared_ptr<rocksdb::Cache>* cache) {
  HybridCacheOptions options;
  const Status parsed = ParseHybridUri(uri, &options);
  return parsed.ok() ? NewHybridCache(options, cache) : parsed;
}

size_t MarksInDumpWith(const std::string& keys) {
  std::shared_ptr<rocksdb::Cache> cache;
  const Status made = MakeCache(UriWith(keys), &cache);
  EXPECT_EQ(made.message(), "");
  if (!made.ok()) return 0;
  const std::string mark = MakeMark('1');
  size_t marks = 0;
  {
    MarkedDb db(mark, cache);
    db.Read(4 * kKeys);
    EXPECT_GT(GetHybridStats(cache.get())->Counters()[Event::kScmHit], 1000u);
    marks = MarksInDump(mark);
  }
  return marks;
}

TEST(CoreDump, HoldsTheBlocksOfDramUnlessItIsToHoldNone) {
  if (test::kKeepsFreedMemory) GTEST_SKIP() << "the sanitizer keeps what is freed";
  mallopt(M_PERTURB, 0xa5);  // what RocksDB wrote and read files with is overwritten where it is freed
#if ROCKSDB_MAJOR >= 8
  const std::string kinds[] = {";dram_cache=hcc", ";dram_cache=lru"};
  for (const std::string& kind : kinds) {
    SCOPED_TRACE(kind);
    EXPECT_LT(MarksInDumpWith(kind + ";pack=off;core_dump=none"), 20u) << "what RocksDB reads files with";
    EXPECT_LT(MarksInDumpWith(kind + ";core_dump=none"), 20u) << "packed";
    EXPECT_LT(MarksInDumpWith(kind + ";core_dump=none;policy=bidirectional"), 20u) << "promoted";
  }
  for (const std::string& kind : kinds) {
    SCOPED_TRACE(kind);
    const size_t in_dram = MarksInDumpWith(kind + ";pack=off");
    EXPECT_GT(in_dram, 2000u) << "4 MiB of DRAM have some 4,000 values";
    EXPECT_LT(in_dram, 7000u) << "not those of the medium";
  }
#else
  EXPECT_GT(MarksInDumpWith(";pack=off"), 2000u) << "4 MiB of DRAM have some 4,000 values";
  EXPECT_LT(MarksInDumpWith(";pack=off"), 6000u) << "not those of the medium";
#endif
}

#if ROCKSDB_MAJOR >= 8

TEST(CoreDump, ACacheWhoseMemoryIsItsOwnersIsRefusedToHoldNone) {
  HybridCacheOptions options;
  ASSERT_TRUE(ParseHybridUri(UriWith(";core_dump=none"), &options).ok());
  std::shared_ptr<rocksdb::Cache> cache;
  const Status wrapped = WrapCache(rocksdb::NewLRUCache(4 << 20), options, &cache);
  EXPECT_EQ(wrapped.code(), Status::Code::kInvalidArgument);
  EXPECT_THAT(std::string(wrapped.message()), AllOf(HasSubstr("core_dump=none"), HasSubstr("use NewHybridCache")));
  EXPECT_EQ(cache, nullptr);
}

#else

TEST(CoreDump, ToHoldNoneIsRefusedWhereRocksDBCopiesItself) {
  std::shared_ptr<rocksdb::Cache> cache;
  const Status made = MakeCache(UriWith(";core_dump=none"), &cache);
  EXPECT_EQ(made.code(), Status::Code::kNotSupported);
  EXPECT_THAT(std::string(made.message()),
              AllOf(HasSubstr("core_dump=none needs RocksDB 8.9"), HasSubstr("core_dump=dram")));
}

#endif

TEST(CoreDump, HoldsNothingThatWaitsToBePacked) {
  const std::string mark = MakeMark('2');
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.pack = PackMode::kLz4;
  options.pack_stage_bytes = kUsualPackStageBytes;
  const std::unique_ptr<ScmTier> tier = test::OpenOrDie(options);
  {
    const UndumpedBuffer block(4000);  // this writer's own copy does not count
    std::memcpy(block.get() + 2000, mark.data(), mark.size());
    for (uint64_t n = 1; n <= StagedBlocks::kUnits; ++n) {
      EXPECT_EQ(tier->Put(test::Key(n), BlockRole::kData, {block.get(), 4000}, Generation::kYoung, Form::kPacked),
                PutResult::kStored);
    }
  }
  EXPECT_GT(tier->figures().staged_puts(), 0u);
  EXPECT_LT(MarksInDump(mark), StagedBlocks::kUnits / 8);
}

TEST(CoreDump, AFormerNameOfTheValueSaysWhetherTheMediumIsInIt) {
  HybridCacheOptions options;
  ASSERT_TRUE(ParseHybridUri(UriWith(";core_dump=true"), &options).ok());
  EXPECT_EQ(options.scm.core_dump, CoreDump::kAll);
  ASSERT_TRUE(ParseHybridUri(UriWith(";core_dump=0"), &options).ok());
  EXPECT_EQ(options.scm.core_dump, CoreDump::kDram);
  EXPECT_THAT(std::string(ParseHybridUri(UriWith(";core_dump=some"), &options).message()),
              HasSubstr("core_dump=some is unknown: choose none, dram or all"));
}

TEST(CoreDump, ASecondaryCacheCannotAnswerForTheCacheAbove) {
  HybridCacheOptions options;
  EXPECT_THAT(std::string(ParseScmSecondaryUri("mezzanine_scm://scm=64M@dram;core_dump=none", &options).message()),
              HasSubstr("core_dump=none"));
}

}  // namespace
}  // namespace mezz
