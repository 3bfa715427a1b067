#include "base/os/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace toprun {
namespace {

constexpr rlim_t kernel_default = 1u << 20;  // of fs.nr_open; the limit may be infinite

}  // namespace

std::size_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kernel_default;
  rlimit raised = files;
  raised.rlim_cur = raised.rlim_max;
  const rlim_t now = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : files.rlim_cur;
  return std::min(now, kernel_default);
}

}  // namespace toprun
