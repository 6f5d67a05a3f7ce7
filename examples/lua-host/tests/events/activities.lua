-- Loads chunks whose names are the activity that they are to belong to: a path, "-" for none. Prints their number.
local marks = 0
local function mark(path)
    marks = marks + 1
    load("", "=" .. path)
end
local resume, yield, create = coroutine.resume, coroutine.yield, coroutine.create

mark "-"
local a = create(function()
    mark "//1/1"
    local b = create(function()
        mark "//1/1/1"
        yield()
        mark "//1/1/1"
    end)
    resume(b)
    mark "//1/1"
    yield()
    mark "//1/1"
    resume(b)
    mark "//1/1"
    pcall(coroutine.wrap(function() mark "//1/1/2" error "wrapped" end))
    mark "//1/1"
    error "uncaught"
end)
resume(a)
mark "-"
resume(a)
mark "-"
resume(a) -- dead
mark "-"

-- Closed; the functions of pending variables are the coroutine's.
local c = create(function()
    local pending <close> = setmetatable({}, {__close = function() mark "//1/2" end})
    yield()
end)
resume(c)
coroutine.close(c)
mark "-"

-- The coroutine that created it is gone, and another one resumes it.
local orphan
resume(create(function() -- 3
    orphan = create(function()
        yield()
        mark "//1/3/1"
        resume(create(function() mark "//1/3/1/1" end))
        mark "//1/3/1"
    end)
    resume(orphan)
end))
for _ = 1, 3 do collectgarbage() end
resume(create(function() resume(orphan) mark "//1/4" end))

-- A path longer than an id, whose creators are gone: the library still looks at their activities.
local next_one
local function nest(depth)
    if depth == 0 then mark "//1/5/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1$8" return end
    next_one = create(function() yield() nest(depth - 1) end)
    resume(next_one)
end
nest(30)
while next_one do
    local one = next_one
    next_one = nil
    resume(one)
    one = nil
    for _ = 1, 3 do collectgarbage() end
end

-- Abandoned, in between.
for i = 6, 300 do
    resume(create(function() mark("//1/" .. i) yield() end))
end
collectgarbage()
mark "-"

-- Refusals: the main thread never has an activity.
resume(create(function() pcall(coroutine.close, coroutine.running()) mark "//1/301" resume(c) end))
local main = coroutine.running()
resume(create(function() resume(main) pcall(coroutine.close, main) mark "//1/302" end))
mark "-"
resume(create(function() mark "//1/303" print(marks) os.exit(true, true) end))
