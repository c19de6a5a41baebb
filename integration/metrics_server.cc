// SPDX-License-Identifier: Apache-2.0
#include "integration/metrics_server.h"

#include <sys/socket.h>
#include <unistd.h>

// Boost under a name of our own: the linker takes one of each function that two files have under one name, and a
// program's Boost may be another release, or compiled with RTTI, which its Asio does not survive.
#define boost mezz_boost
#include <boost/config.hpp>
// Nor does a shared library of ours show it.
#undef BOOST_SYMBOL_VISIBLE
#define BOOST_SYMBOL_VISIBLE
#define BOOST_ASIO_DISABLE_VISIBILITY

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "cache/base/fork_guard.h"
#include "cache/base/start_thread.h"
#include "fmt/format.h"
#include "integration/metrics_listener.h"

namespace mezz {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Stream = beast::basic_stream<net::generic::stream_protocol>;
using std::chrono::milliseconds;

constexpr size_t kClientsMax = 8;
constexpr std::chrono::seconds kClientMax(10);  // Prometheus' own patience
constexpr uint32_t kRequestBytesMax = 8 << 10;
constexpr milliseconds kPause(100);  // where there is no descriptor, or no memory, for the next client

// What clients have in common. Of the one thread.
struct Answers {
  MetricsEndpoint::Text text;  // set before the first client
  DeliveryCounts counts;
};

// One client: a request, an answer, and it ends. Alive as long as something is awaited of it.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Stream::socket_type socket, Answers* answers) : answers_(*answers), stream_(std::move(socket)) {}
  ~Client() { answers_.counts.Count(answered_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Start() {
    parser_.header_limit(kRequestBytesMax);
    stream_.expires_after(kClientMax);  // for all that comes
    http::async_read_header(stream_, buffer_, parser_,
                            beast::bind_front_handler(&Client::OnRequest, shared_from_this()));
  }
  void Drop() { stream_.close(); }

 private:
  void OnRequest(const beast::error_code& error, size_t /*bytes*/) {
    if (error) return;
    Fill();
    http::async_write(stream_, response_, beast::bind_front_handler(&Client::OnAnswered, shared_from_this()));
  }

  void Fill() {
    const auto& request = parser_.get();
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view path = target.substr(0, target.find('?'));
    response_.version(11);
    response_.keep_alive(false);
    response_.set(http::field::content_type, "text/plain; charset=utf-8");
    if (request.method() != http::verb::get) {
      response_.result(http::status::method_not_allowed);
      response_.set(http::field::allow, "GET");
    } else if (path != "/metrics" && path != "/") {
      response_.result(http::status::not_found);
      response_.body() = "The metrics are at /metrics\n";
    } else {
      const auto accept = request[http::field::accept];
      const bool open =
          std::string_view(accept.data(), accept.size()).find("application/openmetrics-text") != std::string_view::npos;
      const MetricsFormat format = open ? MetricsFormat::kOpenMetrics : MetricsFormat::kPrometheus;
      const std::string_view type = ContentTypeOf(format);
      response_.set(http::field::content_type, beast::string_view(type.data(), type.size()));
      response_.body() = answers_.text(format);
    }
    response_.prepare_payload();
  }

  void OnAnswered(const beast::error_code& error, size_t /*bytes*/) {
    answered_ = !error;
    beast::error_code ignored;
    stream_.socket().shutdown(net::socket_base::shutdown_send, ignored);
  }

  Answers& answers_;
  Stream stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  bool answered_ = false;
};

// What the thread uses. In a child it is left as it is: its threads, and the kernel's list of what is awaited, are the
// parent's.
class Loop {
 public:
  Loop(MetricsListener listener, int family)
      : listener_(std::move(listener)), protocol_(family, 0), acceptor_(io_), pause_(io_) {
    acceptor_.assign(listener_.fd());
  }
  ~Loop() {
    if (thread_.joinable()) End();
    if (acceptor_.is_open()) acceptor_.release();  // the listener closes it
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  bool Start() {
    thread_ = StartThread("mezz-metrics", [this] { Run(); });
    return thread_.joinable();
  }
  void Serve(MetricsEndpoint::Text text) {
    const std::lock_guard lock(mutex_);
    answers_.text = std::move(text);
    changed_.notify_all();
  }
  void End() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    io_.stop();
    thread_.join();
  }
  MetricsDeliveries deliveries() const { return answers_.counts.Read(); }

 private:
  // True: it is to end.
  bool Rest(milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return ends_; });
  }
  void Run();
  void AwaitClient();
  void TakeClients();
  void TakeClient(int fd);

  const MetricsListener listener_;  // outlives what awaits it
  const net::generic::stream_protocol protocol_;
  Answers answers_;  // outlives io_, which may hold clients
  net::io_context io_{1};
  net::posix::stream_descriptor acceptor_;
  net::steady_timer pause_;
  bool awaits_ = false;                          // of the thread: the next client will be heard of
  std::deque<std::weak_ptr<Client>> clients_{};  // of the thread: the oldest first; some have gone

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Whatever throws (there is no memory) has left its client, which goes with it.
void Loop::Run() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || answers_.text; });
    if (ends_) return;
  }
  do {
    try {
      if (!awaits_) AwaitClient();
      io_.run();
    } catch (const std::exception&) {
    }
  } while (!Rest(kPause));
}

void Loop::AwaitClient() {
  acceptor_.async_wait(net::posix::stream_descriptor::wait_read, [this](const beast::error_code& error) {
    awaits_ = false;
    if (!error) TakeClients();
    if (!awaits_) AwaitClient();
  });
  awaits_ = true;
}

void Loop::TakeClients() {
  for (size_t taken = 0; taken < kClientsMax; ++taken) {  // then those that were taken get their turn
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      TakeClient(fd);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pause_.expires_after(kPause);
      pause_.async_wait([this](const beast::error_code&) { AwaitClient(); });
      awaits_ = true;
      return;
    }  // others: it went before it was taken
  }
}

void Loop::TakeClient(int fd) {
  Stream::socket_type socket(io_);
  try {
    socket.assign(protocol_, fd);
  } catch (...) {
    close(fd);
    throw;
  }
  std::erase_if(clients_, [](const std::weak_ptr<Client>& client) { return client.expired(); });
  if (clients_.size() >= kClientsMax) {
    if (const std::shared_ptr<Client> oldest = clients_.front().lock()) oldest->Drop();
    clients_.pop_front();
  }
  const auto client = std::make_shared<Client>(std::move(socket), &answers_);
  clients_.push_back(client);
  client->Start();
}

class MetricsServer final : public MetricsEndpoint {
 public:
  explicit MetricsServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
  ~MetricsServer() override {
    if (guard_.InParent()) return;
    [[maybe_unused]] Loop* const left = loop_.release();
  }
  void Serve(Text text) override { loop_->Serve(std::move(text)); }
  MetricsDeliveries deliveries() const override { return loop_->deliveries(); }

 private:
  ForkGuard guard_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace

Status OpenMetricsServer(const MetricsTarget& target, std::unique_ptr<MetricsEndpoint>* endpoint) {
  MetricsListener listener;
  MEZZ_RETURN_IF_ERROR(MetricsListener::Open(target, &listener));
  const int family = target.kind == MetricsTarget::Kind::kUnix       ? AF_UNIX
                     : target.address.find(':') == std::string::npos ? AF_INET
                                                                     : AF_INET6;
  try {
    auto loop = std::make_unique<Loop>(std::move(listener), family);
    if (!loop->Start())
      return Status::NoSpace(fmt::format("metrics={}: no thread to serve it is to be had", target.text));
    *endpoint = std::make_unique<MetricsServer>(std::move(loop));
    return Status::Ok();
  } catch (const boost::system::system_error& error) {
    return Status::NoSpace(fmt::format("metrics={}: {}: raise ulimit -n, or use file:PATH", target.text, error.what()));
  }
}

}  // namespace mezz
