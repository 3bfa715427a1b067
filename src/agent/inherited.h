#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <vector>

namespace toprun::agent {

// What toprun itself inherited and workers get back: signal mask and dispositions, umask, resource
// limits, CPU affinity. Taken once at the start of main, before anything is changed and while there
// is one thread only.
struct Inherited {
  static constexpr int signals = 65;     // numbers 1…64; 0 is unused
  static constexpr int max_cpus = 8192;  // the kernel's own upper limit on x86-64 and arm64
  static constexpr int no_affinity = 0;  // affinity_bytes where the kernel did not tell

  sigset_t mask{};
  std::bitset<signals> ignored;  // SIG_IGN, as under nohup; all others were at SIG_DFL
  mode_t umask = 022;
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::array<std::byte, max_cpus / 8> affinity{};
  int affinity_bytes = no_affinity;
  std::vector<int> descriptors;  // above 2, such as an engine's connection to its task

  // The CPUs of the affinity, ascending.
  std::vector<int> cpus() const;

  // Opens /dev/null for each of the descriptors 0…2 that is closed, so that none of our own can
  // ever become a worker's stdin, stdout or stderr by accident; then reads the rest.
  static Inherited capture();

  // Puts back everything in the calling process, which is about to exec. Async-signal-safe: for the
  // child of a fork. The signal mask comes last.
  void restore() const;
};

// A mask as sched_setaffinity(2) takes it.
std::vector<std::byte> affinity_mask(const std::vector<int>& cpus);

}  // namespace toprun::agent
