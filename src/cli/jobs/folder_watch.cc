#include <sys/inotify.h>
#include <unistd.h>

#include <array>

#include "cli/jobs/job_output.h"

namespace toprun::jobs {

FolderWatch::FolderWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void FolderWatch::add(const std::string& folder) {
  if (!fd_ || watched_.contains(folder)) return;
  constexpr std::uint32_t events = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;
  if (::inotify_add_watch(fd_.get(), folder.c_str(), events) >= 0) watched_.insert(folder);
}

void FolderWatch::forget_news() {
  std::array<char, 4096> events;
  while (::read(fd_.get(), events.data(), events.size()) > 0) {
  }
}

}  // namespace toprun::jobs
