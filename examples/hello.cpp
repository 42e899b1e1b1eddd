// c++ -std=c++17 hello.cpp -ltl_runtime && ./a.out
#include <cstdio>
#include <tl_runtime.hpp>

struct point {
	double x, y;
	tl::field<point> next; // counted; the runtime follows it

	static const tl::type<point>& runtime_type()
	{
		static const auto type = tl::type<point>::define("point", &point::next);
		return type;
	}
};

int main()
{
	tl::ref<point> first;
	{
		tl::scope scope; // what compiled code registers here is released at the brace
		first = tl::make<point>();
		first->x = 42;
		auto second = tl::make<point>();
		first->next = second;
		std::printf("the second point has %lld references\n", static_cast<long long>(second.use_count()));
	}
	std::printf("the answer is %g, and %g\n", first->x, first->next->x);
	try {
		tl::ref<point>::retain(reinterpret_cast<point*>(0x1000));
	} catch (const tl::error& error) {
		std::printf("a bad pointer is an exception, not a crash:\n  %s\n", error.what());
	}
}
