#include "cli/verbs.h"

#include <algorithm>
#include <array>

#include "cli/cancel.h"
#include "cli/cluster.h"
#include "cli/config_verb.h"
#include "cli/eta.h"
#include "cli/grow.h"
#include "cli/jobs.h"
#include "cli/logs.h"
#include "cli/setup.h"
#include "cli/shell.h"
#include "cli/status.h"
#include "cli/store.h"
#include "cli/submit.h"
#include "cli/topo.h"
#include "cli/version.h"

namespace toprun::cli {
namespace {

constexpr std::array verbs = {
    Verb{"submit", "SCRIPT ...", "write a batch job and submit it (submit -h)", run_submit},
    Verb{"shell", "...", "an interactive allocation (shell -h)", run_shell},
    Verb{"setup", "...", "build an environment or an image as a job (setup -h)", run_setup},
    Verb{"topo", "VERB ...", "show, order, draw or score a network's nodes (topo -h)", run_topo},
    Verb{"store", "...", "serve PyTorch's TCPStore alone (store -h)", run_store},
    Verb{"jobs", "", "the jobs that wait and run, and why they wait", run_jobs},
    Verb{"status", "ID", "what is known of one job: state, nodes, ranks, files", run_status},
    Verb{"logs", "ID", "what a job has printed; -f until its end", run_logs},
    Verb{"eta", "[ID]", "when waiting jobs are expected to start, what is in the way", run_eta},
    Verb{"cancel", "ID...", "end jobs, or send them a signal", run_cancel},
    Verb{"grow", "JOB", "take the nodes that wait into an elastic job", run_grow},
    Verb{"cluster", "", "partitions, free nodes and GPUs, file systems with their space",
         run_cluster},
    Verb{"config", "VERB", "show what toprun.toml and variables say, or init one (config -h)",
         run_config},
    Verb{"version", "[-v|--sbom]", "which toprun this is, and what is linked in", run_version},
};

}  // namespace

std::span<const Verb> all_verbs() {
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const auto verb = std::ranges::find(verbs, name, &Verb::name);
  return verb == verbs.end() ? nullptr : &*verb;
}

}  // namespace toprun::cli
