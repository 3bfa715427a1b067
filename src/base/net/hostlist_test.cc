#include "base/net/hostlist.h"

#include <gtest/gtest.h>

#include <random>

namespace toprun::hosts {
namespace {

using Names = std::vector<std::string>;

// Expected values are what `scontrol show hostnames` of Slurm 22.05 prints, the suffix forms (newer
// Slurm only) aside.
TEST(Hostlist, Expands) {
  const std::vector<std::pair<std::string, Names>> rows = {
      {"", {}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {"a b\tc\nd", {"a", "b", "c", "d"}},
      {",a,,b,", {"a", "b"}},
      {"n[1-3]", {"n1", "n2", "n3"}},
      {"[1-2]", {"1", "2"}},
      {"n[1,1],n1", {"n1", "n1", "n1"}},
      {"n[009-11]", {"n009", "n010", "n011"}},
      {"n[9-011]", {"n9", "n10", "n11"}},
      {"n[00000000000000000001-2]", {"n00000000000000000001", "n00000000000000000002"}},
      {"a[01-03,7]b[1-2]", {"a01b1", "a01b2", "a02b1", "a02b2", "a03b1", "a03b2", "a7b1", "a7b2"}},
      {"a[1-2]b[3-4]c[5-6]",
       {"a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6", "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"}},
      {"a[1-2]b[3-4]c[5-6]d[7-8]",
       {"a1b3c5d7", "a1b3c5d8", "a2b3c5d7", "a2b3c5d8", "a1b4c5d7", "a1b4c5d8", "a2b4c5d7",
        "a2b4c5d8", "a1b3c6d7", "a1b3c6d8", "a2b3c6d7", "a2b3c6d8", "a1b4c6d7", "a1b4c6d8",
        "a2b4c6d7", "a2b4c6d8"}},
      {"a[1-2]-ib.net,c", {"a1-ib.net", "a2-ib.net", "c"}},
      {"n1-n3", {"n1-n3"}},
  };
  for (const auto& [text, expected] : rows) {
    const auto hosts = expand_hostlist(text);
    ASSERT_TRUE(hosts) << text << ": " << hosts.error().line();
    EXPECT_EQ(*hosts, expected) << text;
  }
}

TEST(Hostlist, RefusesWithTheColumn) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> rows = {
      {"n[1-", 2, "never closed"},
      {"n[", 2, "never closed"},
      {"n[1", 2, "never closed"},
      {"n[1,", 2, "never closed"},
      {"ok,n[3-1]", 6, "descends"},
      {"n[0-999999999]", 3, "more than 262144 hosts"},
      {"n[0-262144]", 3, "more than 262144 hosts"},
      {"n[]", 3, "number is missing"},
      {"n[1,,2]", 5, "number is missing"},
      {"n[1,]", 5, "number is missing"},
      {"n[-1]", 3, "number is missing"},
      {"n[+1]", 3, "number is missing"},
      {"n[a]", 3, "number is missing"},
      {"n[[1-2]]", 3, "number is missing"},
      {"n[1[2]]", 4, "only digits"},
      {"n[1 2]", 4, "only digits"},
      {"n[1-2-3]", 6, "only digits"},
      {"n[1-2]]", 7, "']' without"},
      {"n]", 2, "']' without"},
      {"a,switch{s0}", 9, "only Slurm's server"},
      {"n[1234567890123456789]", 3, "too long"},
      {"a[0-65535]b[0-65535]", 1, "at most 262144 hosts"},
      {"x,a[0-9]b[0-65535]c[0-65535]d[0-65535]e[0-65535]f[0-65535]", 3, "at most 262144 hosts"},
      {std::string(256, 'x'), 1, "longer than 255 bytes"},
      {"n[0-999]x[0-994]", 1, "at most 262144 hosts"},
      {std::string("a\0b", 3), 2, "control character"},
  };
  for (const auto& [text, column, why] : rows) {
    const auto hosts = parse_hostlist(text);
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().column, column) << text;
    EXPECT_NE(hosts.error().why.find(why), std::string::npos) << text << ": " << hosts.error().why;
  }
}

TEST(Hostlist, ErrorIsOneLineWithTheList) {
  const auto hosts = expand_hostlist("n[1-");
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().line(),
            "host list 'n[1-', column 2: '[' is never closed; write brackets as in n[0-3,7]");
  EXPECT_EQ(hosts.error()->exit_code, exit_usage);
}

TEST(Hostlist, KeepsToTheCallersLimit) {
  EXPECT_TRUE(parse_hostlist("n[0-9]", 10));
  EXPECT_FALSE(parse_hostlist("n[0-9],a", 10));
  EXPECT_TRUE(parse_hostlist("n[0-65535]"));
  EXPECT_EQ(parse_hostlist("n[000000-099999]")->back(), "n099999");
  EXPECT_EQ(parse_hostlist("n[0-262143]")->size(), max_hosts);
}

TEST(Hostlist, Compresses) {
  const std::vector<std::pair<Names, std::string>> rows = {
      {{}, ""},
      {{"a"}, "a"},
      {{"n0", "n1", "n2", "n3", "n7", "login"}, "n[0-3,7],login"},
      {{"n9", "n10"}, "n[9-10]"},
      {{"n09", "n10"}, "n[09-10]"},
      {{"n9", "n010"}, "n[9,010]"},
      {{"n2", "n1", "n0"}, "n[2,1,0]"},
      {{"n1", "n1"}, "n[1,1]"},
      {{"n1", "m2"}, "n1,m2"},
      {{"n1.c2.x", "n2.c2.x"}, "n[1-2].c2.x"},
      {{"10.0.0.1", "10.0.0.2"}, "10.0.0.1,10.0.0.2"},
      {{"a", "b"}, "a,b"},
  };
  for (const auto& [hosts, expected] : rows) {
    EXPECT_EQ(compress_hostlist(hosts), expected);
  }
}

TEST(Hostlist, CompressedListsExpandToTheSameHosts) {
  std::mt19937 random(20261121);
  const std::vector<std::string> prefixes = {"n", "rack1-", "", "a0b"};
  const std::vector<std::string> suffixes = {"", "-ib", ".c1.net"};
  for (int round = 0; round < 500; ++round) {
    Names hosts;
    for (int i = 0; i < 30; ++i) {
      const std::string& prefix = prefixes[random() % (1 + random() % prefixes.size())];
      const std::string& suffix = suffixes[random() % (1 + random() % suffixes.size())];
      hosts.push_back(fmt::format("{}{:0{}}{}", prefix, random() % 12, 1 + random() % 3, suffix));
    }
    const std::string list = compress_hostlist(hosts);
    EXPECT_EQ(expand_hostlist(list), hosts) << list;
  }
}

TEST(CountList, Expands) {
  EXPECT_EQ(expand_counts("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(expand_counts("72(x2),36"), (std::vector<int>{72, 72, 36}));
  EXPECT_EQ(expand_counts("8"), (std::vector<int>{8}));
}

TEST(CountList, RefusesWithTheColumn) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "column 1"},       {"2,", "column 3"},
      {"x", "column 1"},      {"-1", "column 1"},
      {"1(x0)", "column 2"},  {"1(3)", "column 2"},
      {"1,2(x", "column 4"},  {"1(x2", "column 2"},
      {"1(x)", "column 2"},   {"1(x1000001)", "column 1"},
      {"2(x3)4", "column 2"}, {"99999999999", "column 1"},
  };
  for (const auto& [text, where] : rows) {
    const auto counts = expand_counts(text);
    ASSERT_FALSE(counts) << text;
    EXPECT_NE(counts.error().line().find(where), std::string::npos) << counts.error().line();
  }
}

}  // namespace
}  // namespace toprun::hosts
