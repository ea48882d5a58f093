// The examples of docs/wire-format.md: every line of a tagged block is read by the
// codec that it is about, and is written again as it stands there. Lines that begin
// with '!' must be refused.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/codec/handshake.h"
#include "aliquot/codec/node_devices.h"
#include "aliquot/codec/node_lock.h"
#include "aliquot/codec/pod_devices.h"
#include "aliquot/codec/vendor_texts.h"
#include "aliquot/core/policy.h"
#include "support/builders.h"

namespace aliquot::vendors {
namespace {

struct Example {
  int line = 0;
  std::string text;
};

// Tag -> the lines of its blocks.
std::map<std::string, std::vector<Example>> Examples() {
  std::ifstream file(SOURCE_DIR "/docs/wire-format.md");
  std::map<std::string, std::vector<Example>> examples;
  std::optional<std::string> tag;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```text "))
      tag = line.substr(8);
    else if (line.starts_with("```"))
      tag.reset();
    else if (tag)
      examples[*tag].push_back({number, line});
  }
  return examples;
}

// What a text is when it is written again; none: it was refused.
using RoundTrip = std::function<std::optional<std::string>(const std::string& text)>;

template <typename T, typename Format>
std::optional<std::string> Again(const Result<T>& parsed, Format format) {
  if (!parsed) return std::nullopt;
  return format(*parsed);
}

std::optional<std::string> HandshakeAgain(const std::string& text) {
  const codec::Handshake handshake = codec::ParseHandshake(&text);
  if (handshake.kind != codec::Handshake::Kind::kRequesting) return std::nullopt;
  return codec::FormatHandshake(handshake.time);
}

std::optional<std::string> PodDevicesAgain(const std::string& text) {
  auto parsed = codec::ParsePodDevices(text);
  if (!parsed) return std::nullopt;
  parsed->pop_back();  // behind the last semicolon
  return codec::FormatPodDevices(*parsed);
}

// As the pod's request has it.
std::optional<std::string> SelectorAgain(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const core::PodRequest request =
      aliquot::testing::Pod({}).Annotate(key, text.substr(equals + 1)).Request();
  const core::CardSelector& selector = request.selectors.at(aliquot::testing::kNvidia);
  for (const core::SelectorList* list : {&selector.use_types, &selector.nouse_types,
                                         &selector.use_ids, &selector.nouse_ids, &selector.modes})
    if (list->given) return key + "=" + Join(list->members, ",");
  return std::nullopt;
}

std::optional<std::string> WeightsAgain(const std::string& text) {
  return Again(core::ParseScoringWeights(text), [](const core::ScoringWeights& weights) {
    return "slot=" + std::to_string(weights.slot) + ",core=" + std::to_string(weights.core) +
           ",memory=" + std::to_string(weights.memory);
  });
}

std::optional<std::string> IfKnown(bool known, const std::string& text) {
  return known ? std::optional(text) : std::nullopt;
}

const std::map<std::string, RoundTrip>& RoundTrips() {
  static const std::map<std::string, RoundTrip> kRoundTrips = {
      {"node-devices",
       [](const std::string& text) {
         return Again(codec::ParseNodeDevicesJson(text), codec::FormatNodeDevicesJson);
       }},
      {"node-devices-colon",
       [](const std::string& text) {
         return Again(codec::ParseNodeDevicesColon(text), codec::FormatNodeDevicesColon);
       }},
      {"pair-scores",
       [](const std::string& text) {
         return Again(codec::ParsePairScores(text), codec::FormatPairScores);
       }},
      {"handshake", HandshakeAgain},
      {"node-lock",
       [](const std::string& text) {
         return Again(codec::ParseNodeLock(text), codec::FormatNodeLock);
       }},
      {"pod-devices", PodDevicesAgain},
      {"mig-allocations",
       [](const std::string& text) {
         return Again(codec::ParseMigReservations(text), codec::FormatMigReservations);
       }},
      {"selectors", SelectorAgain},
      {"node-policy",
       [](const std::string& text) { return IfKnown(core::IsNodePolicy(text), text); }},
      {"card-policy",
       [](const std::string& text) { return IfKnown(core::IsCardPolicy(text), text); }},
      {"weights", WeightsAgain},
  };
  return kRoundTrips;
}

TEST(WireFormatDocument, HasExamplesOfEveryGrammarAndNoOthers) {
  std::vector<std::string> documented, known;
  for (const auto& [tag, lines] : Examples()) documented.push_back(tag);
  for (const auto& [tag, again] : RoundTrips()) known.push_back(tag);
  EXPECT_EQ(documented, known);
}

TEST(WireFormatDocument, ExamplesAreReadAndWrittenAsTheyStand) {
  for (const auto& [tag, lines] : Examples()) {
    const auto again = RoundTrips().find(tag);
    if (again == RoundTrips().end()) continue;  // the test above tells
    for (const Example& example : lines) {
      SCOPED_TRACE(tag + " in line " + std::to_string(example.line) + ": " + example.text);
      if (example.text.starts_with('!'))
        EXPECT_EQ(again->second(example.text.substr(1)), std::nullopt);
      else
        EXPECT_EQ(again->second(example.text), example.text);
    }
  }
}

}  // namespace
}  // namespace aliquot::vendors
