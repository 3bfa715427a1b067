#include "base/os/random_name.h"

#include <sys/random.h>

#include <string_view>

namespace toprun {

std::string random_name(std::size_t letters) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string name(letters, '\0');
  if (::getrandom(name.data(), letters, 0) != static_cast<ssize_t>(letters)) return {};
  for (char& c : name) c = alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  return name;
}

}  // namespace toprun
