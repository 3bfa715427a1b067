#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/hang/alarm.h"
#include "node/store/keyspace.h"
#include "node/store/limits.h"
#include "node/store/memory.h"
#include "node/store/protocol.h"
#include "node/store/store_output.h"

namespace toprun::store {

// A connection between its reads: undecided -> bare or validated (or a visitor, or refused).
class Session : public Waiter {
 public:
  // A connection belongs to the attempt that is current when it is accepted.
  explicit Session(std::uint32_t attempt) : attempt_(attempt) {}

  bool is_client() const { return dialect_ != Dialect::undecided; }

 protected:
  ~Session() = default;
  // PyTorch's client on this connection counts itself as a worker; its process id, 0: unknown.
  virtual void joined(std::uint32_t /*pid*/) {}
  // … and asks for a key of a process group, with the rank that its own key names.
  virtual void met(std::optional<int> /*rank*/) {}
  // PyTorch's watchdog tells on it that a rank has given up waiting.
  virtual void alarmed(const hang::Alarm& /*alarm*/) {}

 private:
  friend class Service;
  // Bytes that are not a whole request yet, or whose turn has not come; absent in idle connections.
  struct Input {
    Charge charge;
    std::string bytes;
    std::size_t done = 0;  // of bytes, already executed
    Scan scan;
  };

  std::unique_ptr<Input> input_;
  std::uint32_t attempt_;
  std::uint32_t pid_ = 0;
  Dialect dialect_ = Dialect::undecided;
  bool has_joined_ = false;
  bool awaits_group_ = false;  // it has joined, and has not met
};

// The store without its sockets: bytes of clients in, replies out. For one thread.
class Service {
 public:
  // How a connection goes on after take().
  enum class Turn : std::uint8_t {
    waiting,  // read on
    paused,   // enough replies for now: send them, then call resume()
    visitor,  // not a store client; opening() is what it said
    refused,  // send the replies, then close it; `why` says why
  };

  explicit Service(Clients clients, const Limits& limits = {})
      : limits_(limits), ledger_{limits.total_bytes}, clients_(clients) {}

  // Executes every whole request among the bytes that arrived. Replies to others are delivered to
  // them meanwhile. `replies` is empty or holds what this connection is still owed.
  Turn take(Session& session, std::string_view bytes, Output& replies, Refusal& why);
  Turn resume(Session& session, Output& replies, Refusal& why) {
    return take(session, {}, replies, why);
  }
  static std::string opening(Session& session) { return std::move(session.input_->bytes); }

  std::uint32_t attempt() const { return attempt_; }
  // Begins with no keys; clients that were accepted before are refused from now on. What the last
  // attempt's clients left is freed by tidy(), once those sessions are gone.
  void next_attempt(Clients clients);
  // Frees a share of it, in about a millisecond; false if nothing was left.
  bool tidy();
  Ledger& ledger() { return ledger_; }

 private:
  bool open(Session& session, std::string_view& bytes, Turn& turn, Refusal& why);
  Turn work(Session& session, std::string_view bytes, Scan& scan, std::size_t& done,
            Output& replies, Refusal& why);
  Turn keep(Session& session, std::string_view bytes, const Scan& scan, Turn turn, Refusal& why);

  Refusal execute(Session& session, Op op, std::string_view request, Output& replies);
  Refusal set(std::string_view key, std::string_view value);
  Refusal compare_set(Fields& fields, Output& replies);
  void get(std::string_view key, Output& replies);
  Refusal add(Session& session, Fields& fields, Output& replies);
  void check(Fields& fields, Output& replies);
  Refusal wait(Session& session, Fields& fields, Output& replies);
  Refusal multi_get(Fields& fields, Output& replies);
  Refusal multi_set(Fields& fields);
  void queue_pop(std::string_view queue, Output& replies);
  static void note_joined(Session& session);
  static void note_key(Session& session, std::string_view key, bool is_own);
  Refusal list_keys(Output& replies);
  Refusal barrier(Session& session, Fields& fields, Output& replies);
  Refusal watch(Session& session, std::string_view key, Output& replies);
  template <class Change>
  void observed(std::string_view key, Change change);
  void notify(std::string_view key, const Content* before);

  Limits limits_;
  Ledger ledger_;  // outlives everything that is charged to it
  std::unique_ptr<Keyspace> keyspace_ = std::make_unique<Keyspace>(ledger_);
  std::deque<std::unique_ptr<Keyspace>> past_;  // of attempts that have ended, not freed yet
  std::vector<std::string_view> absent_;        // of wait(); kept for its memory
  std::uint32_t attempt_ = 0;
  Clients clients_;
};

}  // namespace toprun::store
