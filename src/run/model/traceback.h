#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

// Python tracebacks in the output of a rank.
namespace toprun::model {

// A frame of a Python traceback, "  File \"train.py\", line 88, in step".
struct Frame {
  std::string_view file, line, function;
};
// nullopt: the line is not a frame. The result refers to `text`.
std::optional<Frame> frame_in(std::string_view text);

// The innermost frame of the user's own code in the last traceback: "train.py, line 88, in step".
// Empty: no line is such a frame.
std::string users_place(std::span<const std::string> output);
std::string users_place(const Frame& frame);

// Whether `output`, the last lines of a rank, proves that this exception was caught nowhere and
// ended the rank's Python. The proof is PyTorch's sys.excepthook, which puts "[rank0]: " before
// each line of such a traceback (_distributed_excepthook in torch/distributed/distributed_c10d.py);
// a traceback without that may have been logged by a rank that went on.
bool was_caught_nowhere(std::string_view exception, std::span<const std::string> output);

}  // namespace toprun::model
