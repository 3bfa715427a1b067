#include "machine/container/environment.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace toprun::container {
namespace {

using namespace std::string_view_literals;

// A trailing "*" stands for all names that begin so.
constexpr std::array kept_outside{
    // Programs and libraries of the host: inside there are others, or none at these places. What
    // the
    // user wants from there is named by --container-env or -e.
    "PATH"sv, "LD_*"sv, "LIBRARY_PATH"sv, "CPATH"sv, "C_INCLUDE_PATH"sv, "CPLUS_INCLUDE_PATH"sv,
    "CC"sv, "CXX"sv, "FC"sv, "F77"sv, "F90"sv, "MANPATH"sv, "INFOPATH"sv, "PKG_CONFIG_PATH"sv,
    "CMAKE_PREFIX_PATH"sv, "ACLOCAL_PATH"sv, "PYTHON_EXEC"sv, "PYTHONHOME"sv, "PYTHONUSERBASE"sv,
    "PERL5LIB"sv, "JAVA_HOME"sv, "CUDA_HOME"sv, "CUDA_PATH"sv, "CUDA_ROOT"sv, "CUDADIR"sv,
    "CUDNN_*"sv, "ROCM_PATH"sv, "HIP_PATH"sv, "NVHPC*"sv, "MPI_HOME"sv, "OPAL_PREFIX"sv,
    "I_MPI_ROOT"sv, "NIX_*"sv,
    // Environments that were entered on the host.
    "VIRTUAL_ENV*"sv, "CONDA_*"sv, "_CE_*"sv, "MAMBA_*"sv, "PYENV_*"sv, "SPACK_*"sv, "EBROOT*"sv,
    "EBVERSION*"sv, "EBDEVEL*"sv, "MODULE*"sv, "__MODULES_*"sv, "LOADEDMODULES"sv, "_LMFILES_*"sv,
    "LMOD_*"sv, "__LMOD_*"sv, "_ModuleTable*"sv, "BASH_FUNC_*"sv,
    // The shell and the session from which toprun was started.
    "SHELL"sv, "SHLVL"sv, "PWD"sv, "OLDPWD"sv, "_"sv, "BASH_ENV"sv, "ENV"sv, "PROMPT_COMMAND"sv,
    "PS1"sv, "HIST*"sv, "LS_COLORS"sv, "LESSOPEN"sv, "LESSCLOSE"sv, "MAIL"sv, "HOSTNAME"sv,
    "DISPLAY"sv, "XAUTHORITY"sv, "WAYLAND_DISPLAY"sv, "DBUS_*"sv, "SSH_*"sv, "TMUX*"sv, "STY"sv,
    "XDG_RUNTIME_DIR"sv, "XDG_SESSION_*"sv, "XDG_SEAT"sv, "XDG_VTNR"sv, "XDG_DATA_DIRS"sv,
    "XDG_CONFIG_DIRS"sv,
    // Folders for temporary files that need not be there inside: /tmp is.
    "TMPDIR"sv, "TMP"sv, "TEMP"sv, "TEMPDIR"sv,
    // Locales that the image need not have: programs would complain, bash on every start.
    "LANG"sv, "LANGUAGE"sv, "LC_*"sv, "LOCPATH"sv, "TZDIR"sv,
    // Settings of container runtimes.
    "APPTAINER*"sv, "SINGULARITY*"sv, "ENROOT_*"sv, "PYXIS_*"sv, "DOCKER_*"sv, "CONTAINERS_*"sv,
    "CONTAINER_*"sv, "STORAGE_*"sv, "REGISTRY_AUTH_FILE"sv, "BUILDAH_*"sv, "PODMAN_*"sv, "OCI_*"sv};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

bool any_matches(std::string_view name, const auto& patterns) {
  return std::ranges::any_of(patterns,
                             [&](std::string_view pattern) { return matches(name, pattern); });
}

// Lists of folders to which the runtime adds its own, as Apptainer's --nv does.
bool is_list(std::string_view name) {
  return name == "PATH" || name == "LD_LIBRARY_PATH";
}

std::string joined(const std::string& first, const std::optional<std::string>& rest) {
  return first.empty() || !rest || rest->empty() ? first + rest.value_or("") : first + ":" + *rest;
}

// An EDF's. Its file was checked when it was read: what cannot be replaced is not set anywhere.
void set_variables(Environment& out, const Environment& image, const Environment& host,
                   const Request& request) {
  const Lookup lookup = [&](std::string_view name) {
    const auto of_image = image.get(name);
    return of_image ? of_image : std::optional(host.get(name).value_or(""));
  };
  for (const auto& [name, text] : request.variables) {
    const std::string value = expand(text, lookup).value_or("");
    if (text.empty()) {
      out.unset(name);
    } else {
      out.set(name, value);
    }
  }
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

Result<std::string> value_of(std::string_view inner, const Lookup& lookup) {
  constexpr std::string_view otherwise = ":-";
  const auto mark = inner.find(otherwise);
  const std::string_view name = inner.substr(0, mark);
  if (!is_name(name)) {
    return usage(fmt::format("${{{}}}", printable(inner)), "must be ${NAME} or ${NAME:-WORD}");
  }
  const auto value = lookup(name);
  if (value && (!value->empty() || mark == inner.npos)) return *value;
  if (mark != inner.npos) return std::string(inner.substr(mark + otherwise.size()));
  return usage(fmt::format("${{{}}}", name), "is not set",
               fmt::format("set it, or write ${{{}:-}}", name));
}

}  // namespace

bool passes(std::string_view name) {
  return !any_matches(name, kept_outside);
}

Environment inside(const Environment& image, const Environment& host, const Request& request) {
  Environment out = image;
  for (const auto& [name, value] : host.variables()) {
    if (any_matches(name, request.host_wins)) {
      out.set(name, is_list(name) ? joined(value, image.get(name)) : value);
    } else if (passes(name) && !image.has(name)) {
      out.set(name, value);
    }
  }
  set_variables(out, image, host, request);
  return out;
}

Result<std::string> expand(std::string_view text, const Lookup& lookup) {
  std::string out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar + 1);
    if (!text.starts_with('{')) {
      out += '$';
      if (text.starts_with('$')) text.remove_prefix(1);
      continue;
    }
    const auto end = text.find('}');
    if (end == text.npos) return usage("$" + printable(text), "it has no closing brace");
    out += TRY(value_of(text.substr(1, end - 1), lookup));
    if (out.size() > max_expanded_bytes)
      return usage("a value in the environment definition file",
                   "it is longer than 1 MiB after its variables are expanded");
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace toprun::container
