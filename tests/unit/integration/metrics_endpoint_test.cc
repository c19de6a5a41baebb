// SPDX-License-Identifier: Apache-2.0
// Where metrics are to be had: what is refused, what a hostile client can do, and what is left behind.
#include "integration/metrics_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "integration/metrics_target.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

using test::BodyOf;
using test::FreePort;
using test::HttpClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr size_t kMoreThanServed = 20;  // clients at a time

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MetricsEndpointTest : public ::testing::Test {
 protected:
  static Status Open(const std::string& metrics, std::unique_ptr<MetricsEndpoint>* endpoint) {
    return MetricsEndpoint::Open(metrics, endpoint);
  }
  // Served with a text of so many bytes.
  std::unique_ptr<MetricsEndpoint> Serve(const std::string& metrics, size_t bytes = 100) {
    std::unique_ptr<MetricsEndpoint> endpoint;
    const Status status = Open(metrics, &endpoint);
    EXPECT_TRUE(status.ok()) << status.message();
    if (endpoint != nullptr) {
      endpoint->Serve([bytes](MetricsFormat format) {
        return (format == MetricsFormat::kOpenMetrics ? "open" : "old") + std::string(bytes, 'x');
      });
    }
    return endpoint;
  }
  std::string WhyNot(const std::string& metrics, Status::Code code = Status::Code::kInvalidArgument) {
    std::unique_ptr<MetricsEndpoint> endpoint;
    const Status status = Open(metrics, &endpoint);
    EXPECT_EQ(status.code(), code) << metrics << ": " << status.message();
    EXPECT_EQ(endpoint, nullptr);
    return status.message();
  }
  auto Files() const { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); }
  std::string Unix() const { return "unix:" + socket_; }

  const TemporaryFolder folder_;
  const std::string socket_ = folder_.Path("socket");
};

TEST_F(MetricsEndpointTest, AnswersAtAUnixSocket) {
  const auto endpoint = Serve(Unix());
  const std::string answer = HttpClient::Unix(socket_).Get("/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
  EXPECT_THAT(BodyOf(answer), StartsWith("open"));
}

TEST_F(MetricsEndpointTest, AnswersAtAPort) {
  const uint16_t port = FreePort();
  const auto endpoint = Serve("tcp:127.0.0.1:" + std::to_string(port));
  EXPECT_THAT(BodyOf(HttpClient::Tcp(port).Get("/metrics")), StartsWith("open"));
  EXPECT_THAT(BodyOf(HttpClient::Tcp(port).Get("/metrics?collect=all")), StartsWith("open"));
}

TEST_F(MetricsEndpointTest, WhoDoesNotAskForOpenMetricsGetsTheOlderFormat) {
  const auto endpoint = Serve(Unix());
  const std::string answer = HttpClient::Unix(socket_).Get("/metrics", "*/*");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(BodyOf(answer), StartsWith("old"));
}

TEST_F(MetricsEndpointTest, OtherRequestsGetNoFigures) {
  const auto endpoint = Serve(Unix());
  EXPECT_THAT(HttpClient::Unix(socket_).Get("/secrets"), StartsWith("HTTP/1.1 404 "));
  const HttpClient post = HttpClient::Unix(socket_);
  post.Send("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(post.ReadAll(), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET\r\n")));
}

TEST_F(MetricsEndpointTest, ClientsThatNeverReadKeepNobodyWaiting) {
  const auto endpoint = Serve(Unix(), /*bytes=*/1 << 20);
  std::vector<HttpClient> idle;
  for (size_t i = 0; i < kMoreThanServed; ++i) {
    idle.push_back(HttpClient::Unix(socket_));
    EXPECT_TRUE(idle.back().Send("GET /metrics HTTP/1.1\r\n\r\n"));
  }
  EXPECT_THAT(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), StartsWith("open"));
  EXPECT_GE(endpoint->deliveries().failed, kMoreThanServed / 2) << "too many are held";
}

TEST_F(MetricsEndpointTest, ClientsThatNeverAskKeepNobodyWaiting) {
  const auto endpoint = Serve(Unix());
  std::vector<HttpClient> silent;
  for (size_t i = 0; i < kMoreThanServed; ++i) {
    silent.push_back(HttpClient::Unix(socket_));
    silent.back().Send("GET /met");
  }
  EXPECT_THAT(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), StartsWith("open"));
}

TEST_F(MetricsEndpointTest, ClientsThatGoAreForgotten) {
  const auto endpoint = Serve(Unix(), /*bytes=*/1 << 20);
  for (size_t i = 0; i < kMoreThanServed; ++i) HttpClient::Unix(socket_).Send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), StartsWith("open")) << "or SIGPIPE ended us";
}

TEST_F(MetricsEndpointTest, WhatIsNoRequestIsDropped) {
  const auto endpoint = Serve(Unix());
  for (const std::string& request :
       {std::string("\x16\x03\x01\x02"), std::string("GET\r\n\r\n"), std::string("GET /metrics HTTP/9.9\r\n\r\n"),
        "GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", std::string(40'000, '\n')}) {
    const HttpClient client = HttpClient::Unix(socket_);
    client.Send(request);
    if (request.size() > 10) {
      EXPECT_THAT(client.ReadAll(), IsEmpty());
    }
  }
  EXPECT_THAT(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), StartsWith("open"));
}

TEST_F(MetricsEndpointTest, ATextThatThrowsLosesItsClientOnly) {
  std::unique_ptr<MetricsEndpoint> endpoint;
  ASSERT_TRUE(Open(Unix(), &endpoint).ok());
  endpoint->Serve([first = true](MetricsFormat) mutable -> std::string {
    if (std::exchange(first, false)) throw std::bad_alloc();
    return "open";
  });
  EXPECT_THAT(HttpClient::Unix(socket_).Get("/metrics"), IsEmpty());
  EXPECT_EQ(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), "open");
}

TEST_F(MetricsEndpointTest, ANewClientWaitsUntilThereIsADescriptor) {
  const auto endpoint = Serve(Unix());
  const HttpClient before = HttpClient::Unix(socket_);
  EXPECT_THAT(before.Get("/metrics"), HasSubstr("open"));
  const HttpClient client = HttpClient::Unix(socket_);  // may be taken already
  const int highest = dup(STDIN_FILENO);
  close(highest);
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const rlimit none{.rlim_cur = 3, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(client.Send("GET /metrics HTTP/1.1\r\n\r\n"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_THAT(client.ReadAll(), HasSubstr("old"));
}

TEST_F(MetricsEndpointTest, TheProgramsSignalsStayAsTheyAre) {
  struct sigaction before {
  }, after{};
  sigaction(SIGPIPE, nullptr, &before);
  const auto endpoint = Serve(Unix());
  HttpClient::Unix(socket_).Get("/metrics");
  sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST_F(MetricsEndpointTest, EndsWithClientsThatWait) {
  auto endpoint = Serve(Unix(), /*bytes=*/1 << 20);
  const HttpClient silent = HttpClient::Unix(socket_);
  const HttpClient idle = HttpClient::Unix(socket_);
  idle.Send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(BodyOf(HttpClient::Unix(socket_).Get("/metrics")), StartsWith("open"));  // both were taken
  endpoint.reset();
  EXPECT_THAT(silent.ReadAll(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(MetricsEndpointTest, MayEndBeforeItServes) {
  for (const std::string& metrics : {Unix(), "file:" + folder_.Path("file")}) {
    std::unique_ptr<MetricsEndpoint> endpoint;
    EXPECT_TRUE(Open(metrics, &endpoint).ok());
  }
  EXPECT_EQ(Files(), 0);
}

TEST_F(MetricsEndpointTest, NoMetricsIsNoEndpoint) {
  std::unique_ptr<MetricsEndpoint> endpoint;
  EXPECT_TRUE(Open("", &endpoint).ok());
  EXPECT_EQ(endpoint, nullptr);
}

TEST_F(MetricsEndpointTest, ASocketThatNobodyListensAtIsReplaced) {
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    close(fd);  // as a kill -9 leaves it
  }
  const auto endpoint = Serve(Unix());
  EXPECT_THAT(HttpClient::Unix(socket_).Get("/metrics"), HasSubstr("open"));
}

TEST_F(MetricsEndpointTest, ASocketThatSomebodyListensAtIsLeftAlone) {
  const auto first = Serve(Unix());
  EXPECT_THAT(WhyNot(Unix(), Status::Code::kBusy), AllOf(HasSubstr("metrics=" + Unix()), HasSubstr("of its own")));
  EXPECT_THAT(HttpClient::Unix(socket_).Get("/metrics"), HasSubstr("open"));
}

TEST_F(MetricsEndpointTest, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(socket_) << "precious";
  EXPECT_THAT(WhyNot(Unix()), AllOf(HasSubstr("metrics=" + Unix()), HasSubstr("remove it")));
  EXPECT_EQ(Contents(socket_), "precious");
  std::filesystem::create_directory(folder_.Path("sub"));
  EXPECT_THAT(WhyNot("unix:" + folder_.Path("sub")), HasSubstr("no socket"));
}

TEST_F(MetricsEndpointTest, AnothersSocketIsNotRemoved) {
  auto first = Serve(Unix());
  std::filesystem::remove(socket_);  // somebody's mistake
  const auto second = Serve(Unix());
  first.reset();
  EXPECT_THAT(HttpClient::Unix(socket_).Get("/metrics"), HasSubstr("open"));
}

TEST_F(MetricsEndpointTest, ASocketIsItsOwnersAlone) {
  const mode_t before = umask(022);
  const auto endpoint = Serve(Unix());
  umask(before);
  struct stat made {};
  ASSERT_EQ(stat(socket_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 022, 0u) << "others may connect";
}

TEST_F(MetricsEndpointTest, APortInUseIsAnError) {
  const uint16_t port = FreePort();
  const std::string metrics = "tcp:127.0.0.1:" + std::to_string(port);
  auto first = Serve(metrics);
  EXPECT_THAT(WhyNot(metrics, Status::Code::kBusy), AllOf(HasSubstr("metrics=" + metrics), HasSubstr("in use")));
  HttpClient::Tcp(port).Get("/metrics");  // a connection that dies slowly
  first.reset();
  Serve(metrics);
}

TEST_F(MetricsEndpointTest, WhatCannotBeTakenIsAnErrorThatSaysWhatToDo) {
  const std::string missing = folder_.Path("missing/x");
  EXPECT_THAT(WhyNot("unix:" + missing), HasSubstr("metrics=unix:" + missing + ": its folder cannot be locked"));
  EXPECT_THAT(WhyNot("file:" + missing), HasSubstr("metrics=file:" + missing + " cannot be written"));
  EXPECT_THAT(WhyNot("file:" + folder_.path()), HasSubstr("cannot be written"));
  EXPECT_THAT(WhyNot("unix:" + folder_.Path(std::string(108, 'x'))), HasSubstr("choose a shorter one"));
  EXPECT_THAT(WhyNot("unix:"), HasSubstr("the path is missing"));
  EXPECT_THAT(WhyNot("file:/tmp/"), HasSubstr("name a file in it"));
  EXPECT_THAT(WhyNot("file:/tmp/a;b"), HasSubstr("choose another"));
  EXPECT_THAT(WhyNot("file:/tmp/a\nb"), HasSubstr("metrics=file:/tmp/a?b"));
  EXPECT_THAT(WhyNot("udp:127.0.0.1:1"), HasSubstr("accepted are unix:PATH"));
  EXPECT_THAT(WhyNot("tcp:127.0.0.1"), HasSubstr("the port is missing"));
  EXPECT_THAT(WhyNot("tcp:9464"), HasSubstr("the port is missing"));
  for (const char* port : {"0", "65536", "-1", "", "80a", "9464 "})
    EXPECT_THAT(WhyNot(std::string("tcp:127.0.0.1:") + port), HasSubstr("from 1 to 65535")) << port;
  for (const char* address : {"localhost", "::1", "[127.0.0.1]", "", "127.1", "*"})
    EXPECT_THAT(WhyNot(std::string("tcp:") + address + ":9464"), HasSubstr("must be in digits")) << address;
}

TEST_F(MetricsEndpointTest, OthersThanLoopbackMustBeAskedFor) {
  for (const char* address : {"0.0.0.0", "[::]", "10.0.0.1"}) {
    EXPECT_THAT(WhyNot(std::string("tcp:") + address + ":9464"), HasSubstr("say tcp-any")) << address;
    MetricsTarget target;
    EXPECT_TRUE(ParseMetricsTarget(std::string("tcp-any:") + address + ":9464", &target).ok()) << address;
  }
  MetricsTarget target;
  EXPECT_TRUE(ParseMetricsTarget("tcp:127.9.9.9:9464", &target).ok());
  EXPECT_TRUE(ParseMetricsTarget("tcp:[::1]:9464", &target).ok());
  EXPECT_EQ(target.address, "::1");
  EXPECT_EQ(target.port, 9464);
}

// As a pool of workers that a server leaves behind.
TEST_F(MetricsEndpointTest, AChildKeepsNothingOfIt) {
  const uint16_t port = FreePort();
  const std::string metrics = "tcp:127.0.0.1:" + std::to_string(port);
  auto endpoint = Serve(metrics);
  const std::string path = folder_.Path("file");
  auto file = Serve("file:" + path);
  int lives[2];
  ASSERT_EQ(pipe(lives), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(lives[1]);
    endpoint.reset();
    file.reset();
    char none = 0;
    _exit(read(lives[0], &none, 1) == 0 ? 0 : 1);
  }
  close(lives[0]);
  EXPECT_THAT(HttpClient::Tcp(port).Get("/metrics"), HasSubstr("open"));
  endpoint.reset();
  EXPECT_THAT(HttpClient::Tcp(port).Get("/metrics"), IsEmpty()) << "the child listens";
  Serve(metrics);  // or the port would be in use
  close(lives[1]);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(MetricsEndpointTest, AFileIsWrittenAtOnceAndAtTheEnd) {
  const std::string path = folder_.Path("metrics.txt");
  std::unique_ptr<MetricsEndpoint> endpoint;
  ASSERT_TRUE(Open("file:" + path, &endpoint).ok());
  std::promise<void> first;
  int texts = 0;
  endpoint->Serve([&](MetricsFormat format) {
    EXPECT_EQ(format, MetricsFormat::kOpenMetrics);
    if (++texts == 1) first.set_value();
    return "text " + std::to_string(texts);
  });
  first.get_future().wait();
  endpoint.reset();
  EXPECT_EQ(Contents(path), "text 2");
  EXPECT_EQ(Files(), 1) << "something else is left";
}

TEST_F(MetricsEndpointTest, AFileForNodeExporterIsOfTheOlderFormat) {
  const std::string path = folder_.Path("mezzanine.prom");
  Serve("file:" + path);
  EXPECT_THAT(Contents(path), StartsWith("old"));
}

TEST_F(MetricsEndpointTest, TwoCachesDoNotShareAFile) {
  const std::string path = folder_.Path("file");
  auto first = Serve("file:" + path);
  EXPECT_THAT(WhyNot("file:" + folder_.Path("./file"), Status::Code::kBusy), HasSubstr("one of its own"));
  first.reset();
  Serve("file:" + path);
}

TEST_F(MetricsEndpointTest, TwoProcessesDoNotShareAFile) {
  const std::string metrics = "file:" + folder_.Path("file");
  auto first = Serve(metrics);
  const auto opens_elsewhere = [&] {
    const pid_t child = fork();
    if (child == 0) {
      std::unique_ptr<MetricsEndpoint> endpoint;
      const Status status = Open(metrics, &endpoint);
      const bool busy = status.code() == Status::Code::kBusy && status.message().find("process") != std::string::npos;
      _exit(status.ok() ? 1 : busy ? 0 : 2);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(opens_elsewhere(), 0) << "1: it opened; 2: for another reason";
  EXPECT_EQ(opens_elsewhere(), 0) << "a child that ends leaves the lock";
  first.reset();
  EXPECT_EQ(Files(), 1) << "the lock is left";
  EXPECT_EQ(opens_elsewhere(), 1);
  std::ofstream(folder_.Path("file.lock"));  // of a process that was killed
  Serve(metrics);
}

TEST_F(MetricsEndpointTest, AFullDiskLeavesTheLastFile) {
  const std::string path = folder_.Path("file");
  Serve("file:" + path, /*bytes=*/10);
  const std::string before = Contents(path);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  auto endpoint = Serve("file:" + path, /*bytes=*/100'000);
  const rlimit full{.rlim_cur = 50'000, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  endpoint.reset();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_THAT(Contents(path).size(), ::testing::AnyOf(before.size(), 100'004u)) << "half a file";
  EXPECT_EQ(Files(), 1) << "half a file is left";
}

}  // namespace
}  // namespace mezz
