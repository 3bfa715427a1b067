#pragma once

#include <optional>
#include <string>

#include "base/text/error.h"
#include "base/text/outside.h"

// The file with the address of a job's page, so that `toprun status` can show it on another host.
namespace toprun::web {

struct PageAddress {
  Outside host;  // the root agent's host, which serves the page
  Outside url;   // with the token, unless the user chose the token
};

// Returns the file's path in the job's folder (LOGDIR/ID). Only the job's user can read the file,
// because it may contain the token.
std::string address_file(const std::string& folder);
Result<void> write_address(const std::string& folder, const PageAddress& address);
// Reads the file. nullopt: the file does not exist, or contains no URL.
std::optional<PageAddress> read_address(const std::string& folder);

// Returns the page's port on 127.0.0.1. Only the page's own host reaches a port on 127.0.0.1.
// nullopt: another address.
std::optional<int> port_on_loopback(const PageAddress& address);

}  // namespace toprun::web
