// The body of /filter.
#include "fuzz/fuzz.h"
#include "server/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aliquot;
  const std::string text = fuzz::Text(data, size);
  const Result<scheduler::FilterRequest> request = server::ParseFilterRequest(text);
  if (!request) {
    fuzz::RequireMessage(request.error());
    return 0;
  }
  scheduler::FilterAnswer answer;
  answer.node_names = request->node_names;
  if (request->simulation) {
    answer.nodes.emplace();
    for (size_t i = 0; i < request->nodes.size(); ++i) answer.nodes->push_back(i);
  }
  fuzz::Require(!server::ToJson(answer, *request).empty(), "there is an answer");
  return 0;
}
