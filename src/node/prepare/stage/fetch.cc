#include "node/prepare/stage/fetch.h"

#include <thread>

#include "node/link/preamble.h"

namespace toprun::stage {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds between_locks{100};

// Why one upstream brought no more.
struct Trouble {
  // `ours`: this node cannot have a copy. `for_all`: no node can.
  enum class Kind { upstream, ours, for_all } kind = Kind::upstream;
  Error error;
};
using Step = std::expected<void, Trouble>;

Step of_upstream(Error error) {
  return std::unexpected(Trouble{Trouble::Kind::upstream, std::move(error)});
}

Step of_ours(Error error) {
  return std::unexpected(Trouble{Trouble::Kind::ours, std::move(error)});
}

Step as_step(Result<void> result) {
  if (!result) return of_upstream(std::move(result.error()));
  return {};
}

// Brings the copy in, over one connection after the other.
class Fetch {
 public:
  Fetch(const Order& order, Share& share) : order_(order), share_(share) {}

  Result<Fetched> run();

 private:
  Step take_from(const Upstream& upstream);
  Step meet(const Upstream& upstream);
  Step greet(Wire& wire, const Upstream& upstream);
  Step take_manifest();
  Step keep_manifest(std::string bytes, const std::string& seal);
  Step begin_copy();
  Step take_lock();
  Step take_chunks();
  Step take_chunk(const Head& head);
  Step refused(const Head& head);
  std::expected<Head, Trouble> next_head();

  const Order& order_;
  Share& share_;
  std::optional<Wire> wire_;
  bool from_root_ = false;  // the present upstream
  std::shared_ptr<const CopyCache> cache_;
  std::shared_ptr<const Share::List> list_;
  Fd lock_;
  std::shared_ptr<Copy> copy_;
  std::uint64_t received_bytes_ = 0;
  std::string buffer_;
};

Result<Fetched> Fetch::run() {
  auto cache = TRY(CopyCache::open(order_.base));
  cache_ = std::make_shared<const CopyCache>(std::move(cache));
  Error last;
  for (int idle = 0; idle < most_idle_rounds && !share_.stopped(); ++idle) {
    if (idle > 0) std::this_thread::sleep_for(order_.pause);
    for (std::size_t i = 0; i < order_.upstreams.size() && !share_.stopped(); ++i) {
      const Upstream& upstream = order_.upstreams[i];
      const std::uint64_t before = received_bytes_;
      from_root_ = i + 1 == order_.upstreams.size();
      const Step taken = take_from(upstream);
      wire_.reset();
      if (taken) {
        const std::string from = received_bytes_ > 0 ? upstream.host : std::string();
        return Fetched{received_bytes_, from, copy_->path(), cache_, copy_};
      }
      if (taken.error().kind == Trouble::Kind::ours && copy_) copy_->discard();
      if (taken.error().kind != Trouble::Kind::upstream) {
        return std::unexpected(taken.error().error);
      }
      last = taken.error().error;
      last->what = upstream.host + ": " + last->what;
      if (received_bytes_ > before) idle = 0;
    }
  }
  return std::unexpected(std::move(last));
}

Step Fetch::take_from(const Upstream& upstream) {
  if (Step met = meet(upstream); !met) return met;
  if (Step taken = take_manifest(); !taken) return taken;
  if (!copy_) {
    if (Step begun = begin_copy(); !begun) return begun;
  }
  if (copy_->is_whole()) return {};
  if (copy_->missing_bytes() > 0) {
    if (Step taken = take_chunks(); !taken) return taken;
  }
  if (auto finished = copy_->finish(); !finished) return of_ours(std::move(finished.error()));
  lock_.reset();
  return {};
}

Step Fetch::meet(const Upstream& upstream) {
  Error last{"no address of it is known", {}, {}, exit_failure};
  for (const hosts::Address& address : upstream.addresses) {
    auto wire =
        Wire::connect(address, upstream.port, order_.waits, [this] { return share_.stopped(); });
    if (!wire) {
      last = std::move(wire.error());
      continue;
    }
    const Step greeted = greet(*wire, upstream);
    if (greeted) {
      wire_.emplace(*std::move(wire));
      return {};
    }
    last = greeted.error().error;
  }
  return of_upstream(std::move(last));
}

Step Fetch::greet(Wire& wire, const Upstream& upstream) {
  if (auto sent = wire.send(order_.our_line); !sent) return of_upstream(std::move(sent.error()));
  const auto line = wire.read_line(link::max_line_bytes);
  if (!line) return of_upstream(line.error());
  const auto theirs = link::Preamble::parse(*line);
  if (!theirs || theirs->agent != upstream.agent) {
    return of_upstream({"another program answers", {}, {}, exit_failure});
  }
  const std::string their_line = *line + "\n";
  const Hash own = proof_of(order_.key, order_.our_line, their_line, true);
  if (auto sent = wire.send({Record::proof, hash_bytes, 0}, bytes_of(own)); !sent) {
    return of_upstream(std::move(sent.error()));
  }
  const auto head = wire.read_head();
  if (!head) return of_upstream(head.error());
  Hash shown{};
  if (head->kind != Record::proof || head->length != shown.size()) {
    return of_upstream({"another program answers", {}, {}, exit_failure});
  }
  if (auto got = wire.read(reinterpret_cast<char*>(shown.data()), shown.size()); !got) {
    return of_upstream(std::move(got.error()));
  }
  if (!is_equal(shown, proof_of(order_.key, order_.our_line, their_line, false))) {
    return of_upstream({"another program answers", {}, {}, exit_failure});
  }
  return {};
}

std::expected<Head, Trouble> Fetch::next_head() {
  while (true) {
    const auto head = wire_->read_head();
    if (!head) return std::unexpected(Trouble{Trouble::Kind::upstream, head.error()});
    if (head->length > chunk_bytes) {
      return std::unexpected(
          Trouble{Trouble::Kind::upstream, {"it sends more than it may", {}, {}, exit_failure}});
    }
    if (head->kind == Record::refuse) return std::unexpected(refused(*head).error());
    if (head->kind != Record::wait || head->length != 0) return *head;
  }
}

Step Fetch::refused(const Head& head) {
  std::string why(std::min<std::size_t>(head.length, most_reason_bytes), '\0');
  if (auto got = wire_->read(why.data(), why.size()); !got) return as_step(got);
  const bool for_all = head.number == 1;
  return std::unexpected(Trouble{for_all ? Trouble::Kind::for_all : Trouble::Kind::upstream,
                                 {why, {}, {}, exit_failure}});
}

Step Fetch::take_manifest() {
  const Head has{Record::has, list_ ? static_cast<std::uint32_t>(hash_bytes) : 0, 0};
  const auto known = list_ ? bytes_of(list_->digest) : std::string_view();
  if (auto sent = wire_->send(has, known); !sent) return as_step(sent);
  std::string bytes;
  while (true) {
    const auto head = TRY(next_head());
    if (head.kind == Record::seal) {
      std::string seal(head.length, '\0');
      if (auto got = wire_->read(seal.data(), seal.size()); !got) return as_step(got);
      return keep_manifest(std::move(bytes), seal);
    }
    const std::size_t before = bytes.size();
    if (head.kind != Record::manifest || head.number > most_manifest_bytes ||
        before + head.length > head.number) {
      return of_upstream({"it sends no manifest", {}, {}, exit_failure});
    }
    bytes.resize(before + head.length);
    if (auto got = wire_->read(bytes.data() + before, head.length); !got) return as_step(got);
  }
}

// All have the root's manifest, so a second one can only be the same.
Step Fetch::keep_manifest(std::string bytes, const std::string& seal) {
  if (list_ && bytes.empty() && seal.empty()) return {};
  Hash shown{};
  if (seal.size() == shown.size()) std::memcpy(shown.data(), seal.data(), shown.size());
  if (list_ || !is_equal(shown, keyed_hash_of(order_.key, bytes))) {
    return of_upstream({"its manifest is not the root's", {}, {}, exit_failure});
  }
  auto manifest = Manifest::decode(bytes);
  if (!manifest) return of_upstream(std::move(manifest.error()));
  const Hash digest = hash_of(bytes);
  list_ = std::make_shared<const Share::List>(Share::List{
      std::make_shared<const Manifest>(*std::move(manifest)), std::move(bytes), digest});
  share_.list(list_);
  return {};
}

Step Fetch::take_lock() {
  const std::string key = key_of(order_.environment);
  while (!share_.stopped()) {
    auto lock = cache_->try_lock(key);
    if (!lock) return of_ours(std::move(lock.error()));
    if (*lock) {
      lock_ = *std::move(lock);
      share_.set_waiting(false);
      return {};
    }
    share_.set_waiting(true);
    std::this_thread::sleep_for(between_locks);
  }
  return of_ours({"the run is over", {}, {}, exit_failure});
}

// The upstream may be gone by the time that another job's copy is whole: then the next is asked.
Step Fetch::begin_copy() {
  if (Step locked = take_lock(); !locked) return locked;
  auto begun = Copy::begin(*cache_, key_of(order_.environment), list_->manifest, list_->digest);
  if (!begun) return of_ours(std::move(begun.error()));
  copy_ = std::make_shared<Copy>(*std::move(begun));
  if (copy_->is_whole()) {
    lock_.reset();
  } else if (auto room = copy_->check_room(); !room) {
    return of_ours(std::move(room.error()));
  }
  auto tree = copy_->tree();
  if (!tree) return of_ours(std::move(tree.error()));
  share_.open(*std::move(tree), copy_->is_there(), false);
  return {};
}

Step Fetch::take_chunks() {
  const std::vector<bool>& is_there = copy_->is_there();
  std::string bits((is_there.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    if (!is_there[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  }
  const Head lacks{Record::lacks, static_cast<std::uint32_t>(bits.size()), is_there.size()};
  if (auto sent = wire_->send(lacks, bits); !sent) return as_step(sent);
  while (true) {
    const auto head = TRY(next_head());
    if (head.kind == Record::end) break;
    if (Step taken = take_chunk(head); !taken) return taken;
  }
  if (copy_->missing_bytes() == 0) return {};
  return of_upstream({"it has not sent all", {}, {}, exit_failure});
}

Step Fetch::take_chunk(const Head& head) {
  const Manifest& manifest = *list_->manifest;
  const bool is_asked = head.kind == Record::data && head.number < manifest.hashes.size() &&
                        !copy_->is_there()[head.number];
  if (!is_asked) return of_upstream({"it sends what was not asked for", {}, {}, exit_failure});
  const auto chunk = static_cast<std::uint32_t>(head.number);
  const std::size_t i = manifest.entry_of(chunk);
  if (head.length != manifest.chunk_size(manifest.entries[i], chunk)) {
    return of_upstream({"it sends what was not asked for", {}, {}, exit_failure});
  }
  buffer_.resize(head.length);
  if (auto got = wire_->read(buffer_.data(), buffer_.size()); !got) return as_step(got);
  if (hash_of(buffer_) != manifest.hashes[chunk]) {
    const std::string path = order_.environment + (i == 0 ? "" : "/" + manifest.path_of(i));
    const auto kind = from_root_ ? Trouble::Kind::for_all : Trouble::Kind::upstream;
    return std::unexpected(
        Trouble{kind, {path + " has changed while it was copied", {}, {}, exit_failure}});
  }
  if (auto written = copy_->write(chunk, buffer_); !written) {
    return of_ours(std::move(written.error()));
  }
  received_bytes_ += head.length;
  share_.add(chunk);
  return {};
}

}  // namespace

Result<Fetched> fetch(const Order& order, Share& share) {
  auto fetched = Fetch(order, share).run();
  if (!fetched) share.close({fetched.error().line(), false});
  return fetched;
}

}  // namespace toprun::stage
