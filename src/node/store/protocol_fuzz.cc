// Any bytes, cut in any way, must get the same replies as in one piece, and cost no more memory
// than the limits allow.
#include <cstdlib>

#include "node/store/service.h"

namespace {

using namespace toprun::store;

Limits small_limits() {
  Limits limits;
  limits.key_bytes = 64;
  limits.value_bytes = 512;
  limits.keys_per_request = 64;
  limits.request_bytes = 4096;
  limits.total_bytes = 64u << 10;
  limits.backlog_bytes = 16u << 10;
  return limits;
}

class Party final : public Session {
 public:
  explicit Party(Service& service)
      : Session(service.attempt()), service_(service), replies_(service.ledger()) {}

  void deliver(std::string_view reply) override { replies_.put(reply); }
  void deliver(const Output& message) override { replies_.put(message); }
  // False once the connection is over.
  bool say(std::string_view bytes, std::string& heard) {
    Refusal why = Refusal::none;
    Service::Turn turn = service_.take(*this, bytes, replies_, why);
    collect(heard);
    while (turn == Service::Turn::paused) {
      turn = service_.resume(*this, replies_, why);
      collect(heard);
    }
    return turn == Service::Turn::waiting;
  }

 private:
  void collect(std::string& heard) {
    iovec pieces[64];
    while (const std::size_t count = replies_.gather(pieces, SIZE_MAX)) {
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < count; ++i) {
        heard.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
        bytes += pieces[i].iov_len;
      }
      replies_.consume(bytes);
    }
  }

  Service& service_;
  Output replies_;
};

std::string converse(std::string_view said, std::size_t step) {
  Service service(Clients::served, small_limits());
  std::string heard;
  {
    Party party(service);
    while (!said.empty() && party.say(said.substr(0, step), heard)) {
      said.remove_prefix(std::min(step, said.size()));
      if (service.ledger().used > small_limits().total_bytes * 2) std::abort();
    }
  }
  service.next_attempt(Clients::served);
  while (service.tidy()) {
  }
  if (service.ledger().used != 0) std::abort();
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] % 7;
  const std::string_view said(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A refusal for want of memory depends on what is buffered, so only then may they differ.
  const std::string whole = converse(said, said.size() + 1);
  const std::string pieces = converse(said, step);
  const std::size_t common = std::min(whole.size(), pieces.size());
  if (whole.compare(0, common, pieces, 0, common) != 0) std::abort();
  return 0;
}
