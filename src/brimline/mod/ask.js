// Questions to Python, which does all the judging, and word of what went wrong.

export const LIMIT_MS = 8000 // the client does not count time spent in `$` calls, so we do

// Where the session's files are, once Python has told, whether somebody is at a screen, what the client says at the start,
// what a compaction saves that is made at a resume, or in a pause, and whether the plugin acts instead.
export const here = { folder: null, told: null, isInteractive: false, saving: null, pauseSaving: null, isIdle: false }
here.beginning = new Promise(resolve => { here.begin = resolve })

// Where one of our hooks fails, the client goes on as if it were not there.
export const goOn = ($, e, next) => next(e)

class Doubt extends Error {}
export const doubt = reason => { throw new Doubt(reason) }

// Ask Python, which reads one JSON object and writes one, about the project that the session began in: what is current,
// or stands in a variable, may be of anybody's choice.
export async function run($, name, question) {
  const { command, settings } = await setup($)
  const cwd = await $.session.root()
  const stdin = JSON.stringify({ session: await $.session.id(), cwd, ...question })
  const done = await $.process.run(name === "settings" ? settings : [...command, name], { stdin, timeoutMs: LIMIT_MS, env: { CLAUDE_PROJECT_DIR: cwd } })
  const answer = JSON.parse(done.stdout)
  return typeof answer.pass === "string" ? doubt(answer.pass) : answer
}

export function within(limitMs, work) {
  let timer
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Doubt(`no answer in ${limitMs} ms`)), limitMs) })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

// What the installer wrote, read once: its file may go while the session runs. That of the plugin cannot say where it lies.
let installed = null
export async function setup($) {
  if (installed) return installed
  const found = JSON.parse(await $.fs.read(`${$.plugin.root}/brimline.json`))
  if (found.is_plugin) {
    const data = await dataFolder($)
    found.hook = [`${$.plugin.root}/hooks/run`, data]
    found.command = [...found.hook, "mod"]
    found.settings = [`${$.plugin.root}/hooks/start`, data, "settings"] // by which alone the plugin writes into them
  }
  return installed = found
}

// The plugin's own; older clients do not say, and there it follows from where the plugin lies.
const dataFolder = async $ => {
  try { return (await $.process.hookEnv()).CLAUDE_PLUGIN_DATA } catch { return "" }
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
