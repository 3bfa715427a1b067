#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace toprun {

// An operation that is awaited with it returns its error, before its results, and does not throw
// it.
inline constexpr auto quietly = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace toprun
