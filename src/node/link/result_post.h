#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/address.h"
#include "base/os/fd.h"
#include "base/text/error.h"

// The way by which the root's agent gives its starter the run's exit code. An engine's command ends
// with the highest code of its tasks, also that of an agent whose node was lost while the job went
// on without it.
namespace toprun::link {

// Where the starter listens, at most this many of its addresses.
inline constexpr std::size_t max_result_addresses = 8;
// How long the root tries to reach its starter, and the starter waits for bytes on their way.
inline constexpr std::chrono::milliseconds result_limit{1'000};
inline constexpr std::chrono::milliseconds result_read_limit{100};

struct ResultAddress {
  std::vector<hosts::Address> addresses;  // the root tries them all at once
  int port = 0;
  std::string token;  // tells the root's word from that of any other process
};

// "result PORT TOKEN ADDRESS…", a line of the starter's orders; parse: nullopt if it is not one.
std::string text_of(const ResultAddress& address);
std::optional<ResultAddress> parse_result_address(std::string_view line);

// The starter's end.
class ResultPost {
 public:
  // Error: it cannot listen.
  static Result<ResultPost> open();
  const ResultAddress& address() const { return address_; }
  // The code that the root has sent by now. Blocks at most `result_read_limit` per connection.
  std::optional<int> received();

 private:
  ResultPost(Fd listener, ResultAddress address);
  Fd listener_;
  ResultAddress address_;
};

// The root's end: false if the starter was not reached within `result_limit`.
bool post_result(const ResultAddress& to, int exit_code);

}  // namespace toprun::link
