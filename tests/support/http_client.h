// SPDX-License-Identifier: Apache-2.0
// A client of the metrics' sockets that does no more than a test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mezz::test {

class HttpClient {
 public:
  static HttpClient Unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return HttpClient(AF_UNIX, &address, sizeof(address));
  }
  static HttpClient Tcp(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return HttpClient(AF_INET, &address, sizeof(address));
  }
  HttpClient(HttpClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
  ~HttpClient() {
    if (fd_ >= 0) close(fd_);
  }

  bool connected() const { return connected_; }
  bool Send(const std::string& text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Until the server closes.
  std::string ReadAll() const {
    std::string all;
    char piece[4096];
    for (;;) {
      const ssize_t bytes = read(fd_, piece, sizeof(piece));
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return all;
      all.append(piece, static_cast<size_t>(bytes));
    }
  }
  std::string Get(const std::string& path, const std::string& accept = "application/openmetrics-text") const {
    Send("GET " + path + " HTTP/1.1\r\nHost: test\r\nAccept: " + accept + "\r\n\r\n");
    return ReadAll();
  }

 private:
  template <typename Address>
  HttpClient(int family, const Address* address, socklen_t bytes) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(address), bytes) == 0;
  }

  int fd_;
  bool connected_ = false;
};

inline std::string BodyOf(const std::string& response) {
  const size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

// A port of 127.0.0.1 that nobody has at the moment.
inline uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

}  // namespace mezz::test
