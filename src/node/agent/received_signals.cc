#include "node/agent/received_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/process/child.h"
#include "node/worker/keeper.h"

namespace toprun::agent {
namespace {

std::atomic<int> handlers_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

// One write is one message: it is shorter than PIPE_BUF. A full pipe loses the signal, as a pending
// one of the same number would.
void pass_to_the_loop(int signal, siginfo_t* info, void*) {
  const int before = errno;
  // A signal from the kernel, such as a terminal's, has no sender.
  const int number = signal == worker::queued_signal() ? info->si_value.sival_int : signal;
  if (number <= 0 || number >= NSIG) return;
  const ReceivedSignals::Received received{number, info->si_code > 0 ? 0 : info->si_pid};
  [[maybe_unused]] const ssize_t n = ::write(handlers_pipe, &received, sizeof received);
  errno = before;
}

}  // namespace

ReceivedSignals::ReceivedSignals(boost::asio::io_context& io, std::function<void(Received)> taken)
    : taken_(std::move(taken)), reading_(io) {
  auto pipe = process::make_pipe(O_NONBLOCK);
  if (!pipe) return;  // signals keep their usual effect
  reading_.assign(pipe->read.release());
  writing_ = std::move(pipe->write);
  handlers_pipe = writing_.get();
  read();
}

ReceivedSignals::~ReceivedSignals() {
  for (const Former& former : former_) ::sigaction(former.signal, &former.action, nullptr);
  handlers_pipe = -1;
}

void ReceivedSignals::add(int signal) {
  if (!writing_ || std::ranges::find(former_, signal, &Former::signal) != former_.end()) return;
  struct sigaction action {};
  action.sa_sigaction = pass_to_the_loop;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  Former former{signal, {}};
  if (::sigaction(signal, &action, &former.action) == 0) former_.push_back(former);
}

void ReceivedSignals::take() {
  Received received{};
  while (::read(reading_.native_handle(), &received, sizeof received) == sizeof received) {
    taken_(received);
  }
}

void ReceivedSignals::read() {
  reading_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error) return;
                        take();
                        read();
                      });
}

}  // namespace toprun::agent
