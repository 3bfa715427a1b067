#include "node/output/worker_pipes.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <array>

namespace toprun::output {
namespace {

constexpr int events_at_once = 64;

}  // namespace

Result<std::shared_ptr<Readable>> Readable::create(boost::asio::io_context& io, Ready ready) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) {
    return fail_errno("cannot watch the workers' output", "raise the limit on open files");
  }
  std::shared_ptr<Readable> made(new Readable(io, std::move(epoll), std::move(ready)));
  made->wait();
  return made;
}

Readable::Readable(boost::asio::io_context& io, Fd epoll, Ready ready)
    : epoll_(io, epoll.release()), ready_(std::move(ready)) {}

Result<void> Readable::add(int fd) {
  epoll_event at_rest{.events = EPOLLONESHOT, .data = {}};
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &at_rest) == 0) return {};
  return fail_errno("cannot watch a worker's output", "raise fs.epoll.max_user_watches");
}

void Readable::arm(int fd, std::size_t index) {
  epoll_event requested{.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = index}};
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, fd, &requested);
}

void Readable::remove(int fd) {
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
}

void Readable::close() {
  ready_ = {};
  boost::system::error_code ignored;
  epoll_.close(ignored);
}

void Readable::wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [weak = weak_from_this()](const boost::system::error_code& error) {
                      const auto self = weak.lock();
                      if (!self || error) return;
                      self->report_ready();
                      if (self->ready_) self->wait();
                    });
}

void Readable::report_ready() {
  std::array<epoll_event, events_at_once> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), events_at_once, 0);
  for (int i = 0; i < count && ready_; ++i) {
    const Ready ready = ready_;  // the callback may close this
    ready(events[static_cast<std::size_t>(i)].data.u64);
  }
}

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
