#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"

// How the root's agent sends the run's exit code to its starter, which is the process that started
// the agent. This is needed because an engine's command returns the highest exit code of its tasks.
// One of these tasks may be an agent whose node was lost, although the job continued without the
// node.
namespace toprun::link {

// The maximum number of addresses on which the starter listens.
inline constexpr std::size_t max_result_addresses = 8;
// The time limits for sending the exit code: how long the root tries to reach its starter, and how
// long the starter waits for bytes that were sent.
inline constexpr std::chrono::milliseconds result_limit{1'000};
inline constexpr std::chrono::milliseconds result_read_limit{100};

struct ResultAddress {
  std::vector<hosts::Address> addresses;  // the root tries all of them at once
  int port = 0;
  std::string token;  // distinguishes the root's message from messages of other processes
};

// "result PORT TOKEN ADDRESS…", a line that the starter sends to the root's agent.
// parse_result_address() returns nullopt for any other line.
std::string text_of(const ResultAddress& address);
std::optional<ResultAddress> parse_result_address(std::string_view line);

// The starter's end.
class ResultPost {
 public:
  // Error: the starter cannot listen.
  static Result<ResultPost> open();
  const ResultAddress& address() const { return address_; }
  // Readable when a connection has arrived.
  int fd() const { return listener_.get(); }
  // The exit code that the root has sent so far. Blocks for at most `result_read_limit` per
  // connection.
  std::optional<int> received();

 private:
  ResultPost(Fd listener, ResultAddress address);
  Fd listener_;
  ResultAddress address_;
  std::optional<int> code_;
};

// The root calls post_result(). False if the starter was not reached within `result_limit`.
bool post_result(const ResultAddress& to, int exit_code);

}  // namespace toprun::link
