// Questions to Python, which does all the judging, and word of what went wrong.

const LIMIT_MS = 8000 // the client does not count time spent in `$` calls, so we do

// Where the session's files are, once Python has told, whether somebody is at a screen, what the client says at the start,
// what a compaction saves that is made at a resume, or in a pause, and whether the plugin acts instead.
const here = { folder: null, told: null, isInteractive: false, saving: null, pauseSaving: null, isIdle: false }
here.beginning = new Promise(resolve => { here.begin = resolve })

// Where one of our hooks fails, the client goes on as if it were not there.
const goOn = ($, e, next) => next(e)

class Doubt extends Error {}
const doubt = reason => { throw new Doubt(reason) }

// Ask Python, which reads one JSON object and writes one, about the project that the session began in: what is current,
// or stands in a variable, may be of anybody's choice.
async function run($, name, question) {
  const { command, settings } = await setup($)
  const cwd = await $.session.root()
  const stdin = JSON.stringify({ session: await $.session.id(), cwd, ...question })
  const done = await $.process.run(name === "settings" ? settings : [...command, name], { stdin, timeoutMs: LIMIT_MS, env: { CLAUDE_PROJECT_DIR: cwd } })
  const answer = JSON.parse(done.stdout)
  return typeof answer.pass === "string" ? doubt(answer.pass) : answer
}

function within(limitMs, work) {
  let timer
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Doubt(`no answer in ${limitMs} ms`)), limitMs) })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

// What the installer wrote, read once: its file may go while the session runs. That of the plugin cannot say where it lies.
let installed = null
async function setup($) {
  if (installed) return installed
  const found = JSON.parse(await $.fs.read(`${$.plugin.root}/brimline.json`))
  if (found.is_plugin) {
    const data = await dataFolder($)
    found.hook = [`${$.plugin.root}/hooks/run`, data]
    found.command = [...found.hook, "mod"]
    found.settings = [`${$.plugin.root}/hooks/start`, data, "settings"] // by which alone the plugin writes into them
  }
  return installed = found
}

// The plugin's own; older clients do not say, and there it follows from where the plugin lies.
const dataFolder = async $ => {
  try { return (await $.process.hookEnv()).CLAUDE_PLUGIN_DATA } catch { return "" }
}

const reported = new Set()

// To the client's debug log; what is no mere doubt also to brimline's error log, once, where `doctor` finds it.
async function report($, where, problem) {
  const message = `${where}: ${problem?.message ?? problem}`
  $.ui.log(`brimline: ${message}`, { to: "debug" })
  if (problem instanceof Doubt || reported.has(message)) return
  reported.add(message)
  try { await run($, "failed", { message: message.slice(0, 200) }) } catch { /* it answers by passing */ }
}

// What our hooks do after a tool call, without a process for a call that needs nothing.
//
// The client is told to leave our own entries for these events out, in this session and for as long as this module is
// loaded; everybody else's stay. Then the same program is started from here, for the calls that need it. What a call
// needs follows from the gate: up to where nothing is to be done, as the program itself said when it was last asked.


const EVENTS = ["PostToolUse", "PostToolUseFailure"]
const PLUGIN = /^brimline@(?!brimline$)/ // what an earlier version installed is no plugin that acts
const EDITING = ["Edit", "MultiEdit", "Write", "NotebookEdit"]
const NUMBERING_BYTES = 8 // before a line of a file, at most
const TAIL_CHARACTERS = 2 // per token, at least
const LONGEST_FAILURE = 10000 // characters; of a longer one the client may have lost the end
const PAUSE_MS = 100 // between words of the fill: calls may follow at once, and a file costs them more than all else here

const previewed = new Set() // calls whose results the model was shown as previews

let isOurs = false // whether the client leaves the events to us
let gate = null // none: ask at the next call
let results = 0 // since the program was asked last
let sent = 0 // tokens of the last request
let measured = null // the folder and the figure that were last measured
let word = null // of it, which is still to be left
let timer = null // until then
let writing = null // what is on its way to the file
let tail = 0 // tokens that came behind it, about
let step = 0 // growth since the request before
let earlier = Promise.resolve() // what was asked without waiting

function answerCalls(on) {
  on("settings.read", async ($, e, next) => {
    const answer = await next(e)
    if (e.source !== undefined) return answer
    isOurs = false
    const { hooks, enabledPlugins } = answer.value ?? {}
    const { hook, is_plugin } = await setup($)
    here.isIdle = !is_plugin && Object.entries(enabledPlugins ?? {}).some(([id, isOn]) => isOn && PLUGIN.test(id))
    if (is_plugin) isOurs = true // it has no entries for these events
    if (is_plugin || here.isIdle || !hook || !hooks) return answer
    const rest = { ...hooks }
    for (const name of EVENTS) if (hooks[name]) rest[name] = without(hooks[name], [...hook, name])
    isOurs = JSON.stringify(rest) !== JSON.stringify(hooks)
    return isOurs ? { ...answer, value: { ...answer.value, hooks: rest } } : answer
  }).catch(goOn)
  on("classic.PostToolUse", async ($, e, next) => {
    if (here.isIdle || e.agent_id !== undefined) return next(e)
    isOurs ||= (await setup($)).is_plugin // 2.1.287 reads no settings for a mod
    if (!isOurs) await measure($) // first, for a hook that the client itself starts
    const [answer] = await Promise.all([next(e), lookAtFill($)])
    const below = await withKeys($, answer)
    return isOurs ? answerCall($, e, below, () => judge($, e, below)) : below
  }).catch(goOn)
  on("classic.PostToolUseFailure", async ($, e, next) => {
    if (here.isIdle || e.agent_id !== undefined) return next(e)
    const [below] = await Promise.all([next(e), lookAtFill($)])
    results += 1
    tail += e.error.length / TAIL_CHARACTERS
    const isCut = e.tool_name === "Bash" && e.error.length >= LONGEST_FAILURE
    return isOurs && isCut ? answerCall($, e, below, () => startHook($, e)) : below
  }).catch(goOn)
}

// A prompt, a command or a compaction may have changed anything.
const askAgain = () => { gate = null }

// Leave word of how full the window is, for whoever reads it next. The client knows it before the calls of a reply begin;
// the session's file may not hold that reply yet when a hook reads it.
const measure = async $ => { await lookAtFill($); await leaveWord($) }

const lookAtFill = async $ => {
  try {
    const { context: { tokens } } = await $.session.usage()
    if (!tokens) return
    if (tokens !== sent) {
      if (sent) step = tokens - sent
      tail = 0
      sent = tokens
    }
    const figure = `${here.folder} ${tokens}`
    if (!here.folder || figure === measured) return
    measured = figure
    word = { folder: here.folder, at: Date.now() / 1000, tokens }
    timer ??= setTimeout(() => leaveWord($), PAUSE_MS)
  } catch (problem) { report($, "reading", problem) }
}

const leaveWord = async $ => {
  clearTimeout(timer)
  timer = null
  if (word) writing = write($, word).catch(problem => report($, "reading", problem)).then(() => here.isInteractive && answered($))
  word = null
  await writing
}

const write = async ($, { folder, at, tokens }) => {
  const reading = { v: 1, at, occupancy_tokens: tokens, source: "client", model: await $.session.model() }
  await $.fs.write(`${folder}/mod-reading`, JSON.stringify(reading))
}

// An entry is ours if it starts what the installer wrote, with nothing before, behind or around it.
const isOwn = (entry, own) => JSON.stringify([entry.command, ...(entry.args ?? [])]) === JSON.stringify(own)

const without = (groups, own) =>
  groups.map(group => ({ ...group, hooks: (group.hooks ?? []).filter(entry => !isOwn(entry, own)) })).filter(group => group.hooks.length)

const answerCall = async ($, e, below, start) => {
  const begun = Date.now()
  try {
    const { additionalContext: note, updatedToolOutput } = (await within(LIMIT_MS, start())).hookSpecificOutput ?? {}
    if (updatedToolOutput !== undefined) previewed.add(e.tool_use_id)
    const notes = note && { additionalContext: [...(below.additionalContext ?? []), note] }
    return { ...below, ...notes, ...(updatedToolOutput !== undefined && { updatedToolOutput }) }
  } catch (problem) {
    gate = Date.now() - begun < LIMIT_MS ? null : {} // everything passes: who hangs would hold up every call of this prompt
    report($, "tool call", problem)
    return below
  }
}

const judge = async ($, e, below) => {
  results += 1
  // What another hook has put in the place of the output is the output.
  const output = below.updatedToolOutput ?? below.updatedMCPToolOutput ?? e.tool_response
  const event = { ...e, tool_response: output }
  const text = JSON.stringify(event)
  tail += text.length / TAIL_CHARACTERS
  if (!isDue(event, text)) {
    if (EDITING.includes(e.tool_name) || sent >= gate.publishes_at) handOnLater($, event)
    return {}
  }
  return handOn($, event, false)
}

const isDue = (event, text) => {
  if (!gate || sent < gate.measured || sent + tail >= gate.speaks_at) return true
  if (step >= gate.steep) return true
  const lines = event.tool_response?.file?.content?.split?.("\n").length ?? 0
  if (new TextEncoder().encode(text).length + NUMBERING_BYTES * lines > gate.bytes) return true
  const { tool_name: tool, tool_input: input } = event
  return (input?.command ?? tool).includes("brimline") || (tool === "Read" && gate.reads)
}

// What is merely to be noted holds nobody up; whoever asks next waits for it.
const handOnLater = ($, event) => {
  earlier = handOn($, event, true).catch(problem => {
    gate = null
    report($, "tool call", problem)
  })
  gate = { ...gate, publishes_at: undefined }
}

const handOn = async ($, event, isLater) => {
  await earlier
  if (!here.folder) { // the sign of life is still on its way
    await here.told
    await lookAtFill($)
  }
  const question = { ...event, brimline: { results, is_later: isLater } }
  results = 0
  const answer = await startHook($, question)
  gate = answer.brimline ?? null
  return answer
}

const startHook = async ($, event) => {
  const { hook } = await setup($)
  await leaveWord($)
  const env = { CLAUDE_PROJECT_DIR: await $.session.root() }
  const done = await $.process.run([...hook, event.hook_event_name], { stdin: JSON.stringify(event), timeoutMs: LIMIT_MS, env })
  if (done.exitCode !== 0) doubt(`exit code ${done.exitCode}`)
  if (here.isInteractive) await tellTier($) // before the turn may end, and it with it
  return done.stdout.trim() ? JSON.parse(done.stdout) : {}
}

// What the client drops by itself after a pause: the model gets the keys in the very request in which that happens.
//
// The client keeps its books first (a row without text), then, if at all, tells the model of the pause. That note is
// where the keys go; where it does not come, they go with the next call.


const CUT = "tool_results_cut", NOTE = "critical_system_reminder" // as the client names its rows

let isUntold = false

function answerCuts(on) {
  on("session.append", { door: "attachment" }, async ($, e, next) => {
    if (here.isIdle || e.agentId !== undefined) return next(e)
    if (e.message.name === CUT) isUntold = true
    const text = e.message.name === NOTE && await keys($)
    return text ? next({ ...e, message: { ...e.message, content: extended(e.message.content, text) } }) : next(e)
  }).catch(goOn)
}

const withKeys = async ($, below) => {
  const text = await keys($)
  return text ? { ...below, additionalContext: [...(below.additionalContext ?? []), text] } : below
}

const keys = async $ => {
  if (!isUntold) return ""
  isUntold = false
  try {
    const { text, person } = await within(LIMIT_MS, run($, "cleared", {}))
    if (person) show($, person)
    return text ?? ""
  } catch (problem) {
    report($, "cleared", problem)
    return ""
  }
}

// The note ends with a tag, which stays its end.
const extended = ([first, ...rest], text) => {
  const [body, end] = first.text.split(/(?=\n<\/system-reminder>\s*$)/)
  return [{ ...first, text: `${body}\n${text}${end ?? ""}` }, ...rest]
}

// What becomes of a large context whose prompt cache has expired: the next request pays for all of it anew.


const BEGINNING_MS = 300 // at a start the client calls the two events at once, in either order
const BUSY = ["pending", "running", "waiting"] // agents

let pause = null // the timer that runs while nothing is asked

// At a resume, before the first request: compact, or say what that would save, as the person set it.
async function lookAtCache($) {
  try {
    const { source, prompt_cache_likely_expired: isCold } = await within(BEGINNING_MS, here.beginning)
    if (!["resume", "fork"].includes(source) || isCold === false) return
    const { text, saving } = await run($, "pause", {})
    if (!saving) return text && show($, text)
    here.saving = saving
    await within(2 * LIMIT_MS, $.command.run({ command: "compact", args: "" }))
  } catch (problem) { report($, "cold cache", problem) } finally { here.saving = null }
}

// Once the cache has expired, tell the person what that costs, before it is paid; or have the second mod compact.
function awaitCold($, cold, seconds = cold.after_s) {
  forgetPause()
  pause = setTimeout(async () => {
    try {
      const { context } = await $.session.usage()
      if (!(context.tokens >= cold.tokens)) return
      const { text, wait_s, saving } = await run($, "pause", {})
      if (text) show($, text)
      if (wait_s) awaitCold($, cold, wait_s)
      if (!saving || (await $.agent.list()).some(({ status }) => BUSY.includes(status))) return
      here.pauseSaving = saving
      await $.prompt.fill({ text: "", mode: "append" }) // the sign for the second mod, which no dialog lets pass
    } catch (problem) { report($, "pause", problem) }
  }, seconds * 1000)
}

const forgetPause = () => clearTimeout(pause)

// What a person sees of brimline inside the client: a text above the prompt, and the pane that `/brim-pane` opens.
// Python makes the texts; nothing is asked, read or drawn for a pane that is closed.


const ID = "brimline"
const COLUMNS = 62 // as wide as it would like to be; one that is wider stands above the prompt, and takes the room there

let shown = null // what stands above the prompt: its text, and whether it is a notice
let newestAt = Date.now() / 1000 // when the last notice was written that was shown; older ones are of another run
let isOpen = false
let hasRoom = true // whether there is any left above the prompt
let version = 0 // of what the pane shows: it changes with each request
let drawn = { key: null, rows: [[["Reading this session…", "dim"]]] }
let asked = null // what is being asked for

function draw(on) {
  on("ui.render", { component: "AbovePrompt" }, async ($, e, next) => {
    if (!shown) return next(e)
    const { Box, Text } = $.ui.resolve(e)
    return h(Box, { flexDirection: "column" }, ...shown.text.split("\n").map((line, at) => h(Text, { key: String(at), dimColor: true }, line || " ")))
  })

  on("ui.render", { component: "Pane", requestId: ID }, async ($, e, next) => {
    if (here.isIdle) return next(e)
    const { bodyColumns: columns, scroll: { bodyRows: rows } } = e.props
    const key = `${version} ${columns} ${rows}`
    hasRoom = columns <= COLUMNS
    if (drawn.key !== key && asked !== key) fill($, key, columns, rows, next.signal) // what was drawn before stays until then
    const { Box, Text } = $.ui.resolve(e)
    const lines = drawn.rows.map((pieces, at) => h(Text, { key: String(at), wrap: "truncate-end" }, ...pieces.map(piece(Text))))
    return h(Box, { flexDirection: "column" }, ...lines)
  })
  on("ui.close", { id: ID }, async ($, e, next) => {
    try { return await next(e) } finally { isOpen = (await $.ui.panes()).some(opened => opened.id === ID) }
  }).catch(goOn)
  on("classic.SessionStart", ($, e, next) => { // also with the session that `/clear` begins
    here.begin(e)
    if (e.source !== "compact") renew($) // what was measured holds until PostCompact
    return next(e)
  }).catch(goOn)
  on("classic.PostCompact", ($, e, next) => next(e).finally(() => renew($))).catch(goOn)
}

async function fill($, key, columns, rows, signal) {
  asked = key
  try {
    const answer = await askPane($, columns, rows)
    if (asked === key) drawn = { key, rows: answer.rows }
    if (answer.is_behind) setTimeout(() => renew($), 500)
  } catch (problem) {
    if (asked !== key || signal.aborted || /aborted$/.test(problem?.message)) return // overtaken by a newer drawing
    isOpen = false // the command asks again
    drawn = { key, rows: [[["brimline did not answer; `brimline doctor` may say why.", ""]]] }
    report($, "pane", problem)
  } finally {
    if (asked === key) asked = null
    $.ui.invalidate("ui.render")
  }
}

const piece = Text => ([text, style], at) => {
  const look = style === "bold" ? { bold: true } : style === "dim" ? { dimColor: true } : style ? { color: style } : {}
  return h(Text, { key: String(at), ...look }, text || " ")
}

// Open the pane, as wide and high as it would like to be, or close it; where nobody is at a screen it is a text.
async function pane($, e) {
  if (!here.isInteractive) return { text: (await askPane($, e.presentation.columns, 40)).rows.map(pieces => pieces.map(([text]) => text).join("")).join("\n") }
  version += 1
  if (isOpen) await $.ui.close({ id: ID })
  else await $.ui.open({ id: ID, title: "brimline", columns: COLUMNS, rows: 24 })
  isOpen = !isOpen
  return {}
}

const askPane = ($, columns, rows) => run($, "pane", { columns, rows })

function renew($) {
  if (!isOpen) return
  version += 1
  $.ui.invalidate("ui.render")
}

// A text above the prompt, for the person alone, until the next prompt; a notice goes with the next request.
function show($, text, isNotice = false) {
  if (shown?.text === text) return
  shown = text ? { text, isNotice } : null
  $.ui.invalidate("ui.render")
}

// What a command answers, for the person alone, until the next prompt; a pane that takes the room for it closes.
function reply($, text) {
  if (isOpen && !hasRoom) $.ui.close({ id: ID })
  show($, text)
}

// A request was answered: its notice goes, an open pane is drawn again, and a notice that came of it is shown.
async function answered($) {
  if (shown?.isNotice) show($, null)
  renew($)
  await tellTier($)
}

async function tellTier($) {
  const notice = here.folder && await $.fs.read(`${here.folder}/mod-notice`).then(JSON.parse).catch(() => null)
  if (!(notice?.at > newestAt)) return
  newestAt = notice.at
  show($, notice.text, notice.until !== "prompt")
}

// The screen at a compaction: one line where it happened, which lasts, and nothing drawn twice; a word on previews.
//
// The client stores the rows that stay again and draws them once more. In fullscreen what it drew before is still there, so
// they are left out; inline it is gone, so what was said is a dim line.


let seamLine = null
let areRowsSilent = false // whether the client stores the rows without a word, as it does between turns
let awaited = [] // the messages that are yet to be stored again, in order
let textsAgain = new Set() // theirs, as long as that is so
const rowsBefore = new Set(), rowsAgain = new Set(), callsAgain = new Set()

function drawSeam(on) {
  on("session.append", { door: ["prompt", "queue", "response", "tool-result"] }, async ($, e, next) => {
    if (!awaited.length && e.door === "response") textsAgain.clear()
    if (!awaited.length || e.agentId !== undefined || !["user", "assistant"].includes(e.message.type)) return next(e)
    const at = awaited.findIndex(message => isSame(message, e.message))
    if (at >= 0) rowsAgain.add(rowOf(e.uuid))
    awaited = at < 0 ? [] : awaited.slice(at + 1)
    const stored = at < 0 ? null : await next(e)
    if (!awaited.length) drawSeamLine($)
    return stored ?? next(e)
  }).catch(goOn)
  on("ui.render", { component: ["UserMessage", "AssistantMessage"] }, ($, e, next) => {
    const row = rowOf(e.requestId), text = e.props.text.trim()
    if (row === "placeholder" || (!rowsAgain.has(row) && (!textsAgain.has(text) || rowsBefore.has(row)))) return next(e)
    rowsAgain.add(row)
    const { Box, Text } = $.ui.resolve(e)
    if (e.viewport.isFullscreen) return h(Box, {})
    return h(Text, { dimColor: true, wrap: "truncate-end" }, `${e.component === "UserMessage" ? "❯" : "●"} ${text.split("\n")[0]}`)
  })
  on("ui.render", { component: ["ToolGroup", "ToolUse", "ToolResult"] }, ($, e, next) => {
    const ids = e.props.calls?.map(call => call.tool_use_id) ?? [e.props.tool_use_id]
    if (!e.viewport.isFullscreen && ids.every(id => callsAgain.has(id))) return h($.ui.resolve(e).Box, {})
    const count = e.component === "ToolUse" ? 0 : ids.filter(id => previewed.has(id)).length
    return count ? withWord($, e, next, `the model saw ${count > 1 ? `${count} previews` : "a preview"}; the result is stored`) : next(e)
  })
  on("classic.SessionStart", { source: "compact" }, ($, e, next) => // the client takes a moment to have its rows in their place
    next(e).finally(() => areRowsSilent && setTimeout(() => drawSeamLine($), 300))).catch(goOn)
  on("ui.render", { component: "Spinner" }, ($, e, next) => // that label stays for the rest of the turn otherwise
    next(e.props.message?.includes("SessionStart hooks") ? { ...e, props: { ...e.props, message: null } } : e))
}

const withWord = async ($, e, next, word) => {
  const { Box, Text } = $.ui.resolve(e)
  return h(Box, { flexDirection: "column" }, await next(e), h(Text, { dimColor: true }, `  ⎿  brimline: ${word}`))
}

function markSeam(text, { trigger, messages: before }, messages) {
  if (!here.isInteractive) return
  seamLine = text
  areRowsSilent = trigger !== "auto"
  awaited = [...messages]
  textsAgain = new Set(messages.map(message => message.text.trim()))
  for (const { handle } of before) rowsBefore.add(rowOf(handle))
  for (const { toolUses } of messages) for (const call of toolUses) callsAgain.add(call.tool_use_id)
}

// A prompt may say what was said before.
function endSeam($, text) {
  drawSeamLine($)
  awaited = []
  textsAgain.delete(text.trim())
}


// It becomes a row of the session's file, so a resume draws it, too.
const drawSeamLine = $ => {
  if (seamLine) $.ui.log(seamLine)
  seamLine = null
}

const rowOf = id => id.slice(0, 23) // of a name; the client gives some rows another end when it draws them

const isSame = ({ role, text, toolUses, toolResults }, stored) => {
  const ids = [...toolUses, ...(toolResults ?? [])].map(call => call.tool_use_id)
  const isOf = block => block.type === "text" ? block.text.trim() === text.trim() : ids.includes(block.id ?? block.tool_use_id)
  return role === stored.role && stored.content.some(isOf)
}

// brimline's mod for Claude Code: answers a compaction without asking a model.
//
// It judges nothing. The client's entries go to `brimline mod compact`, which stores old bulk and names the line that
// stands in for each piece; this file puts the lines in and rebuilds the history. Any doubt is `next(e)`: the client
// compacts in its own way, as if this mod were not there.
//
// Why rows are rebuilt: a resumed session reads kept rows (those returned with their `handle`) through links that lead
// back before the compaction, and everything would return. Rebuilt rows have no such links. Only what a person wrote is
// returned by handle; a rebuilt row can hold text, calls and text results, but no thinking, images or attachments.


const LONGEST_THOUGHT = 4000 // characters; what a model says between calls is shorter
const TOO_LITTLE = "too little to let go of" // as Python says it
const MEASURED_BEFORE = ["Agent", "Task", "Skill", "mcp__brimline__context_status", "mcp__plugin_brimline_brimline__context_status"] // judged by the ceiling, or tell it
const MOST_MESSAGES = 4096 // the client hands out no more in the form of a request

let signed = null // the session that was last told of
let launcher = null // what `brimline install` has settings start
let cold = null // from how many tokens on, and after how many seconds at the earliest, a cold cache is worth a word
let isEnough = false // whether the next compaction will find enough to let go of, as far as asked

export const register = on => {
  answerCalls(on)
  answerCuts(on)
  draw(on)
  drawSeam(on)
  on("session.start", async ($, e, next) => {
    here.isInteractive = e.isInteractive
    if (here.isIdle) return next(e)
    await tell($)
    await offerCommands($)
    await lookAtCache($)
    return next(e)
  })
  on("prompt.submit", async ($, e, next) => {
    if (here.isIdle) return next(e)
    await tell($) // `/clear` begins a session, too
    show($, null)
    askAgain()
    forgetPause()
    endSeam($, e.text)
    return next(e).finally(() => { if (here.isInteractive) tellTier($) })
  }).catch(goOn)
  on("turn.complete", ($, e, next) => {
    if (here.isInteractive && cold) awaitCold($, cold)
    if (here.isInteractive && !here.isIdle && e.agentId === undefined) measure($)
    return next(e)
  })

  on("command.run", async ($, e, next) => {
    const name = e.command.slice(5)
    if (here.isIdle || e.command !== `brim-${name}`) return next(e)
    askAgain()
    try {
      if (name === "pane") return await pane($, e)
      const { text } = await run($, name === "statusline" ? "settings" : "command", { name, arguments: e.args })
      if (here.isInteractive) reply($, text) // returned as text it would go to the model with the next prompt
      return here.isInteractive ? {} : { text }
    } catch (problem) {
      report($, e.command, problem)
      return { text: "brimline did not answer; `brimline doctor` may say why." }
    }
  }).catch(goOn)

  on("tool.call", { tool: MEASURED_BEFORE }, async ($, e, next) => {
    if (!here.isIdle && e.agentId === undefined) await measure($)
    return next(e)
  }).catch(goOn)

  on("session.compact", async ($, e, next) => {
    if (here.isIdle || e.agentId !== undefined) return next(e)
    askAgain()
    if (e.trigger === "precompute") {
      try { // who had enough to let go of still has it with more
        isEnough ||= (await within(LIMIT_MS, ask($, e))).answer.is_enough
      } catch (problem) { report($, "summary ahead", problem) }
      return isEnough ? { skip: "brimline needs no summary ahead" } : next(e)
    }
    const isPause = e.trigger === "plugin" && e.instructions === "brimline: pause"
    if (!isPause && (!["auto", "manual"].includes(e.trigger) || e.instructions?.trim())) return next(e)
    const saving = isPause ? here.pauseSaving : here.saving
    isEnough = false
    try {
      const { messages, line } = await within(LIMIT_MS, compacted($, e))
      markSeam(saving ? `${line} ${saving}` : line, e, messages)
      if (isPause) show($, null)
      return { messages }
    } catch (problem) {
      report($, "compaction", problem)
      if (saving) return { skip: problem.message }
      if (problem?.message?.startsWith(TOO_LITTLE) && here.isInteractive) show($, `brimline leaves this compaction to a model: ${problem.message}`, true)
      return next(e)
    }
  }).catch(goOn)
}

// At its start the client may not be ready for them yet.
const offerCommands = async ($, isLast = false) => {
  try {
    for (const command of (await setup($)).commands ?? []) await $.command.register({ ...command, immediate: true })
  } catch (problem) {
    if (isLast) report($, "commands", problem)
    else setTimeout(() => offerCommands($, true), 1000)
  }
}

// Leave a sign of life, for `doctor` and the gateway. Nobody waits for it.
const tell = async $ => {
  const session = await $.session.id()
  if (session === signed) return
  signed = session
  here.folder = null
  isEnough = false
  here.told = signUp($, session).catch(problem => report($, "sign of life", problem))
}

const signUp = async ($, session) => {
  const { version: client } = await $.session.version()
  ;({ folder: here.folder, cold, launcher } = await run($, "alive", { session, client }))
}

const compacted = async ($, e) => {
  const { answer, besides } = await ask($, e)
  if (!["results", "inputs"].every(part => answer[part] && typeof answer[part] === "object")) doubt("an answer of an unknown shape")
  if ([...besides.pictured].some(id => !answer.results[id])) doubt("an image has no line")
  return { messages: rebuilt(e.messages, answer, besides), line: answer.line }
}

const ask = async ($, e) => {
  const isKnown = m => ["user", "assistant"].includes(m.role) && typeof m.text === "string" && typeof m.handle === "string" && Array.isArray(m.toolUses)
  if (!e.messages?.length || !e.messages.every(isKnown)) doubt("entries of an unknown shape")
  const { hook, is_plugin } = await setup($)
  const own = [...(is_plugin ? [launcher] : hook), "PreCompact"]
  const { PreCompact: groups = [] } = (await $.settings.read()).hooks ?? {}
  if (groups.some(group => group.hooks?.some(entry => !isOwn(entry, own)))) doubt("a PreCompact hook that is not brimline's would not run")
  const sent = await $.session.messages({ as: "api" })
  if (sent.length >= MOST_MESSAGES) doubt("the history is too long to be read whole")
  const besides = besidesOf(sent, e.messages)
  const { context } = await $.session.usage({ breakdown: "summary" })
  const question = {
    trigger: e.trigger, instructions: null,
    model: await $.session.model(), window_tokens: context?.window ?? null,
    brim_tokens: context?.breakdown?.autoCompactThreshold ?? null, used_tokens: context?.tokens ?? null,
    messages: e.messages.map(m => slim(m, besides.pictured)), beside: [...besides.after.values()].flat(),
  }
  return { answer: await run($, "compact", question), besides }
}

// A call's outcome stands in its result too, and what the client keeps beside a result matters for images alone.
const slim = (m, pictured) => ({
  ...m,
  toolUses: m.toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input })),
  ...(m.toolResults && { toolResults: m.toolResults.map(({ result, ...rest }) => ({ ...rest, ...(pictured.has(rest.tool_use_id) && { result }) })) }),
})

const spoken = m => m.role === "user" && !m.toolResults?.length

// What the service is sent that stands in no entry: messages typed during work, rules of subfolders, skills, notes of
// hooks, and readable thinking, which is what some models say between calls (the answer tells for which). `after` and
// `thoughts` hold it by the place of the entry that it follows, or that it opens; `pictured` are the calls whose results
// hold more than text, `messages` tells by a call or its result which message of the request it is in.
const besidesOf = (sent, entries) => {
  const places = new Map(entries.flatMap((m, at) => [...m.toolUses, ...(m.toolResults ?? [])].map(call => [m.role + call.tool_use_id, at])))
  const after = new Map(), thoughts = new Map(), pictured = new Set(), messages = new Map()
  let at = -1
  const placeOf = (role, block) =>
    block.type === "text" ? entries.findIndex((m, i) => i >= at && m.role === role && m.text.trim() === block.text.trim())
      : places.get(role + (block.id ?? block.tool_use_id)) ?? -1
  for (const [number, { role, content }] of sent.entries()) {
    for (const block of content) messages.set(role + (block.id ?? block.tool_use_id), number)
    const found = content.map(block => placeOf(role, block))
    const asked = found.some(place => place >= 0 && spoken(entries[place])) // the client keeps what stands beside a prompt
    at = Math.max(at, ...found)
    if (role === "assistant") {
      const call = content.findIndex(block => block.type === "tool_use")
      const thought = content.map(block => block.thinking?.trim()).filter(Boolean).join("\n")
      if (call >= 0 && !content.some(block => block.text?.trim())) thoughts.set(found[call], thought.slice(0, LONGEST_THOUGHT))
      continue
    }
    const texts = content.flatMap((block, i) => {
      if (block.type === "tool_result") {
        if (Array.isArray(block.content) && block.content.some(part => part.type !== "text")) pictured.add(block.tool_use_id)
        const own = remindersOf(entries[found[i]]?.toolResults?.find(result => result.tool_use_id === block.tool_use_id)?.text ?? "")
        return remindersOf(textOf(block.content)).filter(reminder => !own.includes(reminder))
      }
      if (block.type !== "text" && !asked) doubt(`a ${block.type} outside results cannot be rebuilt`)
      if (found[i] >= 0 || block.text.trim() === COMMAND) return []
      return [block.text.startsWith(OPENING) ? block.text.trim() : `${OPENING}\n${block.text.trim()}\n${CLOSING}`]
    })
    if (!asked) after.set(at, [...(after.get(at) ?? []), ...texts])
  }
  return { after: latest(after), thoughts, pictured, messages }
}

const OPENING = "<system-reminder>", CLOSING = "</system-reminder>"
const COMMAND = "/compact" // the one being answered, which the client puts back itself
const textOf = content => (typeof content === "string" ? content : (content ?? []).map(block => block.text ?? "").filter(Boolean).join("\n\n"))

// The reminders that end a result: the client's, an earlier compaction's, or a tool's that poses as the client. They are
// never taken for a newer copy of what the client said; which of them may go with their result is Python's to say.
const remindersOf = text => {
  const reminders = []
  let own = text.trimEnd()
  while (own.endsWith(CLOSING) && own.includes(OPENING)) {
    const start = own.lastIndexOf(OPENING)
    reminders.unshift(own.slice(start))
    own = own.slice(0, start).trimEnd()
  }
  return reminders
}

// The client gives the count of tokens left and the context of SessionStart hooks anew, and our own notes are about what
// was before, but for the keys of what the client dropped, which it writes down again; of equal reminders, of lists of
// tasks, and of what changed in a file the last one holds.
const STALE = /^<system-reminder>\n(<total_tokens>|SessionStart|.* hook additional context: \[brimline(?!\] The client dropped))/
const RENEWED = /^<system-reminder>\n(The (task tools|TodoWrite tool) ha|Note: .* (changed on disk|was modified))/
const latest = after => {
  const kind = text => RENEWED.exec(text)?.[0] ?? text
  const last = new Map([...after].flatMap(([at, texts]) => texts.map(text => [kind(text), at])))
  return new Map([...after].map(([at, texts]) => [at, texts.filter(text => !STALE.test(text) && last.get(kind(text)) === at)]))
}

// Everything is put back in its place: beside results inside the last of them, as the client itself sends it.
const rebuilt = (entries, answer, besides) => {
  const out = [], begun = new Map()
  const put = (role, text, toolUses = [], toolResults = []) => {
    // The calls of one reply share a message and so do their results, also where a call was answered before the next one
    // came; text after a call opens the next reply.
    const call = toolUses[0] ?? toolResults[0]
    const number = call && besides.messages.get(role + call.tool_use_id)
    const last = begun.get(number) ?? out.at(-1)
    const joins = begun.has(number) || (last && !last.handle && last.role === role && !(role === "assistant" && last.toolUses.length && text))
    const message = joins ? last : { role, text, toolUses, toolResults }
    if (number !== undefined) begun.set(number, message)
    if (!joins) return out.push(message)
    last.text = [last.text, text].filter(Boolean).join("\n\n")
    last.toolUses.push(...toolUses)
    last.toolResults.push(...toolResults)
  }
  entries.forEach((m, at) => {
    const beside = besides.after.get(at) ?? []
    const results = (m.toolResults ?? []).map(({ tool_use_id, text, isError }) => ({ tool_use_id, isError, text: answer.results[tool_use_id] ?? text }))
    if (results.length) results.at(-1).text = [results.at(-1).text, ...beside.splice(0)].join("\n\n")
    const uses = m.toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input: answer.inputs[tool_use_id] ?? input }))
    const text = [answer.thoughts && besides.thoughts.get(at), m.text].filter(Boolean).join("\n\n")
    if (spoken(m)) out.push(m)
    else if (text || uses.length || results.length) put(m.role, text, uses, results)
    for (const reminder of beside) put("user", reminder)
  })
  return out
}
