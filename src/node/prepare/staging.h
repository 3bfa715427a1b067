#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/os/fd.h"
#include "base/os/pool.h"
#include "base/text/error.h"
#include "node/link/door.h"
#include "node/plan/job.h"
#include "node/prepare/stage/fetch.h"
#include "node/prepare/stage/serve.h"
#include "node/prepare/workplace.h"
#include "node/worker/spawn/view.h"
#include "run/model/run_messages.h"

namespace toprun::prepare {

// How long a node may take to make its copy.
inline constexpr std::chrono::minutes stage_limit{60};
// While the root sends data, it reports at this interval how much it has sent.
inline constexpr std::chrono::seconds tell_staging_every{10};
// At most this many other agents get data at the same time; further agents wait.
inline constexpr std::size_t most_stage_visits = 16;

// This node's copy of the environment (--stage), for all attempts. The root's node reads and hashes
// the environment itself. The other nodes fetch a copy, and mount it over the environment's path
// for their ranks. While this object exists, this node offers its data to other nodes. Blocking
// work runs on this object's own threads.
class Staging {
 public:
  Staging(boost::asio::io_context& io, std::shared_ptr<const plan::Job> job,
          link::Identity identity);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Call become_source() on the root's node. Returns the key that all nodes need to exchange the
  // environment.
  std::string become_source();
  // Call visit() when another agent asks for the environment. `preamble`: the line that the agent
  // has sent.
  void visit(Fd socket, std::string preamble);
  // Waits until this node has its copy, or can continue without it. Error: there is no copy, and
  // the node cannot continue without it. The next attempt may call settled() while the previous
  // attempt's call is still pending.
  boost::asio::awaitable<Result<void>> settled(const model::StagePart& part);
  // Returns the result of the staging, in the first call after it is known. All other calls return
  // nullopt.
  std::optional<model::Staged> take_news() { return std::exchange(news_, std::nullopt); }
  // If this node has a copy, changes the workplace so that the ranks use the copy.
  void enter(Workplace& place) const;

 private:
  boost::asio::awaitable<void> tell_progress();
  boost::asio::awaitable<void> fetch_once(model::StagePart part);
  void conclude(model::Staged staged, bool path_is_there);
  std::string our_line(link::Role role) const;
  void serve(stage::Visit visit);
  void set_key(std::optional<stage::Hash> key);

  boost::asio::io_context& io_;
  const std::shared_ptr<const plan::Job> job_;
  const link::Identity identity_;
  const std::string path_;  // the environment's path
  // Shared with the threads.
  const std::shared_ptr<stage::Share> share_ = std::make_shared<stage::Share>();
  Pool own_;     // one thread, for the scan or the copy
  Pool visits_;  // for serving other agents that have shown the key
  stage::Entrance entrance_;
  // False: the system cannot start threads, so this object's pools work on the event loop.
  const bool has_threads_;
  std::optional<stage::Hash> key_;
  bool is_fetching_ = false;
  boost::asio::steady_timer progress_timer_;
  boost::asio::steady_timer settled_timer_;  // cancelled when outcome_ is known
  std::optional<Result<void>> outcome_;
  std::optional<model::Staged> news_;
  std::optional<stage::Fetched> copy_;  // protects the copy from removal
  std::shared_ptr<const spawn::View> view_;
  // If mounts are not possible, the ranks use the copy of a virtual environment at this path.
  std::string moved_to_;
};

}  // namespace toprun::prepare
