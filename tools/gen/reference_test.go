package main

import (
	"strings"
	"testing"
)

func TestReferenceHasEveryName(t *testing.T) {
	src, faults := load(repository(t, [3]string{"capi/library.go", "// tl_take takes an object, and",
		"// tl_take takes an object* of [0, 1) <64, `a*b`, and"}))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	pages := renderReference(src)
	for page, parts := range map[string][]string{
		referenceIndex: {"\nlibrary\n", "## Why\n\nBecause.\n"},
		"library.md": {
			"# Library\n\nThe essay of the section.\n\nDeclared here: tl_status, tl_status_code, ",
			"::::{c:type} int32_t tl_status\n\ntl_status tells how it went.\n::::\n",
			"::::{c:enum} tl_status_code\n", "\n:::{c:enumerator} TL_OK = 0\n\nfine\n:::\n",
			"\n:::{c:enumerator} TL_E_NOT_LIVE = 1\n:::\n",
			"::::{c:macro} TL_INLINE_VERSION\n", "::::{c:type} void (*tl_deleter)(void* ptr, void* ctx)\n",
			"::::{c:struct} tl_pair\n", "\n:::{c:member} size_t first_one\n\nhow many\n:::\n",
			"\n:::{c:member} const char* name\n:::\n",
			"::::{c:struct} DLThing\n",
			"::::{c:function} void* tl_take(void* object, const int64_t* shape, uint8_t kind)\n\n" +
				"tl_take takes an object\\* of \\[0, 1) \\<64, `a*b`, and a sentence that is " +
				"long enough to be broken in\ntwo.\n\n" +
				":Ownership: the runtime holds the object.\n:Threads: any.\n:Returns: its argument.\n" +
				":Errors: TL_E_NOT_LIVE (released).\n:Cost: fast; constant.\n::::\n",
		},
	} {
		for _, part := range parts {
			if !strings.Contains(pages[page], part) {
				t.Errorf("%s lacks\n%s\nit is\n%s", page, part, pages[page])
			}
		}
	}
	for _, e := range src.functions() {
		if !strings.Contains(pages["library.md"], " "+e.name+"(") && !strings.Contains(pages["library.md"], "* "+e.name+"(") {
			t.Errorf("%s is in no page", e.name)
		}
	}
}
