/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orderbook.cpp - matches the orders of a stock exchange.
 *
 * What a profile shows below the frames of the standard library:
 *   held at the peak  Book::rest(): orders that found no counterpart wait in a std::map of prices
 *                     and in a std::unordered_map of numbers
 *   live at the end   Journal::keep(): the journal is allocated once and never deleted
 *   growing           Book::rest(), and Journal::keep(): a line for each trade
 *   churn             describe(): a std::string is put together for each order, and dropped
 *
 *	g++ -g -O2 -o orderbook examples/orderbook.cpp && ./orderbook 100000
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct Order {
	uint64_t number;
	bool buys;
	int price, amount;
	std::string client;
};

/* The lines of all trades. */
class Journal
{
      public:
	void keep(const std::string &line)
	{
		lines.push_back(line);
	}
	size_t size() const
	{
		return lines.size();
	}

      private:
	std::vector<std::string> lines;
};

class Book
{
      public:
	explicit Book(Journal *journal) : journal(journal)
	{
	}

	void add(Order order)
	{
		match(order);
		if (order.amount > 0)
			rest(std::move(order));
	}

	void cancel(uint64_t number)
	{
		auto found = price_of.find(number);

		if (found == price_of.end())
			return;
		remove(bids, found->second, number);
		remove(asks, found->second, number);
		price_of.erase(found);
	}

	size_t waiting() const
	{
		return price_of.size();
	}

      private:
	using Side = std::map<int, std::deque<Order>>;

	__attribute__((noinline)) void rest(Order order)
	{
		price_of[order.number] = order.price;
		(order.buys ? bids : asks)[order.price].push_back(std::move(order));
	}

	static void remove(Side &side, int price, uint64_t number)
	{
		auto level = side.find(price);

		if (level == side.end())
			return;
		for (auto at = level->second.begin(); at != level->second.end(); ++at) {
			if (at->number == number) {
				level->second.erase(at);
				break;
			}
		}
		if (level->second.empty())
			side.erase(level);
	}

	void trade(Order &taker, Order &maker)
	{
		int amount = std::min(taker.amount, maker.amount);

		taker.amount -= amount;
		maker.amount -= amount;
		journal->keep(taker.client + " and " + maker.client + ": " +
			      std::to_string(amount) + " at " + std::to_string(maker.price));
	}

	void match(Order &taker)
	{
		Side &side = taker.buys ? asks : bids;

		while (taker.amount > 0 && !side.empty()) {
			auto level = taker.buys ? side.begin() : std::prev(side.end());

			if (taker.buys ? level->first > taker.price : level->first < taker.price)
				return;
			Order &maker = level->second.front();
			trade(taker, maker);
			if (maker.amount > 0)
				return;
			price_of.erase(maker.number);
			level->second.pop_front();
			if (level->second.empty())
				side.erase(level);
		}
	}

	Journal *journal;
	Side bids, asks;
	std::unordered_map<uint64_t, int> price_of;
};

__attribute__((noinline)) std::string describe(const Order &order)
{
	return "order " + std::to_string(order.number) + " of " + order.client +
	       (order.buys ? " buys " : " sells ") + std::to_string(order.amount) + " at " +
	       std::to_string(order.price);
}

/* A generator whose numbers are the same on every machine. */
uint32_t next_random()
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

Order make_order(uint64_t number)
{
	bool buys = next_random() % 2;
	int price = 10000 + (buys ? -60 : 0) + (int)(next_random() % 100) - 20;

	return {number, buys, price, 1 + (int)(next_random() % 50),
		"client of the branch no. " + std::to_string(next_random() % 500)};
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t n_orders = argc > 1 ? strtoull(argv[1], nullptr, 10) : 20000;
	auto *journal = new Journal;
	Book book(journal);
	size_t printed = 0;

	for (uint64_t n = 0; n < n_orders; n++) {
		Order order = make_order(n);

		printed += describe(order).size();
		book.add(std::move(order));
		if (n % 8 == 7)
			book.cancel(n - next_random() % 1000);
	}
	printf("%llu orders (%zu bytes), %zu trades, %zu orders wait\n",
		(unsigned long long)n_orders, printed, journal->size(), book.waiting());
	return 0;
}
