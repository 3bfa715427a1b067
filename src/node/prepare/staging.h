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
#include "node/prepare/stage/entrance.h"
#include "node/prepare/stage/fetch.h"
#include "node/prepare/stage/serve.h"
#include "node/prepare/stage/share.h"
#include "node/prepare/workplace.h"
#include "node/worker/spawn/view.h"
#include "run/model/run_messages.h"

namespace toprun::prepare {

// The time limit for a node's copy.
inline constexpr std::chrono::minutes stage_limit{60};
// How often the root says how much it has sent, while it sends.
inline constexpr std::chrono::seconds tell_staging_every{10};
// So many other agents are answered at once; further ones wait.
inline constexpr std::size_t most_stage_visits = 16;

// This node's copy of the environment (--stage): one for all attempts. At the root it reads and
// hashes the environment itself; elsewhere it fetches a copy and mounts it over the environment's
// path for the ranks. Both give it to others, as long as the object lives. Everything that blocks
// has threads of its own.
class Staging {
 public:
  Staging(boost::asio::io_context& io, std::shared_ptr<const plan::Job> job,
          link::Identity identity);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // This is the root's node. Returns the key for all nodes.
  std::string become_source();
  // Another agent wants the environment.
  void visit(Fd socket, std::string preamble);
  // Waits until this node has its copy or will do without. Error: it can do neither. The next
  // attempt may ask while the last one's question is still open.
  boost::asio::awaitable<Result<void>> settled(const model::StagePart& part);
  // What has come of it, once.
  std::optional<model::Staged> take_news() { return std::exchange(news_, std::nullopt); }
  // Lets ranks use the copy, if there is one.
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
  const std::string path_;  // of the environment
  // Shared with the threads.
  const std::shared_ptr<stage::Share> share_ = std::make_shared<stage::Share>();
  Pool own_;     // one thread: the scan, or the copy
  Pool visits_;  // those of others that have shown the key
  stage::Entrance entrance_;
  const bool has_threads_;  // where the system gives none, a pool works on the event loop
  std::optional<stage::Hash> key_;
  bool is_fetching_ = false;
  boost::asio::steady_timer progress_timer_;
  boost::asio::steady_timer settled_timer_;  // cancelled when outcome_ is known
  std::optional<Result<void>> outcome_;
  std::optional<model::Staged> news_;
  std::optional<stage::Fetched> copy_;  // keeps it from being removed
  std::shared_ptr<const spawn::View> view_;
  std::string moved_to_;  // without mounts: a venv's copy, which ranks use where it lies
};

}  // namespace toprun::prepare
