#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/error.h"

namespace toprun::container {

// A host folder or file that is mounted in the container. Both paths are absolute and normalised.
struct Bind {
  std::string source;
  std::string target;
  bool read_only = false;
  bool operator==(const Bind&) const = default;
};

// A host file or folder, and what determined its path: a variable or FILE:LINE.
struct SourcedPath {
  std::string path;
  std::string source;

  SourcedPath operator/(std::string_view name) const {
    return {path + "/" + std::string(name), source};
  }
};

// The user's requests, from --container and related options or from an EDF file. If no image is
// set, the ranks run on the host itself. Host paths may be relative until make_absolute() is
// called.
struct Request {
  std::string environment = {};  // from --environment: an EDF's name or file; empty: no EDF
  std::string image = {};        // as typed: a path, or a reference such as docker://python:3.12
  std::string runtime = "auto";  // a name of runtimes(), or "auto"
  std::vector<Bind> binds = {};
  std::string workdir = {};                 // in the container; empty: the current folder
  std::vector<std::string> host_wins = {};  // variables that get the host's value, not the image's
  std::string name = {};                    // the container is kept under this name after the run;
                                            // empty: not kept
  bool root = false;                        // the user is root in the container
  bool writable = false;                    // changes inside the image's own folders are allowed
  bool gpu = true;                          // use the node's GPUs, if the node has any
  std::vector<std::pair<std::string, std::string>> variables = {};    // from an EDF, see inside()
  std::vector<std::pair<std::string, std::string>> annotations = {};  // from an EDF: settings of
                                                                      // its hooks

  bool empty() const { return image.empty(); }
};

// Makes the host paths absolute: the paths of the binds and of an image file or folder.
void make_absolute(Request& request, std::string_view folder);

// Parses SRC[:DST[:ro|rw]], the value of --bind; without DST, SRC is mounted at its own path. SRC
// may be relative, see make_absolute(). Errors (exit_usage): empty text, DST relative or "/", an
// unknown word after DST.
Result<Bind> parse_bind(std::string_view text);

// Returns the bind that every container gets without an option: the project's folder at its own
// path. Empty for "/" and for folders that every image contains (/usr, /etc …), because the bind
// would hide the image's folder.
std::vector<Bind> default_binds(std::string_view folder);

// Sorts the binds for a runtime: a target comes before the targets inside it, so that no bind hides
// another. Of several binds with one target, only the last is kept.
std::vector<Bind> in_order(std::span<const Bind> binds);

}  // namespace toprun::container
