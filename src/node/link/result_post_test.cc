#include "node/link/result_post.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace toprun::link {
namespace {

ResultPost open_post() {
  auto post = ResultPost::open();
  EXPECT_TRUE(post) << post.error().line();
  return *std::move(post);
}

Fd connect_to(const ResultPost& post) {
  const hosts::Address here = hosts::loopback();
  const sockaddr_storage target = here.with_port(post.address().port);
  Fd socket(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), here.length()), 0);
  return socket;
}

void write_text(const Fd& socket, const std::string& text) {
  EXPECT_EQ(::write(socket.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(ResultPost, ReceivesTheCodeThatTheRootPosts) {
  ResultPost post = open_post();
  const auto address = parse_result_address(text_of(post.address()));
  ASSERT_TRUE(address);
  EXPECT_TRUE(post_result(*address, 75));
  EXPECT_EQ(post.received(), 75);
}

TEST(ResultPost, HasNothingWhereNothingWasPosted) {
  EXPECT_EQ(open_post().received(), std::nullopt);
}

TEST(ResultPost, PassesOverStrangers) {
  ResultPost post = open_post();
  const std::string token = post.address().token;
  std::vector<Fd> strangers;
  for (const std::string& text :
       {std::string(), std::string("0\n"), std::string(32, 'a') + " 0\n", token + " 256\n",
        token + " -1\n", token + " 0", token + " zero\n", std::string(1'000, 'x')}) {
    strangers.push_back(connect_to(post));
    write_text(strangers.back(), text);
  }
  EXPECT_TRUE(post_result(post.address(), 3));
  EXPECT_EQ(post.received(), 3);
}

TEST(ResultPost, SaysThatTheStarterIsGone) {
  ResultAddress gone = open_post().address();
  EXPECT_FALSE(post_result(gone, 0));
  gone.addresses.clear();
  EXPECT_FALSE(post_result(gone, 0));
}

TEST(ResultAddress, IsReadFromItsLineAlone) {
  for (const char* line : {"", "result", "result 1 t", "signal 15", "result 0 t ::1",
                           "result 65536 t ::1", "result x t ::1", "result 1 t nohost",
                           "result 1 t 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 "
                           "1.1.1.6 1.1.1.7 1.1.1.8 1.1.1.9"}) {
    EXPECT_FALSE(parse_result_address(line)) << line;
  }
  const auto address = parse_result_address("result 4711 cafe 10.0.0.1 fd00::1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->port, 4711);
  EXPECT_EQ(address->token, "cafe");
  EXPECT_EQ(text_of(*address), "result 4711 cafe 10.0.0.1 fd00::1");
}

}  // namespace
}  // namespace toprun::link
