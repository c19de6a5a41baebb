// SPDX-License-Identifier: Apache-2.0
#include "integration/option_table.h"

#include <utility>

#include "fmt/format.h"
#include "integration/option_values.h"

namespace mezz {
namespace {

using Options = HybridCacheOptions;

constexpr OptionRow kTable[] = {
    {.key = "dram",
     .kind = kDram,
     .taken_by = TakenBy::kDramTier,
     .values = "size",
     .fallback = "required without `dram_total` (preload: the program's own cache)",
     .meaning = "the DRAM tier"},
    {.key = "dram_total",
     .kind = kSize<&Options::dram_total_bytes>,
     .taken_by = TakenBy::kNotSecondary,
     .values = "size",
     .fallback = "required without `dram` (preload: the program's own cache)",
     .meaning = "instead of `dram`: all of our DRAM. The DRAM tier gets what index, policy and our other structures "
                "leave. A program's own cache is resized to that"},
    {.key = "dram_cache",
     .kind = kWord<&Options::dram_cache>,
     .taken_by = TakenBy::kDramTier,
     .instead = "leave it out: the DRAM tier is HyperClockCache, and on RocksDB 7.8 LRUCache"},
    {.key = "shard_bits",
     .kind = kNumber<&Options::dram_shard_bits>,
     .taken_by = TakenBy::kDramTier,
     .instead = "leave it out: the cache chooses by the size of the DRAM tier"},
    {.key = "strict",
     .kind = kBool<&Options::strict_capacity_limit>,
     .taken_by = TakenBy::kDramTier,
     .instead = "leave it out: the DRAM tier takes what is in use; a program may set "
                "HybridCacheOptions::strict_capacity_limit"},
    {.key = "scm",
     .kind = kMedia,
     .values = "SIZE@PLACE, eight segments to 4T. PLACE: a file to create or reuse, a devdax device, `numa:N`, `dram`",
     .fallback = "required",
     .meaning =
         "the SCM tier, and where its bytes live. `numa:N`: memory of node N (CXL); `dram`: memory of the process, "
         "which ends with it; a file in `/dev/shm` does not. Costs 9.4 bytes of DRAM for each `block` bytes. "
         "Several, as `64G@/mnt/pmem0/mezz,64G@/mnt/pmem1/mezz`, are [one tier over all]"
         "(../how-to/devices.md#several-media); `64G@numa:1>256G@/mnt/pmem0/mezz` has a fast and a slow one. "
         "In a path `,` and `>` stand before letters only"},
    {.key = "scm_path",
     .kind = kFile<&ScmOptions::path, Always>,
     .instead = "name the file behind the size: scm=1G@/mnt/pmem0/mezz"},
    {.key = "medium", .kind = kMedium, .instead = "name the medium behind the size: scm=1G@dram, scm=1G@numa:1"},
    {.key = "model",
     .kind = kModels,
     .for_experts = true,
     .meaning =
         "declared emulation of a slower medium; never for production. Of several media one each: `cxl,optane100`"},
    {.key = "segment",
     .kind = kSize<&ScmOptions::segment_bytes>,
     .for_experts = true,
     .values = "a power of two, 256K to 64M",
     .fallback = "`scm` / 256, from 256K to 4M",
     .meaning =
         "what is reclaimed at once, and the largest block. Larger: longer reclaims, and a small tier wastes more"},
    {.key = "block",
     .kind = kSize<&ScmOptions::expected_block_bytes>,
     .values = "size, 64 to `segment`",
     .meaning = "the usual size of a block, by which index and policy are sized. Larger than blocks are: too few index "
                "words, so blocks are displaced. Smaller: more DRAM for words that nothing needs"},
    {.key = "prepare",
     .kind = kWord<&ScmOptions::prepare>,
     .instead = "leave it out: the medium is prepared beside the first use"},
    {.key = "recovery",
     .kind = kWord<&ScmOptions::recovery>,
     .meaning = "what becomes of the blocks that an earlier process left in the file of `scm`: `warm` finds them again "
                "([reliability](../explanation/reliability.md)), `discard` forgets them, "
                "`require` finds them or refuses to open. "
                "`dram` and `numa` start cold, and `warm` says so; `auto` is `warm` for a file or device, and "
                "`discard` for those"},
    {.key = "recovery_budget",
     .kind = kTime,
     .instead = "leave it out: recovery goes on beside the first requests until all is back"},
    {.key = "warm_dram",
     .kind = kWarmDram,
     .taken_by = TakenBy::kNotSecondary,  // a stock cache shows nobody what it holds
     .for_experts = true,
     .values = "size, `all`, or 0: none",
     .fallback = "`all`",
     .meaning = "with `recovery`: how much of the DRAM tier outlives a restart "
                "([how](../explanation/reliability.md#what-dram-held)). So many bytes of blocks go back into it at "
                "their first SCM hit; and when the cache is closed, as many are written to SCM that only DRAM has, "
                "which takes 5 s at most. Smaller: a close writes less"},
    {.key = "erase",
     .kind = kWord<&ScmOptions::erase>,
     .instead =
         "leave it out: RocksDB's keys never change their bytes; a program with other keys sets ScmOptions::erase"},
    {.key = "verify",
     .kind = kVerify,
     .values = "`off`, `sampled`, `always`, `keyed:FILE`",
     .fallback = "`sampled`",
     .meaning =
         "checksums of payloads at hits, about 0.1 ns a byte (`sampled`: about 4 bytes a hit); `true` is "
         "`always`, `false` is `off`. `keyed`: a code that nobody can make without the 32 random bytes in FILE (mode "
         "0600), at every hit, about 0.5 ns a byte ([security](../explanation/security.md)). With another key the "
         "blocks are discarded"},
    {.key = "verify_key_file",
     .kind = kFile<&ScmOptions::verify_key_file, IsKeyed>,
     .instead = "use verify=keyed:FILE"},
    {.key = "faults_max",
     .kind = kNumber<&ScmOptions::faults_max>,
     .instead = "leave it out: sixteen faults close the SCM tier"},
    {.key = "bus_errors",
     .kind = kWord<&ScmOptions::bus_errors>,
     .meaning =
         "memory that is not there any more, poisoned or of a file that was cut off, sends SIGBUS. `contain`, the "
         "default of `mezzanine_preload`: where the cache itself reads or writes it, that is a counted miss, and its "
         "segment is taken out of use; a handler for SIGBUS is installed. What RocksDB reads in place ends the process "
         "either way: with `serve=copy` nothing is "
         "([what is promised](../explanation/reliability.md#memory-that-fails-while-it-is-used))"},
    {.key = "pack",
     .kind = kWord<&ScmOptions::pack>,
     .meaning =
         "whether records are packed: more blocks fit, and each hit of a packed one is unpacked. `image`: blocks that "
         "came back as compressed SSTs hold them, others with LZ4. `auto`: raw, with `lz4` or `zstd`, by what a miss "
         "costs now. The index grows with the blocks that fit, to four times the DRAM at most"},
    {.key = "pack_stage",
     .kind = kSizeOrZero<&ScmOptions::pack_stage_bytes>,
     .instead = "leave it out: a thread packs what compactions write, and a request what it demotes"},
    {.key = "scrub",
     .kind = kSizeOrZero<&ScmOptions::scrub_bytes_per_second>,
     .instead = "leave it out: verify=always checks every hit"},
    {.key = "scrub_on_close",
     .kind = kBool<&ScmOptions::scrub_on_close>,
     .meaning = "overwrites all that was stored when the cache is closed, which takes what writing it takes "
                "([security](../explanation/security.md)). A killed process leaves it, for the next one to do so"},
    {.key = "core_dump",
     .kind = kCoreDump,
     .meaning = "which blocks a core dump holds: `dram` those of the DRAM tier, `all` the medium too, `none` neither, "
                "which needs RocksDB 8.9 or later ([security](../explanation/security.md))"},
    {.key = "policy",
     .kind = kText<&Options::policy>,
     .values = "`adaptive` and the others of [policies](../explanation/policies.md)",
     .fallback = "`adaptive`",
     .meaning = "decides what moves between the tiers"},
    {.key = "write_budget",
     .kind = kSizeOrZero<&Options::write_budget_bytes_per_second>,
     .for_experts = true,
     .values = "bytes a second, or 0: none",
     .meaning = "what `adaptive` may have written; the other policies do not keep to it. Larger: more wear, reads that "
                "wait for writes, and more blocks kept"},
    {.key = "serve",
     .kind = kWord<&Options::serve>,
     .taken_by = TakenBy::kNotSecondary,  // the SecondaryCache interface always copies
     .for_experts = true,
     .meaning = "how an SCM hit that is not promoted is answered"},
    {.key = "blobs",
     .kind = kWord<&Options::blobs>,
     .taken_by = TakenBy::kNotSecondary,  // what enters a stock cache is its own choice
     .for_experts = true,
     .meaning = "where BlobDB's values may lie. `scm`: in the SCM tier alone, which leaves DRAM to keys "
                "([companions](../how-to/separate_values.md)). Not with RocksDB 7.8"},
    {.key = "heirs",
     .kind = kHeirs,
     .taken_by = TakenBy::kNotSecondary,  // a stock cache has its own way with what it is offered
     .for_experts = true,
     .fallback = "`on`",
     .meaning = "whether blocks that a compaction writes take the places of those that it read "
                "([heirs](../explanation/heirs.md)). `off`: RocksDB's own warming, if there is "
                "any, goes to DRAM"},
    {.key = "curve",
     .kind = kCurve,
     .taken_by = TakenBy::kNotSecondary,  // a stock cache tells nobody of its hits
     .values = "`off`, `on`, a share of the blocks above 0 to 1, a path to write, SHARE:PATH",
     .fallback = "`off`",
     .meaning = "whether the cache keeps a sample of its look-ups, for hit ratios at other sizes "
                "([planning](../explanation/planning.md#live-curves)). Takes 8 MiB of DRAM at most. The share is 0.01 "
                "unless said; larger: sure of smaller caches, and more hits pay. The path begins with `/` or `./`: the "
                "curve goes there with each report and when the cache goes, and `mezz_plan --curve=` reads it"},
    {.key = "curve_rate",
     .kind = kCurveRate,
     .taken_by = TakenBy::kNotSecondary,
     .instead = "use curve=RATE, or curve=RATE:FILE"},
    {.key = "curve_file",
     .kind = kFile<&Options::curve_file, HasCurve>,
     .taken_by = TakenBy::kNotSecondary,
     .instead = "use curve=FILE"},
    {.key = "share",
     .kind = kShare,
     .taken_by = TakenBy::kNotSecondary,
     .values =
         "NAME, or NAME:LIMIT,... of `reserve=P%`, `max=P%`, `priority=low`, `normal` or `high`, `dram_reserve=P%`, "
         "`dram_max=P%`",
     .fallback = "none",
     .meaning = "one of several databases of a process that share the cache which the rest of the URI names "
                "([shares](../how-to/run.md#shares)). `reserve` and `max` are of both tiers, unless DRAM has its own. "
                "preload: `*`, each further cache of the program by its database's path, from RocksDB 8.9 on"},
    {.key = "metrics",
     .kind = kText<&Options::metrics>,
     .values = "`unix:PATH`, `tcp:127.0.0.1:PORT`, `tcp-any:ADDRESS:PORT`, `file:PATH`",
     .fallback = "none",
     .meaning =
         "where monitoring finds the figures ([metrics](../how-to/watch.md#metrics)): a socket that answers HTTP, "
         "or a file that is written every ten seconds. `tcp` takes loopback addresses only: who reaches a socket "
         "needs no password"}};

// What judges say of their structs, and what stands for it in the URI.
constexpr std::pair<std::string_view, std::string_view> kKeysOf[] = {{"capacity_bytes", "scm"},
                                                                     {"segment_bytes", "segment"},
                                                                     {"expected_block_bytes", "block"},
                                                                     {"recovery_budget_ms", "recovery_budget"},
                                                                     {"pack_stage_bytes", "pack_stage"},
                                                                     {"scrub_bytes_per_second", "scrub"},
                                                                     {"path=", "the medium "},
                                                                     {"members:", "scm:"},
                                                                     {"numa_node=", "the medium numa:"},
                                                                     {"medium=dram", "the medium dram"},
                                                                     {"verify_key_file=", "verify=keyed:"},
                                                                     {"curve_rate=", "curve="}};

bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Whole words only. One that ends in '=' is an option of its own, so it stands where an option stands: a path may hold
// anything.
void ReplaceWord(std::string_view word, std::string_view by, std::string* text) {
  const bool is_option = word.back() == '=';
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at)) {
    const size_t end = at + word.size();
    const char before = at == 0 ? ' ' : (*text)[at - 1];
    const bool whole =
        is_option ? before == ' ' : !IsWordCharacter(before) && (end == text->size() || !IsWordCharacter((*text)[end]));
    if (whole) text->replace(at, word.size(), by);
    at += whole ? by.size() : word.size();
  }
}

}  // namespace

std::span<const OptionRow> OptionTable() { return kTable; }

std::string PrintItems(const Options& options, bool secondary) {
  const Options untouched;
  std::string items;
  for (const OptionRow& row : kTable) {
    if (secondary && row.taken_by != TakenBy::kEveryUri) continue;
    const std::string value = row.kind.print(options);
    if (row.offered_to() == OfferedTo::kNobody && value == row.kind.print(untouched)) continue;
    if (!value.empty()) items += fmt::format("{}{}={}", items.empty() ? "" : ";", row.key, value);
  }
  return items;
}

std::string OptionsAsMarkdown(OfferedTo whom) {
  std::string text = "| key | values | default | what it is | taken by |\n|---|---|---|---|---|\n";
  for (const OptionRow& row : kTable) {
    if (row.offered_to() != whom) continue;
    const char* const mark = row.kind.words.empty() ? "" : "`";
    std::string values(row.values);
    for (const std::string_view word : row.kind.words)
      if (row.values.empty()) values += fmt::format("{}`{}`", values.empty() ? "" : ", ", word);
    const std::string fallback =
        row.fallback.empty() ? fmt::format("{}{}{}", mark, row.kind.print({}), mark) : std::string(row.fallback);
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, values, fallback, row.meaning, ToString(row.taken_by));
  }
  return text;
}

std::string InKeys(std::string_view message) {
  std::string text(message);
  for (const auto& [word, by] : kKeysOf) ReplaceWord(word, by, &text);
  return text;
}

}  // namespace mezz
