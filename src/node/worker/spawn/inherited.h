#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <vector>

namespace toprun::spawn {

// Process attributes that toprun inherited and restores for workers: signal mask and dispositions,
// umask, resource limits, CPU affinity. The attributes are captured at the start of main, before
// any change and while there is only one thread.
struct Inherited {
  static constexpr int signals = 65;     // numbers 1…64; 0 is unused
  static constexpr int max_cpus = 8192;  // the kernel's own upper limit on x86-64 and arm64
  static constexpr int no_affinity = 0;  // the value of affinity_bytes if the kernel returned no
                                         // affinity

  sigset_t mask{};
  std::bitset<signals> ignored;  // SIG_IGN, as under nohup; all other signals have SIG_DFL
  mode_t umask = 022;
  std::array<rlimit, RLIM_NLIMITS> limits{};
  std::array<std::byte, max_cpus / 8> affinity{};
  int affinity_bytes = no_affinity;
  std::vector<int> descriptors;  // descriptors above 2, such as an engine's connection to its task

  // The CPUs in the affinity mask, ascending.
  std::vector<int> cpus() const;

  // If one of the descriptors 0, 1 and 2 is closed, opens /dev/null as this descriptor, so that no
  // other file of this process becomes a worker's stdin, stdout or stderr. After this, capture()
  // reads the attributes.
  static Inherited capture();

  // Restores all attributes in the calling process before its exec. This function is
  // async-signal-safe, for use in the child of a fork. The signal mask is restored last.
  void restore() const;
};

// A CPU mask in the format of sched_setaffinity(2).
std::vector<std::byte> affinity_mask(const std::vector<int>& cpus);

}  // namespace toprun::spawn
