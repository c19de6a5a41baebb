// SPDX-License-Identifier: Apache-2.0
#include "integration/metrics_target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "cache/base/text.h"
#include "fmt/format.h"

namespace mezz {
namespace {

using Kind = MetricsTarget::Kind;

constexpr size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

Status Refused(const MetricsTarget& target, std::string_view why) {
  std::string shown = target.text;
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return Status::InvalidArgument(fmt::format("metrics={}: {}", shown, why));
}

bool IsLoopback(const std::string& address) {
  constexpr uint32_t kLoopbackNet = 127;
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == kLoopbackNet;
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsAddress(const std::string& address) {
  in6_addr any{};  // the larger
  return inet_pton(AF_INET, address.c_str(), &any) == 1 || inet_pton(AF_INET6, address.c_str(), &any) == 1;
}

Status ParseTcp(std::string_view rest, bool any, MetricsTarget* target) {
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return Refused(*target, "the port is missing, as in tcp:127.0.0.1:9464");
  std::string_view address = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  target->address = address;
  if (!IsAddress(target->address) || bracketed != (address.find(':') != std::string_view::npos))
    return Refused(*target, "the address must be in digits, as 127.0.0.1 or [::1]");
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), target->port);
  if (error != std::errc() || stop != port.data() + port.size() || target->port == 0)
    return Refused(*target, "the port must be a number from 1 to 65535");
  if (any || IsLoopback(target->address)) return Status::Ok();
  return Refused(*target,
                 "tcp takes a loopback address, as 127.0.0.1; others are served to whoever reaches them, without a "
                 "password: if that is meant, say tcp-any");
}

Status ParsePath(std::string_view rest, MetricsTarget* target) {
  if (rest.empty()) return Refused(*target, "the path is missing");
  if (std::any_of(rest.begin(), rest.end(), [](char c) { return c >= 0 && c < ' '; }))
    return Refused(*target, "the path contains a control character: choose another");
  if (rest.find(';') != std::string_view::npos)
    return Refused(*target, "the path contains ';', which ends a value: choose another");
  std::error_code error;
  target->path = std::filesystem::absolute(std::filesystem::path(rest), error).lexically_normal().string();
  if (error) return Refused(*target, "the current folder is gone: give an absolute path");
  if (target->path.ends_with('/')) return Refused(*target, "that is a folder: name a file in it");
  if (target->kind == Kind::kUnix && target->path.size() > kSocketPathMax) {
    return Refused(*target, fmt::format("the path has {} bytes and a socket's may have {}: choose a shorter one",
                                        target->path.size(), kSocketPathMax));
  }
  return Status::Ok();
}

}  // namespace

Status ParseMetricsTarget(std::string_view text, MetricsTarget* target) {
  *target = {};
  target->text = text;
  if (TakePrefix("tcp:", &text)) {
    target->kind = Kind::kTcp;
    return ParseTcp(text, /*any=*/false, target);
  }
  if (TakePrefix("tcp-any:", &text)) {
    target->kind = Kind::kTcp;
    return ParseTcp(text, /*any=*/true, target);
  }
  if (TakePrefix("unix:", &text)) {
    target->kind = Kind::kUnix;
    return ParsePath(text, target);
  }
  if (TakePrefix("file:", &text)) return ParsePath(text, target);
  return Refused(*target, "accepted are unix:PATH, tcp:127.0.0.1:PORT, tcp-any:ADDRESS:PORT and file:PATH");
}

}  // namespace mezz
