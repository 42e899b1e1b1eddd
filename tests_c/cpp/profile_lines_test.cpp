// Names and lines of C++ in profiles, traces and leak reports: members that are declared in their class,
// functions that are inlined and copies that are not, as `go tool pprof` shows them.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

namespace {

const std::string path = "/tmp/tl_profile_lines_" + std::to_string(getpid());
int inlined_line, grow_line;

// gcc's DWARF has no linkage name for a function that is inlined everywhere.
#ifdef __clang__
const std::string takes_name = "(anonymous namespace)::takes(unsigned long)";
#else
const std::string takes_name = "takes";
#endif

struct layer {
	void* weights = nullptr;
	__attribute__((noinline)) void grow(std::size_t bytes);
};

__attribute__((always_inline)) inline void* takes(std::size_t bytes)
{
	inlined_line = __LINE__ + 1;
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); // no tail call
	return p;
}

void layer::grow(std::size_t bytes)
{
	grow_line = __LINE__ + 1;
	weights = takes(bytes);
}

std::string text_of(const std::string& file)
{
	std::ifstream in(file);
	return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool pprof(const std::string& options, std::string& shown)
{
	const std::string command =
		"GOTOOLCHAIN=local go tool pprof " + options + " " + path + ".pb.gz >" + path + ".txt 2>/dev/null";
	const bool ran = std::system(command.c_str()) == 0;
	shown = text_of(path + ".txt");
	return ran;
}

bool shows(const std::string& text, const std::string& what)
{
	if (text.find(what) != std::string::npos) return true;
	std::fprintf(stderr, "%s is not in:\n%s\n", what.c_str(), text.c_str());
	return false;
}

std::string at(int line) { return __FILE__ ":" + std::to_string(line); }

TEST(a_profile)
{
	layer l;
	l.grow(1 << 16);
	CHECK_OK(tl_profile_write((path + ".pb.gz").c_str()));
	std::string shown;
	if (pprof("-top -unit=B -lines", shown)) {
		CHECK(shows(shown, "takes " + at(inlined_line) + " (inline)"));
		CHECK(shows(shown, "layer::grow " + at(grow_line)));
		CHECK(pprof("-top -unit=B", shown));
		CHECK(shows(shown, "layer::grow"));
		CHECK(shown.find("_ZN") == std::string::npos);
	} else {
		std::printf("skip: no go tool pprof\n");
	}
	CHECK_OK(tl_mem_free(l.weights));
}

std::string frame(const std::string& name, int line)
{
	return "\"name\":\"" + name + "\",\"file\":\"" __FILE__ "\",\"line\":" + std::to_string(line) + ",";
}

TEST(a_trace)
{
	layer l;
	CHECK_OK(tl_trace_start((path + ".json").c_str()));
	l.grow(5000);
	CHECK_OK(tl_trace_stop());
	const std::string text = text_of(path + ".json");
	CHECK(shows(text, frame(takes_name, inlined_line)));
	CHECK(shows(text, frame("(anonymous namespace)::layer::grow(unsigned long)", grow_line)));
	CHECK_OK(tl_mem_free(l.weights));
}

TEST(a_report)
{
	layer l;
	const uint64_t mark = *tl_track_count();
	l.grow(5000);
	CHECK_INT(tl_leak_report_since((path + ".txt").c_str(), mark), 1);
	const std::string text = text_of(path + ".txt");
	CHECK(shows(text, " in " + takes_name + " " + at(inlined_line) + "\n"));
	CHECK(shows(text, " in (anonymous namespace)::layer::grow(unsigned long) " + at(grow_line) + "\n"));
	CHECK_OK(tl_mem_free(l.weights));
}

} // namespace

int main()
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	check_run();
	for (const char* ending : {".pb.gz", ".txt", ".json"}) unlink((path + ending).c_str());
	return check_finish();
}
