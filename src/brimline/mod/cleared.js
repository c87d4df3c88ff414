// What the client drops by itself after a pause: the model gets the keys in the very request in which that happens.
//
// The client keeps its books first (a row without text), then, if at all, tells the model of the pause. That note is
// where the keys go; where it does not come, they go with the next call.

import { LIMIT_MS, goOn, here, report, run, within } from "./ask.js"
import { show } from "./pane.js"

const CUT = "tool_results_cut", NOTE = "critical_system_reminder" // as the client names its rows

let isUntold = false

export function answerCuts(on) {
  on("session.append", { door: "attachment" }, async ($, e, next) => {
    if (here.isIdle || e.agentId !== undefined) return next(e)
    if (e.message.name === CUT) isUntold = true
    const text = e.message.name === NOTE && await keys($)
    return text ? next({ ...e, message: { ...e.message, content: extended(e.message.content, text) } }) : next(e)
  }).catch(goOn)
}

export const withKeys = async ($, below) => {
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
