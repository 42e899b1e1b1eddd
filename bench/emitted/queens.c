/* All ways to place n queens, as a list of lists that share their ends. */
#include "values.h"

typedef struct list {
	struct list* next;
	void* head;
} list;

static NOINLINE void drop_queens(list* l)
{
	BEGIN;
	while (l != NULL) {
		RETAKE;
		if (!IS_UNIQUE(l)) {
			DROP(l);
			return;
		}
		list* next = l->next;
		FREE(l);
		l = next;
	}
}

static NOINLINE void drop_solutions(list* l)
{
	BEGIN;
	while (l != NULL) {
		RETAKE;
		if (!IS_UNIQUE(l)) {
			DROP(l);
			return;
		}
		list *next = l->next, *queens = l->head;
		FREE(l);
		drop_queens(queens);
		l = next;
	}
}

/* Borrows the queens. */
static NOINLINE bool is_safe(int64_t queen, const list* queens)
{
	for (int64_t i = 1; queens != NULL; queens = queens->next, i++) {
		const int64_t other = (int64_t)queens->head;
		if (queen == other || queen == other + i || queen == other - i) return false;
	}
	return true;
}

static inline list* cons(void* head, list* next)
{
	BEGIN;
	list* l = NEW(sizeof *l);
	l->head = head;
	l->next = next;
	return l;
}

static NOINLINE list* append_safe(int64_t queen, list* queens, list* found)
{
	BEGIN;
	for (; queen > 0; queen--) {
		if (!is_safe(queen, queens)) continue;
		RETAKE;
		if (queens != NULL) DUP(queens);
		found = cons(cons((void*)queen, queens), found);
	}
	drop_queens(queens);
	return found;
}

static NOINLINE list* extend(int64_t size, list* solutions)
{
	BEGIN;
	list* found = NULL;
	while (solutions != NULL) {
		RETAKE;
		list *queens = solutions->head, *next = solutions->next;
		if (IS_UNIQUE(solutions)) {
			FREE(solutions);
		} else {
			if (queens != NULL) DUP(queens);
			if (next != NULL) DUP(next);
			DROP(solutions);
		}
		found = append_safe(size, queens, found);
		solutions = next;
	}
	return found;
}

static NOINLINE int64_t run(int64_t size)
{
	list* solutions = cons(NULL, NULL);
	for (int64_t i = 0; i < size; i++) solutions = extend(size, solutions);
	int64_t count = 0;
	for (const list* l = solutions; l != NULL; l = l->next) count++;
	drop_solutions(solutions);
	return count;
}
