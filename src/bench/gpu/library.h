#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::gpu {

// A shared library opened at run time. The library stays open until the process ends, because
// NCCL's threads run code in it.
class Library {
 public:
  // Opens the file from the first of `folders` that contains the file. If no folder contains the
  // file, the dynamic linker searches for the file. The error contains the searched folders, or the
  // linker's message.
  static Result<Library> open(std::string_view file, const std::vector<std::string>& folders);

  const std::string& path() const { return path_; }

  // Sets a function pointer. Error: the library has no such function.
  template <class Function>
  Result<void> load(Function*& function, const char* name) const {
    void* const found = find(name);
    if (found == nullptr) return missing(name);
    function = reinterpret_cast<Function*>(found);
    return {};
  }
  // Null if the library lacks the function.
  template <class Function>
  void load_if_there(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(find(name));
  }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* find(const char* name) const;
  std::unexpected<Error> missing(const char* name) const;

  void* handle_;
  std::string path_;
};

// The folders that may contain a library from a Python package: those in LD_LIBRARY_PATH, then the
// folder `below` in the site-packages of the active environment (VIRTUAL_ENV, CONDA_PREFIX) and of
// the python3 in PATH.
std::vector<std::string> folders_of(const Environment& environment, std::string_view below);

}  // namespace toprun::gpu
