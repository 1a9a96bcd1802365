/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_rules.c - the rules by which frames are classified, as data; see frame_rules.h.
 *
 * A program that builds strings allocates in libstdc++, one that opens files allocates in libc. The
 * interesting frame is the first one that was written for this program.
 */
#include "model/stack/frame_rules.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"

enum subject {
	MODULE,   /* the beginning of a module's file name */
	FUNCTION, /* the beginning of a function's name, after the return type */
	RUST,     /* the same, of Rust code only: C++ programs have namespaces with these names */
};

/* The first rule that fits decides: names say more than modules. */
static const struct rule {
	enum subject subject;
	const char *prefix;
	bool allocates;     /* see hl_frame_kind_by_name */
	const char *family; /* NULL: from the name of the function */
} rules[] = {
	{FUNCTION, "operator new", true, "operator new"},
	{FUNCTION, "std::allocator<", true, "std::allocator"},
	{FUNCTION, "std::allocator_traits<", true, "std::allocator"},
	{FUNCTION, "std::__new_allocator<", true, "std::allocator"},
	{FUNCTION, "__gnu_cxx::new_allocator<", true, "std::allocator"},
	{FUNCTION, "__gnu_cxx::__alloc_traits<", true, "std::allocator"},
	{FUNCTION, "std::", false, NULL},
	{FUNCTION, "__gnu_cxx::", false, NULL},
	{FUNCTION, "__rust_alloc", true, "alloc::alloc"},
	{FUNCTION, "__rust_realloc", true, "alloc::alloc"},
	{FUNCTION, "__rustc::", true, "alloc::alloc"},
	{FUNCTION, "__rdl_", true, "alloc::alloc"},
	{FUNCTION, "__rg_", true, "alloc::alloc"},
	{FUNCTION, "[...]", false, NULL}, /* a truncated stack */
	{RUST, "alloc::alloc::", true, "alloc::alloc"},
	{RUST, "alloc::", false, NULL},
	{RUST, "core::", false, NULL},
	{RUST, "std::", false, NULL},
	{RUST, "hashbrown::", false, "hashbrown"},
	{MODULE, "libc.so", false, NULL},
	{MODULE, "libc-2", false, NULL},
	{MODULE, "libstdc++.so", false, NULL},
	{MODULE, "libc++.so", false, NULL},
	{MODULE, "libc++abi.so", false, NULL},
	{MODULE, "libgcc_s.so", false, NULL},
	{MODULE, "libm.so", false, NULL},
	{MODULE, "libmvec.so", false, NULL},
	{MODULE, "libpthread", false, NULL},
	{MODULE, "libdl.so", false, NULL},
	{MODULE, "librt.so", false, NULL},
	{MODULE, "ld-linux", false, "the loader"},
	{MODULE, "ld-musl", false, "the loader"},
	{MODULE, "ld.so", false, "the loader"},
	{MODULE, "libjemalloc.so", true, "jemalloc"},
	{MODULE, "libtcmalloc.so", true, "tcmalloc"},
	{MODULE, "libtcmalloc_minimal", true, "tcmalloc"},
	{MODULE, "libtcmalloc_debug", true, "tcmalloc"},
	{MODULE, "libtcmalloc_and_profiler", true, "tcmalloc"},
	{MODULE, "libmimalloc.so", true, "mimalloc"},
	{MODULE, "libmimalloc-", true, "mimalloc"},
	{MODULE, "libheaplapse.so", true, "heaplapse"},
};

/* Functions of libc that allocate what their caller asks for, without leading underscores. */
static const char *const libc_allocates[] = {"malloc", "calloc", "realloc", "reallocarray",
	"memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "libc_malloc",
	"libc_calloc", "libc_realloc", "libc_memalign", "strdup", "strndup", "wcsdup", "asprintf",
	"asprintf_chk", "vasprintf", "vasprintf_chk", "vasprintf_internal"};

/* Parts of names of functions that allocate what their caller asks for, in any case. */
static const char *const allocator_names[] = {"malloc", "calloc", "realloc", "memalign", "strdup",
	"strndup", "wcsdup", "memdup", "palloc", "mem_alloc"};

/* Functions that libc defines under this name and as _IO_NAME. */
static const char *const stdio_names[] = {"fclose", "fdopen", "fgets", "fopen", "fputs", "fread",
	"fwrite", "getdelim", "getline", "popen", "puts", "setbuffer", "setvbuf", "vfprintf",
	"vsprintf"};

/* Names that only libc uses for its outermost frames, and names that a program may use too. */
static const char *const startup_names[] = {"_start", "clone3", "__clone3", "__GI___clone3"};
static const char *const maybe_startup_names[] = {
	"start_thread", "clone", "__clone", "__GI___clone"};

/* The class that a program uses, for classes that implement it. */
static const struct alias {
	const char *name, *family;
} aliases[] = {
	{"std::_Rb_tree", "std::map"},
	{"std::__tree", "std::map"},
	{"std::_Hashtable", "std::unordered_map"},
	{"std::__hash_table", "std::unordered_map"},
	{"std::basic_string", "std::string"},
	{"std::_Vector_base", "std::vector"},
	{"std::_Bvector_base", "std::vector"},
	{"std::__split_buffer", "std::vector"},
	{"std::_Deque_base", "std::deque"},
	{"std::_List_base", "std::list"},
	{"std::_Fwd_list_base", "std::forward_list"},
	{"std::_Function_handler", "std::function"},
	{"std::_Function_base", "std::function"},
	{"std::__function", "std::function"},
	{"std::__shared_ptr", "std::shared_ptr"},
	{"std::__shared_count", "std::shared_ptr"},
	{"std::_Sp_counted_base", "std::shared_ptr"},
};

/* The header of the C++ library that a class is in, by the beginning of its file name, for
 * functions whose name lacks the class. */
static const struct alias headers[] = {
	{"stl_vector.h", "std::vector"},
	{"vector", "std::vector"},
	{"stl_bvector.h", "std::vector"},
	{"basic_string", "std::string"},
	{"string", "std::string"},
	{"stl_map.h", "std::map"},
	{"stl_multimap.h", "std::map"},
	{"stl_tree.h", "std::map"},
	{"map", "std::map"},
	{"stl_set.h", "std::set"},
	{"stl_multiset.h", "std::set"},
	{"set", "std::set"},
	{"unordered_map", "std::unordered_map"},
	{"unordered_set", "std::unordered_set"},
	{"hashtable", "std::unordered_map"},
	{"stl_deque.h", "std::deque"},
	{"deque", "std::deque"},
	{"stl_queue.h", "std::queue"},
	{"stl_stack.h", "std::stack"},
	{"stl_list.h", "std::list"},
	{"list", "std::list"},
	{"forward_list", "std::forward_list"},
	{"std_function.h", "std::function"},
	{"function.h", "std::function"},
	{"unique_ptr.h", "std::unique_ptr"},
	{"shared_ptr", "std::shared_ptr"},
	{"std_thread.h", "std::thread"},
	{"thread", "std::thread"},
	{"optional", "std::optional"},
	{"any", "std::any"},
	{"sstream", "std::stringstream"},
	{"new_allocator.h", "std::allocator"},
	{"alloc_traits.h", "std::allocator"},
	{"allocator.h", "std::allocator"},
};

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- start-up --- */

bool hl_frame_in_libc(const struct hl_frame *f)
{
	const char *base = f->module ? base_name(f->module) : "";

	return starts_with(base, "libc.so") || starts_with(base, "libc-2.") ||
	       starts_with(base, "libpthread");
}

/* __libc_start_main_impl with debug information, __libc_start_main in an old libc. */
bool hl_frame_calls_main(const struct hl_frame *f)
{
	return starts_with(f->function, "__libc_start_");
}

bool hl_frame_is_startup(const struct hl_frame *f, bool outermost)
{
	if (hl_frame_calls_main(f) ||
		is_one_of(f->function, startup_names, HL_ARRAY_LEN(startup_names)))
		return true;
	return is_one_of(f->function, maybe_startup_names, HL_ARRAY_LEN(maybe_startup_names)) &&
	       (!outermost || hl_frame_in_libc(f));
}

/* --- names --- */

bool hl_frame_is_end(const struct hl_frame *f)
{
	return strcmp(f->function, "[...]") == 0;
}

bool hl_frame_is_nameless(const struct hl_frame *f)
{
	return f->function[0] == '[' || starts_with(f->function, "0x");
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

/* Is the part of a name in one word? Not the "calLoc" of criticalLock, nor the "realloc" of
 * preallocate; letters before it are common (xmalloc), and one after it (xmallocz). */
static bool is_in_one_word(const char *s, size_t n, const char *end)
{
	for (size_t i = 1; i < n; i++) {
		if (is_lower(s[i - 1]) && isupper((unsigned char)s[i]))
			return false;
	}
	return end - s < (ptrdiff_t)n + 2 || strncasecmp(s + n, "at", 2) != 0;
}

static bool contains_allocator_name(const char *name, const char *end)
{
	for (const char *s = name; s < end; s++) {
		for (size_t i = 0; i < HL_ARRAY_LEN(allocator_names); i++) {
			size_t n = strlen(allocator_names[i]);

			if ((size_t)(end - s) >= n && strncasecmp(s, allocator_names[i], n) == 0 &&
				is_in_one_word(s, n, end))
				return true;
		}
	}
	return false;
}

/* Is s a word of the name, as in word_new, wordNewWord, Word1New, ns::new? */
static bool is_word(const char *name, const char *end, const char *s, const char *word)
{
	size_t n = strlen(word);
	char before = s > name ? s[-1] : '_', after = (size_t)(end - s) > n ? s[n] : '_';

	if ((size_t)(end - s) < n || strncasecmp(s, word, n) != 0)
		return false;
	return !is_lower(after) &&
	       (is_lower(*s) ? !isalpha((unsigned char)before)
			     : is_lower(before) || !isalpha((unsigned char)before));
}

/* Arguments of templates and functions do not count. */
enum hl_allocator_name hl_frame_allocator_name(const struct hl_frame *f)
{
	const char *name = f->function, *end = name + strcspn(name, "(<");
	enum hl_allocator_name found = HL_NAME_OTHER;

	if (contains_allocator_name(name, end))
		return HL_NAME_ALLOCATOR;
	for (const char *s = name; s < end; s++) {
		if (is_word(name, end, s, "allocate") && end - s == 8)
			return HL_NAME_ALLOCATOR;
		if (end - s == 5 && strncasecmp(s, "alloc", 5) == 0)
			return s - name >= 2 && strncasecmp(s - 2, "de", 2) == 0 ? found
										 : HL_NAME_ALLOC;
		if (is_word(name, end, s, "alloc") || is_word(name, end, s, "new"))
			found = HL_NAME_NEW;
	}
	return found;
}

/* Skips the return type, which demangled names of template instances have: "void
 * std::sort<int*>(...)". */
static const char *skip_return_type(const char *name)
{
	const char *start = name;
	size_t depth = 0;

	for (const char *s = name; *s; s++) {
		if (depth == 0 && (s == start || s[-1] == ':') && starts_with(s, "operator"))
			break;
		if (depth == 0 && *s == '(' && !starts_with(s, "(anonymous namespace)"))
			break;
		if (strchr("<([{", *s))
			depth++;
		else if (strchr(">)]}", *s))
			depth -= depth > 0;
		else if (*s == ' ' && depth == 0)
			start = s + 1;
	}
	return start;
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* The path of a source of the Rust library below "/library/"; NULL if it is none. */
static const char *rust_library_path(const char *file)
{
	const char *root = strstr(file, "/rustc");

	if (!root)
		root = strstr(file, "/rustlib/");
	root = root && has_suffix(file, ".rs") ? strstr(root, "/library/") : NULL;
	return root ? root + 9 : NULL;
}

/* hashbrown is the crate that implements the maps of Rust. */
static bool is_hashbrown_file(const char *file)
{
	return has_suffix(file, ".rs") && strstr(file, "/hashbrown-");
}

/* ".../include/c++/12/...", ".../include/c++/v1/...": programs have directories named c++, too. */
static bool is_cxx_library_file(const char *file)
{
	const char *version = strstr(file, "/c++/");

	return version && strstr(file, "/include/") &&
	       (isdigit((unsigned char)version[5]) || starts_with(version + 5, "v1/"));
}

/* Programs specialize templates of std, such as std::hash, in files of their own. */
static bool is_own_file(const char *file)
{
	return file[0] == '/' && !strstr(file, "/c++/") && !strstr(file, "libstdc++") &&
	       !strstr(file, "libcxx");
}

static bool is_library_file(const char *file)
{
	return is_cxx_library_file(file) || rust_library_path(file) || is_hashbrown_file(file);
}

/* "shop::Cart" is a type of the program; "alloc::vec::Vec<u8>" and the parameter "T" are not. */
static bool is_own_rust_type(const char *type)
{
	static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::"};
	size_t n = strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	for (size_t i = 0; i < HL_ARRAY_LEN(crates); i++) {
		if (starts_with(type, crates[i]))
			return false;
	}
	return n > 0 && starts_with(type + n, "::");
}

/* The path that decides which crate a function of Rust belongs to: "<T as alloc::x::Trait>::f"
 * belongs to the trait's crate, "<alloc::x::Type>::f" to the type's crate, and "<shop::Cart as
 * alloc::x::Trait>::f" to the program, which implements traits of core. NULL: the name does not
 * decide. If the file is known, the file decides. */
static const char *rust_path(const struct hl_frame *f)
{
	const char *name = f->function, *as = NULL;
	size_t depth = 0;

	if (name[0] != '<')
		return !f->file || has_suffix(f->file, ".rs") ? name : NULL;
	if (f->file)
		return NULL;
	for (const char *s = name; *s && !as; s++) {
		depth += *s == '<';
		depth -= *s == '>' && s[-1] != '-' && depth > 0;
		if (depth == 0)
			break;
		if (depth == 1 && starts_with(s, " as "))
			as = s + 4;
	}
	return as && !is_own_rust_type(name + 1) ? as : name + 1;
}

/* --- rules --- */

static const struct rule *find_rule(const struct hl_frame *f)
{
	const char *subjects[] = {[MODULE] = f->module ? base_name(f->module) : NULL,
		[FUNCTION] = skip_return_type(f->function),
		[RUST] = rust_path(f)};

	bool own = f->file && is_own_file(f->file);

	for (size_t i = 0; i < HL_ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];
		const char *subject = subjects[r->subject];

		if (r->subject == FUNCTION && !r->allocates && own && !hl_frame_is_nameless(f))
			continue;
		if (subject && starts_with(subject, r->prefix))
			return r;
	}
	return NULL;
}

/* "__GI___strdup" and "__strdup" are strdup, "_IO_puts" is puts. */
static const char *public_name(const char *name)
{
	if (starts_with(name, "__GI_"))
		name += 5;
	if (starts_with(name, "_IO_") &&
		is_one_of(name + 4, stdio_names, HL_ARRAY_LEN(stdio_names)))
		return name + 4;
	return name + strspn(name, "_");
}

static bool rule_allocates(const struct rule *r, const struct hl_frame *f)
{
	if (r && r->subject == MODULE && hl_frame_in_libc(f))
		return is_one_of(
			public_name(f->function), libc_allocates, HL_ARRAY_LEN(libc_allocates));
	return r && r->allocates;
}

enum hl_frame_kind hl_frame_kind_by_name(const struct hl_frame *f, bool *allocates)
{
	const struct rule *r = find_rule(f);

	if (allocates)
		*allocates = rule_allocates(r, f);
	if (r || (f->file && is_library_file(f->file)))
		return HL_FRAME_PLUMBING;
	return hl_frame_is_startup(f, true) ? HL_FRAME_STARTUP : HL_FRAME_OWN;
}

/* --- families --- */

/* Appends the file name of a module up to its first dot. */
static void put_module(struct hl_strbuf *b, const struct hl_frame *f)
{
	const char *base = f->module ? base_name(f->module) : "code without a module";

	hl_strbuf_add(b, base, f->module && strchr(base, '.') ? strcspn(base, ".") : strlen(base));
}

/* "alloc/src/vec/mod.rs" is alloc::vec. */
static void put_rust_file(struct hl_strbuf *b, const char *path)
{
	size_t crate = strcspn(path, "/");
	const char *module = path + crate;

	hl_strbuf_add(b, path, crate);
	if (starts_with(module, "/src/"))
		hl_strbuf_printf(b, "::%.*s", (int)strcspn(module + 5, "/."), module + 5);
}

static bool is_inline_namespace(const char *s, size_t n)
{
	static const char *const names[] = {"__cxx11", "__1", "__2", "__detail", "__debug", "_V2"};

	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
		if (strlen(names[i]) == n && memcmp(names[i], s, n) == 0)
			return true;
	}
	return false;
}

/* The length of a part of a qualified name. "operator<<" and "operator==" are parts; the '<' of
 * "operator==<char>" begins template arguments. */
static size_t part_length(const char *name)
{
	size_t n = strcspn(name, "<(: "), symbols;

	if (n < 8 || strncmp(name, "operator", 8) != 0 ||
		(n > 8 && !strchr("=!+-*/%^&|~>,[", name[8])))
		return n;
	symbols = strspn(name + 8, "<>=!+-*/%^&|~,[]");
	if (symbols > 1 && name[8 + symbols - 1] == '<' && name[8 + symbols - 2] != '<')
		symbols--;
	return 8 + symbols;
}

/* Appends the first two parts of a qualified name, without template arguments: "std::map" of
 * "std::map<int, int>::operator[](int const&)". */
static void put_qualified(struct hl_strbuf *b, const char *name)
{
	unsigned parts = 0;

	while (parts < 2 && *name) {
		size_t n = part_length(name);
		const char *end = name + n;

		if (n > 0 && !is_inline_namespace(name, n))
			hl_strbuf_printf(b, "%s%.*s", parts++ ? "::" : "", (int)n, name);
		if (end[0] != ':' || end[1] != ':')
			break;
		name = end + 2;
	}
}

static const char *header_family(const char *file)
{
	const char *base = base_name(file);

	for (size_t i = 0; i < HL_ARRAY_LEN(headers); i++) {
		if (starts_with(base, headers[i].name))
			return headers[i].family;
	}
	return "the C++ library";
}

static void put_cxx(struct hl_strbuf *b, const char *name)
{
	struct hl_strbuf family = {0};

	put_qualified(&family, name);
	for (size_t i = 0; i < HL_ARRAY_LEN(aliases); i++) {
		if (strcmp(hl_strbuf_str(&family), aliases[i].name) == 0) {
			hl_strbuf_reset(&family);
			hl_strbuf_puts(&family, aliases[i].family);
		}
	}
	hl_strbuf_puts(b, hl_strbuf_str(&family));
	hl_strbuf_fini(&family);
}

void hl_frame_put_family(struct hl_strbuf *b, const struct hl_frame *f)
{
	const struct rule *r = find_rule(f);
	const char *name = skip_return_type(f->function), *rust = rust_path(f);
	const char *path = f->file ? rust_library_path(f->file) : NULL;

	if (r && r->family)
		hl_strbuf_puts(b, r->family);
	else if (hl_frame_is_startup(f, false) && hl_frame_in_libc(f))
		hl_strbuf_puts(b, "libc");
	else if (hl_frame_is_nameless(f) && f->module)
		put_module(b, f);
	else if (hl_frame_is_end(f))
		hl_strbuf_puts(b, "an unknown caller");
	else if (f->function[0] == '[')
		hl_strbuf_puts(b, f->function);
	else if (r && r->subject == RUST && rust)
		put_qualified(b, rust);
	else if (path)
		put_rust_file(b, path);
	else if (f->file && is_hashbrown_file(f->file))
		hl_strbuf_puts(b, "hashbrown");
	else if (strstr(name, "::"))
		put_cxx(b, name);
	else if (f->file && is_cxx_library_file(f->file))
		hl_strbuf_puts(b, header_family(f->file));
	else
		hl_strbuf_puts(b, r && *public_name(name) ? public_name(name) : name);
}
