#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "node/agent/member.h"
#include "node/agent/root.h"
#include "node/agent/services.h"
#include "node/rehearsal/ranks.h"
#include "node/rehearsal/script.h"

namespace toprun::rehearsal {

class Play;

// An event loop whose owner can drop all pending handlers (forget()) while the objects that these
// handlers use still exist.
class Loop : public boost::asio::io_context {
 public:
  Loop() : io_context(1) {}
  void forget() { shutdown(); }
};

// Simulates the process of one agent in virtual time. Root and Member are the same classes as in
// the program. Everything that Root and Member normally get from a Session is simulated.
class Actor : public agent::Services {
 public:
  Actor(Play& play, Loop& loop, std::shared_ptr<const plan::Job> job, std::size_t index);
  ~Actor() override;

  // Starts the agent, which runs until it ends. `link`: the link to the root; null at the root.
  void begin(std::shared_ptr<model::Link> link);
  model::Join join() const;
  std::optional<int> exit_code() const { return exit_code_; }
  agent::Root* root() { return root_.get(); }
  const Admission& admission() const { return admission_; }
  // Called when a rank has connected to this agent's store. Called again with `has_met` when the
  // rank has met the other ranks.
  void rank_came(const Rank& rank, bool has_met);
  // Blocks the agent's terminal (true), or lets it accept output again (false).
  void stand(bool stands);
  void pause(bool pauses);
  // Runs `what` in an iteration of this agent's event loop.
  void happens(std::function<void(Actor&)> what);

  void become_root(link::Secret secret, Admission admission) override;
  void renew_store(bool here, int ranks, StoreNews news) override;
  store::Server::ArrivalCounts arrival_counts() const override;
  std::vector<store::Arrival> arrivals() const override;
  store::Server::Activity activity() const override;
  boost::asio::awaitable<Result<hosts::Address>> find_store(model::StoreAddress store) override;
  std::shared_ptr<worker::Children> children() override;
  void show(const std::string& host, bool is_err, std::string lines,
            std::function<void()> taken) override;
  boost::asio::awaitable<bool> flushed() override;
  boost::asio::awaitable<void> last_words() override;
  bool can_be_asked() const override { return false; }

 private:
  class Screen;
  struct Store {
    int attempt = -1;  // the attempt of the first rank that connected
    int expected = 0;
    StoreNews news;
    std::vector<store::Arrival> arrivals;
    std::size_t met = 0;
  };
  boost::asio::awaitable<int> play_root();
  boost::asio::awaitable<int> play_member(std::shared_ptr<model::Link> link);

  Play& play_;
  const std::size_t index_;
  Admission admission_;
  std::shared_ptr<Screen> screen_;
  std::optional<Store> store_;  // unset: another agent has the store
  std::unique_ptr<agent::Root> root_;
  std::unique_ptr<agent::Member> member_;
  std::optional<int> exit_code_;
};

}  // namespace toprun::rehearsal
