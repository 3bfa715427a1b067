#pragma once

#include <string>
#include <vector>

#include "base/text/error.h"
#include "cli/jobs/job_options.h"
#include "cli/options/call.h"
#include "node/plan/activation.h"
#include "node/plan/setup/build.h"

namespace toprun::cli {

struct SetupOptions {
  jobs::SubmitOptions job;
  std::string built;            // the environment's folder or the image's file, as given
  std::string image_from;       // of an image what it is made of; empty: an environment
  setup::Wanted wanted;         // of an environment; paths as given
  plan::Activation activation;  // modules and variables
  std::string on;               // "slurm", "local"; empty: as there is an engine
  bool force = false;           // what toprun setup has built there may go
  // All of that as a record keeps it (contents.h), once the files that it names are read.
  std::vector<std::string> asked = {};
};

// What the command line says. Its job's last line is `toprun setup --on=local` with the same. Pure.
// Error (exit 2): nothing to build, a word that pip would take for an option.
Result<SetupOptions> setup_options(const options::Call& call);

}  // namespace toprun::cli
