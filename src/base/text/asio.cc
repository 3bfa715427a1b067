// The only file that compiles Asio's non-template code.
#include <boost/asio/impl/src.hpp>
