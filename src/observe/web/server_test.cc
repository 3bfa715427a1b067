#include "observe/web/server.h"

#include <gtest/gtest.h>

namespace toprun::web {
namespace {

TEST(Server, Tokens) {
  EXPECT_TRUE(is_good_token("abcdefghij0123456789-_"));
  EXPECT_TRUE(is_good_token(std::string(256, 'x')));
  for (const std::string& token :
       {std::string(), std::string("short"), std::string(21, 'x'), std::string(257, 'x'),
        std::string(30, ' '), std::string(30, 'x') + "\r\n", std::string(30, 'x') + "\xc3\xa4"}) {
    EXPECT_FALSE(is_good_token(token)) << token;
  }
}

class Nothing : public Source {
 public:
  Text text(Part) override { return nullptr; }
  void looked_at(bool) override {}
  boost::asio::awaitable<std::optional<Page>> page(std::string, std::string) override {
    co_return std::nullopt;
  }
};

TEST(Server, OnlyANewTokenStandsInTheAddress) {
  boost::asio::io_context io;
  Nothing source;
  ListenAddress place;
  auto made = Server::listen(io, place, source);
  ASSERT_TRUE(made);
  const auto at = (*made)->url().find("/#token=");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(is_good_token((*made)->url().substr(at + 8)));
  place.token = std::string(22, 'x');
  const auto given = Server::listen(io, place, source);
  ASSERT_TRUE(given);
  EXPECT_TRUE((*given)->url().ends_with("/"));
  EXPECT_EQ((*given)->url().find("xx"), std::string::npos);
}

}  // namespace
}  // namespace toprun::web
