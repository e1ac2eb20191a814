/*
 * Paths, directories, compression, detection, and output that appears whole or not at all.
 */
#include "read_help.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "read/inflate.h"

TEST_MAIN

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void make_dir(void)
{
    strcpy(dir, "/tmp/ratel-file-XXXXXX");
    if (!mkdtemp(dir)) test_fail(__FILE__, __LINE__, "no temporary directory");
}

/* Removes the directory with what it holds, two levels down. */
static void drop_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command)) test_fail(__FILE__, __LINE__, "%s failed", command);
}

static void put_file(const char *name, const void *at, size_t n)
{
    FILE *f = fopen(in_dir(name), "wb");
    if (!f || fwrite(at, 1, n, f) != n) test_fail(__FILE__, __LINE__, "cannot write %s", name);
    if (f) fclose(f);
}

static text get_file(const char *name)
{
    text t = {0};
    char buf[4096];
    text_add("", 0, &t);
    FILE *f = fopen(in_dir(name), "rb");
    for (size_t n; f && (n = fread(buf, 1, sizeof buf, f)) > 0;) text_add(buf, n, &t);
    if (f) fclose(f);
    return t;
}

static int entries(const char *path)
{
    char command[300];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
    FILE *f = popen(command, "r");
    int n = -1;
    if (!f || fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
}

/* Writes a history; the code of the failure, or 0. */
static int save(const history *h, const char *format, const char *path)
{
    guard g;
    write_file w;
    guard_init(&g);
    write_file_init(&w, NULL, NULL, &g);
    if (!guard_armed(&g)) write_path(&w, h, format, path);
    write_file_close(&w);
    return g.code;
}

#define LINES "w(1,1,0,0)\nr(1,1,1,1)\nw(2,5,1,2)\n"

static void refused_path(const char *path, const char *format, int code, const char *why)
{
    guard g;
    history *h = load_path(&g, format, path);
    EXPECT(!h);
    EXPECT_EQ_INT(g.code, code);
    if (!strstr(g.text, why)) EXPECT_STR(g.text, why);
    history_free(h);
}

TEST(paths_that_cannot_be_read)
{
    make_dir();
    refused_path(in_dir("none"), NULL, GUARD_IO, "No such file");
    if (symlink("loop", in_dir("loop"))) test_fail(__FILE__, __LINE__, "symlink");
    refused_path(in_dir("loop"), NULL, GUARD_IO, "symbolic links");
    put_file("secret", LINES, strlen(LINES));
    chmod(in_dir("secret"), 0);
    if (geteuid() != 0) refused_path(in_dir("secret"), NULL, GUARD_IO, "Permission denied");
    put_file("empty", "", 0);
    refused_path(in_dir("empty"), NULL, GUARD_PARSE, "empty file: its format cannot be detected");
    put_file("junk", "hello world, this is no history at all\n", 39);
    refused_path(in_dir("junk"), NULL, GUARD_PARSE, "no history format fits this file");
    refused_path(in_dir("junk"), "nonsense", GUARD_INVAL, "there is no format nonsense");
    refused_path(in_dir("junk"), "polyg", GUARD_UNSUPPORTED, "cannot read");
    refused_path(dir, NULL, GUARD_PARSE, "no history format fits the files of this directory");
    refused_path(dir, "text", GUARD_PARSE, "this is a directory");
    refused_path(dir, "cobra", GUARD_PARSE, "no file in the format cobra");
    mkdir(in_dir("bare"), 0777);
    refused_path(in_dir("bare"), NULL, GUARD_PARSE, "no history format fits the files");
    guard g;
    history *h = load_path(&g, "text", in_dir("empty"));
    EXPECT_STR(g.text, "");
    EXPECT(h && h->txns == 0);
    history_free(h);
    drop_dir();
}

/* Failing must not leave descriptors behind. */
TEST(descriptors)
{
    make_dir();
    put_file("bad", "w(1,1,0,0)\nx", 12);
    mkdir(in_dir("logs"), 0777);
    put_file("logs/T1.log", "Sxx", 3);
    int before = open("/dev/null", O_RDONLY);
    close(before);
    guard g;
    for (int i = 0; i < 20; i++) {
        EXPECT(!load_path(&g, NULL, in_dir("bad")));
        EXPECT_EQ_UINT(g.line, 2);
        EXPECT(!load_path(&g, NULL, in_dir("logs")));
        EXPECT_STR(g.member, "T1.log");
        EXPECT(!load_path(&g, NULL, dir));
    }
    int after = open("/dev/null", O_RDONLY);
    close(after);
    EXPECT_EQ_INT(after, before);
    drop_dir();
}

TEST(single_history_in_a_directory)
{
    make_dir();
    guard g;
    history *h = load(&g, NULL, LINES, strlen(LINES));
    REQUIRE(h);
    EXPECT_EQ_INT(save(h, "dbcop", in_dir("history.bincode")), 0);
    history *back = load_path(&g, NULL, dir);
    EXPECT_STR(g.text, "");
    EXPECT(back && back->txns == 3);
    history_free(back);
    history_free(h);
    drop_dir();
}

TEST(output_is_whole_or_absent)
{
    make_dir();
    guard g;
    history *h = load(&g, NULL, LINES, strlen(LINES));
    REQUIRE(h);
    put_file("out", "old", 3);
    EXPECT_EQ_INT(save(h, "text", in_dir("out")), 0);
    text t = get_file("out");
    EXPECT_STR(t.at, LINES);
    free(t.at);
    EXPECT_EQ_INT(save(h, "text", in_dir("no/such/dir")), GUARD_IO);
    EXPECT_EQ_INT(save(h, "text", "/dev/full"), GUARD_IO);
    EXPECT_EQ_INT(save(h, "text", "/dev/null"), 0);
    EXPECT_EQ_INT(save(h, "nonsense", in_dir("out")), GUARD_INVAL);
    EXPECT_EQ_INT(save(h, "cobra", "-"), GUARD_INVAL);
    EXPECT_EQ_INT(save(h, "cobra", in_dir("logs/")), 0);
    EXPECT_EQ_INT(entries(in_dir("logs")), 2);
    EXPECT_EQ_INT(save(h, "cobra", in_dir("logs")), GUARD_IO); /* not over files */
    EXPECT_EQ_INT(save(h, "cobra", in_dir("out")), GUARD_IO);
    EXPECT_EQ_INT(entries(dir), 2); /* nothing temporary is left */
    t = get_file("out");
    EXPECT_STR(t.at, LINES);
    free(t.at);
    history *back = load_path(&g, NULL, in_dir("logs"));
    EXPECT_STR(g.text, "");
    EXPECT(back && back->txns == 3);
    history_free(back);
    history_free(h);
    drop_dir();
}

/* --- compression ----------------------------------------------------------------------------- */

static text big_text(void)
{
    text t = {0};
    char line[64];
    for (int i = 0; i < 50000; i++)
        text_add(line,
                 (size_t)snprintf(line, sizeof line, "w(%d,%d,%d,%d)\n", i % 100, i + 1, i % 7, i),
                 &t);
    return t;
}

#ifdef HAVE_ZLIB
static const bool zlib_here = true;
#else
static const bool zlib_here = false;
#endif
#ifdef HAVE_ZSTD
static const bool zstd_here = true;
#else
static const bool zstd_here = false;
#endif

static void compressed(const char *suffix)
{
    make_dir();
    char name[32], half[32];
    snprintf(name, sizeof name, "h.txt%s", suffix);
    snprintf(half, sizeof half, "half%s", suffix);
    text plain = big_text();
    guard g;
    history *h = load(&g, NULL, plain.at, plain.n);
    REQUIRE(h);
    EXPECT_EQ_INT(save(h, "text", in_dir(name)), 0);
    text packed = get_file(name);
    EXPECT(packed.n > 100 && packed.n < plain.n / 2);
    static const size_t pieces[] = {SIZE_MAX, 1, 4096};
    for (int i = 0; i < 3; i++) {
        history *back = load_pieces(&g, NULL, packed.at, packed.n, pieces[i]);
        EXPECT_STR(g.text, "");
        if (back) EXPECT_SAME(h, back);
        history_free(back);
    }
    /* two in a row are one stream */
    text twice = {0};
    static const char first[] = "w(9,9,99,999999)\n";
    history *one = load(&g, NULL, first, strlen(first));
    REQUIRE(one);
    EXPECT_EQ_INT(save(one, "text", in_dir(half)), 0);
    history_free(one);
    text other = get_file(half);
    text_add(other.at, other.n, &twice);
    text_add(packed.at, packed.n, &twice);
    history *both = load(&g, NULL, twice.at, twice.n);
    EXPECT_STR(g.text, "");
    EXPECT(both && both->txns == 50001);
    history_free(both);
    text_add(other.at, other.n, &twice); /* and a small one after a large one */
    both = load(&g, NULL, twice.at, twice.n);
    EXPECT_STR(g.text, "");
    EXPECT(both && both->txns == 50001); /* it is the same transaction again */
    history_free(both);
    /* cut off anywhere: an error, not a shorter history */
    for (size_t n = 5; n < packed.n; n += packed.n / 50 + 1) {
        history *cut = load(&g, NULL, packed.at, n);
        EXPECT(!cut);
        EXPECT_EQ_INT(g.code, GUARD_PARSE);
        history_free(cut);
    }
    history *cut = load(&g, NULL, packed.at, packed.n - 1);
    EXPECT(!cut);
    EXPECT(strstr(g.text, "cut off") != NULL);
    history_free(cut);
    /* a flipped bit in the middle */
    packed.at[packed.n / 2] = (char)(packed.at[packed.n / 2] ^ 0x10);
    cut = load(&g, NULL, packed.at, packed.n);
    EXPECT(!cut);
    EXPECT_EQ_INT(g.code, GUARD_PARSE);
    history_free(cut);
    free(plain.at), free(packed.at), free(twice.at), free(other.at);
    history_free(h);
    drop_dir();
}

TEST(gzip)
{
    if (!zlib_here) SKIP("built without zlib");
    compressed(".gz");
}

TEST(zstd)
{
    if (!zstd_here) SKIP("built without libzstd");
    compressed(".zst");
}

/* A frame that declares a window of 8 MiB, and `blocks` times 128 KiB of newlines in it. */
static size_t blank_frame(unsigned char *at, int blocks)
{
    static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3};
    size_t n = sizeof head;
    memcpy(at, head, n);
    for (int i = 0; i < blocks; i++) {
        uint32_t block =
            (uint32_t)(i + 1 == blocks) | 1u << 1 | 128u << 10 << 3; /* one byte, often */
        for (int k = 0; k < 3; k++) at[n++] = (unsigned char)(block >> (8 * k));
        at[n++] = '\n';
    }
    return n;
}

/* zstd keeps what it unpacked, up to the window: the limit of memory counts what it has filled. */
TEST(zstd_window_is_charged)
{
    if (!zstd_here) SKIP("built without libzstd");
    static const struct {
        int blocks; /* eight are a MiB */
        bool fits;
    } cases[] = {{8, true}, {16, true}, {48, false}, {120, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char packed[1024];
        bytes b = {(const char *)packed, blank_frame(packed, cases[i].blocks), SIZE_MAX};
        guard g;
        read_file f;
        history *volatile h = NULL;
        guard_init(&g);
        read_file_init(&f);
        if (!guard_armed(&g)) {
            h = history_new(NULL, NULL, &g, (size_t)4 << 20);
            read_stream(&f, h, bytes_read, &b, "ratel");
        }
        read_file_close(&f);
        if (cases[i].fits)
            EXPECT_STR(g.text, "");
        else
            EXPECT(strstr(g.text, "unpacking zstd data takes") != NULL);
        EXPECT_EQ_INT(g.code, cases[i].fits ? GUARD_OK : GUARD_NOMEM);
        history_free(h);
    }
}

/* --- telling formats apart ------------------------------------------------------------------- */

static const char *told(const char *from, size_t n)
{
    static char answer[256];
    for (int i = 0; i < 2; i++) { /* also when bytes come one by one */
        bytes b = {from, n, i ? 1 : SIZE_MAX};
        guard g;
        mem m;
        source s;
        char now[256] = "none";
        guard_init(&g);
        mem_init(&m, NULL, NULL, &g);
        if (!guard_armed(&g)) {
            source_init(&s, &m, &g, bytes_read, &b);
            const read_format *f = read_detect(&s);
            if (f) snprintf(now, sizeof now, "%s", f->id);
        } else {
            const char *open = strchr(g.text, '(');
            snprintf(now, sizeof now, "%.*s!", open ? (int)strcspn(open + 1, ")") : 9,
                     open ? open + 1 : "no name");
        }
        mem_free_all(&m);
        if (i && strcmp(now, answer) != 0)
            snprintf(answer, sizeof answer, "depends on the pieces");
        else
            memcpy(answer, now, sizeof answer);
    }
    return answer;
}
#define EXPECT_TOLD(from, id) EXPECT_STR(told(from, sizeof(from) - 1), id)

TEST(detection)
{
    EXPECT_TOLD("", "none");
    EXPECT_TOLD("  \n ", "none");
    EXPECT_TOLD("hello", "none");
    EXPECT_TOLD("r(1,2,3,4)", "text");
    EXPECT_TOLD("w(", "text");
    EXPECT_TOLD("r 1 2\n", "awdit-test");
    EXPECT_TOLD("\n---\n=====\nw 0 0\n", "awdit-test");
    EXPECT_TOLD("read me", "none");
    EXPECT_TOLD("n:40\ne:1,2\n", "polyg!");
    EXPECT_TOLD("- - events:\n", "dbcop-yaml");
    EXPECT_TOLD("---\n- - events:\n", "dbcop-yaml");
    EXPECT_TOLD("// session 1\n[x:=1]\n", "dbcop-hist");
    EXPECT_TOLD("[x==? y:=2]!\n", "dbcop-hist");
    EXPECT_TOLD("[1,2,3]", "none");
    EXPECT_TOLD("[]", "none");
    EXPECT_TOLD("{}", "none");
    EXPECT_TOLD("2\n0 1 A 5 1\n0 1 R 5 1 1\n", "veristrong-la");
    EXPECT_TOLD("1\n-1 -2 A -5 1\n", "veristrong-la");
    EXPECT_TOLD("0\n", "veristrong-la");
    EXPECT_TOLD("2\n3\n4\n", "none");
    EXPECT_TOLD("3\n", "none");
    EXPECT_TOLD("{:type :ok, :value [[:append 1 1]]}", "edn-la");
    EXPECT_TOLD("; a comment\n{:type :ok, :value [[:w 1 1]]}", "edn-rw");
    EXPECT_TOLD("[{:type :ok, :value [[:r 1 nil]]}]", "edn-rw");
    EXPECT_TOLD("{:type :ok, :value [[:r 1 [5]]]}", "edn-la");
    EXPECT_TOLD("#jepsen.history.Op{:value [[:append 1 1]]}", "edn-la");
    EXPECT_TOLD("({:value [[ :w 1 1]]})", "edn-rw");
    EXPECT_TOLD("{\"ratel\":1}", "ratel");
    EXPECT_TOLD("{\"init\":{\"ops\":1,\"params\":2}, \"ratel\" : 1}", "ratel");
    EXPECT_TOLD("{\"session\":1,\"ops\":[[\"w\",\"params\",1]]}", "ratel");
    EXPECT_TOLD("{\"mark\":\"fault\"}", "ratel");
    EXPECT_TOLD("{\"value\": [[\"w\", 1, 2, true]]}", "viper");
    EXPECT_TOLD("{\"preBeginTS\": 1, \"value\": []}", "viper");
    EXPECT_TOLD("[{\"tid\": 1, \"sid\": 1, \"ops\": []}]", "timekiller");
    EXPECT_TOLD("{\"{'k': 1, 'v': 2}\": {}}", "timekiller-cdc");
    EXPECT_TOLD("{\"type\" \"ok\" \"value\" [[\"append\" 1 2]]}", "edn-la");
    EXPECT_TOLD("{\"type\" :ok, \"value\" [[\"r\" 1 [2]]]}", "edn-la");
    EXPECT_TOLD("[{\"type\":ok \"value\" [[\"w\" 1 2]]}]", "edn-rw");
    EXPECT_TOLD("{\"value\" [[\"append\" 1 2]] \"type\" \"ok\"}", "edn-la");
    EXPECT_TOLD("{,:type :ok :value [[:w 1 2]]}", "edn-rw");
    EXPECT_TOLD("{;\n:type :ok :value [[:w 1 2]]}", "edn-rw");
    EXPECT_TOLD(" [ {\"ops\":[{\"t\":\"w\"}],\"cts\":{},\"tid\":3}]", "timekiller");
    EXPECT_TOLD("{\"ops\":[],\"sts\":{}}", "timekiller");
    EXPECT_TOLD("{\"data\":[[]],\"info\":\"}\",\"params\":{}}", "dbcop-json");
    EXPECT_TOLD("[[{\"committed\":true,\"events\":[]}]]", "dbcop-json");
    EXPECT_TOLD("[\n [], [] ]", "dbcop-json");
    EXPECT_TOLD("{\"info\":\"params\",\"start\":\"\",\"data\":[]}", "dbcop-json");
    EXPECT_TOLD("\xef\xbb\xbf[[],[{\"x\":{\"type\":1},\"committed\":false}]]", "dbcop-json");
    EXPECT_TOLD("{\"value\":[],\"f\":\"txn\",\"process\":0,\"type\":\"ok\"}", "elle-json");
    EXPECT_TOLD("--\n\n[x:=1]\n", "dbcop-hist");
    EXPECT_TOLD("[0:=1]\n", "dbcop-hist");
    EXPECT_TOLD("- []\n- - success: true\n", "dbcop-yaml");
    EXPECT_TOLD("-\n  - events: []\n", "dbcop-yaml");
    EXPECT_TOLD("== - ==\r\n  w 0 0\r\n", "awdit-test");
    EXPECT_TOLD("[{\"process\":0,\"type\":\"ok\"}]", "elle-json");
    EXPECT_TOLD("{\"type\":\"pay\",\"session\":1,\"params\":{},\"data\":2,\"ops\":[]}", "ratel");
    EXPECT_TOLD("{\"session\":1,\"ops\":[],\"type\":\"ok\"}", "ratel");
    EXPECT_TOLD("{\"type\":\"info\",\"mark\":\"fault\"}", "ratel");
    EXPECT_TOLD("{\"params\":{},\"info\":\"\"}", "dbcop-json");
    EXPECT_TOLD("S\0\0\0\0\0\0\0\1C\0\0\0\0\0\0\0\1", "cobra");
    EXPECT_TOLD("S\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1C\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", "cobra");
    EXPECT_TOLD("Some text that begins with an S and goes on", "none");
    EXPECT_TOLD("\x7f"
                "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0\1\0\0\0\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0",
                "none");
}

/* A file of dbcop begins with a number, so its first byte may be that of any other format; a log of
   Cobra must not be taken for it, nor it for one. */
TEST(detection_by_first_byte)
{
    for (unsigned id = 0; id < 0x10000; id += id < 0x300 ? 1 : 0x101) {
        char file[48 + 2 * 8 + 8] = {(char)id, (char)(id >> 8)};
        file[8] = 3, file[16] = 5, file[24] = 4, file[32] = 2; /* sizes; three empty strings */
        EXPECT_STR(told(file, sizeof file), "dbcop");
        file[24] = (char)id; /* a number inside may look like anything, too */
        EXPECT_STR(told(file, sizeof file), "dbcop");
    }
    char file[48 + 2 * 8 + 8] = {0x1f, (char)0x8b, 0, 0, 0, 0, 0, 0, 1};
    make_dir();
    put_file("like-gzip", file, sizeof file);
    guard g;
    history *h = load_path(&g, NULL, in_dir("like-gzip"));
    EXPECT(h);
    history_free(h);
}

/* The length of the text in the head of a file of dbcop: too long, or so long that sums wrap. */
TEST(detection_of_impossible_lengths)
{
    char file[64] = {1};
    EXPECT_STR(told(file, sizeof file), "dbcop");
    for (unsigned back = 1; back < 64; back++) {
        memset(file + 40, 0xff, 8);
        file[40] = (char)(256 - back);
        EXPECT_STR(told(file, sizeof file), "none");
    }
    memset(file + 40, 0, 8);
    file[41] = 0x11; /* more than 4096 */
    EXPECT_STR(told(file, sizeof file), "none");
}

TEST(names_of_single_histories)
{
    static const char *const names[] = {
        "", ".gz", "other.edn", "history.bincode.bak", "history.ed", "history.edn.zst"};
    EXPECT_EQ_INT(read_dir_single(6, names), 5);
    EXPECT(read_dir_single(5, names) == NO_ID);
    EXPECT(read_dir_single(0, names) == NO_ID);
}

/* No prefix of anything may crash it, and cutting may not turn one format into another's. */
TEST(detection_of_prefixes)
{
    static const char whole[] = "{\"session\":1,\"id\":\"a\\\"b\",\"ops\":[[\"r\",\"x\",null]]}";
    for (size_t n = 0; n < sizeof whole; n++) {
        const char *id = told(whole, n);
        EXPECT(!strcmp(id, "ratel") || !strcmp(id, "none"));
    }
}
