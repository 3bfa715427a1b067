#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/pool.h"
#include "node/plan/job.h"
#include "node/prepare/workplace.h"
#include "node/worker/warm/parent.h"

namespace toprun::prepare {

// Manages the warm parent of this node's ranks (--warm): a Python process that forks the ranks. The
// parent is used in all attempts, and imports modules while the agents find each other. A parent
// that has died is replaced before the next attempt.
class WarmStart {
 public:
  // If the ranks run on the host itself, the constructor starts their warm parent. With --stage,
  // the parent starts in begin() or settled(), which get the workplace. In a container, the parent
  // starts in settled_in().
  WarmStart(boost::asio::io_context& io, Pool& pool, std::shared_ptr<const plan::Job> job);
  WarmStart(const WarmStart&) = delete;
  WarmStart& operator=(const WarmStart&) = delete;

  // Starts the warm parent unless it has started already or could not be started.
  void begin(const Workplace& workplace);
  // Waits until ranks can be forked, or prints why they cannot.
  boost::asio::awaitable<void> settled(const Workplace& workplace);
  // Like settled(), for ranks in a container that already runs.
  boost::asio::awaitable<void> settled_in(std::shared_ptr<worker::ShimLink> shim,
                                          const Workplace& workplace);
  // Returns how long the imports took. After each start of a parent, only the first call returns
  // this time; later calls return nullopt.
  std::optional<std::chrono::milliseconds> take_import_time() {
    return std::exchange(import_time_, std::nullopt);
  }
  // Returns the warm parent on the host; call it after settled(). Null if the ranks start without a
  // parent.
  std::shared_ptr<warm::Parent> parent() const;

 private:
  using Ask = std::function<Result<worker::Warmth>()>;
  boost::asio::awaitable<Result<worker::Warmth>> asked(Ask ask);
  boost::asio::awaitable<void> follow(std::shared_ptr<warm::Parent> parent);
  void tell(const std::string& why) const;
  void ready_after(std::chrono::milliseconds time, const std::vector<std::string>& imported);

  boost::asio::io_context& io_;
  Pool& pool_;
  const std::shared_ptr<const plan::Job> job_;
  boost::asio::steady_timer changed_;  // cancelled when parent_ settles
  std::shared_ptr<warm::Parent> parent_;
  bool was_ready_ = false;
  std::optional<std::chrono::milliseconds> import_time_;
  bool requested_ = true;  // false: a warm start is not possible, and this was reported
};

}  // namespace toprun::prepare
