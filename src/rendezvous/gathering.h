#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/messages.h"

namespace toprun::rendezvous {

// How many agents make a job; ranks that are started in place count one by one.
struct Size {
  int least = 1;
  int most = 1;
  // An agent can take the place of one that was lost: newcomers beyond `most` wait as spares.
  bool repairable = false;
  // Two may have the same node rank: it only says which one they would like (arrange() decides).
  bool ranks_are_wishes = false;
};

// Who belongs to a job: its members in the order of joining, and the spares behind them; pure.
//
//   open --close()--> closed --open()--> open …
//   Open: a newcomer becomes a member while there is room, else a spare. Closed, while an attempt
//   runs: every newcomer is a spare. open() fills the free seats with those spares whose node rank,
//   if they have one, no member has.
class Gathering {
 public:
  explicit Gathering(Size size) : size_(size) {}

  // Takes the newcomer, or says why not.
  std::optional<Refused> admit(const Join& join);
  void forget(const std::string& agent);
  void open();
  void close() { open_ = false; }
  bool is_open() const { return open_; }

  bool full() const { return present() == size_.most; }
  bool enough() const { return present() >= size_.least; }
  const Size& size() const { return size_; }
  // How many of the spares open() would take in.
  int newcomers() const;
  int present() const { return static_cast<int>(members_.size()); }
  const std::vector<Join>& members() const { return members_; }
  const std::vector<Join>& spares() const { return spares_; }
  bool is_member(const std::string& agent) const;
  // For messages: the names of those of `all` (the engine's list) that have not come; else empty.
  std::vector<std::string> missing(const std::vector<std::string>& all) const;

 private:
  const Join* holder_of_place_of(const Join& join) const;
  std::optional<Refused> conflict(const Join& join) const;

  Size size_;
  bool open_ = true;
  std::vector<Join> members_;
  std::vector<Join> spares_;
};

}  // namespace toprun::rendezvous
