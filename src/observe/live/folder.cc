#include "observe/live/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/os/fd.h"
#include "base/text/text.h"

namespace toprun::live {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".sock";
constexpr mode_t only_the_user = 0700;
// What the kernel takes as a socket's path (unix(7)), without the end and the longest name.
constexpr std::size_t longest_folder = sizeof(sockaddr_un::sun_path) - sizeof "/4194304-16.sock";

// Why sockets must not be in this folder; empty: they may. `alone`: no other user may look into it.
std::string objection(const fs::path& folder, bool alone) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return errno_text(errno);
  if (!S_ISDIR(found.st_mode)) return "it is not a folder";
  if (found.st_uid != ::geteuid()) {
    return fmt::format("it belongs to user {}, not to you", found.st_uid);
  }
  return alone && (found.st_mode & 077) != 0 ? "it is open to others" : "";
}

bool is_ours(const fs::path& folder, bool alone) {
  return objection(folder, alone).empty();
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

Result<fs::path> socket_folder(const Environment& environment) {
  fs::path last;
  std::string why;
  for (const fs::path& folder : folders(environment)) {
    const bool is_refused = ::mkdir(folder.c_str(), only_the_user) != 0 && errno != EEXIST;
    why = is_refused ? errno_text(errno) : objection(folder, true);
    if (why.empty()) return folder;
    last = folder;
  }
  return fail("cannot make a folder for the jobs' sockets",
              fmt::format("{}: {}", last.string(), why),
              "have this folder removed, or set XDG_RUNTIME_DIR to a folder that you own");
}

fs::path socket_in(const fs::path& folder, pid_t pid, int number) {
  return folder / (number == 1 ? fmt::format("{}{}", pid, suffix)
                               : fmt::format("{}-{}{}", pid, number, suffix));
}

bool remove_if_dead(const fs::path& socket) {
  // One process at a time: between its look and its unlink another one's job may take the name.
  const Fd folder(::open(socket.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return false;
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  if (socket.native().size() >= sizeof there.sun_path) return false;
  socket.native().copy(there.sun_path, sizeof there.sun_path - 1);
  const Fd caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool listens =
      ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 ||
      errno != ECONNREFUSED;
  return !listens && ::unlink(socket.c_str()) == 0;
}

std::vector<Socket> sockets(const Environment& environment) {
  std::vector<Socket> found;
  for (const fs::path& folder : folders(environment)) {
    std::error_code error;
    if (!is_ours(folder, true)) continue;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(suffix)) continue;
      const std::string stem = name.substr(0, name.size() - suffix.size());
      const auto pid = parse_int(std::string_view(stem).substr(0, stem.find('-')));
      if (pid) found.push_back({static_cast<pid_t>(*pid), stem, entry.path()});
    }
  }
  std::ranges::sort(found, natural_less, &Socket::name);
  return found;
}

}  // namespace toprun::live
