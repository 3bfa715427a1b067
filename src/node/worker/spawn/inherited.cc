#include "node/worker/spawn/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace toprun::spawn {
namespace {

int read_affinity(std::array<std::byte, Inherited::max_cpus / 8>& mask) {
  // The system call, unlike the C function, returns the size of the kernel's masks in bytes.
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, mask.size(), mask.data());
  return bytes > 0 ? static_cast<int>(bytes) : Inherited::no_affinity;
}

std::vector<int> open_descriptors() {
  std::vector<int> descriptors;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return descriptors;
  while (const dirent* const entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);  // 0 also for "." and ".."
    if (fd > STDERR_FILENO && fd != ::dirfd(folder)) descriptors.push_back(fd);
  }
  ::closedir(folder);
  return descriptors;
}

}  // namespace

Inherited Inherited::capture() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) break;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      break;
    }
    ::fcntl(fd, F_SETFD, 0);
  }

  Inherited inherited;
  ::sigprocmask(SIG_SETMASK, nullptr, &inherited.mask);
  for (int number = 1; number < signals; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      inherited.ignored.set(static_cast<std::size_t>(number));
    }
  }
  inherited.umask = ::umask(0);
  ::umask(inherited.umask);
  for (unsigned i = 0; i < RLIM_NLIMITS; ++i) {
    ::getrlimit(static_cast<__rlimit_resource>(i), &inherited.limits[i]);
  }
  inherited.affinity_bytes = read_affinity(inherited.affinity);
  inherited.descriptors = open_descriptors();
  return inherited;
}

std::vector<int> Inherited::cpus() const {
  std::vector<int> out;
  for (int cpu = 0; cpu < affinity_bytes * 8; ++cpu) {
    const auto byte = static_cast<std::size_t>(cpu / 8);
    if ((affinity[byte] & (std::byte{1} << (cpu % 8))) != std::byte{0}) out.push_back(cpu);
  }
  return out;
}

void Inherited::restore() const {
  for (int number = 1; number < signals; ++number) {
    struct sigaction action {};
    action.sa_handler = ignored[static_cast<std::size_t>(number)] ? SIG_IGN : SIG_DFL;
    ::sigaction(number, &action, nullptr);  // fails for SIGKILL, SIGSTOP and glibc's own two
  }
  ::umask(umask);
  for (unsigned i = 0; i < RLIM_NLIMITS; ++i) {
    ::setrlimit(static_cast<__rlimit_resource>(i), &limits[i]);
  }
  // Restored only if changed: a process that has ever set its affinity, even to the same CPUs, does
  // not get the new CPUs when its cpuset grows.
  std::array<std::byte, max_cpus / 8> now{};
  const int now_bytes = read_affinity(now);
  if (affinity_bytes != no_affinity && now_bytes == affinity_bytes &&
      std::memcmp(now.data(), affinity.data(), static_cast<std::size_t>(now_bytes)) != 0) {
    ::syscall(SYS_sched_setaffinity, 0, affinity_bytes, affinity.data());
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

// Bytes equal the kernel's words only on little-endian machines, the only ones that toprun
// supports; the mask is padded to whole words.
std::vector<std::byte> affinity_mask(const std::vector<int>& cpus) {
  constexpr std::size_t word = sizeof(unsigned long);
  std::vector<std::byte> mask;
  for (const int cpu : cpus) {
    const auto byte = static_cast<std::size_t>(cpu / 8);
    if (byte >= mask.size()) mask.resize((byte / word + 1) * word);
    mask[byte] |= std::byte{1} << (cpu % 8);
  }
  return mask;
}

}  // namespace toprun::spawn
