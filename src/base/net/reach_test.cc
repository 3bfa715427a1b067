#include <gtest/gtest.h>

#include <array>

#include "base/net/address.h"

namespace toprun::hosts {
namespace {

constexpr std::chrono::seconds limit{5};

TEST(Answers, ByAcceptingOrRefusing) {
  const std::array here = {loopback()};
  auto listener = listen_on(0);
  ASSERT_TRUE(listener);
  const int port = port_of(*listener);
  EXPECT_TRUE(answers(here, port, limit)) << "accepts";
  listener->reset();
  EXPECT_TRUE(answers(here, port, limit)) << "refuses";
}

TEST(Answers, NotWhereNoHostIs) {
  // The link-local prefix without an interface has no route (RFC 4291, 2.5.6).
  const std::array nowhere = {*Address::parse("fe80::1")};
  EXPECT_FALSE(answers(nowhere, 7, std::chrono::milliseconds(100)));
  EXPECT_FALSE(answers({}, 7, limit));
}

}  // namespace
}  // namespace toprun::hosts
