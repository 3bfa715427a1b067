#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/console.h"
#include "base/os/environment.h"
#include "base/process/child.h"
#include "node/worker/children.h"
#include "node/worker/spawn/descendants.h"

namespace toprun::worker {
namespace {

// An engine signals each process of a step, one after the other: a rank may end before this
// process has got the same signal.
constexpr std::chrono::milliseconds signal_follows{100};

bool some_child_was_ordered_to_end() {
  siginfo_t info{};
  constexpr int look = WEXITED | WNOHANG | WNOWAIT;
  if (::waitid(P_ALL, 0, &info, look) != 0 || info.si_pid == 0) return false;
  return info.si_code == CLD_KILLED && (info.si_status == SIGTERM || info.si_status == SIGINT);
}

class OwnChildren : public Children {
 public:
  OwnChildren(boost::asio::io_context& io, const spawn::Inherited& inherited, std::string host,
              std::shared_ptr<warm::Parent> warm)
      : inherited_(inherited),
        host_(std::move(host)),
        warm_(std::move(warm)),
        child_signal_(io),
        pause_(io) {}

  Result<std::vector<pid_t>> start(std::vector<spawn::Program> programs) override {
    TRY(spawn::find_programs(programs, host_));
    boost::system::error_code failed;
    child_signal_.add(SIGCHLD, failed);  // before any child can end
    if (failed) return fail("cannot watch for SIGCHLD on " + host_, failed.message());
    spawn::become_subreaper();
    if (warm_) {
      auto forked = warm_->fork(programs, on_progress);
      if (forked) return forked;
      say(warm::left_out(host_, forked.error().line()));
    }
    return spawn::spawn(programs, inherited_, host_, on_progress);
  }

  void watch() override {
    watching_ = std::make_shared<OwnChildren*>(this);
    await();
  }

  void unwatch() override {
    watching_.reset();
    child_signal_.cancel();
    pause_.cancel();
    is_pausing_ = false;
  }

  Reaped reap() override {
    Reaped reaped;
    for (;;) {
      int status = 0;
      const pid_t pid = process::reap_any(status);
      if (pid <= 0) {
        const bool others_may_live = warm_pid() != 0 || !process::running_commands().empty();
        reaped.childless = pid < 0 || (others_may_live && spawn::nothing_below_but(warm_pid()));
        return reaped;
      }
      if (pid == warm_pid()) warm_->ended();
      reaped.ended.push_back({pid, status});
    }
  }

  void signal_groups(std::span<const pid_t> leaders, int signal) override {
    has_signalled_ = true;
    for (const pid_t leader : leaders) process::signal_group(leader, signal);
  }

  void notify_groups(std::span<const pid_t> leaders, int signal) override {
    spawn::notify_groups(leaders, signal);
  }

  void signal_all(int signal) override {
    has_signalled_ = true;
    spawn::signal_descendants(signal, warm_pid());
  }

  std::vector<std::string> describe_all() override {
    return spawn::describe_descendants(warm_pid());
  }

 private:
  pid_t warm_pid() const { return warm_ ? warm_->pid() : 0; }

  // The handler of a SIGCHLD that has already arrived waits in the loop's queue, where cancel()
  // does not find it. So it may run after unwatch(), and even after the destructor.
  void await() {
    child_signal_.async_wait(
        [watching = std::weak_ptr(watching_)](const boost::system::error_code& error, int) {
          const auto self = watching.lock();
          if (error || !self) return;
          (*self)->await();
          (*self)->look();
        });
  }

  void look() {
    if (is_pausing_) return;
    if (has_signalled_ || !some_child_was_ordered_to_end()) return tell();
    is_pausing_ = true;
    pause_.expires_after(signal_follows);
    pause_.async_wait(
        [watching = std::weak_ptr(watching_)](const boost::system::error_code& error) {
          const auto self = watching.lock();
          if (error || !self) return;
          (*self)->is_pausing_ = false;
          (*self)->tell();
        });
  }

  void tell() {
    const auto reported = on_change;  // the callback may destroy *this
    if (reported) reported();
  }

  const spawn::Inherited inherited_;
  const std::string host_;
  const std::shared_ptr<warm::Parent> warm_;
  boost::asio::signal_set child_signal_;
  boost::asio::steady_timer pause_;
  bool is_pausing_ = false;
  bool has_signalled_ = false;              // the ranks, itself
  std::shared_ptr<OwnChildren*> watching_;  // set between watch() and unwatch()
};

}  // namespace

std::unique_ptr<Children> own_children(boost::asio::io_context& io,
                                       const spawn::Inherited& inherited, std::string host,
                                       std::shared_ptr<warm::Parent> warm) {
  return std::make_unique<OwnChildren>(io, inherited, std::move(host), std::move(warm));
}

}  // namespace toprun::worker
