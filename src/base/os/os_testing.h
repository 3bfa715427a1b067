#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace toprun {

#ifdef TOPRUN_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Whether an emulator of another processor runs the tests (make test-aarch64). It does not do
// everything that a kernel does.
inline bool emulated() {
  return ::getenv("EMULATED") != nullptr;
}

// How many random cases a test tries: at most `runs`. A sanitizer or an emulator makes each case
// ten times as slow. Rooms that need more cases also run their tests in the release build
// (cmake/Rooms.cmake).
inline int tried(int runs) {
  return sanitized || emulated() ? (runs + 19) / 20 : runs;
}

// An empty folder that exists as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "toprun-test-XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(pattern.data()));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace toprun
