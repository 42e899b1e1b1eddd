/* A text of 3 MB becomes a tree of values, arrays that grow and texts of any length. */
#include "values.h"

typedef enum kind { NOTHING, NUMBER, TEXT, ARRAY, OBJECT, TRUE, FALSE } kind;

typedef struct value {
	int32_t kind, length, capacity;
	union {
		double number;
		struct value** items; /* of an object: key, value, key, value */
		char text[8];         /* and behind */
	};
} value;

static inline bool has_items(const value* v) { return v->kind == ARRAY || v->kind == OBJECT; }

static NOINLINE void drop(value* v)
{
	BEGIN;
	if (!IS_UNIQUE(v)) {
		DROP(v);
		return;
	}
	value** items = has_items(v) ? v->items : NULL;
	const int32_t length = v->length;
	FREE(v);
	if (items == NULL) return;
	for (int32_t i = 0; i < length; i++) drop(items[i]);
	RETAKE;
	FREE(items);
}

static const char* at;

static void skip(void)
{
	while (*at == ' ' || *at == '\n' || *at == ',' || *at == ':') at++;
}

static NOINLINE void push(value* to, value* item)
{
	if (to->length == to->capacity) {
		to->capacity = to->capacity != 0 ? 2 * to->capacity : 4;
		BEGIN;
		value** items = NEW((size_t)to->capacity * sizeof *items);
		if (to->items != NULL) {
			memcpy(items, to->items, (size_t)to->length * sizeof *items);
			FREE(to->items);
		}
		to->items = items;
	}
	to->items[to->length++] = item;
}

static value* make(kind of, size_t more)
{
	BEGIN;
	value* v = NEW(sizeof *v + more);
	v->kind = of;
	v->length = v->capacity = 0;
	v->items = NULL;
	return v;
}

static double number_at(void)
{
	const bool negative = *at == '-';
	int64_t n = 0;
	for (at += negative; (*at >= '0' && *at <= '9') || *at == '.'; at++)
		if (*at != '.') n = n * 10 + *at - '0';
	return (double)(negative ? -n : n);
}

static NOINLINE value* parse(void)
{
	skip();
	const char first = *at;
	value* v;
	if (first == '{' || first == '[') {
		const char end = first == '{' ? '}' : ']';
		v = make(first == '{' ? OBJECT : ARRAY, 0);
		at++;
		for (skip(); *at != end; skip()) push(v, parse());
		at++;
	} else if (first == '"') {
		const char* begin = ++at;
		while (*at != '"') at++;
		v = make(TEXT, (size_t)(at - begin));
		v->length = (int32_t)(at - begin);
		memcpy(v->text, begin, (size_t)v->length);
		at++;
	} else if (first == 't' || first == 'f' || first == 'n') {
		v = make(first == 't' ? TRUE : first == 'f' ? FALSE : NOTHING, 0);
		at += first == 'f' ? 5 : 4;
	} else {
		v = make(NUMBER, 0);
		v->number = number_at();
	}
	return v;
}

static NOINLINE double sum_of(const value* v)
{
	if (v->kind == NUMBER) return v->number;
	double sum = v->kind == TEXT ? v->length : 0;
	if (has_items(v))
		for (int32_t i = 0; i < v->length; i++) sum += sum_of(v->items[i]);
	return sum;
}

static char* made_text(size_t bytes)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	char* text = malloc(bytes);
	size_t used = (size_t)sprintf(text, "[");
	for (uint32_t x = 12345; used < bytes - 4096;) {
		x = x * 1664525 + 1013904223;
		used += (size_t)sprintf(
			text + used,
			"{\"id\": %u, \"name\": \"user%u %.*s\", \"tags\": [\"a\", \"bb\", \"ccc\"], "
			"\"pos\": [%d.5, -%d.25, 3], \"on\": %s, \"sub\": {\"k\": null, \"deep\": [[1, 2], [3, [4, 5]]]}},\n",
			x >> 8, x >> 20, (int)(x >> 26), letters, x & 1023, (x >> 4) & 1023, x & 64 ? "true" : "false");
	}
	strcpy(text + used, "]");
	return text;
}

static NOINLINE int64_t run(int64_t size)
{
	static char* text;
	if (text == NULL) text = made_text((size_t)size << 20);
	at = text;
	value* v = parse();
	const int64_t sum = (int64_t)sum_of(v);
	drop(v);
	return sum;
}
