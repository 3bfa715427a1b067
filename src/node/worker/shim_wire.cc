#include "node/worker/shim_wire.h"

namespace toprun::worker {
namespace {

using nlohmann::json;

constexpr const char* peer = "container's shim";

// Returns an invalid value if the bytes are not CBOR. The parser throws for impossibly large sizes,
// although exceptions are turned off.
json parsed(std::span<const std::uint8_t> bytes) {
  try {
    return json::from_cbor(bytes.begin(), bytes.end(), true, false);
  } catch (const json::exception&) {
    return {};
  }
}

}  // namespace

Result<void> send_frame(int socket, const json& message, std::span<const int> descriptors) {
  return process::send_frame(socket, json::to_cbor(message), descriptors, peer);
}

Result<std::optional<ShimFrame>> receive_frame(int socket, std::chrono::milliseconds limit) {
  auto frame = TRY(process::receive_frame(socket, limit, peer));
  if (!frame) return std::nullopt;
  ShimFrame received{parsed(frame->bytes), std::move(frame->descriptors)};
  if (!received.message.is_object()) return fail(peer, "it sent no message");
  return received;
}

}  // namespace toprun::worker
