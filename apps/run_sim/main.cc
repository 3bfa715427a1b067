// Plays simulated runs, or one large one:
//   run_sim [--seeds N] [--first SEED] [--seed SEED] [--nodes MOST] [--faults N | --in-place]
//   [--trace]
// or, with --drivers, runs of the program's own Root and Members (room rehearsal):
//   run_sim --drivers [--seeds N] [--first SEED] [--seed SEED] [--trace]
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/process/command.h"
#include "base/text/text.h"
#include "node/rehearsal/play.h"
#include "run/simulation/world.h"

namespace {

constexpr int most_nodes = 12;

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1'000;
  int nodes = most_nodes;
  int faults = 0;  // of one large run
  bool in_place = false;
  bool drivers = false;
  bool trace = false;
};

Arguments arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto number = [&] {
      return static_cast<std::uint64_t>(toprun::parse_int(argv[++i]).value_or(1));
    };
    if (option == "--trace") {
      arguments.trace = true;
    } else if (option == "--drivers") {
      arguments.drivers = true;
    } else if (option == "--in-place") {
      arguments.in_place = true;
      arguments.seeds = 1;
    } else if (i + 1 < argc && option == "--faults") {
      arguments.faults = static_cast<int>(number());
      arguments.seeds = 1;
    } else if (i + 1 < argc && option == "--seed") {
      arguments.first = number();
      arguments.seeds = 1;
    } else if (i + 1 < argc && option == "--seeds") {
      arguments.seeds = number();
    } else if (i + 1 < argc && option == "--first") {
      arguments.first = number();
    } else if (i + 1 < argc && option == "--nodes") {
      arguments.nodes = static_cast<int>(number());
    } else {
      fmt::print(stderr,
                 "run_sim [--seeds N] [--first S] [--seed S] [--nodes N] [--faults N | --in-place] "
                 "[--drivers] [--trace]\n");
      std::exit(2);
    }
  }
  return arguments;
}

toprun::simulation::Scenario play(const Arguments& arguments, std::uint64_t seed) {
  if (arguments.in_place) return toprun::simulation::in_place(seed, arguments.nodes);
  if (arguments.faults > 0)
    return toprun::simulation::large(seed, arguments.nodes, arguments.faults);
  return toprun::simulation::scenario(seed, arguments.nodes);
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
  ::execv(toprun::process::own_program, argv);
}

struct Counted {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::uint64_t broken = 0;
};

// A seed that crashes is named, too.
std::uint64_t seed_now = 0;

void tell_the_seed(int signal) {
  char text[64];
  const auto end = fmt::format_to_n(text, sizeof text, "seed {}: signal {} (\n", seed_now, signal);
  [[maybe_unused]] const ssize_t n = ::write(STDOUT_FILENO, text, end.size);
  ::_exit(128 + signal);
}

Counted play_all(const Arguments& what) {
  Counted counted;
  for (seed_now = what.first; seed_now < what.first + what.seeds; ++seed_now) {
    toprun::simulation::World world(play(what, seed_now), what.trace);
    const toprun::simulation::Outcome outcome = world.play();
    ++counted.runs;
    counted.steps += outcome.steps;
    if (outcome.broken.empty()) continue;
    ++counted.broken;
    fmt::print("seed {}: {} (run_sim --nodes {} --seed {} --trace)\n", seed_now, outcome.broken,
               what.nodes, seed_now);
  }
  return counted;
}

Counted play_drivers(const Arguments& what) {
  Counted counted;
  for (seed_now = what.first; seed_now < what.first + what.seeds; ++seed_now) {
    toprun::rehearsal::Play rehearsed(toprun::rehearsal::script(seed_now), what.trace);
    const toprun::rehearsal::Outcome outcome = rehearsed.run();
    ++counted.runs;
    counted.steps += outcome.steps;
    if (outcome.broken.empty()) continue;
    ++counted.broken;
    fmt::print("seed {}: {} (run_sim --drivers --seed {} --trace)\n", seed_now, outcome.broken,
               seed_now);
  }
  return counted;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments what = arguments(argc, argv);
  tune_memory(argv);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS}) ::signal(signal, tell_the_seed);
  const Counted counted = what.drivers ? play_drivers(what) : play_all(what);
  fmt::print("{} runs, {} steps, {} broken\n", counted.runs, counted.steps, counted.broken);
  return counted.broken == 0 ? 0 : 1;
}
