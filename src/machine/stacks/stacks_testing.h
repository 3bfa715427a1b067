#pragma once

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "machine/stacks/memory.h"

namespace toprun::stacks {

// Bytes that represent a process's memory, mapped in whole pages from `start` on.
class FakeMemory : public Memory {
 public:
  explicit FakeMemory(std::vector<std::byte> bytes, Address start = 0x10000)
      : bytes_(std::move(bytes)), start_(start) {
    bytes_.resize((bytes_.size() + Pages::page_bytes - 1) / Pages::page_bytes * Pages::page_bytes);
  }

  bool read(Address from, std::span<std::byte> into) override {
    const Address offset = from - start_;
    if (from < start_ || offset > bytes_.size() || into.size() > bytes_.size() - offset)
      return false;
    std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return true;
  }

  template <class T>
  void put(Address at, T value) {
    std::memcpy(bytes_.data() + (at - start_), &value, sizeof value);
  }
  void put_text(Address at, std::string_view text) {
    std::memcpy(bytes_.data() + (at - start_), text.data(), text.size());
  }

 private:
  std::vector<std::byte> bytes_;
  Address start_;
};

// Repeats `ask` while its answer arrives too late. If the machine is busy for a second, an answer
// can take longer than the limit.
template <class Ask, class TooLate>
auto in_time(const Ask& ask, const TooLate& too_late) {
  auto answer = ask();
  for (int i = 0; i < 100 && too_late(answer); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = ask();
  }
  return answer;
}

}  // namespace toprun::stacks
