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

#include "node/agent/received_signals.h"
#include "node/agent/services.h"
#include "node/link/door.h"
#include "node/link/result_post.h"
#include "node/output/console.h"

namespace toprun::agent {

// The interval between two heartbeats of a launcher that starts agents by logins.
inline constexpr std::chrono::seconds launcher_beat{5};

// The resources of one agent process: its port, its signals, its keeper and its launcher.
class Session : public Services {
 public:
  // `heartbeat_fd` is the pipe to the keeper (node/worker/keeper.h). It is -1 for ranks that the
  // engine started, which have no keeper. The event loop must outlive this object.
  Session(boost::asio::io_context& loop, const plan::Job& job, int heartbeat_fd);
  ~Session() override;

  // Binds the port for this agent's store and, at the root, for the other agents. If `root` is
  // true, the port must be one of the job's ports. If `root` is false, this agent uses the job's
  // first port if that port is free and the root cannot be on this host (`beside_root` is false).
  // Otherwise the kernel chooses a port.
  std::expected<void, hosts::CannotListen> listen(bool root, bool beside_root);
  // Reads messages from toprun's launcher on standard input. The messages are "signal N" lines and
  // a line with the address to which the root must send the run's exit code. End of file means that
  // the launcher has ended.
  Result<void> follow_launcher();
  // Called in the root at the run's end: sends the exit code to the launcher if the launcher
  // expects it. Blocks for at most link::result_limit.
  void post_result() const;

  // Sends a heartbeat to the keeper, the agent's supervising process, if the last one was sent some
  // time ago. Also works while the event loop does not run.
  void show_life();

  void become_root(link::Secret secret, Admission admission) override;
  void renew_store(bool here, int ranks, StoreNews news) override;
  store::Server::ArrivalCounts arrival_counts() const override { return store->arrival_counts(); }
  std::vector<store::Arrival> arrivals() const override { return store->arrivals(); }
  store::Server::Activity activity() const override { return store->activity(); }
  boost::asio::awaitable<Result<hosts::Address>> find_store(model::StoreAddress address) override;
  std::shared_ptr<worker::Children> children() override;
  void show(const std::string& host, bool is_err, std::string lines,
            std::function<void()> taken) override;
  boost::asio::awaitable<bool> flushed() override;
  boost::asio::awaitable<void> last_words() override;
  void take_signals() override { signals_.take(); }

  const std::size_t open_files;  // the maximum number of files that this process may open
  link::Identity identity;
  link::Door door;
  std::unique_ptr<store::Server> store;
  int port = 0;
  output::OwnLines own_lines;

 private:
  output::Terminal& open_terminal();
  void watch_store();
  void take_turn_of_store();
  void send_beat(char byte);
  void schedule_beat();
  void take(const ReceivedSignals::Received& received);
  void hand_on(int signal, bool for_all, EndSignals::Way way);
  void pause(bool asked);
  void read_launcher();
  void obey(std::string_view line);
  void expect_beat();
  void lose_launcher();
  void orphan(std::string words, std::chrono::milliseconds grace);

  // store_ready_ and store_due_ are used while the store runs on the event loop. A store with its
  // own thread does not need them.
  boost::asio::posix::stream_descriptor store_ready_;
  boost::asio::steady_timer store_due_;
  const bool kept_;
  const pid_t parent_;
  ReceivedSignals signals_;
  EndSignals end_signals_;
  boost::asio::steady_timer heartbeat_;
  const int heartbeat_fd_;
  std::chrono::steady_clock::time_point last_beat_;
  boost::asio::posix::stream_descriptor launcher_;
  std::string launcher_line_;
  std::optional<link::ResultAddress> result_address_;
  boost::asio::steady_timer launcher_silence_;
};

}  // namespace toprun::agent
