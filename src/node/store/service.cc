#include "node/store/service.h"

#include <algorithm>

#include "node/store/arrivals.h"

namespace toprun::store {
namespace {

// If this much of its replies is unread, a connection's requests wait until it has read.
constexpr std::size_t pause_bytes = 256u << 10;
// An input buffer that has become larger than this is not kept for the next request.
constexpr std::size_t kept_input_bytes = 64u << 10;
constexpr std::size_t kept_wait_keys = 1024;
// Keys and queued values that tidy() frees at once: a fraction of a microsecond each.
constexpr std::size_t tidied_keys = 4096;

}  // namespace

Service::Turn Service::take(Session& session, std::string_view bytes, Output& replies,
                            Refusal& why) {
  if (!session.input_) {
    Turn turn = Turn::waiting;
    std::string_view rest = bytes;
    if (!session.is_client() && !open(session, rest, turn, why)) return turn;
    Scan scan;
    std::size_t done = 0;
    turn = work(session, rest, scan, done, replies, why);
    if (turn == Turn::refused || done == rest.size()) return turn;
    return keep(session, rest.substr(done), scan, turn, why);
  }
  Session::Input& input = *session.input_;
  if (!ledger_.fits(bytes.size())) {
    why = Refusal::total_bytes;
    return Turn::refused;
  }
  input.bytes.append(bytes);
  input.charge.set(input.bytes.capacity());
  if (!session.is_client()) {
    Turn turn = Turn::waiting;
    std::string_view rest = input.bytes;
    if (!open(session, rest, turn, why)) return turn;
    input.done = input.bytes.size() - rest.size();
  }
  const std::string_view pending = std::string_view(input.bytes).substr(input.done);
  const Turn turn = work(session, pending, input.scan, input.done, replies, why);
  if (input.done == input.bytes.size()) {
    session.input_.reset();
  } else if (input.done > input.bytes.size() / 2) {
    input.bytes.erase(0, input.done);
    input.done = 0;
    if (input.bytes.capacity() > kept_input_bytes) input.bytes.shrink_to_fit();
    input.charge.set(input.bytes.capacity());
  }
  return turn;
}

// Recognises the kind of client. False: the connection's turn ends here, with the reason in `turn`.
bool Service::open(Session& session, std::string_view& bytes, Turn& turn, Refusal& why) {
  const Opening opening = sniff(bytes, limits_);
  if (opening == Opening::undecided || opening == Opening::visitor) {
    turn = opening == Opening::visitor ? Turn::visitor : Turn::waiting;
    if (!session.input_) turn = keep(session, bytes, {}, turn, why);
    return false;
  }
  if (opening == Opening::stranger) {
    why = Refusal::stranger;
  } else if (clients_ == Clients::refused || session.attempt_ != attempt_) {
    why = Refusal::not_serving;
  }
  if (why != Refusal::none) {
    turn = Turn::refused;
    return false;
  }
  session.dialect_ = opening == Opening::bare ? Dialect::bare : Dialect::validated;
  if (session.dialect_ == Dialect::validated) bytes.remove_prefix(handshake.size());
  return true;
}

Service::Turn Service::keep(Session& session, std::string_view bytes, const Scan& scan, Turn turn,
                            Refusal& why) {
  if (bytes.empty()) return turn;
  if (!ledger_.fits(bytes.size())) {
    why = Refusal::total_bytes;
    return Turn::refused;
  }
  session.input_ = std::make_unique<Session::Input>(
      Session::Input{Charge(ledger_), std::string(bytes), 0, scan});
  session.input_->charge.set(session.input_->bytes.capacity());
  return turn;
}

// Executes the whole requests at the start of `bytes`; `done` grows by their length.
Service::Turn Service::work(Session& session, std::string_view bytes, Scan& scan, std::size_t& done,
                            Output& replies, Refusal& why) {
  const std::size_t enough = std::min(pause_bytes, limits_.backlog_bytes);
  while (!bytes.empty()) {
    if (replies.size() >= enough) return Turn::paused;
    const Progress progress = advance(scan, bytes, session.dialect_, limits_, why);
    if (progress == Progress::refused) return Turn::refused;
    if (progress == Progress::incomplete) return Turn::waiting;
    const std::string_view request = bytes.substr(0, scan.position);
    const std::size_t owed_before = replies.size();
    why = execute(session, scan.op, request, replies);
    if (why == Refusal::none && replies.size() - owed_before > limits_.backlog_bytes) {
      why = Refusal::backlog_bytes;
      replies.clear();
    }
    if (why != Refusal::none) return Turn::refused;
    bytes.remove_prefix(request.size());
    done += request.size();
    scan = {};
  }
  return Turn::waiting;
}

void Service::next_attempt(Clients clients) {
  ++attempt_;
  clients_ = clients;
  past_.push_back(std::exchange(keyspace_, std::make_unique<Keyspace>(ledger_)));
}

bool Service::tidy() {
  if (past_.empty()) return false;
  if (past_.front()->dissolve(tidied_keys)) past_.pop_front();
  return true;
}

Refusal Service::execute(Session& session, Op op, std::string_view request, Output& replies) {
  Fields fields(request);
  switch (op) {
    case Op::set: {
      const std::string_view key = fields.bytes();
      if (session.awaits_group_) note_key(session, key, true);
      const std::string_view value = fields.bytes();
      if (const auto alarm = hang::alarm_in(key, value)) session.alarmed(*alarm);
      return set(key, value);
    }
    case Op::get:
      get(fields.bytes(), replies);
      return Refusal::none;
    case Op::add:
      return add(session, fields, replies);
    case Op::check:
      check(fields, replies);
      return Refusal::none;
    case Op::wait:
      return wait(session, fields, replies);
    case Op::ping:
      session.pid_ = Fields(fields).integer<std::uint32_t>();
      replies.put(fields.rest());
      return Refusal::none;
    case Op::compare_set:
      return compare_set(fields, replies);
    case Op::get_num_keys:
      replies.put_integer(static_cast<std::int64_t>(keyspace_->size()));
      return Refusal::none;
    case Op::delete_key: {
      const std::string_view key = fields.bytes();
      bool erased = false;
      observed(key, [&] { erased = keyspace_->erase(key); });
      replies.put_integer<std::int64_t>(erased);
      return Refusal::none;
    }
    case Op::append: {
      const std::string_view key = fields.bytes();
      return keyspace_->append(key, fields.bytes()) ? Refusal::none : Refusal::total_bytes;
    }
    case Op::multi_get:
      return multi_get(fields, replies);
    case Op::multi_set:
      return multi_set(fields);
    case Op::cancel_wait:
      keyspace_->cancel_wait(session);
      replies.put_integer(wait_canceled);
      return Refusal::none;
    case Op::queue_push: {
      const std::string_view queue = fields.bytes();
      return keyspace_->push(queue, fields.bytes()) ? Refusal::none : Refusal::total_bytes;
    }
    case Op::queue_pop:
      queue_pop(fields.bytes(), replies);
      return Refusal::none;
    case Op::queue_len:
      replies.put_integer(static_cast<std::int64_t>(keyspace_->queue_size(fields.bytes())));
      return Refusal::none;
    case Op::list_keys:
      return list_keys(replies);
    case Op::barrier:
      return barrier(session, fields, replies);
    case Op::watch_key:
      return watch(session, fields.bytes(), replies);
    case Op::validate:
      break;
  }
  return Refusal::unknown_opcode;
}

// Runs an action that may change the key, and notifies the clients that watch it.
template <class Change>
void Service::observed(std::string_view key, Change change) {
  if (!keyspace_->watchers(key)) return change();
  std::optional<Content> before;
  if (const Value* value = keyspace_->find(key)) before = value->content();
  change();
  notify(key, before ? &*before : nullptr);
}

void Service::notify(std::string_view key, const Content* before) {
  const Value* const now = keyspace_->find(key);
  if (!before && !now) return;
  Output message(ledger_);
  message.put_integer(!now ? KeyEvent::deleted : before ? KeyEvent::updated : KeyEvent::created);
  message.put_counted(key);
  message.put_value(before ? *before : Content());
  message.put_value(now ? now->content() : Content());
  message.share();
  for (Waiter* watcher : *keyspace_->watchers(key)) watcher->deliver(message);
}

Refusal Service::set(std::string_view key, std::string_view value) {
  if (!keyspace_->fits(Keyspace::cost(key, value))) return Refusal::total_bytes;
  observed(key, [&] { keyspace_->set(key, value); });
  return Refusal::none;
}

// As PyTorch's libuv server: absent and nothing expected stores; absent and something expected
// answers what was expected; and whatever comes of it, clients that wait for the key are woken.
Refusal Service::compare_set(Fields& fields, Output& replies) {
  const std::string_view key = fields.bytes();
  const std::string_view expected = fields.bytes();
  const std::string_view desired = fields.bytes();
  const Value* const current = keyspace_->find(key);
  if (current ? current->view() == expected : expected.empty()) {
    const Refusal refusal = set(key, desired);
    if (refusal == Refusal::none) replies.put_counted(desired);
    return refusal;
  }
  keyspace_->wake(key);
  if (current) {
    replies.put_value(current->content());
  } else {
    replies.put_counted(expected);
  }
  return Refusal::none;
}

// A reply that is large already, to MULTI_GET, does not copy what it can share.
void Service::get(std::string_view key, Output& replies) {
  const bool is_large = replies.size() > pause_bytes;
  const Value* const value = is_large ? keyspace_->find_to_share(key) : keyspace_->find(key);
  if (value) return replies.put_value(value->content());
  replies.put_counted({});
}

Refusal Service::add(Session& session, Fields& fields, Output& replies) {
  const std::string_view key = fields.bytes();
  const auto delta = fields.integer<std::int64_t>();
  std::int64_t sum = 0;
  Keyspace::Added added = Keyspace::Added::done;
  observed(key, [&] { added = keyspace_->add(key, delta, sum); });
  if (added == Keyspace::Added::not_a_number) return Refusal::not_a_number;
  if (added == Keyspace::Added::no_memory) return Refusal::total_bytes;
  replies.put_integer(sum);
  if (key == workers_key) note_joined(session);
  return Refusal::none;
}

void Service::note_joined(Session& session) {
  if (session.has_joined_) return;
  session.has_joined_ = session.awaits_group_ = true;
  session.joined(session.pid_);
}

// A rank that waits for another's key has come to the exchange as well as one that sets its own.
void Service::note_key(Session& session, std::string_view key, bool is_own) {
  if (!is_of_a_process_group(key)) return;
  session.awaits_group_ = false;
  session.met(is_own ? rank_named_by(key) : std::nullopt);
}

void Service::check(Fields& fields, Output& replies) {
  const auto count = fields.integer<std::uint64_t>();
  bool all = true;
  for (std::uint64_t i = 0; i < count && all; ++i) all = keyspace_->present(fields.bytes());
  replies.put_integer(all ? ready : not_ready);
}

Refusal Service::wait(Session& session, Fields& fields, Output& replies) {
  const auto count = fields.integer<std::uint64_t>();
  absent_.clear();
  if (absent_.capacity() > kept_wait_keys) absent_.shrink_to_fit();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = fields.bytes();
    if (session.awaits_group_) note_key(session, key, false);
    if (!keyspace_->present(key)) absent_.push_back(key);
  }
  if (absent_.empty()) {
    replies.put_integer(stop_waiting);
    return Refusal::none;
  }
  return keyspace_->park(session, absent_) ? Refusal::none : Refusal::total_bytes;
}

Refusal Service::multi_get(Fields& fields, Output& replies) {
  const auto count = fields.integer<std::uint64_t>();
  const std::size_t owed_before = replies.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    get(fields.bytes(), replies);
    // A reply that is refused is not sent in part either.
    if (replies.size() - owed_before <= limits_.backlog_bytes) continue;
    replies.clear();
    return Refusal::backlog_bytes;
  }
  return Refusal::none;
}

// All of it or nothing.
Refusal Service::multi_set(Fields& fields) {
  Fields look_ahead = fields;
  const auto count = look_ahead.integer<std::uint64_t>();
  std::size_t cost = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = look_ahead.bytes();
    cost += Keyspace::cost(key, look_ahead.bytes());
  }
  if (!keyspace_->fits(cost)) return Refusal::total_bytes;
  fields.integer<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = fields.bytes();
    const std::string_view value = fields.bytes();
    observed(key, [&] { keyspace_->set(key, value); });
  }
  return Refusal::none;
}

void Service::queue_pop(std::string_view queue, Output& replies) {
  replies.put_integer(static_cast<std::int64_t>(keyspace_->queue_size(queue)));
  const Value* const value = keyspace_->front(queue);
  if (!value) return;
  replies.put_value(value->content());
  keyspace_->pop(queue);
}

Refusal Service::list_keys(Output& replies) {
  std::size_t bytes = sizeof(std::int64_t);
  keyspace_->for_each_key(
      [&](std::string_view key) { bytes += sizeof(std::uint64_t) + key.size(); });
  if (bytes > limits_.backlog_bytes) return Refusal::backlog_bytes;
  replies.put_integer(static_cast<std::int64_t>(keyspace_->size()));
  keyspace_->for_each_key([&](std::string_view key) { replies.put_counted(key); });
  return Refusal::none;
}

// The count is kept as the key's value and is not taken back when the wait is cancelled.
Refusal Service::barrier(Session& session, Fields& fields, Output& replies) {
  const std::string_view key = fields.bytes();
  const auto world = fields.integer<std::int64_t>();
  std::int64_t arrived = 0;
  const Keyspace::Added added = keyspace_->add(key, 1, arrived, false);
  if (added == Keyspace::Added::not_a_number) return Refusal::not_a_number;
  if (added == Keyspace::Added::no_memory) return Refusal::total_bytes;
  if (arrived < world) {
    return keyspace_->park(session, {&key, 1}) ? Refusal::none : Refusal::total_bytes;
  }
  keyspace_->wake(key);
  replies.put_integer(stop_waiting);
  return Refusal::none;
}

Refusal Service::watch(Session& session, std::string_view key, Output& replies) {
  if (keyspace_->watched_by(session) >= limits_.keys_per_request) return Refusal::keys_per_request;
  if (!keyspace_->watch(session, key)) return Refusal::total_bytes;
  replies.put_integer(KeyEvent::registered);
  return Refusal::none;
}

}  // namespace toprun::store
