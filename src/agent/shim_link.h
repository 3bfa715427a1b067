#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "agent/children.h"
#include "agent/shim_wire.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"

namespace toprun::agent {

// What a path is inside the container.
struct Seen {
  bool exists = false;
  bool directory = false;
  bool readable = false;
  bool executable = false;
  bool writable = false;
};

// How long a shim may take to start its ranks: a thousand forks take over 10 s on a busy machine.
inline constexpr std::chrono::seconds shim_start_limit{30};
// … and to describe what does not die, which is asked on the event loop's thread.
inline constexpr std::chrono::milliseconds shim_words_limit{300};

// The shim of a container (agent/shim.h) as the agent outside speaks to it. Questions block until
// the shim answers, for shim_frame_limit at most if nothing else is said; a shim that does not is
// lost. So greet(), enter(), look() and start() are for a thread on which nobody waits, one call at
// a time; the others do not wait. A shim that is gone has killed its ranks: they are then reported
// as ended by SIGKILL.
class ShimLink : public Children, public std::enable_shared_from_this<ShimLink> {
 public:
  // What the shim that connected to our socket says first; blocks.
  static Result<ShimFrame> hear_hello(const Fd& connection, const std::string& host);
  ShimLink(boost::asio::io_context& io, Fd connection, const ShimFrame& hello, std::string host);

  // The environment that image and runtime give their programs.
  const Environment& environment() const { return environment_; }
  bool lost() const { return lost_; }
  // The shim then kills what is left inside, and ends.
  void close();
  // The folder in which the ranks begin.
  Result<void> enter(const std::string& folder);
  Result<std::vector<Seen>> look(const std::vector<std::string>& paths);

  // For shim_start_limit at most.
  Result<std::vector<pid_t>> start(std::vector<Program> programs) override;
  void watch() override;
  void unwatch() override;
  Reaped reap() override;
  void signal_groups(std::span<const pid_t> leaders, int signal) override;
  void notify_groups(std::span<const pid_t> leaders, int signal) override;
  void signal_all(int signal) override;
  std::vector<std::string> describe_all() override;

 private:
  void order_signal(const nlohmann::json& message);
  void order(const nlohmann::json& message, std::span<const int> descriptors = {});
  Result<nlohmann::json> ask(const nlohmann::json& message, const char* answer,
                             std::chrono::milliseconds limit = shim_frame_limit);
  bool take_news();
  bool note(const nlohmann::json& said);
  void lose();
  void await();

  const std::string host_;
  boost::asio::posix::stream_descriptor socket_;
  Environment environment_;
  std::set<pid_t> running_;  // started and not reported as ended
  Reaped news_;              // since the last reap()
  bool childless_ = false;
  bool watched_ = false;
  bool lost_ = false;
};

}  // namespace toprun::agent
