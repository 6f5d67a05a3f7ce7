#include "interpreter.h"

#include "chunks.h"
#include "instruments.h"
#include "repl.h"
#include "runner.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parsed options. */
struct command_line {
    int script; /* index of the first argument that is not an option; argc if there is none */
    int bad;    /* index of a wrong option; 0 if there is none */
    bool interactive;
    bool version;
    bool executes; /* has -e */
    bool no_environment;
};

/* ---- The command line. ----------------------------------------------------------------------- */

/* One option; returns how many arguments it takes, 0 if it is wrong. */
static int scan_option(struct command_line *line, char **argv, int at)
{
    const char *option = argv[at];
    bool alone = option[2] == '\0';
    switch (option[1]) {
    case 'E':
        line->no_environment = true;
        return alone;
    case 'W':
        return alone;
    case 'i':
        line->interactive = true;
        line->version = true;
        return alone;
    case 'v':
        line->version = true;
        return alone;
    case 'e':
        line->executes = true;
        break;
    case 'l':
        break;
    default:
        return 0;
    }
    if (!alone)
        return 1; /* its argument is attached */
    return argv[at + 1] != NULL && argv[at + 1][0] != '-' ? 2 : 0;
}

static struct command_line scan(char **argv)
{
    struct command_line line = {.script = 1};
    if (argv[0] == NULL)
        line.script = 0;
    while (line.script > 0 && argv[line.script] != NULL && argv[line.script][0] == '-') {
        const char *option = argv[line.script];
        if (option[1] == '\0')
            break; /* "-": standard input */
        if (strcmp(option, "--") == 0) {
            line.script++;
            break;
        }
        int used = scan_option(&line, argv, line.script);
        if (used == 0) {
            line.bad = line.script;
            break;
        }
        line.script += used;
    }
    return line;
}

static void print_usage(const char *program, const char *bad)
{
    bool incomplete = bad[1] == 'e' || bad[1] == 'l';
    fflush(stdout);
    fprintf(stderr, incomplete ? "%s: '%s' needs argument\n" : "%s: unrecognized option '%s'\n",
            program, bad);
    fprintf(stderr,
            "usage: %s [host options] [options] [script [args]]\n"
            "Available options are those of lua5.4; '%s --help' lists them all.\n",
            program, program);
}

static void print_version(void)
{
    printf("%s\n", LUA_COPYRIGHT);
    fflush(stdout);
}

/* Global `arg`: the script at 0, its arguments from 1, what precedes it below 0. */
static void create_arg_table(lua_State *L, char **argv, int argc, int script)
{
    if (script == argc)
        script = 0; /* no script: the program's name takes its place */
    lua_createtable(L, argc - script, script + 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

/* ---- Running. -------------------------------------------------------------------------------- */

static int run_string(lua_State *L, const char *text, const char *name)
{
    int status = chunks_load_buffer(L, text, strlen(text), name);
    if (status == LUA_OK)
        status = runner_call(L, 0, 0);
    return runner_report(L, status);
}

static int run_file(lua_State *L, const char *file)
{
    int status = chunks_load_file(L, file);
    if (status == LUA_OK)
        status = runner_call(L, 0, 0);
    return runner_report(L, status);
}

/* "mod" or "global=mod". */
static int run_require(lua_State *L, const char *text)
{
    const char *equals = strchr(text, '=');
    lua_getglobal(L, "require");
    lua_pushstring(L, equals != NULL ? equals + 1 : text);
    int status = runner_call(L, 1, 1);
    if (status == LUA_OK) {
        lua_pushglobaltable(L);
        lua_pushlstring(L, text, equals != NULL ? (size_t)(equals - text) : strlen(text));
        lua_rotate(L, -3, -1); /* move the module to the top */
        lua_settable(L, -3);
        lua_pop(L, 1);
    }
    return runner_report(L, status);
}

static int run_environment(lua_State *L)
{
    const char *name = "=LUA_INIT_" LUA_VERSION_MAJOR "_" LUA_VERSION_MINOR;
    const char *text = getenv(name + 1);
    if (text == NULL) {
        name = "=LUA_INIT";
        text = getenv(name + 1);
    }
    if (text == NULL)
        return LUA_OK;
    return text[0] == '@' ? run_file(L, text + 1) : run_string(L, text, name);
}

/* Runs -e, -l and -W, in their order. False if one failed. */
static bool run_options(lua_State *L, char **argv, int end)
{
    for (int i = 1; i < end; i++) {
        char option = argv[i][1];
        if (option == 'W')
            lua_warning(L, "@on", 0);
        if (option != 'e' && option != 'l')
            continue;
        const char *text = argv[i][2] != '\0' ? argv[i] + 2 : argv[++i];
        int status = option == 'e' ? run_string(L, text, "=(command line)") : run_require(L, text);
        if (status != LUA_OK)
            return false;
    }
    return true;
}

/* The script's arguments come from the table, which earlier code may have changed. */
static int push_arguments(lua_State *L)
{
    if (lua_getglobal(L, "arg") != LUA_TTABLE)
        luaL_error(L, "'arg' is not a table");
    int table = lua_gettop(L);
    int count = (int)luaL_len(L, table);
    luaL_checkstack(L, count + 3, "too many arguments to script");
    for (int i = 1; i <= count; i++)
        lua_rawgeti(L, table, i);
    lua_remove(L, table);
    return count;
}

static int run_script(lua_State *L, char **argv, int script)
{
    const char *file = argv[script];
    if (strcmp(file, "-") == 0 && strcmp(argv[script - 1], "--") != 0)
        file = NULL;
    int status = chunks_load_file(L, file);
    if (status == LUA_OK)
        status = runner_call(L, push_arguments(L), LUA_MULTRET);
    return runner_report(L, status);
}

static void run_input(lua_State *L)
{
    if (!isatty(STDIN_FILENO)) {
        run_file(L, NULL);
        return;
    }
    print_version();
    repl_run(L);
}

static void open_state(lua_State *L, const struct command_line *line)
{
    if (line->no_environment) {
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV"); /* for the package library */
    }
    luaL_openlibs(L);
    instruments_install(L);
}

/* Expects argc and argv; returns true, or nothing after a failure that was already reported. */
static int run_protected(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);
    struct command_line line = scan(argv);
    luaL_checkversion(L);
    if (argv[0] != NULL && argv[0][0] != '\0')
        runner_set_program(argv[0]);
    if (line.bad != 0) {
        print_usage(argv[0], argv[line.bad]);
        return 0;
    }
    if (line.version)
        print_version();
    open_state(L, &line);
    create_arg_table(L, argv, argc, line.script);
    lua_gc(L, LUA_GCGEN, 0, 0);
    if (!line.no_environment && run_environment(L) != LUA_OK)
        return 0;
    if (!run_options(L, argv, line.script))
        return 0;
    if (line.script < argc && run_script(L, argv, line.script) != LUA_OK)
        return 0;
    if (line.interactive)
        repl_run(L);
    else if (line.script == argc && !line.executes && !line.version)
        run_input(L);
    lua_pushboolean(L, 1);
    return 1;
}

int interpreter_run(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        runner_message("cannot create state: not enough memory");
        return EXIT_FAILURE;
    }
    instruments_open(L);
    lua_pushcfunction(L, run_protected);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    int status = lua_pcall(L, 2, 1, 0);
    bool succeeded = lua_toboolean(L, -1) && status == LUA_OK;
    runner_report(L, status);
    instruments_close(L);
    return succeeded ? EXIT_SUCCESS : EXIT_FAILURE;
}
