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

// Time limit for each query to an engine's programs; TOPRUN_ENGINE_TIMEOUT (seconds) changes it.
inline constexpr std::chrono::seconds engine_timeout{30};
Result<std::chrono::milliseconds> engine_timeout_of(const Environment& environment);

enum class JobState {
  pending,
  starting,  // its nodes are allocated and being prepared
  running,
  suspended,
  completing,  // its processes are ending or have ended, but its nodes are not free yet
  completed,   // exit code 0
  failed,      // any end except completed and cancelled
  cancelled,
  unknown,  // a state that toprun does not know: treated as neither waiting nor ended
};

bool has_ended(JobState state);

// Why an engine ended a job, if this says more than the processes' exit code. A pending job that
// can never start has another value than `other`; the value says why.
enum class JobEnd {
  other,
  time_limit,
  preemption,
  dependency,  // the job never started: it depends on a job that did not end as required
  refused,     // the job never started: the engine did not accept what the job asks for
};

// A pod's container whose output the engine stores.
struct Printer {
  std::string name;         // "train-worker-0"
  std::int64_t starts = 0;  // number of restarts; each restart begins the output again
  std::string id = {};      // the pod's id; a pod that replaces a lost pod may have the same name
  auto operator<=>(const Printer&) const = default;
};

// The latest report of a job's own program about its training.
struct Progress {
  std::optional<std::int64_t> percent;  // 0 to 100
  std::optional<std::chrono::seconds> remaining;
  std::vector<std::pair<std::string, std::string>> metrics;  // "loss" "0.31"
  std::optional<WallTime> reported;
};

// An engine's report on one job, or on one task or all waiting tasks of an array job. Texts come
// from the engine and may contain anything. Facts that the engine does not report are empty or
// unset.
struct Job {
  std::string id;      // as users name it: "17", "12_3", "12_[4-9%2]"
  std::string number;  // the engine's number for only this record: "19"
  std::string array;   // id of the array job: "12"
  std::string task;    // "3", "4-9%2"
  std::string name, partition, user;
  std::optional<std::uint32_t> uid;
  JobState state = JobState::unknown;
  std::string state_word;    // "PENDING"
  std::string state_code;    // "PD"
  std::string reason;        // why it waits or ended, as the engine names it: "Resources"
  std::string reason_words;  // the engine's sentence about the reason, if there is one
  JobEnd end = JobEnd::other;
  std::string cause;  // why it ended, in the engine's words, if they say more than the exit code
  std::optional<std::chrono::seconds> used;
  std::optional<std::chrono::seconds> limit;  // unset: no limit, or unknown
  bool limit_of_partition = false;            // the partition's limit, which the job gets when it
                                              // starts
  std::int64_t nodes = 0;
  std::string node_list;   // "n[0-3]"
  std::string het_leader;  // for a component of a heterogeneous job: the number of the first
                           // component
  std::string batch_host;
  std::optional<WallTime> submitted;
  std::optional<WallTime> started;     // if pending: when the engine expects to start it
  std::optional<WallTime> ended;       // if running: when its time limit ends
  std::optional<WallTime> not_before;  // if pending: the job starts no earlier, because of --begin
                                       // or after a requeue
  std::string dependency;              // "afterok:12(unfulfilled)"
  std::optional<std::int64_t> priority;
  std::optional<int> exit_code;  // of an ended job
  std::optional<int> signal;
  int restarts = 0;
  std::optional<Progress> progress;
  std::string folder;  // its working directory
  std::string command;
  std::string out, err;           // its output files; patterns in the names may be partly expanded
  std::string source;             // the program that reported the job: "scontrol"
  std::int64_t least_nodes = 0;   // the job starts with this many nodes; 0: all nodes
  std::vector<Printer> printers;  // the printers that have started; empty if the output is in files
  std::string instance;  // the engine's id of exactly this job; a later job may have the same name
  std::optional<std::int64_t> ahead;  // number of waiting jobs before it in its queue
  std::string untold;                 // a line about facts that the engine refused to report
};

// Jobs, and one line for each query that the engine refused.
struct JobList {
  std::vector<Job> jobs;
  std::vector<std::string> untold;
};

// Whether the record represents several waiting tasks of an array: "12_[4-9]".
bool has_several_tasks(const Job& job);

// Whether this is an array's record that stands for no task. Each task has a record of its own, or
// was cancelled.
bool is_without_tasks(const Job& job);

// Returns the exit code that represents a job's result. The job's JobEnd takes precedence over its
// own exit code. A cancelled job without its own exit code has the code 143. A failed job without
// its own exit code has 128+n if signal n ended it, else 1. nullopt: the job has not ended.
std::optional<int> exit_code_of(const Job& job);

// A job's name on a command line: "17", "12_3", "12_[4-9]", "17+1"; "train-x7k2p".
struct JobId {
  std::string text;
  std::string number;       // "12"; empty: the job has a name, as in Kubernetes
  std::string task;         // "3", "[4-9]"; empty: no task
  std::string record = {};  // Job::number, if known, which excludes other jobs with the same name
  bool has_pods = false;    // the id means only a job of pods, not a job in Slurm
};
// Returns "foo" of "job/foo" or "pytorchjobs.kubeflow.org/foo", as kubectl names a job. Empty:
// another form.
std::string_view name_behind_kind(std::string_view text);
Result<JobId> parse_job_id(std::string_view text);

// A partition in Slurm, or a pool of nodes in Kubernetes.
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
  std::string notes;  // other reasons why the partition starts no jobs: "2 nodes cordoned"
};

struct ClusterNode {
  std::string name;
  std::string state;  // "IDLE+DRAIN"
  std::vector<std::string> partitions;
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::int64_t used_gpus = 0;
  std::string gpu_kind;      // "h100"; empty: unknown
  std::string gpu_resource;  // in Kubernetes: "nvidia.com/gpu"
  bool usable = false;       // the node can run jobs now or when its current jobs end
  bool idle = false;         // usable, and runs nothing
  bool planned = false;      // reserved for a waiting job, so only a short job can run before that
                             // job
};

// A queue that admits jobs before the engine (Kueue's LocalQueue), or a project in Run:AI. Unknown
// facts are unset.
struct AdmissionQueue {
  std::string name;
  std::string serves;  // the ClusterQueue or department that it belongs to
  std::optional<std::int64_t> waiting = {};
  std::optional<std::int64_t> running = {};
  std::optional<double> gpus = {};  // its quota
};

struct Machines {
  std::vector<Partition> partitions;
  std::vector<ClusterNode> nodes;
  std::vector<AdmissionQueue> queues = {};
  std::string_view partition_word = "PARTITION";  // the engine's word, for a table heading
  std::string_view queue_word = "QUEUE";          // the engine's word, for a table heading
  bool usage_known = true;                        // false: nodes' used_ and idle are meaningless
  std::vector<std::string> untold = {};           // one line for each fact that the engine did not
                                                  // report
};

// The receivers of a signal to a job.
enum class Addressee {
  processes,     // all processes that its steps started, whether or not they handle the signal
  batch_script,  // the script's shell, or the program that replaced the shell
};

// A pod of a job, in which commands can be executed.
struct JobPod {
  std::string name;
  std::string container;  // the container that does the job's work; empty: the engine's program
                          // chooses
  std::string address;    // empty: unknown
  std::string trouble;    // why no command can be executed in the pod; empty: the pod runs
  bool sleeps = false;    // the pod only runs `sleep`, as in submit --interactive
};

enum class Terminal { no, yes };

// An engine that takes jobs.
enum class QueueKind { slurm, runai, kubernetes };
std::string_view name_of(QueueKind kind);  // "slurm", as in options, TOPRUN_ON and JSON
std::optional<QueueKind> queue_kind(std::string_view name);
// Returns the name of the engine that a mistyped name probably means.
std::optional<std::string> nearest_engine(std::string_view word);
// Returns the refusal of a name that no engine has. `what`: the name with its source.
Error unknown_engine(std::string what, std::string_view word);
// Whether jobs in this kind of queue are Kubernetes pods.
bool has_pods(QueueKind kind);

// The queue of one engine. Every call runs the engine's programs, each for at most engine_timeout.
// ErrorKind::out_of_reach: this host does not belong to a cluster of the engine. In this case,
// toprun knows about a job only what the job's files contain.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual QueueKind kind() const = 0;
  std::string_view engine() const { return name_of(kind()); }
  virtual std::string_view engine_in_words() const = 0;  // "Slurm"
  // Returns the waiting and running jobs of one user, or of all users if `uid` is unset.
  virtual Result<JobList> jobs(std::optional<std::uint32_t> uid) const = 0;
  // Returns all that is known about this job, even after its end. For an array: one record per
  // task, in the natural order of the ids. Empty: the engine does not know the job, or has already
  // forgotten it.
  virtual Result<std::vector<Job>> find(const JobId& id) const = 0;
  // Returns the user's ended jobs, as far back as the engine remembers, but at most a week.
  virtual Result<JobList> ended(std::uint32_t uid) const = 0;
  // Returns the pending jobs of one user or of all, with the start times that the engine predicts.
  virtual Result<std::vector<Job>> starts(std::optional<std::uint32_t> uid) const = 0;
  // Whether `toprun submit` wrote the job's batch script. If so, toprun runs in the process of the
  // script's shell, which called exec.
  virtual bool is_run_by_toprun(const JobId& id) const = 0;
  // Whether the engine keeps the name and the output of an ended job until a user cancels the job.
  virtual bool keeps_what_has_ended() const { return false; }
  // Returns the command that ends these jobs, or sends a signal ("USR1") to them. execute() runs
  // the command. Error: the engine cannot end jobs or cannot send this signal, or reports an error
  // itself.
  virtual Result<std::vector<std::string>> cancel_command(const std::vector<std::string>& ids,
                                                          const std::string& signal,
                                                          Addressee addressee) const = 0;
  // Returns the ids of an array's tasks that had already ended and got no signal ("12_1").
  virtual Result<std::vector<std::string>> execute(
      const std::vector<std::string>& command) const = 0;
  virtual Result<Machines> machines() const = 0;
  // Returns why this job waits or why it ended, in words that users understand. Empty: toprun has
  // no explanation.
  virtual std::string reason_words(const Job& job) const = 0;
  // Explains the engine's word for a job's state, in words that users understand. Empty: toprun has
  // no explanation.
  virtual std::string state_words(std::string_view state_word) const = 0;
  // Returns how long the engine itself, without an archive, remembers a job after its end.
  virtual std::chrono::seconds memory() const = 0;
  // Returns why find() did not find this job, for example because the engine has forgotten it.
  virtual std::string forgets(const JobId& id) const = 0;
  // Returns the command that prints a job's output, if the engine itself stores the output. With
  // `only`, the command prints the output of one pod's container. nullopt: the output is in files.
  virtual std::optional<std::vector<std::string>> log_command(const Job& job, bool follow,
                                                              const Printer* only) const = 0;
  // Returns the job's pods by their number in the job. Error: the job has no pods.
  virtual Result<std::vector<JobPod>> pods(const Job& job) const;
  // Returns the words (such as `kubectl exec …`) that, put before a command, run it in the pod. The
  // command in the pod gets this process's standard input, or its terminal (Terminal::yes).
  virtual std::vector<std::string> exec_command(const Job&, const JobPod&, Terminal) const {
    return {};
  }
  // Returns a command that runs toprun on the root agent's node or in its pod. `words` are the
  // arguments of that toprun, which queries the running job. `self`: this program's path.
  virtual Result<std::vector<std::string>> command_beside_root(
      const Job& job, const std::string& self, const std::vector<std::string>& words) const;
  // Expands the engine's patterns (%j, %N …) in the name of a file to which the job's batch script
  // prints.
  virtual std::string expand(std::string_view pattern, const Job& job) const = 0;
};

// Returns the queue of the engine that TOPRUN_ON names, otherwise the first of Slurm, Run:AI and
// Kubernetes whose programs are in PATH. Error: there is no engine; the message lists the programs
// that were not found.
Result<std::unique_ptr<Queue>> find_queue(const Environment& environment);
// Like find_queue(), but for the job with this id. If the id is a name, the job belongs to Run:AI
// or Kubernetes.
Result<std::unique_ptr<Queue>> find_queue_of(const JobId& id, const Environment& environment);

// toprun's exit codes for what an engine did with a job. One more is exit_preempted in
// base/text/error.h.

// The job never started, because it depends on another job that did not end as required, or because
// the engine refused it. The value is EX_UNAVAILABLE in sysexits.h: something that the job needs is
// missing.
inline constexpr int exit_not_started = 69;
// The job reached its time limit. timeout(1) has the same exit code.
inline constexpr int exit_time_limit = 124;
// The job was cancelled. A shell reports the same code for a program that SIGTERM has ended.
inline constexpr int exit_cancelled = 143;

}  // namespace toprun::engines
