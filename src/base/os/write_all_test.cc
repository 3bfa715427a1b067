#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/os/fd.h"

namespace toprun {
namespace {

TEST(WriteAll, WaitsForWhoReadsSlowly) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd in(ends[0]);
  Fd out(ends[1]);
  ASSERT_EQ(::fcntl(out.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  std::string read;
  std::thread reader([&] {
    std::string part(4'096, ' ');
    for (ssize_t n; (n = ::read(in.get(), part.data(), part.size())) > 0;) {
      read.append(part, 0, static_cast<std::size_t>(n));
    }
  });
  EXPECT_TRUE(write_all(out.get(), text));
  out.reset();
  reader.join();
  EXPECT_EQ(read, text);
}

TEST(WriteAll, TellsThatItFailed) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(write_all(full.get(), ""));
  EXPECT_FALSE(write_all(full.get(), "x"));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace toprun
