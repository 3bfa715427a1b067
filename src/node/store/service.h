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
#include "node/store/protocol.h"
#include "node/store/store_output.h"

namespace toprun::store {

// What the server stores about a client's connection between two reads. Its dialect (protocol.h) is
// at first `undecided`. Later, the dialect becomes `bare` or `validated`, or the connection turns
// out to be a visitor, or is refused.
class Session : public Waiter {
 public:
  // A connection belongs to the attempt that is current when it is accepted.
  explicit Session(std::uint32_t attempt) : attempt_(attempt) {}

  bool is_client() const { return dialect_ != Dialect::undecided; }

 protected:
  ~Session() = default;
  // Called when PyTorch's client on this connection adds itself to the count of workers. The
  // argument is the client's process id; 0: unknown.
  virtual void joined(std::uint32_t /*pid*/) {}
  // Called when a client that has joined asks for a key of a process group. The argument is the
  // rank in the client's own key.
  virtual void met(std::optional<int> /*rank*/) {}
  // Called when PyTorch's watchdog reports, over this connection, that a rank has stopped waiting.
  virtual void alarmed(const hang::Alarm& /*alarm*/) {}

 private:
  friend class Service;
  // Received bytes that are an incomplete request or are not executed yet. The pointer input_ is
  // null in idle connections.
  struct Input {
    Charge charge;
    std::string bytes;
    std::size_t done = 0;  // how many bytes are already executed
    Scan scan;
  };

  std::unique_ptr<Input> input_;
  std::uint32_t attempt_;
  std::uint32_t pid_ = 0;
  Dialect dialect_ = Dialect::undecided;
  bool has_joined_ = false;
  bool awaits_group_ = false;  // the rank has joined, but has not asked for a key of a process
                               // group
};

// The store without its sockets: it reads bytes from clients and produces replies. A Service is
// used on one thread.
class Service {
 public:
  // How a connection continues after take().
  enum class Turn : std::uint8_t {
    waiting,  // read more bytes
    paused,   // enough replies for now: send them, then call resume()
    visitor,  // not a store client; opening() returns its first bytes
    refused,  // send the replies, then close the connection; `why` is the reason
  };

  explicit Service(Clients clients, const Limits& limits = {})
      : limits_(limits), ledger_{limits.total_bytes}, clients_(clients) {}

  // Executes every complete request in the bytes that arrived. Replies that these requests cause on
  // other connections are delivered during the call. `replies` is empty or contains earlier replies
  // to this connection.
  Turn take(Session& session, std::string_view bytes, Output& replies, Refusal& why);
  Turn resume(Session& session, Output& replies, Refusal& why) {
    return take(session, {}, replies, why);
  }
  static std::string opening(Session& session) { return std::move(session.input_->bytes); }

  std::uint32_t attempt() const { return attempt_; }
  // Begins an attempt without keys. Clients that were accepted earlier are refused from now on. The
  // data of the last attempt's clients is freed by tidy(), once their sessions are destroyed.
  void next_attempt(Clients clients);
  // Frees a part of the ended attempts' data, in about a millisecond. False if there was nothing
  // left to free.
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
  Ledger ledger_;  // outlives all objects that are charged to it
  std::unique_ptr<Keyspace> keyspace_ = std::make_unique<Keyspace>(ledger_);
  std::deque<std::unique_ptr<Keyspace>> past_;  // from attempts that have ended; not freed yet
  std::vector<std::string_view> absent_;        // used by wait(); kept to reuse its memory
  std::uint32_t attempt_ = 0;
  Clients clients_;
};

}  // namespace toprun::store
