// The same programs with calls, with the operations of tl_inline.h, and with an inline count in front of malloc. They do what a
// compiler emits for lists, trees and small matrices: a scope for each body of a function or a loop, and a reference for each
// variable, dropped where the variable ends.
#define TL_INLINE
#include <tl_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../peers/allocators.hpp"
#include "harness.hpp"

namespace bench {
namespace {

// An emitter's operations are inlined, whatever a C++ compiler thinks of their size.
#define BENCH_INLINE __attribute__((always_inline))

constexpr int kRounds = 1000;

// A function asks for a local() heap, and hands it on to functions of its own. In parentheses a name is the function, whether
// TL_INLINE is defined or not.
struct Called {
	Called local() const { return *this; }
	Called handed() const { return *this; }
	void retake() {}
	BENCH_INLINE void enter() { (tl_mem_enter_scope)(); }
	BENCH_INLINE void exit() { (tl_mem_exit_scope)(); }
	BENCH_INLINE void* alloc(std::size_t bytes) { return (tl_mem_alloc)(bytes); }
	BENCH_INLINE void* make(std::size_t bytes) { return (tl_mem_new)(bytes); }
	BENCH_INLINE void acquire(void* object) { (tl_ptr_acquire)(object); }
	BENCH_INLINE void release(void* object) { (tl_ptr_release)(object); }
	BENCH_INLINE void acquire(tl_ref ref) { (tl_ref_acquire)(ref); }
	BENCH_INLINE void release(tl_ref ref) { (tl_ref_release)(ref); }
	BENCH_INLINE void* get(tl_ref ref) { return (tl_ref_get)(ref); }
};

struct Inlined {
	Inlined local() const { return *this; }
	Inlined handed() const { return *this; }
	void retake() {}
	BENCH_INLINE void enter() { tl_mem_enter_scope(); }
	BENCH_INLINE void exit() { tl_mem_exit_scope(); }
	BENCH_INLINE void* alloc(std::size_t bytes) { return tl_mem_alloc(bytes); }
	BENCH_INLINE void* make(std::size_t bytes) { return tl_mem_new(bytes); }
	BENCH_INLINE void acquire(void* object) { tl_ptr_acquire(object); }
	BENCH_INLINE void release(void* object) { tl_ptr_release(object); }
	BENCH_INLINE void acquire(tl_ref ref) { tl_ref_acquire(ref); }
	BENCH_INLINE void release(tl_ref ref) { tl_ref_release(ref); }
	BENCH_INLINE void* get(tl_ref ref) { return tl_ref_get(ref); }
};

// As a compiler emits it: a function has a variable for its thread, and hands the address of the context on.
struct Local {
	BENCH_INLINE explicit Local(void* const* address) { tl_inl_begin_at(&thread, address); }
	BENCH_INLINE void retake() { tl_inl_retake(&thread); }
	BENCH_INLINE void enter() { tl_inl_mem_enter_scope(&thread); }
	BENCH_INLINE void exit() { tl_inl_mem_exit_scope(&thread); }
	BENCH_INLINE void* alloc(std::size_t bytes) { return tl_inl_mem_alloc(&thread, bytes); }
	BENCH_INLINE void* make(std::size_t bytes) { return tl_inl_mem_new(&thread, bytes); }
	BENCH_INLINE void acquire(void* object) { tl_inl_ptr_acquire(&thread, object); }
	BENCH_INLINE void release(void* object) { tl_inl_ptr_release(&thread, object); }
	BENCH_INLINE void acquire(tl_ref ref) { tl_inl_ref_acquire(&thread, ref); }
	BENCH_INLINE void release(tl_ref ref) { tl_inl_ref_release(&thread, ref); }
	BENCH_INLINE void* get(tl_ref ref) { return tl_inl_ref_get(&thread, ref); }

	tl_inl_thread thread;
};

struct Address {
	void* const* address;
	BENCH_INLINE Local local() const { return Local(address); }
	Address handed() const { return *this; }
};

struct Emitted {
	BENCH_INLINE Local local() const { return Local(tl_context_address(TL_INLINE_VERSION)); }
	Address handed() const { return Address{tl_context_address(TL_INLINE_VERSION)}; }
};

// A count that is not atomic and checks nothing. A scope is a list of what was made in it.
struct Counts {
	void* (*allocate)(std::size_t);
	void (*deallocate)(void*);
	std::vector<void*> made;
	std::vector<std::size_t> marks;
};

struct Counted {
	Counts* counts;
	Counted local() const { return *this; }
	Counted handed() const { return *this; }
	void retake() {}
	BENCH_INLINE void enter() { counts->marks.push_back(counts->made.size()); }
	BENCH_INLINE void exit()
	{
		std::size_t mark = counts->marks.back();
		counts->marks.pop_back();
		for (; counts->made.size() > mark; counts->made.pop_back()) release(counts->made.back());
	}
	BENCH_INLINE void* alloc(std::size_t bytes)
	{
		auto* count = static_cast<std::uint64_t*>(counts->allocate(bytes + kHeader));
		*count = 1;
		return reinterpret_cast<char*>(count) + kHeader;
	}
	BENCH_INLINE void* make(std::size_t bytes)
	{
		counts->made.push_back(alloc(bytes));
		return counts->made.back();
	}
	static std::uint64_t* count_of(void* object)
	{
		return reinterpret_cast<std::uint64_t*>(static_cast<char*>(object) - kHeader);
	}
	BENCH_INLINE void acquire(void* object) { ++*count_of(object); }
	BENCH_INLINE void release(void* object)
	{
		if (--*count_of(object) == 0) counts->deallocate(count_of(object));
	}

	static constexpr std::size_t kHeader = 16; // keeps the alignment of malloc
};

// ---- lists ----

struct Cell {
	Cell* next;
	std::int64_t value;
};

constexpr int kCells = 1000;

template <class Heap>
__attribute__((noinline)) Cell* build(Heap from)
{
	auto heap = from.local();
	Cell* head = nullptr;
	for (int i = 0; i < kCells; ++i) {
		heap.retake();
		heap.enter();
		auto* cell = static_cast<Cell*>(heap.alloc(sizeof(Cell)));
		cell->next = head;
		cell->value = i;
		head = cell;
		heap.exit();
	}
	return head;
}

template <class Heap>
__attribute__((noinline)) std::int64_t sum(Heap from, Cell* cell)
{
	auto heap = from.local();
	std::int64_t total = 0;
	heap.acquire(cell);
	while (cell) {
		heap.retake();
		heap.enter();
		total += cell->value;
		Cell* next = cell->next;
		if (next) heap.acquire(next);
		heap.release(cell);
		cell = next;
		heap.exit();
	}
	return total;
}

template <class Heap>
__attribute__((noinline)) void drop(Heap from, Cell* cell)
{
	auto heap = from.local();
	while (cell) {
		heap.retake();
		Cell* next = cell->next;
		heap.release(cell);
		cell = next;
	}
}

template <class Heap>
void list(benchmark::State& state, Heap heap)
{
	for (auto _ : state) {
		Cell* head = build(heap);
		benchmark::DoNotOptimize(sum(heap, head));
		drop(heap, head);
	}
	state.SetItemsProcessed(state.iterations() * kCells);
}

// ---- trees ----

struct Node {
	Node *left, *right;
	std::int64_t value;
};

constexpr int kDepth = 9;
constexpr int kNodes = (1 << (kDepth + 1)) - 1;

template <class Heap>
__attribute__((noinline)) Node* build_tree(Heap from, int depth)
{
	auto heap = from.local();
	heap.enter();
	auto* node = static_cast<Node*>(heap.alloc(sizeof(Node)));
	node->value = depth;
	node->left = depth == 0 ? nullptr : build_tree(from, depth - 1);
	node->right = depth == 0 ? nullptr : build_tree(from, depth - 1);
	heap.retake();
	heap.exit();
	return node;
}

template <class Heap>
__attribute__((noinline)) std::int64_t sum_tree(Heap from, Node* node)
{
	auto heap = from.local();
	heap.enter();
	std::int64_t total = node->value;
	for (Node* child : {node->left, node->right}) {
		if (!child) continue;
		heap.acquire(child);
		total += sum_tree(from, child);
		heap.retake();
		heap.release(child);
	}
	heap.exit();
	return total;
}

template <class Heap>
__attribute__((noinline)) void drop_tree(Heap from, Node* node)
{
	if (node->left) drop_tree(from, node->left);
	if (node->right) drop_tree(from, node->right);
	auto heap = from.local();
	heap.release(node);
}

template <class Heap>
void tree(benchmark::State& state, Heap heap)
{
	auto from = heap.handed();
	for (auto _ : state) {
		Node* root = build_tree(from, kDepth);
		benchmark::DoNotOptimize(sum_tree(from, root));
		drop_tree(from, root);
	}
	state.SetItemsProcessed(state.iterations() * kNodes);
}

// The floor of both: what the program does by itself, with nodes out of an array.
struct Alone {
	Node* nodes;
	unsigned* made;
	Alone local() const { return *this; }
	Alone handed() const { return *this; }
	void retake() {}
	void enter() {}
	void exit() {}
	void acquire(void*) {}
	void release(void*) {}
	BENCH_INLINE void* alloc(std::size_t) { return &nodes[(*made)++ % (kNodes + 1)]; }
};

// ---- matrices of four by four ----

struct Matrix {
	double at[4][4];
};

template <class Heap>
inline Matrix* product(Heap& heap, Matrix* a, Matrix* b)
{
	heap.acquire(a);
	heap.acquire(b);
	auto* c = static_cast<Matrix*>(heap.make(sizeof(Matrix)));
	for (int i = 0; i < 4; ++i)
		for (int j = 0; j < 4; ++j) {
			double total = 0;
			for (int k = 0; k < 4; ++k) total += a->at[i][k] * b->at[k][j];
			c->at[i][j] = total;
		}
	heap.release(b);
	heap.release(a);
	return c;
}

// A power by repeated products: each step has a scope, and its result leaves it.
constexpr int kSteps = 100;

template <class Heap>
__attribute__((noinline)) double power(Heap from)
{
	auto heap = from.local();
	heap.enter();
	auto* base = static_cast<Matrix*>(heap.make(sizeof(Matrix)));
	*base = {{{1, .1, 0, 0}, {0, 1, .1, 0}, {0, 0, 1, .1}, {.1, 0, 0, 1}}};
	Matrix* result = base;
	heap.acquire(result);
	for (int i = 0; i < kSteps; ++i) {
		heap.retake();
		heap.enter();
		Matrix* next = product(heap, product(heap, result, base), base);
		heap.acquire(next);
		heap.exit();
		heap.release(result);
		result = next;
	}
	double corner = result->at[0][0];
	heap.release(result);
	heap.exit();
	return corner;
}

template <class Heap>
void matrix(benchmark::State& state, Heap heap)
{
	for (auto _ : state) benchmark::DoNotOptimize(power(heap));
	state.SetItemsProcessed(state.iterations() * kSteps);
}

// ---- single operations ----

// An object with another reference, which the compiler does not know.
template <class Heap>
__attribute__((noinline)) void pairs(Heap from, void* object)
{
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		heap.acquire(object);
		heap.release(object);
	}
}

// The same by the object's reference, as a function counts that keeps one.
template <class Heap>
__attribute__((noinline)) void pairs_by_reference(Heap from, void* object)
{
	const tl_ref ref = (tl_ref_of)(object);
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		heap.acquire(ref);
		heap.release(ref);
	}
}

template <class Heap>
__attribute__((noinline)) void addresses(Heap from, void* object)
{
	const tl_ref ref = (tl_ref_of)(object);
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		benchmark::DoNotOptimize(heap.get(ref));
	}
}

template <class Heap>
__attribute__((noinline)) void empty_scopes(Heap from, void*)
{
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		heap.enter();
		heap.exit();
	}
}

template <class Heap>
__attribute__((noinline)) void pairs_of_blocks(Heap from, void*)
{
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		void* object = heap.alloc(64);
		touch(object);
		heap.release(object);
	}
}

template <class Heap>
__attribute__((noinline)) void scopes_of_one(Heap from, void*)
{
	auto heap = from.local();
	for (int i = 0; i < kRounds; ++i) {
		heap.retake();
		heap.enter();
		touch(heap.make(64));
		heap.exit();
	}
}

template <class Heap>
void rounds(benchmark::State& state, Heap from, void (*run)(Heap, void*))
{
	auto heap = from.local();
	void* object = heap.alloc(64);
	heap.acquire(object);
	for (auto _ : state) run(from, object);
	heap.release(object);
	heap.release(object);
	state.SetItemsProcessed(state.iterations() * kRounds);
}

template <class Heap>
void add_programs(const std::string& who, const Heap& heap)
{
	add("inline/pair/" + who, [heap](benchmark::State& state) { rounds(state, heap, pairs<Heap>); });
	add("inline/scope/" + who, [heap](benchmark::State& state) { rounds(state, heap, empty_scopes<Heap>); });
	add("inline/scope-of-one/" + who, [heap](benchmark::State& state) { rounds(state, heap, scopes_of_one<Heap>); });
	add("inline/alloc/" + who, [heap](benchmark::State& state) { rounds(state, heap, pairs_of_blocks<Heap>); });
	add("inline/list/" + who, [heap](benchmark::State& state) { list(state, heap); });
	add("inline/tree/" + who, [heap](benchmark::State& state) { tree(state, heap); });
	add("inline/matrix/" + who, [heap](benchmark::State& state) { matrix(state, heap); });
}

// What a count without records does not have.
template <class Heap>
void add_references(const std::string& who, const Heap& heap)
{
	add("inline/ref-pair/" + who, [heap](benchmark::State& state) { rounds(state, heap, pairs_by_reference<Heap>); });
	add("inline/ref-get/" + who, [heap](benchmark::State& state) { rounds(state, heap, addresses<Heap>); });
}

template <class Heap>
void add_ours(const std::string& who, const Heap& heap)
{
	add_programs(who, heap);
	add_references(who, heap);
}

} // namespace

void register_all()
{
	add_ours("called", Called());
	add_ours("inlined", Inlined());
	add_ours("emitted", Emitted());
	static Node nodes[kNodes + 1];
	static unsigned made;
	add("inline/tree/alone", [](benchmark::State& state) { tree(state, Alone{nodes, &made}); });
	static std::vector<std::unique_ptr<Counts>> counts;
	for (const Allocator& allocator : allocators()) {
		counts.push_back(std::make_unique<Counts>(Counts{allocator.allocate, allocator.release, {}, {}}));
		add_programs(allocator.name, Counted{counts.back().get()});
	}
}

} // namespace bench
