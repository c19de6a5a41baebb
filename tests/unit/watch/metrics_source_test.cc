// SPDX-License-Identifier: Apache-2.0
// Reading figures from files and sockets, of servers that behave and of others; and mezz_inspect over them.
#include "workloads/watch/metrics_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "cache/base/descriptor.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/watch/figures.h"

namespace mezz::watch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = MetricsSource::Kind;

// A server at a Unix socket. It answers so many clients as its test says, one after another.
class Server {
 public:
  using Answer = std::function<void(int client)>;

  Server(const std::string& path, int clients, Answer answer)
      : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    unlink(address.sun_path);  // of one before
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    thread_ = std::thread([this, clients, answer = std::move(answer)] {
      for (int i = 0; i < clients; ++i) {
        const Descriptor client(accept(listener_.get(), nullptr, nullptr));
        if (client.get() < 0) return;
        std::array<char, 4096> request;
        if (recv(client.get(), request.data(), request.size(), 0) <= 0) continue;
        request_.assign(request.data(), strnlen(request.data(), request.size()));
        answer(client.get());
      }
    });
  }
  ~Server() {
    shutdown(listener_.get(), SHUT_RDWR);  // ends accept
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string request_;

 private:
  const Descriptor listener_;
  std::thread thread_;
};

void Send(int client, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}
std::string Ok(const std::string& body, size_t more = 0) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", body.size() + more, body);
}

class MetricsSourceTest : public testing::Test {
 protected:
  // The error of one read from a server that sends `answer`, or does something else.
  std::string ErrorOf(const Server::Answer& answer, std::chrono::milliseconds patience = std::chrono::seconds(5)) {
    const Server server(socket_, 1, answer);
    return Read("unix:" + socket_, patience).message();
  }
  Status Read(const std::string& text, std::chrono::milliseconds patience = std::chrono::seconds(5)) {
    MetricsSource source;
    MEZZ_RETURN_IF_ERROR(FindMetricsSource(text, &source, folder_.Path("proc")));
    return ReadMetrics(source, &samples_, patience);
  }
  // How the program ends, and what it prints.
  std::pair<int, std::string> Inspect(const std::string& arguments) {
    const std::string command = fmt::format("{} {} 2>&1", MEZZ_INSPECT_BINARY, arguments);
    FILE* const pipe = popen(command.c_str(), "r");
    std::string printed;
    std::array<char, 4096> piece;
    while (const size_t bytes = fread(piece.data(), 1, piece.size(), pipe)) printed.append(piece.data(), bytes);
    return {WEXITSTATUS(pclose(pipe)), printed};
  }

  const TemporaryFolder folder_;
  const std::string socket_ = folder_.Path("socket");
  const std::string figures_ = Figures().Text();
  MetricSamples samples_;
};

TEST_F(MetricsSourceTest, AFileIsRead) {
  const std::string path = folder_.Write("figures.txt", figures_);
  for (const std::string& text : {path, "file:" + path}) {
    ASSERT_TRUE(Read(text).ok()) << text;
    EXPECT_EQ(samples_.Info("policy"), "adaptive");
  }
  const std::string older = folder_.Write("figures.prom", figures_.substr(0, figures_.size() - 6));
  EXPECT_TRUE(Read(older).ok());
}

TEST_F(MetricsSourceTest, ASocketIsAskedForOpenMetrics) {
  Server server(socket_, 2, [this](int client) { Send(client, Ok(figures_)); });
  ASSERT_TRUE(Read("unix:" + socket_).ok());
  EXPECT_EQ(samples_.Sum("scm_put_total"), 5000);
  EXPECT_THAT(server.request_, AllOf(HasSubstr("GET /metrics HTTP/1.1"), HasSubstr("application/openmetrics-text")));
  EXPECT_TRUE(Read(socket_).ok()) << "a path alone is what lies there";
}

TEST_F(MetricsSourceTest, FormsOfATcpAddress) {
  MetricsSource source;
  ASSERT_TRUE(FindMetricsSource("tcp:127.0.0.1:9464", &source).ok());
  EXPECT_EQ(source.kind, Kind::kTcp);
  EXPECT_EQ(source.address, "127.0.0.1");
  EXPECT_EQ(source.port, 9464);
  ASSERT_TRUE(FindMetricsSource("tcp-any:[::1]:1", &source).ok());
  EXPECT_EQ(source.address, "::1");
  for (const char* wrong : {"tcp:127.0.0.1", "tcp:127.0.0.1:0", "tcp:127.0.0.1:x", "tcp::1", "tcp:"})
    EXPECT_THAT(FindMetricsSource(wrong, &source).message(), HasSubstr("as tcp:127.0.0.1:9464")) << wrong;
  EXPECT_THAT(Read("tcp:localhost:9464").message(), HasSubstr("in digits"));
}

TEST_F(MetricsSourceTest, WhereNobodyListensItSaysSo) {
  EXPECT_THAT(Read("unix:" + socket_).message(), HasSubstr("is the cache open, with metrics= in its URI?"));
  {
    const Server gone(socket_, 0, [](int) {});
  }
  EXPECT_THAT(Read("unix:" + socket_).message(), AllOf(HasSubstr(socket_), HasSubstr("nobody answers there")));
  const Descriptor bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // and does not listen
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  ASSERT_EQ(bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  EXPECT_THAT(Read(fmt::format("tcp:127.0.0.1:{}", ntohs(address.sin_port))).message(),
              HasSubstr("nobody answers there"));
}

TEST_F(MetricsSourceTest, WhatIsOfAnotherKindIsRefused) {
  const std::string file = folder_.Write("figures.txt", figures_);
  EXPECT_THAT(Read("unix:" + file).message(), HasSubstr("no socket"));
  EXPECT_THAT(Read("file:").message(), HasSubstr("the path is missing"));
  EXPECT_THAT(Read("file:" + folder_.Path("")).message(), HasSubstr("it is a folder"));
  EXPECT_THAT(Read("/dev/null").message(), HasSubstr("neither a socket nor a file"));
  EXPECT_THAT(Read(folder_.Write("page.html", "<html>\n")).message(), HasSubstr("first line is \"<html>\""));
  const Server server(socket_, 0, [](int) {});
  EXPECT_THAT(Read("file:" + socket_).message(), HasSubstr("no file"));
}

TEST_F(MetricsSourceTest, AServerThatClosesEarlyIsAnError) {
  EXPECT_THAT(ErrorOf([](int) {}), HasSubstr("closed before the answer was whole"));
  EXPECT_THAT(ErrorOf([](int client) { Send(client, "HTTP/1.1 200 OK\r\nConte"); }), HasSubstr("closed before"));
  EXPECT_THAT(ErrorOf([this](int client) { Send(client, Ok(figures_, /*more=*/1)); }), HasSubstr("closed before"));
}

TEST_F(MetricsSourceTest, AnAnswerThatIsNoneIsAnError) {
  EXPECT_THAT(ErrorOf([](int client) { Send(client, "SSH-2.0-OpenSSH_9.2\r\n\r\n"); }),
              HasSubstr("does not speak HTTP"));
  EXPECT_THAT(ErrorOf([](int client) { Send(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"); }),
              HasSubstr("it answers 404"));
  EXPECT_THAT(ErrorOf([](int client) { Send(client, Ok("<html>\n")); }), HasSubstr("its first line is \"<html>\""));
  EXPECT_THAT(ErrorOf([this](int client) { Send(client, Ok(figures_.substr(0, figures_.size() - 6))); }),
              HasSubstr("cut off"));
}

TEST_F(MetricsSourceTest, AnEndlessAnswerIsAnError) {
  const auto endless = [](int client) {
    Send(client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    Send(client, std::string(2 * MetricSamples::kTextBytesMax, 'x'));
  };
  EXPECT_THAT(ErrorOf(endless), HasSubstr("more than 16 MiB"));
  EXPECT_THAT(ErrorOf([](int client) { Send(client, Ok("", /*more=*/2 * MetricSamples::kTextBytesMax)); }),
              HasSubstr("more than 16 MiB"));
}

TEST_F(MetricsSourceTest, AServerThatDoesNotAnswerIsGivenUp) {
  const auto waits = [](int client) {
    char byte;
    static_cast<void>(recv(client, &byte, 1, 0));  // until the client goes
  };
  EXPECT_THAT(ErrorOf(waits, std::chrono::milliseconds(20)), HasSubstr("does not answer in time"));
}

TEST_F(MetricsSourceTest, OfAProcessItIsWhatItsEnvironmentSays) {
  const std::string file = folder_.Write("figures.txt", figures_);
  const auto process = [this](const std::string& environment) {
    std::filesystem::create_directories(folder_.Path("proc/4242"));
    folder_.Write("proc/4242/environ", environment);
  };
  EXPECT_THAT(Read("4242").message(), HasSubstr("there is no such process"));
  process(std::string("A=b") + '\0' + "MEZZANINE_CACHE=mezzanine://scm=1G;metrics=file:" + file + ";pack=off" + '\0' +
          "Z=1");
  EXPECT_TRUE(Read("4242").ok()) << Read("4242").message();
  process(std::string("MEZZANINE_CACHE=mezzanine://metrics=file:figures.txt") + '\0');
  std::filesystem::create_symlink(folder_.Path(""), folder_.Path("proc/4242/cwd"));
  EXPECT_TRUE(Read("4242").ok()) << Read("4242").message();
  process("MEZZANINE_CACHE=mezzanine://scm=1G");
  EXPECT_THAT(Read("4242").message(), HasSubstr("no MEZZANINE_CACHE with metrics="));
  process("NOT_MEZZANINE_CACHE=mezzanine://metrics=file:x");
  EXPECT_THAT(Read("4242").message(), HasSubstr("no MEZZANINE_CACHE with metrics="));
  process("MEZZANINE_CACHE=mezzanine://metrics=unix:/nowhere");
  EXPECT_THAT(Read("4242").message(), AllOf(HasSubstr("process 4242"), HasSubstr("/nowhere")));
}

TEST_F(MetricsSourceTest, TheDoctorEndsByWhatItFound) {
  const std::string healthy = folder_.Write("healthy.txt", figures_);
  EXPECT_EQ(Inspect("--doctor=" + healthy).first, 0);
  Figures spoilt;
  spoilt.values["scm_closed"] = 1;
  const auto [status, printed] = Inspect("--doctor=file:" + folder_.Write("spoilt.txt", spoilt.Text()));
  EXPECT_EQ(status, 1);
  EXPECT_THAT(printed, AllOf(HasSubstr("wrong (closed): "), HasSubstr("do: replace the device")));
  EXPECT_THAT(Inspect("--json --doctor=" + healthy).second, HasSubstr("\"healthy\": true"));
  EXPECT_EQ(Inspect("--doctor=/nowhere").first, 2);
  EXPECT_EQ(Inspect("--verify --doctor=" + healthy).first, 2);
  EXPECT_EQ(Inspect(healthy + " --doctor=" + healthy).first, 2);
  EXPECT_EQ(Inspect("--follow=" + healthy + " --doctor=" + healthy).first, 2);
}

TEST_F(MetricsSourceTest, FollowPrintsALineWhereThereIsNoTerminal) {
  const Server server(socket_, 3, [this](int client) { Send(client, Ok(figures_)); });
  const auto [status, printed] = Inspect("--count=2 --follow=unix:" + socket_);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(printed, testing::MatchesRegex("no look-ups [^\n]*\nno look-ups [^\n]*\n"));
  EXPECT_EQ(Inspect("--count=-1 --follow=unix:" + socket_).first, 2);
}

}  // namespace
}  // namespace mezz::watch
