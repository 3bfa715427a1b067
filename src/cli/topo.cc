#include "cli/topo.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "cli/print.h"
#include "cli/topo_convert.h"
#include "cli/topo_draw.h"
#include "cli/topo_order.h"
#include "cli/topo_score.h"
#include "cli/topo_show.h"

namespace toprun::cli {
namespace {

struct TopoVerb {
  std::string_view name;
  std::string_view help;
  int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

constexpr std::array verbs = {
    TopoVerb{"show", "the domains of the network and the nodes in them", run_topo_show},
    TopoVerb{"order", "the nodes in the order that toprun gives them, for people and programs",
             run_topo_order},
    TopoVerb{"draw", "a picture of the domains and of the ring through them", run_topo_draw},
    TopoVerb{"score", "what this order and others cost", run_topo_score},
    TopoVerb{"convert", "the network in the words of Slurm or Kubernetes", run_topo_convert},
};

std::string help_text() {
  std::string text = "usage: toprun topo VERB [OPTIONS]\n\n";
  for (const TopoVerb& verb : verbs) text += fmt::format("  {:<8}{}\n", verb.name, verb.help);
  return text + "\ntoprun topo VERB --help has the options.\n";
}

// A network of 100,000 hosts is half a million small blocks of memory, and the process ends with
// what it prints: memory comes in one large step, in huge pages where the kernel has them, and none
// of it goes back before. That saves a third of the time, most of it the kernel's.
void take_memory_in_a_large_step() {
  constexpr std::size_t step_bytes = 128 << 20;  // addresses, not memory: it comes when it is used
  constexpr std::size_t huge_page_bytes = 2 << 20;
  constexpr int never_bytes = 1 << 30;
  ::mallopt(M_TOP_PAD, step_bytes);
  ::mallopt(M_TRIM_THRESHOLD, never_bytes);
  ::mallopt(M_MMAP_THRESHOLD, never_bytes);
  ::mallopt(M_MXFAST, 0);  // no lists that each large block would go through
  void* const step = std::malloc(step_bytes);
  void* first = step;
  std::size_t left = step_bytes;
  if (std::align(huge_page_bytes, left - huge_page_bytes, first, left) != nullptr) {
    ::madvise(first, left, MADV_HUGEPAGE);
  }
  std::free(step);
}

}  // namespace

int run_topo(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> names;
  for (const TopoVerb& verb : verbs) names.emplace_back(verb.name);
  if (arguments.empty()) {
    return give_up(usage("topo", "it needs a verb", "there are " + join(names, ", ")).error());
  }
  const std::string& name = arguments.front();
  if (name == "-h" || name == "--help") return print(help_text());
  const auto verb = std::ranges::find(verbs, name, &TopoVerb::name);
  if (verb != verbs.end()) {
    take_memory_in_a_large_step();
    return verb->run({arguments.begin() + 1, arguments.end()}, environment);
  }
  const auto meant = did_you_mean(name, names);
  return give_up(
      usage(fmt::format("topo {}", name), "there is no such verb",
            meant ? fmt::format("did you mean {}?", *meant) : "there are " + join(names, ", "))
          .error());
}

}  // namespace toprun::cli
