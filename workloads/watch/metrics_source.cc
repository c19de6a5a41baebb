// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/metrics_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cache/base/read_file.h"
#include "cache/base/text.h"
#include "workloads/watch/http_get.h"

namespace mezz::watch {
namespace {

using Kind = MetricsSource::Kind;

Status Refused(std::string_view text, std::string_view why) {
  return Status::InvalidArgument(fmt::format("{}: {}", text, why));
}

template <typename Number>
bool IsNumber(std::string_view text, Number* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

Status ParseTcp(std::string_view rest, MetricsSource* source) {
  const size_t colon = rest.rfind(':');
  std::string_view address = rest.substr(0, std::min(colon, rest.size()));
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (colon == std::string_view::npos || address.empty() || !IsNumber(rest.substr(colon + 1), &source->port) ||
      source->port == 0)
    return Refused(source->text, "it is tcp:ADDRESS:PORT, as tcp:127.0.0.1:9464");
  source->kind = Kind::kTcp;
  source->address = address;
  return Status::Ok();
}

Status ParsePath(std::string_view path, MetricsSource* source) {
  source->path = path;
  if (path.empty()) return Refused(source->text, "the path is missing");
  struct stat found {};
  if (stat(source->path.c_str(), &found) != 0) {
    return Refused(source->text, fmt::format("{}: is the cache open, with metrics= in its URI?", ErrnoText(errno)));
  }
  if (S_ISDIR(found.st_mode)) return Refused(source->text, "it is a folder: name a socket or a file in it");
  const bool is_socket = S_ISSOCK(found.st_mode);
  if (is_socket) source->kind = Kind::kUnix;
  if (is_socket || S_ISREG(found.st_mode)) return Status::Ok();
  return Refused(source->text, "it is neither a socket nor a file");
}

// The value of a variable in an environment; nothing: there is no such variable.
std::optional<std::string> Variable(const std::string& environment, std::string_view name) {
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    std::string_view one(environment.data() + at, end - at);
    if (TakePrefix(name, &one) && TakePrefix("=", &one)) return std::string(one);
    at = end + 1;
  }
  return std::nullopt;
}

// The value of `metrics` in a URI; empty: it has none.
std::string_view MetricsOf(std::string_view uri) {
  uri.remove_prefix(std::min(uri.find("://"), uri.size()));
  TakePrefix("://", &uri);
  while (!uri.empty()) {
    std::string_view pair = uri.substr(0, uri.find(';'));
    uri.remove_prefix(std::min(pair.size() + 1, uri.size()));
    if (TakePrefix("metrics=", &pair)) return pair;
  }
  return {};
}

// Of a process that MEZZANINE_CACHE gave its cache to. A path that is not absolute begins in its working directory.
Status OfProcess(const std::string& pid, const std::string& proc, std::string* text) {
  std::string environment;
  const std::string folder = fmt::format("{}/{}", proc, pid);
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return Refused(pid, "there is no such process, and no such file");
  if (!ReadWholeFile(folder + "/environ", &environment))
    return Refused(pid, "its environment may not be read: run this as its user, or name the socket");
  const std::optional<std::string> uri = Variable(environment, "MEZZANINE_CACHE");
  const std::string_view metrics = uri ? MetricsOf(*uri) : std::string_view();
  if (metrics.empty()) {
    return Refused(pid,
                   "its environment has no MEZZANINE_CACHE with metrics=: name the socket or file that the "
                   "program's URI says, or add metrics=unix:PATH there");
  }
  *text = metrics;
  const size_t colon = metrics.find(':');
  const std::string_view path = metrics.substr(std::min(colon + 1, metrics.size()));
  if ((metrics.starts_with("unix:") || metrics.starts_with("file:")) && !path.starts_with('/')) {
    const std::filesystem::path from = std::filesystem::read_symlink(folder + "/cwd", error);
    if (!error) *text = fmt::format("{}{}", metrics.substr(0, colon + 1), (from / path).string());
  }
  return Status::Ok();
}

Status Parse(std::string_view text, MetricsSource* source) {
  source->text = text;
  if (TakePrefix("tcp:", &text) || TakePrefix("tcp-any:", &text)) return ParseTcp(text, source);
  const bool is_unix = TakePrefix("unix:", &text);
  const bool is_file = !is_unix && TakePrefix("file:", &text);
  MEZZ_RETURN_IF_ERROR(ParsePath(text, source));
  if (is_unix && source->kind != Kind::kUnix) return Refused(source->text, "what is there is no socket");
  if (is_file && source->kind != Kind::kFile) return Refused(source->text, "what is there is no file");
  return Status::Ok();
}

}  // namespace

Status FindMetricsSource(std::string_view text, MetricsSource* source, const std::string& proc) {
  *source = {};
  uint32_t pid = 0;
  std::error_code error;
  if (!IsNumber(text, &pid) || std::filesystem::exists(std::string(text), error)) return Parse(text, source);
  std::string found;
  MEZZ_RETURN_IF_ERROR(OfProcess(std::string(text), proc, &found));
  const Status status = Parse(found, source);
  return status.ok() ? status : status.WithPrefix(fmt::format("process {}: ", pid));
}

Status ReadMetrics(const MetricsSource& source, MetricSamples* samples, std::chrono::milliseconds patience) {
  std::string text;
  if (source.kind == Kind::kFile) {
    if (!ReadWholeFile(source.path, &text)) return Refused(source.text, "it cannot be read");
  } else {
    MEZZ_RETURN_IF_ERROR(
        HttpGetMetrics(source, patience, MetricSamples::kTextBytesMax, &text).WithPrefix(source.text + ": "));
  }
  const bool with_end = source.kind != Kind::kFile || !source.path.ends_with(".prom");
  const Status status = MetricSamples::Parse(text, with_end, samples);
  return status.ok() ? status : status.WithPrefix(source.text + " ");
}

}  // namespace mezz::watch
