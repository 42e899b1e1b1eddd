/* Memory of every size, by every function that takes one: at each boundary of a size class,
 * one byte and 32 bytes to both sides of it, and where a red zone of TL_DEBUG moves a size
 * over it. All of a block may be written, nobody else's memory is meant by it, it is aligned,
 * zeroed where that is promised, keeps its contents when it is resized, and goes back. Under
 * TL_DEBUG red zones are whole, and a write to the first byte behind a block is found. */
#include "sizes.h"

#include <fcntl.h>
#include <unistd.h>

#include "prove.h"

enum { BOUNDARIES = 90, SIZES = BOUNDARIES * 12, LAST_CLASS = 71 };

static size_t sizes[SIZES];
static int size_count;
static long tried;
static bool debug;
static uint64_t seed;

/* ---- which sizes ---------------------------------------------------------------------------- */

static void add_size(size_t bytes)
{
	if (bytes == 0) return;
	for (int i = 0; i < size_count; i++)
		if (sizes[i] == bytes) return;
	sizes[size_count++] = bytes;
}

/* Zones are 16 bytes, or 64 for multiples of 64. */
static void add_boundary(size_t bytes)
{
	static const size_t before[] = {64, 32, 17, 16, 15, 1, 0};
	for (int i = 0; i < 7; i++)
		if (bytes > before[i]) add_size(bytes - before[i]);
	add_size(bytes + 1);
	add_size(bytes + 32);
}

/* The largest request of size class i, from 0, and behind the last of them whole spans. */
static size_t boundary(int i)
{
	if (i < 16) return (size_t)(i + 1) * 32;
	int step = (i - 16) / 8, eighth = (i - 16) % 8;
	if (i <= LAST_CLASS) return (size_t)(8 + eighth + 1) << (6 + step);
	return (size_t)(i - LAST_CLASS + 1) << 16;
}

static void list_sizes(void)
{
	for (int i = 0; i <= LAST_CLASS + 4; i++) add_boundary(boundary(i));
	add_boundary(1 << 20);
	add_boundary((1 << 20) - 192); /* what a tensor's header leaves of it */
	for (size_t bytes = 1; bytes < 48; bytes++) add_size(bytes);
}

/* ---- one block ------------------------------------------------------------------------------- */

static unsigned char pattern(size_t at, unsigned salt) { return (unsigned char)(salt * 31 + at * 7 + (at >> 8) + 1); }

static void write_all(char* memory, size_t bytes, unsigned salt)
{
	for (size_t i = 0; i < bytes; i++) memory[i] = (char)pattern(i, salt);
}

static size_t first_wrong(const char* memory, size_t bytes, unsigned salt)
{
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)memory[i] != pattern(i, salt)) return i;
	return bytes;
}

static bool all_zero(const char* memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != 0) return false;
	return true;
}

static void blame(bool good, const kind* k, size_t bytes, const char* what)
{
	if (check_failed(good)) fprintf(stderr, "%s of %zu bytes: %s; %s\n", k->name, bytes, what, tl_last_error());
}

static bool make(const kind* k, size_t bytes, block* out)
{
	bool made = k->make(bytes, out);
	tried++;
	blame(made, k, bytes, "refused");
	if (!made) return false;
	blame((uintptr_t)out->at % (bytes % 64 == 0 || k->alignment != 32 ? k->alignment : 32) == 0, k, bytes,
	      "not aligned");
	blame(!k->zeroed || all_zero(out->at, bytes), k, bytes, "not zero");
	return true;
}

/* Three at once, each full of something else. */
static void three(const kind* k, size_t bytes)
{
	block of[3];
	for (unsigned i = 0; i < 3; i++) {
		if (!make(k, bytes, &of[i])) return;
		write_all(of[i].at, bytes, i);
	}
	for (unsigned i = 0; i < 3; i++)
		blame(first_wrong(of[i].at, bytes, i) == bytes, k, bytes, "another block was written to");
	k->end(of[1], bytes);
	for (unsigned i = 0; i < 3; i += 2) {
		blame(first_wrong(of[i].at, bytes, i) == bytes, k, bytes, "the end of another block shows");
		k->end(of[i], bytes);
	}
}

static void resized(const kind* k, size_t from, size_t to)
{
	block of;
	if (!make(k, from, &of)) return;
	write_all(of.at, from, 5);
	if (!k->resize(&of, to)) {
		blame(false, k, from, "cannot be resized");
		k->end(of, from);
		return;
	}
	size_t both = from < to ? from : to;
	tried++;
	blame(first_wrong(of.at, both, 5) == both, k, from, "contents got lost");
	write_all(of.at, to, 6);
	blame(first_wrong(of.at, to, 6) == to, k, to, "cannot be written to");
	k->end(of, to);
}

/* Findings are written to standard error, which is not what this is about. */
static void damage(const kind* k, size_t bytes)
{
	block of;
	if (!make(k, bytes, &of)) return;
	int errors = dup(2), null = open("/dev/null", O_WRONLY);
	write_all(of.at, bytes, 7);
	int64_t before = tl_mem_check_all();
	of.at[bytes] ^= 0x40;
	dup2(null, 2);
	int64_t found = tl_mem_check_all();
	dup2(errors, 2);
	close(errors);
	close(null);
	blame(before == 0, k, bytes, "a red zone is damaged that nobody wrote to");
	blame(found == 1, k, bytes, "a write behind it is not found");
	tl_clear_error();
	k->end(of, bytes);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static bool suits(const kind* k, size_t bytes)
{
	return (k->most == 0 || bytes <= k->most) && (k->unit == 0 || bytes % k->unit == 0);
}

static size_t random_size(void) { return sizes[check_random(&seed) % (uint64_t)size_count]; }

static void in_scope(void (*f)(const kind*, size_t), const kind* k, size_t bytes)
{
	int64_t depth = tl_get_scope_depth();
	CHECK_OK(tl_mem_enter_scope());
	f(k, bytes);
	CHECK_OK(tl_mem_exit_scopes_to(depth));
}

static void resize_to_some(const kind* k, size_t bytes)
{
	long times = 1 + prove_share(30);
	while (times-- > 0) resized(k, bytes, random_size());
}

/* A sample tries one size of several, others each time, and all where small objects end. */
static bool is_sampled(size_t bytes)
{
	const size_t largest = boundary(LAST_CLASS);
	bool chosen = check_random(&seed) % 100 < 12 + (uint64_t)prove_share(100);
	return chosen || (bytes + 64 >= largest && bytes <= largest + 64);
}

static void all_sizes_of(const kind* k)
{
	check_balance before = check_take_balance();
	for (int i = 0; i < size_count; i++) {
		if (!suits(k, sizes[i]) || !is_sampled(sizes[i])) continue;
		in_scope(three, k, sizes[i]);
		if (k->resize != NULL) in_scope(resize_to_some, k, sizes[i]);
		if (debug && k->guarded && check_random(&seed) % 8 == 0) in_scope(damage, k, sizes[i]);
	}
	if (debug) blame(tl_mem_check_all() == 0, k, 0, "a red zone is damaged");
	check_same_balance(before, k->name);
}

static void other_sizes(void)
{
	for (int i = 0; i < size_count; i++) {
		if (!is_sampled(sizes[i])) continue;
		CHECK_OK(tl_mem_enter_scope());
		sizes_of_others(sizes[i]);
		CHECK_OK(tl_mem_exit_scope());
		tried += OTHERS;
	}
}

int main(void)
{
	const char* setting = getenv("TL_DEBUG");
	debug = setting != NULL && strcmp(setting, "1") == 0;
	seed = prove_seed() * 2 + 1;
	list_sizes();
	kinds_open();
	for (int i = 0; i < kind_count; i++) all_sizes_of(&kinds[i]);
	other_sizes();
	kinds_close();
	if (check_finish() != 0) fprintf(stderr, "PROVE_SEED=%" PRIu64 "\n", prove_seed());
	return prove_told("blocks", tried, check_failures, NULL);
}
