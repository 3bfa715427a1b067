#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "node/agent/end_signals.h"
#include "node/agent/received_signals.h"
#include "node/agent/services.h"
#include "node/link/door.h"
#include "node/link/result_post.h"
#include "node/output/own_lines.h"

namespace toprun::agent {

// With logins: the interval of the launcher's heartbeats, the silence after which an agent gives it
// up, and the time from SIGTERM to SIGKILL for workers that lost it.
inline constexpr std::chrono::seconds launcher_beat{5};

// The resources of one agent process: its port, its signals, its keeper and its launcher.
class Session : public Services {
 public:
  // `heartbeat_fd` leads to the keeper; -1 without one (ranks in place). The event loop must
  // outlive this.
  Session(boost::asio::io_context& loop, const plan::Job& job, int heartbeat_fd);
  ~Session() override;

  // Binds the port of this agent's store and, at the root, of the job. With `root` it must be one
  // of the job's ports. Otherwise it is the job's first port if that is free and the root cannot be
  // on this host, else a port that the kernel chooses.
  std::expected<void, hosts::CannotListen> listen(bool root, bool beside_root);
  // Reads toprun's launcher on standard input: "signal N" lines, a line of the address where it
  // expects the run's exit code, and end of file when it ended.
  Result<void> follow_launcher();
  // The root, at the run's end: gives the launcher its exit code if it expects it. Blocks at most
  // link::result_limit.
  void post_result() const;

  // Sends the keeper a heartbeat, also while the event loop does not run.
  void show_life();

  void become_root(link::Secret secret, Admission admission) override;
  void renew_store(bool here, int ranks, StoreNews news) override;
  store::Server::Came came() const override { return store->came(); }
  std::vector<store::Arrival> arrivals() const override { return store->arrivals(); }
  store::Server::Activity activity() const override { return store->activity(); }
  boost::asio::awaitable<Result<hosts::Address>> find_store(model::StoreAddress address) override;
  std::shared_ptr<worker::Children> children() override;
  void show(const std::string& host, bool is_err, std::string lines,
            std::function<void()> taken) override;
  boost::asio::awaitable<bool> flushed() override;
  boost::asio::awaitable<void> last_words() override;
  void take_signals() override { signals_.take(); }

  const std::size_t open_files;  // the limit of this process
  link::Identity identity;
  link::Door door;
  std::unique_ptr<store::Server> store;
  int port = 0;
  output::OwnLines own_lines;

 private:
  output::Terminal& open_terminal();
  void watch_store();
  void take_turn_of_store();
  void beat(int heartbeat_fd);
  void take(const ReceivedSignals::Received& received);
  void hand_on(int signal, bool for_all, EndSignals::Way way);
  void pause(bool asked);
  void read_launcher();
  void obey(std::string_view line);
  void expect_beat();
  void lose_launcher();
  void orphan(std::string words, std::chrono::milliseconds grace);

  boost::asio::posix::stream_descriptor store_ready_;  // while the store has no thread
  boost::asio::steady_timer store_due_;
  const bool kept_;
  const pid_t parent_;
  ReceivedSignals signals_;
  EndSignals end_signals_;
  boost::asio::steady_timer heartbeat_;
  const int heartbeat_fd_;
  boost::asio::posix::stream_descriptor launcher_;
  std::string launcher_line_;
  std::optional<link::ResultAddress> result_address_;
  boost::asio::steady_timer launcher_silence_;
};

}  // namespace toprun::agent
