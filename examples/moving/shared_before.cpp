// A tree whose nodes know their parent.
#include <cstdio>
#include <memory>
#include <vector>

struct node {
	int value;
	std::weak_ptr<node> parent;
	std::shared_ptr<node> left, right;
};

static std::shared_ptr<node> leaf(int value, const std::shared_ptr<node>& parent)
{
	auto made = std::make_shared<node>();
	made->value = value;
	made->parent = parent;
	return made;
}

int main()
{
	auto root = leaf(1, nullptr);
	root->left = leaf(2, root);
	root->right = leaf(3, root);
	std::shared_ptr<node> kept = root->right;
	std::printf("%ld references to %d\n", kept.use_count(), kept->value);
	std::printf("its parent is %d\n", kept->parent.lock()->value);
	root.reset();
	std::printf("its parent is %s\n", kept->parent.lock() ? "there" : "gone");
}
