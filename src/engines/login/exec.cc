#include "engines/login/exec.h"

#include <algorithm>

#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::engines {
namespace {

constexpr std::string_view end_of_command = "command terminated with exit code ";
constexpr std::string_view no_shell_fix =
    "use an image with a shell, or have the job itself run the script: toprun submit";

// Of kubectl and the API server, of kubelet, and of containerd and CRI-O, whose runc says what it
// could not execute. The first match counts.
constexpr KnownTrouble exec_troubles[] = {
    {"cannot create resource \"pods/exec\"", "you have no right to execute commands in pods",
     "ask the cluster's administrator; kubectl auth can-i create pods/exec shows your right"},
    {"(forbidden)", "",
     "ask the cluster's administrator; kubectl auth can-i --list shows your rights"},
    {"executable file not found", "its image has no sh", no_shell_fix},
    {"exec: \"sh\"", "its image has no sh", no_shell_fix},
    {"container not found", "its container does not run", "see toprun status, and try again"},
    {"cannot exec into a container in a completed pod", "the pod has ended",
     "submit the job again"},
    {"(notfound)", "the pod is gone",
     "the job may start another pod: see toprun status, and try again"},
    {"you must be logged in", "", "log in to the cluster again"},
    {"unauthorized", "", "log in to the cluster again"},
    {"unable to upgrade connection", "",
     "check that the pod's node is up, and that no proxy blocks the connection"},
    {"error dialing backend", "", "is the pod's node up?"},
    {"unable to connect to the server", "", "check the cluster's address: kubectl config view"},
    {"connection refused", "", "check the cluster's address: kubectl config view"},
    {"was refused", "", "check the cluster's address: kubectl config view"},
    {"unknown flag", "",
     "this program's version does not know the exec options that toprun uses: update the program"},
};

// Of a login's script too: the last counts.
constexpr std::size_t most_login_lines = 4'096;

}  // namespace

std::vector<std::string> exec_login(const std::vector<std::string>& exec,
                                    std::span<const Binary> binaries) {
  std::vector<std::string> argv = exec;
  argv.insert(argv.end(), {"sh", "-c", login_script(binaries)});
  return argv;
}

std::string without_exec_end(std::string_view said) {
  std::string kept;
  for (const std::string_view line : split(said, '\n')) {
    if (!line.starts_with(end_of_command)) kept.append(line).push_back('\n');
  }
  return kept;
}

LoginTrouble exec_trouble(std::string_view said) {
  constexpr std::string_view advice = "print the command with toprun --dry-run and run it by hand";
  const auto lines = complaint(without_exec_end(said), most_login_lines);
  for (const KnownTrouble& known : exec_troubles) {
    const auto line = std::ranges::find_if(
        lines, [&](const std::string& one) { return lower(one).contains(known.words); });
    if (line == lines.end()) continue;
    return {known.why.empty() ? *line : std::string(known.why), std::string(known.fix)};
  }
  const std::string last = lines.empty() ? std::string() : lines.back();
  return {last.empty() ? "it ended without a message" : last, std::string(advice)};
}

}  // namespace toprun::engines
