#include <gtest/gtest.h>

#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun {
namespace {

TEST(Complaint, IsWhatAProgramSaysToPeople) {
  constexpr std::string_view logged =
      "E1124 22:53:22.909201   25386 memcache.go:265] \"Unhandled Error\" err=\"couldn't get "
      "current "
      "server API group list: Get \\\"http://localhost:8080/api?timeout=32s\\\": dial tcp "
      "[::1]:8080: connect: connection refused\"\n";
  const std::string both = std::string(logged) + std::string(logged) +
                           "The connection to the server localhost:8080 was refused - did you "
                           "specify the right host or port?\n";
  struct Case {
    std::string_view written, expected;
  };
  for (const auto& [written, expected] : std::initializer_list<Case>{
           {"", ""},
           {"Error from server (Forbidden): nodes is forbidden\n",
            "(Forbidden): nodes is forbidden"},
           {both,
            "The connection to the server localhost:8080 was refused - did you specify the right "
            "host or port?"},
           {logged,
            "couldn't get current server API group list: Get "
            "\"http://localhost:8080/api?timeout=32s\": dial tcp [::1]:8080: connect: connection "
            "refused"},
           {"W0101 00:00:00.000000       1 a.go:1] all is late\n", "all is late"},
           {"E0101 00:00:00.000000\n", ""},
           {"E0101 0 a.go:1] x err=\"cut \\", "cut \\"},
           {"  error: a\n\nerror: a\nb\n", "a | b"},
           {"1\n2\n3\n4\n5\n", "1 | 2 | 3"},
           {"ERRO[0000] no session\n", "no session"},
           {"a\x1b[2J\n", "a\\x1b[2J"},
       }) {
    EXPECT_EQ(join(complaint(written, 3), " | "), expected) << written;
  }
}

}  // namespace
}  // namespace toprun
