import { join, resolve } from 'node:path'
import { main } from '../src/cli/main.ts'
import { CACHE, shareVerified } from './cache.ts'
import type { Ran } from './command.ts'
import { NO_NPM } from './no-npm.ts'

/**
 * Runs the command in this process, with its own folder, environment and output. Starting a process takes a second of
 * CPU time,
 * so tests start one only to test the process itself: signals, pipes, terminals, exit codes. Not reentrant.
 */
export async function inside(
  args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}, onStderr?: (text: string) => void,
): Promise<Ran> {
  const before = { cwd: process.cwd(), env: { ...process.env } }
  const stdout = new Captured(process.stdout)
  const stderr = new Captured(process.stderr, onStderr)
  setEnvironment({ NO_COLOR: '1', HOME: join(cwd, 'home'), XDG_CACHE_HOME: CACHE, ...NO_NPM, ...more })
  process.chdir(cwd)
  const home = args.includes('--home') ? args[args.indexOf('--home') + 1] : undefined
  shareVerified(resolve(cwd, home ?? join(process.env['HOME'] ?? '', '.bulkhead')))
  try {
    const code = await main(args)
    return { code, stdout: stdout.text, stderr: stderr.text }
  } finally {
    process.chdir(before.cwd)
    setEnvironment(before.env)
    stdout.release()
    stderr.release()
  }
}

/** Captures the output of a stream until it is released. */
class Captured {
  text = ''
  readonly #stream: NodeJS.WriteStream
  readonly #write: NodeJS.WriteStream['write']

  constructor(stream: NodeJS.WriteStream, onWrite?: (text: string) => void) {
    this.#stream = stream
    this.#write = stream.write
    stream.write = (chunk: string | Uint8Array) => {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      this.text += text
      onWrite?.(text)
      return true
    }
  }

  release(): void {
    this.#stream.write = this.#write
  }
}

/** Sets the variables of this process, also for code that is not JavaScript. */
export function setEnvironment(wanted: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) process.env[name] = value
}
