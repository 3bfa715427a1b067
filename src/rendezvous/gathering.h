#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/messages.h"
#include "rendezvous/preamble.h"

namespace toprun::rendezvous {

// Who has come to a job so far, in the order of joining; pure.
//
//   gathering --admit() of the last one--> complete
class Gathering {
 public:
  // `expected` joins make it complete: agents, or ranks if they are started in place.
  explicit Gathering(int expected) : expected_(expected) {}

  // Takes the newcomer, or says why not.
  std::optional<Refused> admit(const Join& join);
  // A member that left before the job was complete.
  void forget(const std::string& agent);

  bool complete() const { return present() == expected_; }
  int expected() const { return expected_; }
  int present() const;
  const std::vector<Join>& members() const { return members_; }
  // For messages: the names of those of `all` (the engine's list) that have not come; else empty.
  std::vector<std::string> missing(const std::vector<std::string>& all) const;

 private:
  std::optional<Refused> conflict(const Join& join) const;

  int expected_;
  std::vector<Join> members_;
  // Who holds a node rank (or, where none is fixed, an engine's index) and a local rank in it.
  std::map<std::pair<int, int>, std::string> places_;
};

}  // namespace toprun::rendezvous
