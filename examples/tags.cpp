/*
 * tags.cpp - memory counted by purpose: scopes in C++.
 *
 *	c++ -o tags tags.cpp
 *	HEAPLAPSE_MODE=tags LD_PRELOAD=libheaplapse.so ./tags
 */
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <heaplapse.h>

namespace
{

class index
{
      public:
	void add(const std::string &word)
	{
		HEAPLAPSE_FUNCTION_SCOPE();
		words_[word].push_back(words_.size());
	}

      private:
	std::map<std::string, std::vector<std::size_t>> words_;
};

/* A scope ends with its block, also by return or an exception. */
void parse(index &to, int lines)
{
	HEAPLAPSE_SCOPE("parse");

	for (int i = 0; i < lines; i++)
		to.add("a word that is too long for the string itself " + std::to_string(i));
	throw std::runtime_error("the end of the text");
}

} // namespace

int main()
{
	heaplapse_thread_name("main");
	index words;
	try {
		parse(words, 1000);
	} catch (const std::runtime_error &) {
	}

	std::string name = "level " + std::to_string(3);
	{
		heaplapse::scope level(name.c_str());
		std::unique_ptr<char[]> block(new char[4096]);
		block[0] = 1;
	}

	char text[4000];
	std::size_t len = heaplapse_stats_text(text, sizeof(text));
	std::printf("%s", len ? text : "no tags are counted\n");
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
