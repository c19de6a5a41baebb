// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/program.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

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

json ManifestOf(std::string_view program, const std::string& command_line) {
  return {{"program", program},      {"schema", 1},         {"time", Timestamp()}, {"command_line", command_line},
          {"compiler", __VERSION__}, {"asserts", kAsserts}, {"host", HostToJson()}};
}

Status WriteJson(const std::string& path, const json& result, int indent) {
  const std::string text = result.dump(indent, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
  return WriteFileAtomically(path, text + "\n");
}

}  // namespace mezz
