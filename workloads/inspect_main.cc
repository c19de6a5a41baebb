// SPDX-License-Identifier: Apache-2.0
// mezz_inspect: what lies on a medium that no cache has open, and how a cache that runs is set up. It only reads.
#include <fcntl.h>
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "cache/base/text.h"
#include "cache/inspection.h"
#include "workloads/program/command_line.h"
#include "workloads/program/program.h"
#include "workloads/watch/doctor.h"
#include "workloads/watch/follow.h"
#include "workloads/watch/metrics_source.h"

DEFINE_bool(verify, false, "Read every payload and check it");
DEFINE_string(key_file, "",
              "Of a medium of verify=keyed: the file of its key, so that --verify tells what is not its owner's");
DEFINE_bool(json, false, "Print one JSON object instead of lines");
DEFINE_string(
    doctor, "",
    "Running cache whose set-up to judge: what its metrics= names (unix:PATH, tcp:ADDRESS:PORT, file:PATH), or "
    "the number of a preloaded process");
DEFINE_string(follow, "", "Running cache to show every second, named likewise");
DEFINE_int64(count, 0, "--follow: end after so many looks. 0: never");

namespace {

constexpr int kExitDamaged = 1, kExitWrong = 1;
constexpr uint64_t kDaxAlignment = 2 << 20;

// The bytes of a file or of a device. `of_device`: how many a device is asked for.
mezz::Status Map(int fd, const std::string& path, uint64_t of_device, std::span<const std::byte>* bytes) {
  struct stat now {};
  if (fstat(fd, &now) != 0) return mezz::Status::IoError(fmt::format("{}: {}", path, mezz::ErrnoText(errno)));
  const uint64_t length = S_ISCHR(now.st_mode) ? mezz::RoundUp(of_device, kDaxAlignment)
                                               : static_cast<uint64_t>(std::max<off_t>(now.st_size, 0));
  if (length == 0) return mezz::Status::ForeignFile(fmt::format("{} is empty", path));
  void* const mapped = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    return mezz::Status::IoError(fmt::format("{} cannot be mapped: {}", path, mezz::ErrnoText(errno)));
  *bytes = {static_cast<const std::byte*>(mapped), length};
  return mezz::Status::Ok();
}

nlohmann::json JsonOf(const mezz::Inspection::Records& counts) {
  nlohmann::json json{{"records", counts.records}, {"payload_bytes", counts.bytes}, {"packed", counts.packed}};
  if (FLAGS_verify) json["damaged"] = counts.damaged;
  return json;
}

nlohmann::json JsonOfSessions(const mezz::Inspection& found) {
  nlohmann::json json = nlohmann::json::array();
  for (const mezz::Inspection::Session& session : found.sessions) {
    json.push_back(JsonOf(session.blocks));
    json.back()["session"] = fmt::format("{:06x}", session.session);
    json.back()["files"] = session.files;
  }
  if (found.more_sessions == 0) return json;
  json.push_back(JsonOf(found.of_more_sessions));
  json.back()["session"] = fmt::format("{} more", found.more_sessions);
  return json;
}

nlohmann::json JsonOf(const mezz::Inspection& found) {
  const mezz::layout::Superblock& s = found.superblock.superblock;
  nlohmann::json json;
  json["keyed"] = found.keyed;
  json["superblock"] = {
      {"format_version", s.format_version}, {"uuid", fmt::format("{:016x}{:016x}", s.uuid[0], s.uuid[1])},
      {"capacity_bytes", s.capacity_bytes}, {"segment_bytes", s.segment_bytes},
      {"host_version", s.host_version},     {"key_scheme", s.key_scheme},
      {"generation", s.generation},         {"sequence_begin", s.sequence_begin},
      {"sequence_end", s.sequence_end},     {"closed_cleanly", (s.flags & mezz::layout::kClosedCleanly) != 0}};
  json["segments"] = {{"total", found.segments},
                      {"young", found.young},
                      {"proven", found.proven},
                      {"empty", found.empty},
                      {"filled_bytes", found.filled_bytes}};
  for (size_t i = 0; i < mezz::kBlockRoles; ++i)
    json["blocks"][std::string(ToString(static_cast<mezz::BlockRole>(i)))] = JsonOf(found.of_role[i]);
  json["dictionaries"] = JsonOf(found.dictionaries);
  for (const mezz::Inspection::Age& age : found.of_age) {
    json["ages"].push_back(JsonOf(age.blocks));
    json["ages"].back()["segments"] = age.segments;
  }
  json["sessions"] = JsonOfSessions(found);
  json["nameless"] = JsonOf(found.nameless);
  json["snapshot"] = {{"segments", found.snapshot.segments},
                      {"bytes", found.snapshot.bytes},
                      {"records", found.snapshot.records},
                      {"state", !found.snapshot.wrong.empty()  ? found.snapshot.wrong
                                : found.snapshot.segments == 0 ? "none"
                                                               : "whole"}};
  json["tombstones"] = {{"segments", found.tombstones.segments},
                        {"tombstones", found.tombstones.tombstones},
                        {"lost", found.tombstones.lost}};
  json["void"] = found.voids;
  json["unknown"] = found.unknown;
  return json;
}

// One line a figure: superblock.capacity_bytes 1073741824
void PrintLines(const nlohmann::json& json) {
  const nlohmann::json flat = json.flatten();
  for (const auto& [key, value] : flat.items()) {
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    fmt::print("{} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

uint64_t Damaged(const mezz::Inspection& found) {
  uint64_t damaged = found.dictionaries.damaged + found.unknown + (found.snapshot.wrong.empty() ? 0 : 1) +
                     (found.tombstones.lost ? 1 : 0);
  for (const auto& counts : found.of_role) damaged += counts.damaged;
  return damaged;
}

mezz::Status ReadKey(const mezz::layout::Superblock& superblock, const std::string& path,
                     std::optional<mezz::VerifyKey>* key) {
  if (FLAGS_key_file.empty()) {
    if (FLAGS_verify && superblock.key_check != 0)
      fmt::print(stderr, "mezz_inspect: {} is keyed: without --key_file damage is found, and forgery is not\n", path);
    return mezz::Status::Ok();
  }
  MEZZ_RETURN_IF_ERROR(mezz::ReadVerifyKey(FLAGS_key_file, &key->emplace()));
  const std::string why = mezz::WhyOfNoUse(superblock, &**key);
  return why.empty() ? mezz::Status::Ok()
                     : mezz::Status::InvalidArgument(
                           fmt::format("{} {}: give the key_file that it was opened with", path, why));
}

mezz::Status Run(const std::string& path, uint64_t* damaged) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);  // a pipe would wait for a writer
  if (fd < 0) return mezz::Status::NotFound(fmt::format("{}: {}", path, mezz::ErrnoText(errno)));
  struct stat kind {};
  if (fstat(fd, &kind) == 0 && !S_ISREG(kind.st_mode) && !S_ISCHR(kind.st_mode))
    return mezz::Status::ForeignFile(fmt::format("{} is neither a file nor a devdax device", path));
  if (flock(fd, LOCK_SH | LOCK_NB) != 0)
    return mezz::Status::Busy(fmt::format("{} is in use by a cache, whose report tells more: close it first", path));
  std::span<const std::byte> bytes;
  MEZZ_RETURN_IF_ERROR(Map(fd, path, kDaxAlignment, &bytes));
  const mezz::FoundSuperblock head =
      mezz::FindSuperblock(bytes.first(std::min<size_t>(bytes.size(), mezz::layout::kSuperblockSpace)));
  if (head.what == mezz::FoundSuperblock::What::kProvisional)
    return mezz::Status::NotFound(fmt::format("{} is Mezzanine's and was never formatted", path));
  if (head.what != mezz::FoundSuperblock::What::kWhole)
    return mezz::Status::ForeignFile(fmt::format("{} {}", path, head.why));
  const uint64_t medium_bytes = mezz::layout::BytesOfMedium(head.superblock);
  MEZZ_RETURN_IF_ERROR(Map(fd, path, medium_bytes, &bytes));
  std::optional<mezz::VerifyKey> key;
  MEZZ_RETURN_IF_ERROR(ReadKey(head.superblock, path, &key));
  const mezz::Inspection found = mezz::Inspect(bytes, FLAGS_verify, key ? &*key : nullptr);
  nlohmann::json json = JsonOf(found);
  const uint64_t missing = medium_bytes - std::min<uint64_t>(medium_bytes, bytes.size());
  json["superblock"]["missing_bytes"] = missing;
  if (missing > 0)
    fmt::print(stderr, "mezz_inspect: {} is cut short: {} of its {} bytes are missing\n", path, missing, medium_bytes);
  if (found.members > 1) {
    json["superblock"]["medium"] = fmt::format("{} of {}", head.superblock.member + 1, found.members);
    fmt::print(stderr,
               "mezz_inspect: {} is one of {} media: what was erased, or moved to the others when it was emptied, is "
               "counted too, as it lies there until it is overwritten\n",
               path, found.members);
  }
  if (FLAGS_json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    PrintLines(json);
  }
  *damaged = Damaged(found) + (missing > 0 ? 1 : 0);
  return mezz::Status::Ok();
}

// A file may have been kept to be judged later, so it is judged all the same.
void TellIfStale(const mezz::watch::MetricsSource& source) {
  if (source.kind != mezz::watch::MetricsSource::Kind::kFile) return;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(source.path, error);
  const auto age = std::chrono::floor<std::chrono::seconds>(std::filesystem::file_time_type::clock::now() - written);
  if (error || age <= mezz::watch::kStaleAfter) return;
  fmt::print(stderr, "mezz_inspect: {} was written {} s ago: its cache, which wrote it every ten, has ended\n",
             source.text, age.count());
}

mezz::Status Doctor(bool* healthy) {
  mezz::watch::MetricsSource source;
  mezz::watch::MetricSamples samples;
  MEZZ_RETURN_IF_ERROR(FindMetricsSource(FLAGS_doctor, &source));
  TellIfStale(source);
  MEZZ_RETURN_IF_ERROR(ReadMetrics(source, &samples));
  const mezz::watch::Diagnosis diagnosis = mezz::watch::Diagnose(samples);
  *healthy = diagnosis.healthy();
  fmt::print("{}", FLAGS_json ? DiagnosisJson(diagnosis).dump(2) + "\n" : DiagnosisText(diagnosis));
  return mezz::Status::Ok();
}

// Figures are fresh, unless they are of a file that was not written since.
class Reader {
 public:
  explicit Reader(mezz::watch::MetricsSource source) : source_(std::move(source)) {}

  mezz::Status operator()(mezz::watch::MetricSamples* samples, bool* fresh) {
    *fresh = true;
    if (source_.kind == mezz::watch::MetricsSource::Kind::kFile) {
      std::error_code error;
      const auto written = std::filesystem::last_write_time(source_.path, error);
      *fresh = !error && written != written_;
      written_ = written;
    }
    return ReadMetrics(source_, samples);
  }

 private:
  mezz::watch::MetricsSource source_;
  std::filesystem::file_time_type written_;
};

mezz::Status Follow() {
  using Clock = std::chrono::steady_clock;
  mezz::watch::FollowOptions options;
  options.screen = isatty(STDOUT_FILENO) == 1;
  MEZZ_RETURN_IF_ERROR(mezz::Count("count", FLAGS_count, 0, &options.count));
  mezz::watch::MetricsSource source;
  MEZZ_RETURN_IF_ERROR(FindMetricsSource(FLAGS_follow, &source));
  options.read = Reader(source);
  options.show = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  options.wait = [last = Clock::now()](std::chrono::milliseconds time) mutable {
    std::this_thread::sleep_for(time);
    const Clock::time_point before = std::exchange(last, Clock::now());
    return std::chrono::duration<double>(last - before).count();
  };
  return mezz::watch::Follow(options);
}

// What is asked of a cache that runs, if anything is; the exit status.
std::optional<int> OfRunningCache(int operands) {
  if (FLAGS_doctor.empty() && FLAGS_follow.empty()) return std::nullopt;
  mezz::Status status;
  bool healthy = true;
  if (operands != 0 || FLAGS_doctor.empty() == FLAGS_follow.empty() || FLAGS_verify || !FLAGS_key_file.empty()) {
    status = mezz::Status::InvalidArgument("--doctor and --follow go alone: each names the cache itself");
  } else {
    status = FLAGS_doctor.empty() ? Follow() : Doctor(&healthy);
  }
  if (status.ok()) return healthy ? 0 : kExitWrong;
  fmt::print(stderr, "mezz_inspect: {}\n", status.message());
  return mezz::kExitRefused;
}

const mezz::Program& Program() {
  static const mezz::Program program = {
      "mezz_inspect",
      "what lies on a medium that no cache has open, and how a cache that runs is set up",
      {{"", "FILE", 1, "its header, records and space. Status 1: some of it is damaged", {"verify"}, nullptr},
       {"--doctor=SOCKET|FILE|PID",
        "",
        0,
        "what is wrong with the set-up of a running cache, and the remedies. Status "
        "1: something is",
        {},
        nullptr},
       {"--follow=SOCKET|FILE|PID",
        "",
        0,
        "what a running cache does: a screen a second, or a line where there is no "
        "terminal",
        {},
        nullptr}}};
  return program;
}

const mezz::FlagGroup kFlagGroups[] = {{"A medium", {"verify", "key_file", "json"}},
                                       {"A running cache", {"doctor", "follow", "count"}}};

int Main(int argc, char** argv) {
  std::vector<gflags::CommandLineFlagInfo> known;
  gflags::GetAllFlags(&known);
  const std::vector<mezz::Flag> flags = mezz::OwnFlags(known, __FILE__);
  const std::vector<const char*> words(argv, argv + argc);
  if (const auto done = mezz::BeforeFlags(Program(), kFlagGroups, flags, words)) return *done;
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (const auto done = OfRunningCache(argc - 1)) return *done;
  if (argc != 2) {
    fmt::print(stderr, "mezz_inspect: give one file or devdax device, and flags as --name=value\n");
    return mezz::kExitRefused;
  }
  uint64_t damaged = 0;
  const mezz::Status status = Run(argv[1], &damaged);
  if (status.ok()) return damaged == 0 ? 0 : kExitDamaged;
  fmt::print(stderr, "mezz_inspect: {}\n", status.message());
  return mezz::kExitRefused;
}

}  // namespace

int main(int argc, char** argv) {
  return mezz::RunMain("mezz_inspect", argc, argv, {}, [&] { return Main(argc, argv); });
}
