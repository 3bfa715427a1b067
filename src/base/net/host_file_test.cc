#include "base/net/host_file.h"

#include <gtest/gtest.h>

namespace toprun::hosts {
namespace {

// "user@name:slots …", the slots left out where none were given.
std::string shown(const std::vector<NamedHost>& hosts) {
  std::string out;
  for (const NamedHost& host : hosts) {
    if (!out.empty()) out += ' ';
    out += host.login;
    if (host.slots) out += fmt::format(":{}", *host.slots);
  }
  return out;
}

struct Case {
  std::string_view text;
  std::string_view expected;
};

TEST(HostFile, HostsOption) {
  constexpr Case cases[] = {
      {"a", "a"},
      {"a,b[3-5]:4", "a b3:4 b4:4 b5:4"},
      {"b[08-10,12]:2,c", "b08:2 b09:2 b10:2 b12:2 c"},
      {"root@a:2, me@b", "root@a:2 me@b"},
      {"10.0.0.1:8,fd77::1", "10.0.0.1:8 fd77::1"},
      {"fe80::1%eth0", "fe80::1%eth0"},
      {"a:4095", "a:4095"},
      {"a,b,", "a b"},
      {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
      {"[fd00::1]:4,[fd00::2]", "fd00::1:4 fd00::2"},
      {"a 4 b 2", "a:4 b:2"},  // LSB_MCPU_HOSTS
      {"a a b a", "a:3 b:1"},  // LSB_HOSTS
  };
  for (const auto& [text, expected] : cases) {
    const auto hosts = parse_hosts(text, "--hosts");
    ASSERT_TRUE(hosts) << text << ": " << hosts.error().line();
    EXPECT_EQ(shown(*hosts), expected) << text;
  }
}

TEST(HostFile, HostsOptionErrors) {
  constexpr Case cases[] = {
      {"", "--hosts does not name a host"},
      {" , ", "--hosts does not name a host"},
      {"a,b,a",
       "--hosts, item 3: host a is listed twice: the host is already listed at --hosts, item 1"},
      {"n[1-3],n2:4", "--hosts, item 2: host n2 is listed twice"},
      {"me@a,you@a", "--hosts, item 2: host a is listed twice"},
      {"a:0", "--hosts, item 1: \"a:0\": the number of processes after the ':' must be from 1 to "},
      {"a:ssh", "\"a:ssh\": the text after the ':' is not a number of processes"},
      {"a:x",
       "write HOST:N with N from 1 to 4095; a port goes into ssh's configuration "
       "(~/.ssh/config)"},
      {"a:100001", "with N from 1 to 4095"},
      {"a:29500",
       "--hosts, item 1: \"a:29500\": 29500 looks like a port, but N in HOST:N is the number of "
       "processes; drop the port: --master-port gives toprun's port"},
      {"a,,b", "--hosts, item 2 is empty; give a host between two commas, or drop a comma"},
      {"a,b,,", "--hosts, item 3 is empty"},
      {"a:22:3",
       "--hosts, item 1: \"a:22:3\": several colons make an IPv6 address, but this is not a valid "
       "one; "
       "write HOST:N for N processes on a host; a port goes into ssh's configuration "
       "(~/.ssh/config)"},
      {"me@a:22:3", "several colons make an IPv6 address"},
      {"a,b[3-", "--hosts, item 2, column 2 of \"b[3-\": '[' is never closed"},
      {"-oProxyCommand=x", "\"-oProxyCommand=x\" is not a host"},
      {"a;reboot", "\"a;reboot\" is not a host"},
      {"$(x)@a", "is not a host"},
      {"n[0-9999]", "there are too many hosts: at most 4096 hosts are allowed"},
      {"n[0-4095],m", "--hosts, item 2: too many hosts"},
  };
  for (const auto& [text, expected] : cases) {
    const auto hosts = parse_hosts(text, "--hosts");
    ASSERT_FALSE(hosts) << text;
    EXPECT_NE(hosts.error().line().find(expected), std::string::npos) << hosts.error().line();
    EXPECT_EQ(hosts.error()->exit_code, exit_usage) << text;
  }
}

TEST(HostFile, Forms) {
  constexpr Case cases[] = {
      {"a\nb\n", "a b"},
      {"# Open MPI\nnode01 slots=10 max_slots=20\nme@node02 slots = 4 # a comment\n",
       "node01:10 me@node02:4"},
      {"worker-1 slots=8\nworker-2 slots=8", "worker-1:8 worker-2:8"},
      {"n[0-1] slots=2\r\n\r\nn2:3\r\n", "n0:2 n1:2 n2:3"},
      {"a,b:2\n\tc\n", "a b:2 c"},
      {"a max-slots=4\n", "a"},
      {"[fd00::1] slots=4\n[fd00::2]:2\n", "fd00::1:4 fd00::2:2"},
      {"a 4 b 2\n", "a:4 b:2"},
      {"a 4\nb 4\n", "a:4 b:4"},
      {"rank slots=2\n", "rank:2"},
      {"\xef\xbb\xbf"
       "a\n",
       "a"},
  };
  for (const auto& [text, expected] : cases) {
    const auto file = parse_host_file(text, "f");
    ASSERT_TRUE(file) << text << ": " << file.error().line();
    EXPECT_EQ(shown(file->hosts), expected) << text;
    EXPECT_TRUE(file->notes.empty()) << text;
  }
}

// PBS_NODEFILE and LSB_DJOB_HOSTFILE.
TEST(HostFile, AHostForEachProcess) {
  const auto file = parse_host_file("n0\nn0\nn1.site\n\nn0\n", "f");
  ASSERT_TRUE(file) << file.error().line();
  EXPECT_EQ(shown(file->hosts), "n0:3 n1.site:1");
  EXPECT_EQ(file->notes,
            std::vector<std::string>{
                "f: each host runs as many processes as there are lines with its name"});
}

TEST(HostFile, UnknownWordsArePassedOver) {
  const auto file = parse_host_file("a slots=2 rack=7\n\nb fast\nc slot=1\n", "hosts");
  ASSERT_TRUE(file);
  EXPECT_EQ(shown(file->hosts), "a:2 b c");
  EXPECT_EQ(file->notes, (std::vector<std::string>{
                             "hosts:1: \"rack=7\" is ignored", "hosts:3: \"fast\" is ignored",
                             "hosts:4: \"slot=1\" is ignored; did you mean slots=1?"}));
}

TEST(HostFile, FileErrors) {
  const std::string long_line(max_host_line_bytes + 1, 'a');
  const std::string long_file(max_host_file_bytes + 1, '\n');
  const Case cases[] = {
      {"", "host file f lists no hosts"},
      {"# nothing\n", "host file f lists no hosts"},
      {"a\nb\n\na slots=2\n",
       "f:4: host a is listed twice: the host is already listed at f:1; list each host once"},
      {"rank 0=n0 slot=0:0-3\nrank 1=n1 slot=1\n",
       "f:1: \"rank 0=n0\": this is a line of a rankfile, but this file is read as a host file; "
       "write HOST slots=N"},
      {"a slots=0\n", "f:1: slots=0: this is not a number of processes"},
      {"a slots=many\n", "f:1: slots=many"},
      {"a slots=8 max_slots=4\n", "f:1: slots=8 and max_slots=4"},
      {"a\nn[1-\n", "f:2, column"},
      {"a\n-v\n", "f:2: \"-v\" is not a host"},
      {long_line, "f:1: a line is longer than 4096 bytes"},
      {long_file, "host file f: the file is longer than"},
  };
  for (const auto& [text, expected] : cases) {
    const auto file = parse_host_file(text, "f");
    ASSERT_FALSE(file) << expected;
    EXPECT_NE(file.error().line().find(expected), std::string::npos) << file.error().line();
  }
}

}  // namespace
}  // namespace toprun::hosts
