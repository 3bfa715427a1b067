#include <gtest/gtest.h>

#include <vector>

#include "observe/web/server.h"

namespace toprun::web {
namespace {

TEST(Request, HostsThatAreOurs) {
  struct Row {
    std::string_view field;
    bool ours;
  };
  const std::vector<std::string> names = {"n0.cluster", "n0"};
  for (const Row& row : {
           Row{"127.0.0.1", true},
           Row{"127.0.0.1:4711", true},
           Row{"10.1.2.3:80", true},
           Row{"[::1]:80", true},
           Row{"[fe80::1]", true},
           Row{"localhost", true},
           Row{"LocalHost:9", true},
           Row{"n0", true},
           Row{"N0.cluster:80", true},
           Row{"", false},
           Row{":80", false},
           Row{"[::1", false},
           Row{"[evil.example]", false},
           Row{"[::1].evil.example", false},
           Row{"[::1]evil.example:80", false},
           Row{"evil.example", false},
           Row{"127.0.0.1.evil.example:80", false},
           Row{"localhost.evil.example", false},
           Row{"n0.evil.example", false},
           Row{"n0.cluster@evil.example", false},
       }) {
    EXPECT_EQ(is_known_host(row.field, names), row.ours) << row.field;
  }
}

TEST(Request, Tokens) {
  struct Row {
    std::string_view field;
    bool right;
  };
  for (const Row& row : {
           Row{"Bearer abc", true},
           Row{"bearer abc", true},
           Row{"", false},
           Row{"abc", false},
           Row{"Bearer", false},
           Row{"Bearer ", false},
           Row{"Bearer ab", false},
           Row{"Bearer abcd", false},
           Row{"Bearer abd", false},
           Row{"Bearer  abc", false},
           Row{"Basic abc", false},
       }) {
    EXPECT_EQ(has_token(row.field, "abc"), row.right) << row.field;
  }
  EXPECT_FALSE(has_token("Bearer ", ""));
}

TEST(Request, Paths) {
  EXPECT_EQ(path_of("/metrics"), "/metrics");
  EXPECT_EQ(path_of("/metrics?x=1"), "/metrics");
  EXPECT_EQ(path_of(""), "");
}

}  // namespace
}  // namespace toprun::web
