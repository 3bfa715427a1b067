#include "node/output/log_files.h"

#include "base/os/console.h"
#include "base/os/private_folder.h"

namespace toprun::output {

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
