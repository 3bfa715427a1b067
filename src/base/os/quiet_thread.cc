#include "base/os/quiet_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace toprun {

std::optional<std::thread> quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;  // a new thread inherits its creator's mask
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::thread> started;
  try {
    started.emplace(std::move(body));
  } catch (const std::system_error&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace toprun
