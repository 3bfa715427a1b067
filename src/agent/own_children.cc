#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <boost/asio/signal_set.hpp>

#include "agent/children.h"
#include "agent/descendants.h"
#include "base/environment.h"
#include "process/child.h"

namespace toprun::agent {
namespace {

class OwnChildren : public Children {
 public:
  OwnChildren(boost::asio::io_context& io, const Inherited& inherited, std::string host)
      : inherited_(inherited), host_(std::move(host)), child_signal_(io) {}

  Result<std::vector<pid_t>> start(std::vector<Program> programs) override {
    if (auto found = find_programs(programs, host_); !found) {
      return std::unexpected(std::move(found.error()));
    }
    boost::system::error_code failed;
    child_signal_.add(SIGCHLD, failed);  // before any child can end
    if (failed) return fail("cannot watch for SIGCHLD on " + host_, failed.message());
    become_subreaper();
    return spawn(programs, inherited_, host_, on_progress);
  }

  void watch() override {
    watching_ = std::make_shared<OwnChildren*>(this);
    await();
  }

  void unwatch() override {
    watching_.reset();
    child_signal_.cancel();
  }

  Reaped reap() override {
    Reaped reaped;
    for (;;) {
      int status = 0;
      const pid_t pid = process::reap_any(status);
      if (pid < 0) reaped.childless = true;
      if (pid <= 0) return reaped;
      reaped.ended.push_back({pid, status});
    }
  }

  void signal_groups(std::span<const pid_t> leaders, int signal) override {
    for (const pid_t leader : leaders) process::signal_group(leader, signal);
  }

  void notify_groups(std::span<const pid_t> leaders, int signal) override {
    agent::notify_groups(leaders, signal);
  }

  void signal_all(int signal) override { signal_descendants(signal); }

  std::vector<std::string> describe_all() override { return describe_descendants(); }

 private:
  // The handler of a SIGCHLD that has already arrived waits in the loop's queue, where cancel()
  // does not find it. So it may run after unwatch(), and even after the destructor.
  void await() {
    child_signal_.async_wait(
        [watching = std::weak_ptr(watching_)](const boost::system::error_code& error, int) {
          const auto self = watching.lock();
          if (error || !self) return;
          (*self)->await();
          const auto tell = (*self)->on_change;  // the callback may destroy *self
          if (tell) tell();
        });
  }

  const Inherited inherited_;
  const std::string host_;
  boost::asio::signal_set child_signal_;
  std::shared_ptr<OwnChildren*> watching_;  // set between watch() and unwatch()
};

}  // namespace

std::unique_ptr<Children> own_children(boost::asio::io_context& io, const Inherited& inherited,
                                       std::string host) {
  return std::make_unique<OwnChildren>(io, inherited, std::move(host));
}

}  // namespace toprun::agent
