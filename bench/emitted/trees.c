/* Binary trees, of which each third level is one subtree twice; checked by a function that consumes them. */
#include "values.h"

typedef struct tree {
	struct tree *left, *right;
	int64_t value;
} tree;

static NOINLINE void drop(tree* t)
{
	BEGIN;
	while (t != NULL) {
		RETAKE;
		if (!IS_UNIQUE(t)) {
			DROP(t);
			return;
		}
		tree *left = t->left, *right = t->right;
		FREE(t);
		drop(left);
		t = right;
	}
}

static NOINLINE tree* make(int64_t depth)
{
	if (depth == 0) return NULL;
	tree* left = make(depth - 1);
	const bool is_shared = depth % 3 == 0 && left != NULL;
	tree* right = is_shared ? left : make(depth - 1);
	BEGIN;
	if (is_shared) DUP(right);
	tree* t = NEW(sizeof *t);
	*t = (tree){left, right, depth};
	return t;
}

static NOINLINE int64_t check(tree* t)
{
	if (t == NULL) return 1;
	BEGIN;
	tree *left = t->left, *right = t->right;
	const int64_t value = t->value & 1;
	if (IS_UNIQUE(t)) {
		FREE(t);
	} else {
		if (left != NULL) DUP(left);
		if (right != NULL) DUP(right);
		DROP(t);
	}
	const int64_t of_left = check(left);
	return of_left + check(right) + value;
}

static NOINLINE int64_t run(int64_t size)
{
	BEGIN;
	int64_t sum = 0;
	tree* long_lived = make(size);
	for (int64_t depth = 4; depth <= size; depth += 4) {
		const int64_t trees = 1 << (size - depth + 4 > 14 ? 14 : size - depth + 4);
		for (int64_t i = 0; i < trees; i++) {
			tree* t = make(depth);
			RETAKE;
			DUP(t);
			sum += check(t);
			drop(t);
		}
	}
	RETAKE;
	DUP(long_lived);
	sum += check(long_lived);
	drop(long_lived);
	return sum;
}
