#include "server/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "aliquot/base/check.h"

namespace aliquot::server {
namespace {

constexpr int kGzipFormat = 15 + 16;  // the largest window; +16: gzip, not zlib
constexpr int kMemoryLevel = 8;       // zlib's default

}  // namespace

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  const int ready = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, kMemoryLevel,
                                 Z_DEFAULT_STRATEGY);
  ALIQUOT_CHECK(ready == Z_OK);
  std::string out;
  // Text like ours shrinks to a tenth or less; more is asked for if that is wrong.
  out.resize(bytes.size() / 8 + 128);
  size_t written = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    if (written == out.size()) out.resize(out.size() * 2);
    const size_t taken = std::min(bytes.size(), kMost);
    const size_t room = std::min(out.size() - written, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(taken);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = deflate(&stream, taken == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(taken - stream.avail_in);
    written += room - stream.avail_out;
  }
  deflateEnd(&stream);
  out.resize(written);
  return out;
}

}  // namespace aliquot::server
