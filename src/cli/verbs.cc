#include "cli/verbs.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/cancel.h"
#include "cli/cluster.h"
#include "cli/completion.h"
#include "cli/config_verb.h"
#include "cli/eta.h"
#include "cli/grow.h"
#include "cli/jobs.h"
#include "cli/logs.h"
#include "cli/manual.h"
#include "cli/setup.h"
#include "cli/shell.h"
#include "cli/status.h"
#include "cli/store.h"
#include "cli/submit.h"
#include "cli/topo.h"
#include "cli/version.h"
#include "options/split.h"

namespace toprun::cli {
namespace {

constexpr std::array verbs = {
    Verb{"submit", "SCRIPT ...", "write a batch job and submit it", run_submit},
    Verb{"shell", "", "an interactive allocation", run_shell},
    Verb{"setup", "[PACKAGE...]", "build an environment or an image as a job", run_setup},
    Verb{"jobs", "", "your jobs that wait and run, and why they wait", run_jobs},
    Verb{"status", "ID", "what is known of one job", run_status},
    Verb{"logs", "ID", "what a job has printed; -f until its end", run_logs},
    Verb{"eta", "[ID]", "when waiting jobs are expected to start", run_eta},
    Verb{"cancel", "ID...", "end jobs, or send them a signal", run_cancel},
    Verb{"grow", "ID", "take the nodes that wait into an elastic job", run_grow},
    Verb{"cluster", "", "partitions, free nodes and GPUs, file systems", run_cluster},
    Verb{"topo", "VERB ...", "show, order, draw or score a network's nodes", run_topo},
    Verb{"config", "VERB", "what toprun.toml says; write one", run_config},
    Verb{"store", "", "serve PyTorch's TCPStore alone", run_store},
    Verb{"completion", "SHELL", "what makes a shell complete all this", run_completion},
    Verb{"man", "", "the manual page", run_man},
    Verb{"help", "[VERB]", "what a verb does and takes", run_help},
    Verb{"version", "", "which toprun this is, and what is linked in", run_version},
};

}  // namespace

std::span<const Verb> all_verbs() {
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const auto verb = std::ranges::find(verbs, name, &Verb::name);
  return verb == verbs.end() ? nullptr : &*verb;
}

const Verb* asked_verb(const std::vector<std::string>& argv) {
  return argv.size() > 1 && !options::is_torchrun(argv) ? find_verb(argv[1]) : nullptr;
}

std::optional<std::string> nearest_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) names.emplace_back(verb.name);
  return did_you_mean(name, names);
}

}  // namespace toprun::cli
