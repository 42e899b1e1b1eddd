// The C++ header of the installed library, in a program of a stranger.
#include <cstdio>
#include <tl_runtime.hpp>

int main()
{
	void* object = nullptr;
	{
		tl::scope scope;
		object = tl_mem_new(64);
		if (tl_ptr_refcount(object) != 1) return 1;
	}
	if (tl_ptr_refcount(object) != -1) return 1;
	std::printf("consumer: TL Runtime %s from C++\n", tl_version());
	return 0;
}
