#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/os/fd.h"
#include "observe/live/client.h"
#include "observe/live/folder.h"
#include "observe/live/http.h"
#include "observe/live/server.h"

namespace toprun::live {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto patience = 60s;  // for what answers at once

// A server on a thread of its own, at a socket in a folder of its own.
class Live : public testing::Test {
 protected:
  Live() : folder_(fs::temp_directory_path() / ("live_test." + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    ::chmod(folder_.c_str(), 0700);
  }
  ~Live() override {
    asio::post(io_, [this] { server_.reset(); });
    guard_.reset();
    io_.stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
    fs::remove_all(folder_);
  }
  void serve(Server::Handler handler) {
    server_ = listen(std::move(handler));
    thread_ = std::thread([this] { io_.run(); });
  }
  std::unique_ptr<Server> listen(Server::Handler handler) {
    auto server = Server::listen(io_, folder_, std::move(handler));
    EXPECT_TRUE(server) << server.error().line();
    return server ? *std::move(server) : nullptr;
  }
  fs::path socket(int number = 1) const { return socket_in(folder_, ::getpid(), number); }
  std::set<fs::path> names() const {
    return {fs::directory_iterator(folder_), fs::directory_iterator()};
  }

  fs::path folder_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

asio::awaitable<Answer> repeats(Question question) {
  co_return Answer{200, question.method + " " + question.target};
}

TEST_F(Live, AnswersWhatItIsAsked) {
  serve(repeats);
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask(socket(), {"POST", "/stacks"}, patience);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ((*answer)->body, "POST /stacks");
  }
}

TEST_F(Live, NobodyListens) {
  const auto answer = ask(socket(), {"GET", "/"}, patience);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer);
}

TEST_F(Live, AnAnswerThatDoesNotCome) {
  serve([](Question) -> asio::awaitable<Answer> {
    asio::steady_timer never(co_await asio::this_coro::executor, 1h);
    co_await never.async_wait(asio::use_awaitable);
    co_return Answer{};
  });
  const auto answer = ask(socket(), {"GET", "/"}, 50ms);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().line().find("after 50 ms"), std::string::npos);
}

TEST_F(Live, AnAnswerThatGoesOn) {
  serve([](Question) -> asio::awaitable<Answer> {
    Answer answer{200, "0", "text/plain"};
    answer.more = [n = std::make_shared<int>(0)]() -> asio::awaitable<std::optional<std::string>> {
      if (++*n == 4) co_return std::nullopt;
      co_return std::to_string(*n);
    };
    co_return answer;
  });
  const auto body = follow(socket(), {"GET", "/"}, patience);
  ASSERT_TRUE(body && *body);
  std::string text;
  for (char byte = 0; ::read((*body)->get(), &byte, 1) == 1;) text += byte;
  EXPECT_EQ(text, "0123");
  EXPECT_FALSE(*follow(socket().string() + ".no", {"GET", "/"}, patience));
}

TEST_F(Live, AnAnswerThatDoesNotBegin) {
  serve([](Question) -> asio::awaitable<Answer> { co_return Answer{404, ""}; });
  const auto refused = follow(socket(), {"GET", "/"}, patience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()->why, "HTTP/1.1 404 Not Found");
}

TEST_F(Live, AJobThatEndsWhileItIsAskedIsGone) {
  for (const bool listens_on : {false, true}) {
    const fs::path path = folder_ / (listens_on ? "on" : "gone");
    asio::local::stream_protocol::acceptor acceptor(io_, path.string());
    std::thread job([&] {
      auto connection = acceptor.accept();
      if (!listens_on) acceptor.close();
      connection.close();
    });
    const auto answer = ask(path, {"GET", "/"}, patience);
    job.join();
    EXPECT_EQ(answer.has_value(), !listens_on);
    if (answer) {
      EXPECT_FALSE(*answer);
    }
  }
}

TEST_F(Live, AHeaderThatIsTooLong) {
  serve(repeats);
  const auto answer = ask(socket(), {"GET", "/" + std::string(most_header_bytes, 'x')}, patience);
  EXPECT_FALSE(answer);
}

TEST_F(Live, ItsFolderIsTheUsersAlone) {
  Environment environment;
  environment.set("XDG_RUNTIME_DIR", folder_);
  const auto folder = socket_folder(environment);
  ASSERT_TRUE(folder);
  EXPECT_EQ(*folder, folder_ / "toprun");
  const fs::path path = socket_in(*folder, ::getpid(), 1);
  {
    const std::unique_ptr<Server> server = Server::listen(io_, *folder, repeats).value();
    const std::vector<Socket> found = sockets(environment);
    EXPECT_TRUE(std::ranges::any_of(found, [&](const Socket& one) { return one.path == path; }));
  }
  const std::vector<Socket> left = sockets(environment);  // other jobs' in /tmp may be there
  EXPECT_TRUE(std::ranges::none_of(left, [&](const Socket& one) { return one.path == path; }));
  // Too long for a socket's path, or open to others: it is not used.
  const fs::path deep = folder_ / std::string(100, 'd');
  fs::create_directory(deep);
  EXPECT_NE(socket_folder({{"XDG_RUNTIME_DIR", deep}}), deep / "toprun");
  ::chmod((folder_ / "toprun").c_str(), 0755);
  const auto elsewhere = socket_folder(environment);
  EXPECT_TRUE(!elsewhere || elsewhere != folder_ / "toprun");
}

// Containers that share the folder have process ids of their own.
TEST_F(Live, JobsOfOneProcessIdHaveNamesOfTheirOwn) {
  auto first = listen(repeats);
  auto second = listen(repeats);
  EXPECT_EQ(second->path(), socket(2));
  first.reset();
  EXPECT_EQ(names(), std::set{socket(2)});
  const auto third = listen(repeats);
  EXPECT_EQ(third->path(), socket());
  second.reset();
  EXPECT_EQ(names(), std::set{socket()});
}

TEST_F(Live, AKilledJobsNameIsTakenAgain) {
  const Fd left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const asio::local::stream_protocol::endpoint there(socket().string());
  ASSERT_EQ(::bind(left.get(), there.data(), static_cast<socklen_t>(there.size())), 0);
  EXPECT_EQ(listen(repeats)->path(), socket());
  EXPECT_TRUE(names().empty());
}

TEST_F(Live, NamesEnd) {
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < most_of_one_pid; ++i) servers.push_back(listen(repeats));
  EXPECT_FALSE(Server::listen(io_, folder_, repeats));
  EXPECT_EQ(names().size(), servers.size());
}

// A visitor comes while no descriptor is left: those after it are answered.
TEST_F(Live, ItHearsAgainWhenThereAreDescriptors) {
  server_ = listen(repeats);
  const Fd visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const asio::local::stream_protocol::endpoint there(socket().string());
  ASSERT_EQ(::connect(visitor.get(), there.data(), static_cast<socklen_t>(there.size())), 0);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  io_.poll();  // its coming is seen, and it cannot be taken in
  io_.poll();
  ::setrlimit(RLIMIT_NOFILE, &before);
  thread_ = std::thread([this] { io_.run(); });
  const auto answer = ask(socket(), {"GET", "/"}, patience);
  EXPECT_TRUE(answer && *answer);
}

// What listens at a name of ours is asked only if it is ours.
TEST_F(Live, AnotherUsersProgramIsNotBelieved) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ::chmod(folder_.c_str(), 0777);
  const fs::path path = socket();
  const pid_t other = ::fork();
  if (other == 0) {
    if (::setuid(65'534) != 0) ::_exit(1);
    const int listens = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const asio::local::stream_protocol::endpoint there(path.string());
    if (::bind(listens, there.data(), static_cast<socklen_t>(there.size())) != 0) ::_exit(1);
    ::listen(listens, 16);
    for (;;) ::pause();
  }
  const auto is_asked = [&] {
    const auto answer = ask(path, {"GET", "/"}, patience);
    return answer && !*answer;  // nothing listens there yet
  };
  while (is_asked() && ::waitpid(other, nullptr, WNOHANG) == 0) std::this_thread::yield();
  const auto asked = ask(path, {"GET", "/"}, patience);
  const auto followed = follow(path, {"GET", "/"}, patience);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error()->why, "a program of user 65534 listens there");
  EXPECT_FALSE(followed);
}

}  // namespace
}  // namespace toprun::live
