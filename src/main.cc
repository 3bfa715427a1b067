#include <unistd.h>

#include <string>
#include <vector>

#include "base/console.h"
#include "base/environment.h"
#include "cli/help.h"
#include "cli/print.h"
#include "cli/run.h"
#include "cli/split.h"
#include "cli/store.h"
#include "cli/topo.h"

int main(int argc, char** argv) {
  using namespace toprun;
  std::vector<std::string> words(argv, argv + argc);
  const Environment environment = Environment::from(environ);
  // The wheel's script `torchrun`, which can only exec us by our own name.
  const auto called_as = environment.non_empty("TOPRUN_CALLED_AS");
  if (called_as && !words.empty()) words[0] = *called_as;
  const auto split = cli::split(words);
  if (!split) {
    say(split.error().line());
    return split.error().exit_code;
  }
  switch (split->verb) {
    case cli::Verb::run:
      return cli::run(*split, words, environment);
    case cli::Verb::topo:
      return cli::run_topo(split->arguments, environment);
    case cli::Verb::store:
      return cli::run_store(split->arguments);
    case cli::Verb::version:
      return cli::print(cli::version_text());
  }
}
