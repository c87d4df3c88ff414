// What other mods do: rows are returned by their handles, long old results rebuilt as a few words.
const short = r => ({ tool_use_id: r.tool_use_id, isError: r.isError, text: `[gone: ${r.text.length} characters]` })
const isLong = m => (m.toolResults ?? []).some(r => r.text.length > 1500)

export const register = on => {
  on("session.compact", async ($, e, next) => {
    if (e.agentId !== undefined) return next(e)
    const bare = m => ({ role: m.role, text: m.text, toolUses: m.toolUses, toolResults: m.toolResults.map(short) })
    return { messages: e.messages.map((m, at) => (isLong(m) && at < e.messages.length - 6 ? bare(m) : m)) }
  })
}
