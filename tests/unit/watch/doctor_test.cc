// SPDX-License-Identifier: Apache-2.0
// Each rule of the doctor, over the figures of made-up caches.
#include "workloads/watch/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "cache/base/read_file.h"
#include "tests/unit/watch/figures.h"

namespace mezz::watch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Diagnosis Of(const Figures& figures) {
  MetricSamples samples;
  EXPECT_EQ(MetricSamples::Parse(figures.Text(), /*with_end=*/true, &samples).message(), "");
  return Diagnose(samples);
}

std::vector<std::string_view> RulesOf(const Diagnosis& diagnosis) {
  std::vector<std::string_view> rules;
  for (const Diagnosis::Finding& finding : diagnosis.findings) rules.push_back(finding.rule);
  return rules;
}

// Makes it a cache over several media, as their descriptions tell them.
void PutOn(const std::vector<std::string>& descriptions, Figures* figures) {
  std::string all;
  for (size_t i = 0; i < descriptions.size(); ++i) {
    const std::string labels = fmt::format(R"({{number="{}",description="{}"}})", i + 1, descriptions[i]);
    figures->values["member_bytes" + labels] = 512 << 20;
    figures->values["member_fault_total" + labels] = figures->values["member_left_out" + labels] = 0;
    all += (i == 0 ? "" : " + ") + descriptions[i];
  }
  figures->info["medium"] = "file+file";
  figures->info["description"] = all;
}

// One change of a healthy cache that one rule must find, and how the sentence tells it.
struct Case {
  std::string_view rule;
  std::function<void(Figures*)> spoil;
  std::string_view says;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.rule; }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"closed", [](Figures* f) { f->values["scm_closed"] = 1; }, "has closed itself"},
      {"faults", [](Figures* f) { f->values["scm_faults_total"] = 3; }, "3 faults"},
      {"faults", [](Figures* f) { f->values[R"(scm_checksum_mismatch_total{role="data"})"] = 2; }, "2 records"},
      {"not_dax",
       [](Figures* f) {
         f->info["description"] = "file /mnt/pmem0/mezz (ext4)";
         f->info["emulated"] = "true";
         f->values["scm_huge_page_bytes"] = 0;
       },
       "file /mnt/pmem0/mezz (ext4), is not mapped by DAX"},
      {"stands_in",
       [](Figures* f) {
         f->info["model"] = "cxl";
         f->info["emulated"] = "true";
       },
       "model=cxl"},
      {"stands_in", [](Figures* f) { f->info["model"] = "none,cxl"; }, "model=none,cxl"},
      {"small_pages", [](Figures* f) { f->values["scm_huge_page_bytes"] = 2 << 20; },
       "of 1 GiB of the medium 2 MiB came as pages"},
      {"lowest_used_cache_tier",
       [](Figures* f) { f->values[R"(refused_total{reason="not_persistable",role="data"})"] = 7; },
       "7 data blocks came from a database with lowest_used_cache_tier=kVolatileTier"},
      {"tiered_cache", [](Figures* f) { f->values[R"(refused_total{reason="compressed",role="data"})"] = 9; },
       "9 compressed blocks"},
      {"no_warming", [](Figures* f) { f->values[R"(warming_offered_total{writer="compaction"})"] = 0; },
       "warming does not reach the cache: compactions looked up 1000 blocks"},
      {"no_warming",
       [](Figures* f) {
         f->values[R"(warming_offered_total{writer="compaction"})"] = 0;
         f->values[R"(read_back_files_total{outcome="read"})"] = 5;  // the release could do better
       },
       "warming"},
      {"not_told", [](Figures* f) { f->values[R"(scm_file_forgotten_total{medium="file",role="data"})"] = 0; },
       "deleted files"},
      {"large_memtable", [](Figures* f) { f->values["largest_flush_bytes"] = 2e9; }, "and the cache has 1.2 GiB"},
      {"larger_than_segment", [](Figures* f) { f->values[R"(refused_total{reason="too_large",role="filter"})"] = 4; },
       "4 blocks (filter 4) are larger than a segment"},
      {"larger_than_shard", [](Figures* f) { f->values[R"(miss_total{role="filter"})"] = 6000; },
       "6000 of 11000 look-ups of filter blocks miss"},
      {"strict_dram", [](Figures* f) { f->values[R"(promotion_refused_total{role="data"})"] = 101; },
       "strict_capacity_limit, and 100 did"},
      {"no_metadata",
       [](Figures* f) {
         for (const char* name : {"dram_hit_total", "miss_total"}) {
           for (const char* role : {"index", "filter"}) f->values[fmt::format("{}{{role=\"{}\"}}", name, role)] = 0;
         }
       },
       "of 10000 look-ups none was of them"},
      {"no_gain", [](Figures* f) { f->values[R"(pack_rejected_total{role="data"})"] = 40000; },
       "do not pack (1.06 times)"},
      {"packed_in_vain",
       [](Figures* f) {
         f->info["medium"] = "numa:1";
         f->info["description"] = "numa node 1 (no CPUs)";
         f->values[R"(pack_rejected_total{role="data"})"] = 45000;
       },
       "45000 of 50000 tries"},
      {"displaced", [](Figures* f) { f->values[R"(scm_displaced_total{medium="file",role="data"})"] = 501; },
       "501 of 5000"},
      {"all_pinned", [](Figures* f) { f->values[R"(refused_total{reason="all_pinned",role="data"})"] = 1; },
       "iterators"},
  };
  return cases;
}

const std::vector<Case>& CasesOfSeveralMedia() {
  static const std::vector<Case> cases = {
      {"faults",
       [](Figures* f) {
         PutOn({"DRAM of this process", "devdax /dev/dax0.0"}, f);
         f->values["scm_faults_total"] = 3;
         f->values[R"(member_fault_total{number="2",description="devdax /dev/dax0.0"})"] = 3;
       },
       "3 faults (medium 2, devdax /dev/dax0.0: 3)"},
      {"left_out",
       [](Figures* f) {
         PutOn({"DRAM of this process", "devdax /dev/dax0.0"}, f);
         f->values[R"(member_left_out{number="2",description="devdax /dev/dax0.0"})"] = 1;
       },
       "not used any more: medium 2, devdax /dev/dax0.0"},
      {"not_dax",
       [](Figures* f) {
         PutOn({"DRAM of this process", "file /var/tmp/x (ext4)"}, f);
       },
       "the medium, file /var/tmp/x (ext4), is not"},
      {"not_dax",
       [](Figures* f) {
         PutOn({"file /a/x (ext4)", "file /mnt/pmem0/x (xfs-dax)", "file /b/x (xfs)"}, f);
       },
       "the medium, file /a/x (ext4) + file /b/x (xfs), is not"},
      {"no_gain",
       [](Figures* f) {
         PutOn({"DRAM of this process", "file /dev/shm/x (tmpfs)"}, f);
         f->values[R"(pack_rejected_total{role="data"})"] = 40000;
       },
       "do not pack"},
      {"packed_in_vain",
       [](Figures* f) {
         PutOn({"file /mnt/pmem0/x (ext4-dax)", "file /dev/shm/x (tmpfs)"}, f);
         f->values[R"(pack_rejected_total{role="data"})"] = 45000;
       },
       "45000 of 50000 tries"},
  };
  return cases;
}

class DoctorRule : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Each, DoctorRule, testing::ValuesIn(Cases()));
INSTANTIATE_TEST_SUITE_P(OfSeveralMedia, DoctorRule, testing::ValuesIn(CasesOfSeveralMedia()));

TEST_P(DoctorRule, FindsItAndNothingElse) {
  Figures figures;
  GetParam().spoil(&figures);
  const Diagnosis diagnosis = Of(figures);
  EXPECT_THAT(RulesOf(diagnosis), testing::ElementsAre(GetParam().rule));
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_THAT(diagnosis.findings[0].sentence, HasSubstr(std::string(GetParam().says)));
  EXPECT_FALSE(diagnosis.findings[0].remedy.empty());
  EXPECT_FALSE(diagnosis.healthy());
  EXPECT_THAT(DiagnosisText(diagnosis), HasSubstr("do: " + std::string(diagnosis.findings[0].remedy)));
}

TEST(Doctor, EachRuleHasACase) {
  std::set<std::string_view> ruled, tested;
  for (const Rule& rule : Rules()) EXPECT_TRUE(ruled.insert(rule.name).second) << rule.name;
  for (const auto* const cases : {&Cases(), &CasesOfSeveralMedia()}) {
    for (const Case& one : *cases) tested.insert(one.rule);
  }
  EXPECT_EQ(ruled, tested);
}

TEST(Doctor, AHealthyCacheHasNothing) {
  const Diagnosis diagnosis = Of(Figures());
  EXPECT_TRUE(diagnosis.healthy());
  EXPECT_THAT(diagnosis.too_early, IsEmpty());
  EXPECT_EQ(
      DiagnosisText(diagnosis),
      fmt::format("RocksDB 11.8.1, policy=adaptive, file /dev/shm/mezz (tmpfs)\nnone of {} rules found something\n",
                  Rules().size()));
}

TEST(Doctor, OfACacheThatHasDoneNothingItCannotTellAll) {
  Figures figures;
  for (auto& [name, value] : figures.values) {
    if (name.find("_total") != std::string::npos) value = 0;
  }
  figures.values["scm_ready_bytes"] = 16 << 20;
  const Diagnosis diagnosis = Of(figures);
  EXPECT_TRUE(diagnosis.healthy()) << DiagnosisText(diagnosis);
  EXPECT_THAT(diagnosis.too_early,
              testing::UnorderedElementsAre("small_pages", "no_warming", "not_told", "larger_than_shard", "no_metadata",
                                            "no_gain", "packed_in_vain", "displaced"));
  EXPECT_THAT(DiagnosisText(diagnosis), HasSubstr("too little has happened yet for: small_pages, no_warming"));
}

TEST(Doctor, WhatIsRightElsewhereIsNotWrong) {
  Figures pmem;
  pmem.info["description"] = "file /mnt/pmem0/mezz (ext4-dax)";
  pmem.info["granularity"] = "cache line";
  pmem.info["persistent_memory"] = "true";
  EXPECT_TRUE(Of(pmem).healthy());
  Figures device;
  device.info["description"] = "devdax /dev/dax0.0";
  device.info["persistent_memory"] = "true";
  EXPECT_TRUE(Of(device).healthy());
  Figures unmodelled;
  unmodelled.info["model"] = "none,none";
  EXPECT_TRUE(Of(unmodelled).healthy());
  Figures without_heirs;
  without_heirs.info["heirs"] = "off";
  without_heirs.values[R"(warming_offered_total{writer="compaction"})"] = 0;
  EXPECT_TRUE(Of(without_heirs).healthy());
  Figures raw;
  raw.info["pack"] = "off";
  for (auto& [name, value] : raw.values) {
    if (name.find("pack") != std::string::npos) value = 0;
  }
  EXPECT_TRUE(Of(raw).healthy());
  EXPECT_THAT(Of(raw).too_early, IsEmpty());
}

TEST(Doctor, AnOlderReleaseThatReadsBackIsWarmEnough) {
  Figures figures;
  figures.values[R"(warming_offered_total{writer="compaction"})"] = 0;
  figures.info["rocksdb"] = "9.9.3";
  EXPECT_THAT(RulesOf(Of(figures)), Contains("no_warming")) << "it does not";
  figures.values[R"(read_back_files_total{outcome="read"})"] = 5;
  EXPECT_TRUE(Of(figures).healthy());
  figures.info["rocksdb"] = "11.0.4";
  EXPECT_TRUE(Of(figures).healthy());
  figures.info["rocksdb"] = "11.1.0";
  EXPECT_THAT(RulesOf(Of(figures)), Contains("no_warming"));
}

TEST(Doctor, TellsAllInJson) {
  Figures figures;
  figures.values["scm_closed"] = 1;
  const nlohmann::json json = DiagnosisJson(Of(figures));
  EXPECT_EQ(json["healthy"], false);
  ASSERT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["rule"], "closed");
  EXPECT_THAT(json["findings"][0]["remedy"].get<std::string>(), HasSubstr("replace the device"));
}

// A name that is spelled otherwise would never be found, and its rule never fire.
TEST(Doctor, EveryFigureThatIsReadIsServed) {
  std::string metrics;
  ASSERT_TRUE(ReadWholeFile(MEZZ_SOURCE_DIR "/docs/reference/metrics.txt", &metrics));
  const std::regex name(R"re("([a-z_]+(?:_total|_bytes|_blocks|_closed))")re");
  size_t seen = 0;
  for (const char* source : {"rules.cc", "follow.cc"}) {
    std::string text;
    ASSERT_TRUE(ReadWholeFile(std::string(MEZZ_SOURCE_DIR "/workloads/watch/") + source, &text));
    for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found, ++seen) {
      if ((*found)[1].str().front() == '_') continue;  // the end of a name that is made
      EXPECT_THAT(metrics, HasSubstr("\nmezzanine_" + (*found)[1].str() + " ")) << source;
    }
  }
  EXPECT_GT(seen, 30u);
}

}  // namespace
}  // namespace mezz::watch
