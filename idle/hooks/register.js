// brimline's second mod: compacts an idle session when the first one asks for it.
//
// A call of the first one's own would pass its own hook by, and a model would summarise. It asks by adding nothing to the
// prompt box, which the client refuses while a dialog is open. Without the timer the call would still count as the first's.

export const register = on => on("prompt.fill", async ($, e, next) => {
  const filled = await next(e)
  const isAsked = e.text === "" && /^brimline(-mod)?$/.test(e.origin.name)
  if (isAsked && filled.isFilled) setTimeout(() => $.session.compact({ instructions: "brimline: pause" }).catch(() => {}), 0)
  return filled
})
