#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "machine/container/container.h"

namespace toprun::container {

// An argument vector as it grows, flags and their values as words of their own.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}

  void add(std::string word) { words_.push_back(std::move(word)); }
  void add(std::string flag, std::string value) {
    words_.push_back(std::move(flag));
    words_.push_back(std::move(value));
  }
  void add_all(const std::vector<std::string>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// What sets a variable inside by --env: "NAME" where the program's own environment has it with this
// value, so that it does not stand in the process list, else "NAME=VALUE". A secret is put into
// that environment.
std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment);

// "SRC:DST[:ro]", as Podman, Docker and Apptainer take it.
std::string colon_form(const Bind& bind);
// Whether colon_form() would be read as something else: of a path with ':', ',' or '"' in it.
bool needs_mount_form(const Bind& bind);
// "type=bind,source=SRC,destination=DST[,ro]" for their --mount, a line of comma-separated values
// in which a value may stand in quotes (RFC 4180).
std::string mount_form(const Bind& bind);

}  // namespace toprun::container
