// What a person sees of brimline inside the client: a text above the prompt, and the pane that `/brim-pane` opens.
// Python makes the texts; nothing is asked, read or drawn for a pane that is closed.

import { goOn, here, report, run } from "./ask.js"

const ID = "brimline"
const COLUMNS = 62 // as wide as it would like to be; one that is wider stands above the prompt, and takes the room there

let shown = null // what stands above the prompt: its text, and whether it is a notice
let newestAt = Date.now() / 1000 // when the last notice was written that was shown; older ones are of another run
let isOpen = false
let hasRoom = true // whether there is any left above the prompt
let version = 0 // of what the pane shows: it changes with each request
let drawn = { key: null, rows: [[["Reading this session…", "dim"]]] }
let asked = null // what is being asked for

export function draw(on) {
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
export async function pane($, e) {
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
export function show($, text, isNotice = false) {
  if (shown?.text === text) return
  shown = text ? { text, isNotice } : null
  $.ui.invalidate("ui.render")
}

// What a command answers, for the person alone, until the next prompt; a pane that takes the room for it closes.
export function reply($, text) {
  if (isOpen && !hasRoom) $.ui.close({ id: ID })
  show($, text)
}

// A request was answered: its notice goes, an open pane is drawn again, and a notice that came of it is shown.
export async function answered($) {
  if (shown?.isNotice) show($, null)
  renew($)
  await tellTier($)
}

export async function tellTier($) {
  const notice = here.folder && await $.fs.read(`${here.folder}/mod-notice`).then(JSON.parse).catch(() => null)
  if (!(notice?.at > newestAt)) return
  newestAt = notice.at
  show($, notice.text, notice.until !== "prompt")
}
