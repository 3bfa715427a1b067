#include "base/net/resolve.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/os/files.h"
#include "base/os/os_testing.h"
#include "base/text/text.h"

namespace toprun::hosts {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto patience = 60s;  // for what answers at once, however loaded the machine

std::vector<std::string> texts(const Result<std::vector<Address>>& addresses) {
  std::vector<std::string> out;
  if (!addresses) return {addresses.error().line()};
  for (const Address& address : *addresses) out.push_back(address.text());
  return out;
}

using Texts = std::vector<std::string>;

// A DNS server on a loopback port: a.test has two IPv6 and two IPv4 addresses (one twice), all
// other names do not exist. A silent one answers nothing.
class DnsServer {
 public:
  explicit DnsServer(bool silent = false) : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    const sockaddr_storage storage = Address::parse("127.0.0.1")->with_port(0);
    EXPECT_EQ(
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&storage), sizeof(sockaddr_in)), 0);
    if (!silent) thread_ = std::thread([this] { serve(); });
  }
  ~DnsServer() {
    ::shutdown(socket_.get(), SHUT_RD);  // ends recvfrom
    if (thread_.joinable()) thread_.join();
  }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_of(socket_)); }

 private:
  void serve() {
    for (;;) {
      unsigned char query[512];
      sockaddr_in from{};
      socklen_t length = sizeof from;
      const ssize_t n = ::recvfrom(socket_.get(), query, sizeof query, 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
      if (n <= 12) return;
      const std::string reply =
          answer(std::string(reinterpret_cast<char*>(query), static_cast<std::size_t>(n)));
      ::sendto(socket_.get(), reply.data(), reply.size(), 0,
               reinterpret_cast<const sockaddr*>(&from), length);
    }
  }

  // RFC 1035 4.1: header, the question repeated, answers that point to its name.
  static std::string answer(const std::string& query) {
    const std::string name(
        "\x01"
        "a"
        "\x04"
        "test"
        "\0",
        8);
    const std::size_t end = query.find('\0', 12) + 5;
    const bool known = query.compare(12, name.size(), name) == 0;
    const bool v6 = query[end - 3] == 28;  // AAAA
    std::vector<std::string> data;
    if (known && v6) {
      data = {std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16),
              std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02", 16)};
    } else if (known) {
      data = {std::string("\x0a\0\0\x02", 4), std::string("\x0a\0\0\x01", 4),
              std::string("\x0a\0\0\x02", 4)};
    }
    std::string reply = query.substr(0, 2) + std::string("\x81", 1) + (known ? '\x80' : '\x83');
    reply += std::string("\0\x01\0", 3) + static_cast<char>(data.size()) + std::string(4, '\0');
    reply += query.substr(12, end - 12);
    for (const std::string& record : data) {
      reply += std::string("\xc0\x0c\0", 3) + (v6 ? '\x1c' : '\x01') +
               std::string("\0\x01\0\0\0\0\0", 7);
      reply += static_cast<char>(record.size()) + record;
    }
    return reply;
  }

  Fd socket_;
  std::thread thread_;
};

// A stand-in for getent(1): a shell script in a folder of its own.
class Getent {
 public:
  explicit Getent(const std::string& script) {
    std::ofstream(path()) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path(), fs::perms::owner_all);
  }
  std::string path() const { return folder() / "getent"; }
  const fs::path& folder() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

const std::string no_getent = "/nonexistent/getent";

TEST(Resolve, TakesLiteralsWithoutAskingAnybody) {
  DnsServer silent(true);
  const Resolver resolver{silent.address(), no_getent};
  EXPECT_EQ(texts(resolve("10.0.0.7", 1ms, resolver)), Texts{"10.0.0.7"});
  EXPECT_EQ(texts(resolve("::ffff:10.0.0.7", 1ms, resolver)), Texts{"10.0.0.7"});
  EXPECT_EQ(texts(resolve("2001:db8::1", 1ms, resolver)), Texts{"2001:db8::1"});
}

TEST(Resolve, FindsLocalhost) {
  const auto found = resolve("localhost", patience);
  ASSERT_TRUE(found) << found.error().line();
  EXPECT_EQ(found->front().text(), "127.0.0.1");
}

TEST(Resolve, PutsIPv4FirstAndEachAddressOnce) {
  DnsServer server;
  EXPECT_EQ(texts(resolve("a.test", patience, {server.address(), no_getent})),
            (Texts{"10.0.0.2", "10.0.0.1", "2001:db8::1", "2001:db8::2"}));
}

TEST(Resolve, NamesTheUnknownHostAndTheReason) {
  DnsServer server;
  EXPECT_EQ(texts(resolve("b.test", patience, {server.address(), no_getent})),
            Texts{"cannot resolve host name \"b.test\": Domain name not found"});
}

TEST(Resolve, GivesUpAtTheDeadline) {
  DnsServer silent(true);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(texts(resolve("a.test", 100ms, {silent.address(), no_getent})),
            Texts{"cannot resolve host name \"a.test\": no DNS server answered in time"});
  const auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_GE(taken, 100ms);
  EXPECT_LT(taken, 20s);  // c-ares' own limit is far above
}

TEST(Resolve, AsksGetentForWhatDnsDoesNotKnow) {
  DnsServer server;
  const Getent getent(
      "test \"$1 $2\" = 'ahosts b.test' || exit 2\n"
      "echo '2001:db8::9     STREAM b.test'\n"
      "echo '10.0.0.9        STREAM'\n"
      "echo '10.0.0.9        DGRAM'");
  EXPECT_EQ(texts(resolve("b.test", patience, {server.address(), getent.path()})),
            (Texts{"10.0.0.9", "2001:db8::9"}));
}

TEST(Resolve, AsksGetentWhereDnsIsSilent) {
  DnsServer silent(true);
  const Getent getent("echo '10.0.0.9 STREAM b.test'");
  EXPECT_EQ(texts(resolve("b.test", 2s, {silent.address(), getent.path()})), Texts{"10.0.0.9"});
}

TEST(Resolve, SaysWhatBothAnswered) {
  DnsServer server;
  const Getent getent("exit 2");
  EXPECT_EQ(texts(resolve("b.test", patience, {server.address(), getent.path()})),
            Texts{"cannot resolve host name \"b.test\": Domain name not found; getent does not "
                  "find the name either"});
}

TEST(Resolve, KillsASlowGetent) {
  DnsServer server;
  const Getent getent("echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 1000");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      texts(resolve("b.test", 3s, {server.address(), getent.path()})),
      Texts{"cannot resolve host name \"b.test\": Domain name not found; getent did not answer: "
            "no answer within 3.0 s"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 100s);
  const auto pid = read_file(getent.folder() / "pid");
  ASSERT_TRUE(pid) << pid.error().line();
  EXPECT_EQ(::kill(static_cast<pid_t>(*parse_int(trim(*pid))), 0), -1);
}

TEST(Resolve, RefusesWhatIsNoName) {
  for (const std::string& bad :
       {std::string(), std::string("-x"), std::string("a b"), std::string("a/b"),
        std::string("a\0b", 3), std::string(300, 'a')}) {
    EXPECT_FALSE(resolve(bad, patience)) << bad;
  }
}

TEST(ResolvesToOneOf, WantsAnAddressThatPeersCanReach) {
  const auto local = [](const char* literal, const char* interface) {
    return LocalAddress{*Address::parse(literal), interface};
  };
  const std::vector<LocalAddress> here = {local("127.0.0.1", "lo"), local("127.0.1.1", "lo"),
                                          local("10.0.0.1", "eth0")};
  struct Case {
    const char* getent_says;
    bool expected;
  };
  DnsServer server;
  for (const auto& [says, expected] : std::vector<Case>{
           {"echo 10.0.0.1 STREAM", true},
           {"echo 127.0.1.1 STREAM", false},
           {"echo 10.0.0.1 STREAM; echo 127.0.1.1 STREAM", false},
           {"echo 10.0.0.3 STREAM", false},
           {"exit 2", false},
       }) {
    const Getent getent(says);
    EXPECT_EQ(resolves_to_one_of("me.test", here, patience, {server.address(), getent.path()}),
              expected)
        << says;
  }
}

TEST(SameHost, NamesByTheirFirstLabelAddressesAsAWhole) {
  struct Case {
    const char* a;
    const char* b;
    bool expected;
  };
  for (const auto& [a, b, expected] : std::vector<Case>{
           {"n1", "n1", true},
           {"n1", "n1.cluster", true},
           {"n1.ib", "n1.cluster", true},
           {"n1", "n10", false},
           {"10.0.0.5", "10.0.0.1", false},
           {"10.0.0.5", "10.0.0.5", true},
           {"10.0.0.5", "10", false},
           {"::1", "0:0:0:0:0:0:0:1", true},
           {"fe80::1", "fe80::2", false},
       }) {
    EXPECT_EQ(same_host(a, b), expected) << a << " " << b;
    EXPECT_EQ(same_host(b, a), expected) << a << " " << b;
  }
}

TEST(Resolve, names_by_which_each_host_reaches_itself) {
  for (const char* host :
       {"localhost", "LocalHost", "localhost.localdomain", "a.localhost", "ip6-localhost",
        "127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"}) {
    EXPECT_TRUE(reaches_itself_only(host)) << host;
  }
  for (const char* host :
       {"n0", "localhost1", "mylocalhost", "10.0.0.1", "fd00::1", "128.0.0.1", ""}) {
    EXPECT_FALSE(reaches_itself_only(host)) << host;
  }
}

}  // namespace
}  // namespace toprun::hosts
