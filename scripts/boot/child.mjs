import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** @type {readonly NodeJS.Signals[]} */
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP']

// A package manager's last words are what matters; a flood of warnings before them is not kept.
const KEPT_OUTPUT = 256 * 1024

/**
 * @typedef {object} Ended
 * @property {number} code as a shell counts it: 128 + n after signal n
 * @property {NodeJS.Signals | undefined} interruptedBy the signal that this process received meanwhile
 * @property {string} output the end of what the child printed, where it was captured
 */

/**
 * Runs a command to its end. Signals sent to this process reach the child; this process never ends before it.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, capture?: boolean, onStart?: (pid: number) => void }} options
 *   capture: keep a copy of the output, which is shown on stderr all the same
 * @returns {Promise<Ended>} rejects only when the command could not be started
 */
export function runChild(command, args, { cwd, env, capture = false, onStart }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    /** @type {NodeJS.Signals | undefined} */
    let interruptedBy
    let output = ''

    /** @param {NodeJS.Signals} signal */
    const forward = (signal) => {
      interruptedBy = signal
      // A terminal sends Ctrl-C to the whole foreground group: forwarding would make the child see it twice.
      if (signal === 'SIGINT' && process.stdin.isTTY) return
      child.kill(signal)
    }
    for (const signal of FORWARDED) process.on(signal, forward)
    const stopForwarding = () => {
      for (const signal of FORWARDED) process.off(signal, forward)
    }

    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk) => {
        process.stderr.write(chunk)
        output = (output + chunk).slice(-KEPT_OUTPUT)
      })
    }
    child.once('error', (error) => {
      stopForwarding()
      reject(error)
    })
    child.once('spawn', () => {
      if (child.pid !== undefined) onStart?.(child.pid)
    })
    child.once('close', (code, signal) => {
      stopForwarding()
      resolve({ code: code ?? exitCodeOf(signal), interruptedBy, output })
    })
  })
}

/**
 * @param {NodeJS.Signals | null} signal
 * @returns {number}
 */
export function exitCodeOf(signal) {
  return 128 + (signal ? constants.signals[signal] : 0)
}
