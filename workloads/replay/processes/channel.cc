// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace mezz {
namespace {

constexpr uint32_t kMessageBytesMax = 64 << 20;

Status Gone() { return Status::NotFound("the other end has gone"); }

}  // namespace

Channel::~Channel() { close(fd_); }

Status Channel::MakePair(int* a, int* b) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return Status::IoError(fmt::format("a socket for a worker cannot be made: {}", std::strerror(errno)));
  }
  *a = fds[0];
  *b = fds[1];
  return Status::Ok();
}

Status Channel::Send(const nlohmann::json& message) {
  std::vector<uint8_t> bytes(sizeof(uint32_t));
  nlohmann::json::to_cbor(message, bytes);
  const auto length = static_cast<uint32_t>(bytes.size() - sizeof(uint32_t));
  std::memcpy(bytes.data(), &length, sizeof(length));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Gone();
    at += static_cast<size_t>(sent);
  }
  return Status::Ok();
}

Status Channel::Receive(nlohmann::json* message) {
  uint32_t length = 0;
  MEZZ_RETURN_IF_ERROR(ReadAll(&length, sizeof(length)));
  if (length > kMessageBytesMax) return Status::IoError("a worker sent no message of ours");
  std::vector<uint8_t> bytes(length);
  MEZZ_RETURN_IF_ERROR(ReadAll(bytes.data(), bytes.size()));
  *message = nlohmann::json::from_cbor(bytes, /*strict=*/true, /*allow_exceptions=*/false);
  return message->is_object() ? Status::Ok() : Status::IoError("a worker sent no message of ours");
}

bool Channel::Ready(int timeout_ms) const {
  pollfd polled{fd_, POLLIN, 0};
  return poll(&polled, 1, timeout_ms) > 0;
}

Status Channel::ReadAll(void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = read(fd_, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Gone();
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return Status::Ok();
}

}  // namespace mezz
