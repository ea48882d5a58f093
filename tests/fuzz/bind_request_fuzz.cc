// The body of /bind.
#include "fuzz/fuzz.h"
#include "server/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  if (const auto request = server::ParseBindRequest(text); !request)
    fuzz::RequireMessage(request.error());
  return 0;
}
