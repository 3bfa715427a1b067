#include "base/secrets.h"

namespace toprun {

bool holds_a_secret(std::string_view name, std::string_view value) {
  for (const std::string_view part : {"KEY", "TOKEN", "SECRET", "PASSWORD"}) {
    if (name.contains(part)) return true;
  }
  return value.contains('@');
}

}  // namespace toprun
