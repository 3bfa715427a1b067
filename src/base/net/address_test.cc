#include "base/net/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "base/os/files.h"
#include "base/text/text.h"

namespace toprun::hosts {
namespace {

TEST(Address, ReadsAndWritesLiterals) {
  const std::vector<std::pair<std::string, std::string>> literals = {
      {"10.0.0.1", "10.0.0.1"},
      {"255.255.255.255", "255.255.255.255"},
      {"::1", "::1"},
      {"FE80:0::1", "fe80::1"},
      {"fe80::1%lo", "fe80::1%lo"},
      {"fe80::1%1", "fe80::1%lo"},
      {"::ffff:10.0.0.1", "10.0.0.1"},
      {"2001:db8::10.0.0.1", "2001:db8::a00:1"},
  };
  for (const auto& [literal, text] : literals) {
    const auto address = Address::parse(literal);
    ASSERT_TRUE(address) << literal;
    EXPECT_EQ(address->text(), text);
  }
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "10.0.0", "10.0.0.256", "010.0.0.1", "1.2.3.4.5", " 10.0.0.1", "[::1]", "10.0.0.1:80",
        ":::", "fe80::1%", "fe80::1%no-such-if0", "10.0.0.1%lo", "localhost", "12345::", "::1 "}) {
    EXPECT_FALSE(Address::parse(bad)) << bad;
  }
}

TEST(Address, KnowsItsKind) {
  struct Case {
    const char* literal;
    bool v4, loopback, link_local;
  };
  for (const auto& [literal, v4, loopback, link_local] : std::vector<Case>{
           {"127.0.0.1", true, true, false},
           {"127.0.1.1", true, true, false},
           {"::1", false, true, false},
           {"::ffff:127.0.0.1", true, true, false},
           {"169.254.169.254", true, false, true},
           {"fe80::1", false, false, true},
           {"febf::1", false, false, true},
           {"fec0::1", false, false, false},
           {"10.0.0.1", true, false, false},
           {"::", false, false, false},
           {"1::1", false, false, false},
       }) {
    const auto address = Address::parse(literal);
    ASSERT_TRUE(address) << literal;
    EXPECT_EQ(address->is_v4(), v4) << literal;
    EXPECT_EQ(address->is_loopback(), loopback) << literal;
    EXPECT_EQ(address->is_link_local(), link_local) << literal;
  }
}

TEST(Address, SurvivesTheSocketForm) {
  for (const char* literal : {"10.1.2.3", "2001:db8::7", "fe80::1%lo"}) {
    const auto address = Address::parse(literal);
    ASSERT_TRUE(address) << literal;
    const sockaddr_storage storage = address->with_port(29500);
    EXPECT_EQ(Address::from(storage), *address) << literal;
    EXPECT_EQ(address->length(), address->is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    // The port stands at the same place in both forms.
    EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port), 29500) << literal;
  }
}

TEST(LocalAddresses, HoldTheLoopback) {
  const auto addresses = local_addresses();
  ASSERT_TRUE(addresses) << addresses.error().line();
  EXPECT_TRUE(std::ranges::any_of(*addresses, [](const LocalAddress& local) {
    return local.address.text() == "127.0.0.1" && local.interface == "lo";
  }));
}

TEST(OwnAddressTowards, IsTheLoopbackToThisHost) {
  const auto own = own_address_towards(*Address::parse("127.0.0.1"));
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->is_loopback());
}

TEST(LocalAddresses, OfALoadBalancerLeaveItsServicesOut) {
  const auto at = [](const char* text, const char* interface) {
    return LocalAddress{*Address::parse(text), interface};
  };
  std::vector<LocalAddress> all = {at("127.0.0.1", "lo")};
  for (int i = 1; i < 250; ++i) {
    all.push_back(at(("10.9.0." + std::to_string(i)).c_str(), "lo"));
  }
  all.push_back(at("10.0.0.7", "eth0"));
  all.push_back(at("fe80::1", "eth0"));
  all.push_back(at("fd00::7", "eth0"));
  const auto chosen = reachable_among(all, 4);
  std::vector<std::string> texts;
  for (const Address& address : chosen) texts.push_back(address.text());
  EXPECT_EQ(texts, (std::vector<std::string>{"10.0.0.7", "fd00::7", "10.9.0.1", "10.9.0.2"}));
}

TEST(Host, HasAName) {
  EXPECT_FALSE(host_name().empty());
}

bool connects(const char* literal, int port) {
  const auto address = Address::parse(literal);
  const sockaddr_storage storage = address->with_port(port);
  const Fd client(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&storage), address->length()) ==
         0;
}

// A listener such as another program might have: one family, one address, SO_REUSEADDR.
Fd listen_as_stranger(const char* literal, int port) {
  const auto address = Address::parse(literal);
  const sockaddr_storage storage = address->with_port(port);
  Fd socket(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), address->length()) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    socket.reset();
  }
  return socket;
}

TEST(Listen, TakesBothFamiliesAndTellsItsPort) {
  const auto socket = listen_on(0);
  ASSERT_TRUE(socket) << socket.error().error.line();
  const int port = port_of(*socket);
  EXPECT_GT(port, 0);
  EXPECT_TRUE(connects("127.0.0.1", port));
  if (listen_as_stranger("::1", 0)) {
    EXPECT_TRUE(connects("::1", port));
  }
  EXPECT_NE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Listen, NeverSharesAPort) {
  for (const char* stranger : {"0.0.0.0", "127.0.0.1", "::", "::1"}) {
    const Fd held = listen_as_stranger(stranger, 0);
    if (!held) continue;  // no IPv6 here
    const auto socket = listen_on(port_of(held));
    ASSERT_FALSE(socket) << stranger;
    EXPECT_EQ(socket.error().error->why, "Address already in use");
  }
  const auto first = listen_on(0);
  ASSERT_TRUE(first);
  EXPECT_FALSE(listen_on(port_of(*first)));
  for (const char* stranger : {"0.0.0.0", "127.0.0.1", "::", "::1"}) {
    EXPECT_FALSE(listen_as_stranger(stranger, port_of(*first))) << stranger;
  }
}

// Two agents that are started at the same moment: were it neither, each would wait for the other.
TEST(Listen, OfTwoAtTheSameMomentOneGetsThePort) {
  constexpr int rounds = 400;
  const int port = [] { return port_of(*listen_on(0)); }();
  int nobody = 0;
  for (int round = 0; round < rounds; ++round) {
    std::array<bool, 2> got{};
    std::array<Fd, 2> held;
    std::barrier start(2);
    const auto listen = [&](std::size_t i) {
      start.arrive_and_wait();
      auto socket = listen_on(port);
      got[i] = socket.has_value();
      if (socket) held[i] = *std::move(socket);
    };
    std::thread other(listen, 1);
    listen(0);
    other.join();
    EXPECT_FALSE(got[0] && got[1]);
    if (!got[0] && !got[1]) ++nobody;
  }
  EXPECT_EQ(nobody, 0) << "of " << rounds;
}

TEST(Listen, KeepsToThisHostWhereAsked) {
  const auto socket = listen_on(0, Reach::this_host);
  ASSERT_TRUE(socket) << socket.error().error.line();
  const int port = port_of(*socket);
  EXPECT_TRUE(connects(loopback().text().c_str(), port));
  const auto own = local_addresses();
  ASSERT_TRUE(own);
  for (const LocalAddress& local : *own) {
    if (local.address.is_loopback() || local.address.is_link_local()) continue;
    EXPECT_FALSE(connects(local.address.text().c_str(), port)) << local.address.text();
  }
  EXPECT_FALSE(listen_on(port));
}

TEST(Listen, TakesAPortAgainAtOnce) {
  auto socket = listen_on(0);
  ASSERT_TRUE(socket);
  const int port = port_of(*socket);
  {
    // The listening side closes first, so that its connection stays in TIME_WAIT.
    const auto address = Address::parse("127.0.0.1");
    const sockaddr_storage storage = address->with_port(port);
    const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&storage), address->length()), 0);
    Fd accepted(::accept(socket->get(), nullptr, nullptr));
    ASSERT_TRUE(accepted);
    accepted.reset();
    char byte;
    EXPECT_EQ(::read(client.get(), &byte, 1), 0);
  }
  socket->reset();
  const auto again = listen_on(port);
  EXPECT_TRUE(again) << again.error().error.line();
}

TEST(Listen, RefusesWhatIsNoPort) {
  for (const int port : {-1, 65536}) EXPECT_FALSE(listen_on(port)) << port;
}

TEST(HolderOfPort, NamesTheProgram) {
  const auto own_name = read_file("/proc/self/comm");
  ASSERT_TRUE(own_name);
  const std::string self = fmt::format("{} (pid {})", trim(*own_name), ::getpid());
  for (const char* literal : {"127.0.0.1", "0.0.0.0", "::1"}) {
    Fd held = listen_as_stranger(literal, 0);
    if (!held) continue;  // no IPv6 here
    const int port = port_of(held);
    const auto holder = holder_of_port(port);
    ASSERT_TRUE(holder) << literal;
    EXPECT_EQ(holder->text(), self) << literal;
    const auto refused = listen_on(port);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.line(),
              fmt::format("cannot listen on port {}: Address already in use; "
                          "{} holds it",
                          port, self));
    ASSERT_TRUE(refused.error().holder) << literal;
    EXPECT_EQ(refused.error().holder->pid, ::getpid()) << literal;
    held.reset();
    EXPECT_FALSE(holder_of_port(port)) << literal;
  }
}

}  // namespace
}  // namespace toprun::hosts
