#include "bench/gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text/text.h"

namespace toprun::gpu {
namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& folders, std::string folder) {
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
}

// prefix/lib/python3.11/site-packages/below
// The folder may be absent: an error then names it as one that was searched.
void add_packages(std::vector<std::string>& folders, const fs::path& prefix,
                  std::string_view below) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const char* lib : {"lib", "lib64"}) {
    for (const auto& entry : fs::directory_iterator(prefix / lib, error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path folder = entry.path() / packages;
        if (fs::is_directory(folder, error)) found.push_back(folder / below);
      }
    }
  }
  std::ranges::sort(found);
  for (const fs::path& folder : found) add(folders, folder);
}

}  // namespace

std::vector<std::string> folders_of(const Environment& environment, std::string_view below) {
  std::vector<std::string> folders;
  const std::string libraries = environment.non_empty("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(libraries, ':')) {
    if (!folder.empty()) add(folders, std::string(folder));
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = environment.non_empty(variable)) add_packages(folders, *prefix, below);
  }
  if (const auto python = environment.non_empty("PYTHON_EXEC")) {
    add_packages(folders, fs::path(*python).parent_path().parent_path(), below);
  }
  std::error_code error;
  const std::string programs = environment.non_empty("PATH").value_or("");
  for (const std::string_view folder : split(programs, ':')) {
    if (folder.empty() || !fs::exists(fs::path(folder) / "python3", error)) continue;
    add_packages(folders, fs::path(folder).parent_path(), below);
    break;
  }
  return folders;
}

Result<Library> Library::open(std::string_view file, const std::vector<std::string>& folders) {
  std::error_code error;
  std::string path(file);
  for (const std::string& folder : folders) {
    if (fs::exists(fs::path(folder) / file, error)) {
      path = fs::path(folder) / file;
      break;
    }
  }
  if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return Library(handle, std::move(path));
  }
  const char* const reason = ::dlerror();
  const std::string looked = folders.empty() ? "" : join(folders, ", ") + " and ";
  if (path != file) return fail("opening " + path, reason == nullptr ? "" : reason);
  return fail(fmt::format("{} was not found", file),
              fmt::format("looked for in {}the system's libraries", looked),
              "add the library's folder to LD_LIBRARY_PATH, or choose the Python environment that "
              "contains the library with --venv DIR");
}

void* Library::find(const char* name) const {
  return ::dlsym(handle_, name);
}

std::unexpected<Error> Library::missing(const char* name) const {
  return fail(path_, fmt::format("the library has no function {}", name),
              "perhaps the library is too old, or it is another library");
}

}  // namespace toprun::gpu
