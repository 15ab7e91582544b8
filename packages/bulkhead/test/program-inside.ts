import { spawn } from 'node:child_process'
import { Console } from 'node:console'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { setEnvironment } from './command-inside.ts'
import type { Ran } from './command.ts'

export interface Program {
  readonly file: string
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Imports the program of a page into this process, with its own folder, environment and standard streams: starting a
 * process takes a second of CPU time. `ended` resolves at the end of the module. Not reentrant.
 */
export function startInside({ file, cwd, env = {} }: Program) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const before = { cwd: process.cwd(), env: { ...process.env }, console: globalThis.console }
  const own = Object.entries(streams).map(([name, value]) => {
    const real = Object.getOwnPropertyDescriptor(process, name)!
    Object.defineProperty(process, name, { value, configurable: true })
    return () => Object.defineProperty(process, name, real)
  })
  setEnvironment({ NO_COLOR: '1', ...env })
  process.chdir(cwd)
  globalThis.console = new Console(streams.stdout, streams.stderr)
  const ended = import(pathToFileURL(join(cwd, file)).href).finally(() => {
    globalThis.console = before.console
    process.chdir(before.cwd)
    setEnvironment(before.env)
    for (const restore of own) restore()
    for (const stream of [streams.stdout, streams.stderr]) stream.end()
  }) as Promise<unknown>
  return { ...streams, ended }
}

/** Runs the program of a page: in this process, or in its own in `pnpm soak`. */
export async function runProgram(program: Program, input = ''): Promise<Ran> {
  return thoroughly(runInside, runProcess)(program, input)
}

async function runInside(program: Program, input: string): Promise<Ran> {
  const { stdin, stdout, stderr, ended } = startInside(program)
  stdin.end(input)
  const printed = Promise.all([text(stdout), text(stderr)])
  await ended
  const [out, err] = await printed
  return { code: 0, stdout: out, stderr: err }
}

async function runProcess({ file, cwd, env }: Program, input: string): Promise<Ran> {
  const child = spawn(process.execPath, [file], {
    cwd, env: { NO_COLOR: '1', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env }, stdio: 'pipe',
  })
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}
