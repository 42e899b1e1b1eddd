/* cc weak.c -ltl_runtime && ./a.out */
#include <stdio.h>
#include <tl_runtime.h>

/* A child that knows its parent, without keeping it alive. */
typedef struct node {
	struct node* child; /* counted: declared below */
	tl_ref parent;      /* not counted */
	int number;
} node;

static void show_parent(const node* n)
{
	node* parent = tl_weak_get(n->parent); /* counted while it is used */
	if (parent == NULL) {
		printf("the parent of %d is gone\n", n->number);
		return;
	}
	printf("the parent of %d is %d\n", n->number, parent->number);
	tl_ptr_release(parent);
}

int main(void)
{
	static const size_t fields[] = {offsetof(node, child)};
	const tl_type_desc desc = {"node", sizeof(node), fields, 1, NULL, 0};
	tl_type type;
	if (tl_type_define(&desc, &type) != TL_OK) return 1;

	tl_mem_enter_scope();
	node *parent = tl_object_new(type), *child = tl_object_new(type);
	parent->number = 1;
	child->number = 2;
	parent->child = tl_ptr_acquire(child);
	child->parent = tl_weak_of(parent);
	show_parent(child);

	tl_ptr_acquire(child); /* ours */
	tl_mem_exit_scope();   /* the parent ends, and its reference to the child */
	show_parent(child);

	tl_ref stale = tl_ref_of(child);
	tl_ptr_release(child);
	node* other = tl_mem_alloc(sizeof *other); /* has the child's memory */
	if (tl_ref_check(stale) != TL_OK) printf("%s\n", tl_last_error());
	tl_mem_free(other);
	return 0;
}
