#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "base/text/clock.h"
#include "base/text/error.h"

namespace toprun::engines {

// For every question to an engine's programs; TOPRUN_ENGINE_TIMEOUT (seconds) changes it.
inline constexpr std::chrono::seconds engine_timeout{30};
Result<std::chrono::milliseconds> engine_timeout_of(const Environment& environment);

enum class JobState {
  pending,
  starting,  // it has its nodes, which are being prepared
  running,
  suspended,
  completing,  // its processes end or have ended, its nodes are not free yet
  completed,   // exit code 0
  failed,      // any end but completed and cancelled
  cancelled,
  unknown,  // a word that we do not know: neither waiting nor ended as far as we can tell
};

bool has_ended(JobState state);

// What an engine has ended a job for, where that says more than the code of its processes.
enum class JobEnd {
  other,
  time_limit,
  preemption,
  dependency,  // it never began: a job that it waits for has ended otherwise than asked
};

// A process of a job whose output the engine keeps: a pod's container.
struct Printer {
  std::string name;         // "train-worker-0"
  std::int64_t starts = 0;  // how often it was started again: its output begins again then
  std::string id = {};      // the pod's own: one that replaces a lost pod may have its name
  auto operator<=>(const Printer&) const = default;
};

// What a job's own program has last told of its training.
struct Progress {
  std::optional<std::int64_t> percent;  // 0 to 100
  std::optional<std::chrono::seconds> remaining;
  std::vector<std::pair<std::string, std::string>> metrics;  // "loss" "0.31"
  std::optional<WallTime> told;
};

// What an engine tells of one job, or of one task (or all waiting tasks) of an array job. Texts are
// the engine's and may hold anything; what it does not tell is empty or unset.
struct Job {
  std::string id;      // as users name it: "17", "12_3", "12_[4-9%2]"
  std::string number;  // the engine's own for this record alone: "19"
  std::string array;   // id of the array job: "12"
  std::string task;    // "3", "4-9%2"
  std::string name, partition, user;
  std::optional<std::uint32_t> uid;
  JobState state = JobState::unknown;
  std::string state_word;    // "PENDING"
  std::string state_code;    // "PD"
  std::string reason;        // why it waits or ended, the engine's word: "Resources"
  std::string reason_words;  // the engine's own sentence to it, where it has one
  JobEnd end = JobEnd::other;
  std::string cause;  // of its end, the engine's words, where they say more than the code
  std::optional<std::chrono::seconds> used;
  std::optional<std::chrono::seconds> limit;  // unset: none, or not told
  bool limit_of_partition = false;            // the partition's, which it gets when it starts
  std::int64_t nodes = 0;
  std::string node_list;   // "n[0-3]"
  std::string het_leader;  // of a component of a heterogeneous job: the number of the first one
  std::string batch_host;
  std::optional<WallTime> submitted;
  std::optional<WallTime> started;     // pending: when the engine expects to start it
  std::optional<WallTime> ended;       // running: by its time limit
  std::optional<WallTime> not_before;  // pending: by --begin, or after a requeue
  std::string dependency;              // "afterok:12(unfulfilled)"
  std::optional<std::int64_t> priority;
  std::optional<int> exit_code;  // of a job that has ended
  std::optional<int> signal;
  int restarts = 0;
  std::optional<Progress> progress;
  std::string folder;  // its working directory
  std::string command;
  std::string out, err;           // its own files, whose patterns may be expanded in part
  std::string source;             // the program that told: "scontrol"
  std::int64_t least_nodes = 0;   // with which it begins; 0: all of them
  std::vector<Printer> printers;  // those that have begun; empty where output is in files
  std::string instance;  // the engine's own of this very job: a later one may have its name
  std::optional<std::int64_t> ahead;  // waiting jobs of its queue that come before it
  std::string untold;                 // what the engine refused to tell of it, a line
};

// Jobs, and what the engine refused to tell of others, a line each.
struct JobList {
  std::vector<Job> jobs;
  std::vector<std::string> untold;
};

// Whether the record stands for several tasks of an array, which wait: "12_[4-9]".
bool has_several_tasks(const Job& job);

// The exit code that a job stands for: by its JobEnd, else its own, 128+n for a signal; where it
// ended badly without either, 143 if it was cancelled, else 1. nullopt: it has not ended.
std::optional<int> exit_code_of(const Job& job);

// What names a job on a command line: "17", "12_3", "12_[4-9]", "17+1"; "train-x7k2p".
struct JobId {
  std::string text;
  std::string number;       // "12"; empty: a name, as Kubernetes' jobs have
  std::string task;         // "3", "[4-9]"; empty: none
  std::string record = {};  // Job::number, where it is known: no other job is meant
};
Result<JobId> parse_job_id(std::string_view text);

// A partition of Slurm's, or a pool of Kubernetes' nodes.
struct Partition {
  std::string name;  // empty: the nodes that are in no pool
  bool is_default = false;
  std::string state;  // "UP"
  std::optional<std::chrono::seconds> limit;
  std::optional<std::chrono::seconds> default_limit;
  std::optional<std::int64_t> most_nodes;
  std::int64_t priority = 0;
  std::string nodes;  // "n[0-3]"
  std::string qos;    // empty: none
  std::string notes;  // what else keeps jobs away: "2 nodes cordoned"
};

struct ClusterNode {
  std::string name;
  std::string state;  // "IDLE+DRAIN"
  std::vector<std::string> partitions;
  std::int64_t cpus = 0;
  std::int64_t used_cpus = 0;
  std::int64_t memory_mb = 0;
  std::int64_t gpus = 0;
  std::int64_t used_gpus = 0;
  std::string gpu_kind;      // "h100"; empty: not told
  std::string gpu_resource;  // in Kubernetes: "nvidia.com/gpu"
  bool usable = false;       // it may be given to jobs now or when its own jobs end
  bool idle = false;         // usable, and nothing runs on it
  bool planned = false;      // a waiting job is about to get it: only a short job fits before
};

// A queue that admits jobs in front of the engine (Kueue's LocalQueue), or a project of Run:AI's.
// What is not known of it is unset.
struct AdmissionQueue {
  std::string name;
  std::string serves;  // its ClusterQueue or department
  std::optional<std::int64_t> waiting = {};
  std::optional<std::int64_t> running = {};
  std::optional<double> gpus = {};  // its quota
};

struct Machines {
  std::vector<Partition> partitions;
  std::vector<ClusterNode> nodes;
  std::vector<AdmissionQueue> queues = {};
  std::string_view partition_word = "PARTITION";  // of the engine, as a table's heading
  std::string_view queue_word = "QUEUE";          // likewise
  bool usage_known = true;                        // else nodes' used_ and idle mean nothing
  std::vector<std::string> untold = {};           // what the engine did not tell, a line each
};

// Whom a signal to a job goes to.
enum class Addressee {
  processes,     // all that its steps started, whether they handle it or not
  batch_script,  // its shell, or what that has become
};

// A pod of a job, in which commands can be executed.
struct JobPod {
  std::string name;
  std::string container;  // the one that does the job's work; empty: the engine's program chooses
  std::string address;    // empty: not told
  std::string trouble;    // why no command can be executed in it; empty: it runs
  bool sleeps = false;    // it runs nothing but `sleep`, as those of submit --interactive do
};

enum class Terminal { no, yes };

// The queue of one engine. Every call runs the engine's programs, each for engine_timeout at most.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual std::string_view engine() const = 0;           // "slurm", as options and JSON have it
  virtual std::string_view engine_in_words() const = 0;  // "Slurm"
  // Jobs that wait or run, of all users unless one is given.
  virtual Result<JobList> jobs(std::optional<std::uint32_t> uid) const = 0;
  // What is known of this one, also after its end; of an array a record per task, in the natural
  // order of their ids. Empty: the engine does not know it, or not any more.
  virtual Result<std::vector<Job>> find(const JobId& id) const = 0;
  // The user's jobs that have ended, as far back as the engine remembers, a week at most.
  virtual Result<JobList> ended(std::uint32_t uid) const = 0;
  // Pending jobs, of a user or of all, with their expected starts where the engine can tell.
  virtual Result<std::vector<Job>> starts(std::optional<std::uint32_t> uid) const = 0;
  // Whether the job's batch script is one that `toprun submit` wrote: its shell has become toprun.
  virtual bool is_run_by_toprun(const JobId& id) const = 0;
  // Whether a job lies there after its end, with its name and output, until it is cancelled too.
  virtual bool keeps_what_has_ended() const { return false; }
  // The command that ends these jobs, or sends them a signal ("USR1"), and its execution. The error
  // is in the engine's words, or says that the engine has no such command.
  virtual Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                          const std::string& signal,
                                                          Addressee addressee) const = 0;
  virtual Result<void> execute(const std::vector<std::string>& command) const = 0;
  virtual Result<Machines> machines() const = 0;
  // Why this job waits or ended, and a state, in a user's words; empty: we have none for it.
  virtual std::string reason_words(const Job& job) const = 0;
  virtual std::string state_words(std::string_view state_word) const = 0;
  // How long the engine remembers a job after its end without an archive of its own.
  virtual std::chrono::seconds memory() const = 0;
  // Why this job, which find() did not find, may have been one all the same, in words.
  virtual std::string forgets(const JobId& id) const = 0;
  // The command that prints a job's output, or that of one of its printers, if the engine itself
  // keeps it; nullopt: it is in files.
  virtual std::optional<std::vector<std::string>> log_command(const Job& job, bool follow,
                                                              const Printer* only) const = 0;
  // Of a job whose nodes are pods: these, by their number in the job. Error: it has none.
  virtual Result<std::vector<JobPod>> pods(const Job& job) const;
  // The command that executes the words after it in one of them, with our standard input, or on our
  // terminal.
  virtual std::vector<std::string> exec_command(const Job& job, const JobPod& pod,
                                                Terminal terminal) const;
  // The command that executes toprun with these words, which ask a job that runs, beside that
  // job's root agent. `self`: this program's path.
  virtual Result<std::vector<std::string>> command_beside_root(
      const Job& job, const std::string& self, const std::vector<std::string>& words) const;
  // The file's name with the engine's patterns (%j, %N …) expanded for the job's batch script.
  virtual std::string expand(std::string_view pattern, const Job& job) const = 0;
};

// The engine that TOPRUN_ON names, else the first of Slurm, Run:AI and Kubernetes whose programs
// are in PATH. Error: there is none; it says what was looked for.
Result<std::unique_ptr<Queue>> find_queue(const Environment& environment);
// The same for a job: one with a name is Run:AI's or Kubernetes'.
Result<std::unique_ptr<Queue>> find_queue_of(const JobId& id, const Environment& environment);

}  // namespace toprun::engines
