// What device plugins write about a node's cards into its annotations: the
// register text, in one of two forms, and the link scores between cards.
//
// Numbers are in the vendor's units and fit int32; negative ones are handed
// on. Errors are kInvalid: either the whole text is read or none of it. More than
// core::kMostCards cards, or 256 KiB of text, are an error that names the limit.
//
// Thread safety: every function from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/core/model.h"

namespace aliquot::codec {

// Where an instance of a MIG profile may lie on its card, in memory slices.
using MigPlacement = core::Slices;

// A way to cut a MIG card. Memory in MiB, cores in percent.
using MigProfile = core::CardProfile;

// Vendors' own facts about a card. A number is cut off to a whole one; what is
// neither a number (within int64) nor a string has no value.
using CustomInfo = core::Facts;

// A card as it was registered. The texts do not say `device.vendor`,
// `named_after_vendor` and `cordoned`: these are for the caller.
struct NodeDevice {
  core::Device device;
  std::vector<MigProfile> mig_profiles;
  CustomInfo custom_info;

  bool operator==(const NodeDevice&) const = default;
};

// JSON form: [{"id":"GPU-0","index":1,"count":10,"devmem":32768,...}, ...].
//
// Keys in any case, the last of equal ones counts; unknown keys are passed
// over; a missing or null field is zero, false or empty. Rejected: numbers
// that are not plain int32, a negative index, a null card, anything after the
// list. Bytes that are not UTF-8 become U+FFFD. Placements that do not lie on
// a card (size below 1, start below 0, end beyond 64 slices) are dropped.
Result<std::vector<NodeDevice>> ParseNodeDevicesJson(std::string_view text);

// As the plugins write it: zero, false and empty fields of a card are left out.
std::string FormatNodeDevicesJson(std::span<const NodeDevice> devices);

// Colon form: `id,count,devmem,devcore,type,numa,health[,index,mode]:` per card.
Result<std::vector<core::Device>> ParseNodeDevicesColon(std::string_view text);

// REQUIRES: no ',' or ':' in ids, types and modes.
std::string FormatNodeDevicesColon(std::span<const core::Device> devices);

// Link scores of a node's cards: id -> other id -> score.
using PairScores = std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>>;

// [{"uuid":"GPU-0","score":{"GPU-1":100}}, ...]; the first entry of a card
// counts. Read as leniently as the JSON form above.
Result<PairScores> ParsePairScores(std::string_view text);
std::string FormatPairScores(const PairScores& scores);

}  // namespace aliquot::codec
