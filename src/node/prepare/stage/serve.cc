#include "node/prepare/stage/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/net/http.h"
#include "base/os/timer.h"
#include "node/prepare/stage/scan.h"

namespace toprun::stage {
using std::chrono::milliseconds;
namespace asio = boost::asio;
namespace {

// Smaller pieces are copied into one packet with others.
constexpr std::size_t least_sent_by_kernel = std::size_t{64} << 10;

std::unexpected<Error> stop_serving() {
  return fail("--stage: toprun closes its connection to another node",
              "that node's request is not valid, or all has been copied");
}

// Answers one connection.
class Server {
 public:
  Server(Wire& wire, Share& share, const Hash& key, const Waits& waits)
      : wire_(wire), share_(share), key_(key), waits_(waits) {}

  Result<void> prove(const Visit& visit);
  Result<void> send_manifest();
  Result<void> send_chunks();

 private:
  Result<void> refuse();
  Result<void> say_wait();
  Result<std::vector<bool>> read_lacks();
  Result<void> await_chunk(std::uint32_t chunk);
  Result<void> send_chunk(std::uint32_t chunk);

  Wire& wire_;
  Share& share_;
  const Hash& key_;
  const Waits& waits_;
  std::shared_ptr<const Share::List> list_;
  Fd file_;  // the one that was opened last
  std::size_t file_entry_ = 0;
  std::string buffer_;
};

Result<void> Server::refuse() {
  const auto refusal = share_.refusal();
  if (!refusal) return {};
  const std::string why = refusal->why.substr(0, most_reason_bytes);
  const auto length = static_cast<std::uint32_t>(why.size());
  TRY(wire_.send({Record::refuse, length, refusal->for_all ? 1u : 0u}, why));
  return stop_serving();
}

Result<void> Server::say_wait() {
  if (wire_.is_closed()) return stop_serving();
  return wire_.send({Record::wait, 0, 0}, {});
}

Result<void> Server::prove(const Visit& visit) {
  const auto head = wire_.read_head();
  if (!head || head->kind != Record::proof || head->length != hash_bytes) return stop_serving();
  Hash shown{};
  if (auto got = wire_.read(reinterpret_cast<char*>(shown.data()), shown.size()); !got) return got;
  const Hash expected = proof_of(key_, visit.their_line, visit.our_line, true);
  if (!is_equal(shown, expected)) return stop_serving();
  const Hash own = proof_of(key_, visit.their_line, visit.our_line, false);
  return wire_.send({Record::proof, hash_bytes, 0}, bytes_of(own));
}

Result<void> Server::send_manifest() {
  const auto head = wire_.read_head();
  if (!head || head->kind != Record::has) return stop_serving();
  if (head->length != 0 && head->length != hash_bytes) return stop_serving();
  Hash has{};
  if (auto got = wire_.read(reinterpret_cast<char*>(has.data()), head->length); !got) return got;
  while (!(list_ = share_.list_within(waits_.wait_record))) {
    if (auto refused = refuse(); !refused) return refused;
    if (auto said = say_wait(); !said) return said;
  }
  if (head->length != 0 && has == list_->digest) return wire_.send({Record::seal, 0, 0}, {});
  std::string_view rest = list_->bytes;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, most_part_bytes);
    const auto length = static_cast<std::uint32_t>(part.size());
    TRY(wire_.send({Record::manifest, length, list_->bytes.size()}, part));
    rest.remove_prefix(part.size());
  }
  return wire_.send({Record::seal, hash_bytes, 0}, bytes_of(keyed_hash_of(key_, list_->bytes)));
}

Result<std::vector<bool>> Server::read_lacks() {
  const std::size_t chunks = list_->manifest->hashes.size();
  const auto head = TRY(wire_.read_head());
  if (head.kind != Record::lacks || head.number != chunks || head.length != (chunks + 7) / 8) {
    return stop_serving();
  }
  std::string bits(head.length, '\0');
  TRY(wire_.read(bits.data(), bits.size()));
  std::vector<bool> lacks(chunks);
  for (std::size_t i = 0; i < chunks; ++i) {
    lacks[i] = (static_cast<unsigned char>(bits[i / 8]) >> (i % 8) & 1) != 0;
  }
  return lacks;
}

Result<void> Server::await_chunk(std::uint32_t chunk) {
  if (share_.has_within(chunk, std::chrono::milliseconds(0))) return {};
  if (auto sent = wire_.flush(); !sent) return sent;
  while (!share_.has_within(chunk, waits_.wait_record)) {
    if (auto refused = refuse(); !refused) return refused;
    if (auto said = say_wait(); !said) return said;
  }
  return {};
}

Result<void> Server::send_chunk(std::uint32_t chunk) {
  const Manifest& manifest = *list_->manifest;
  const std::size_t i = manifest.entry_of(chunk);
  const Entry& entry = manifest.entries[i];
  const auto changed = [&] {
    const std::string text = share_.tree().text(manifest.path_of(i));
    share_.close({text + " has changed while it was copied", true});
    return refuse();
  };
  if (!file_ || file_entry_ != i) {
    file_ = share_.tree().open(manifest.path_of(i), O_RDONLY);
    file_entry_ = i;
    if (!file_ && share_.is_source()) return changed();
    if (!file_) return fail_errno("cannot open a file of the copy");
  }
  if (share_.is_source() && !is_as_scanned(file_.get(), entry)) return changed();
  const std::size_t size = manifest.chunk_size(entry, chunk);
  const std::uint64_t offset = std::uint64_t{chunk - entry.first_chunk} * chunk_bytes;
  const Head head{Record::data, static_cast<std::uint32_t>(size), chunk};
  share_.sent_bytes += size;
  if (size >= least_sent_by_kernel) return wire_.send_file(head, file_.get(), offset);
  buffer_.resize(size);
  if (::pread(file_.get(), buffer_.data(), size, static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(size)) {
    return changed();
  }
  return wire_.queue(head, buffer_);
}

Result<void> Server::send_chunks() {
  const auto lacks = TRY(read_lacks());
  while (!share_.is_open_within(waits_.wait_record)) {
    if (auto refused = refuse(); !refused) return refused;
    if (auto said = say_wait(); !said) return said;
  }
  for (std::uint32_t chunk = 0; chunk < lacks.size(); ++chunk) {
    if (!lacks[chunk]) continue;
    if (auto there = await_chunk(chunk); !there) return there;
    if (auto sent = send_chunk(chunk); !sent) return sent;
  }
  return wire_.send({Record::end, 0, 0}, {});
}

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

void Share::list(std::shared_ptr<const List> list) {
  const std::lock_guard lock(mutex_);
  list_ = std::move(list);
  changed_.notify_all();
}

void Share::open(OpenTree tree, std::vector<bool> is_there, bool is_source) {
  const std::lock_guard lock(mutex_);
  tree_ = std::move(tree);
  is_there_ = std::move(is_there);
  is_source_ = is_source;
  is_open_ = true;
  changed_.notify_all();
}

void Share::add(std::uint32_t chunk) {
  const std::lock_guard lock(mutex_);
  is_there_[chunk] = true;
  changed_.notify_all();
}

void Share::close(Refusal refusal) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) refusal_ = std::move(refusal);
  changed_.notify_all();
}

void Share::set_waiting(bool waiting) {
  const std::lock_guard lock(mutex_);
  waiting_ = waiting;
  changed_.notify_all();
}

void Share::stop() {
  stopped_ = true;
  close({"the run is over", false});
}

std::shared_ptr<const Share::List> Share::list_within(milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return list_ || refusal_; });
  return list_;
}

bool Share::has_within(std::uint32_t chunk, milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return refusal_ || is_there_[chunk]; });
  return is_there_[chunk];
}

bool Share::is_open_within(milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return is_open_ || waiting_ || refusal_; });
  return is_open_;
}

std::optional<Share::Refusal> Share::refusal() const {
  const std::lock_guard lock(mutex_);
  if (!refusal_ && waiting_) return Refusal{"it waits for another job's copy", false};
  return refusal_;
}

Hash proof_of(const Hash& key, std::string_view their_line, std::string_view our_line, bool asks) {
  return keyed_hash_of(key,
                       fmt::format("{}{}{}", asks ? "asks\n" : "answers\n", their_line, our_line));
}

void serve(Visit visit, Share& share, const Hash& key, const Waits& waits) {
  Wire wire(
      std::move(visit.socket), waits, [&share] { return share.stopped(); },
      std::move(visit.read_ahead));
  Server server(wire, share, key, waits);
  // What went wrong, the other end sees and says.
  if (!server.prove(visit)) return;
  if (!server.send_manifest()) return;
  static_cast<void>(server.send_chunks());
}

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
