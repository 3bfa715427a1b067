#include "node/prepare/stage/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "node/prepare/stage/scan.h"

namespace toprun::stage {
namespace {

// Smaller pieces are copied into one packet with others.
constexpr std::size_t least_sent_by_kernel = std::size_t{64} << 10;

std::unexpected<Error> stop_serving() {
  return fail("the connection for copies", "the copying has ended");
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

}  // namespace

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

}  // namespace toprun::stage
