#include <array>

#include "base/text/text.h"
#include "machine/container/runtimes.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

enum class Trouble {
  no_space,
  namespaces,
  wrong_machine,
  no_image,
  no_reach,
  unreadable,
  no_target,
  limits,
  too_old,
  forbidden,
};

// Words as the programs write them, in small letters; the first that a line holds decides, and the
// last line that holds one: tries come before the failure.
struct Sign {
  std::string_view words;
  Trouble trouble;
};
constexpr std::array signs{
    Sign{"no space left on device", Trouble::no_space},
    Sign{"disk quota exceeded", Trouble::no_space},
    Sign{"user namespaces are not enabled", Trouble::namespaces},
    Sign{"user namespace is not enabled", Trouble::namespaces},
    Sign{"user namespace disabled", Trouble::namespaces},
    Sign{"failed to create user namespace", Trouble::namespaces},
    Sign{"failed to unshare user namespace", Trouble::namespaces},
    Sign{"cannot clone: operation not permitted", Trouble::namespaces},
    Sign{"cannot clone: no space left", Trouble::namespaces},
    Sign{"user namespace requirement", Trouble::namespaces},
    Sign{"no subuid ranges found", Trouble::namespaces},
    Sign{"exec format error", Trouble::wrong_machine},
    Sign{"does not match the expected platform", Trouble::wrong_machine},
    Sign{"no image found in manifest list for architecture", Trouble::wrong_machine},
    Sign{"no matching manifest for", Trouble::wrong_machine},
    Sign{"the image's architecture", Trouble::wrong_machine},
    Sign{"image format not recognized", Trouble::unreadable},
    Sign{"invalid image format", Trouble::unreadable},
    Sign{"manifest unknown", Trouble::no_image},
    Sign{"name unknown", Trouble::no_image},
    Sign{"did not resolve to an alias", Trouble::no_image},
    Sign{"image not known", Trouble::no_image},
    Sign{"unable to find image", Trouble::no_image},
    Sign{"could not open image", Trouble::no_image},
    Sign{"no such file or directory: ", Trouble::no_image},
    Sign{"no such host", Trouble::no_reach},
    Sign{"connection refused", Trouble::no_reach},
    Sign{"i/o timeout", Trouble::no_reach},
    Sign{"could not resolve host", Trouble::no_reach},
    Sign{"network is unreachable", Trouble::no_reach},
    Sign{"read-only file system", Trouble::no_target},
    Sign{"doesn't exist in container", Trouble::no_target},
    Sign{"error setting rlimit", Trouble::limits},
    Sign{"unknown flag", Trouble::too_old},
    Sign{"unknown shorthand flag", Trouble::too_old},
    Sign{"unrecognized option", Trouble::too_old},
    Sign{"is not allowed", Trouble::forbidden},
    Sign{"disallowed", Trouble::forbidden},
    Sign{"not permitted by configuration", Trouble::forbidden},
    Sign{"permission denied while trying to connect to the docker daemon", Trouble::forbidden},
    Sign{"cannot connect to the docker daemon", Trouble::forbidden},
};

// Apptainer's warning about an image without /etc/localtime.
constexpr std::string_view harmless = "Skipping mount";

std::optional<Trouble> trouble_in(std::string_view line) {
  const std::string small = lower(line);
  for (const Sign& sign : signs) {
    if (small.contains(sign.words)) return sign.trouble;
  }
  return std::nullopt;
}

// The line without colours and the program's own beginnings ("FATAL:  ").
std::string bare(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("\x1b[")) {
      const auto end = line.find('m', i);
      if (end == line.npos) break;
      i = end;
      continue;
    }
    out += line[i];
  }
  std::string_view text = trim(out);
  for (const std::string_view beginning : {"FATAL:"sv, "ERROR  :"sv, "ERROR:"sv, "Error:"sv}) {
    if (text.starts_with(beginning)) text = trim(text.substr(beginning.size()));
  }
  return std::string(text);
}

Error error_for(Trouble trouble, const Runtime& runtime, const std::string& line, const Run& run,
                const Node& node) {
  const std::string image =
      fmt::format("{}: container image {}", node.host, printable(run.request.image));
  const std::string name = fmt::format("{}: {}", node.host, runtime.name());
  switch (trouble) {
    case Trouble::no_space:
      return {image, line,
              "free some space, or choose another folder with TOPRUN_CONTAINERS (images and kept "
              "containers) or TMPDIR (temporary files of a build)"};
    case Trouble::namespaces:
      return {
          name + " may not make user namespaces", node.userns_off.empty() ? line : node.userns_off,
          "as root, set user.max_user_namespaces above 0; if they exist, set "
          "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; "
          "and give the user ranges in /etc/subuid and /etc/subgid"};
    case Trouble::wrong_machine:
      return {image, line, "use an image for this machine's architecture"};
    case Trouble::no_image:
      return {image, line,
              "check the image's name; if the image is in another registry, write the registry "
              "before the name"};
    case Trouble::no_reach:
      return {image, line,
              "the node cannot reach a registry: pull the image on a machine with a network "
              "(toprun setup), or set https_proxy"};
    case Trouble::unreadable:
      return {
          image, line,
          "this runtime does not know this kind of image, or the file was not copied completely"};
    case Trouble::no_target:
      return {
          name + " cannot show a folder inside", line,
          "the path in the image is read-only: bind the folder to another path, or use --writable"};
    case Trouble::limits:
      return {name + " may not set a limit", line,
              "raise the hard limits of this node, or lower the limits in containers.conf"};
    case Trouble::too_old:
      return {name + " does not know an option", line,
              "this version is too old: use a newer version"};
    case Trouble::forbidden:
      return {name + " may not be used in this way here", line,
              "ask the administrators, or choose another runtime with --container-runtime"};
  }
  return {image, line, {}};
}

}  // namespace

std::optional<Error> Runtime::explain(std::string_view its_words, const Run& run,
                                      const Node& node) const {
  std::optional<Error> last;
  for (const std::string_view line : split(its_words, '\n')) {
    if (line.contains(harmless)) continue;
    const auto trouble = trouble_in(line);
    if (trouble) last = error_for(*trouble, *this, bare(line), run, node);
  }
  return last;
}

}  // namespace toprun::container
