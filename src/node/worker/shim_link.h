#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <nlohmann/json.hpp>

#include "base/os/environment.h"
#include "base/os/fd.h"
#include "base/process/frames.h"
#include "base/text/error.h"
#include "node/worker/children.h"

namespace toprun::worker {

// A message between agent and shim (node/worker/shim.h), with the descriptors that are sent with
// it.
struct ShimFrame {
  nlohmann::json message;
  std::vector<Fd> descriptors;
};

// Sends one message as a frame (base/process/frames.h) of CBOR (RFC 8949), which allows
// environments in any encoding.
Result<void> send_frame(int socket, const nlohmann::json& message,
                        std::span<const int> descriptors = {});
// Receives one message. `limit`: how long to wait for the message's first byte. nullopt if the
// other end has closed the connection.
Result<std::optional<ShimFrame>> receive_frame(
    int socket, std::chrono::milliseconds limit = process::frame_limit);

// The socket at which an agent waits for the shim of its container. A ShimDoor accepts only one
// connection. The owner of the folder removes the socket file with the folder.
class ShimDoor {
 public:
  static Result<ShimDoor> open(const std::string& path);

  int descriptor() const { return listening_.get(); }
  // Accepts the first connection from a process of our user or of root. (The shim may run in its
  // own user namespace, or a daemon may have started it.)
  Result<Fd> admit(std::chrono::milliseconds limit) const;

 private:
  ShimDoor(std::string path, Fd listening);

  std::string path_;
  Fd listening_;
};

// The properties of a path inside the container; the result of ShimLink::look().
struct Seen {
  bool exists = false;
  bool directory = false;
  bool readable = false;
  bool executable = false;
  bool writable = false;
};

// The state of a warm parent (node/worker/warm/parent.h) inside the container.
struct Warmth {
  bool settled = false;
  std::string why_not;  // empty: the parent is ready
  std::chrono::milliseconds import_time{0};
  std::vector<std::string> imported;
};

// The time limit for a shim (toprun's process in a container) to start its ranks. This limit is
// long because a thousand forks take over 10 s on a busy machine.
inline constexpr std::chrono::seconds shim_start_limit{30};
// The time limit for a shim to describe the remaining processes in its container. This limit is
// short because the description blocks the event loop's thread.
inline constexpr std::chrono::milliseconds shim_words_limit{300};

// The agent's connection to the shim of a container (node/worker/shim.h). Requests block until the
// shim answers, for at most process::frame_limit unless stated otherwise. A shim that does not
// answer in time counts as lost. Call enter(), look() and start() one at a time, on a thread that
// may block; the other methods do not block. When the shim ends, it kills its ranks, so the ranks
// are reported as ended by SIGKILL.
class ShimLink : public Children, public std::enable_shared_from_this<ShimLink> {
 public:
  // Receives the first message of the shim that connected to our socket; blocks.
  static Result<ShimFrame> hear_hello(const Fd& connection, const std::string& host);
  ShimLink(boost::asio::io_context& io, Fd connection, const ShimFrame& hello, std::string host);

  // The environment variables that the image and the container runtime set for programs.
  const Environment& environment() const { return environment_; }
  bool lost() const { return lost_; }
  // Closes the connection. The shim then kills all remaining processes in the container and ends.
  void close();
  // Sets the working folder of the ranks.
  Result<void> enter(const std::string& folder);
  Result<std::vector<Seen>> look(const std::vector<std::string>& paths);

  // Starts a warm parent of the ranks in the container (node/worker/warm/parent.h). Call warmth()
  // repeatedly until the parent has settled.
  Result<Warmth> warm_up(const spawn::Program& command, const std::vector<std::string>& modules);
  Result<Warmth> warmth();

  // Blocks for at most shim_start_limit.
  Result<std::vector<pid_t>> start(std::vector<spawn::Program> programs) override;
  void watch() override;
  void unwatch() override;
  Reaped reap() override;
  void signal_groups(std::span<const pid_t> leaders, int signal) override;
  void notify_groups(std::span<const pid_t> leaders, int signal) override;
  void signal_all(int signal) override;
  std::vector<std::string> describe_all() override;

 private:
  Result<Warmth> ask_warmth(const nlohmann::json& message);
  void order_signal(const nlohmann::json& message);
  void order(const nlohmann::json& message, std::span<const int> descriptors = {});
  Result<nlohmann::json> ask(const nlohmann::json& message, const char* answer,
                             std::chrono::milliseconds limit = process::frame_limit);
  bool receive_report();
  bool handle_report(const nlohmann::json& said);
  void lose();
  void await();

  const std::string host_;
  const std::string inside_;  // used in messages about the shim
  boost::asio::posix::stream_descriptor socket_;
  Environment environment_;
  std::set<pid_t> running_;  // processes that were started and are not reported as ended yet
  Reaped reports_;           // reports since the last reap()
  bool childless_ = false;
  bool watched_ = false;
  bool lost_ = false;
};

}  // namespace toprun::worker
