#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/os/fd.h"
#include "base/text/error.h"

namespace toprun::output {

inline constexpr std::chrono::seconds test_limit{60};

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
  Fd reader;
  Fd writer;
};

inline void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    ASSERT_GT(n, 0) << errno_text(errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace toprun::output
