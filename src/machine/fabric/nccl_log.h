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

// Parses the output in NCCL_DEBUG_FILE of NCCL 2.10 to 2.30 and RCCL, with NCCL_DEBUG=INFO and
// NCCL_DEBUG_SUBSYS=INIT,NET: lines "HOST:PID:TID [DEVICE] NCCL INFO …".

// An RDMA adapter that NCCL uses. NCCL logs its adapters in the line "NET/IB : Using
// [0]mlx5_0:1/RoCE …".
struct UsedAdapter {
  std::string name;
  int port = 1;
  auto operator<=>(const UsedAdapter&) const = default;
};

// The connections of one transport: "NET/IB", "P2P/CUMEM", "SHM/direct".
struct Transport {
  int channels = 0;
  int with_gpu_direct = 0;  // "/GDRDMA": from the GPU to the adapter without a copy in host memory
  int through_proxy = 0;    // "NET/IB/0(3)": through another GPU's adapter (PXN)
  int receiving = 0;        // "[receive]": the number of channels that receive
  int receiving_with_gpu_direct = 0;

  // Whether the transport moves data without a copy in host memory. Also true if only received data
  // avoids the copy; NCCL works in this way on older GPUs without NVLink.
  bool is_gpu_direct() const;
};

// The cause of a problem in the log. Whether the problem matters depends on the network in use.
enum class Cause : std::uint8_t {
  setting,  // a variable caused it: "NCCL_IB_DISABLE set by environment to 1."
  plugin,   // no network plugin, or the plugin does not start; harmless if NCCL's own transport is
            // wanted
  verbs,    // NCCL's own RDMA transport found no usable device
  failure,  // a connection or a whole network failed
};
struct Complaint {
  Cause cause;
  std::string text;
  bool operator==(const Complaint&) const = default;
};

// The fast kind of transport that a node's ranks should use.
enum class FastPath : std::uint8_t { verbs, plugin };

struct NcclLog {
  std::optional<NcclVersion> version;
  std::set<UsedAdapter> adapters;
  std::set<std::string> networks;  // "IB", "Socket", "AWS Libfabric": one per communicator
  std::map<std::string, Transport> transports;
  std::set<int> adapter_indices;      // the adapters in NET connections, as indices into the
                                      // adapters' line
  std::vector<Complaint> complaints;  // each text once, at most most_complaints
  std::size_t passed_over = 0;        // number of lines ignored as longer than max_line_bytes

  // Whether a channel used the network, so that the communication left this node.
  bool leaves_the_node() const;
};

// Whether a channel to another node uses plain sockets.
bool uses_plain_sockets(const NcclLog& log);

// Returns the line of the log that best explains why NCCL did not use `path`. Lines are ranked by
// their cause, not by their position. For example, a missing plugin explains nothing on a network
// that needs no plugin. Empty: no line explains it.
std::string why_not(FastPath path, const NcclLog& log);

// Reads a log while NCCL writes it, in pieces of any length. A line is evaluated once it is
// complete.
class NcclLogReader {
 public:
  static constexpr std::size_t max_line_bytes = 4096;
  static constexpr std::size_t most_complaints = 16;
  static constexpr std::size_t most_names = 256;  // limit for adapters, and for networks

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
