#include "node/store/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>

#include "base/net/address.h"

namespace toprun::store {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view busy = "toprun/1 refused busy 0.1.0\n";

// No more descriptors than are open now.
class Shortage {
 public:
  Shortage() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(next.get());
    ::setrlimit(RLIMIT_NOFILE, &tight);
  }
  ~Shortage() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

std::string received(const Fd& socket) {
  std::string all;
  std::array<char, 256> piece;
  for (;;) {
    const ssize_t count = ::recv(socket.get(), piece.data(), piece.size(), 0);
    if (count <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// A member waits for a root that says that it is busy; what closes without a word may be anything.
TEST(Acceptor, TellsVisitorsThatThereIsNoDescriptorForThem) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"toprun/1 0.1.0 member and so on\n", busy},
      {"\0\xce\xf7\x85\x3c"sv, ""},
      {"", ""},
  };
  for (const auto& [says, expected] : rows) {
    auto listener = hosts::listen_on(0, hosts::Reach::this_host);
    ASSERT_TRUE(listener);
    const sockaddr_storage target = hosts::loopback().with_port(hosts::port_of(*listener));
    Acceptor acceptor(std::move(*listener), std::string(busy));
    const Fd guest(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(guest.get(), reinterpret_cast<const sockaddr*>(&target),
                        hosts::loopback().length()),
              0);
    ASSERT_EQ(::send(guest.get(), says.data(), says.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(says.size()));
    {
      const Shortage shortage;
      bool accepted = false;
      EXPECT_FALSE(acceptor.accept_batch([&](const Fd&) { accepted = true; }));
      EXPECT_FALSE(accepted);
    }
    EXPECT_EQ(received(guest), expected) << says;
  }
}

// The kernel holds what a socket has not sent, so no limit of the store counts it.
TEST(Acceptor, ASocketTakesLittleThatItsPeerDoesNotRead) {
  auto listener = hosts::listen_on(0, hosts::Reach::this_host);
  ASSERT_TRUE(listener);
  const sockaddr_storage target = hosts::loopback().with_port(hosts::port_of(*listener));
  Acceptor acceptor(std::move(*listener), "");
  const Fd guest(::socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(guest.get(), reinterpret_cast<const sockaddr*>(&target),
                      hosts::loopback().length()),
            0);
  Fd ours;
  EXPECT_TRUE(acceptor.accept_batch([&](Fd fd) { ours = std::move(fd); }));
  const std::string piece(64u << 10, 'x');
  std::size_t taken = 0;
  while (taken < (8u << 20)) {
    const ssize_t sent =
        ::send(ours.get(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) break;
    taken += static_cast<std::size_t>(sent);
  }
  EXPECT_LT(taken, 1u << 20);
}

}  // namespace
}  // namespace toprun::store
