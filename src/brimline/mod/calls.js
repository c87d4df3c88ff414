// What our hooks do after a tool call, without a process for a call that needs nothing.
//
// The client is told to leave our own entries for these events out, in this session and for as long as this module is
// loaded; everybody else's stay. Then the same program is started from here, for the calls that need it. What a call
// needs follows from the gate: up to where nothing is to be done, as the program itself said when it was last asked.

import { LIMIT_MS, doubt, goOn, here, report, setup, within } from "./ask.js"
import { withKeys } from "./cleared.js"
import { answered, tellTier } from "./pane.js"

const EVENTS = ["PostToolUse", "PostToolUseFailure"]
const PLUGIN = /^brimline@(?!brimline$)/ // what an earlier version installed is no plugin that acts
const EDITING = ["Edit", "MultiEdit", "Write", "NotebookEdit"]
const NUMBERING_BYTES = 8 // before a line of a file, at most
const TAIL_CHARACTERS = 2 // per token, at least
const LONGEST_FAILURE = 10000 // characters; of a longer one the client may have lost the end
const PAUSE_MS = 100 // between words of the fill: calls may follow at once, and a file costs them more than all else here

export const previewed = new Set() // calls whose results the model was shown as previews

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

export function answerCalls(on) {
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
export const askAgain = () => { gate = null }

// Leave word of how full the window is, for whoever reads it next. The client knows it before the calls of a reply begin;
// the session's file may not hold that reply yet when a hook reads it.
export const measure = async $ => { await lookAtFill($); await leaveWord($) }

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
export const isOwn = (entry, own) => JSON.stringify([entry.command, ...(entry.args ?? [])]) === JSON.stringify(own)

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
