#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "cli/jobs/job_options.h"
#include "cli/options/call.h"
#include "node/plan/activation.h"
#include "node/plan/setup/build.h"

namespace toprun::cli {

struct SetupOptions {
  jobs::SubmitOptions job;
  std::string built;             // the environment's folder or the image's file, as given
  std::string image_from;        // the source of an image; empty: an environment is built
  setup::VenvRequest requested;  // contents of an environment; paths as given
  plan::Activation activation;   // modules and variables
  std::optional<bool> is_local;  // unset: depends on the available engine
  bool force = false;            // an existing build by toprun setup may be replaced
  // What the user wants to have built: the result of contents_asked(). It is empty until the
  // requirement files have been read.
  std::vector<std::string> asked = {};
};

// Parses the command line. If a job builds the environment, the last line of its script is `toprun
// setup --on=local` with the same options. Pure. Error (exit 2): the command line names nothing to
// build, or names a package that pip would parse as an option.
Result<SetupOptions> setup_options(const options::Call& call);

// Returns what the environment or image has to contain, as the setup record stores it. The result
// is a list of words: packages, lines of requirement files, "--modules=cuda/12.4" and everything
// else that changes the result. Reads the requirement files. Error: a requirement file cannot be
// read.
Result<std::vector<std::string>> contents_asked(const SetupOptions& options);

// Returns the lines of a requirement file without comments and empty lines. Pure.
std::vector<std::string> requirement_lines(std::string_view text);

}  // namespace toprun::cli
