// The screen at a compaction: one line where it happened, which lasts, and nothing drawn twice; a word on previews.
//
// The client stores the rows that stay again and draws them once more. In fullscreen what it drew before is still there, so
// they are left out; inline it is gone, so what was said is a dim line.

import { goOn, here } from "./ask.js"
import { previewed } from "./calls.js"

let seamLine = null
let areRowsSilent = false // whether the client stores the rows without a word, as it does between turns
let awaited = [] // the messages that are yet to be stored again, in order
let textsAgain = new Set() // theirs, as long as that is so
const rowsBefore = new Set(), rowsAgain = new Set(), callsAgain = new Set()

export function drawSeam(on) {
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

export function markSeam(text, { trigger, messages: before }, messages) {
  if (!here.isInteractive) return
  seamLine = text
  areRowsSilent = trigger !== "auto"
  awaited = [...messages]
  textsAgain = new Set(messages.map(message => message.text.trim()))
  for (const { handle } of before) rowsBefore.add(rowOf(handle))
  for (const { toolUses } of messages) for (const call of toolUses) callsAgain.add(call.tool_use_id)
}

// A prompt may say what was said before.
export function endSeam($, text) {
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
