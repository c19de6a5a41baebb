// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/http_get.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstring>
#include <optional>

#include "cache/base/text.h"

namespace mezz::watch {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Stream = beast::basic_stream<net::generic::stream_protocol>;
using Endpoint = net::generic::stream_protocol::endpoint;

Status MakeEndpoint(const MetricsSource& source, std::optional<Endpoint>* endpoint) {
  if (source.kind == MetricsSource::Kind::kUnix) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (source.path.size() >= sizeof(address.sun_path))
      return Status::InvalidArgument("the path is longer than that of a socket can be");
    std::memcpy(address.sun_path, source.path.data(), source.path.size());
    endpoint->emplace(&address, sizeof(address));
    return Status::Ok();
  }
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(source.port);
  if (inet_pton(AF_INET, source.address.c_str(), &v4.sin_addr) == 1) {
    endpoint->emplace(&v4, sizeof(v4));
  } else if (inet_pton(AF_INET6, source.address.c_str(), &v6.sin6_addr) == 1) {
    endpoint->emplace(&v6, sizeof(v6));
  } else {
    return Status::InvalidArgument("the address must be in digits, as 127.0.0.1 or [::1]");
  }
  return Status::Ok();
}

Status ErrorOf(const beast::error_code& error, std::string_view step, size_t bytes_max) {
  if (error == beast::error::timeout)
    return Status::IoError("it does not answer in time: the process hangs, is stopped, or is no cache of Mezzanine's");
  if (error == http::error::body_limit) {
    return Status::InvalidArgument(fmt::format("it sends more than {}, which no cache does", HumanBytes(bytes_max)));
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error == net::error::connection_reset || error == net::error::broken_pipe)
    return Status::IoError("it closed before the answer was whole: ask again, or look whether the process ended");
  if (error.category() == beast::error_code(http::error::bad_version).category())
    return Status::InvalidArgument(fmt::format("it does not speak HTTP ({}): it is no metrics=", error.message()));
  if (step == "connect") {
    return Status::NotFound(
        fmt::format("nobody answers there ({}): is the cache open, with this metrics= in its URI?", error.message()));
  }
  return Status::IoError(fmt::format("it cannot be asked ({})", error.message()));
}

// One request: all steps within the patience.
class Request {
 public:
  Request(net::io_context* io, size_t bytes_max) : io_(*io), stream_(*io), bytes_max_(bytes_max) {
    request_.method(http::verb::get);
    request_.target("/metrics");
    request_.version(11);
    request_.set(http::field::host, "localhost");
    request_.set(http::field::accept, "application/openmetrics-text; version=1.0.0");
    request_.set(http::field::connection, "close");
    parser_.body_limit(bytes_max);
  }

  Status Run(const Endpoint& endpoint, std::chrono::milliseconds patience, std::string* body) {
    stream_.expires_after(patience);
    stream_.async_connect(endpoint, [this](const beast::error_code& error) { Note(error, "connect"); });
    MEZZ_RETURN_IF_ERROR(Finish());
    http::async_write(stream_, request_, [this](const beast::error_code& error, size_t) { Note(error, "write"); });
    MEZZ_RETURN_IF_ERROR(Finish());
    http::async_read(stream_, buffer_, parser_,
                     [this](const beast::error_code& error, size_t) { Note(error, "read"); });
    MEZZ_RETURN_IF_ERROR(Finish());
    if (parser_.get().result() != http::status::ok) {
      return Status::InvalidArgument(
          fmt::format("it answers {}: it is no metrics= of a cache", parser_.get().result_int()));
    }
    *body = std::move(parser_.get().body());
    return Status::Ok();
  }

 private:
  void Note(const beast::error_code& error, std::string_view step) {
    error_ = error;
    step_ = step;
  }
  Status Finish() {
    io_.restart();
    io_.run();
    return error_ ? ErrorOf(error_, step_, bytes_max_) : Status::Ok();
  }

  net::io_context& io_;
  Stream stream_;
  const size_t bytes_max_;
  http::request<http::empty_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  beast::error_code error_;
  std::string_view step_;
};

}  // namespace

Status HttpGetMetrics(const MetricsSource& source, std::chrono::milliseconds patience, size_t bytes_max,
                      std::string* body) {
  std::optional<Endpoint> endpoint;
  MEZZ_RETURN_IF_ERROR(MakeEndpoint(source, &endpoint));
  try {
    net::io_context io{1};
    return Request(&io, bytes_max).Run(*endpoint, patience, body);
  } catch (const std::exception& error) {  // no descriptor, or no memory
    return Status::NoSpace(fmt::format("it cannot be asked ({})", error.what()));
  }
}

}  // namespace mezz::watch
