#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/error.h"
#include "base/text/shared.h"
#include "machine/doctor/resources.h"

namespace toprun::model {

// Why the connection's other end is gone without a proper close.
struct Loss {
  enum class Kind {
    closed,     // the connection has ended
    silent,     // no bytes for too long: its host may be disconnected or down
    malformed,  // the other end sent an invalid message
  } kind = Kind::closed;
  std::string words;
};

// One end of the connection between the root and an agent. The connection runs over a network or
// within one process. All calls and callbacks run on the io_context's thread. send() never calls a
// callback.
class Link {
 public:
  virtual ~Link() = default;

  // Queues a message. A message that is sent after close() or after a loss of the connection is
  // dropped.
  virtual void send(const nlohmann::json& message) = 0;
  // Ends the connection after sending the queued messages. Afterwards only on_closed is called.
  virtual void close() = 0;

  std::function<void(nlohmann::json)> on_message;
  // Called once when the other end is gone without having closed the connection.
  std::function<void(Loss)> on_lost;
  // Called once after close(), when the other end has closed the connection too or is lost.
  std::function<void()> on_closed;
};

// The messages with which an agent joins. Every message is a JSON object with a "type"; its other
// members are the fields of one of these structs. Unknown members are ignored.

// The machine that runs a Kubernetes pod, as the pod sees it.
struct PodMachine {
  std::string boot_id;   // of the machine's kernel; empty: unknown
  int gpus = 0;          // GPUs of the pod
  int machine_gpus = 0;  // GPUs of the pod's machine; 0: unknown
};

// Facts that an agent found on its host before joining. The root compares these facts between
// nodes. Empty or unset: unknown, or no limit.
struct Evidence {
  std::string script;        // a hash of the script's contents
  std::string script_error;  // why the script cannot be read
  std::string python;        // "3.11"
  std::string torch;         // "2.13.0+cpu"
  // accelerate's settings file. `accelerate launch` would apply this file; toprun does not.
  std::optional<std::string> idle_accelerate_config;
  // The time on the sender's clock when it sends the message, since 1970; 0 … latest_clock.
  std::chrono::milliseconds clock{0};
  std::chrono::milliseconds clock_behind{0};  // the receiver's clock minus the sender's; not sent
  doctor::Resources resources;
  std::optional<std::string> network;  // "8 RoCE ports of 400 Gb/s"
  std::optional<std::string> nccl;     // "2.27.3", of the Python environment
  std::optional<PodMachine> machine;   // in pods only
  std::vector<std::string> mistakes;   // wrong network settings (fabric::mistakes)
};
inline constexpr std::size_t most_mistakes = 4;
inline constexpr std::chrono::milliseconds latest_clock{253'402'300'800'000};  // the year 10000

// The node's location as its cloud's metadata service returned it (topology::CloudEvidence).
struct CloudPlace {
  std::string cloud;  // "gcp"
  std::optional<std::string> text;
  std::string trouble;
};

// The output of a program on the node, unchanged (topology::ProgramOutput).
struct ProgramOutput {
  std::optional<std::string> text;
  std::string trouble;
};

// Facts about a Kubernetes node from its pod's specification.
struct KubeNode {
  std::string name;                   // NODE_NAME; empty: unknown
  std::optional<std::string> labels;  // as injected into the pod
};

// member → root, the first frame: the member's identity and resources.
struct Join {
  std::string agent;  // from new_agent_id(), the id of the agent's process
  std::string host;   // the node's name from its engine or its user; at most longest_name
  int pid = 0;
  int nnodes = 0;                 // the number of nodes that this agent expects
  int slots = 1;                  // the number of workers it will start
  std::optional<int> node_rank;   // set on the agent's command line
  std::optional<int> node_index;  // the node's index from the engine; only identifies the node
  std::optional<int> local_rank;  // if srun or mpirun started the ranks: the rank's number on its
                                  // node
  std::optional<int> task;        // the agent's number among the tasks that the engine started
  std::string role = "default";
  std::string version;                // from the preamble, not on the wire; empty: this process's
  std::vector<std::string> features;  // names of toprun::features, if the root's version is another
  std::optional<int> max_restarts;    // from the agent's options; unset in older toprun versions
  std::vector<std::string> addresses;  // addresses for peers, best first; at most most_addresses
  bool address_is_named = false;       // the user set the first address (--local-addr)
  int store_port = 0;
  // Whether the agent will report later that it is ready. True if the agent has to prepare
  // something before its workers start, or is unfit for the job (Job::unfit) and will report that.
  bool prepares = false;
  std::optional<std::string> location;          // SLURM_TOPOLOGY_ADDR
  std::optional<std::string> location_pattern;  // SLURM_TOPOLOGY_ADDR_PATTERN
  SharedOptional<CloudPlace> cloud;
  SharedOptional<ProgramOutput> nvlink;  // output of nvidia-smi
  SharedOptional<KubeNode> kube;
  SharedOptional<std::string> ports;  // InfiniBand ports, if --topology needs them
  SharedOptional<Evidence> evidence;
};

// Why the root refuses an agent although it has the job's secret.
enum class Refusal { job, rank_taken, full };

// root → member: the answer to Join if the root refuses the agent.
struct Refused {
  Refusal code;  // not on the wire
  std::string text;
};

// Where the workers' store will run.
struct StoreAddress {
  std::string agent;  // the agent that runs the store
  std::string host;
  std::vector<std::string> addresses;  // the store's possible addresses, best first
  int port = 0;
  std::string exact;  // if not empty, workers get exactly this text as MASTER_ADDR
};

// root → member, with --stage: from which node the member copies the Python environment. The member
// then sends the Python environment to the next members.
struct StagePart {
  std::string key;                    // of the job's copy (--stage), as hex digits
  std::vector<StoreAddress> sources;  // the nodes to ask, in this order; empty: the environment is
                                      // already on this node
};
inline constexpr std::size_t most_stage_sources = 16;

// root → member: the member's ranks in an attempt, and the location of the store.
struct Assignment {
  int attempt = 0;   // number among all attempts
  int restarts = 0;  // number of attempts so far that followed a failure
  int group_rank = 0;
  int group_world_size = 1;
  int first_rank = 0;
  int nproc = 1;
  int world_size = 1;
  int local_world_size = 1;  // ranks on the whole node; differs from nproc only if srun or mpirun
                             // started the ranks
  int role_first_rank = 0;
  int role_world_size = 1;
  std::string run_id;
  std::string location;        // "/cluster/rack"; empty: unknown
  std::string order;           // OrderRecord::name; empty: unknown
  bool colours = false;        // the root's terminal shows colours
  bool start = false;          // start workers once the store is found, without Ready and Start
  Shared<StoreAddress> store;  // where the store is; the same for all members in an attempt
  SharedOptional<StagePart> stage;
};

// member → root, with --gather-output: the unchanged output of its workers.
struct OutputLines {
  bool is_err = false;
  std::string lines;
};

// A number outside its allowed range.
struct OutOfRange : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// Limits for names, for an address and for the number of addresses. A name may be as long as a DNS
// host name; ids and roles are shorter. A host may have thousands of addresses, but the first frame
// has a size limit.
inline constexpr std::size_t longest_name = 253;
inline constexpr std::size_t longest_address = 64;
inline constexpr std::size_t most_addresses = 64;
// The maximum number of workers that one agent may have.
inline constexpr int most_slots = 65'536;
inline constexpr int most_gpus = most_slots;
inline constexpr int most_nodes = 1'000'000;
inline constexpr int most_ranks = 100'000'000;
inline constexpr int most_attempts = 1'000'000'000;

// Returns the integer member `name`. Throws OutOfRange or nlohmann::json::exception.
std::int64_t whole_number(const nlohmann::json& object, const char* name, std::int64_t least,
                          std::int64_t most);
// Like whole_number(), but takes the value itself; `name` appears in the error.
std::int64_t whole_value(const nlohmann::json& value, const char* name, std::int64_t least,
                         std::int64_t most);
// Returns the array `name` of integers from `least` to `most`, as int or std::int64_t.
template <class Integer = int>
std::vector<Integer> numbers_in(const nlohmann::json& object, const char* name, std::int64_t least,
                                std::int64_t most);

// The types of the messages in this file, and of those parts of messages that are JSON objects.
template <class T, class... Messages>
concept OneOf = (std::same_as<std::remove_const_t<T>, Messages> || ...);
template <class T>
concept Described = OneOf<T, PodMachine, Evidence, CloudPlace, ProgramOutput, KubeNode, Join,
                          StoreAddress, StagePart, Assignment>;
template <class T>
void to_json(nlohmann::json& json, const T& message) requires Described<T>;
template <class T>
void from_json(const nlohmann::json& json, T& message) requires Described<T>;
// Like from_json(), but an error names the field that is missing or out of range.
Result<Join> join_in(const nlohmann::json& json);
nlohmann::json welcome();
nlohmann::json refusal(const Refused& refused);
// Returns the text of a refusal; nullopt if the message is not a refusal.
std::optional<std::string> refusal_in(const nlohmann::json& message);
void to_json(nlohmann::json& json, const OutputLines& output);
void from_json(const nlohmann::json& json, OutputLines& output);

// Returns the type of a message, "" if it has none.
std::string type_of(const nlohmann::json& message);

// Reads the message as a struct of type T; nullopt if it does not have that form.
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
