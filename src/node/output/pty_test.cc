#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "node/output/worker_pipes.h"

namespace toprun::output {
namespace {

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

winsize size_of(int fd) {
  winsize size{};
  EXPECT_EQ(::ioctl(fd, TIOCGWINSZ, &size), 0);
  return size;
}

TEST(Pty, IsATerminalThatChangesNoByte) {
  auto pty = open_pty(-1);
  ASSERT_TRUE(pty) << pty.error().line();
  EXPECT_EQ(::isatty(pty->workers.get()), 1);
  const std::string written = "a\nb\r\n\tc\x03\x04\x1a\x11 50%\r100%\n";
  ASSERT_EQ(::write(pty->workers.get(), written.data(), written.size()), std::ssize(written));
  pty->workers.reset();
  EXPECT_EQ(read_all(pty->ours.get()), written);
  EXPECT_EQ(errno, EIO);
}

TEST(Pty, HasTheSizeOfItsModel) {
  auto model = open_pty(-1);
  ASSERT_TRUE(model);
  const winsize wide{.ws_row = 50, .ws_col = 203, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(model->ours.get(), TIOCSWINSZ, &wide), 0);
  auto pty = open_pty(model->workers.get());
  ASSERT_TRUE(pty);
  EXPECT_EQ(size_of(pty->workers.get()).ws_col, 203);
  EXPECT_EQ(size_of(pty->workers.get()).ws_row, 50);

  const winsize narrow{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(model->ours.get(), TIOCSWINSZ, &narrow), 0);
  copy_window_size(model->workers.get(), pty->ours.get());
  EXPECT_EQ(size_of(pty->workers.get()).ws_col, 80);
}

}  // namespace
}  // namespace toprun::output
