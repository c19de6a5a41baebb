// SPDX-License-Identifier: Apache-2.0
// The URI parser against random bytes and against mutations of good URIs: it never crashes, a refusal has a sentence,
// and what it accepts it can say again.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "integration/option_table.h"
#include "integration/options.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr std::string_view kGood[] = {
    "mezzanine://dram=256M;scm=1G@/mnt/pmem0/mezz",
    "mezzanine://dram=8M;scm=64M@dram;model=cxl;dram_cache=lru;serve=copy;policy=scm_first",
    "mezzanine://scm=64M@numa:1;dram=1T;segment=1M;block=4K;strict=true;verify=false;shard_bits=6",
    "mezzanine://dram=8M;scm=64M@dram;share=orders:reserve=10%,max=40%,priority=low,dram_max=50%",
    "mezzanine_scm://scm=64M@/dev/shm/x;policy=bidirectional",
    "mezzanine://dram=8M;scm=64M@/mnt/a,b,1G@numa:1,2T@dram",
    "mezzanine://dram=8M;scm=64M@/mnt/a>b>1G@numa:1,2T@dram;model=cxl,none,optane100",
    "mezzanine://dram=8M;scm=64M;medium=file;scm_path=/x",
};
constexpr std::string_view kWords[] = {"=",       ";",  "://",  "dram=", "scm=", "0",   "-",    "18446744073709551615",
                                       "T",       "K",  "%",    "numa:", "true", "\n",  "\xff", "anon",
                                       "medium=", "..", "1e9",  "  ",    "lru",  "=;=", "file", "block=",
                                       ",",       ">",  ",64M", ">64M@"};

std::string RandomBytes(std::mt19937_64& random) {
  std::string text(random() % 80, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string Mutated(std::mt19937_64& random) {
  std::string text(kGood[random() % std::size(kGood)]);
  for (uint64_t n = random() % 5; n > 0 && !text.empty(); --n) {
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, random() % 10);
        break;
      case 2:
        text.insert(at, kWords[random() % std::size(kWords)]);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
    }
  }
  return text;
}

// A URI whose keys come from the table and whose values are now and then what the row itself would print.
std::string FromTable(std::mt19937_64& random, std::set<std::string_view>* tried) {
  const auto table = OptionTable();
  HybridCacheOptions options;
  (random() % 4 == 0 ? options.dram_total_bytes : options.dram_bytes) = random() % 4 == 0 ? random() : 64 << 20;
  options.dram_shard_bits = static_cast<int>(random() % 24) - 2;
  options.scm.capacity_bytes = random() % 4 == 0 ? random() : 1 << 30;
  options.scm.segment_bytes = random() % 2 == 0 ? 0 : 1ull << random() % 40;
  options.scm.expected_block_bytes = random() % 2 == 0 ? 4096 : static_cast<uint32_t>(random());
  options.scm.verify = static_cast<VerifyMode>(random() % 4);
  if (options.scm.verify == VerifyMode::kKeyed || random() % 8 == 0) options.scm.verify_key_file = "/x";
  options.scm.prepare = static_cast<Prepare>(random() % 2);
  options.scm.scrub_on_close = random() % 2 == 0;
  options.scm.core_dump = static_cast<CoreDump>(random() % 3);
  options.scm.recovery = static_cast<Recovery>(random() % 2);
  options.scm.bus_errors = static_cast<BusErrorMode>(random() % 2);
  if (random() % 2 == 0) options.warm_dram_bytes = random() >> random() % 64;
  options.scm.scrub_bytes_per_second = random() % 2 == 0 ? 0 : random() >> random() % 64;
  options.write_budget_bytes_per_second = random() % 2 == 0 ? 0 : random() >> random() % 64;
  options.scm.medium = random() % 2 == 0 ? MediumKind::kFile : MediumKind::kAnonymous;
  if (options.scm.medium == MediumKind::kFile) options.scm.path = "/x";
  if (random() % 4 == 0) {
    options.scm.members = {{.path = "/x,y", .capacity_bytes = options.scm.capacity_bytes},
                           {.medium = MediumKind::kNumaNode, .numa_node = 1, .capacity_bytes = 1 << 30}};
    options.scm.path.clear();
    options.scm.medium = MediumKind::kFile;
    options.scm.capacity_bytes += std::min<uint64_t>(1 << 30, UINT64_MAX - options.scm.capacity_bytes);
  }
  options.serve = static_cast<ServeMode>(random() % 3);
  options.heirs = random() % 2 == 0;
  options.curve = random() % 2 == 0;
  if (random() % 2 == 0) options.curve_rate = static_cast<double>(1 + random() % 1000) / 1000;
  if (random() % (options.curve ? 2 : 8) == 0) options.curve_file = "/x";
  if (random() % 2 == 0) options.metrics = "file:/x";
  if (random() % 4 == 0) {
    options.share = "db";
    for (ShareLimits* const limits : {&options.share_limits.scm, &options.share_limits.dram})
      *limits = {static_cast<unsigned>(random() % 3 * 20), static_cast<unsigned>(40 + random() % 4 * 20),
                 static_cast<SharePriority>(random() % 3)};
  }
  std::string uri(random() % 2 == 0 ? kHybridScheme : kScmSecondaryScheme);
  for (const OptionRow& row : table) {
    if (uri.starts_with(kScmSecondaryScheme) && row.taken_by != TakenBy::kEveryUri && random() % 50 != 0) continue;
    std::string value = row.kind.print(options);
    const bool retired = row.key == "medium" || row.key == "scm_path";  // which print nothing
    if (retired ? random() % 20 != 0 : value.empty() || random() % 20 == 0) continue;
    if (retired || random() % 100 == 0) value = kWords[random() % std::size(kWords)];
    tried->insert(row.key);
    uri += std::string(row.key) + "=" + value + ";";
  }
  return uri;
}

const Machine kBoundless;

using Parser = Status (*)(std::string_view, HybridCacheOptions*, const Machine&);
using Printer = std::string (HybridCacheOptions::*)() const;

std::vector<std::string> PathsOf(const ScmOptions& scm) {
  std::vector<std::string> paths;
  if (!scm.path.empty()) paths.push_back(scm.path);
  for (const ScmMember& member : scm.members) {
    if (!member.path.empty()) paths.push_back(member.path);
  }
  return paths;
}

void Check(const std::string& uri, Parser parse, Printer print, uint64_t* accepted) {
  HybridCacheOptions options;
  const Status status = parse(uri, &options, kBoundless);
  if (!status.ok()) {
    ASSERT_FALSE(status.message().empty()) << uri;
    return;
  }
  ++*accepted;
  for (const std::string& path : PathsOf(options.scm))
    ASSERT_EQ(path.find_first_of(",>", path.size() - 1), std::string::npos) << uri << " makes a file " << path;
  HybridCacheOptions again;
  const Status second = parse((options.*print)(), &again, kBoundless);
  ASSERT_TRUE(second.ok()) << uri << " -> " << (options.*print)() << ": " << second.message();
  ASSERT_EQ((again.*print)(), (options.*print)()) << uri;
}

TEST(CacheUriFuzz, NothingCrashesTheParserAndWhatItTakesItCanSayAgain) {
  const uint64_t seed = test::Seed();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  uint64_t accepted = 0;
  std::set<std::string_view> tried;
  for (int i = 0; i < 200'000; ++i) {
    std::string uri = FromTable(random, &tried);
    if (random() % 2 == 0) uri = random() % 4 == 0 ? RandomBytes(random) : Mutated(random);
    if (random() % 8 == 0) uri.insert(0, kHybridScheme);
    Check(uri, ParseHybridUri, &HybridCacheOptions::ToUri, &accepted);
    Check(uri, ParseScmSecondaryUri, &HybridCacheOptions::ToScmSecondaryUri, &accepted);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(tried.size(), OptionTable().size()) << "some key was never tried";
  EXPECT_GT(accepted, 1000u) << "the mutations are too wild to reach the setters";
}

}  // namespace
}  // namespace mezz
