// The same tree; the runtime knows its counted fields.
#include <cstdio>
#include <tl_runtime.hpp>
#include <tl_weak.hpp>

struct node {
	int value;
	tl::weak<node> parent;
	tl::field<node> left, right;

	static const tl::type<node>& runtime_type()
	{
		static const auto type = tl::type<node>::define("node", &node::left, &node::right);
		return type;
	}
};

static tl::ref<node> leaf(int value, const tl::ref<node>& parent)
{
	auto made = tl::make<node>();
	made->value = value;
	made->parent = tl::weak<node>(parent);
	return made;
}

int main()
{
	auto root = leaf(1, nullptr);
	root->left = leaf(2, root);
	root->right = leaf(3, root);
	tl::ref<node> kept = root->right.share();
	std::printf("%lld references to %d\n", static_cast<long long>(kept.use_count()), kept->value);
	std::printf("its parent is %d\n", kept->parent.lock()->value);
	root.reset();
	std::printf("its parent is %s\n", kept->parent.lock() ? "there" : "gone");
}
