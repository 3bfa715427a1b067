#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toprun::container {

// A folder or file of the host that is seen inside. Both paths are absolute and normal.
struct Bind {
  std::string source;
  std::string target;
  bool read_only = false;
  bool operator==(const Bind&) const = default;
};

// A file or folder of the host, and what said so: a variable or FILE:LINE.
struct Place {
  std::string path;
  std::string source;

  Place operator/(std::string_view name) const { return {path + "/" + std::string(name), source}; }
};

// What the user asks for, by --container and the options beside it, or by an EDF file. No image:
// the ranks run on the host itself. Paths of the host may be relative until settle().
struct Wanted {
  std::string environment = {};  // of --environment: an EDF's name or file; empty: none
  std::string image = {};        // as typed: a path, or a reference such as docker://python:3.12
  std::string runtime = "auto";  // a name of runtimes(), or "auto"
  std::vector<Bind> binds = {};
  std::string workdir = {};                 // inside; empty: the current folder
  std::vector<std::string> host_wins = {};  // variables whose value is the host's, not the image's
  std::string name = {};                    // kept under this name after the run; empty: not kept
  bool root = false;                        // the user is root inside
  bool writable = false;                    // changes inside the image's own folders are allowed
  bool gpu = true;                          // GPUs, where the node has some
  std::vector<std::pair<std::string, std::string>> variables = {};    // of an EDF, see inside()
  std::vector<std::pair<std::string, std::string>> annotations = {};  // hooks of an EDF

  bool empty() const { return image.empty(); }
};

// Makes the paths of the host absolute: the image's, where it is a file or folder, and the binds'.
void settle(Wanted& wanted, std::string_view folder);

}  // namespace toprun::container
