#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "base/text/shared.h"
#include "machine/doctor/resources.h"

namespace toprun::model {

// The messages of the agent channel for joining. Every message is a JSON object with a "type"; its
// other members are the fields of one of these structs. Unknown members are ignored.

// The machine below a pod of Kubernetes, as the pod sees it.
struct PodMachine {
  std::string boot_id;   // of its kernel; empty: unknown
  int gpus = 0;          // that the pod has
  int machine_gpus = 0;  // … that its machine has; 0: unknown
};

// Facts that an agent found on its host before joining, which the root compares between nodes.
// Empty or unset: unknown, or no limit.
struct Evidence {
  std::string script;        // a hash of its contents
  std::string script_error;  // why it cannot be read
  std::string python;        // "3.11"
  std::string torch;         // "2.13.0+cpu"
  // accelerate's settings file, which its launcher would have applied; nothing applied it here.
  std::optional<std::string> idle_accelerate_config;
  std::chrono::milliseconds clock_behind{0};  // the receiver's clock minus the sender's
  doctor::Resources resources;
  std::optional<std::string> network;  // "8 RoCE ports of 400 Gb/s"
  std::optional<std::string> nccl;     // "2.27.3", of the Python environment
  std::optional<PodMachine> machine;   // in pods only
  std::vector<std::string> mistakes;   // settings of the network (fabric::mistakes)
};
inline constexpr std::size_t most_mistakes = 4;

// The node's location as its cloud's metadata service returned it (topology::CloudEvidence).
struct CloudPlace {
  std::string cloud;  // "gcp"
  std::optional<std::string> text;
  std::string trouble;
};

// The output of a program on the node, unchanged (topology::Told).
struct Told {
  std::optional<std::string> text;
  std::string trouble;
};

// Facts about a Kubernetes node from its pod's specification.
struct KubeNode {
  std::string name;                   // NODE_NAME; empty: unknown
  std::optional<std::string> labels;  // as they were injected
};

// member → root, the first frame: the member's identity and resources.
struct Join {
  std::string agent;  // from new_agent_id(), the id of the process
  std::string host;   // the node's name from its engine or its user; longest_name at most
  int pid = 0;
  int nnodes = 0;                 // the number of nodes as this agent knows it
  int slots = 1;                  // the number of workers it will start
  std::optional<int> node_rank;   // fixed on its command line
  std::optional<int> node_index;  // assigned by its engine; used for identification only
  std::optional<int> local_rank;  // ranks in place: its rank on its node
  std::optional<int> task;        // its number among the engine's tasks
  std::string role = "default";
  std::optional<int> max_restarts;     // from its options; unset in older toprun versions
  std::vector<std::string> addresses;  // at which peers may reach it, best first; most_addresses
  bool address_is_named = false;       // the first of them, by its user (--local-addr)
  int store_port = 0;
  bool prepares =
      false;  // something before its workers, or it is unfit: it will say when it is ready
  std::optional<std::string> location;          // SLURM_TOPOLOGY_ADDR
  std::optional<std::string> location_pattern;  // SLURM_TOPOLOGY_ADDR_PATTERN
  Rare<CloudPlace> cloud;
  Rare<Told> nvlink;  // output of nvidia-smi
  Rare<KubeNode> kube;
  Rare<std::string> ports;  // InfiniBand ports, if --topology needs them
  Rare<Evidence> evidence;
};

// Why the root refuses an agent that has the job's secret.
enum class Refusal { job, rank_taken, full };

// root → member, its first frame: this, or a welcome.
struct Refused {
  Refusal code;  // not on the wire
  std::string text;
};

// The future location of the workers' store.
struct StoreAddress {
  std::string agent;  // the agent that holds it
  std::string host;
  std::vector<std::string> addresses;  // candidates, best first
  int port = 0;
  std::string exact;  // if not empty, workers get it unchanged as MASTER_ADDR
};

// root → member, with --stage: from whom it takes the environment, and passes it on.
struct StagePart {
  std::string key;                    // of the job's staging, as hex digits
  std::vector<StoreAddress> sources;  // the ones to ask, one after the other; none: it is there
};
inline constexpr std::size_t most_stage_sources = 16;

// root → member: its part of the job.
struct Assignment {
  int attempt = 0;   // counts all attempts
  int restarts = 0;  // counts those that followed a failure
  int group_rank = 0;
  int group_world_size = 1;
  int first_rank = 0;
  int nproc = 1;
  int world_size = 1;
  int local_world_size = 1;  // on the whole node; differs from nproc for ranks in place only
  int role_first_rank = 0;
  int role_world_size = 1;
  std::string run_id;
  std::string location;        // "/cluster/rack", empty if unknown
  bool colours = false;        // the root's terminal shows colours
  bool start = false;          // the workers, once the store is found: no Ready, no Start
  Shared<StoreAddress> store;  // the same for all of an attempt
  Rare<StagePart> stage;
};

// member → root, with --gather-output: its workers' output, byte for byte.
struct OutputLines {
  bool is_err = false;
  std::string lines;
};

// A number outside its allowed range.
struct OutOfRange : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// The longest names (a host's in DNS, which no id or role needs), the longest address and the most
// of them: a host may have thousands, and the first frame has an end.
inline constexpr std::size_t longest_name = 253;
inline constexpr std::size_t longest_address = 64;
inline constexpr std::size_t most_addresses = 64;
// The maximum number of workers of one agent.
inline constexpr int most_slots = 65'536;
inline constexpr int most_gpus = most_slots;
inline constexpr int most_nodes = 1'000'000;
inline constexpr int most_ranks = 100'000'000;
inline constexpr int most_attempts = 1'000'000'000;

// The integer member `name`; throws OutOfRange or nlohmann::json::exception.
std::int64_t whole_number(const nlohmann::json& object, const char* name, std::int64_t least,
                          std::int64_t most);
// The same of a value alone; `name` is for the error.
std::int64_t whole_value(const nlohmann::json& value, const char* name, std::int64_t least,
                         std::int64_t most);
// The array `name` of integers in a range, of int or std::int64_t.
template <class Integer = int>
std::vector<Integer> numbers_in(const nlohmann::json& object, const char* name, std::int64_t least,
                                std::int64_t most);

void to_json(nlohmann::json& json, const PodMachine& machine);
void from_json(const nlohmann::json& json, PodMachine& machine);
// Both functions read the wall clock, for `clock_behind`.
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
// The same; an error says which of its fields is missing or not in its range.
Result<Join> join_in(const nlohmann::json& json);
nlohmann::json welcome();
nlohmann::json refusal(const Refused& refused);
// The text of a refusal; nullopt if the message is not a refusal.
std::optional<std::string> refusal_in(const nlohmann::json& message);
void to_json(nlohmann::json& json, const StoreAddress& store);
void from_json(const nlohmann::json& json, StoreAddress& store);
void to_json(nlohmann::json& json, const Assignment& assignment);
void from_json(const nlohmann::json& json, Assignment& assignment);
void to_json(nlohmann::json& json, const OutputLines& output);
void from_json(const nlohmann::json& json, OutputLines& output);

// The type of a message, "" if it has none.
std::string type_of(const nlohmann::json& message);

// The message as a struct of type T; nullopt if it does not have that form.
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

}  // namespace toprun::model
