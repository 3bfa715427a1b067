#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "live/client.h"
#include "live/folder.h"
#include "live/http.h"
#include "live/server.h"

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
    auto server = Server::listen(io_, socket(), std::move(handler));
    ASSERT_TRUE(server) << server.error().line();
    server_ = *std::move(server);
    thread_ = std::thread([this] { io_.run(); });
  }
  fs::path socket() const { return folder_ / "17.sock"; }

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
  EXPECT_EQ(refused.error().why, "HTTP/1.1 404 Not Found");
}

TEST_F(Live, AHeaderThatIsTooLong) {
  serve(repeats);
  const auto answer = ask(socket(), {"GET", "/" + std::string(most_header_bytes, 'x')}, patience);
  EXPECT_FALSE(answer);
}

TEST_F(Live, ItsFolderIsTheUsersAlone) {
  Environment environment;
  environment.set("XDG_RUNTIME_DIR", folder_);
  const auto path = new_socket(environment);
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, folder_ / "toprun" / (std::to_string(::getpid()) + ".sock"));
  {
    std::unique_ptr<Server> server = Server::listen(io_, *path, repeats).value();
    const std::vector<Socket> found = sockets(environment);
    EXPECT_TRUE(std::ranges::any_of(found, [&](const Socket& one) { return one.path == *path; }));
  }
  const std::vector<Socket> left = sockets(environment);  // other jobs' in /tmp may be there
  EXPECT_TRUE(std::ranges::none_of(left, [&](const Socket& one) { return one.path == *path; }));
  // Too long for a socket's path, or open to others: it is not used.
  const fs::path deep = folder_ / std::string(100, 'd');
  fs::create_directory(deep);
  EXPECT_NE(new_socket({{"XDG_RUNTIME_DIR", deep}})->parent_path(), deep / "toprun");
  ::chmod((folder_ / "toprun").c_str(), 0755);
  const auto elsewhere = new_socket(environment);
  EXPECT_TRUE(!elsewhere || elsewhere->parent_path() != folder_ / "toprun");
}

}  // namespace
}  // namespace toprun::live
