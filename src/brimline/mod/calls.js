// What our hooks do after a tool call, without a process for a call that needs nothing.
//
// The client is told to leave our own entries for these events out, in this session and for as long as this module is
// loaded; everybody else's stay. Then the same program is started from here, for the calls that need it. What a call
// needs follows from the gate: up to where nothing is to be done, as the program itself said when it was last asked.

import { LIMIT_MS, doubt, here, report, setup, within } from "./ask.js"
import { answered } from "./pane.js"

const EVENTS = ["PostToolUse", "PostToolUseFailure"]
const EDITING = ["Edit", "MultiEdit", "Write", "NotebookEdit"]
const NUMBERING_BYTES = 8 // before a line of a file, at most
const TAIL_CHARACTERS = 2 // per token, at least
const VELOCITY_REQUESTS = 3 // over which the program averages growth
const LONGEST_FAILURE = 10000 // characters; of a longer one the client may have lost the end
const SILENT = {} // the gate that lets everything pass

let isOurs = false // whether the client leaves the events to us
let gate = null // none: ask at the next call
let results = 0 // since the program was asked last
let sent = 0 // tokens of the last request
let written = null // the file and the figure that is in it
let writing = null // what is on its way there
let tail = 0 // tokens that came behind it, about
let steps = [] // growth from request to request
let earlier = Promise.resolve() // what was asked without waiting

export function answerCalls(on) {
  on("settings.read", async ($, e, next) => {
    const answer = await next(e)
    if (e.source !== undefined) return answer
    isOurs = false
    const hooks = answer.value?.hooks
    const { hook, own } = await setup($)
    if (!hook || !hooks) return answer
    const rest = { ...hooks }
    for (const name of EVENTS) if (hooks[name]) rest[name] = without(hooks[name], own)
    isOurs = JSON.stringify(rest) !== JSON.stringify(hooks)
    return isOurs ? { ...answer, value: { ...answer.value, hooks: rest } } : answer
  })
  on("classic.PostToolUse", async ($, e, next) => {
    if (e.agent_id !== undefined) return next(e)
    if (!isOurs) await measure($) // first, for a hook that the client itself starts
    const [below] = await Promise.all([next(e), lookAtFill($)])
    const added = isOurs ? await answerCall($, e, below) : {}
    if (here.isInteractive) answered($)
    return { ...below, ...added }
  })
  on("classic.PostToolUseFailure", async ($, e, next) => {
    const below = await next(e)
    results += 1
    if (here.isInteractive && e.agent_id === undefined) answered($)
    if (!isOurs || e.agent_id !== undefined || e.tool_name !== "Bash" || e.error.length < LONGEST_FAILURE) return below
    try {
      return { ...below, ...noted(below, await within(LIMIT_MS, startHook($, e))) }
    } catch (problem) {
      report($, "failed call", problem)
      return below
    }
  })
}

// A prompt, a command or a compaction may have changed anything.
export const askAgain = () => { gate = null }

// Leave word of how full the window is, once for each request. The client knows it before the calls of a reply begin;
// the session's file may not hold that reply yet when a hook reads it.
export const measure = async $ => { await lookAtFill($); await writing }

// The same, without waiting for the file. Every question costs its way to the client and back, so two go at once.
const lookAtFill = async $ => {
  try {
    const [{ context: { tokens } }, model] = await Promise.all([$.session.usage(), $.session.model()])
    if (!tokens) return
    if (tokens !== sent) {
      if (sent) steps = [...steps, tokens - sent].slice(-VELOCITY_REQUESTS)
      tail = 0
      sent = tokens
    }
    const figure = `${here.folder} ${tokens}`
    if (!here.folder || figure === written) return
    const reading = { v: 1, at: Date.now() / 1000, occupancy_tokens: tokens, source: "client", model }
    written = figure
    writing = $.fs.write(`${here.folder}/mod-reading`, JSON.stringify(reading)).catch(problem => report($, "reading", problem))
  } catch (problem) { report($, "reading", problem) }
}

export const isOwn = (hook, own) => [hook.command, ...(hook.args ?? [])].join(" ").includes(own)

const without = (groups, own) =>
  groups.map(group => ({ ...group, hooks: (group.hooks ?? []).filter(hook => !isOwn(hook, own)) })).filter(group => group.hooks.length)

const answerCall = async ($, e, below) => {
  const begun = Date.now()
  try {
    return await judge($, e, below)
  } catch (problem) {
    gate = Date.now() - begun < LIMIT_MS ? null : SILENT // who hangs would hold up every call of this prompt
    report($, "tool call", problem)
    return {}
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
  const answer = await within(LIMIT_MS, handOn($, event, false))
  const { updatedToolOutput } = answer.hookSpecificOutput ?? {}
  return { ...noted(below, answer), ...(updatedToolOutput !== undefined && { updatedToolOutput }) }
}

// Whether the program may have something to say about a call, or something to put in its place.
const isDue = (event, text) => {
  if (!gate || gate.all || sent < gate.measured || sent + tail >= gate.speaks_at) return true
  if (steps.some(step => step >= gate.steep)) return true
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
  if (!written) { // the sign of life is still on its way
    await here.told
    await measure($)
  }
  const question = { ...event, brimline: { results, is_later: isLater } }
  results = 0
  const answer = await startHook($, question)
  gate = answer.brimline ?? null
  return answer
}

const startHook = async ($, event) => {
  const { hook } = await setup($)
  await writing
  const env = { CLAUDE_PROJECT_DIR: await $.session.root() }
  const done = await $.process.run([...hook, event.hook_event_name], { stdin: JSON.stringify(event), timeoutMs: LIMIT_MS, env })
  if (done.exitCode !== 0) doubt(`exit code ${done.exitCode}`)
  return done.stdout.trim() ? JSON.parse(done.stdout) : {}
}

const noted = (below, answer) => {
  const { additionalContext: note } = answer.hookSpecificOutput ?? {}
  return note ? { additionalContext: [...(below.additionalContext ?? []), note] } : {}
}
