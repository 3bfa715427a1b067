#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric/devices.h"
#include "machine/fabric/sysfs.h"

namespace toprun::fabric {

// What the vendor or operator of a network says that NCCL needs on it.

enum class ClueKind : std::uint8_t {
  path,    // a file or folder of this name is there
  dmi,     // a text of /sys/class/dmi/id contains it: "FIELD=TEXT"
  vendor,  // an RDMA device has this PCI vendor
};

struct Clue {
  ClueKind kind;
  std::string_view text;
};

// "NAME=VALUE"; a value that begins with '+' stands before what the variable holds already, with a
// colon between: for search paths.
struct ProfileVariable {
  std::string_view name, value;
  std::string_view only_with = {};  // a path without which it is not set
};

struct Profile {
  std::string_view name;        // as --fabric takes it
  std::string_view title;       // "Google A3 Mega, GPUDirect-TCPXO"
  std::span<const Clue> clues;  // all must hold
  // A file for bash to source, which sets variables for the machine that it runs on; copies of what
  // it sets go stale. Before it the variables are set.
  std::string_view script = {};
  std::span<const ProfileVariable> variables;
  std::string_view note = {};    // what else matters there
  std::string_view source = {};  // of the values
  std::string_view date = {};    // on which they were read there
  // NCCL has a plugin for this network that is as fast as RDMA and needs no verbs devices.
  bool has_own_transport = false;
  // What a user can do where NCCL goes without GPUDirect; empty: what `toprun doctor` says.
  std::string_view without_gpu_direct = {};
};

// All, in the order in which they are looked for.
std::span<const Profile> profiles();
const Profile* find_profile(std::string_view name);

// The first whose clues are all there; null: none, the network is a generic one.
const Profile* detect_profile(const Sysfs& sysfs, std::span<const Device> devices);

// The first of the clues that is not there: "/sys/class/cxi is not there"; empty: all are.
std::string absent_mark(const Profile& profile, const Sysfs& sysfs,
                        std::span<const Device> devices);

// Why it is that one: "/var/lib/tcpxo/lib64/nccl-env-profile.sh is there".
std::string evidence_of(const Profile& profile);

}  // namespace toprun::fabric
