// Questions to Python, which does all the judging, and word of what went wrong.

export const LIMIT_MS = 8000 // the client does not count time spent in `$` calls, so we do

// Where the session's files are, once Python has told, whether somebody is at a screen, what the client says at the start,
// and what a compaction saves that is made at a resume.
export const here = { folder: null, told: null, isInteractive: false, saving: null }
here.beginning = new Promise(resolve => { here.begin = resolve })

class Doubt extends Error {}
export const doubt = reason => { throw new Doubt(reason) }

// Ask Python, which reads one JSON object and writes one, about the project that the session began in: what is current,
// or stands in a variable, may be of anybody's choice.
export async function run($, name, question) {
  const { command } = await setup($)
  const cwd = await $.session.root()
  const stdin = JSON.stringify({ session: await $.session.id(), cwd, ...question })
  const done = await $.process.run([...command, name], { stdin, timeoutMs: LIMIT_MS, env: { CLAUDE_PROJECT_DIR: cwd } })
  const answer = JSON.parse(done.stdout)
  return typeof answer.pass === "string" ? doubt(answer.pass) : answer
}

export function within(limitMs, work) {
  let timer
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Doubt(`no answer in ${limitMs} ms`)), limitMs) })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

// What the installer wrote, read once: its file may go while the session runs.
let installed = null
export async function setup($) {
  installed ??= JSON.parse(await $.fs.read(`${$.plugin.root}/brimline.json`))
  return installed
}

const reported = new Set()

// To the client's debug log; what is no mere doubt also to brimline's error log, once, where `doctor` finds it.
export async function report($, where, problem) {
  const message = `${where}: ${problem?.message ?? problem}`
  $.ui.log(`brimline: ${message}`, { to: "debug" })
  if (problem instanceof Doubt || reported.has(message)) return
  reported.add(message)
  try { await run($, "failed", { message: message.slice(0, 200) }) } catch { /* it answers by passing */ }
}
