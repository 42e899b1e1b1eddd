/* Derivatives of x^x, simplified as they are built; a formula shares its parts. */
#include "values.h"

typedef enum kind { NUMBER, VARIABLE, SUM, PRODUCT, POWER, LOGARITHM } kind;

typedef struct formula {
	int64_t kind;
	union {
		int64_t number;
		struct {
			struct formula *a, *b;
		};
	};
} formula;

typedef struct pair {
	formula *a, *b;
} pair;

static NOINLINE void drop(formula* f)
{
	BEGIN;
	for (;;) {
		RETAKE;
		if (!IS_UNIQUE(f)) {
			DROP(f);
			return;
		}
		const int64_t of = f->kind;
		formula *a = f->a, *b = f->b;
		FREE(f);
		if (of <= VARIABLE) return;
		if (of != LOGARITHM) {
			drop(a);
			a = b;
		}
		f = a;
	}
}

static NOINLINE formula* leaf(kind of, int64_t number)
{
	BEGIN;
	formula* f = NEW(sizeof *f);
	f->kind = of;
	f->number = number;
	return f;
}

static formula* number(int64_t n) { return leaf(NUMBER, n); }

static NOINLINE formula* make(kind of, formula* a, formula* b)
{
	BEGIN;
	formula* f = NEW(sizeof *f);
	f->kind = of;
	f->a = a;
	f->b = b;
	return f;
}

static inline __attribute__((always_inline)) pair take_apart(formula* f)
{
	BEGIN;
	const pair p = {f->a, f->b};
	if (IS_UNIQUE(f)) {
		FREE(f);
		return p;
	}
	DUP(p.a);
	DUP(p.b);
	DROP(f);
	return p;
}

static inline bool is_number(const formula* f, int64_t n) { return f->kind == NUMBER && f->number == n; }
static inline bool begins_with_number(const formula* f, kind of) { return f->kind == of && f->a->kind == NUMBER; }

/* One of two formulas, without the other. */
static inline formula* keep(formula* kept, formula* dropped)
{
	drop(dropped);
	return kept;
}

static int64_t power_of(int64_t base, int64_t exponent)
{
	int64_t result = 1;
	while (exponent-- > 0) result *= base;
	return result;
}

static formula* both(formula* x, formula* y, int64_t n)
{
	drop(x);
	drop(y);
	return number(n);
}

static NOINLINE formula* add(formula* x, formula* y)
{
	if (x->kind == NUMBER && y->kind == NUMBER) return both(x, y, x->number + y->number);
	if (is_number(x, 0)) return keep(y, x);
	if (is_number(y, 0)) return keep(x, y);
	if (y->kind == NUMBER) return add(y, x);
	if (begins_with_number(y, SUM)) {
		const int64_t n = y->a->number;
		const bool folds = x->kind == NUMBER;
		const pair p = take_apart(y);
		if (folds) return add(both(p.a, x, x->number + n), p.b);
		return add(p.a, add(x, p.b));
	}
	if (x->kind == SUM) {
		const pair p = take_apart(x);
		return add(p.a, add(p.b, y));
	}
	return make(SUM, x, y);
}

static NOINLINE formula* multiply(formula* x, formula* y)
{
	if (x->kind == NUMBER && y->kind == NUMBER) return both(x, y, x->number * y->number);
	if (is_number(x, 0)) return keep(x, y);
	if (is_number(y, 0)) return keep(y, x);
	if (is_number(x, 1)) return keep(y, x);
	if (is_number(y, 1)) return keep(x, y);
	if (y->kind == NUMBER) return multiply(y, x);
	if (begins_with_number(y, PRODUCT)) {
		const int64_t n = y->a->number;
		const bool folds = x->kind == NUMBER;
		const pair p = take_apart(y);
		if (folds) return multiply(both(p.a, x, x->number * n), p.b);
		return multiply(p.a, multiply(x, p.b));
	}
	if (x->kind == PRODUCT) {
		const pair p = take_apart(x);
		return multiply(p.a, multiply(p.b, y));
	}
	return make(PRODUCT, x, y);
}

static NOINLINE formula* power(formula* x, formula* y)
{
	if (x->kind == NUMBER && y->kind == NUMBER) return both(x, y, power_of(x->number, y->number));
	if (is_number(y, 0)) return both(x, y, 1);
	if (is_number(y, 1)) return keep(x, y);
	if (is_number(x, 0)) return both(x, y, 0);
	return make(POWER, x, y);
}

static NOINLINE formula* logarithm(formula* x)
{
	if (!is_number(x, 1)) return make(LOGARITHM, x, NULL);
	drop(x);
	return number(0);
}

static NOINLINE formula* derive(formula* f)
{
	if (f->kind <= VARIABLE) {
		const int64_t n = f->kind == VARIABLE;
		drop(f);
		return number(n);
	}
	BEGIN;
	if (f->kind == LOGARITHM) {
		formula* a = DUP(f->a);
		drop(f);
		RETAKE;
		DUP(a);
		formula* of_a = derive(a);
		return multiply(of_a, power(a, number(-1)));
	}
	const kind of = (kind)f->kind;
	const pair p = take_apart(f);
	if (of == SUM) {
		formula* of_a = derive(p.a);
		return add(of_a, derive(p.b));
	}
	RETAKE;
	DUP(p.a);
	DUP(p.b);
	if (of == PRODUCT) {
		formula* first = multiply(p.a, derive(p.b));
		return add(first, multiply(p.b, derive(p.a)));
	}
	for (int i = 0; i < 2; i++) {
		RETAKE;
		DUP(p.a);
	}
	DUP(p.b);
	formula* whole = power(p.a, p.b);
	formula* inner = multiply(p.b, derive(p.a));
	inner = multiply(inner, power(p.a, number(-1)));
	formula* outer = multiply(logarithm(p.a), derive(p.b));
	return multiply(whole, add(inner, outer));
}

static int64_t count(const formula* f)
{
	if (f->kind <= VARIABLE) return 1;
	return count(f->a) + (f->kind == LOGARITHM ? 0 : count(f->b));
}

static NOINLINE int64_t run(int64_t size)
{
	formula* x = leaf(VARIABLE, 1);
	BEGIN;
	DUP(x);
	formula* f = power(x, x);
	int64_t sum = 0;
	for (int64_t i = 0; i < size; i++) {
		f = derive(f);
		sum = sum * 31 + count(f);
	}
	drop(f);
	return sum;
}
