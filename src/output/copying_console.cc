#include "output/copying_console.h"

#include <fmt/format.h>

#include "base/console.h"
#include "base/error.h"
#include "output/lines.h"

namespace toprun::output {

CopyingConsole::CopyingConsole(boost::asio::io_context& io, std::shared_ptr<Console> shown, Fd file,
                               std::string path)
    : shown_(std::move(shown)),
      file_(file.release()),
      path_(std::move(path)),
      writer_(Writer::create(io,
                             {[this] { tell(); },
                              [this](int, int code) {
                                say(fmt::format("cannot write {}: {}; the job goes on", path_,
                                                errno_text(code)));
                              }},
                             {})) {
  shown_->listen(this, [this] { tell(); });
}

CopyingConsole::~CopyingConsole() {
  shown_->ignore(this);
  writer_->close(file_);
  writer_->abandon();
}

void CopyingConsole::write(bool is_err, std::string text) {
  if (!text.empty()) {
    // Where both streams are one terminal, it has got its new line already.
    const bool breaks = unfinished_ && *unfinished_ != is_err && text.front() != '\n';
    unfinished_ = ends_line(text.back()) ? std::nullopt : std::optional(is_err);
    writer_->write(file_, breaks ? '\n' + text : text);
  }
  shown_->write(is_err, std::move(text));
}

bool CopyingConsole::idle() {
  const bool shown = shown_->idle();  // both are asked, so that both tell
  return writer_->idle() && shown;
}

}  // namespace toprun::output
