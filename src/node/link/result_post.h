#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"

// How the root's agent sends the run's exit code to its launcher. The launcher is the toprun
// process that started the agents, with an engine's command such as srun. The launcher cannot use
// the exit code of this command. The command exits with the highest exit code of its tasks, and one
// task may be an agent whose node was lost while the job continued.
namespace toprun::link {

// The maximum number of its addresses that the launcher tells the root's agent.
inline constexpr std::size_t max_result_addresses = 8;
// How long the root's agent tries to reach its launcher.
inline constexpr std::chrono::milliseconds result_limit{1'000};
// How long the launcher waits for the bytes of one connection.
inline constexpr std::chrono::milliseconds result_read_limit{100};

struct ResultAddress {
  std::vector<hosts::Address> addresses;  // the root tries all of them at once
  int port = 0;
  std::string token;  // distinguishes the root's message from messages of other processes
};

// Returns "result PORT TOKEN ADDRESS…", a line that the launcher sends to the root's agent.
std::string text_of(const ResultAddress& address);
// Parses the line from text_of(); returns nullopt for any other line.
std::optional<ResultAddress> parse_result_address(std::string_view line);

// Listens, in the launcher, for the run's exit code from the root's agent.
class ResultPost {
 public:
  // Listens on a port that the kernel chooses. Error: the launcher cannot listen.
  static Result<ResultPost> open();
  const ResultAddress& address() const { return address_; }
  // Readable when a connection has arrived.
  int fd() const { return listener_.get(); }
  // Returns the exit code if the root has sent it. Blocks for at most `result_read_limit` per
  // connection.
  std::optional<int> received();

 private:
  ResultPost(Fd listener, ResultAddress address);
  Fd listener_;
  ResultAddress address_;
  std::optional<int> code_;
};

// Sends the exit code from the root's agent to the launcher. False if the launcher was not reached
// within `result_limit`.
bool post_result(const ResultAddress& to, int exit_code);

}  // namespace toprun::link
