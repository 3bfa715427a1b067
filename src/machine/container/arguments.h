#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/os/environment.h"
#include "machine/container/container.h"

namespace toprun::container {

// An argument vector that is built step by step; flags and their values are separate words.
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

// Returns the argument of --env that sets a variable in the container. `environment` is the
// environment in which the container runtime runs. If `environment` already contains the value, the
// argument is only "NAME", so that the process list does not show the value. Otherwise the argument
// is "NAME=VALUE". A secret is always added to `environment` first.
std::string variable_word(const std::string& name, const std::string& value,
                          Environment& environment);

// Returns "SRC:DST[:ro]", the form for Podman, Docker and Apptainer.
std::string colon_form(const Bind& bind);
// Whether a runtime would misread colon_form(), because a path contains ':', ',' or '"'.
bool needs_mount_form(const Bind& bind);
// Returns "type=bind,source=SRC,destination=DST[,ro]" for the --mount option of Podman, Docker and
// Apptainer. Fields are separated by commas and may be in quotes (RFC 4180).
std::string mount_form(const Bind& bind);

}  // namespace toprun::container
