/* Inserts into a persistent map, a red-black tree (Okasaki, 1999). A function that takes a node apart has its fields, and
 * a token: the memory in which the next node may be built. */
#include "values.h"

enum { RED, BLACK };

typedef struct node {
	struct node *left, *right;
	int64_t key;
	int32_t color, value;
} node;

typedef struct parts {
	node *left, *right;
	int64_t key;
	int32_t value;
	void* token; /* NULL: others have the node */
} parts;

static NOINLINE void drop(node* n)
{
	BEGIN;
	while (n != NULL) {
		RETAKE;
		if (!IS_UNIQUE(n)) {
			DROP(n);
			return;
		}
		node *left = n->left, *right = n->right;
		FREE(n);
		drop(left);
		n = right;
	}
}

static inline bool is_red(const node* n) { return n != NULL && n->color == RED; }

static inline __attribute__((always_inline)) parts take_apart(node* n)
{
	BEGIN;
	parts p = {n->left, n->right, n->key, n->value, NULL};
	if (IS_UNIQUE(n)) {
		p.token = TOKEN(n);
		return p;
	}
	if (p.left != NULL) DUP(p.left);
	if (p.right != NULL) DUP(p.right);
	DROP(n);
	return p;
}

static inline __attribute__((always_inline)) node* make(void* token, int32_t color, node* left, int64_t key,
                                                        int32_t value, node* right)
{
	BEGIN;
	node* n = BUILD(token, sizeof *n);
	*n = (node){left, right, key, color, value};
	return n;
}

/* Each consumes the subtrees; token is that of the node above them. */
static NOINLINE node* balance_left(void* token, node* left, int64_t key, int32_t value, node* right)
{
	if (left == NULL) return make(token, BLACK, NULL, key, value, right);
	const parts l = take_apart(left);
	if (is_red(l.left)) {
		const parts ll = take_apart(l.left);
		node* a = make(ll.token, BLACK, ll.left, ll.key, ll.value, ll.right);
		node* b = make(l.token, BLACK, l.right, key, value, right);
		return make(token, RED, a, l.key, l.value, b);
	}
	if (is_red(l.right)) {
		const parts lr = take_apart(l.right);
		node* a = make(l.token, BLACK, l.left, l.key, l.value, lr.left);
		node* b = make(lr.token, BLACK, lr.right, key, value, right);
		return make(token, RED, a, lr.key, lr.value, b);
	}
	return make(token, BLACK, make(l.token, RED, l.left, l.key, l.value, l.right), key, value, right);
}

static NOINLINE node* balance_right(void* token, node* left, int64_t key, int32_t value, node* right)
{
	if (right == NULL) return make(token, BLACK, left, key, value, NULL);
	const parts r = take_apart(right);
	if (is_red(r.left)) {
		const parts rl = take_apart(r.left);
		node* a = make(rl.token, BLACK, left, key, value, rl.left);
		node* b = make(r.token, BLACK, rl.right, r.key, r.value, r.right);
		return make(token, RED, a, rl.key, rl.value, b);
	}
	if (is_red(r.right)) {
		const parts rr = take_apart(r.right);
		node* a = make(r.token, BLACK, left, key, value, r.left);
		node* b = make(rr.token, BLACK, rr.left, rr.key, rr.value, rr.right);
		return make(token, RED, a, r.key, r.value, b);
	}
	return make(token, BLACK, left, key, value, make(r.token, RED, r.left, r.key, r.value, r.right));
}

static NOINLINE node* insert_below(node* n, int64_t key, int32_t value)
{
	if (n == NULL) return make(NULL, RED, NULL, key, value, NULL);
	const int32_t color = n->color;
	const parts p = take_apart(n);
	if (key < p.key) {
		if (color == BLACK && is_red(p.left))
			return balance_left(p.token, insert_below(p.left, key, value), p.key, p.value, p.right);
		node* left = insert_below(p.left, key, value);
		return make(p.token, color, left, p.key, p.value, p.right);
	}
	if (key > p.key) {
		if (color == BLACK && is_red(p.right))
			return balance_right(p.token, p.left, p.key, p.value, insert_below(p.right, key, value));
		node* right = insert_below(p.right, key, value);
		return make(p.token, color, p.left, p.key, p.value, right);
	}
	return make(p.token, color, p.left, key, value, p.right);
}

static NOINLINE node* insert(node* n, int64_t key, int32_t value)
{
	const bool was_red = is_red(n);
	n = insert_below(n, key, value);
	if (!was_red || !is_red(n)) return n;
	const parts p = take_apart(n);
	return make(p.token, BLACK, p.left, p.key, p.value, p.right);
}

static NOINLINE int64_t sum_of(const node* n)
{
	int64_t sum = 0;
	for (; n != NULL; n = n->right) sum += sum_of(n->left) + n->value;
	return sum;
}

static NOINLINE int64_t run(int64_t size)
{
	node* n = NULL;
	for (int64_t i = size; i > 0; i--) {
		const int64_t key = i * 7919 % 1000003;
		n = insert(n, key, key % 10 == 0);
	}
	const int64_t sum = sum_of(n);
	drop(n);
	return sum;
}
