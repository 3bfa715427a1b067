#include "node/agent/evidence/nccl_ras.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace toprun::evidence {
namespace {

using namespace std::chrono_literals;

// Asks a program that sends this and then zeros without end; the bytes that it could send.
std::size_t taken_of(const std::string& beginning) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::atomic<std::size_t> sent = 0;
  std::thread sends([other = ends[1], &beginning, &sent] {
    const std::string zeros(1 << 20, '\0');
    ssize_t n = ::send(other, beginning.data(), beginning.size(), MSG_NOSIGNAL);
    for (; n > 0; n = ::send(other, zeros.data(), zeros.size(), MSG_NOSIGNAL)) {
      sent += static_cast<std::size_t>(n);
    }
    ::close(other);
  });
  {
    const Fd connection(ends[0]);
    EXPECT_TRUE(reported_by_nccl(connection, {1}, 60s).empty());
  }
  sends.join();
  return sent;
}

TEST(NcclRas, OfAnotherProgramLittleIsRead) {
  EXPECT_LT(taken_of("HTTP/1.1 400 Bad Request\r\n"), std::size_t{4} << 20);
  EXPECT_LT(taken_of("SERVER PROTOCOL 2\nOK\nOK\n"), std::size_t{40} << 20);
}

}  // namespace
}  // namespace toprun::evidence
