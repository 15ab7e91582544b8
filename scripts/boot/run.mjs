import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** @type {readonly NodeJS.Signals[]} */
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs a command, forwards signals to it and waits for its end.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, capture?: boolean }} options
 *   capture: return the output instead of printing it; a terminal shows its latest line
 * @returns {Promise<{ code: number, interrupted: boolean, output: string }>} code: 128 + n after signal n
 */
export function run(command, args, { cwd, env, capture = false }) {
  return new Promise((resolve) => {
    let output = ''
    let interrupted = false
    /** @param {NodeJS.Signals} signal */
    const forward = (signal) => {
      interrupted = true
      // A terminal sends Ctrl-C to the child too. Forwarding it would deliver it twice.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    /** @param {number} code */
    const finish = (code, error = '') => {
      for (const signal of FORWARDED) process.off(signal, forward)
      if (capture) showLatestLine('')
      resolve({ code, interrupted, output: `${output}${error}`.trim() })
    }
    // Before the start: a signal that came between the two would end this process alone.
    for (const signal of FORWARDED) process.on(signal, forward)
    const child = spawn(command, args, { cwd, env, stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk) => {
        output += chunk
        showLatestLine(output)
      })
    }
    child.on('error', (error) => finish(127, error.message))
    child.on('close', (code, signal) => finish(code ?? 128 + constants.signals[signal ?? 'SIGTERM']))
  })
}

/** @param {string} output */
function showLatestLine(output) {
  const line = output.trimEnd().split('\n').at(-1) ?? ''
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`)
}
