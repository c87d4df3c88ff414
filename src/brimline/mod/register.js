// brimline's mod for Claude Code: answers a compaction without asking a model.
//
// It judges nothing. The client's entries go to `brimline mod compact`, which stores old bulk and names the line that
// stands in for each piece; this file puts the lines in and rebuilds the history. Any doubt is `next(e)`: the client
// compacts in its own way, as if this mod were not there.
//
// Why rows are rebuilt: a resumed session reads kept rows (those returned with their `handle`) through links that lead
// back before the compaction, and everything would return. Rebuilt rows have no such links. Only what a person wrote is
// returned by handle; a rebuilt row can hold text, calls and text results, but no thinking, images or attachments.

import { LIMIT_MS, doubt, goOn, here, report, run, setup, within } from "./ask.js"
import { answerCalls, askAgain, isOwn, measure } from "./calls.js"
import { answerCuts } from "./cleared.js"
import { awaitCold, forgetPause, lookAtCache } from "./cold.js"
import { draw, pane, reply, show, tellTier } from "./pane.js"
import { drawSeam, endSeam, markSeam } from "./seam.js"

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
