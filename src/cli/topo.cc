#include "cli/topo.h"

#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "cli/subverbs.h"
#include "cli/topo_convert.h"
#include "cli/topo_draw.h"
#include "cli/topo_order.h"
#include "cli/topo_score.h"
#include "cli/topo_show.h"

namespace toprun::cli {
namespace {

constexpr std::array verbs = {
    Subverb{"show", "the domains of the network and the nodes in them", run_topo_show},
    Subverb{"order", "the nodes in the order that toprun gives them, for people and programs",
            run_topo_order},
    Subverb{"draw", "a picture of the domains and of the ring through them", run_topo_draw},
    Subverb{"score", "what this order and others cost", run_topo_score},
    Subverb{"convert", "the network in the words of Slurm or Kubernetes", run_topo_convert},
};

constexpr Family family = {
    "topo", "What the network looks like, which order toprun gives the nodes, and what it costs.",
    "toprun topo show --topology racks.txt", "the domains of a file", verbs};

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
  take_memory_in_a_large_step();
  return run_subverb(family, arguments, environment);
}

}  // namespace toprun::cli
