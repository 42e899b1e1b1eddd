/* Words that are joined, split, turned around in place where they are unique, and compared; a string is one value of its length. */
#include "values.h"

typedef struct string {
	int64_t length;
	char text[];
} string;

typedef struct list {
	string* head;
	struct list* tail;
} list;

static string* make(int64_t length)
{
	BEGIN;
	string* s = NEW(sizeof *s + (size_t)length);
	s->length = length;
	return s;
}

static NOINLINE void drop(string* s)
{
	BEGIN;
	DROP(s);
}

static NOINLINE void drop_all(list* l)
{
	BEGIN;
	while (l != NULL) {
		RETAKE;
		if (!IS_UNIQUE(l)) {
			DROP(l);
			return;
		}
		string* head = l->head;
		list* tail = l->tail;
		FREE(l);
		drop(head);
		l = tail;
	}
}

static list* cons(string* head, list* tail)
{
	BEGIN;
	list* l = NEW(sizeof *l);
	*l = (list){head, tail};
	return l;
}

/* Takes the list apart: its head, and its tail in its place. */
static inline string* pop(list** from)
{
	BEGIN;
	list* l = *from;
	string* head = l->head;
	*from = l->tail;
	if (IS_UNIQUE(l)) {
		FREE(l);
		return head;
	}
	DUP(head);
	if (*from != NULL) DUP(*from);
	DROP(l);
	return head;
}

static NOINLINE string* concatenate(string* a, string* b)
{
	string* s = make(a->length + b->length);
	memcpy(s->text, a->text, (size_t)a->length);
	memcpy(s->text + a->length, b->text, (size_t)b->length);
	drop(a);
	drop(b);
	return s;
}

/* Pairs of neighbours are joined until one is left. */
static NOINLINE string* join(list* words)
{
	while (words->tail != NULL) {
		list* longer = NULL;
		while (words != NULL) {
			string* first = pop(&words);
			longer = cons(words == NULL ? first : concatenate(first, pop(&words)), longer);
		}
		while (longer != NULL) {
			string* last = pop(&longer);
			words = cons(last, words);
		}
	}
	return pop(&words);
}

static NOINLINE list* split(string* s)
{
	list* words = NULL;
	for (int64_t end = s->length; end > 0;) {
		int64_t begin = end - 1;
		while (begin > 0 && s->text[begin - 1] != ' ') begin--;
		string* word = make(end - begin);
		memcpy(word->text, s->text + begin, (size_t)(end - begin));
		words = cons(word, words);
		end = begin;
	}
	drop(s);
	return words;
}

static NOINLINE string* turn(string* s)
{
	BEGIN;
	if (!IS_UNIQUE(s)) {
		string* copy = make(s->length);
		memcpy(copy->text, s->text, (size_t)s->length);
		drop(s);
		s = copy;
	}
	for (int64_t i = 0, j = s->length - 2; i < j; i++, j--) {
		const char c = s->text[i];
		s->text[i] = s->text[j];
		s->text[j] = c;
	}
	return s;
}

static NOINLINE list* turn_all(list* words)
{
	list* turned = NULL;
	while (words != NULL) {
		string* word = pop(&words);
		turned = cons(turn(word), turned);
	}
	return turned;
}

static NOINLINE int64_t equal(list* a, list* b)
{
	int64_t n = 0;
	while (a != NULL && b != NULL) {
		string *s = pop(&a), *t = pop(&b);
		n += s->length == t->length && memcmp(s->text, t->text, (size_t)s->length) == 0;
		drop(s);
		drop(t);
	}
	drop_all(a);
	drop_all(b);
	return n;
}

static NOINLINE int64_t run(int64_t size)
{
	list* words = NULL;
	for (uint32_t i = 0, x = 12345; i < size; i++) {
		x = x * 1664525 + 1013904223;
		string* word = make(2 + (x >> 27));
		memset(word->text, 'a' + (int)(x >> 16) % 26, (size_t)word->length);
		word->text[0] = (char)('a' + (x >> 8) % 26);
		word->text[word->length - 1] = ' ';
		words = cons(word, words);
	}
	BEGIN;
	DUP(words);
	list* again = split(join(words));
	RETAKE;
	DUP(again);
	list* turned = turn_all(again); /* copies, which turn in place the next time */
	return equal(again, turn_all(turned)) + equal(words, NULL);
}
