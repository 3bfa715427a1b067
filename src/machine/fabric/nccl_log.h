#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/settings.h"

namespace toprun::fabric {

// What NCCL writes to NCCL_DEBUG_FILE with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET, in its
// versions 2.10 to 2.30, and RCCL: lines "HOST:PID:TID [DEVICE] NCCL INFO …".

// An adapter of the line "NET/IB : Using [0]mlx5_0:1/RoCE …".
struct UsedAdapter {
  std::string name;
  int port = 1;
  auto operator<=>(const UsedAdapter&) const = default;
};

// The connections of one transport, "NET/IB", "P2P/CUMEM", "SHM/direct".
struct Transport {
  int channels = 0;
  int with_gpu_direct = 0;  // "/GDRDMA": from GPU to adapter without a copy in the host's memory
  int through_proxy = 0;    // "NET/IB/0(3)": by the adapter of another GPU (PXN)
  int receiving = 0;        // "[receive]", of the channels
  int receiving_with_gpu_direct = 0;

  // Also where only what arrives goes without a copy: so NCCL decides for older GPUs without
  // NVLink.
  bool is_gpu_direct() const;
};

// What a line of trouble is about. Whether it matters depends on the network that was used.
enum class Cause : std::uint8_t {
  setting,  // a variable decided: "NCCL_IB_DISABLE set by environment to 1."
  plugin,   // no network plugin, or none that starts; harmless where NCCL's own transport is wanted
  verbs,    // NCCL's own RDMA transport found nothing to use
  failure,  // a connection or a whole network failed
};
struct Complaint {
  Cause cause;
  std::string text;
  bool operator==(const Complaint&) const = default;
};

// The transport that a node's ranks are to use.
enum class FastPath : std::uint8_t { verbs, plugin };

struct NcclLog {
  std::optional<NcclVersion> version;
  std::set<UsedAdapter> adapters;
  std::set<std::string> networks;  // "IB", "Socket", "AWS Libfabric": one per communicator
  std::map<std::string, Transport> transports;
  std::set<int> adapter_indices;      // of NET connections, in the order of the adapters' line
  std::vector<Complaint> complaints;  // each text once, most_complaints
  std::size_t passed_over = 0;        // lines above max_line_bytes

  // The communication left this node: some channel went through the network.
  bool leaves_the_node() const;
};

// Whether some channel to another node goes over plain sockets.
bool uses_plain_sockets(const NcclLog& log);

// The line that explains best why NCCL did not take this path, by its meaning and not by its place:
// that a plugin is absent explains nothing on a network that needs none. Empty: no line does.
std::string why_not(FastPath path, const NcclLog& log);

// Takes the text as it is written, in pieces that may end anywhere. A line counts once it is whole.
class NcclLogReader {
 public:
  static constexpr std::size_t max_line_bytes = 4096;
  static constexpr std::size_t most_complaints = 16;
  static constexpr std::size_t most_names = 256;  // of adapters and networks each

  void read(std::string_view piece);
  const NcclLog& log() const { return log_; }

 private:
  void take(std::string_view line);
  void take_message(std::string_view message, bool is_warning);

  NcclLog log_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace toprun::fabric
