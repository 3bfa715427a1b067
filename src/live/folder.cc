#include "live/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.h"

namespace toprun::live {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".sock";
constexpr mode_t only_the_user = 0700;
// What the kernel takes as a socket's path (unix(7)), without the end and the longest name.
constexpr std::size_t longest_folder = sizeof(sockaddr_un::sun_path) - sizeof "/4194304.sock";

bool is_ours(const fs::path& folder, bool alone) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return false;
  return found.st_uid == ::geteuid() && (!alone || (found.st_mode & 077) == 0);
}

// The user's runtime folder by the standard's variable and place, which a batch system may not have
// made, then one of our own.
std::vector<fs::path> folders(const Environment& environment) {
  std::vector<fs::path> all;
  for (const fs::path& runtime : {fs::path(environment.get("XDG_RUNTIME_DIR").value_or("")),
                                  fs::path(fmt::format("/run/user/{}", ::geteuid()))}) {
    const fs::path folder = runtime / "toprun";
    const bool is_short = folder.native().size() <= longest_folder;
    if (runtime.is_absolute() && is_short && is_ours(runtime, false)) all.push_back(folder);
  }
  all.emplace_back(fmt::format("/tmp/toprun-{}", ::geteuid()));
  return all;
}

}  // namespace

Result<fs::path> new_socket(const Environment& environment) {
  int error = 0;
  for (const fs::path& folder : folders(environment)) {
    if (::mkdir(folder.c_str(), only_the_user) != 0 && errno != EEXIST) error = errno;
    if (is_ours(folder, true)) return folder / fmt::format("{}{}", ::getpid(), suffix);
  }
  return fail("no folder for the socket by which this job can be asked",
              error != 0 ? std::generic_category().message(error)
                         : "each is another user's, or open to others");
}

std::vector<Socket> sockets(const Environment& environment) {
  std::vector<Socket> found;
  for (const fs::path& folder : folders(environment)) {
    std::error_code error;
    if (!is_ours(folder, true)) continue;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(suffix)) continue;
      const auto pid = parse_int(std::string_view(name).substr(0, name.size() - suffix.size()));
      if (pid) found.push_back({static_cast<pid_t>(*pid), entry.path()});
    }
  }
  std::ranges::sort(found, {}, &Socket::pid);
  return found;
}

}  // namespace toprun::live
