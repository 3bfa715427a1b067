#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/os/fd.h"
#include "base/process/frames.h"
#include "base/text/error.h"

namespace toprun::worker {

// A message between agent and shim (node/worker/shim.h), with the descriptors that are sent with
// it.
struct ShimFrame {
  nlohmann::json message;
  std::vector<Fd> descriptors;
};

// Frames (base/process/frames.h) of CBOR (RFC 8949), which allows environments in any encoding.
Result<void> send_frame(int socket, const nlohmann::json& message,
                        std::span<const int> descriptors = {});
// nullopt: the other side has closed the connection. `limit` applies to the first byte.
Result<std::optional<ShimFrame>> receive_frame(
    int socket, std::chrono::milliseconds limit = process::frame_limit);

}  // namespace toprun::worker
