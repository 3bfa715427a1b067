// Fuzzes the socket between agent and shim: no frame may crash its reader or make it use more
// memory than a frame may have.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "node/worker/shim_link.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const toprun::Fd reader(ends[0]);
  toprun::Fd writer(ends[1]);
  [[maybe_unused]] const ssize_t n = ::send(writer.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  writer.reset();
  for (;;) {
    const auto frame = toprun::worker::receive_frame(reader.get());
    if (!frame || !*frame) return 0;
  }
}
