// What becomes of a large context whose prompt cache has expired: the next request pays for all of it anew.

import { LIMIT_MS, here, report, run, within } from "./ask.js"
import { show } from "./pane.js"

const BEGINNING_MS = 300 // at a start the client calls the two events at once, in either order
const BUSY = ["pending", "running", "waiting"] // agents

let pause = null // the timer that runs while nothing is asked

// At a resume, before the first request: compact, or say what that would save, as the person set it.
export async function lookAtCache($) {
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
export function awaitCold($, cold, seconds = cold.after_s) {
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

export const forgetPause = () => clearTimeout(pause)
