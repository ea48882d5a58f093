// The handshake of a node.
#include "aliquot/codec/handshake.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const codec::Handshake handshake = codec::ParseHandshake(&text);
  if (handshake.kind != codec::Handshake::Kind::kRequesting) return 0;
  const std::string written = codec::FormatHandshake(handshake.time);
  fuzz::Require(codec::ParseHandshake(&written) == handshake, "a request is read as it is written");
  return 0;
}
