// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/program.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "cache/base/text.h"

namespace mezz {
namespace {

using nlohmann::json;

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

json HostToJson() {
  utsname host{};
  uname(&host);
  return {
      {"cpu", CpuName()},
      {"cores", std::thread::hardware_concurrency()},
      {"memory_bytes", static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE))},
      {"kernel", fmt::format("{} {}", host.sysname, host.release)},
      {"machine", host.machine}};
}

std::string Timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// A file that a word names: by a flag, or alone.
struct Named {
  std::string_view flag;  // empty: none
  std::string path;
};

// A value may be a list.
std::vector<Named> FilesOf(std::span<const char* const> words) {
  std::vector<Named> files;
  for (std::string_view word : words.subspan(std::min<size_t>(1, words.size()))) {
    Named named;
    if (word.starts_with('-')) {
      word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      named.flag = word.substr(0, equals);
      word.remove_prefix(equals + 1);
    }
    files.push_back({named.flag, std::string(word)});
    for (size_t at = 0; word.find(',') != std::string_view::npos && at <= word.size();) {
      const size_t end = std::min(word.find(',', at), word.size());
      files.push_back({named.flag, std::string(word.substr(at, end - at))});
      at = end + 1;
    }
  }
  return files;
}

}  // namespace

std::string CommandLine(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) line += ' ';
    line += argv[i];
  }
  return line;
}

Status CheckCount(std::string_view flag, int64_t value, int64_t min, uint64_t max) {
  if (value >= min && (value < 0 || static_cast<uint64_t>(value) <= max)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("--{}={} is out of range; it goes from {} to {}", flag, value, min, max));
}

Status CheckWritable(std::string_view flag, const std::string& path) {
  if (path.empty()) return Status::Ok();
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
  if (std::filesystem::is_directory(parent, error) && !std::filesystem::is_directory(path, error)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--{}={} cannot be a file: its folder is missing, or it is one", flag, path));
}

bool IsSameFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  const std::string to_a = ReplaceableFile(a), to_b = ReplaceableFile(b);
  if (to_a.empty() || to_b.empty()) return false;
  namespace fs = std::filesystem;
  std::error_code error;
  return fs::equivalent(to_a, to_b, error) || fs::weakly_canonical(fs::absolute(to_a, error), error) ==
                                                  fs::weakly_canonical(fs::absolute(to_b, error), error);
}

Status CheckOutputsApart(std::span<const char* const> words, std::span<const std::string_view> outputs) {
  const std::vector<Named> files = FilesOf(words);
  for (size_t i = 0; i < files.size(); ++i) {
    if (std::ranges::find(outputs, files[i].flag) == outputs.end()) continue;
    for (size_t j = 0; j < files.size(); ++j) {
      const bool is_output = std::ranges::find(outputs, files[j].flag) != outputs.end();
      if (files[j].flag == files[i].flag || (is_output && j < i) || !IsSameFile(files[i].path, files[j].path)) continue;
      return Status::InvalidArgument(
          fmt::format("--{}={} is {}, too; name another file to write", files[i].flag, files[i].path,
                      files[j].flag.empty() ? "what is read" : fmt::format("--{}={}", files[j].flag, files[j].path)));
    }
  }
  return Status::Ok();
}

int RunMain(std::string_view program, int argc, const char* const* argv,
            std::initializer_list<std::string_view> outputs, const std::function<int()>& body) {
  const auto refuse = [program](std::string_view why) {
    std::fputs(fmt::format("{}: {}\n", program, why).c_str(), stderr);
    return kExitRefused;
  };
  const auto unwritten = [&refuse](int error) {
    return refuse(fmt::format("the standard output cannot be written: {}", ErrnoText(error)));
  };
  int status = 0;
  try {
    if (const Status apart = CheckOutputsApart({argv, static_cast<size_t>(argc)}, outputs); !apart.ok())
      return refuse(apart.message());
    status = body();
  } catch (const std::system_error& error) {  // fmt::print's, of a standard output that is full
    return std::ferror(stdout) != 0 ? unwritten(error.code().value()) : refuse(error.what());
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  return unwritten(errno);
}

json ManifestOf(std::string_view program, const std::string& command_line) {
  return {{"program", program},      {"schema", 1},         {"time", Timestamp()}, {"command_line", command_line},
          {"compiler", __VERSION__}, {"asserts", kAsserts}, {"host", HostToJson()}};
}

Status WriteJson(const std::string& path, const json& result, int indent) {
  const std::string text = result.dump(indent, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  return WriteFileAtomically(path, text + "\n");
}

}  // namespace mezz
