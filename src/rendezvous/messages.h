#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace toprun::rendezvous {

// The messages of the agent channel that belong to coming together. Every message is a JSON object
// with a "type"; what it carries else is one of these structs. Unknown members are ignored.

// What an agent saw on its host before it joined, for the root to compare with the others'. Empty
// or unset: unknown, or no limit.
struct Evidence {
  std::string script;        // stands for its contents
  std::string script_error;  // why it cannot be read
  std::string python;        // "3.11"
  std::string torch;         // "2.13.0+cpu"
  // accelerate's own file of settings, which its launcher would have applied and nobody did.
  std::optional<std::string> idle_accelerate_config;
  std::chrono::milliseconds clock_behind{0};   // the receiver's clock minus the sender's
  std::optional<std::int64_t> shm_free_bytes;  // of /dev/shm
  std::optional<std::int64_t> open_files;      // soft limits of each process
  std::optional<std::int64_t> processes;
  std::optional<std::int64_t> locked_bytes;  // only where there are RDMA devices
  std::optional<std::int64_t> free_ports;    // of those that the kernel gives to connections
  std::optional<std::string> network;        // "8 RoCE ports of 400 Gb/s"
  std::optional<std::string> nccl;           // "2.27.3", of the Python environment
};

// What the node's cloud says of its place, as it was answered (topology::CloudEvidence).
struct CloudPlace {
  std::string cloud;  // "gcp"
  std::optional<std::string> text;
  std::string trouble;
};

// What a program on the node said, as it was printed (topology::Told).
struct Told {
  std::optional<std::string> text;
  std::string trouble;
};

// What a node of Kubernetes is told of itself by its pod's specification.
struct KubeNode {
  std::string name;                   // NODE_NAME; empty: not told
  std::optional<std::string> labels;  // as they were injected
};

// member → root, the first frame: who I am and what I can offer.
struct Join {
  std::string agent;  // 16 hex digits, the process's name for itself
  std::string host;   // the node's name, as its engine or its user names it
  int pid = 0;
  int nnodes = 0;                 // how many this agent thinks there are
  int slots = 1;                  // workers it will start
  std::optional<int> node_rank;   // fixed on its command line
  std::optional<int> node_index;  // by its engine; only says who is who
  std::optional<int> local_rank;  // ranks in place: it will become this rank of its node
  std::optional<int> task;        // … its number among all, where the engine numbers no nodes
  std::string role = "default";
  std::optional<int> max_restarts;     // by its options; a toprun before this does not say
  std::vector<std::string> addresses;  // that peers may reach it at, best first
  int store_port = 0;
  std::optional<std::string> location;          // SLURM_TOPOLOGY_ADDR
  std::optional<std::string> location_pattern;  // SLURM_TOPOLOGY_ADDR_PATTERN
  std::optional<CloudPlace> cloud;
  std::optional<Told> nvlink;  // of nvidia-smi
  std::optional<KubeNode> kube;
  std::optional<std::string> ports;  // of InfiniBand, where --topology needs them
  std::optional<Evidence> evidence;
};

// Why the root does not take an agent that has the job's secret.
enum class Refusal { job, rank_taken, full };

// root → member, its first frame: this, or a welcome.
struct Refused {
  Refusal code;  // not on the wire
  std::string text;
};

// Where the workers' store will be.
struct StoreAddress {
  std::string agent;  // whose it is
  std::string host;
  std::vector<std::string> addresses;  // candidates, best first
  int port = 0;
  std::string exact;  // not empty: workers get this as MASTER_ADDR, as it is
};

// root → member: its part of the job.
struct Assignment {
  int attempt = 0;   // counts all
  int restarts = 0;  // counts those that followed a failure
  int group_rank = 0;
  int group_world_size = 1;
  int first_rank = 0;
  int nproc = 1;
  int world_size = 1;
  int local_world_size = 1;  // of the whole node; differs from nproc for ranks in place only
  int role_first_rank = 0;
  int role_world_size = 1;
  std::string run_id;
  std::string location;  // "/cluster/rack", empty if unknown
  bool colours = false;  // the root's terminal shows them
  StoreAddress store;
};

// member → root, with --gather-output: what its workers print, byte for byte.
struct OutputLines {
  bool is_err = false;
  std::string lines;
};

// A number that is beyond what it may be.
struct OutOfRange : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// Workers of one agent at most.
inline constexpr int most_slots = 65'536;
inline constexpr int most_nodes = 1'000'000;
inline constexpr int most_ranks = 100'000'000;
inline constexpr int most_attempts = 1'000'000'000;

// The whole number that stands there; throws OutOfRange or nlohmann::json::exception.
std::int64_t whole_number(const nlohmann::json& object, const char* name, std::int64_t least,
                          std::int64_t most);

// Both read the wall clock, for `clock_behind`.
void to_json(nlohmann::json& json, const Evidence& evidence);
void from_json(const nlohmann::json& json, Evidence& evidence);
void to_json(nlohmann::json& json, const CloudPlace& place);
void from_json(const nlohmann::json& json, CloudPlace& place);
void to_json(nlohmann::json& json, const Told& told);
void from_json(const nlohmann::json& json, Told& told);
void to_json(nlohmann::json& json, const KubeNode& node);
void from_json(const nlohmann::json& json, KubeNode& node);
void to_json(nlohmann::json& json, const Join& join);
void from_json(const nlohmann::json& json, Join& join);
nlohmann::json welcome();
nlohmann::json refusal(const Refused& refused);
// What the text of a refusal is; nullopt if the message is none.
std::optional<std::string> refusal_in(const nlohmann::json& message);
void to_json(nlohmann::json& json, const StoreAddress& store);
void from_json(const nlohmann::json& json, StoreAddress& store);
void to_json(nlohmann::json& json, const Assignment& assignment);
void from_json(const nlohmann::json& json, Assignment& assignment);
void to_json(nlohmann::json& json, const OutputLines& output);
void from_json(const nlohmann::json& json, OutputLines& output);

// The type of a message, "" if it has none.
std::string type_of(const nlohmann::json& message);

// The struct that a message carries; nullopt if it is not of that shape.
template <class T>
std::optional<T> read(const nlohmann::json& message) {
  try {
    return message.get<T>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const OutOfRange&) {
    return std::nullopt;
  }
}

}  // namespace toprun::rendezvous
