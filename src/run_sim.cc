// Plays simulated runs, or one large one:
//   run_sim [--seeds N] [--first SEED] [--seed SEED] [--nodes MOST] [--faults N | --in-place]
//   [--trace]
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "simulation/world.h"

namespace {

constexpr int most_nodes = 12;

struct Wanted {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1'000;
  int nodes = most_nodes;
  int faults = 0;  // of one large run
  bool in_place = false;
  bool trace = false;
};

Wanted wanted(int argc, char** argv) {
  Wanted wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto number = [&] {
      return static_cast<std::uint64_t>(toprun::parse_int(argv[++i]).value_or(1));
    };
    if (option == "--trace") {
      wanted.trace = true;
    } else if (option == "--in-place") {
      wanted.in_place = true;
      wanted.seeds = 1;
    } else if (i + 1 < argc && option == "--faults") {
      wanted.faults = static_cast<int>(number());
      wanted.seeds = 1;
    } else if (i + 1 < argc && option == "--seed") {
      wanted.first = number();
      wanted.seeds = 1;
    } else if (i + 1 < argc && option == "--seeds") {
      wanted.seeds = number();
    } else if (i + 1 < argc && option == "--first") {
      wanted.first = number();
    } else if (i + 1 < argc && option == "--nodes") {
      wanted.nodes = static_cast<int>(number());
    } else {
      fmt::print(stderr,
                 "run_sim [--seeds N] [--first S] [--seed S] [--nodes N] [--faults N | --in-place] "
                 "[--trace]\n");
      std::exit(2);
    }
  }
  return wanted;
}

toprun::simulation::Scenario play(const Wanted& wanted, std::uint64_t seed) {
  if (wanted.in_place) return toprun::simulation::in_place(seed, wanted.nodes);
  if (wanted.faults > 0) return toprun::simulation::large(seed, wanted.nodes, wanted.faults);
  return toprun::simulation::scenario(seed, wanted.nodes);
}

// A large run reads its 350 MB in no order, and frees millions of small values: with pages of 2
// MiB, memory that is kept, and caches of freed values without a small limit it takes a fifth less
// time. The C library reads these wishes when a program starts.
constexpr const char* wishes =
    "glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=65535:"
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296";

void tune_memory(char** argv) {
  if (std::getenv("GLIBC_TUNABLES") != nullptr) return;
  ::setenv("GLIBC_TUNABLES", wishes, 0);
  ::execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace toprun::simulation;
  const Wanted what = wanted(argc, argv);
  tune_memory(argv);
  std::uint64_t broken = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = what.first; seed < what.first + what.seeds; ++seed) {
    World world(play(what, seed), what.trace);
    const Outcome outcome = world.play();
    steps += outcome.steps;
    if (outcome.broken.empty()) continue;
    ++broken;
    fmt::print("seed {}: {} (run_sim --nodes {} --seed {} --trace)\n", seed, outcome.broken,
               what.nodes, seed);
  }
  fmt::print("{} runs, {} steps, {} broken\n", what.seeds, steps, broken);
  return broken == 0 ? 0 : 1;
}
