#pragma once

#include <cstddef>
#include <memory>

namespace toprun {

// Memory for reads. Nothing is written to it before the first read, so that the kernel supplies
// only the pages that reads fill.
class ReadBuffer {
 public:
  explicit ReadBuffer(std::size_t bytes)
      : bytes_(std::make_unique_for_overwrite<char[]>(bytes)), size_(bytes) {}

  char* data() { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

}  // namespace toprun
