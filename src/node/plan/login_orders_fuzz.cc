#include <cstdint>
#include <cstdlib>

#include "node/plan/login_orders.h"

// Accepted orders must be accepted again after writing them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::plan;
  const auto orders = parse_login_orders({reinterpret_cast<const char*>(data), size});
  if (!orders) return 0;
  const std::string text = text_of(*orders);
  const auto again = parse_login_orders(std::string_view(text).substr(text.find('\n') + 1));
  if (!again || again->argv.size() != orders->argv.size()) std::abort();
  return 0;
}
