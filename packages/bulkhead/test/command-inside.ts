import { join } from 'node:path'
import { main } from '../src/cli/main.ts'
import type { Ran } from './command.ts'

/**
 * The command in this process, with folder, environment and output of its own: for the many cases of what is started for real
 * elsewhere in the same file. One at a time.
 */
export async function inside(args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const before = { cwd: process.cwd(), env: { ...process.env } }
  const stdout = new Captured(process.stdout)
  const stderr = new Captured(process.stderr)
  setEnvironment({ NO_COLOR: '1', HOME: join(cwd, 'home'), ...more })
  process.chdir(cwd)
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

/** Takes what is written to a stream for itself until it is released. */
class Captured {
  text = ''
  readonly #stream: NodeJS.WriteStream
  readonly #write: NodeJS.WriteStream['write']

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#write = stream.write
    stream.write = (chunk: string | Uint8Array) => {
      this.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return true
    }
  }

  release(): void {
    this.#stream.write = this.#write
  }
}

function setEnvironment(wanted: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, wanted)
}
