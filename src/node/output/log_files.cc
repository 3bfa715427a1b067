#include "node/output/log_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/os/console.h"
#include "base/os/trust.h"

namespace toprun::output {
namespace {

constexpr std::size_t copied_bytes = 64 * 1024;

// Whether a line ends after the byte at `i`; a final \r does not end one yet.
bool ends_at(std::string_view bytes, std::size_t i) {
  return bytes[i] == '\n' || (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n');
}

// The offset past the last line end within the first `within` bytes, 0 if there is none.
std::size_t last_end(std::string_view bytes, std::size_t within) {
  std::size_t end = within;
  while (end > 0 && !ends_at(bytes, end - 1)) --end;
  return end;
}

// The offset past the first line end; the size if there is none.
std::size_t first_end(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size() && !ends_at(bytes, i)) ++i;
  return std::min(i + 1, bytes.size());
}

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : fmt::format("{}.{}", path, number);
}

// Copies the bytes from `from_byte` to the end; 0 or an errno.
int copy_end(int from, std::uint64_t from_byte, int to) {
  std::array<char, copied_bytes> buffer;
  for (;;) {
    const ssize_t n = ::pread(from, buffer.data(), buffer.size(), static_cast<off_t>(from_byte));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    const std::string_view part(buffer.data(), static_cast<std::size_t>(n));
    if (!write_all(to, part)) return errno;
    from_byte += part.size();
  }
}

}  // namespace

std::vector<Rotation::Part> Rotation::add(std::string_view bytes) {
  std::vector<Part> parts;
  if (bytes.empty()) return parts;
  if (after_return_ && bytes.front() != '\n') open_bytes_ = 0;
  after_return_ = bytes.back() == '\r';
  while (!bytes.empty()) {
    const std::uint64_t room = limit_bytes_ - std::min(size_bytes_, limit_bytes_);
    std::size_t taken = bytes.size();
    if (taken > room) taken = last_end(bytes, static_cast<std::size_t>(room));
    if (taken == 0) {
      if (open_bytes_ < size_bytes_) {
        parts.push_back(rotated(open_bytes_));
        continue;
      }
      taken = first_end(bytes);  // a line longer than the limit, alone in its file
    }
    append(bytes.substr(0, taken), parts);
    bytes.remove_prefix(taken);
  }
  return parts;
}

void Rotation::append(std::string_view bytes, std::vector<Part>& parts) {
  if (parts.empty() || !parts.back().bytes.empty()) parts.push_back({false, 0, {}});
  parts.back().bytes = bytes;
  size_bytes_ += bytes.size();
  const std::size_t end = last_end(bytes, bytes.size());
  open_bytes_ = end > 0 ? bytes.size() - end : open_bytes_ + bytes.size();
}

Rotation::Part Rotation::rotated(std::uint64_t carry_bytes) {
  size_bytes_ = carry_bytes;
  return {true, carry_bytes, {}};
}

int rotate_files(int fd, const std::string& path, std::uint64_t carry_bytes) {
  const std::string next = path + ".new";
  const Fd file = open_without_links(next);
  if (!file) return errno;
  struct stat status {};
  int code = ::fstat(fd, &status) == 0 ? 0 : errno;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t kept = size - std::min(size, carry_bytes);
  if (code == 0 && carry_bytes > 0) code = copy_end(fd, kept, file.get());
  if (code != 0) {
    ::unlink(next.c_str());
    return code;
  }
  for (int number = Rotation::kept_files; number > 0; --number) {
    ::rename(numbered(path, number - 1).c_str(), numbered(path, number).c_str());
  }
  if (carry_bytes > 0 && ::ftruncate(fd, static_cast<off_t>(kept)) != 0) code = errno;
  if (::rename(next.c_str(), path.c_str()) != 0) code = errno;
  return ::dup3(file.get(), fd, O_CLOEXEC) < 0 ? errno : code;
}

Result<Fd> open_log(const std::string& path) {
  // Opened for reading too: rotation moves a line that no longer fits to the next file.
  Fd file = open_without_links(path);
  if (file) return file;
  return fail_errno("cannot write the log file " + path, "choose another folder with --log-dir");
}

LogFiles::LogFiles(boost::asio::io_context& io, std::optional<std::uint64_t> max_bytes,
                   std::function<void()> roomy)
    : max_bytes_(max_bytes),
      writer_(Writer::create(io, {std::move(roomy), [this](int fd, int code) { failed(fd, code); }},
                             {})) {}

LogFiles::~LogFiles() {
  for (const auto& [file, state] : files_) {
    if (state.open) writer_->close(file);
  }
  writer_->abandon();
}

Result<LogFiles::File> LogFiles::open(const std::string& path, const std::shared_ptr<Fd>& opened) {
  Result<Fd> file = opened ? std::move(*opened) : open_log(path);
  if (!file) return std::unexpected(file.error());
  State& state = files_[file->get()];
  state = {path, std::nullopt, true};
  if (max_bytes_) state.rotation.emplace(*max_bytes_);
  return file->release();
}

void LogFiles::write(File file, std::string_view bytes) {
  State& state = files_[file];
  if (!state.rotation) return writer_->write(file, std::string(bytes));
  for (const Rotation::Part& part : state.rotation->add(bytes)) {
    if (part.rotate) {
      writer_->run(file, [path = state.path, carry = part.carry_bytes](int fd) {
        return rotate_files(fd, path, carry);
      });
    }
    writer_->write(file, std::string(part.bytes));
  }
}

void LogFiles::close(File file) {
  files_[file].open = false;
  writer_->close(file);
}

void LogFiles::failed(int fd, int code) {
  if (std::exchange(reported_errno_, code) == code) return;  // reported: files share the disk
  say(fmt::format("cannot write to {}: {}; the job goes on, but its logs have gaps from now on",
                  files_[fd].path, errno_text(code)));
}

}  // namespace toprun::output
