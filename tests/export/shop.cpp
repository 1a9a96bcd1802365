// shop.cpp - a C++ program with templates, inlined calls, exceptions and containers in its stacks.
// For the tests of export.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

template <typename T, int N> struct shelf {
	std::vector<T> goods;

	inline __attribute__((always_inline)) void put(T t)
	{
		goods.push_back(t);
	}
	__attribute__((noinline)) void fill()
	{
		for (int i = 0; i < N; i++)
			put(T(i));
	}
};

static __attribute__((noinline)) void refuse(const std::string &name)
{
	throw std::runtime_error("no " + name + ", which we have never had and never shall have");
}

static __attribute__((noinline)) int sell(std::map<std::string, std::unique_ptr<int>> &stock, int i)
{
	std::string name = "a good with quite a long name, number " + std::to_string(i % 7);

	if (i % 5 == 0)
		refuse(name);
	stock[name] = std::make_unique<int>(i);
	return 1;
}

int main()
{
	std::map<std::string, std::unique_ptr<int>> stock;
	shelf<double, 3000> *doubles = new shelf<double, 3000>;
	shelf<char, 500> chars;
	int sold = 0, refused = 0;

	doubles->fill();
	chars.fill();
	for (int i = 0; i < 200; i++) {
		try {
			sold += sell(stock, i);
		} catch (const std::exception &) {
			refused++;
		}
	}
	printf("%d sold, %d refused\n", sold, refused);
	return 0; // the doubles leak
}
/* SPDX-License-Identifier: Apache-2.0 */
