#include "node/output/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

namespace toprun::output {

Result<Pty> open_pty(int model) {
  const auto failed = [] { return fail_errno("cannot make a terminal for a worker"); };
  Pty pty;
  pty.ours = Fd(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  int locked = 0;
  if (!pty.ours || ::ioctl(pty.ours.get(), TIOCSPTLCK, &locked) < 0) return failed();
  // Opened by descriptor, because /dev/pts may belong to another namespace.
  pty.workers = Fd(::ioctl(pty.ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!pty.workers || ::tcgetattr(pty.workers.get(), &settings) < 0) return failed();
  ::cfmakeraw(&settings);
  if (::tcsetattr(pty.workers.get(), TCSANOW, &settings) < 0) return failed();
  copy_window_size(model, pty.ours.get());
  return pty;
}

void copy_window_size(int model, int pty) {
  winsize size{};
  if (::ioctl(model, TIOCGWINSZ, &size) == 0) ::ioctl(pty, TIOCSWINSZ, &size);
}

}  // namespace toprun::output
