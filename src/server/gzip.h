// Compression of an answer.
#pragma once

#include <string>
#include <string_view>

namespace aliquot::server {

// As the gzip format (RFC 1952), fast rather than small. Thread safety: any thread.
std::string Gzip(std::string_view bytes);

}  // namespace aliquot::server
