#include "node/prepare/stage/entrance.h"

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/net/http.h"
#include "base/os/use_nothrow_awaitable.h"

namespace toprun::stage {
namespace asio = boost::asio;

namespace {

constexpr std::size_t proof_bytes = head_bytes + hash_bytes;

struct Visitor {
  Visitor(asio::io_context& io, Visit who) : socket(io), limit(io), visit(std::move(who)) {}

  HttpStream socket;  // of whatever family
  asio::steady_timer limit;
  Visit visit;
  bool has_shown = false;  // something of a proof's length: visit.read_ahead
};

bool is_proof(const Visit& visit, const Hash& key) {
  const auto head = decode_head(visit.read_ahead);
  if (!head || head->kind != Record::proof || head->length != hash_bytes) return false;
  Hash shown{};
  std::memcpy(shown.data(), visit.read_ahead.data() + head_bytes, shown.size());
  return is_equal(shown, proof_of(key, visit.their_line, visit.our_line, true));
}

}  // namespace

struct Entrance::State {
  State(asio::io_context& context, Admit admits, std::size_t the_most)
      : io(context), admit(std::move(admits)), most(the_most) {}

  void judge(std::uint64_t number);

  asio::io_context& io;
  const Admit admit;
  const std::size_t most;
  std::optional<Hash> key;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::shared_ptr<Visitor>> undecided;  // by their coming
};

void Entrance::State::judge(std::uint64_t number) {
  const auto found = undecided.find(number);
  if (found == undecided.end() || !key || !found->second->has_shown) return;
  const std::shared_ptr<Visitor> visitor = found->second;
  undecided.erase(found);
  visitor->limit.cancel();
  if (!is_proof(visitor->visit, *key)) return;
  visitor->visit.socket = Fd(visitor->socket.release());
  admit(std::move(visitor->visit));
}

namespace {

using State = Entrance::State;

void dismiss(State& state, std::uint64_t number) {
  const auto found = state.undecided.find(number);
  if (found == state.undecided.end()) return;
  boost::system::error_code ignored;
  found->second->limit.cancel();
  found->second->socket.close(ignored);
  state.undecided.erase(found);
}

asio::awaitable<void> receive(std::shared_ptr<State> state, std::uint64_t number,
                              std::shared_ptr<Visitor> visitor) {
  Visit& visit = visitor->visit;
  const auto [not_sent, sent] = co_await asio::async_write(
      visitor->socket, asio::buffer(visit.our_line), use_nothrow_awaitable);
  visit.read_ahead.resize(proof_bytes);
  const auto [not_read, length] =
      not_sent ? std::tuple(not_sent, std::size_t{0})
               : co_await asio::async_read(visitor->socket, asio::buffer(visit.read_ahead),
                                           use_nothrow_awaitable);
  if (not_read) co_return dismiss(*state, number);
  visitor->has_shown = true;
  state->judge(number);
}

}  // namespace

Entrance::Entrance(asio::io_context& io, Admit admit, std::size_t most)
    : state_(std::make_shared<State>(io, std::move(admit), most)) {}

Entrance::~Entrance() {
  while (!state_->undecided.empty()) dismiss(*state_, state_->undecided.begin()->first);
}

void Entrance::enter(Visit visit) {
  if (state_->undecided.size() == state_->most) {
    dismiss(*state_, state_->undecided.begin()->first);
  }
  const std::uint64_t number = ++state_->last;
  const auto visitor = std::make_shared<Visitor>(state_->io, std::move(visit));
  boost::system::error_code failed;
  const asio::generic::stream_protocol of_its_family(AF_INET, 0);
  visitor->socket.assign(of_its_family, visitor->visit.socket.get(), failed);
  if (failed) return;
  visitor->visit.socket.release();
  state_->undecided.emplace(number, visitor);
  visitor->limit.expires_after(undecided_limit);
  visitor->limit.async_wait([state = state_, number](const boost::system::error_code& error) {
    if (!error) dismiss(*state, number);
  });
  asio::co_spawn(state_->io, receive(state_, number, visitor), asio::detached);
}

void Entrance::open(const Hash& key) {
  state_->key = key;
  std::vector<std::uint64_t> all;
  for (const auto& [number, visitor] : state_->undecided) all.push_back(number);
  for (const std::uint64_t number : all) state_->judge(number);
}

}  // namespace toprun::stage
