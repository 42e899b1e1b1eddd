// A program like a compiler's front end: it builds the syntax tree of a function, rewrites it twice, and drops it. Nodes are
// of nine types, with attributes and names of their own. Once with typed objects in scopes, and once with an allocator and
// reference counts written by hand, which know from the source who takes a new node over and so count less.
#include <tl_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../peers/allocators.hpp"
#include "harness.hpp"

namespace bench {
namespace {

enum Kind : std::uint32_t { kNumber, kName, kUnary, kBinary, kCall, kIf, kAssign, kBlock, kAttributes, kKinds };

struct Node;

struct Attributes {
	std::uint32_t kind, references;
	std::uint32_t line, column;
	char* type;
};

struct Node {
	std::uint32_t kind, references;
	Attributes* attributes;
	union {
		std::int64_t number;
		char* name;
		Node* children[6];
	};
};

// Bytes up to the last field that a kind has; how many children.
constexpr std::size_t sized(int fields) { return offsetof(Node, children) + static_cast<std::size_t>(fields) * 8; }
constexpr std::size_t kBytes[kKinds] = {sized(1), sized(1), sized(1), sized(2),          sized(5),
                                        sized(3), sized(2), sized(6), sizeof(Attributes)};
constexpr int kChildren[kKinds] = {0, 0, 1, 2, 5, 3, 2, 6, 0};

// ---- the runtime's typed objects ----

tl_type types[kKinds];

void define_types()
{
	for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
		std::size_t offsets[8] = {kind == kAttributes ? offsetof(Attributes, type) : offsetof(Node, attributes)}, n = 1;
		if (kind == kName) offsets[n++] = offsetof(Node, name);
		for (int i = 0; i < kChildren[kind]; ++i) offsets[n++] = sized(i);
		tl_type_desc description = {};
		description.size = kBytes[kind];
		description.pointer_offsets = offsets;
		description.num_pointers = n;
		if (tl_type_define(&description, &types[kind]) != TL_OK) std::abort();
	}
}

// The scope holds what is new, and every field one reference more.
struct Typed {
	struct Scope {
		Scope() { tl_mem_enter_scope(); }
		~Scope() { tl_mem_exit_scope(); }
	};

	void* make(Kind kind) const { return tl_object_new(types[kind]); }
	char* text(std::size_t bytes) const { return static_cast<char*>(tl_mem_new(bytes)); }
	template <class T>
	T* take_over(T* made) const
	{
		tl_ptr_acquire(made);
		return made;
	}
	Node* share(Node* node) const { return take_over(node); }
	void drop(Node* node) const { tl_ptr_release(node); }
};

// ---- counts by hand ----

// What is new has one reference, which the field takes over.
struct Counted {
	struct Scope {};
	const Allocator& allocator;

	void* make(Kind kind) const
	{
		auto* node = static_cast<Node*>(std::memset(allocator.allocate(kBytes[kind]), 0, kBytes[kind]));
		node->references = 1;
		return node;
	}
	char* text(std::size_t bytes) const { return static_cast<char*>(allocator.allocate(bytes)); }
	template <class T>
	T* take_over(T* made) const
	{
		return made;
	}
	Node* share(Node* node) const
	{
		++node->references;
		return node;
	}
	void drop(Node* node) const
	{
		if (--node->references != 0) return;
		for (int i = 0; i < kChildren[node->kind]; ++i)
			if (node->children[i]) drop(node->children[i]);
		if (node->kind == kName) allocator.release(node->name);
		if (node->attributes) {
			if (node->attributes->type) allocator.release(node->attributes->type);
			allocator.release(node->attributes);
		}
		allocator.release(node);
	}
};

// ---- the program ----

template <class Heap>
class Compiler {
  public:
	explicit Compiler(Heap heap) : heap_(heap) {}

	// Returns how many nodes were made.
	int function()
	{
		made_ = 0;
		Node* root = nullptr;
		{
			[[maybe_unused]] typename Heap::Scope scope;
			root = heap_.take_over(block(draw(4) == 0 ? 2 : 1));
		}
		for (int pass = 0; pass < 2; ++pass) {
			[[maybe_unused]] typename Heap::Scope scope;
			shared_ = nullptr;
			rewrite(root);
		}
		heap_.drop(root);
		return made_;
	}

  private:
	std::uint32_t draw(std::uint32_t below)
	{
		random_ = random_ * 6364136223846793005u + 1442695040888963407u;
		return static_cast<std::uint32_t>((random_ >> 33) % below);
	}

	Node* make(Kind kind)
	{
		auto* node = static_cast<Node*>(heap_.make(kind));
		node->kind = kind;
		++made_;
		if (draw(2) == 0) node->attributes = heap_.take_over(attributes());
		return node;
	}

	Attributes* attributes()
	{
		auto* made = static_cast<Attributes*>(heap_.make(kAttributes));
		made->kind = kAttributes;
		made->line = static_cast<std::uint32_t>(made_);
		made->column = draw(80);
		if (draw(4) == 0) made->type = heap_.take_over(word());
		++made_;
		return made;
	}

	char* word()
	{
		std::size_t bytes = 4 + draw(36);
		char* text = heap_.text(bytes);
		std::memset(text, 'a', bytes);
		++made_;
		return text;
	}

	Node* leaf()
	{
		Node* node = make(draw(2) == 0 ? kNumber : kName);
		if (node->kind == kNumber) node->number = draw(100);
		else node->name = heap_.take_over(word());
		return node;
	}

	Node* expression(int depth)
	{
		if (depth == 0) return leaf();
		constexpr Kind kinds[] = {kUnary, kBinary, kBinary, kBinary, kCall};
		Kind kind = kinds[draw(5)];
		Node* children[6];
		int n = kind == kCall ? 1 + static_cast<int>(draw(5)) : kChildren[kind];
		for (int i = 0; i < n; ++i) children[i] = expression(kind == kCall ? 0 : depth - 1);
		return with(kind, children, n);
	}

	// As a parser does it: the children first.
	Node* with(Kind kind, Node** children, int n)
	{
		Node* node = make(kind);
		for (int i = 0; i < n; ++i) node->children[i] = heap_.take_over(children[i]);
		return node;
	}

	Node* statement(int depth)
	{
		Node* children[3];
		if (depth == 0 || draw(3) != 0) {
			children[0] = leaf();
			children[1] = expression(3);
			return with(kAssign, children, 2);
		}
		children[0] = expression(2);
		children[1] = block(depth - 1);
		children[2] = block(depth - 1);
		return with(kIf, children, 3);
	}

	Node* block(int depth)
	{
		Node* children[6];
		for (Node*& child : children) child = statement(depth);
		return with(kBlock, children, 6);
	}

	// Folds operations on two numbers, and replaces some operands by one that occurred before.
	void rewrite(Node* node)
	{
		for (int i = 0; i < kChildren[node->kind]; ++i) {
			Node*& child = node->children[i];
			if (!child) continue;
			rewrite(child);
			if (child->kind == kBinary && child->children[0]->kind == kNumber && child->children[1]->kind == kNumber) {
				Node* folded = make(kNumber);
				folded->number = child->children[0]->number + child->children[1]->number;
				replace(child, heap_.take_over(folded));
			} else if (child->kind == kUnary && shared_ && draw(2) == 0) {
				replace(child, heap_.share(shared_));
			} else if (child->kind == kName && node->kind == kBinary) {
				shared_ = child;
			}
		}
	}

	void replace(Node*& child, Node* other)
	{
		Node* old = child;
		child = other;
		heap_.drop(old);
	}

	Heap heap_;
	Node* shared_ = nullptr;
	int made_ = 0;
	std::uint64_t random_ = 1;
};

// Time of one node. Functions differ in size: every measurement sees the same ones.
template <class Heap>
void compile(benchmark::State& state, Heap heap)
{
	constexpr int kFunctions = 256;
	std::int64_t made = 0;
	for (auto _ : state) {
		Compiler<Heap> compiler(heap);
		for (int i = 0; i < kFunctions; ++i) made += compiler.function();
	}
	state.SetItemsProcessed(made);
}

} // namespace

void register_all()
{
	define_types();
	add("ast/tl", [](benchmark::State& state) { compile(state, Typed{}); });
	for (const Allocator& allocator : allocators())
		add("ast/" + allocator.name, [&allocator](benchmark::State& state) { compile(state, Counted{allocator}); });
}

} // namespace bench
