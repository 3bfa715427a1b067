#include "machine/stacks/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace toprun::stacks {
namespace {

constexpr std::size_t text_step_bytes = 64;

}  // namespace

std::string Memory::text(Address from, std::size_t most_bytes) {
  std::string out;
  std::array<char, text_step_bytes> step{};
  while (out.size() < most_bytes) {
    // Up to the next multiple, so that no step reaches into a page that the text does not.
    const std::size_t size =
        std::min(text_step_bytes - (from + out.size()) % text_step_bytes, most_bytes - out.size());
    if (!read(from + out.size(), std::as_writable_bytes(std::span(step).first(size)))) break;
    const auto end = std::find(step.begin(), step.begin() + static_cast<std::ptrdiff_t>(size), 0);
    out.append(step.begin(), end);
    if (end != step.begin() + static_cast<std::ptrdiff_t>(size)) break;
  }
  return out;
}

bool ForeignMemory::read(Address from, std::span<std::byte> into) {
  if (file_) return read_file(from, into);
  iovec local{into.data(), into.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process
  iovec remote{reinterpret_cast<void*>(from), into.size()};
  const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(into.size())) return true;
  error_ = got < 0 ? errno : EFAULT;
  if (error_ != EPERM && error_ != ENOSYS) return false;
  file_ = Fd(::open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
  return file_ && read_file(from, into);
}

bool ForeignMemory::read_file(Address from, std::span<std::byte> into) {
  const ssize_t got = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(from));
  if (got == static_cast<ssize_t>(into.size())) return true;
  error_ = got < 0 ? errno : EFAULT;
  return false;
}

bool Pages::read(Address from, std::span<std::byte> into) {
  if (into.size() > page_bytes) return memory_.read(from, into);
  while (!into.empty()) {
    const Address start = from - from % page_bytes;
    auto page = pages_.find(start);
    if (page == pages_.end()) {
      if (pages_.size() == most_pages) return false;
      page = pages_.try_emplace(start).first;
      if (!memory_.read(start, page->second)) {
        pages_.erase(page);
        return false;
      }
    }
    const std::size_t offset = from - start;
    const std::size_t size = std::min(into.size(), page_bytes - offset);
    std::memcpy(into.data(), page->second.data() + offset, size);
    into = into.subspan(size);
    from += size;
  }
  return true;
}

}  // namespace toprun::stacks
