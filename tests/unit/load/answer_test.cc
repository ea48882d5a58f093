#include "load/answer.h"

#include <gtest/gtest.h>

#include <string>

namespace aliquot::load {
namespace {

std::string Body(const std::string& names, const std::string& error = "") {
  return R"({"Nodes":null,"NodeNames":)" + names +
         R"(,"FailedNodes":{"n2":"8/8 CardInsufficientMemory"},"Error":")" + error + "\"}\n";
}

TEST(AnswerTest, SomeNodesAreLeft) {
  EXPECT_EQ(ReadAnswer(200, Body(R"(["n1"])")).verdict, Verdict::kFits);
}

TEST(AnswerTest, NoNodeIsLeft) {
  EXPECT_EQ(ReadAnswer(200, Body("null")).verdict, Verdict::kRefused);
  EXPECT_EQ(ReadAnswer(200, Body("[]")).verdict, Verdict::kRefused);
}

TEST(AnswerTest, AnErrorIsNoRefusal) {
  const Answer answer = ReadAnswer(200, Body("null", "caches are not synced"));
  EXPECT_EQ(answer.verdict, Verdict::kFailed);
  EXPECT_EQ(answer.problem, "caches are not synced");
}

TEST(AnswerTest, WhatNoExtenderAnswers) {
  EXPECT_EQ(ReadAnswer(500, Body(R"(["n1"])")).problem, "HTTP status 500");
  for (const char* body :
       {"", "not json", "[]", "{}", R"({"NodeNames":7,"Error":""})", R"({"NodeNames":null})"})
    EXPECT_EQ(ReadAnswer(200, body).verdict, Verdict::kFailed) << body;
}

}  // namespace
}  // namespace aliquot::load
